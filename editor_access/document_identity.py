"""Which file an open document stands for, judged anew at each call (E1)."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from typing import Final

_SETTLED_NS: Final = 2_000_000_000
"""How long ago a directory changed for certain, so that its next change gets another time than its last one."""

_NO_NAMES: Final = frozenset({"", os.curdir, os.pardir})


def canonical(path: str) -> str:
    """The path without links, as far as it exists."""
    return os.path.realpath(path)


@dataclass(slots=True)
class LastLook:
    """What a document's name stood for when it was looked at last, and which state its directory was in."""

    directory: tuple[int, int, int] | None = None
    inode: tuple[int, int] | None = None


class WantedFile:
    """A canonical path that documents are compared with.

    It is looked at once, however many documents there are; and so is each of their directories, instead of the
    documents in it, as long as the names in it are the same: there may be ten thousand, and several looks in a call.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._inode = _inode(path)
        self._directories: dict[str, tuple[int, int, int] | None] = {}

    def is_opened_as(self, opened: str, last: LastLook | None = None) -> bool:
        """Whether ``opened``, as an editor spells it, stands for this file now.

        A file with one single name is the same file under every spelling: that covers disks that ignore case or
        normalise names. Two hard links are two files here, for a replacement of one leaves the other alone.
        """
        if opened == self._path:
            return canonical(opened) == self._path
        if last is not None and self._is_another(opened, last):
            return False
        here = _inode(opened)
        if here != self._inode or (here is None and _leads_to_another_name(opened, self._path)):
            return False
        return (here is not None and here[2] == 1) or canonical(opened) == self._path

    def _is_another(self, opened: str, last: LastLook) -> bool:
        """Whether it certainly stands for another file: its directory is as it was, and there its name did so."""
        directory, name = os.path.split(opened)
        state = None if name in _NO_NAMES else self._state(directory)
        if state is None:
            return False
        if last.directory != state:
            last.directory, last.inode = state, _inode_of_name(opened)
        return last.inode is not None and (self._inode is None or last.inode != self._inode[:2])

    def _state(self, directory: str) -> tuple[int, int, int] | None:
        """What becomes another one with every change of a name in it; None where that is not certain."""
        if directory not in self._directories:
            self._directories[directory] = _settled_state(directory)
        return self._directories[directory]


def same_file(opened: str, wanted: str) -> bool:
    """Whether ``opened``, as an editor spells it, stands for the canonical path ``wanted`` now."""
    return WantedFile(wanted).is_opened_as(opened)


def still_leads_to(canonical_at_opening: str, wanted: str) -> bool:
    """Whether the file that was opened is ``wanted``, rather than something its name was pointed at since."""
    if canonical_at_opening == wanted:
        return True
    return canonical(canonical_at_opening) == canonical_at_opening and same_file(canonical_at_opening, wanted)


def _leads_to_another_name(missing: str, wanted: str) -> bool:
    """Told cheaply for what is not there and no link, which keeps its last name in its canonical path."""
    name = os.path.basename(missing)
    return name not in {"", ".", "..", os.path.basename(wanted)} and not os.path.lexists(missing)


def _inode(path: str) -> tuple[int, int, int] | None:
    """Device, inode and number of names; None where there is nothing."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_nlink


def _settled_state(directory: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(directory)
    except (OSError, ValueError):
        return None
    # Not the time of modification, which anybody may set.
    is_settled = time.time_ns() - status.st_ctime_ns > _SETTLED_NS
    return (status.st_dev, status.st_ino, status.st_ctime_ns) if is_settled else None


def _inode_of_name(path: str) -> tuple[int, int] | None:
    """Device and inode; None for a link, which leads elsewhere with no change of its directory, and for nothing."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return None if stat.S_ISLNK(status.st_mode) else (status.st_dev, status.st_ino)


def is_below(path: str, directory: str) -> bool:
    """Whether a canonical path is inside a canonical directory, or is it."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
