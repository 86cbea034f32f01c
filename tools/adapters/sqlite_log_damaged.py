"""Damaged logs that were moved aside, and how long they are kept: as long as a call is."""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from typing import Final

from .sqlite_log_database import DAMAGED

_DAY_S: Final = 24 * 60 * 60
_MOVED_ASIDE: Final = re.compile(r"\d{8}-\d{6}-\d+")


def remove_damaged(directory: str, days: int) -> None:
    """Remove those beside the log in ``directory`` that were moved aside more than ``days`` ago.

    Blocks. Nothing is raised: what cannot be removed is tried again by the next session.
    """
    parent, name = os.path.split(directory)
    try:
        with os.scandir(parent) as entries:
            found = [entry.path for entry in entries if _is_one(entry.name, name)]
    except OSError:
        return
    for path in found:
        if _age_s(path) > days * _DAY_S:
            shutil.rmtree(path, ignore_errors=True)


def _is_one(name: str, log: str) -> bool:
    prefix = f"{log}{DAMAGED}"
    return name.startswith(prefix) and _MOVED_ASIDE.fullmatch(name[len(prefix) :]) is not None


def _age_s(path: str) -> float:
    """Since it was moved aside, by its name; below 0 where that cannot be told, or it is no directory of one's own."""
    try:
        status = os.lstat(path)
        moved = time.mktime(time.strptime(path.rpartition(DAMAGED)[2][:15], "%Y%m%d-%H%M%S"))
    except (OSError, ValueError, OverflowError):
        return -1
    is_own = stat.S_ISDIR(status.st_mode) and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())
    return time.time() - moved if is_own else -1
