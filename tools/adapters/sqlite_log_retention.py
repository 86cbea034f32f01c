"""What an event log lets go: calls that are too old, and the oldest where all together are too large (X7).

In small steps, each a transaction of its own, because whoever wants to write waits for one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3

    from .log_settings import LogSettings

_EVENTS_OF_A_STEP: Final = 200
_PAGES_OF_A_STEP: Final = 2_000
_DAY_NS: Final = 24 * 60 * 60 * 1_000_000_000
_LEAVE: Final = 0.9
"""What is left of a log that was too large, so that not every event lets another one go."""


class Retention:
    """Keeps one log within its bounds."""

    def __init__(self, settings: LogSettings) -> None:
        self._max_age_ns = settings.days * _DAY_NS
        self._max_bytes = settings.max_bytes
        self._makes_room = False

    def step(self, connection: sqlite3.Connection) -> bool:
        """Let some of it go, if something has to; whether there may be more.

        Raises:
            sqlite3.Error: it cannot be changed now; there is an open transaction then, perhaps.
        """
        oldest = connection.execute("SELECT at_ns FROM events ORDER BY id LIMIT 1").fetchone()
        if oldest is None:
            return False
        latest = time.time_ns() - self._max_age_ns
        if oldest[0] >= latest:
            if not self._is_too_large(connection):
                return False
            latest = None
        connection.execute("BEGIN IMMEDIATE")
        removed = _remove_oldest(connection, latest)
        connection.execute("COMMIT")
        connection.execute(f"PRAGMA incremental_vacuum({_PAGES_OF_A_STEP})").fetchall()
        return removed

    def _is_too_large(self, connection: sqlite3.Connection) -> bool:
        size = used_bytes(connection)
        self._makes_room = size > self._max_bytes * (_LEAVE if self._makes_room else 1)
        return self._makes_room


def used_bytes(connection: sqlite3.Connection) -> int:
    """What the log takes, without pages that wait to be used again."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _remove_oldest(connection: sqlite3.Connection, latest_ns: int | None) -> bool:
    """Remove the calls of the oldest events (of those before ``latest_ns``), each as a whole."""
    rows = connection.execute(
        "SELECT DISTINCT call FROM (SELECT call, at_ns FROM events ORDER BY id LIMIT :step) "
        "WHERE :latest IS NULL OR at_ns < :latest",
        {"step": _EVENTS_OF_A_STEP, "latest": latest_ns},
    )
    calls = rows.fetchall()
    if not calls:
        return False
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS going (event INTEGER PRIMARY KEY)")
    connection.execute("DELETE FROM going")
    connection.executemany("INSERT OR IGNORE INTO going SELECT id FROM events WHERE call = ?", calls)
    contents = connection.execute(
        "SELECT DISTINCT sha256 FROM parts WHERE event IN (SELECT event FROM going)"
    ).fetchall()
    connection.execute("DELETE FROM parts WHERE event IN (SELECT event FROM going)")
    connection.executemany(
        "DELETE FROM artifacts WHERE sha256 = ? "
        "AND NOT EXISTS (SELECT 1 FROM parts WHERE parts.sha256 = artifacts.sha256)",
        contents,
    )
    connection.execute("DELETE FROM events WHERE id IN (SELECT event FROM going)")
    connection.execute(
        "DELETE FROM sessions WHERE id < (SELECT min(session) FROM events) "
        "AND NOT EXISTS (SELECT 1 FROM events WHERE session = sessions.id)"
    )
    connection.execute("DELETE FROM session_roots WHERE session NOT IN (SELECT id FROM sessions)")
    return True
