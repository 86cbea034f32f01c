"""Where a confined command may write and what it does not see, as data, whatever holds it to that. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TEMPORARY_PLACES: Final = ("/tmp", "/var/tmp")  # noqa: S108  places inside of the sandbox, where a directory of the session is mounted

KERNEL_PLACES: Final = ("/proc", "/dev", "/sys")
"""Their files are the kernel's; no setting makes them writable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """A path that cannot be read inside. It exists, and is resolved."""

    path: str
    is_directory: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where a command may write and what it may not see or change. All paths are absolute, resolved and exist.

    ``temporary`` is the host's directory that is mounted at each of ``temporary_places``.
    """

    writable: tuple[str, ...]
    read_only: tuple[str, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    temporary: str = ""
    temporary_places: tuple[str, ...] = ()
