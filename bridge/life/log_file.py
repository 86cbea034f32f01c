"""A log file that cannot grow without end, and that several servers may share; stdlib only, because it runs early."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..limits import LOG_FILE_LINE_MAX_BYTES, LOG_FILE_MAX_BYTES, LOG_FILES_KEPT

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

_NO_FILE: Final = {
    errno.ELOOP: "it is a link, and links are not followed here; name the file itself",
    errno.ENXIO: "it is no regular file",
}


class LogFileError(Exception):
    """The log cannot be written there; the text says why."""


class LogFile(logging.Handler):
    """One line per record, of mode 0600, at ``path``; older ones are ``path.1`` (the newest) and so on.

    Each record is one write at the end of the file, so that the lines of several servers do not mix. Whichever of them
    finds it full renames it; the others notice and follow. While it cannot be renamed, or another one is about to, it
    grows to twice its size and no further. A record that cannot be written is dropped: a log is no reason to fail, or
    to wait.
    """

    def __init__(
        self, path: Path, level: int, *, max_bytes: int = LOG_FILE_MAX_BYTES, kept: int = LOG_FILES_KEPT
    ) -> None:
        """Open it.

        Raises:
            LogFileError: it is no file, or cannot be opened.
        """
        super().__init__(level)
        self._path = str(path.absolute())
        self._max_bytes = max_bytes
        self._kept = kept
        self.setFormatter(_Lines())
        try:
            self._fd = self._opened()
        except OSError as error:
            why = _NO_FILE.get(error.errno or 0, error.strerror)
            raise LogFileError(f"{path}: the log cannot be written there ({why})") from None

    def emit(self, record: logging.LogRecord) -> None:
        """Append it."""
        with suppress(Exception):
            line = self.format(record).encode("utf-8", "backslashreplace")
            if len(line) > LOG_FILE_LINE_MAX_BYTES:
                line = line[:LOG_FILE_LINE_MAX_BYTES] + b" ..."
            if self._has_room():
                os.write(self._fd, line + b"\n")

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            os.close(self._fd)
        super().close()

    def _opened(self) -> int:
        descriptor = os.open(self._path, _FLAGS, 0o600)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(0, "it is no regular file")
        return descriptor

    def _has_room(self) -> bool:
        """Have the file that is at the path now; whether it takes one more record."""
        if not self._is_at_path():
            self._open_again()
        if os.fstat(self._fd).st_size >= self._max_bytes:
            with suppress(OSError):
                self._rotate()
        return os.fstat(self._fd).st_size < 2 * self._max_bytes

    def _rotate(self) -> None:
        # The lock is on the full file itself. It is not waited for: a server that was stopped while it holds it would
        # stop all others, whose event loops log.
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            if self._is_at_path():
                for number in range(self._kept - 1, 0, -1):
                    with suppress(FileNotFoundError):
                        os.replace(f"{self._path}.{number}", f"{self._path}.{number + 1}")
                os.replace(self._path, f"{self._path}.1")
            self._open_again()
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _is_at_path(self) -> bool:
        try:
            found = os.lstat(self._path)
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self._fd))

    def _open_again(self) -> None:
        fresh = self._opened()
        os.close(self._fd)  # and with it goes the lock
        self._fd = fresh


class _Lines(logging.Formatter):
    """Time in UTC, process, level, logger; what a message has of further lines is indented, so that it forges none."""

    converter = time.gmtime
    default_msec_format = "%s.%03dZ"
    default_time_format = "%Y-%m-%dT%H:%M:%S"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return "\n    ".join(super().format(record).splitlines())
