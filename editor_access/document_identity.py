"""Which file an open document stands for, judged anew at each call (E1)."""

from __future__ import annotations

import os


def canonical(path: str) -> str:
    """The path without links, as far as it exists."""
    return os.path.realpath(path)


def same_file(opened: str, wanted: str) -> bool:
    """Whether ``opened``, as an editor spells it, stands for the canonical path ``wanted`` now.

    A file with one single name is the same file under every spelling: that covers disks that ignore case or
    normalise names. Two hard links are two files here, for a replacement of one leaves the other alone.
    """
    if opened == wanted:
        return canonical(opened) == wanted
    try:
        here, there = os.stat(opened), os.stat(wanted)
    except (OSError, ValueError):
        return canonical(opened) == wanted
    if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
        return False
    return here.st_nlink == 1 or canonical(opened) == wanted


def still_leads_to(canonical_at_opening: str, wanted: str) -> bool:
    """Whether the file that was opened is ``wanted``, rather than something its name was pointed at since."""
    if canonical_at_opening == wanted:
        return True
    return canonical(canonical_at_opening) == canonical_at_opening and same_file(canonical_at_opening, wanted)


def is_below(path: str, directory: str) -> bool:
    """Whether a canonical path is inside a canonical directory, or is it."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
