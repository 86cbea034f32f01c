"""New content on its way to a name: nameless for as long as the file system allows, gone after every failure."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from .descriptor_path import descriptors_have_paths

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

TEMPORARY_PREFIX: Final = ".openbuffer-unfinished-"
"""How a file's name starts between being written and being renamed; 16 hexadecimal digits follow."""

_LINUX_ANONYMOUS: Final = getattr(os, "O_TMPFILE", None) if sys.platform == "linux" else None
_NAMED_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_ANONYMOUS: Final = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOSYS})
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOENT, errno.EXDEV})
_MOST_PARTS: Final = min(1024, os.sysconf("SC_IOV_MAX")) if hasattr(os, "sysconf") else 16


class CannotLinkError(Exception):
    """A nameless file cannot be given a name here; write it under a temporary name instead."""


class UnnamedFile:
    """A file being written, on the file system of ``directory_fd``. Leaving the ``with`` block discards it, unless
    it was moved to its name.

    Where there are no nameless files it has a temporary name from the start.
    """

    def __init__(self, directory_fd: int, *, mode: int, anonymous: bool = True) -> None:
        self._directory_fd = directory_fd
        self._name: str | None = None
        self.fd = self._open_anonymous(mode) if anonymous else -1
        if self.fd < 0:
            self.fd = self._open_named(mode)

    def write(self, parts: Sequence[bytes | memoryview]) -> None:
        """Write the parts one after the other, without joining them."""
        write_all(self.fd, parts)
        if self._name is not None:
            # Some network file systems tell a failed write only when the file is closed; closing a copy asks them.
            os.close(os.dup(self.fd))

    def replace(self, name: str) -> None:
        """Move the file to ``name``, in place of what has that name; call :meth:`take_name` before."""
        assert self._name is not None
        os.rename(self._name, name, src_dir_fd=self._directory_fd, dst_dir_fd=self._directory_fd)
        self._name = None

    def take_name(self) -> None:
        """Give the file its temporary name.

        Raises:
            CannotLinkError: it is nameless and has to be written again with a name from the start.
        """
        if self._name is not None:
            return
        name = _temporary_name()
        self._link(name)
        self._name = name

    def publish(self, name: str) -> None:
        """Give the file its final name, in place of nothing.

        Raises:
            FileExistsError: something has that name.
            CannotLinkError: as for :meth:`take_name`.
        """
        if self._name is None:
            self._link(name)
            return
        try:
            os.link(
                self._name, name, src_dir_fd=self._directory_fd, dst_dir_fd=self._directory_fd, follow_symlinks=False
            )
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._publish_over_placeholder(name)
        else:
            self._drop_name()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drop_name()
        os.close(self.fd)

    def _drop_name(self) -> None:
        if self._name is not None:
            with suppress(OSError):  # nothing more can be done, and what happened to the file itself counts
                os.unlink(self._name, dir_fd=self._directory_fd)
            self._name = None

    def _open_anonymous(self, mode: int) -> int:
        if _LINUX_ANONYMOUS is None or not descriptors_have_paths():
            return -1
        try:
            return os.open(".", _LINUX_ANONYMOUS | os.O_RDWR | os.O_CLOEXEC, mode, dir_fd=self._directory_fd)
        except OSError as error:
            if error.errno in _NO_ANONYMOUS:
                return -1
            raise

    def _open_named(self, mode: int) -> int:
        name = _temporary_name()
        fd = os.open(name, _NAMED_FLAGS, mode, dir_fd=self._directory_fd)
        self._name = name
        return fd

    def _link(self, name: str) -> None:
        try:
            os.link(f"/proc/self/fd/{self.fd}", name, dst_dir_fd=self._directory_fd, follow_symlinks=True)
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno in _NO_LINKS:
                raise CannotLinkError from error
            raise

    def _publish_over_placeholder(self, name: str) -> None:
        """Without links: claim the name with an empty file, then move the content over that."""
        placeholder = os.open(name, _NAMED_FLAGS, 0o600, dir_fd=self._directory_fd)
        try:
            ours = os.fstat(placeholder)
        finally:
            os.close(placeholder)
        now = os.stat(name, dir_fd=self._directory_fd, follow_symlinks=False)
        if not os.path.samestat(ours, now) or now.st_size:
            raise FileExistsError(errno.EEXIST, "something else took the name", name)
        try:
            self.replace(name)
        except BaseException:
            os.unlink(name, dir_fd=self._directory_fd)
            raise


def remove_leftovers(directory_fd: int) -> None:
    """Remove what writers that were killed left in a directory opened for reading; call it under its lock.

    Each directory is looked through once in the life of this process: a large one takes milliseconds.
    """
    status = os.fstat(directory_fd)
    directory = (status.st_dev, status.st_ino)
    if directory in _looked_through:
        return
    _looked_through.add(directory)
    for name in os.listdir(directory_fd):
        if _TEMPORARY.fullmatch(name):
            with suppress(OSError):
                if stat.S_ISREG(os.stat(name, dir_fd=directory_fd, follow_symlinks=False).st_mode):
                    os.unlink(name, dir_fd=directory_fd)


_looked_through: set[tuple[int, int]] = set()
_TEMPORARY: Final = re.compile(re.escape(TEMPORARY_PREFIX) + "[0-9a-f]{16}")


def _temporary_name() -> str:
    # Never the same twice: where locks do not reach (another machine on a shared folder) two writers must not
    # take each other's content for their own.
    return TEMPORARY_PREFIX + secrets.token_hex(8)


def write_all(fd: int, parts: Sequence[bytes | memoryview]) -> None:
    """Write every byte of the parts in order, however little the system takes at a time."""
    # An empty view cannot be cast, and writing nothing is nothing to do.
    pending = [memoryview(part).cast("B") for part in parts if memoryview(part).nbytes]
    first = 0
    while first < len(pending):
        written = os.writev(fd, pending[first : first + _MOST_PARTS])
        if written == 0:
            raise OSError(errno.EIO, "the system takes no more bytes and does not say why")
        while first < len(pending) and written >= len(pending[first]):
            written -= len(pending[first])
            first += 1
        if written:
            pending[first] = pending[first][written:]
