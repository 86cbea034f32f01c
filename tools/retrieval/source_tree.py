"""The source files below one root, by the walk that all searching tools share; blocks, and is made for worker threads.

What ignore files and rules leave out is left out here. A tree that was walked and has not changed since is not walked
again: asking for the times of its directories and files takes a fraction of it.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..errors import PlanOutdatedError, ToolFailure
from ..limits import RETRIEVAL_FILE_MAX_BYTES
from ..support.descriptor_path import LISTING_FLAGS
from ..support.grep.content import Beneath, NotSearchedError
from ..support.grep.kept_texts import SETTLED_NS, mark_of
from ..support.grep.standing_tree import StandingTree
from ..support.ignore_rules import SPECIAL_NAMES
from ..support.left_out import FirstNames, counted, left_out
from ..support.located import printable, why_unread
from ..support.walk import Walk
from .index import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from ..contract import CancellationToken, Unreadable
    from ..support.grep.kept_texts import Mark
    from ..support.located import Located
    from ..support.walk import Tally

_WATCHED_DIRECTORIES_MAX: Final = 4_096  # asking for each of more takes as long as a walk


class SourceTree:
    """What was found below one root. ``is_source`` tells by a path whether a file is wanted."""

    def __init__(self, is_source: Callable[[str], bool]) -> None:
        self.notes: list[str] = []
        self._is_source = is_source
        self._standing: StandingTree | None = None
        self._seen_through: Any = None
        self._paths: list[str] = []
        self._ignore_files: dict[str, Mark | None] = {}

    def look(self, opened: OpenedRoot, token: CancellationToken, unreadable: Unreadable | None) -> list[SourceFile]:
        """The files as they are now; ``unreadable`` are paths of which nothing is to be known.

        Raises:
            PlanOutdatedError: the root is another directory by now.
            ToolFailure: it cannot be read.
            ToolCancelledError: the token was cancelled.
        """
        seen_through = None if unreadable is None else unreadable.plain()
        if self._seen_through != seen_through or not self._still_stands(opened.fd):
            try:
                self._walk(opened, token, unreadable)
            except OSError as error:
                raise ToolFailure(f"{printable(opened.path)}: cannot be searched {why_unread(error)}.") from error
            self._seen_through = seen_through
        now_ns = time.time_ns()
        return [SourceFile(path, _mark(path, opened.fd, now_ns), opened.read) for path in self._paths]

    def _still_stands(self, fd: int) -> bool:
        if self._standing is None or not self._standing.stands(fd):
            return False
        try:
            return all(
                mark_of(os.stat(path, dir_fd=fd, follow_symlinks=False)) == mark
                for path, mark in self._ignore_files.items()
            )
        except OSError:
            return False

    def _walk(self, opened: OpenedRoot, token: CancellationToken, unreadable: Unreadable | None) -> None:
        walk = Walk(opened.located, token, is_denied=unreadable)
        standing: StandingTree | None = StandingTree(opened.path)
        ignored, ignored_directories = FirstNames(), FirstNames()
        self._standing, self._paths, self._ignore_files = None, [], {}
        with closing(walk.slices()) as slices:
            for part in slices:
                prefix = f"{part.path}/" if part.path else ""
                self._paths += [prefix + name for name in part.files if self._is_source(name)]
                ignored.add(part.path, part.ignored)
                ignored_directories.add(part.path, part.ignored_directories)
                if walk.tally.directories > _WATCHED_DIRECTORIES_MAX:
                    standing = None
                if standing is not None:
                    standing.add_directory(part)
                    for name in SPECIAL_NAMES.intersection(part.files):
                        mark = _mark(name, part.fd, time.time_ns())
                        standing.is_settled = standing.is_settled and mark is not None
                        self._ignore_files[prefix + name] = mark
        self._paths.sort()
        self.notes = _left_out(walk.tally, ignored, ignored_directories)
        if standing is not None:
            standing.finish([], is_whole=not (walk.tally.unread.count or walk.tally.changed))
            self._standing = standing if standing.is_settled else None


class OpenedRoot:
    """A root that was located, opened for its files to be read. Use as a context manager.

    Raises:
        PlanOutdatedError: it is not there any more, or another directory is.
        ToolFailure: it is no directory, or cannot be read.
    """

    def __init__(self, located: Located) -> None:
        self.located = located
        self.path = located.path
        if located.kind != "directory":
            raise ToolFailure(f"{printable(located.path)}: is no directory; a code base is a directory.")
        try:
            self.fd = os.open(located.name or ".", LISTING_FLAGS, dir_fd=located.anchor_fd)
        except OSError as error:
            raise ToolFailure(f"{printable(located.path)}: cannot be searched {why_unread(error)}.") from error
        if located.status is None or not os.path.samestat(os.fstat(self.fd), located.status):
            os.close(self.fd)
            raise PlanOutdatedError(f"{printable(located.path)}: was moved or replaced since the call began.")
        self._beneath = Beneath(self.fd)

    def read(self, path: str) -> bytes:
        """The content of a file below it, without following a link; for one thread at a time.

        Raises:
            ToolFailure: it cannot be read; the text says why.
        """
        try:
            return self._beneath.read(path, RETRIEVAL_FILE_MAX_BYTES)
        except NotSearchedError as error:
            raise ToolFailure(_why_unread(error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._beneath.close()
        os.close(self.fd)


def _mark(path: str, fd: int, now_ns: int) -> Mark | None:
    """What tells a file from a changed one; None where its times are too new for that, or it went away."""
    try:
        status = os.stat(path, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return None
    return mark_of(status) if _is_settled(status, now_ns) else None


def _is_settled(status: os.stat_result, now_ns: int) -> bool:
    settled_ns = now_ns - SETTLED_NS
    return status.st_ctime_ns < settled_ns and status.st_mtime_ns < settled_ns


def _why_unread(error: NotSearchedError) -> str:
    if error.reason == "too large":
        return f"is larger than {RETRIEVAL_FILE_MAX_BYTES} bytes"
    if error.reason == "unreadable":
        return f"cannot be read ({error.detail})"
    return "went away, or is no regular file any more"


def _left_out(tally: Tally, ignored: FirstNames, ignored_directories: FirstNames) -> list[str]:
    pruned = [
        f"{counted(count, 'directory', 'directories')} named {name}" for name, count in sorted(tally.pruned.items())
    ]
    notes = left_out(
        replace(tally, pruned={}),  # its words are about arguments that are not there
        ignored=ignored,
        ignored_directories=ignored_directories,
        links=None,
        how_to_see_ignored="they are not indexed",
    )
    if tally.links:
        notes.append(f"{counted(tally.links, 'link', 'links')}, not followed")
    return notes + pruned
