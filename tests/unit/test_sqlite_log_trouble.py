"""A log that cannot be written, is held by others, damaged, of another version, or gone: nothing acts unrecorded."""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.tools import EventLogError
from openbuffer.tools.adapters import sqlite_log_database, sqlite_log_schema
from openbuffer.tools.adapters.sqlite_log import LogUnavailableError
from openbuffer.tools.adapters.sqlite_log_database import LogDatabase
from openbuffer.tools.adapters.sqlite_log_reader import LogReader
from openbuffer.tools.adapters.sqlite_log_schema import MIGRATIONS, Migration
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import create_tool_executor

from .log_desk import Desk, changing, finished, intended, rejected

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.tools.adapters.sqlite_log import SqliteEventLog


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state" / "log")


def fill_up(log: SqliteEventLog) -> None:
    """Let the database grow no further, as a full disk does."""
    connection = log._database.connection()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")


def make_room(log: SqliteEventLog) -> None:
    log._database.connection().execute("PRAGMA max_page_count = 1000000")


def make_read_only(log: SqliteEventLog) -> None:
    log._database.connection().execute("PRAGMA query_only = ON")


def make_writable(log: SqliteEventLog) -> None:
    log._database.connection().execute("PRAGMA query_only = OFF")


@pytest.mark.contract("X2")
@pytest.mark.parametrize(
    ("break_it", "mend_it", "reason"),
    [
        (fill_up, make_room, "the disk is full; make room on it"),
        (make_read_only, make_writable, "cannot be written; see to it that its directory can be written"),
    ],
    ids=["full", "read-only"],
)
async def test_while_the_log_cannot_be_written_what_acts_is_refused_and_what_reads_goes_on(
    desk: Desk, tmp_path: Path, break_it: Any, mend_it: Any, reason: str
) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.txt").write_text("before\n")
    log, told = desk.log(), list[str]()
    executor = create_tool_executor(ToolConfig(roots=(root,)), log=log, tell=told.append)
    await log.append(rejected())
    break_it(log)
    for arguments in ({"filePath": "a.txt", "content": "x" * 9_000}, {"filePath": "new/b.txt", "content": "y" * 9_000}):
        with pytest.raises(EventLogError, match=f"events.db: {reason}.*nothing was done"):
            await executor.call("Write", arguments)
    with pytest.raises(EventLogError):
        await executor.call("Shell", {"command": f"touch {root}/c; : {'x' * 9_000}"})
    assert sorted(os.listdir(root)) == ["a.txt"]
    assert (root / "a.txt").read_text() == "before\n"
    (root / "long.txt").write_text("line\n" * 2_000)
    assert (await executor.call("Read", {"filePath": "long.txt"})).success
    assert (await executor.call("Grep", {"pattern": "before"})).success
    assert len(told) == 1
    assert reason in told[0]
    mend_it(log)
    assert (await executor.call("Write", {"filePath": "a.txt", "content": "after\n"})).success
    log.close()
    assert desk.outcomes()[-1].endswith("succeeded")
    assert desk.told == []


@pytest.mark.contract("X2")
async def test_an_outcome_that_does_not_fit_any_more_is_told_and_the_call_looks_interrupted(
    desk: Desk,
) -> None:
    log = desk.log()
    await log.append(intended())
    fill_up(log)
    with pytest.raises(LogUnavailableError, match="the disk is full"):
        await log.append(finished(value="x" * 100_000))
    assert desk.outcomes() == ["c1 running"]
    log.close()
    assert desk.outcomes() == ["c1 interrupted"]


@pytest.mark.contract("X2")
async def test_an_event_that_is_too_large_takes_no_other_with_it(desk: Desk) -> None:
    log = desk.log()
    await log.append(rejected("x0"))
    fill_up(log)
    failed: list[str] = []

    async def append(name: str, change: Any) -> None:
        try:
            await log.append(intended(name, change=change))
        except LogUnavailableError:
            failed.append(name)

    log._writing.acquire()
    async with anyio.create_task_group() as group:
        for name, change in (("c1", None), ("c2", changing(b"x" * 200_000)), ("c3", None)):
            group.start_soon(append, name, change)
        await anyio.wait_all_tasks_blocked()
        threading.Timer(0.05, log._writing.release).start()
    assert failed == ["c2"]
    assert desk.outcomes() == ["x0 rejected", "c1 running", "c3 running"]
    order = [event.sequence for call in desk.calls() for event in call.events]
    assert order == [1, 2, 3], "what failed leaves no gap"
    log.close()


