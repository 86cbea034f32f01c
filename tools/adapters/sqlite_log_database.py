"""The database file of the event log: made private, opened, looked after, and moved aside where it is damaged.

All of it lies in one directory of its own, so that what belongs together is moved by one rename. A process that has it
open notices by the file's identity, before it writes, that the path leads to another one now, and opens that.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ..limits import LOG_BUSY_TIMEOUT_S, LOG_STILL_BUSY_TIMEOUT_S
from .sqlite_log_schema import MIGRATIONS, ForeignDatabaseError, bring_up_to_date

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from .sqlite_log_schema import Migration

try:
    import fcntl
except ImportError:  # Windows: sqlite's own locks have to do
    fcntl = None

DATABASE_NAME: Final = "events.db"
DAMAGED: Final = ".damaged-"
"""Between the directory's name and the time at which it was moved aside."""

_PRIVATE_DIRECTORY: Final = 0o700
_PRIVATE_FILE: Final = 0o600
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_LOCK: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_WAL_MAX_BYTES: Final = 16 * 1024 * 1024
_LOCK_POLL_S: Final = 0.02

_opening = threading.Lock()
"""Closing a descriptor of a database lets go of the locks that sqlite has on it in this process: never two at once."""


class LogUnavailableError(Exception):
    """The log cannot be used; the text names it, the reason and what to do.

    ``is_about_size``: a smaller event may be taken.
    """

    def __init__(self, message: str, *, is_about_size: bool = False) -> None:
        super().__init__(message)
        self.is_about_size = is_about_size


class LogDatabase:
    """The one connection of a log that writes. Blocks; used by one thread at a time.

    ``tell`` takes the sentence about a damaged log that was moved aside.
    """

    def __init__(
        self,
        directory: str,
        *,
        tell: Callable[[str], None],
        busy_timeout_s: float = LOG_BUSY_TIMEOUT_S,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> None:
        self.directory = directory
        self.path = os.path.join(directory, DATABASE_NAME)
        self._tell = tell
        self._busy_timeout_s = busy_timeout_s
        self._is_held = False
        self._migrations = migrations
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it was used and not closed since."""
        return self._connection is not None

    def connection(self) -> sqlite3.Connection:
        """The connection to what the path leads to now; another object than before where that is another file.

        Raises:
            LogUnavailableError: there is none to be had.
        """
        if self._connection is not None and self._identity != _identity(self.path):
            self.close()
        if self._connection is None:
            with self.trouble():
                self._connection = self._opened()
        return self._connection

    def close(self) -> None:
        """Close it; the next use opens it anew."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    @contextlib.contextmanager
    def trouble(self) -> Generator[None]:
        """Take back what an error interrupts, and say what it is.

        Raises:
            LogUnavailableError: in the place of an error of the database or the system.
            DamagedLogError: likewise, after a damaged log was moved aside: what failed can be done anew at once.
        """
        try:
            yield
            self._wait_shortly(False)
        except (sqlite3.Error, OSError, ForeignDatabaseError) as error:
            if is_damaged(error):
                self.close()
                raise DamagedLogError(self._moved_aside(error)) from error
            self._roll_back(error)
            is_about_size = _code(error) in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_TOOBIG}
            text = f"{self.path}: {_told(error, self._timeout_s)}"
            self._wait_shortly(_code(error) in _BUSY)
            raise LogUnavailableError(text, is_about_size=is_about_size) from error
        except BaseException as error:
            self._roll_back(error)
            raise

    @property
    def _timeout_s(self) -> float:
        return min(self._busy_timeout_s, LOG_STILL_BUSY_TIMEOUT_S) if self._is_held else self._busy_timeout_s

    def _wait_shortly(self, is_held: bool) -> None:
        """While another process holds it, not every call is to wait for that in full."""
        if is_held != self._is_held:
            self._is_held = is_held
            if self._connection is not None:
                self._connection.execute(f"PRAGMA busy_timeout = {int(self._timeout_s * 1000)}").fetchall()

    def _roll_back(self, error: BaseException) -> None:
        connection = self._connection
        if connection is None:
            return
        with contextlib.suppress(sqlite3.Error):
            connection.rollback()
        if connection.in_transaction or _code(error) == sqlite3.SQLITE_IOERR:
            self.close()

    def _opened(self) -> sqlite3.Connection:
        _make_directories(self.directory)
        _make_private(self.directory, stat.S_ISDIR, _PRIVATE_DIRECTORY)
        with _opening, self._locked():
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.path, _NEW, _PRIVATE_FILE))
            _make_private(self.path, stat.S_ISREG, _PRIVATE_FILE)
            self._identity = _identity(self.path)
            connection = sqlite3.connect(
                f"file:{quote(os.fsencode(self.path))}?mode=rw",
                uri=True,
                timeout=self._timeout_s,
                isolation_level=None,  # transactions begin where we say so
                check_same_thread=False,
            )
            try:
                is_new = os.stat(self.path).st_size == 0
                for pragma in (*(_OF_A_NEW_ONE if is_new else ()), *_PRAGMAS):
                    connection.execute(f"PRAGMA {pragma}").fetchall()
                bring_up_to_date(connection, self._migrations)
            except BaseException:
                connection.close()
                raise
            return connection

    def _moved_aside(self, error: BaseException) -> str:
        """Keep a damaged log beside the new one; what was said of it."""
        aside = f"{self.directory}{DAMAGED}{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        with self._locked():
            if self._identity != _identity(self.path):
                return f"{self.path}: another process has moved the damaged log aside"
            try:
                os.rename(self.directory, aside)
            except OSError as refusal:
                raise LogUnavailableError(
                    f"{self.path}: is damaged ({error}) and cannot be moved aside ({refusal.strerror}); move it away"
                ) from error
        sentence = f"the event log {self.path} is damaged ({error}); it is kept as {aside}, and a new one begins"
        self._tell(sentence)
        return sentence

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        """Nobody else opens, makes or moves the log meanwhile; who does not get the lock in time goes on without."""
        if fcntl is None:
            yield
            return
        fd = os.open(f"{self.directory}.lock", _LOCK, _PRIVATE_FILE)
        try:
            deadline = time.monotonic() + self._timeout_s
            while time.monotonic() < deadline:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    time.sleep(_LOCK_POLL_S)
            yield
        finally:
            os.close(fd)


