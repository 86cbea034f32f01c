"""The path that the system gives for an opened descriptor: what was really opened, whatever was asked for."""

from __future__ import annotations

import functools
import os
import sys
from typing import Final

# Directories are opened as anchors only, where the system has such a thing: that needs no read permission.
DIRECTORY_FLAGS: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC

LISTING_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""For a directory that is to be listed, by its own name and not through a link."""

_F_GETPATH: Final = 50
_F_GETPATH_SIZE: Final = 1024


def descriptor_path(fd: int) -> str:
    """The symlink-free absolute path of an opened file or directory.

    On Linux a file that was removed meanwhile is told with " (deleted)" behind its last name.

    Raises:
        OSError: the system cannot tell; only where ``descriptors_have_paths()`` is False, or for a path that is
            too long or no longer reachable.
    """
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415  absent on some systems that import this module

        path = os.fsdecode(fcntl.fcntl(fd, _F_GETPATH, bytes(_F_GETPATH_SIZE)).split(b"\0", 1)[0])
    else:
        path = os.readlink(f"/proc/self/fd/{fd}")
    if not path.startswith("/"):
        raise FileNotFoundError(2, "the opened file has no path in this file system", path)
    return path


@functools.cache
def descriptors_have_paths() -> bool:
    """Whether this system tells a descriptor's path (Linux with /proc, macOS); found out once."""
    if sys.platform not in {"linux", "darwin"}:
        return False
    try:
        fd = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return descriptor_path(fd) == "/"
    except OSError:
        return False
    finally:
        os.close(fd)


def system_path(path: str) -> str | None:
    """Where an absolute path leads, links followed and names spelled as the file system spells them.

    Names behind the last directory that exists stay as they are written; None when these go up by ``..``. The
    answer may be outdated by the time it is used.
    """
    if not descriptors_have_paths():
        try:
            return os.path.realpath(path)
        except OSError:
            return None  # it changed while it was being resolved
    if hasattr(os, "O_PATH") and (whole := _path_of_opened(path, os.O_PATH | os.O_CLOEXEC)):
        return whole
    names = [name for name in path.split("/") if name]
    found, existing, unknown = "/", 0, len(names)
    while existing < unknown:
        middle = (existing + unknown + 1) // 2
        if opened := _path_of_opened("/" + "/".join(names[:middle]), DIRECTORY_FLAGS):
            found, existing = opened, middle
        else:
            unknown = middle - 1
    rest = names[existing:]
    return None if ".." in rest else os.path.join(found, *rest)


def _path_of_opened(path: str, flags: int) -> str | None:
    try:
        fd = os.open(path, flags)
    except OSError:
        return None
    try:
        return descriptor_path(fd)
    except OSError:
        return None
    finally:
        os.close(fd)


@functools.cache
def proc_device() -> int | None:
    """The device number of /proc where that is a procfs, else None; found out once."""
    if sys.platform != "linux":
        return None
    try:
        proc, root = os.stat("/proc"), os.stat("/")
    except OSError:
        return None
    # A procfs has inode 1 at its top; a plain directory of that name must not condemn its whole file system.
    return proc.st_dev if proc.st_ino == 1 and proc.st_dev != root.st_dev else None
