"""Files of the workspace that have another name outside of it: writing them writes there (no mount can hold that)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from collections.abc import Set as AbstractSet

ENTRIES_MAX: Final = 500_000
DEPTH_MAX: Final = 256
"""Levels of directories; one descriptor is open for each."""

LINKED_MAX: Final = 100_000
"""Files with several names that are counted at once."""

LOOK_MAX_S: Final = 2.0
_READ_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class HardLinks:
    """``outside``: a file that has a name elsewhere; empty if there is none. ``unknown`` says why that is not known."""

    outside: str = ""
    unknown: str = ""


def look_for_hard_links(roots: Sequence[str], also_writable: Sequence[str], read_only: AbstractSet[str]) -> HardLinks:
    """Look for a file below ``roots`` some of whose names lie neither there nor in the other writable places.

    What is ``read_only`` is left out: it cannot be written by any name that a command has. Bounded in entries, depth
    and time; no link is followed.
    """
    count = _Count(deadline=time.monotonic() + LOOK_MAX_S, read_only=read_only)
    try:
        for root in roots:
            count.add_tree(root, only_known=False)
        if count.missing:
            # Names in other writable places are the command's anyway, as those of a package manager's cache.
            for place in also_writable:
                count.add_tree(place, only_known=True)
    except _UnknownError as unknown:
        return HardLinks(unknown=str(unknown))
    return HardLinks(outside=next(iter(count.missing.values()), _Names("", 0)).path)


class _UnknownError(Exception):
    """It cannot be known; the text is a clause that says why."""


@dataclass(slots=True)
class _Names:
    """One name of a file, and how many of its names were not seen yet."""

    path: str
    missing: int


@dataclass(slots=True)
class _Level:
    descriptor: int
    path: str
    entries: Generator[os.DirEntry[str], None, None]

    def close(self) -> None:
        self.entries.close()
        os.close(self.descriptor)


@dataclass(slots=True)
class _Count:
    """The names that were seen of each file that has several."""

    deadline: float
    read_only: AbstractSet[str]
    entries: int = 0
    missing: dict[tuple[int, int], _Names] = field(default_factory=dict[tuple[int, int], _Names])
    directories: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def add_tree(self, place: str, *, only_known: bool) -> None:
        """Count the names below a place; ``only_known``: only of files that have a name in a root.

        Raises:
            _UnknownError: not all of them can be seen.
        """
        levels: list[_Level] = []
        try:
            self._enter(levels, place, place, None)
            while levels:
                level = levels[-1]
                entry = next(level.entries, None)
                if entry is None:
                    levels.pop().close()
                    continue
                self._take(entry, level, levels, only_known=only_known)
        except OSError as error:
            raise _UnknownError(f"a directory below {place} could not be read ({error.strerror})") from error
        finally:
            for level in levels:
                level.close()

    def _take(self, entry: os.DirEntry[str], level: _Level, levels: list[_Level], *, only_known: bool) -> None:
        self.entries += 1
        if self.entries > ENTRIES_MAX:
            raise _UnknownError(f"there are more than {ENTRIES_MAX:,} files to look at")
        if self.entries % 256 == 0 and time.monotonic() > self.deadline:
            raise _UnknownError(f"looking at all files takes longer than {LOOK_MAX_S:g} s")
        path = f"{level.path}/{entry.name}"
        if path in self.read_only or entry.is_symlink():
            return
        if entry.is_dir(follow_symlinks=False):
            self._enter(levels, entry.name, path, level.descriptor)
            return
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        key = (found.st_dev, found.st_ino)
        if found.st_nlink < 2 or (only_known and key not in self.missing):
            return
        self._see(key, path, found.st_nlink)

    def _see(self, key: tuple[int, int], path: str, names: int) -> None:
        known = self.missing.setdefault(key, _Names(path, names))
        known.missing -= 1
        if known.missing <= 0:
            del self.missing[key]
        if len(self.missing) > LINKED_MAX:
            raise _UnknownError(f"more than {LINKED_MAX:,} files have several names")

    def _enter(self, levels: list[_Level], name: str, path: str, parent_fd: int | None) -> None:
        if len(levels) >= DEPTH_MAX:
            raise _UnknownError(f"there are directories more than {DEPTH_MAX} levels deep")
        try:
            descriptor = os.open(name, _READ_DIRECTORY, dir_fd=parent_fd)
        except (FileNotFoundError, NotADirectoryError):
            return  # removed or replaced since its name was read
        found = os.fstat(descriptor)
        # Roots may lie in each other, and directories be mounted twice: each name counts once.
        if (found.st_dev, found.st_ino) in self.directories:
            os.close(descriptor)
            return
        self.directories.add((found.st_dev, found.st_ino))
        levels.append(_Level(descriptor, path, _entries(descriptor)))


def _entries(descriptor: int) -> Generator[os.DirEntry[str], None, None]:
    with os.scandir(descriptor) as entries:
        yield from entries