@pytest.mark.contract("X2")
@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("file", "{directory}, where it is to lie, is no directory; move that away"),
        ("link to a directory", "{directory}, where it is to lie, is a link and no directory; move that away"),
        ("directory", "is no file; move it away"),
        ("link", "is a link and no file; move it away"),
        ("fifo", "is no file; move it away"),
    ],
)
async def test_what_is_in_the_way_is_left_alone_and_told(desk: Desk, what: str, told: str) -> None:
    desk.directory.parent.mkdir(parents=True)
    if what == "file":
        desk.directory.write_text("mine")
    elif what == "link to a directory":
        (desk.directory.parent / "elsewhere").mkdir()
        desk.directory.symlink_to("elsewhere")
    else:
        desk.directory.mkdir()
        path = desk.directory / "events.db"
        if what == "directory":
            path.mkdir()
        elif what == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to(desk.directory / "elsewhere")
    log = desk.log()
    with pytest.raises(LogUnavailableError) as refused:
        await log.append(intended())
    assert str(refused.value) == f"{desk.directory}/events.db: {told.format(directory=desk.directory)}"
    assert not (desk.directory / "elsewhere").exists()
    assert not list(desk.directory.parent.glob("elsewhere/*"))
    assert what != "file" or desk.directory.read_text() == "mine"
    log.close()


@pytest.mark.contract("X2")
async def test_a_log_that_others_hold_is_waited_for_and_not_for_ever(desk: Desk) -> None:
    log = desk.log(busy_timeout_s=0.2)
    await log.append(intended("c1"))
    other = sqlite3.connect(desk.directory / "events.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LogUnavailableError, match=r"another process has held it for 0\.2 seconds; try again"):
        await log.append(finished("c1"))
    other.execute("COMMIT")
    await log.append(finished("c1"))
    patient = desk.log(busy_timeout_s=20)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.1, lambda: other.execute("COMMIT")).start()
    await patient.append(intended("c2"))
    assert desk.outcomes() == ["c1 succeeded", "c2 running"]
    patient.close()
    log.close()
    other.close()