class DamagedLogError(LogUnavailableError):
    """The log was damaged and is out of the way by now."""


_OF_A_NEW_ONE: Final = ("auto_vacuum = INCREMENTAL",)
"""Has to come first, and would write to an old one at every opening."""

_PRAGMAS: Final = (
    "journal_mode = WAL",
    "synchronous = NORMAL",
    f"journal_size_limit = {_WAL_MAX_BYTES}",
    "temp_store = MEMORY",
    "secure_delete = ON",  # what retention removes is gone
    "trusted_schema = OFF",
    "foreign_keys = OFF",  # retention looks after references itself, in the order that suits it
)


def is_damaged(error: BaseException) -> bool:
    """Whether the file is at fault, and no longer a database."""
    return _code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def reader(directory: str, *, timeout_s: float = LOG_BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """A connection that cannot change the log; not yet looked at.

    Raises:
        FileNotFoundError: there is no log.
        sqlite3.Error: it cannot be opened.
    """
    path = os.path.join(directory, DATABASE_NAME)
    os.stat(path)
    with _opening:
        return sqlite3.connect(
            f"file:{quote(os.fsencode(path))}?mode=ro",
            uri=True,
            timeout=timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )


def told(error: sqlite3.Error) -> str:
    """What is wrong, in words."""
    return _told(error, LOG_BUSY_TIMEOUT_S)


def _told(error: BaseException, timeout_s: float) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error}; {_ADVICE}"
    if not isinstance(error, sqlite3.Error):
        return str(error)
    match _code(error):
        case sqlite3.SQLITE_FULL:
            return "the disk is full; make room on it"
        case sqlite3.SQLITE_READONLY:
            return f"cannot be written; {_ADVICE}"
        case code if code in _BUSY:
            return f"another process has held it for {timeout_s:g} seconds; try again"
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_IOERR:
            return f"{error}; {_ADVICE}"
        case _:
            return str(error)


_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_ADVICE: Final = "see to it that its directory can be written, or name another with XDG_STATE_HOME"


def _code(error: BaseException) -> int:
    code = getattr(error, "sqlite_errorcode", 0)  # extended codes carry the plain one in their lowest byte
    return int(code) & 0xFF if code else 0


def _make_directories(directory: str) -> None:
    """Make it and what is missing above it, closed to others."""
    above = os.path.dirname(directory)
    if above != directory and not os.path.isdir(above):
        _make_directories(above)
    with contextlib.suppress(FileExistsError):
        os.mkdir(directory, _PRIVATE_DIRECTORY)


def _make_private(path: str, is_kind: Callable[[int], bool], mode: int) -> None:
    """Close it to others by its name: no descriptor of a database may be closed while sqlite has it open."""
    status = os.lstat(path)
    if not is_kind(status.st_mode):
        is_link = "is a link and " if stat.S_ISLNK(status.st_mode) else ""
        if mode == _PRIVATE_DIRECTORY:
            raise ForeignDatabaseError(f"{path}, where it is to lie, {is_link or 'is '}no directory; move that away")
        raise ForeignDatabaseError(f"{is_link or 'is '}no file; move it away")
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise ForeignDatabaseError("belongs to another user; name another directory with XDG_STATE_HOME")
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.chmod(path, mode)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
