"""A small tree as it was searched, searched again without a walk while nothing in it has changed.

That is found out by asking for the identity, size and times of every directory and file: about a third of what a walk
and reading cost. As for single files, times count only where they lay well in the past when the tree was looked at. A
file that changed is read again; where a directory or an ignore file did, or one of the ignore files outside of the tree
that hold in it, the tree has to be walked again.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from ..git_files import global_excludes_path, repository_exclude_path
from ..ignore_rules import SPECIAL_NAMES
from .content import Beneath, NotSearchedError, text_of
from .crew import lines_in
from .kept_texts import SETTLED_NS, mark_of
from .order import Found

if TYPE_CHECKING:
    from ..walk import Slice
    from .kept_texts import KeptDirectory, Mark
    from .matcher import Matcher

_KEPT_TREES: Final = 4
_REPOSITORY: Final = ".git"
_Key = tuple[object, ...]


class StandingTrees:
    """The trees that were searched last."""

    def __init__(self) -> None:
        self._trees: dict[_Key, StandingTree] = {}

    def get(self, key: _Key) -> StandingTree | None:
        """The tree that was put there; it may have changed."""
        return self._trees.get(key)

    def put(self, key: _Key, tree: StandingTree | None) -> None:
        """Keep a tree, or forget the one that was kept, and the oldest where there are too many."""
        self._trees.pop(key, None)
        if tree is not None and tree.is_settled:
            self._trees[key] = tree
            if len(self._trees) > _KEPT_TREES:
                del self._trees[next(iter(self._trees))]


class StandingTree:
    """One tree: its directories and files, with what tells them from changed ones. ``reasons`` is what was left out."""

    def __init__(self, path: str) -> None:
        self.is_settled = True
        self.reasons: list[str] = []
        self._path = path
        self._now_ns = time.time_ns()
        self._watched: list[str] = []
        self._watched_marks: list[Mark] = []
        self._files: list[str] = []
        self._marks: list[Mark | None] = []
        self._texts: list[bytes | None] = []
        self._repositories: list[str] = [each for each in _above(path) if os.path.lexists(f"{each}/{_REPOSITORY}")]
        self._outside = _outside(path, self._repositories)

    def add_directory(self, part: Slice) -> None:
        """Take note of a directory that is being walked."""
        if not self._watched or self._watched[-1] != part.path:
            self._watch(part.path, os.fstat(part.fd))
        for name in SPECIAL_NAMES.intersection(part.ignored):  # an ignore file can ignore itself
            try:
                status = os.stat(name, dir_fd=part.fd, follow_symlinks=False)
            except OSError:
                self.is_settled = False
            else:
                self._watch(f"{part.path}/{name}" if part.path else name, status)
        if _REPOSITORY in part.pruned or _REPOSITORY in part.files:
            self._repositories.append(os.path.join(self._path, part.path) if part.path else self._path)
            self._outside = None

    def _watch(self, path: str, status: os.stat_result) -> None:
        newest = max(status.st_ctime_ns, status.st_mtime_ns)
        self.is_settled = self.is_settled and self._now_ns - newest > SETTLED_NS
        self._watched.append(path)
        self._watched_marks.append(mark_of(status))

    def add_file(self, path: str, name: str, kept: KeptDirectory) -> None:
        """Take note of a file that was just looked at."""
        mark, text = kept.remembered(name)
        self._files.append(path)
        self._marks.append(mark)
        self._texts.append(text)

    def finish(self, reasons: list[str], *, is_whole: bool) -> None:
        """The walk has ended, with every directory listed or not."""
        self.reasons = reasons
        self.is_settled = self.is_settled and is_whole
        if self._outside is None:
            self._outside = _outside(self._path, self._repositories)

    def search(self, top_fd: int, matcher: Matcher, max_bytes: int, *, counts: bool) -> Found | None:
        """Search it again; None where it has changed so that it has to be walked."""
        if not self.stands(top_fd):
            return None
        found = Found()
        stat, marks, texts = os.stat, self._marks, self._texts
        for index, path in enumerate(self._files):
            try:
                status = stat(path, dir_fd=top_fd, follow_symlinks=False)
                if marks[index] is None or mark_of(status) != marks[index]:
                    if os.path.basename(path) in SPECIAL_NAMES:
                        return None
                    self._read_again(index, status, top_fd, max_bytes)
                text = texts[index]
                lines = 0 if text is None else lines_in(text, matcher, counts=counts)
            except OSError:
                return None
            except NotSearchedError as error:
                found.leave_out(path, error)
                continue
            if text is None:
                found.leave_out(path, NotSearchedError("binary"))
                continue
            found.searched += 1
            if lines:
                found.matched.append((path, lines))
        return found

    def stands(self, top_fd: int) -> bool:
        """Whether all directories are as they were, and so are the ignore files outside of them that hold there."""
        if self._outside != _outside(self._path, self._repositories):
            return False
        try:
            for path, mark in zip(self._watched, self._watched_marks, strict=True):
                if mark_of(os.stat(path or ".", dir_fd=top_fd, follow_symlinks=False)) != mark:
                    return False
        except OSError:
            return False
        return True

    def _read_again(self, index: int, status: os.stat_result, top_fd: int, max_bytes: int) -> None:
        settled = time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns) > SETTLED_NS
        self._marks[index] = None
        self._texts[index] = None
        beneath = Beneath(top_fd)
        try:
            self._texts[index] = text_of(beneath.read(self._files[index], max_bytes))
        except NotSearchedError as error:
            if error.reason != "binary":
                raise
        finally:
            beneath.close()
        self._marks[index] = mark_of(status) if settled else None


def _above(path: str) -> list[str]:
    found: list[str] = []
    while path != "/":
        path = os.path.dirname(path)
        found.append(path.rstrip("/"))
    return found


def _outside(path: str, repositories: list[str]) -> tuple[object, ...]:
    """What tells the ignore files that hold in a tree, and lie outside of it, from changed ones."""
    seen: list[object] = []
    for directory in _above(path):
        seen += [_mark_at(f"{directory}/{name}") for name in SPECIAL_NAMES if name != _REPOSITORY]
        seen.append(os.path.lexists(f"{directory}/{_REPOSITORY}"))
    excludes = [repository_exclude_path(each or "/") for each in repositories]
    if (own := global_excludes_path()) is not None:
        excludes.append(own)
    return (*seen, *excludes, *map(_mark_at, excludes))


def _mark_at(path: str) -> Mark | None:
    try:
        return mark_of(os.stat(path))
    except (OSError, ValueError):
        return None
