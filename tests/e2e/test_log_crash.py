"""Killed at every step, or from outside: no effect without an intent, no torn log, and the truth of the rest."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools.adapters.sqlite_log import LogSession, SqliteEventLog
from openbuffer.tools.adapters.sqlite_log_reader import LoggedCall, LogReader
from openbuffer.tools.events import ToolFinished, ToolIntended, ToolRejected

if TYPE_CHECKING:
    from collections.abc import Iterable

WORKER = str(Path(__file__).with_name("log_crash_worker.py"))
COMMAND = str(Path(sys.executable).with_name("openbuffer"))


def calls_in(directory: Path) -> list[LoggedCall]:
    """Every call, whole and in order."""
    reader = LogReader(str(directory))
    try:
        numbers = [call.number for call in reader.calls()]
        return [reader.call(str(number))[0] for number in reversed(numbers)]
    finally:
        reader.close()


def problems_of(directory: Path) -> list[str]:
    """What is wrong with the database as such."""
    path = directory / "events.db"
    if not path.exists() or path.stat().st_size == 0:
        return []
    connection = sqlite3.connect(path)
    try:
        return [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
    finally:
        connection.close()


def intended(calls: Iterable[LoggedCall], tool: str) -> bool:
    return any(call.tool == tool and call.intent is not None for call in calls)


def ended(calls: Iterable[LoggedCall], tool: str) -> bool:
    return any(call.tool == tool and isinstance(call.events[-1].event, ToolFinished) for call in calls)


async def goes_on(directory: Path) -> list[str]:
    """Record something in the next session; what was told about the log."""
    told: list[str] = []
    log = SqliteEventLog(str(directory), LogSession(face="next"), tell=told.append)
    await log.append(ToolRejected(call_id="next", tool="T", error_type="E", error="e"))
    log.close()
    return told


@pytest.mark.contract("X2", "X7")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("stride", [2, pytest.param(1, marks=pytest.mark.slow)])
async def test_a_kill_at_any_step_leaves_no_effect_without_its_intent_and_a_whole_log(
    tmp_path: Path, stride: int
) -> None:
    done = subprocess.run(  # noqa: ASYNC221  nothing else runs in this loop
        [sys.executable, WORKER, "every-step", str(tmp_path), str(stride)], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    steps, code = map(int, done.stdout.split())
    assert code == 0
    assert steps > 80, "every statement and every change of a file is a step"
    outcomes: set[str] = set()
    for step in range(1, steps + 1, stride):
        log, workspace = tmp_path / str(step) / "log", tmp_path / str(step) / "ws"
        assert problems_of(log) == [], step
        calls = calls_in(log)
        a, b = workspace / "a.txt", workspace / "b.txt"
        text = a.read_text() if a.exists() else None
        assert text in {"old\n", "new\n", None}, step
        assert text == "old\n" or intended(calls, "Edit"), step
        assert text is not None or intended(calls, "Delete"), step
        assert not b.exists() or (intended(calls, "Write") and b.read_text() == "b\n" * 3_000), step
        assert not ended(calls, "Edit") or text != "old\n", step
        assert not ended(calls, "Write") or b.exists(), step
        assert not ended(calls, "Delete") or text is None, step
        order = sorted(event.sequence for call in calls for event in call.events)
        assert order == list(range(1, len(order) + 1)), step
        assert all(event.event is not None for call in calls for event in call.events), step
        mine = [call.outcome for call in calls]
        assert mine.count("interrupted") <= 1, step
        assert set(mine) <= {"succeeded", "interrupted"}, step
        outcomes |= {f"{call.tool} {call.outcome}" for call in calls}
        assert await goes_on(log) == [], step
        assert [call.outcome for call in calls_in(log)] == [*mine, "rejected"], step
    acting = {f"{tool} {outcome}" for tool in ("Edit", "Write", "Delete") for outcome in ("succeeded", "interrupted")}
    assert outcomes == {*acting, "Read succeeded"}, "the two ends of what only reads are written together"


def start(directory: Path, name: str, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, WORKER, "write", str(directory), name, *more], stdout=subprocess.PIPE, text=True
    )


def numbers_in(calls: list[LoggedCall], name: str) -> tuple[list[int], list[int]]:
    """The numbers that were to be written into a file, and those that were."""
    mine = [(call, call.intent) for call in calls if call.session.face == name]
    meant = [int(intent.arguments["content"]) for _, intent in mine if isinstance(intent, ToolIntended)]
    return meant, [number for number, (call, _) in zip(meant, mine, strict=True) if call.outcome == "succeeded"]


@pytest.mark.contract("X2", "X7")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 30))])
def test_processes_that_share_a_log_and_are_killed_spoil_nothing_of_it(tmp_path: Path, seed: int) -> None:
    (tmp_path / "ws").mkdir()
    chance = random.Random(seed)
    workers = {name: start(tmp_path, name) for name in ("w0", "w1", "w2")}
    told: dict[str, int] = {}
    for name, worker in workers.items():
        assert worker.stdout is not None
        for _ in range(chance.randint(1, 40)):
            told[name] = int(worker.stdout.readline())
        worker.send_signal(signal.SIGKILL)
        told[name] = max([told[name], *(int(line) for line in worker.stdout if line.endswith("\n"))])
        worker.wait()
        worker.stdout.close()
    assert problems_of(tmp_path / "log") == []
    calls = calls_in(tmp_path / "log")
    for name, last in told.items():
        meant, done = numbers_in(calls, name)
        assert meant == list(range(1, len(meant) + 1))
        assert done == list(range(1, len(done) + 1))
        assert last <= len(done) <= len(meant) <= len(done) + 1, "an answer that was given is on record"
        content = int((tmp_path / "ws" / f"{name}.txt").read_text())
        assert len(done) <= content <= len(meant), "what is there was meant, and what is on record as done is there"
        sequence = [event.sequence for call in calls if call.session.face == name for event in call.events]
        assert sorted(sequence) == list(range(1, len(sequence) + 1))
        assert [call.outcome for call in calls if call.session.face == name].count("running") == 0


@pytest.mark.contract("X7")
@pytest.mark.timeout(300)
def test_processes_that_share_a_log_each_have_all_of_theirs_in_it(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    workers = {name: start(tmp_path, name, "40") for name in ("w0", "w1", "w2", "w3")}
    for worker in workers.values():
        output, _ = worker.communicate()
        assert (worker.returncode, len(output.splitlines())) == (0, 40)
    calls = calls_in(tmp_path / "log")
    assert {name: numbers_in(calls, name)[1] for name in workers} == {name: list(range(1, 41)) for name in workers}
    numbers = sorted(event.number for call in calls for event in call.events)
    assert numbers == list(range(1, 321))
    assert all(call.session.ended_ns is not None for call in calls)


@pytest.mark.contract("X2")
def test_on_a_disk_that_takes_no_more_what_acts_is_refused_and_what_reads_goes_on(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.txt").write_text("x\n")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}

    def call(name: str, arguments: object, most: int) -> subprocess.CompletedProcess[str]:
        def bound() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        return subprocess.run(
            [COMMAND, "call", name, json.dumps(arguments)],
            cwd=root,
            env=environment,
            preexec_fn=bound,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    write = {"filePath": "a.txt", "content": "y\n"}
    for most in (0, 5_000):  # nothing at all, and not enough for the tables
        refused = call("Write", write, most)
        assert refused.returncode == 2
        assert "the event log could not be written" in refused.stderr
        assert (root / "a.txt").read_text() == "x\n"
        read = call("Read", {"filePath": "a.txt"}, most)
        assert (read.returncode, read.stdout.endswith("     1\tx\n")) == (0, True)
    assert call("Write", write, 10_000_000).returncode == 0
    (made,) = calls_in(tmp_path / "state" / "openbuffer" / "log")
    assert (made.tool, made.outcome) == ("Write", "succeeded")
