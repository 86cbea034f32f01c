"""Reads the event log, from whatever process: its calls, newest first, each with its events and what became of it.

An intent whose outcome is missing belongs to a call that runs, or, where its session has ended, to one that was
interrupted: then nobody knows what it did (X2).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from ..events import ApprovalAsked, ToolIntended
from .event_records import BEFORE, NOT_KEPT, EventRecord, decode, text_as_kept
from .session_marks import SessionMarks
from .sqlite_log_database import DATABASE_NAME, LogUnavailableError, reader, told
from .sqlite_log_schema import ForeignDatabaseError, require_understood
from .sqlite_log_session import MARKS_NAME

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ..contract import Target
    from ..events import Event

CallOutcome: TypeAlias = Literal[
    "succeeded", "failed", "error", "cancelled", "outdated", "rejected", "running", "interrupted"
]
"""How a call ended. ``outdated``: it ended before its next attempt. ``interrupted``: what it did is not known."""

OUTCOMES: Final[tuple[CallOutcome, ...]] = (
    "succeeded",
    "failed",
    "error",
    "cancelled",
    "outdated",
    "rejected",
    "running",
    "interrupted",
)

_PAGE: Final = 500
_KEY_LEAST: Final = 8
"""Characters of a key that name a session; fewer digits are its number."""

_SMALL: Final = ("capabilities", "targets", "change", "error", NOT_KEPT)
"""Parts that tell what a call was about and are read however large they are, where its contents are not wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedSession:
    """One process that recorded something. Times are nanoseconds since 1970 (UTC).

    ``roots`` are those that it began with, ``later_roots`` others that it had from some time on; a call that ran then
    goes on with those that it began with.
    """

    number: int
    key: str
    started_ns: int
    ended_ns: int | None
    face: str
    release: str
    process: int
    roots: tuple[str, ...]
    is_alive: bool
    later_roots: tuple[tuple[int, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """One event, and what else is known of it.

    ``event`` is None where this release does not know its kind. ``not_kept`` has the size (0: not known) and the reason
    of each missing part. ``before_sha256`` names the before-state; ``before_version`` is that of a document.
    """

    number: int
    sequence: int
    at_ns: int
    kind: str
    event: Event | None
    not_kept: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    before_sha256: str | None = None
    before_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCall:
    """One call; ``number`` names it in this log."""

    number: int
    session: LoggedSession
    call_id: str
    tool: str
    outcome: CallOutcome
    events: tuple[LoggedEvent, ...]

    @property
    def at_ns(self) -> int:
        """When the first of its events was recorded."""
        return self.events[0].at_ns

    @property
    def ended_ns(self) -> int | None:
        """When it ended, as far as that is known."""
        return None if self.outcome in {"running", "interrupted"} else self.events[-1].at_ns

    @property
    def intent(self) -> ToolIntended | None:
        """What it was about to do at its last attempt."""
        return next((e.event for e in reversed(self.events) if isinstance(e.event, ToolIntended)), None)

    @property
    def targets(self) -> tuple[Target, ...]:
        """What it was about, or would have been if that had been approved; empty where it did not get that far."""
        if self.intent is not None:
            return self.intent.targets
        return next((e.event.targets for e in reversed(self.events) if isinstance(e.event, ApprovalAsked)), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFilter:
    """Which calls are wanted; what is None does not matter.

    ``session`` is a number, or the first characters of a key, eight at least.
    """

    tool: str | None = None
    session: str | None = None
    outcome: CallOutcome | None = None
    since_ns: int | None = None

    def is_session(self, number: int, key: str) -> bool:
        """Whether the session is wanted."""
        if self.session is None:
            return True
        return self.session == str(number) or (len(self.session) >= _KEY_LEAST and key.startswith(self.session))


class LogReader:
    """Reads one log; blocks. A log that is not there is empty.

    Raises:
        LogUnavailableError: by every method: it cannot be read; the text says why.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, DATABASE_NAME)
        self._marks = SessionMarks(os.path.join(directory, MARKS_NAME))
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the database; the next use opens it anew."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def calls(self, wanted: CallFilter | None = None) -> Iterator[LoggedCall]:
        """The calls, the last one first, without arguments, hunks and values."""
        wanted = wanted or CallFilter()
        below: int | None = None
        seen: set[int] = set()
        while True:
            with self._snapshot() as connection:
                if connection is None:
                    return
                rows = self._page(connection, wanted, below)
                numbers = [number for number in dict.fromkeys(call for _, call in rows) if number not in seen]
                found = [self._call(connection, number, whole=False) for number in numbers]
            seen.update(numbers)
            yield from (call for call in found if call is not None and wanted.outcome in {None, call.outcome})
            if len(rows) < _PAGE:
                return
            below = rows[-1][0]

    def call(self, name: str) -> tuple[LoggedCall, ...]:
        """The calls of this number, or else of this id (or the beginning of one), whole; the last one first."""
        name = text_as_kept(name)
        with self._snapshot() as connection:
            if connection is None or not name:
                return ()
            numbers: list[int] = []
            if _is_number(name):
                rows = connection.execute("SELECT DISTINCT call FROM events WHERE call = ?", (int(name),))
                numbers = [number for (number,) in rows]
            if not numbers:
                rows = connection.execute(
                    "SELECT call FROM events WHERE call_id >= :name AND call_id < :name || char(1114111) "
                    "GROUP BY call ORDER BY call DESC LIMIT 100",
                    {"name": name},
                )
                numbers = [number for (number,) in rows]
            found = [self._call(connection, number, whole=True) for number in numbers]
            return tuple(call for call in found if call is not None)

    def newer(self, event: int) -> tuple[int, tuple[LoggedCall, ...]]:
        """The calls that have events after this one, in order, and the last event there is.

        Begins anew where the log was moved away and another one began.
        """
        with self._snapshot() as connection:
            if connection is None:
                return 0, ()
            (last,) = connection.execute("SELECT max(id) FROM events").fetchone()
            last = last or 0
            if last < event:
                event = 0
            rows = connection.execute("SELECT DISTINCT call FROM events WHERE id > ? ORDER BY id", (event,)).fetchall()
            found = [self._call(connection, number, whole=False) for (number,) in rows]
            return last, tuple(call for call in found if call is not None)

    def last_event(self) -> int:
        """The number of the newest event, 0 where there is none."""
        with self._snapshot() as connection:
            if connection is None:
                return 0
            (last,) = connection.execute("SELECT max(id) FROM events").fetchone()
            return last or 0

    def artifact(self, sha256: str) -> bytes | None:
        """A content, such as a before-state; None when it is not kept, or is not what it was."""
        with self._snapshot() as connection:
            return None if connection is None else _content(connection, bytes.fromhex(sha256))

    # --- how ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _snapshot(self) -> Generator[sqlite3.Connection | None]:
        """The log as it is at one moment; None where there is none."""
        try:
            connection = self._opened()
            if connection is None:
                yield None
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()
        except ForeignDatabaseError as error:
            raise LogUnavailableError(f"{self._path}: {error}") from error
        except sqlite3.Error as error:
            raise LogUnavailableError(f"{self._path}: cannot be read ({told(error)})") from error
        except OSError as error:
            raise LogUnavailableError(f"{self._path}: cannot be read ({error.strerror})") from error

    def _opened(self) -> sqlite3.Connection | None:
        try:
            status = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        identity = status.st_dev, status.st_ino
        if identity != self._identity:
            self.close()
        if self._connection is None:
            if status.st_size == 0:
                return None  # it is being made
            connection = reader(self._directory)
            try:
                require_understood(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._identity = connection, identity
        return self._connection

    @staticmethod
    def _page(connection: sqlite3.Connection, wanted: CallFilter, below: int | None) -> list[tuple[int, int]]:
        """Events by number and call, the last one first."""
        rows = connection.execute(
            "SELECT id, call FROM events WHERE (:below IS NULL OR id < :below) "
            "AND (:tool IS NULL OR tool = :tool COLLATE NOCASE) AND (:since IS NULL OR at_ns >= :since) "
            "AND (:sessions IS NULL OR session IN (SELECT value FROM json_each(:sessions))) "
            "ORDER BY id DESC LIMIT :page",
            {
                "below": below,
                "tool": None if wanted.tool is None else text_as_kept(wanted.tool),
                "since": wanted.since_ns,
                "sessions": _sessions(connection, wanted),
                "page": _PAGE,
            },
        )
        return rows.fetchall()

    def _call(self, connection: sqlite3.Connection, number: int, *, whole: bool) -> LoggedCall | None:
        rows = connection.execute(
            "SELECT id, sequence, at_ns, kind, call_id, attempt, tool, outcome, parts, session FROM events "
            "WHERE call = ? ORDER BY id",
            (number,),
        ).fetchall()
        if not rows:
            return None  # retention was quicker
        session = self._session(connection, rows[0][9])
        events = tuple(_event(connection, row, whole=whole) for row in rows)
        _, _, _, kind, call_id, _, tool, outcome, _, _ = rows[-1]
        return LoggedCall(
            number=number,
            session=session,
            call_id=call_id,
            tool=tool,
            outcome=_outcome(kind, outcome, session),
            events=events,
        )

    def _session(self, connection: sqlite3.Connection, number: int) -> LoggedSession:
        row = connection.execute(
            "SELECT key, started_ns, ended_ns, face, release, process, roots FROM sessions WHERE id = ?", (number,)
        ).fetchone()
        key, started, ended, face, release, process, roots = row or ("", 0, 0, "", "", 0, "[]")
        return LoggedSession(
            number=number,
            key=key,
            started_ns=started,
            ended_ns=ended,
            face=face,
            release=release,
            process=process,
            roots=tuple(json.loads(roots)),
            is_alive=ended is None and self._marks.is_set(key),
            later_roots=_later_roots(connection, number),
        )


def _later_roots(connection: sqlite3.Connection, session: int) -> tuple[tuple[int, tuple[str, ...]], ...]:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < 2:  # a log that no newer release has written to
        return ()
    query = "SELECT at_ns, roots FROM session_roots WHERE session = ? ORDER BY rowid"
    return tuple((at_ns, tuple(json.loads(roots))) for at_ns, roots in connection.execute(query, (session,)))


def _sessions(connection: sqlite3.Connection, wanted: CallFilter) -> str | None:
    """The sessions that are wanted, as JSON."""
    if wanted.session is None:
        return None
    rows = connection.execute("SELECT id, key FROM sessions").fetchall()
    return json.dumps([number for number, key in rows if wanted.is_session(number, key)])


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 19  # what a database can hold


def _outcome(kind: str, outcome: str, session: LoggedSession) -> CallOutcome:
    if kind == "rejected":
        return "rejected"
    if kind == "finished" and (outcome != "outdated" or not session.is_alive):
        return cast("CallOutcome", outcome)
    if session.is_alive:
        return "running"
    # The session ended while somebody was asked, ahead of the intent, so that it is known that nothing was done.
    return "cancelled" if kind in {"asked", "answered"} else "interrupted"


def _event(connection: sqlite3.Connection, row: tuple[Any, ...], *, whole: bool) -> LoggedEvent:
    number, sequence, at_ns, kind, call_id, attempt, tool, outcome, inline, _ = row
    try:
        parts: dict[str, Any] = dict(json.loads(inline))
    except (ValueError, TypeError):
        parts = {NOT_KEPT: {"all": (0, "is damaged")}}
    contents = {name: json.dumps(part).encode() for name, part in parts.items()}
    not_kept = {name: (size, why) for name, (size, why) in parts.get(NOT_KEPT, {}).items()}
    before = None
    for name, digest in connection.execute("SELECT name, sha256 FROM parts WHERE event = ?", (number,)).fetchall():
        if name == BEFORE:
            before = digest.hex()
        elif whole or name in _SMALL:
            content = _content(connection, digest)
            if content is None:
                not_kept[name] = 0, "is damaged"
            else:
                contents[name] = content
    record = EventRecord(kind=kind, call_id=call_id, attempt=attempt, tool=tool, outcome=outcome, parts=contents)
    change: dict[str, Any] = json.loads(contents.get("change", b"{}"))
    return LoggedEvent(
        number=number,
        sequence=sequence,
        at_ns=at_ns,
        kind=kind,
        event=decode(record),
        not_kept=not_kept,
        before_sha256=before,
        before_version=change.get("version"),
    )


def _content(connection: sqlite3.Connection, digest: bytes) -> bytes | None:
    row = connection.execute("SELECT content FROM artifacts WHERE sha256 = ?", (digest,)).fetchone()
    content = row[0] if row is not None else None
    return content if isinstance(content, bytes) and hashlib.sha256(content).digest() == digest else None
