"""One walk over a directory and what is below it, for all tools that list or search: it never leaves the roots (P4).

Each directory is opened by its name below the opened one above it, and never through a link. So whatever is swapped
for a link meanwhile, what is listed lies below the directory that the walk began in; a link is an entry like another,
and there is no loop. Names that are not UTF-8 come with surrogate escapes, as ``os.fsdecode`` has them.

    with closing(Walk(located, token).slices()) as slices:
        for part in slices:
            part.files  # names in the directory part.path, to be looked at by part.fd

Nothing here keeps more than the names of the directories that wait, and one slice of a directory.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from ..errors import PlanOutdatedError, ToolCancelledError
from ..limits import PATH_MAX_CHARS
from .descriptor_path import LISTING_FLAGS, proc_device
from .ignore_rules import NO_RULES, SPECIAL_NAMES, IgnoreReader, rules_above
from .located import kind_of, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ..contract import CancellationToken
    from .ignore_rules import IgnoreRules
    from .located import Kind, Located

PRUNED: Final = frozenset({".git", "node_modules"})
"""Directories that are not looked into unless they are named (F7)."""

SLICE_NAMES: Final = 1_024
_OPEN_DIRECTORIES: Final = 32
_NAMED_MAX: Final = 20
_GONE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}


class Selection(Protocol):
    """What is wanted of one directory. Both methods give the same list back where they take everything."""

    def names(self, names: list[str], /) -> list[str]:
        """Those of the names (of files, links and others) that are wanted, in their order."""
        ...

    def directories(self, names: list[str], /) -> list[str]:
        """Those of the directories in which something can be that is wanted, in their order."""
        ...

    def below(self, name: str, /) -> Selection:
        """What is wanted of the directory of this name."""
        ...


@dataclass(slots=True)
class Slice:
    """Some of the entries of one directory; a directory with many comes in several slices, one behind the other.

    Attributes:
        path: of the directory, relative to where the walk began; "" for that itself.
        fd: the opened directory, for ``dir_fd=``; until the next slice is asked for.
        files: names of regular files.
        directories: names of directories. The walk goes into those that are still in this list when the next slice
            is asked for; who does not want that takes them out.
        links: names of symbolic links, wherever they lead.
        others: names of everything else, with its kind.
        ignored: names that ignore files leave out, links and others too; ``ignored_directories`` those of directories.
        pruned: names of directories that are not looked into for their name.
    """

    path: str
    fd: int
    files: list[str] = field(default_factory=list[str])
    directories: list[str] = field(default_factory=list[str])
    links: list[str] = field(default_factory=list[str])
    others: list[tuple[str, Kind]] = field(default_factory=list["tuple[str, Kind]"])
    ignored: list[str] = field(default_factory=list[str])
    ignored_directories: list[str] = field(default_factory=list[str])
    pruned: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Unread:
    """Directories that were not read, or not to their end: how many, and the first of them, printable, with reasons."""

    count: int = 0
    named: list[str] = field(default_factory=list[str])

    def add(self, path: str, reason: str) -> None:
        """Take note of one."""
        self.count += 1
        if len(self.named) < _NAMED_MAX:
            self.named.append(f"{printable(path)} ({reason})")


@dataclass(slots=True)
class Tally:
    """What a walk met. Files and others count where they are wanted, directories where they could lead to such.

    Attributes:
        directories: that were listed.
        entries: of these directories, all of them.
        ignored_files: left out by ignore files; no directories.
        ignored_directories: left out by ignore files, with all that is in them.
        pruned: directories that were left out for their name, by the name.
        links: met and not followed, that are wanted, or could lead to what is if they were followed.
        matching_directories: whose names are those of wanted files.
        others: FIFOs, sockets, devices.
        hides: some paths are not to be told; how many of them there are is not counted either.
        unread: directories that could not be read.
        changed: directories that were gone, or something else, when their turn came.
        not_applied: ignore files that are too large to be applied, printable.
        outside_repository: ``.gitignore`` files that do not hold, because they are in no git repository, printable.
    """

    directories: int = 0
    entries: int = 0
    ignored_files: int = 0
    ignored_directories: int = 0
    pruned: dict[str, int] = field(default_factory=dict[str, int])
    links: int = 0
    matching_directories: int = 0
    others: int = 0
    hides: bool = False
    unread: Unread = field(default_factory=Unread)
    changed: int = 0
    not_applied: list[str] = field(default_factory=list[str])
    outside_repository: list[str] = field(default_factory=list[str])


class Walk:
    """A walk from a directory that was located (and admitted by the gate). It blocks, and is made for a worker thread.

    ``ignoring``: what ignore files say is left out, as ripgrep and git do it (see ``ignore_rules``). ``named``: names
    of ``PRUNED`` that the caller named; they are looked into, even where an ignore file names them. ``is_denied`` is
    asked for the absolute path of every entry that is wanted; what is denied is not told, and not opened. ``max_depth``
    1 lists the directory itself and nothing below. ``ordered``: names come sorted, a directory in one slice, and the
    directories of a directory are entered in this order; else everything comes as the file system has it.
    """

    def __init__(
        self,
        located: Located,
        token: CancellationToken,
        *,
        ignoring: bool = True,
        named: frozenset[str] = frozenset(),
        selection: Selection | None = None,
        is_denied: Callable[[str], bool] | None = None,
        max_depth: int | None = None,
        ordered: bool = False,
    ) -> None:
        self.tally = Tally(hides=is_denied is not None)
        self._located = located
        self._token = token
        self._ignoring = ignoring
        self._named = named
        self._pruned = PRUNED - named
        self._selection = selection
        self._is_denied = is_denied
        self._max_depth = max_depth
        self._ordered = ordered
        self._reader = IgnoreReader(self.tally.not_applied, self.tally.outside_repository)
        self._stack: list[_Frame] = []
        self._prefix = located.path.rstrip("/") + "/"

    def slices(self) -> Generator[Slice]:
        """The entries, directory by directory. Close the iterator where it is not read to its end.

        Raises:
            PlanOutdatedError: the directory to begin in is not there any more, or is another one by now.
            OSError: it cannot be read, or the process has too many open files.
            ToolCancelledError: the token was cancelled.
        """
        path = self._located.path
        rules = rules_above(path, self._reader) if self._ignoring else NO_RULES
        try:
            yield from self._visit(_Frame("", "", _open_start(self._located), rules, self._selection), is_start=True)
            while self._stack:
                frame = self._stack[-1]
                if not frame.pending:
                    self._stack.pop().close()
                    continue
                child = self._child(frame, frame.pending.pop())
                if child is not None:
                    yield from self._visit(child)
                else:
                    self._refuse_cancelled()
        finally:
            for frame in self._stack:
                frame.close()
            self._stack.clear()

    def _visit(self, frame: _Frame, *, is_start: bool = False) -> Iterator[Slice]:
        """Tell what is in a directory; those in it then wait on the stack."""
        self._stack.append(frame)
        if len(self._stack) > _OPEN_DIRECTORIES:
            # One far above is closed, so that a deep tree needs no more descriptors than a flat one.
            self._stack[-_OPEN_DIRECTORIES].park()
        try:
            with os.scandir(frame.fd) as entries:
                self.tally.directories += 1
                yield from self._listed(frame, entries)
        except OSError as error:
            if is_start or error.errno in {errno.EMFILE, errno.ENFILE}:
                raise
            self.tally.unread.add(self._absolute(frame.path), error.strerror or str(error))
        frame.pending.reverse()

    def _next_slice(self, frame: _Frame, entries: Iterator[os.DirEntry[str]]) -> tuple[Slice, bool]:
        """The next entries, or all in order, and whether there may be more."""
        part = Slice(frame.path, frame.fd)
        goes_on = True
        while goes_on:
            batch = list(islice(entries, SLICE_NAMES))
            goes_on = len(batch) == SLICE_NAMES
            self.tally.entries += len(batch)
            _sort_out(batch, part)
            if not self._ordered:
                return part, goes_on
            self._refuse_cancelled()
        for names in (part.files, part.directories, part.links, part.others):
            names.sort()
        return part, False

    def _refuse_cancelled(self) -> None:
        if self._token.cancelled:
            raise ToolCancelledError(
                f"{printable(self._located.path)}: cancelled after {self.tally.directories} directories."
            )

    def _listed(self, frame: _Frame, entries: Iterator[os.DirEntry[str]]) -> Iterator[Slice]:
        goes_on = True
        is_first = True
        while goes_on:
            self._refuse_cancelled()
            part, goes_on = self._next_slice(frame, entries)
            if is_first and self._ignoring:
                self._read_rules(frame, part, is_whole=not goes_on)
            is_first = False
            self._sieve(frame, part)
            yield part
            if self._max_depth is None or len(self._stack) < self._max_depth:
                frame.pending.extend(part.directories)

    def _read_rules(self, frame: _Frame, part: Slice, *, is_whole: bool) -> None:
        if is_whole and SPECIAL_NAMES.isdisjoint(part.files) and SPECIAL_NAMES.isdisjoint(part.directories):
            return
        path = self._absolute(frame.path)
        is_denied = self._is_denied
        present = {
            name
            for name in SPECIAL_NAMES
            if _exists(name, frame.fd) and not (is_denied is not None and is_denied(os.path.join(path, name)))
        }
        if present:
            frame.rules = frame.rules.with_files_of(present, frame.fd, path, self._reader)

    def _sieve(self, frame: _Frame, part: Slice) -> None:
        """Take out of a slice what is not wanted, ignored, pruned or denied."""
        selection, rules = frame.selection, frame.rules
        if self._is_denied is not None:
            self._leave_out_denied(frame, part)
        if selection is not None:
            if part.directories:
                self.tally.matching_directories += len(selection.names(part.directories))
            _select(selection, part)
        if part.directories:
            self._leave_out_directories(rules, part)
        if part.files and rules is not NO_RULES:
            part.files = self._not_ignored(rules, part.files, part)
        if part.links:
            part.links = self._not_ignored(rules, part.links, part)
            self.tally.links += len(part.links)
        if part.others:
            kept = set(self._not_ignored(rules, [name for name, _ in part.others], part))
            part.others = [other for other in part.others if other[0] in kept]
            self.tally.others += len(part.others)

    def _leave_out_directories(self, rules: IgnoreRules, part: Slice) -> None:
        tally = self.tally
        directories = part.directories
        if not self._pruned.isdisjoint(directories):
            part.pruned = [name for name in directories if name in self._pruned]
            directories = [name for name in directories if name not in self._pruned]
            for name in part.pruned:
                tally.pruned[name] = tally.pruned.get(name, 0) + 1
        part.directories = rules.kept_directories(directories)
        if len(part.directories) < len(directories):
            kept = set(part.directories) | self._named
            part.directories = [name for name in directories if name in kept]
            part.ignored_directories = [name for name in directories if name not in kept]
            tally.ignored_directories += len(part.ignored_directories)

    def _not_ignored(self, rules: IgnoreRules, names: list[str], part: Slice) -> list[str]:
        kept = rules.kept_files(names)
        if len(kept) < len(names):
            there = set(kept)
            ignored = [name for name in names if name not in there]
            part.ignored = part.ignored + ignored
            self.tally.ignored_files += len(ignored)
        return kept

    def _leave_out_denied(self, frame: _Frame, part: Slice) -> None:
        is_denied = self._is_denied
        assert is_denied is not None
        prefix = self._absolute(frame.path).rstrip("/") + "/"
        before = len(part.files) + len(part.directories) + len(part.links) + len(part.others)
        part.files = [name for name in part.files if not is_denied(prefix + name)]
        part.directories = [name for name in part.directories if not is_denied(prefix + name)]
        part.links = [name for name in part.links if not is_denied(prefix + name)]
        part.others = [other for other in part.others if not is_denied(prefix + other[0])]
        after = len(part.files) + len(part.directories) + len(part.links) + len(part.others)
        self.tally.entries -= before - after

    def _child(self, parent: _Frame, name: str) -> _Frame | None:
        """Open a directory that waited; None where that is not to be had."""
        path = f"{parent.path}/{name}" if parent.path else name
        absolute = self._absolute(path)
        if len(absolute) >= PATH_MAX_CHARS // 4 and len(os.fsencode(absolute)) >= PATH_MAX_CHARS:
            self.tally.unread.add(absolute[:200] + "...", "the path is too long")
            return None
        try:
            if parent.fd < 0:
                self._unpark()
            fd = os.open(name, LISTING_FLAGS, dir_fd=parent.fd)
        except OSError as error:
            if error.errno in {errno.EMFILE, errno.ENFILE}:
                raise
            if error.errno in _GONE:
                self.tally.changed += 1
            else:
                self.tally.unread.add(absolute, error.strerror or str(error))
            return None
        if name == "proc" and os.fstat(fd).st_dev == proc_device():
            os.close(fd)
            self.tally.unread.add(absolute, "describes processes and is no part of a workspace")
            return None
        below = None if parent.selection is None else parent.selection.below(name)
        return _Frame(name, path, fd, parent.rules.below(name), below)

    def _absolute(self, path: str) -> str:
        return self._prefix + path if path else self._located.path

    def _unpark(self) -> None:
        """Open the last directory on the stack again, from the innermost one above it that is open.

        Raises:
            OSError: it is not there any more, or another one is.
        """
        last = len(self._stack) - 1
        at = next(index for index in range(last, -1, -1) if self._stack[index].fd >= 0)
        kept_from = max(at + 1, last - _OPEN_DIRECTORIES // 2)
        fd = os.dup(self._stack[at].fd)
        try:
            for index in range(at + 1, last + 1):
                frame = self._stack[index]
                below = os.open(frame.name, LISTING_FLAGS, dir_fd=fd)
                os.close(fd)
                fd = below
                if index >= kept_from:
                    frame.unpark(os.dup(fd))
        finally:
            os.close(fd)


class _Frame:
    """A directory of the walk: what was listed of it and is still to be entered."""

    __slots__ = ("_identity", "fd", "name", "path", "pending", "rules", "selection")

    def __init__(self, name: str, path: str, fd: int, rules: IgnoreRules, selection: Selection | None) -> None:
        self.name = name
        self.path = path
        self.fd = fd
        self.rules = rules
        self.selection = selection
        self.pending: list[str] = []
        self._identity: tuple[int, int] | None = None

    def park(self) -> None:
        if self.path and self.fd >= 0:
            status = os.fstat(self.fd)
            self._identity = (status.st_dev, status.st_ino)
            self.close()

    def unpark(self, fd: int) -> None:
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != self._identity:
            os.close(fd)
            raise FileNotFoundError(errno.ENOENT, "is another directory by now")
        self.fd = fd

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _open_start(located: Located) -> int:
    """Open the directory that was located, if it still has its name; raises as ``Walk.slices`` does."""
    try:
        fd = os.open(located.name or ".", LISTING_FLAGS, dir_fd=located.anchor_fd)
    except OSError as error:
        if error.errno not in _GONE:
            raise
        raise _moved(located) from None
    if located.status is None or not os.path.samestat(os.fstat(fd), located.status):
        os.close(fd)
        raise _moved(located)
    return fd


def _moved(located: Located) -> PlanOutdatedError:
    return PlanOutdatedError(f"{printable(located.path)}: was moved or replaced since the call began.")


def _sort_out(batch: list[os.DirEntry[str]], part: Slice) -> None:
    files, directories = part.files, part.directories
    for entry in batch:
        if entry.is_file(follow_symlinks=False):
            files.append(entry.name)
        elif entry.is_dir(follow_symlinks=False):
            directories.append(entry.name)
        elif entry.is_symlink():
            part.links.append(entry.name)
        elif (kind := _kind(entry.name, part.fd)) is not None:
            part.others.append((entry.name, kind))


def _kind(name: str, directory_fd: int) -> Kind | None:
    try:
        return kind_of(os.stat(name, dir_fd=directory_fd, follow_symlinks=False).st_mode)
    except OSError:
        return None


def _exists(name: str, directory_fd: int) -> bool:
    try:
        os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
    except OSError:
        return False
    return True


def _select(selection: Selection, part: Slice) -> None:
    part.files = selection.names(part.files)
    part.directories = selection.directories(part.directories)
    if part.links:
        wanted = {*selection.names(part.links), *selection.directories(part.links)}
        part.links = [name for name in part.links if name in wanted]
    if part.others:
        wanted = set(selection.names([name for name, _ in part.others]))
        part.others = [other for other in part.others if other[0] in wanted]
