"""When a file was made, which no command can forge: by statx(2) and fstatfs(2) of Linux, which Python does not have."""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import sys
from typing import Any, Final

_AT_SYMLINK_NOFOLLOW: Final = 0x100
_STATX_BTIME: Final = 0x800
_STATX_SIZE: Final = 256
_BTIME_OFFSET: Final = 80
_STATFS_SIZE: Final = 512

_LOCAL_FILE_SYSTEMS: Final = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0x01021994,  # tmpfs
        0xF2F52010,  # f2fs
        0xCA451A4E,  # bcachefs
        0x2FC12FC1,  # zfs
    }
)
"""Their times are of this machine's clock; a server's clock may be another one."""


def born_ns(directory_fd: int, name: str, *, follow: bool = False) -> int:
    """Nanoseconds since the epoch at which the file ``name`` was made; 0 where that cannot be known for certain.

    With the number of its inode, which is given again once it is free, this tells a file from every other one.
    ``follow``: of what a link leads to.
    """
    library = _library()
    if library is None or not _is_local(library, directory_fd):
        return 0
    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    flags = 0 if follow else _AT_SYMLINK_NOFOLLOW
    if library.statx(directory_fd, os.fsencode(name), flags, _STATX_BTIME, buffer) != 0:
        return 0
    (mask,) = struct.unpack_from("=I", buffer, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, _BTIME_OFFSET)
    return seconds * 1_000_000_000 + nanoseconds if mask & _STATX_BTIME else 0


def _is_local(library: Any, directory_fd: int) -> bool:
    buffer = ctypes.create_string_buffer(_STATFS_SIZE)
    if library.fstatfs(directory_fd, buffer) != 0:
        return False
    # The type is the first word; its width is the machine's.
    (kind,) = struct.unpack_from("@l", buffer, 0)
    return kind & 0xFFFFFFFF in _LOCAL_FILE_SYSTEMS


@functools.cache
def _library() -> Any | None:
    """The C library, where it has both calls."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "statx") and hasattr(library, "fstatfs") else None
