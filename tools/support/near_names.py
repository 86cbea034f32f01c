"""Names in an opened directory that a missing one may have been meant for."""

from __future__ import annotations

import difflib
import os
import unicodedata
from itertools import islice
from typing import TYPE_CHECKING, Final

from ..contract import Capability, FileTarget
from ..errors import PermissionDeniedError
from .blocking import run_blocking
from .paths import printable

if TYPE_CHECKING:
    from ..contract import ToolContext
    from .located import Located

_MOST_ENTRIES: Final = 2_000
"""In a larger directory nothing is looked for: this is a hint and no search."""

_MOST_NAMES: Final = 3
_SIMILARITY: Final = 0.8


async def near_names(missing: Located, context: ToolContext) -> str:
    """A sentence with the names that are there instead, " ..." or "": first those that differ in case only.

    Those that the gate does not admit are not told.
    """
    names = await run_blocking(context.cancellation, lambda: _near(missing))
    admitted = [
        name for name in names if await _is_admitted(os.path.join(os.path.dirname(missing.path), name), context)
    ]
    if not admitted:
        return ""
    shown = ", ".join(printable(name) for name in admitted)
    return f" That directory has {shown}."


def _near(missing: Located) -> list[str]:
    if missing.parent_fd is None:
        return []
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=missing.parent_fd)
    except OSError:
        return []
    try:
        with os.scandir(fd) as entries:
            names = [entry.name for entry in islice(entries, _MOST_ENTRIES + 1)]
    finally:
        os.close(fd)
    if len(names) > _MOST_ENTRIES:
        return []
    same = [name for name in names if _folded(name) == _folded(missing.name)]
    return sorted(same)[:_MOST_NAMES] or difflib.get_close_matches(missing.name, names, _MOST_NAMES, _SIMILARITY)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


async def _is_admitted(path: str, context: ToolContext) -> bool:
    accesses = (Capability.FILE_READ, Capability.FILE_WRITE)
    try:
        await context.admit(tuple(FileTarget(path=path, access=access) for access in accesses))
    except PermissionDeniedError:
        return False
    return True
