"""Which sessions live: each holds a lock on a file of its own, which the system lets go of however the session ends."""

from __future__ import annotations

import contextlib
import os
import re
from typing import Final

try:
    import fcntl
except ImportError:  # Windows: nobody can tell, and a session lives until it says that it ended
    fcntl = None

_KEY: Final = re.compile(r"[0-9a-f]{32}")
_OPEN: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class SessionMarks:
    """The marks in one directory, which is made when the first one is set. Blocks for no longer than a disk does."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def set(self, key: str) -> int:
        """Mark a session as alive until the descriptor that this returns is closed.

        Raises:
            OSError: its file cannot be made.
        """
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        while True:
            fd = os.open(self._path(key), _OPEN, 0o600)
            if fcntl is None:
                return fd
            with contextlib.suppress(OSError):  # a file system without locks: the session looks ended while it lives
                fcntl.flock(fd, fcntl.LOCK_EX)  # waits for one who looks whether it is set, at most
            if self._is_path_of(fd, key):
                return fd
            os.close(fd)  # it was taken for that of an ended session before it was locked

    def is_set(self, key: str) -> bool:
        """Whether the session lives; True where nobody can tell."""
        if fcntl is None:
            return True
        try:
            fd = os.open(self._path(key), _OPEN & ~os.O_CREAT)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        else:
            return False
        finally:
            os.close(fd)

    def clear(self, key: str) -> None:
        """Remove the mark of a session that has ended."""
        with contextlib.suppress(OSError):
            os.unlink(self._path(key))

    def clear_ended(self) -> None:
        """Remove the marks of all sessions that were killed."""
        with contextlib.suppress(OSError), os.scandir(self._directory) as entries:
            for entry in entries:
                if _KEY.fullmatch(entry.name):
                    self._clear_if_ended(entry.name)

    def _clear_if_ended(self, key: str) -> None:
        if fcntl is None:
            return
        with contextlib.suppress(OSError):
            fd = os.open(self._path(key), _OPEN & ~os.O_CREAT)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while it lives
                os.unlink(self._path(key))
            finally:
                os.close(fd)

    def _is_path_of(self, fd: int, key: str) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), os.stat(self._path(key)))
        except OSError:
            return False

    def _path(self, key: str) -> str:
        return os.path.join(self._directory, key)
