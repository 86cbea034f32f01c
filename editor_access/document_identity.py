"""Which file an open document stands for, judged anew at each call (E1)."""

from __future__ import annotations

import os


def canonical(path: str) -> str:
    """The path without links, as far as it exists."""
    return os.path.realpath(path)


class WantedFile:
    """A canonical path that documents are compared with; looked at once, however many documents there are."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._inode = _inode(path)

    def is_opened_as(self, opened: str) -> bool:
        """Whether ``opened``, as an editor spells it, stands for this file now.

        A file with one single name is the same file under every spelling: that covers disks that ignore case or
        normalise names. Two hard links are two files here, for a replacement of one leaves the other alone.
        """
        if opened == self._path:
            return canonical(opened) == self._path
        here = _inode(opened)
        if here != self._inode or (here is None and _leads_to_another_name(opened, self._path)):
            return False
        return (here is not None and here[2] == 1) or canonical(opened) == self._path


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


def is_below(path: str, directory: str) -> bool:
    """Whether a canonical path is inside a canonical directory, or is it."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
