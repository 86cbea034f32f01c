"""Whose work a new protected entry is: the host's if all of it is what the host is known to have written."""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

FILE_MAX_BYTES: Final = 8 * 1024 * 1024
ENTRIES_MAX: Final = 200
DEPTH_MAX: Final = 16
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def digest_of(content: bytes) -> str:
    """The name of a content."""
    return hashlib.sha256(content).hexdigest()


def below_key(below: str) -> str:
    """The path below a root as it is compared: packed, and folded, because some file systems fold names too."""
    return os.fsencode(below).decode("latin-1").casefold()


def is_the_hosts(root_fd: int, name: str, host_wrote: AbstractSet[tuple[str, str]]) -> bool:
    """Whether ``name`` is a file that the host wrote, or a directory of nothing else.

    ``host_wrote`` holds pairs of ``below_key`` and ``digest_of``. What has another name elsewhere (a hard link) is not
    taken for the host's: it can be changed by that name later. Nor is what is too large to be looked at.
    """
    if not host_wrote:
        return False
    seen_files = 0
    pending = [name]
    for _ in range(ENTRIES_MAX):
        if not pending:
            return seen_files > 0
        below = pending.pop()
        try:
            inside = _look_into(root_fd, below, host_wrote)
        except OSError:
            return False
        if inside is None:
            return False
        seen_files += not inside
        pending.extend(inside)
    return False


def _look_into(root_fd: int, below: str, host_wrote: AbstractSet[tuple[str, str]]) -> list[str] | None:
    """Names in a directory; empty for a file of the host's; None for anything else.

    Raises:
        OSError: it cannot be looked at.
    """
    descriptor = _open_below(root_fd, below)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(descriptor) as entries:
                names = [entry.name for entry in itertools.islice(entries, ENTRIES_MAX)]
            return [f"{below}/{name}" for name in names] if below.count("/") < DEPTH_MAX and names else None
        is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_size <= FILE_MAX_BYTES
        if not is_plain or found.st_mode & 0o6111:
            return None
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(FILE_MAX_BYTES + 1)
        return [] if (below_key(below), digest_of(content)) in host_wrote else None
    finally:
        os.close(descriptor)


def _open_below(root_fd: int, below: str) -> int:
    """Open name by name, so that no link on the way is followed."""
    *directories, leaf = below.split("/")
    current = os.dup(root_fd)
    try:
        for directory in directories:
            inner = os.open(directory, _READ | os.O_DIRECTORY, dir_fd=current)
            os.close(current)
            current = inner
        return os.open(leaf, _READ, dir_fd=current)
    finally:
        os.close(current)
