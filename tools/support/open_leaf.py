"""The last step of locating: what lies under one name of an opened directory, opened without side effects."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING, Final

from ..errors import PathRefusedError
from .boundary import PathMovedError
from .descriptor_path import descriptor_path, descriptors_have_paths, proc_device
from .located import Located, kind_of, printable

if TYPE_CHECKING:
    from .boundary import Boundary

# O_NONBLOCK and O_NOCTTY matter only if something else was put under the name since it was looked at: opening a
# FIFO must not wait, and no terminal may become ours.
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_REMOVED: Final = " (deleted)"


def open_leaf(
    boundary: Boundary, asked: str, parent_fd: int, name: str, status: os.stat_result, walked: str | None = None
) -> Located:
    """Open ``name``, which ``status`` (not following links) says is there; of a link, the link itself is meant.

    Only regular files are opened, so that no device, FIFO or socket notices. ``walked`` is the path where the
    system has none for a descriptor. The result owns ``parent_fd``.

    Raises:
        PathMovedError: it is something else by now.
        PathRefusedError: it lies outside the roots or in /proc.
        OSError: whatever opening may raise.
    """
    fd, unreadable = _open_file(parent_fd, name) if stat.S_ISREG(status.st_mode) else (None, None)
    try:
        if fd is not None:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                raise PathMovedError
        if walked is not None and not descriptors_have_paths():
            path = walked
        elif fd is not None:
            path, name = _path_of_entry(fd, parent_fd, name, status)
        else:
            path, name, status = _look(parent_fd, name, is_link=stat.S_ISLNK(status.st_mode))
        root = _judge(boundary, asked, path, status)
    except BaseException:
        if fd is not None:
            os.close(fd)
        raise
    return Located(
        root=root,
        path=path,
        name=name,
        parent_fd=parent_fd,
        anchor_fd=parent_fd,
        fd=fd,
        status=status,
        kind=kind_of(status.st_mode),
        unreadable=unreadable,
    )


def missing_leaf(
    boundary: Boundary, asked: str, anchor_fd: int, names: tuple[str, ...], walked: str | None = None
) -> Located:
    """Describe the last of ``names``, where the first of them does not exist below ``anchor_fd``.

    The result owns ``anchor_fd``. Raises as :func:`open_leaf` does.
    """
    anchor = walked if walked is not None and not descriptors_have_paths() else _standing_directory(anchor_fd)
    *parents, name = names
    path = os.path.join(anchor, *names)
    if path.startswith("/proc/") and proc_device() is not None:
        raise in_proc(path)
    if boundary.root_of(anchor) is None or (root := boundary.root_of(path)) is None:
        raise boundary.outside(asked)
    return Located(
        root=root,
        path=path,
        name=name,
        parent_fd=None if parents else anchor_fd,
        anchor_fd=anchor_fd,
        missing_parents=tuple(parents),
        kind="missing",
    )


def root_itself(boundary: Boundary, asked: str, root_fd: int, canonical: str) -> Located:
    """Describe a root. The result owns ``root_fd``. Raises as :func:`open_leaf` does."""
    path = _standing_directory(root_fd) if descriptors_have_paths() else canonical
    status = os.fstat(root_fd)
    root = _judge(boundary, asked, path, status)
    return Located(root=root, path=path, name="", parent_fd=root_fd, anchor_fd=root_fd, status=status, kind="directory")


def in_proc(path: str) -> PathRefusedError:
    """The refusal of a path in /proc, or through it."""
    return PathRefusedError(
        f"{printable(path)}: is in /proc, which describes processes and is no part of a workspace; name a regular file."
    )


def _open_file(parent_fd: int, name: str) -> tuple[int | None, OSError | None]:
    try:
        return os.open(name, _FILE_FLAGS, dir_fd=parent_fd), None
    except OSError as error:
        if error.errno in {errno.EACCES, errno.EPERM}:
            # Told only when the file is required: the gate is asked about its path before anything is said of it.
            return None, error
        if error.errno in {errno.ENOENT, errno.ELOOP, errno.ENXIO}:
            raise PathMovedError from None
        raise


def _path_of_entry(fd: int, parent_fd: int, name: str, status: os.stat_result) -> tuple[str, str]:
    """The path and the true spelling of the name of what was opened as ``name`` below ``parent_fd``."""
    path = descriptor_path(fd)
    directory, _, true_name = path.rpartition("/")
    if true_name == name and sys.platform == "linux":
        return path, name
    # The file system ignores case or normal form, or the entry was renamed or removed since it was opened.
    holder = _standing_directory(parent_fd)
    if directory == holder and _same_file(parent_fd, true_name, status):
        return path, true_name
    if true_name == name + _REMOVED:
        return path.removesuffix(_REMOVED), name
    if sys.platform != "linux" and _same_file(parent_fd, name, status):
        # A file with several names: macOS may tell another one of them.
        return os.path.join(holder, name), name
    raise PathMovedError


def _look(parent_fd: int, name: str, *, is_link: bool) -> tuple[str, str, os.stat_result]:
    if not hasattr(os, "O_PATH"):
        status = os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode) != is_link:
            raise PathMovedError
        return os.path.join(_standing_directory(parent_fd), name), name, status
    try:
        fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent_fd)
    except FileNotFoundError:
        raise PathMovedError from None
    try:
        status = os.fstat(fd)
        if stat.S_ISLNK(status.st_mode) != is_link:
            raise PathMovedError
        path, name = _path_of_entry(fd, parent_fd, name, status)
    finally:
        os.close(fd)
    return path, name, status


def _standing_directory(fd: int) -> str:
    path = descriptor_path(fd)
    if path.endswith(_REMOVED) and not _is_at(path, os.fstat(fd)):
        raise PathMovedError
    return path


def _same_file(parent_fd: int, name: str, status: os.stat_result) -> bool:
    try:
        other = os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(other, status)


def _is_at(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), status)
    except OSError:
        return False


def _judge(boundary: Boundary, asked: str, path: str, status: os.stat_result) -> str:
    root = boundary.root_of(path)
    if root is None:
        raise boundary.outside(asked)
    if status.st_dev == proc_device():
        raise in_proc(path)
    return root
