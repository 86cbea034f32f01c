"""The places of rules on this host, and how its file systems compare names. Looks at the disk; decides nothing."""

from __future__ import annotations

import os
import stat
from itertools import islice
from typing import TYPE_CHECKING, Final

from .places import RulePlaces

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_ENTRIES: Final = 64


def host_places(roots: Iterable[str], *, home: str | None = None) -> RulePlaces:
    """Roots and home as they are resolved now. To be called again when a root is added, or the rules change."""
    return RulePlaces(
        roots=tuple(os.path.realpath(root) for root in roots),
        home=os.path.realpath(os.path.expanduser("~") if home is None else home),
        resolved=os.path.realpath,
        folds_case=folds_case,
    )


def folds_case(path: str) -> bool:
    """Whether names in a directory, or where it would be, are compared without regard to case.

    Found out by a name that is there, asked for with its letters' case turned round; False where nothing tells.
    """
    while True:
        answer = _asked_inside(path)
        if answer is None and not os.path.ismount(path):
            answer = _asked(os.path.dirname(path), os.path.basename(path))
        if answer is not None:
            return answer
        above = os.path.dirname(path)
        if above == path or os.path.isdir(path):
            return False  # a directory of its own file system, or an empty one in which no name tells
        path = above


def _asked_inside(directory: str) -> bool | None:
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in islice(entries, _MOST_ENTRIES)]
    except (OSError, ValueError):
        return None
    return next((answer for name in names if (answer := _asked(directory, name)) is not None), None)


def _asked(directory: str, name: str) -> bool | None:
    turned = name.swapcase()
    if turned == name or not name.isascii():
        return None
    try:
        status = os.lstat(os.path.join(directory, name))
    except (OSError, ValueError):
        return None
    try:
        other = os.lstat(os.path.join(directory, turned))
    except OSError:
        return False
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        return None  # two names of one file would look the same
    return os.path.samestat(status, other)
