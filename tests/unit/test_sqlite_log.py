"""The event log in a database: what is recorded, in which order, by how many, and who may look at it."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import FileChange, Hunk, ToolArgumentError
from openbuffer.tools.adapters.sqlite_log import LogSettings, LogUnavailableError
from openbuffer.tools.adapters.sqlite_log_reader import CallFilter, LoggedCall, LogReader
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.events import ToolIntended, ToolRejected
from openbuffer.tools.executor import create_tool_executor

from .log_desk import RUNS, Desk, changing, finished, intended, reading, rejected, running

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state" / "log")


def numbers(calls: list[LoggedCall]) -> list[list[tuple[int, int]]]:
    return [[(event.number, event.sequence) for event in call.events] for call in calls]


@pytest.mark.contract("X2", "X7")
async def test_what_was_appended_is_on_record_in_its_order(desk: Desk) -> None:
    log = desk.log()
    events = [intended("c1"), reading("r1"), finished("r1", tool="Read"), finished("c1"), rejected("x1")]
    for event in events:
        await log.append(event)
    calls = desk.calls()
    assert {event.number: event.event for call in calls for event in call.events} == dict(enumerate(events, 1))
    assert sorted(numbers(calls)) == [[(1, 1), (4, 4)], [(2, 2), (3, 3)], [(5, 5)]]
    log.close()


@pytest.mark.contract("X2")
async def test_events_of_many_calls_at_once_are_each_on_record_when_its_append_returns(desk: Desk) -> None:
    log = desk.log()
    missing: list[str] = []

    async def call(name: str) -> None:
        await log.append(intended(name))
        if name not in {each.call_id for each in desk.calls()}:
            missing.append(name)
        await log.append(finished(name))

    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(call, f"c{number}")
    assert missing == []
    calls = desk.calls()
    assert [call.outcome for call in calls] == ["succeeded"] * 30
    order = sorted(event for call in numbers(calls) for event in call)
    assert order == [(n, n) for n in range(1, 61)], "no gap, and the order of the log is that of the session"
    log.close()


@pytest.mark.contract("X2")
async def test_the_intent_of_what_only_reads_comes_with_the_next_event_or_the_end_of_the_session(desk: Desk) -> None:
    log = desk.log()
    await log.append(reading("r1"))
    assert desk.calls() == []
    await log.append(intended("c1"))
    assert desk.outcomes() == ["r1 running", "c1 running"]
    await log.append(reading("r2"))
    log.close()
    assert desk.outcomes() == ["r1 interrupted", "c1 interrupted", "r2 interrupted"]
    assert numbers(desk.calls()) == [[(1, 1)], [(2, 2)], [(3, 3)]]


@pytest.mark.contract("X2")
async def test_a_call_is_what_began_and_ended_as_one(desk: Desk) -> None:
    log = desk.log()
    for event in (
        intended("c", attempt=1),
        finished("c", attempt=1, outcome="outdated"),
        intended("c", attempt=2),
        finished("c", attempt=2),
        intended("c", attempt=1),
        finished("c", attempt=1, outcome="failed"),
        intended("d", attempt=1),
        finished("d", attempt=1, outcome="outdated"),
        rejected("d", "Cancelled"),
    ):
        await log.append(event)
    assert numbers(desk.calls()) == [[(1, 1), (2, 2), (3, 3), (4, 4)], [(5, 5), (6, 6)], [(7, 7), (8, 8), (9, 9)]]
    assert desk.outcomes() == ["c succeeded", "c failed", "d rejected"]
    log.close()


@pytest.mark.contract("X2")
async def test_an_intent_without_an_outcome_runs_while_its_session_lives_and_was_interrupted_after_it(
    desk: Desk,
) -> None:
    log, other = desk.log(), desk.log()
    await log.append(running("make"))
    await other.append(intended("c2"))
    assert desk.outcomes() == ["s1 running", "c2 running"]
    log.close()
    assert desk.outcomes() == ["s1 interrupted", "c2 running"]
    call = desk.calls()[0]
    assert (call.ended_ns, call.session.is_alive) == (None, False)
    other.close()


@pytest.mark.contract("X7")
async def test_a_session_has_a_row_that_says_whose_it_is(desk: Desk) -> None:
    log = desk.log()
    assert desk.calls() == []
    assert not desk.directory.exists(), "nothing is made before there is something to record"
    await log.append(rejected())
    session = desk.calls()[0].session
    assert (session.face, session.release, session.roots) == ("test", "1", ("/ws",))
    assert (session.process, session.is_alive, session.ended_ns) == (os.getpid(), True, None)
    log.close()
    session = desk.calls()[0].session
    assert not session.is_alive
    assert session.ended_ns is not None
    assert session.ended_ns >= session.started_ns
    assert list((desk.directory / "sessions").iterdir()) == []


@pytest.mark.contract("X7")
async def test_everything_of_it_is_closed_to_others(desk: Desk) -> None:
    mask = os.umask(0)
    try:
        log = desk.log()
        await log.append(intended())
        assert stat.S_IMODE(desk.directory.stat().st_mode) == 0o700
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in desk.directory.iterdir()}
        assert modes.pop("sessions") == 0o700
        assert modes == {"events.db": 0o600, "events.db-wal": 0o600, "events.db-shm": 0o600}
        log.close()
        desk.directory.chmod(0o777)
        (desk.directory / "events.db").chmod(0o666)
        log = desk.log()
        await log.append(finished())
        assert stat.S_IMODE(desk.directory.stat().st_mode) == 0o700
        assert stat.S_IMODE((desk.directory / "events.db").stat().st_mode) == 0o600
        log.close()
    finally:
        os.umask(mask)


@pytest.mark.contract("X7")
async def test_it_is_written_ahead_and_synced_at_checkpoints(desk: Desk) -> None:
    log = desk.log()
    await log.append(intended())
    connection = log._database.connection()
    pragmas = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "auto_vacuum", "secure_delete")
    }
    assert pragmas == {"journal_mode": "wal", "synchronous": 1, "auto_vacuum": 2, "secure_delete": 1}
    log.close()


@pytest.mark.contract("X7")
async def test_large_parts_are_kept_once_for_each_content(desk: Desk) -> None:
    log = desk.log()
    value = {"success": True, "output": "line\n" * 10_000}
    for name in ("r1", "r2", "r3"):
        await log.append(reading(name))
        await log.append(finished(name, tool="Read", value=value))
    with sqlite3.connect(desk.directory / "events.db") as connection:
        assert connection.execute("SELECT count(*), sum(size) FROM artifacts").fetchone()[0] == 1
    connection.close()
    assert [call.events[1].event for call in desk.calls()] == [
        finished(name, tool="Read", value=value) for name in ("r1", "r2", "r3")
    ]
    log.close()


@pytest.mark.contract("X7")
async def test_a_part_that_was_tampered_with_is_not_given_out(desk: Desk) -> None:
    log = desk.log()
    await log.append(intended(change=changing(b"before\n" * 10)))
    await log.append(finished(value="x" * 5_000))
    log.close()
    with sqlite3.connect(desk.directory / "events.db") as connection:
        connection.execute("UPDATE artifacts SET content = 'other'")
    connection.close()
    (call,) = desk.calls()
    assert desk.artifact(call.events[0].before_sha256) is None
    assert call.events[1].not_kept == {"value": (0, "is damaged")}


async def test_an_append_that_is_cancelled_before_its_turn_is_taken_back(desk: Desk) -> None:
    log = desk.log()
    await log.append(intended("c1"))
    log._writing.acquire()
    async with anyio.create_task_group() as group:
        group.start_soon(log.append, intended("c2"))
        await anyio.wait_all_tasks_blocked()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await log.append(intended("c3"))
        threading.Timer(0.05, log._writing.release).start()
    assert desk.outcomes() == ["c1 running", "c2 running"]
    log.close()


async def test_after_its_end_a_session_records_nothing(desk: Desk) -> None:
    log = desk.log()
    log.close()
    with pytest.raises(LogUnavailableError, match="the session has ended"):
        await log.append(intended())
    assert not desk.directory.exists()


@pytest.mark.contract("X7")
@pytest.mark.parametrize(
    ("off", "recorded"),
    [
        ("observations", ["c1 succeeded", "x1 rejected", "o1 rejected"]),
        ("rejections", ["r1 succeeded", "c1 succeeded", "o1 rejected"]),
        ("results", ["r1 succeeded", "c1 succeeded", "x1 rejected", "o1 rejected"]),
        ("before_states", ["r1 succeeded", "c1 succeeded", "x1 rejected", "o1 rejected"]),
    ],
)
async def test_a_kind_that_is_switched_off_is_not_kept_and_what_acts_always_is(
    desk: Desk, off: Any, recorded: list[str]
) -> None:
    settings = LogSettings()
    log = desk.log(LogSettings(keep=settings.keep - {off}))
    for event in (
        reading("r1"),
        finished("r1", tool="Read", value="the text"),
        intended("c1", change=changing(b"a\n")),
        finished("c1"),
        rejected("x1"),
        intended("o1"),
        finished("o1", outcome="outdated"),
        rejected("o1"),
    ):
        await log.append(event)
    assert desk.outcomes() == recorded
    edit = next(call for call in desk.calls() if call.call_id == "c1")
    assert edit.intent == intended("c1", change=changing(b"a\n")), "the intent of what acts is whole"
    assert (edit.events[0].before_sha256 is None) == (off == "before_states")
    assert (getattr(edit.events[1].event, "value", 0) is None) == (off == "results")
    assert ("value" in edit.events[1].not_kept) == (off == "results")
    log.close()


@pytest.mark.contract("X7")
async def test_what_is_to_be_redacted_is_in_no_part_and_where_it_was_done_is(desk: Desk) -> None:
    log = desk.log(LogSettings(redact=("hush-[0-9]+",)), secrets={"MY_TOKEN": "hunter22"})
    hidden = "hunter22 hush-77 AKIA" + "Q" * 16
    await log.append(running(f"curl -u {hidden}"))
    await log.append(finished("s1", value={"output": [hidden], hidden: 1}, error=hidden))
    await log.append(ToolRejected(call_id="r1", tool=hidden, error_type="ToolNotFoundError", error=f"no {hidden}"))
    change = changing(hidden.encode(), (Hunk(1, f"{hidden}\n", f"{hidden}!\n"),))
    await log.append(intended("c1", change=change))
    log.close()
    everything = b"".join(each.read_bytes() for each in desk.directory.glob("events.db*"))
    for secret in (b"hunter22", b"hush-77", b"Q" * 16):
        assert secret not in everything
    command, unknown, edit = desk.calls()
    kept = "[redacted: MY_TOKEN] [redacted] [redacted]"
    assert command.events[1].event == finished("s1", value={"output": [kept], kept: 1}, error=kept)
    assert unknown.tool == kept
    assert edit.intent is not None
    assert edit.intent.change == FileChange(
        path="/ws/a.txt", hunks=(Hunk(1, f"{kept}\n", f"{kept}!\n"),), before_bytes=len(hidden), after_bytes=2
    )
    assert edit.events[0].not_kept == {"before": (len(hidden), "holds what is to be redacted")}


@pytest.mark.contract("X3", "X7")
async def test_the_tools_record_what_they_saw_and_the_whole_text_before_a_change(desk: Desk, tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "latin.txt").write_bytes(b"caf\xe9\r\nau lait\r\n" * 3)
    (root / "binary").write_bytes(b"\0\1\2")
    (root / "open.txt").write_text("on disk\n")
    editor = MemoryEditor()
    editor.open(str(root / "open.txt"))
    editor.type(str(root / "open.txt"), 0, "typed, ")
    access = MemoryEditorAccess(editor)
    log = desk.log()
    executor = create_tool_executor(ToolConfig(roots=(root,), editor=lambda: access), log=log)
    read = await executor.call("Read", {"filePath": "latin.txt"})
    edit = {"filePath": "latin.txt", "oldString": "au lait", "newString": "noir", "replaceAll": True}
    assert (await executor.call("Edit", edit)).success
    assert (await executor.call("Write", {"filePath": "new.txt", "content": "new\n"})).success
    assert (await executor.call("Delete", {"path": "binary"})).success
    document = await executor.call("Edit", {"filePath": "open.txt", "oldString": "typed", "newString": "written"})
    assert document.success, document.value
    with pytest.raises(ToolArgumentError):
        await executor.call("Read", {"path": 1})
    log.close()

    calls = desk.calls()
    assert [(call.tool, call.outcome) for call in calls] == [
        ("Read", "succeeded"),
        ("Edit", "succeeded"),
        ("Write", "succeeded"),
        ("Delete", "succeeded"),
        ("Edit", "succeeded"),
        ("Read", "rejected"),
    ]
    assert getattr(calls[0].events[1].event, "value", None) == read.value, "a replay has what was read"
    befores = [desk.artifact(call.events[0].before_sha256) if call.events[0].before_sha256 else None for call in calls]
    assert befores == [None, b"caf\xe9\r\nau lait\r\n" * 3, None, b"\0\1\2", b"typed, on disk\n", None]
    assert [call.events[0].before_version is not None for call in calls] == [False] * 4 + [True, False]
    intent = calls[1].intent
    assert isinstance(intent, ToolIntended)
    assert intent.change is not None
    assert intent.change.hunks[0] == Hunk(2, "au lait\r\n", "noir\r\n")


async def test_calls_are_found_by_tool_session_outcome_and_time(desk: Desk) -> None:
    log, other = desk.log(), desk.log()
    await log.append(reading("abc1"))
    await log.append(finished("abc1", tool="Read"))
    await other.append(intended("abd1"))
    await other.append(finished("abd1", outcome="failed"))
    reader = LogReader(str(desk.directory))

    def found(**wanted: Any) -> list[str]:
        return [call.call_id for call in reader.calls(CallFilter(**wanted))]

    key = next(reader.calls()).session.key
    assert found() == ["abd1", "abc1"]
    assert found(tool="read") == ["abc1"]
    assert found(session="1") == ["abc1"]
    assert found(session=key[:8]) == ["abd1"]
    assert found(outcome="failed") == ["abd1"]
    assert found(since_ns=2**62) == []
    assert [call.call_id for call in reader.call("abc1")] == ["abc1"]
    assert [call.call_id for call in reader.call("ab")] == ["abd1", "abc1"]
    assert [call.call_id for call in reader.call("3")] == ["abd1"]
    assert reader.call("zzz") == ()
    reader.close()
    log.close()
    other.close()


async def test_more_calls_than_fit_on_a_page_are_found_each_once(desk: Desk) -> None:
    log = desk.log()
    async with anyio.create_task_group() as group:
        for number in range(700):
            group.start_soon(log.append, intended(f"c{number}"))
    for number in range(0, 700, 100):
        await log.append(finished(f"c{number}"))
    reader = LogReader(str(desk.directory))
    names = [call.call_id for call in reader.calls()]
    assert len(names) == len(set(names)) == 700
    assert names[0] == "c600"
    reader.close()
    log.close()


async def test_a_follower_gets_what_is_new_and_begins_anew_with_a_new_log(desk: Desk, tmp_path: Path) -> None:
    log = desk.log()
    reader = LogReader(str(desk.directory))
    assert reader.newer(0) == (0, ())
    await log.append(intended("c1"))
    last, calls = reader.newer(0)
    assert (last, [call.outcome for call in calls]) == (1, ["running"])
    assert reader.newer(last) == (1, ())
    await log.append(finished("c1"))
    last, calls = reader.newer(last)
    assert (last, [call.outcome for call in calls]) == (2, ["succeeded"])
    desk.directory.rename(tmp_path / "away")
    await log.append(intended("c2"))
    last, calls = reader.newer(last)
    assert (last, [call.call_id for call in calls]) == (1, ["c2"])
    assert calls[0].session.is_alive
    reader.close()
    log.close()


@pytest.mark.contract("X7")
async def test_a_path_with_any_name_is_the_log(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a?b#c%41 é" / os.fsdecode(b"\xff") / "log")
    log = desk.log()
    await log.append(intended(tool="T\0\ud800", capabilities=RUNS))
    assert (desk.directory / "events.db").exists()
    assert [call.tool for call in desk.calls()] == ["T\\0\\ud800"]
    log.close()