@pytest.mark.contract("X2", "T6")
async def test_once_one_event_has_waited_in_vain_the_others_wait_shortly_until_the_log_is_free(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openbuffer.tools.adapters.sqlite_log_database.LOG_STILL_BUSY_TIMEOUT_S", 0.05)
    log = desk.log(busy_timeout_s=0.2)
    await log.append(intended("c1"))
    other = sqlite3.connect(desk.directory / "events.db", isolation_level=None)
    for call in ("c1", "c2"):
        other.execute("BEGIN IMMEDIATE")
        for waited in ("0.2", "0.05", "0.05"):
            with pytest.raises(LogUnavailableError, match=f"held it for {waited} seconds"):
                await log.append(intended(call))
        other.execute("COMMIT")
        await log.append(intended(call))
    other.close()
    log.close()


def damage(directory: Path, how: str) -> None:
    path = directory / "events.db"
    content = bytearray(path.read_bytes())
    if how == "no database":
        path.write_bytes(b"this is something else entirely, and long enough to be a header" * 100)
    elif how == "cut":
        path.write_bytes(content[: len(content) // 2 // 4096 * 4096])
    elif how == "header":
        path.write_bytes(b"\xff" * 100 + content[100:])
    else:
        path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    for name in ("events.db-wal", "events.db-shm"):
        (directory / name).unlink(missing_ok=True)


@pytest.mark.contract("X7")
@pytest.mark.parametrize("how", ["no database", "cut", "header", "pages"])
async def test_a_damaged_log_is_kept_aside_and_told_and_a_new_one_begins(desk: Desk, how: str) -> None:
    log = desk.log()
    for number in range(50):
        await log.append(intended(f"old{number}", arguments={"x": "y" * 1_500}))
    log.close()
    damage(desk.directory, how)
    damaged = (desk.directory / "events.db").read_bytes()
    log = desk.log()
    await log.append(intended("c1"))
    await log.append(finished("c1"))
    assert desk.outcomes() == ["c1 succeeded"]
    (aside,) = desk.directory.parent.glob("log.damaged-*")
    assert (aside / "events.db").read_bytes()[:4096] == damaged[:4096]
    assert len(desk.told) == 1
    assert f"is kept as {aside}" in desk.told[0]
    log.close()


@pytest.mark.contract("X7")
async def test_a_log_that_is_damaged_while_it_is_used_is_kept_aside_too_and_the_session_goes_on(desk: Desk) -> None:
    log, other = desk.log(), desk.log()
    await log.append(intended("c1"))
    await other.append(intended("o1"))
    connection = log._database.connection()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    path = desk.directory / "events.db"
    with path.open("r+b") as file:  # closing it lets go of sqlite's locks, of which there are none now
        file.seek(4096)
        file.write(b"\xa5" * (path.stat().st_size - 4096))
    connection.execute("PRAGMA shrink_memory")
    connection.execute("PRAGMA cache_size = 0")
    await log.append(finished("c1"))
    await other.append(finished("o1"))
    assert len(desk.told) == 1
    assert {call.call_id: call.session.is_alive for call in desk.calls()} == {"c1": True, "o1": True}
    assert [event.sequence for call in desk.calls() for event in call.events] == [2, 2], "each session counts on"
    other.close()
    log.close()


async def test_a_damaged_log_that_cannot_be_moved_is_told_and_nothing_acts(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = desk.log()
    await log.append(intended("c1"))
    log.close()
    damage(desk.directory, "no database")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sqlite_log_database.os, "rename", refuse)
    log = desk.log()
    with pytest.raises(LogUnavailableError, match=r"is damaged .* and cannot be moved aside"):
        await log.append(intended("c2"))
    log.close()


@pytest.mark.contract("X7")
async def test_a_log_that_was_removed_or_moved_begins_anew_in_the_middle_of_a_session(
    desk: Desk, tmp_path: Path
) -> None:
    log = desk.log()
    await log.append(intended("c1"))
    desk.directory.rename(tmp_path / "away")
    await log.append(finished("c1"))
    assert desk.outcomes() == ["c1 succeeded"], "its end is there, its beginning where it was moved to"
    log.close()
    assert Desk(tmp_path / "away").outcomes() == ["c1 interrupted"]


NEXT = (*MIGRATIONS, Migration(("ALTER TABLE events ADD COLUMN note TEXT", "CREATE TABLE more (x)")))
BREAKING = (*MIGRATIONS, Migration(("ALTER TABLE events RENAME TO happenings",), breaks=True))


def opened(desk: Desk, migrations: Any) -> sqlite3.Connection:
    database = LogDatabase(str(desk.directory), tell=desk.told.append, migrations=migrations)
    return database.connection()


@pytest.mark.contract("X7")
async def test_an_older_log_is_brought_up_to_date_with_all_that_it_holds(desk: Desk) -> None:
    log = desk.log()
    await log.append(intended("c1", change=changing(b"x\n" * 5_000)))
    connection = opened(desk, NEXT)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(NEXT),)
    assert connection.execute("SELECT call_id, note FROM events").fetchall() == [("c1", None)]
    connection.close()
    await log.append(finished("c1"))  # a release that does not know of it goes on, as the step breaks nothing
    assert desk.outcomes() == ["c1 succeeded"]
    log.close()
    log = desk.log()
    await log.append(intended("c2"))
    assert [name.split()[0] for name in desk.outcomes()] == ["c1", "c2"]
    log.close()


@pytest.mark.contract("X7", "X2")
async def test_a_log_of_a_newer_release_that_breaks_with_this_one_is_left_alone(desk: Desk) -> None:
    opened(desk, BREAKING).close()
    before = (desk.directory / "events.db").read_bytes()
    log = desk.log()
    with pytest.raises(
        LogUnavailableError,
        match=rf"newer release of openbuffer \(version {len(BREAKING)} of the log, and this one knows",
    ):
        await log.append(intended())
    log.close()
    with pytest.raises(LogUnavailableError, match="newer release"):
        list(LogReader(str(desk.directory)).calls())
    assert (desk.directory / "events.db").read_bytes() == before
    assert list(desk.directory.parent.glob("log.damaged-*")) == []


@pytest.mark.contract("X7")
async def test_a_migration_that_fails_leaves_the_older_log_as_it_was(desk: Desk) -> None:
    log = desk.log()
    await log.append(intended("c1"))
    log.close()
    bad = (*MIGRATIONS, Migration(("CREATE TABLE more (x)", "no such statement")))
    with pytest.raises(LogUnavailableError, match="syntax error"):
        opened(desk, bad)
    with sqlite3.connect(desk.directory / "events.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'more'").fetchall() == []
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    connection.close()
    assert desk.outcomes() == ["c1 interrupted"]


@pytest.mark.contract("X7")
async def test_a_database_of_something_else_is_left_alone(desk: Desk) -> None:
    desk.directory.mkdir(parents=True)
    with sqlite3.connect(desk.directory / "events.db") as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    connection.close()
    before = (desk.directory / "events.db").read_bytes()
    log = desk.log()
    with pytest.raises(LogUnavailableError, match="is a database of something else; move it away"):
        await log.append(intended())
    log.close()
    assert b"bookmarks" in (desk.directory / "events.db").read_bytes()
    assert len(before) <= (desk.directory / "events.db").stat().st_size


async def test_several_that_open_a_new_log_at_once_share_one(desk: Desk) -> None:
    logs = [desk.log() for _ in range(6)]
    async with anyio.create_task_group() as group:
        for number, log in enumerate(logs):
            group.start_soon(log.append, intended(f"c{number}"))
    assert sorted(desk.outcomes()) == [f"c{number} running" for number in range(6)]
    for log in logs:
        log.close()
    assert sqlite_log_schema.APPLICATION_ID.to_bytes(4, "big") == b"OBLG"


def test_the_migrations_of_released_versions_stay_as_they_are() -> None:
    assert len(MIGRATIONS) == 2
    assert not any(migration.breaks for migration in MIGRATIONS)


@pytest.mark.contract("X2")
async def test_a_reader_of_a_log_that_is_none_says_so(desk: Desk) -> None:
    assert list(LogReader(str(desk.directory)).calls()) == []
    desk.directory.mkdir(parents=True)
    (desk.directory / "events.db").write_bytes(b"x" * 5_000)
    with pytest.raises(LogUnavailableError, match=r"cannot be read \(file is not a database\)"):
        list(LogReader(str(desk.directory)).calls())
