"""One session in the event log: its row, the order of its events, and which of them belong to one call.

What a transaction brings counts once it is committed; until then the session is as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ..limits import LOG_INLINE_MAX_BYTES
from .event_records import BEFORE
from .session_marks import SessionMarks
from .sqlite_log_database import LogUnavailableError

if TYPE_CHECKING:
    import sqlite3

    from .event_records import EventRecord
    from .sqlite_log_database import LogDatabase

MARKS_NAME: Final = "sessions"
"""The directory of the sessions' marks, beside the database."""

_MOST_OPEN_CALLS: Final = 10_000
"""Calls whose end could not be recorded are never forgotten otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSession:
    """Whose events these are: the ``face`` through which the tools are called, the release, and the roots."""

    face: str
    release: str = ""
    roots: tuple[str, ...] = ()


@dataclass(slots=True)
class _State:
    row: int = 0
    sequence: int = 0
    event: int = 0
    calls: dict[str, int] = field(default_factory=dict[str, int])
    asked: set[str] = field(default_factory=set[str])


class RecordedSession:
    """The session of one process. Used by one thread at a time."""

    def __init__(self, told: LogSession, directory: str) -> None:
        self._told = told
        self._key = uuid.uuid4().hex
        self._marks = SessionMarks(os.path.join(directory, MARKS_NAME))
        self._mark: int | None = None
        self._connection: sqlite3.Connection | None = None
        self._state = _State()
        self._next = self._state
        self._changes: deque[tuple[int, tuple[str, ...]]] = deque()
        self._written_changes = 0

    def is_open(self, call_id: str) -> bool:
        """Whether a call of that name is on record that has not come to its end."""
        return call_id in self._state.calls

    def roots_are(self, roots: tuple[str, ...], at_ns: int) -> None:
        """The session works in these from now on; written with the next event. From any thread."""
        last = self._changes[-1][1] if self._changes else self._told.roots
        if roots != last:
            self._changes.append((at_ns, roots))

    def begin(self, connection: sqlite3.Connection) -> None:
        """Have the session's row in this database, inside of a transaction.

        Raises:
            OSError: the session cannot be marked as alive.
        """
        state = self._state
        self._next = _State(state.row, state.sequence, state.event, dict(state.calls), set(state.asked))
        if connection is not self._connection:
            self._connection = None
            self._find_row(connection)
        last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        self._next.event = last[0] if last else 0
        changes = list(self._changes)
        for at_ns, roots in changes:
            row = (self._next.row, at_ns, json.dumps(roots))
            connection.execute("INSERT INTO session_roots VALUES (?, ?, ?)", row)
        self._written_changes = len(changes)

    def add(self, connection: sqlite3.Connection, record: EventRecord, at_ns: int) -> None:
        """Write one event."""
        state = self._next
        state.event += 1
        state.sequence += 1
        inline = {n: p for n, p in record.parts.items() if n != BEFORE and len(p) <= LOG_INLINE_MAX_BYTES}
        connection.execute(
            "INSERT INTO events (id, session, sequence, call, at_ns, kind, call_id, attempt, tool, outcome, parts) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                state.event,
                state.row,
                state.sequence,
                self._call_of(record),
                at_ns,
                record.kind,
                record.call_id,
                record.attempt,
                record.tool,
                record.outcome,
                _joined(inline),
            ),
        )
        for name, part in record.parts.items():
            if name not in inline:
                digest = hashlib.sha256(part).digest()
                connection.execute("INSERT OR IGNORE INTO artifacts VALUES (?, ?, ?)", (digest, len(part), part))
                connection.execute("INSERT INTO parts VALUES (?, ?, ?)", (state.event, name, digest))

    def committed(self, connection: sqlite3.Connection) -> None:
        """What was added since :meth:`begin` is on record."""
        self._connection = connection
        self._state = self._next
        for _ in range(self._written_changes):
            self._told = replace(self._told, roots=self._changes.popleft()[1])
        self._written_changes = 0

    def end(self, database: LogDatabase) -> None:
        """Say that the session has ended, as far as that can be written, and let go of its mark."""
        if self._state.row:
            try:
                connection = database.connection()
                with database.trouble():
                    connection.execute("UPDATE sessions SET ended_ns = ? WHERE key = ?", (time.time_ns(), self._key))
            except LogUnavailableError:
                pass  # its mark goes in any case, and tells the same
        if self._mark is not None:
            os.close(self._mark)
            self._mark = None
            self._marks.clear(self._key)

    def _find_row(self, connection: sqlite3.Connection) -> None:
        if self._mark is None or not self._marks.is_set(self._key):
            if self._mark is not None:  # the log was moved away, with the mark
                os.close(self._mark)
            self._mark = None
            self._mark = self._marks.set(self._key)
            self._marks.clear_ended()
        found = connection.execute("SELECT id FROM sessions WHERE key = ?", (self._key,)).fetchone()
        if found is None:
            told = self._told
            inserted = connection.execute(
                "INSERT INTO sessions (key, started_ns, face, release, process, roots) VALUES (?, ?, ?, ?, ?, ?)",
                (self._key, time.time_ns(), told.face, told.release, os.getpid(), json.dumps(told.roots)),
            )
            found = (inserted.lastrowid,)
            self._next.calls.clear()
            self._next.asked.clear()
        self._next.row = int(found[0] or 0)

    def _call_of(self, record: EventRecord) -> int:
        """The id of the first event of the record's call, which may be this one."""
        calls, event = self._next.calls, self._next.event
        begins = record.kind == "intended" and record.attempt == 1 and record.call_id not in self._next.asked
        number = event if begins else calls.get(record.call_id, event)
        # An approval is asked for ahead of the intent, and begins the call then.
        if record.kind == "asked":
            self._next.asked.add(record.call_id)
        elif record.kind != "answered":
            self._next.asked.discard(record.call_id)
        if record.kind in {"intended", "asked", "answered"} or record.outcome == "outdated":
            calls[record.call_id] = number
            if len(calls) > _MOST_OPEN_CALLS:
                oldest = next(iter(calls))
                del calls[oldest]
                self._next.asked.discard(oldest)
        else:
            calls.pop(record.call_id, None)
        return number


def _joined(parts: dict[str, bytes]) -> str:
    """One JSON object of parts that are JSON already; their names need no escaping."""
    return "{" + ",".join(f'"{name}":{part.decode()}' for name, part in parts.items()) + "}"
