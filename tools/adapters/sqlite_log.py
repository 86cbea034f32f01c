"""The event log in a SQLite database of the user's, that several processes share (X2, X7).

An event is on record when its transaction is committed, in write-ahead mode with ``synchronous = NORMAL``: a process
that is killed loses nothing of that; after a power failure the newest events may be missing, and the others are whole.
Events that come while others are being written are written together, and the intent of a call that only reads with the
event after it: nothing depends on it, and every wait for a thread is paid by every call.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from ..contract import only_observes
from ..events import ApprovalAnswered, ApprovalAsked, ToolIntended, ToolRejected
from ..limits import LOG_BUSY_TIMEOUT_S
from .event_records import encode
from .log_redaction import Redaction
from .log_settings import LogSettings
from .sqlite_log_damaged import remove_damaged
from .sqlite_log_database import DamagedLogError, LogDatabase, LogUnavailableError
from .sqlite_log_retention import Retention
from .sqlite_log_session import LogSession, RecordedSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..events import Event
    from .event_records import EventRecord

__all__ = ["LogSession", "LogSettings", "LogUnavailableError", "SqliteEventLog"]

_RETENTION_EVENTS: Final = 500
_RETENTION_BYTES: Final = 4 * 1024 * 1024
_LAST_RETENTION_S: Final = 0.2


class SqliteEventLog:
    """Implements ``EventLog``. Nothing is opened before the first event; :meth:`close` ends the session.

    ``secrets`` are values that must not be kept, by the name of what holds them. ``tell`` takes a sentence when a
    damaged log was moved aside; from any thread. One event loop at a time may use it.

    Raises:
        ValueError: at construction: a pattern of the settings is no regular expression.
    """

    def __init__(
        self,
        directory: str,
        session: LogSession,
        settings: LogSettings | None = None,
        *,
        secrets: Mapping[str, str] | None = None,
        tell: Callable[[str], None],
        busy_timeout_s: float = LOG_BUSY_TIMEOUT_S,
    ) -> None:
        settings = settings or LogSettings()
        self._settings = settings
        self._redaction = Redaction(settings.redact, secrets)
        self._database = LogDatabase(directory, tell=tell, busy_timeout_s=busy_timeout_s)
        self._session = RecordedSession(session, directory)
        self._retention = Retention(settings)
        self._pending: deque[_Entry] = deque()
        self._skipped: set[tuple[str, int]] = set()
        self._since_retention = (_RETENTION_EVENTS, 0)  # looked after with the first event
        self._writing = threading.Lock()
        self._is_closed = False
        self._turn = anyio.Lock()
        self._one_thread = anyio.CapacityLimiter(1)

    async def append(self, event: Event) -> None:
        """Have the event on record when this returns, or with the next one where it is the intent of what only reads.

        Cancelling while it waits for its turn takes it back.

        Raises:
            LogUnavailableError: it is not on record; the text says why and what to do.
        """
        entry = _Entry(event, time.time_ns())
        if self._is_left_out(event):
            return
        self._pending.append(entry)
        if isinstance(event, ToolIntended) and only_observes(event.capabilities) and not self._is_closed:
            return
        try:
            async with self._turn:
                if not entry.is_settled:
                    await anyio.to_thread.run_sync(self._write_pending, limiter=self._one_thread)
        finally:
            entry.is_withdrawn = not entry.is_settled
        if entry.failure is not None:
            raise LogUnavailableError(entry.failure)

    def roots_are(self, roots: tuple[str, ...]) -> None:
        """The session works in these roots from now on; on record with the next event. From any thread."""
        self._session.roots_are(roots, time.time_ns())

    def close(self) -> None:
        """End the session; blocks shortly. What is appended after it is refused."""
        with self._writing:
            self._write_what_waits()
            self._is_closed = True
            if self._database.is_open:
                self._retain(_LAST_RETENTION_S)
                remove_damaged(self._database.directory, self._settings.days)
                self._session.end(self._database)
                self._database.close()

    def _is_left_out(self, event: Event) -> bool:
        """Whether it is switched off: a call that only reads, with both of its ends; or one that never began."""
        if "observations" not in self._settings.keep:
            if isinstance(event, (ToolIntended, ApprovalAsked)) and only_observes(event.capabilities):
                self._skipped.add((event.call_id, event.attempt))
                return True
            if isinstance(event, ApprovalAnswered) and (event.call_id, event.attempt) in self._skipped:
                if event.outcome not in {"once", "session", "always"}:
                    self._skipped.discard((event.call_id, event.attempt))
                return True
            if (event.call_id, getattr(event, "attempt", 0)) in self._skipped:
                self._skipped.discard((event.call_id, getattr(event, "attempt", 0)))
                return True
        return (
            isinstance(event, ToolRejected)
            and "rejections" not in self._settings.keep
            and not self._session.is_open(event.call_id)
        )

    # --- in the thread that writes -----------------------------------------------------------------------------

    def _write_pending(self) -> None:
        with self._writing:
            self._write_what_waits()

    def _write_what_waits(self) -> None:
        batch: list[_Entry] = []
        while self._pending:
            entry = self._pending.popleft()
            if not entry.is_withdrawn:
                batch.append(entry)
        if not batch:
            return
        records = [encode(entry.event, self._settings.keep, self._redaction) for entry in batch]
        try:
            self._write(batch, records)
        except LogUnavailableError as error:
            if len(batch) > 1 and error.is_about_size:
                self._write_one_by_one(batch, records)
            else:
                for entry in batch:
                    entry.failure = str(error)
        for entry in batch:
            entry.is_settled = True
        if not any(entry.failure for entry in batch):
            self._look_after(records)

    def _write_one_by_one(self, batch: Sequence[_Entry], records: Sequence[EventRecord]) -> None:
        """An event that is too large for the disk must not take others with it."""
        for entry, record in zip(batch, records, strict=True):
            try:
                self._write([entry], [record])
            except LogUnavailableError as error:
                entry.failure = str(error)

    def _write(self, batch: Sequence[_Entry], records: Sequence[EventRecord]) -> None:
        if self._is_closed:
            raise LogUnavailableError(f"{self._database.path}: the session has ended")
        try:
            self._commit(batch, records)
        except DamagedLogError:
            self._commit(batch, records)  # into the new one

    def _commit(self, batch: Sequence[_Entry], records: Sequence[EventRecord]) -> None:
        connection = self._database.connection()
        with self._database.trouble():
            connection.execute("BEGIN IMMEDIATE")
            self._session.begin(connection)
            for entry, record in zip(batch, records, strict=True):
                self._session.add(connection, record, entry.at_ns)
            connection.execute("COMMIT")
        self._session.committed(connection)

    def _look_after(self, records: Sequence[EventRecord]) -> None:
        events, size = self._since_retention
        events += len(records)
        size += sum(len(part) for record in records for part in record.parts.values())
        self._since_retention = events, size
        if events >= _RETENTION_EVENTS or size >= _RETENTION_BYTES:
            self._since_retention = 0, 0
            self._retain(0)

    def _retain(self, seconds: float) -> None:
        """Let go what has to, one step at least; it is tried again later where that fails."""
        deadline = time.monotonic() + seconds
        try:
            connection = self._database.connection()
            with self._database.trouble():
                while self._retention.step(connection) and time.monotonic() < deadline:
                    pass
        except LogUnavailableError:
            return


@dataclass(slots=True, eq=False)
class _Entry:
    """An event on its way; ``failure`` says why it is not on record once it is settled."""

    event: Event
    at_ns: int
    is_settled: bool = False
    is_withdrawn: bool = False
    failure: str | None = None
