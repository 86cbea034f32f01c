"""What the log lets go: by age, by size, whole calls with all that only they have, and nothing while it is within."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools.adapters import sqlite_log, sqlite_log_retention
from openbuffer.tools.adapters.sqlite_log import LogSettings
from openbuffer.tools.adapters.sqlite_log_retention import used_bytes

from .log_desk import Desk, changing, finished, intended

if TYPE_CHECKING:
    from pathlib import Path

DAY_NS = 86_400 * 10**9


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "log")


def counts(desk: Desk) -> tuple[int, int, int]:
    with sqlite3.connect(desk.directory / "events.db") as connection:
        found = tuple(
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("events", "parts", "artifacts")
        )
    connection.close()
    return found


def age(desk: Desk, days: float, below: int) -> None:
    with sqlite3.connect(desk.directory / "events.db") as connection:
        connection.execute("UPDATE events SET at_ns = at_ns - ? WHERE id < ?", (int(days * DAY_NS), below))
    connection.close()


@pytest.mark.contract("X7")
async def test_what_is_too_old_goes_with_all_that_only_it_has(desk: Desk) -> None:
    log = desk.log()
    for name, text in (("c1", b"one" * 999), ("c2", b"shared" * 999), ("c3", b"shared" * 999)):
        await log.append(intended(name, change=changing(text)))
        await log.append(finished(name))
    log.close()
    assert counts(desk) == (6, 3, 2)
    age(desk, 8, below=5)
    log = desk.log(LogSettings(days=7))
    await log.append(intended("c4"))
    assert desk.outcomes() == ["c3 succeeded", "c4 running"]
    assert counts(desk) == (3, 1, 1)
    assert desk.artifact(desk.calls()[0].events[0].before_sha256) == b"shared" * 999
    log.close()
    everything = b"".join(each.read_bytes() for each in desk.directory.glob("events.db*"))
    assert b"oneone" not in everything, "what was let go is not in the file any more"


@pytest.mark.contract("X7")
async def test_a_call_goes_as_a_whole(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_log_retention, "_EVENTS_OF_A_STEP", 1)
    log = desk.log()
    await log.append(intended("c1"))
    await log.append(intended("c2"))
    await log.append(finished("c1"))
    await log.append(finished("c2"))
    log.close()
    age(desk, 8, below=2)
    log = desk.log(LogSettings(days=7))
    await log.append(intended("c3"))
    assert desk.outcomes() == ["c2 succeeded", "c3 running"]
    log.close()


@pytest.mark.contract("X7")
async def test_the_oldest_go_when_all_together_are_too_large_and_the_file_shrinks(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_log_retention, "_EVENTS_OF_A_STEP", 20)
    monkeypatch.setattr(sqlite_log, "_RETENTION_BYTES", 100_000)
    log = desk.log(LogSettings(max_bytes=1_000_000))
    for number in range(150):
        await log.append(intended(f"c{number}", change=changing(b"%d " % number * 5_000)))
    (used,) = (used_bytes(log._database.connection()),)
    assert used < 1_200_000
    log.close()
    assert used_and_size(desk) < 1_100_000
    names = [call.call_id for call in desk.calls()]
    assert names == [f"c{number}" for number in range(150 - len(names), 150)]
    assert len(names) > 20


def used_and_size(desk: Desk) -> int:
    return (desk.directory / "events.db").stat().st_size


@pytest.mark.contract("X7")
async def test_within_its_bounds_nothing_goes(desk: Desk) -> None:
    log = desk.log()
    for number in range(600):
        await log.append(intended(f"c{number}"))
    log.close()
    assert len(desk.calls()) == 600


async def test_a_clock_that_was_wrong_lets_nothing_go_that_is_new(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = desk.log(LogSettings(days=7))
    now = time.time_ns()
    monkeypatch.setattr(sqlite_log.time, "time_ns", lambda: now + 3 * DAY_NS)
    await log.append(intended("c1"))
    monkeypatch.setattr(sqlite_log.time, "time_ns", lambda: now)
    await log.append(intended("c2"))
    log.close()
    assert [call.call_id for call in desk.calls()] == ["c1", "c2"]
