"""Opening a file below a directory without following a link, and its content as text; or why it is not searched."""

from __future__ import annotations

import codecs
import errno
import os
import stat
from typing import Final, Literal, TypeAlias

from ..descriptor_path import LISTING_FLAGS

Reason: TypeAlias = Literal["binary", "too large", "unreadable", "changed", "too slow", "too much memory"]

_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SMALL_BYTES: Final = 64 * 1024
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EAGAIN})
_UTF16: Final = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class NotSearchedError(Exception):
    """A file that is left out; ``detail`` is what the system says, or its size."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(reason)
        self.reason: Reason = reason
        self.detail = detail


def open_directory(top_fd: int, path: str) -> int:
    """Open a directory by its path below an opened one; no name on the way may be a link.

    Raises:
        OSError: there is none, or it cannot be opened.
    """
    fd = os.dup(top_fd)
    for name in path.split("/") if path else ():
        try:
            if name in {"", ".", ".."}:
                raise FileNotFoundError(errno.ENOENT, "is no path below a directory", path)
            below = os.open(name, LISTING_FLAGS, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd


class Beneath:
    """Files by their paths below an opened directory; the directory of the last one is kept open for the next."""

    def __init__(self, top_fd: int) -> None:
        self._top_fd = top_fd
        self._path = ""
        self._fd = -1

    def read(self, path: str, max_bytes: int) -> bytes:
        """The content of a file; raises as ``read_in``."""
        directory, _, name = path.rpartition("/")
        try:
            fd = self._directory(directory)
        except OSError as error:
            raise _refusal(error) from None
        return read_in(fd, name, max_bytes)

    def has_file(self, path: str) -> bool:
        """Whether there is such a file, with no link on the way."""
        return stat.S_ISREG(self._mode(path))

    def has_entry(self, path: str) -> bool:
        """Whether there is something of this name, with no link on the way."""
        return self._mode(path) != 0

    def _mode(self, path: str) -> int:
        directory, _, name = path.rpartition("/")
        try:
            return os.stat(name, dir_fd=self._directory(directory), follow_symlinks=False).st_mode
        except OSError:
            return 0

    def close(self) -> None:
        """Close what is kept open, but not the directory that was given."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _directory(self, path: str) -> int:
        if not path:
            return self._top_fd
        if self._fd < 0 or path != self._path:
            self.close()
            self._fd, self._path = open_directory(self._top_fd, path), path
        return self._fd


def read_in(directory_fd: int, name: str, max_bytes: int) -> bytes:
    """The content of a file in an opened directory.

    Raises:
        NotSearchedError: it cannot be read, is too large, or is no regular file any more.
    """
    try:
        fd = os.open(name, _FILE, dir_fd=directory_fd)
    except OSError as error:
        raise _refusal(error) from None
    try:
        content = os.read(fd, _SMALL_BYTES)
        if len(content) < _SMALL_BYTES and len(content) <= max_bytes and not os.read(fd, _SMALL_BYTES):
            return content  # most files are small, and asking for the size of each takes longer than this
        return read_all(fd, max_bytes)
    except OSError as error:
        raise _refusal(error) from None
    finally:
        os.close(fd)


def read_all(fd: int, max_bytes: int) -> bytes:
    """The content of an opened file, from its start; raises as ``read_in``."""
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise NotSearchedError("changed")
        size = status.st_size
        if size > max_bytes:
            raise NotSearchedError("too large", str(size))
        content = os.pread(fd, size + 1, 0)
        while len(content) > size and len(content) <= max_bytes:  # it grew, or its file system tells no sizes
            size = len(content) * 2
            content += os.pread(fd, size + 1 - len(content), len(content))
        if len(content) > max_bytes:
            raise NotSearchedError("too large", str(max(len(content), os.fstat(fd).st_size)))
    except OSError as error:
        raise _refusal(error) from None
    return content


def text_of(content: bytes) -> bytes:
    """The content as UTF-8 without a byte-order mark, as far as it is that.

    Raises:
        NotSearchedError: it has a NUL, so that it is binary.
    """
    if content[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
        codec = next(codec for mark, codec in _UTF16 if content.startswith(mark))
        content = content[2:].decode(codec, "replace").encode("utf-8", "replace")
    elif content.startswith(codecs.BOM_UTF8):
        content = content[3:]
    if b"\0" in content:
        raise NotSearchedError("binary")
    return content


def _refusal(error: OSError) -> NotSearchedError:
    if error.errno in _GONE:
        return NotSearchedError("changed")
    return NotSearchedError("unreadable", error.strerror or str(error))
