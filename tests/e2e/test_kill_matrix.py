"""A client or a server that is killed during each kind of call: all is gone, files are whole, the log is truthful.

The default run has each tool, death, point and way of hanging; --slow has them all with each other.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..processes import descendants_of
from .neovim import wait_until_gone
from .raw_client import DEADLINE_S, SERVER

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__)
GONE_S = 10.0
OLD, NEW = "one\ntwo\nthree\n", "one\nTWO\nthree\n"
CALLS: dict[str, dict[str, Any]] = {
    "Read": {"filePath": "f.txt"},
    "Write": {"filePath": "f.txt", "content": NEW},
    "Edit": {"filePath": "f.txt", "oldString": "two", "newString": "TWO"},
    "Delete": {"path": "f.txt"},
    "ListDir": {"path": ".", "recursive": True},
    "Glob": {"pattern": "**"},
    "Grep": {"pattern": "t.o"},
    "Shell": {"command": "printf 'one\\nTWO\\nthree\\n' > new && mv new f.txt"},
    "CodebaseRetrieval": {"query": "two", "identifiers": ["two"]},
    "TaskCreate": {"title": "t"},
}
AFTER = {"Write": NEW, "Edit": NEW, "Shell": NEW, "Delete": None}
DEATHS = ("client SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL")
HANGS = (
    *(("prepare", way) for way in ("waits", "sticks", "thread")),
    *(("commit", way) for way in ("waits", "sticks", "thread")),
    *(("done", way) for way in ("sticks", "thread")),
)


def matrix() -> list[Any]:
    """Every combination; the ones of the default run have each value of each column once or more."""
    columns = (tuple(CALLS), DEATHS, HANGS)
    most = max(map(len, columns))
    ordinary = {tuple(column[number % len(column)] for column in columns) for number in range(most)}
    return [
        pytest.param(name, death, *hang, marks=[] if (name, death, hang) in ordinary else [pytest.mark.slow])
        for name, death, hang in itertools.product(*columns)
    ]


@dataclass
class Doomed:
    """A client with a server that is in the middle of a call."""

    client: asyncio.subprocess.Process
    server: int

    def processes(self) -> list[int]:
        return [self.server, *descendants_of(self.server)]

    def kill(self, death: str) -> None:
        if death.startswith("client"):
            self.client.kill()
        else:
            os.kill(self.server, signal.Signals[death])


async def doomed(root: Path, command: Sequence[str], name: str, arguments: dict[str, Any], reached: Path) -> Doomed:
    """Both of them, once the call has come so far that ``reached`` is there."""
    call = json.dumps({"name": name, "arguments": arguments})
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-P", str(HERE.with_name("doomed_client.py")), str(root), call, *command,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert client.stdout is not None
    async with asyncio.timeout(DEADLINE_S):
        server = int(await client.stdout.readline())
        while not os.path.exists(reached):  # noqa: ASYNC110, ASYNC240  a file of another process is no event
            await asyncio.sleep(0.01)
    return Doomed(client, server)


async def ends_with_everything(case: Doomed, death: str) -> None:
    """All processes that there were are gone in time, and the client, if it was not killed, is told."""
    processes = case.processes()
    try:
        case.kill(death)
        assert await asyncio.to_thread(wait_until_gone, processes, GONE_S) == []
        async with asyncio.timeout(DEADLINE_S):
            await case.client.wait()
    finally:
        for pid in (case.server, *([case.client.pid] if case.client.returncode is None else [])):
            if wait_until_gone([pid], 0):
                os.kill(pid, signal.SIGKILL)
        await case.client.wait()


def logged() -> list[dict[str, Any]]:
    """What ``openbuffer log`` has, once nothing runs any more."""
    command = [sys.executable, "-P", "-m", "openbuffer.bridge", "log", "--json"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    return [json.loads(line) for line in told.splitlines()]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "f.txt").write_text(OLD)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return root


@pytest.mark.contract("B3", "F4", "S2", "X2")
@pytest.mark.parametrize(("name", "death", "point", "way"), matrix())
async def test_whoever_is_killed_all_is_gone_the_file_whole_and_the_log_true(
    tmp_path: Path, root: Path, name: str, death: str, point: str, way: str
) -> None:
    reached = tmp_path / "reached"
    server = (sys.executable, "-P", str(HERE.with_name("gated_server.py")), point, way, str(reached))
    case = await doomed(root, server, name, CALLS[name], reached)
    await ends_with_everything(case, death)
    file = root / "f.txt"
    text = file.read_text() if file.exists() else None
    assert text == (AFTER.get(name, OLD) if point == "done" else OLD)
    assert os.listdir(root) == (["f.txt"] if text is not None else [])
    calls = await asyncio.to_thread(logged)
    (call,) = calls or [{"outcome": "not on record", "session": {"alive": False}}]
    allowed = {"interrupted"}
    if way == "waits":
        allowed |= {
            "cancelled",
            "rejected",
        }  # the latter before there was an intent, with the cancellation as its reason
    if point == "prepare" or name not in (*AFTER, "TaskCreate"):  # what only looks is recorded with its outcome
        allowed |= {"not on record", "rejected"}
    assert call["outcome"] in allowed
    assert call["session"]["alive"] is False


# --- real work that does not want to end -------------------------------------------------------------------------

STUBBORN = "trap '' TERM HUP INT; (trap '' TERM HUP INT; sleep 301) & touch reached; sleep 302"
ENDLESS = r"(?=x)(x+x+)+y"
"""For an engine that tries everything; the worker's own time limit is longer than this test waits."""


@pytest.mark.contract("B3", "S2", "X2")
@pytest.mark.parametrize("death", DEATHS)
async def test_a_command_that_ignores_signals_ends_with_its_server(root: Path, death: str) -> None:
    case = await doomed(root, SERVER, "Shell", {"command": STUBBORN}, root / "reached")
    assert len(case.processes()) >= 3
    await ends_with_everything(case, death)
    (call,) = await asyncio.to_thread(logged)
    assert call["outcome"] in {"interrupted", "cancelled"}
    assert call["session"]["alive"] is False


def is_worker(pid: int) -> bool:
    """Whether it has become one: a process between its making and its program is its maker's still."""
    try:
        return b"grep.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


@pytest.mark.contract("B3", "F8")
@pytest.mark.parametrize(("death", "stopped"), [("SIGKILL", False), ("SIGTERM", True), ("client SIGKILL", True)])
async def test_the_workers_of_a_search_end_with_their_server_even_if_they_hang(
    tmp_path: Path, root: Path, death: str, stopped: bool
) -> None:
    """``stopped``: they take no signal but SIGKILL, which somebody has to send."""
    (root / "x.txt").write_text("x" * 5_000)
    started = tmp_path / "started"
    started.touch()
    case = await doomed(root, SERVER, "Grep", {"pattern": ENDLESS}, started)
    async with asyncio.timeout(DEADLINE_S):
        while not (workers := [pid for pid in descendants_of(case.server) if is_worker(pid)]):  # noqa: ASYNC110  likewise
            await asyncio.sleep(0.01)
    if stopped:
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
    await ends_with_everything(case, death)
    assert (root / "x.txt").read_text() == "x" * 5_000
