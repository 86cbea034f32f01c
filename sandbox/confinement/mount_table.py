"""The mount table of a Linux host, as text and as data: by which other names a path can be reached. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..paths import lies_in

if TYPE_CHECKING:
    from collections.abc import Iterable

MOUNT_TABLE: Final = "/proc/self/mountinfo"

_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """``root`` is the path inside of the file system that shows at ``place``; ``device`` names the file system."""

    device: str
    root: str
    place: str


def parse_mount_table(text: str) -> tuple[Mount, ...]:
    """The mounts in order, later ones over earlier ones; lines that say something else are left out."""
    mounts: list[Mount] = []
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) > 5 and fields[3].startswith("/") and fields[4].startswith("/"):
            mounts.append(Mount(device=fields[2], root=_plain(fields[3]), place=_plain(fields[4])))
    return tuple(mounts)


def other_names(path: str, mounts: Iterable[Mount]) -> tuple[str, ...]:
    """Where else the host shows the same file, through binds and through file systems that are mounted twice."""
    table = tuple(mounts)
    # Of several mounts at one place the last one shows.
    shown = max(
        (each for each in reversed(table) if lies_in(path, each.place)), key=lambda each: len(each.place), default=None
    )
    if shown is None:
        return ()
    inside = _joined(shown.root, path[len(shown.place.rstrip("/")) :])
    names = (
        _joined(each.place, inside[len(each.root.rstrip("/")) :])
        for each in table
        if each.device == shown.device and lies_in(inside, each.root)
    )
    return tuple(dict.fromkeys(name for name in names if name != path))


def _joined(directory: str, rest: str) -> str:
    return (directory.rstrip("/") + rest).rstrip("/") or "/"


def _plain(field: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), field)
