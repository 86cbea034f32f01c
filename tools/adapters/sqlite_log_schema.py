"""The tables of the event log, and how a database of an older version gets them.

::

    sessions    one row per process that recorded something: when, by what, over which roots at first
    session_roots  which roots it had later on, from when
    events      in the order in which they were recorded; ``sequence`` counts within the session,
                ``call`` is the id of the first event of its call
    artifacts   content by its SHA-256, once
    parts       which artifacts belong to an event; its small parts stand in ``events.parts``, as JSON
    schema      the oldest version that still understands this database

``PRAGMA user_version`` is the version. One that is newer is used as long as ``schema.least`` allows it, so that two
releases can share a log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

APPLICATION_ID: Final = 0x4F42_4C47
"""In the header of the file, by which ``file`` and we know it."""


class ForeignDatabaseError(Exception):
    """It is no event log, or one of a release that this one does not understand; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Migration:
    """The statements that lead to the next version. ``breaks``: older releases do not understand the result."""

    statements: tuple[str, ...]
    breaks: bool = False


MIGRATIONS: Final = (
    Migration(
        (
            "CREATE TABLE schema (least INTEGER NOT NULL)",
            "INSERT INTO schema VALUES (1)",
            """CREATE TABLE sessions (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                key TEXT NOT NULL UNIQUE,
                started_ns INTEGER NOT NULL,
                ended_ns INTEGER,
                face TEXT NOT NULL,
                release TEXT NOT NULL,
                process INTEGER NOT NULL,
                roots TEXT NOT NULL
            )""",
            """CREATE TABLE events (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                session INTEGER NOT NULL REFERENCES sessions (id),
                sequence INTEGER NOT NULL,
                call INTEGER NOT NULL,
                at_ns INTEGER NOT NULL,
                kind TEXT NOT NULL,
                call_id TEXT NOT NULL,
                attempt INTEGER NOT NULL,
                tool TEXT NOT NULL,
                outcome TEXT NOT NULL,
                parts TEXT NOT NULL,
                UNIQUE (session, sequence)
            )""",
            "CREATE INDEX events_call ON events (call)",
            "CREATE INDEX events_call_id ON events (call_id)",
            """CREATE TABLE artifacts (
                sha256 BLOB PRIMARY KEY,
                size INTEGER NOT NULL,
                content BLOB NOT NULL
            )""",
            """CREATE TABLE parts (
                event INTEGER NOT NULL REFERENCES events (id),
                name TEXT NOT NULL,
                sha256 BLOB NOT NULL REFERENCES artifacts (sha256),
                PRIMARY KEY (event, name)
            ) WITHOUT ROWID""",
            "CREATE INDEX parts_sha256 ON parts (sha256)",
        )
    ),
    Migration(
        (
            """CREATE TABLE session_roots (
                session INTEGER NOT NULL REFERENCES sessions (id),
                at_ns INTEGER NOT NULL,
                roots TEXT NOT NULL
            )""",
        )
    ),
)
"""Only ever appended to: databases of every version are out there."""


def bring_up_to_date(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Give an empty or older database the tables of this version, in one step; others see all of it or nothing.

    Raises:
        ForeignDatabaseError: it is not one of ours.
        sqlite3.Error: it cannot be read or written.
    """
    if _version(connection) >= len(migrations) and require_understood(connection, migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)  # another process may have been quicker
        if version or _is_foreign(connection):
            require_understood(connection, migrations)
        for number, migration in enumerate(migrations[version:], start=version + 1):
            for statement in migration.statements:
                connection.execute(statement)
            if migration.breaks:
                connection.execute("UPDATE schema SET least = ?", (number,))
        if version < len(migrations):
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def require_understood(connection: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> bool:
    """True for a log that this release understands.

    Raises:
        ForeignDatabaseError: it does not, or it is no log.
        sqlite3.Error: it cannot be read.
    """
    if _is_foreign(connection):
        raise ForeignDatabaseError("is a database of something else; move it away")
    if _version(connection) == 0:
        raise ForeignDatabaseError("holds nothing yet")
    (least,) = connection.execute("SELECT least FROM schema").fetchone()
    if least > len(migrations):
        raise ForeignDatabaseError(
            f"was written by a newer release of openbuffer (version {least} of the log, and this one knows "
            f"{len(migrations)}); install that one here too, or name another directory with XDG_STATE_HOME"
        )
    return True


def _is_foreign(connection: sqlite3.Connection) -> bool:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == APPLICATION_ID:
        return False
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(application or tables)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
