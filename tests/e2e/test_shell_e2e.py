"""Commands over the real server: called, cancelled, and gone with it (S1, S2, T6)."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from .raw_client import DEADLINE_S, RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

COMMAND = str(Path(sys.executable).with_name("openbuffer"))
HOLD = "(trap '' TERM HUP; echo $BASHPID > child; sleep 300 & wait; sleep 300) & echo $$ > new; mv new leader; wait"
"""A command with a child that does not want to end; both tell who they are."""

EASY = HOLD.replace("trap '' TERM HUP; ", "")
"""The same, and it ends when it is asked to."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    return root


@pytest_asyncio.fixture
async def client(root: Path) -> AsyncIterator[RawClient]:
    async with RawClient.start() as client:
        await client.initialize(root)
        yield client


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in {"Z", "X"}


def wait_until(holds: Callable[[], object]) -> None:
    """Wait for what a command does; blocks."""
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def gone(*pids: int) -> None:
    """Wait until none of them runs any more; blocks."""
    wait_until(lambda: all(is_gone(pid) for pid in pids))


async def held(client: RawClient, root: Path, command: str = HOLD) -> tuple[int, tuple[int, int]]:
    """A call of a command that does not end: its request, and the command's processes."""
    request_id = client.ask("openbuffer/callTool", {"name": "Shell", "arguments": {"command": command}})
    leader, child = root / "leader", root / "child"
    await asyncio.to_thread(wait_until, lambda: leader.exists() and child.exists() and child.read_text())
    assert client.answers(request_id) == []
    return request_id, (int(leader.read_text()), int(child.read_text()))


@pytest.mark.contract("S1", "B1")
async def test_a_command_is_called_by_request_and_by_command(client: RawClient, root: Path) -> None:
    call = {"name": "Shell", "arguments": {"command": "pwd; cat; exit 3"}}
    by_request = (await client.request("openbuffer/callTool", call))["result"]
    params = {"command": "openbuffer.callTool", "arguments": [{**call, "name": "Bash"}]}
    by_command = (await client.request("workspace/executeCommand", params))["result"]
    for result in (by_request, by_command):
        assert result["isError"] is False
        assert result["data"]["exitCode"] == 3
        assert result["data"]["output"].startswith(f"Exit code 3 in {root}. Not confined. ")
        assert result["data"]["output"].endswith(f":\n{root}\n")
    assert await client.leave() == 0


@pytest.mark.contract("S1", "T8")
async def test_the_list_of_tools_has_both_names_and_each_names_the_other(client: RawClient) -> None:
    tools = (await client.request("openbuffer/listTools"))["result"]["tools"]
    told = {tool["name"]: tool["description"] for tool in tools}
    assert told["Shell"].endswith("Read, Write and Edit work on that text. Bash is the same tool by another name.")
    assert told["Bash"].endswith("Shell is the same tool by another name.")


@pytest.mark.contract("S2", "T6", "B2")
async def test_a_cancelled_command_is_answered_once_when_all_of_it_is_gone(client: RawClient, root: Path) -> None:
    request_id, pids = await held(client, root)
    client.notify("$/cancelRequest", {"id": request_id})
    assert (await client.answer(request_id))["error"] == {"code": -32800, "message": "cancelled"}
    assert all(is_gone(pid) for pid in pids)
    client.notify("$/cancelRequest", {"id": request_id})
    assert await client.alive()
    assert len(client.answers(request_id)) == 1
    assert (await client.call("Shell", {"command": "echo next"}))["data"]["output"].endswith("next\n")
    assert await client.leave() == 0


@pytest.mark.contract("S2", "B2")
async def test_the_progress_bar_shows_the_last_line_and_cancels(client: RawClient, root: Path) -> None:
    call = {"command": f"echo working on it; {EASY}"}
    request_id = client.ask("openbuffer/callTool", {"name": "Bash", "arguments": call, "workDoneToken": "bar"})
    await client.expect(
        lambda m: m.get("method") == "$/progress" and m["params"]["value"].get("message") == "working on it"
    )
    client.notify("window/workDoneProgress/cancel", {"token": "bar"})
    assert (await client.answer(request_id))["error"]["code"] == -32800
    assert not (root / "leader").exists() or is_gone(int((root / "leader").read_text()))
    assert await client.leave() == 0


@pytest.mark.contract("S2", "B3")
async def test_shutdown_ends_what_runs_before_it_is_answered(client: RawClient, root: Path) -> None:
    request_id, pids = await held(client, root, EASY)
    assert (await client.request("shutdown"))["result"] is None
    assert [each["error"]["code"] for each in client.answers(request_id)] == [-32800]
    assert all(is_gone(pid) for pid in pids)
    client.notify("exit")
    assert await client.exit_code() == 0


@pytest.mark.contract("S2", "B3")
@pytest.mark.parametrize("way", ["SIGKILL", "SIGTERM", "end of input"])
async def test_nothing_of_a_command_outlives_the_server(client: RawClient, root: Path, way: str) -> None:
    _, pids = await held(client, root, HOLD if way == "SIGKILL" else EASY)
    background = (await client.call("Shell", {"command": "trap '' HUP TERM; sleep 300 & echo $!"}))["data"]["output"]
    left = int(background.splitlines()[-1])
    assert not any(is_gone(pid) for pid in (*pids, left))
    if way == "end of input":
        client.close_stdin()
    else:
        client.process.send_signal(signal.Signals[way])
    await client.exit_code()
    await asyncio.to_thread(gone, *pids, left)


@pytest.mark.contract("S2")
async def test_commands_never_get_the_servers_own_streams(client: RawClient) -> None:
    listed = (await client.call("Shell", {"command": "ls -l /proc/$$/fd; cat; echo text >&2"}))["data"]["output"]
    streams = {
        line.split(" -> ")[0].split()[-1]: line.split(" -> ")[1] for line in listed.splitlines() if " -> " in line
    }
    assert streams["0"] == "/dev/null"
    assert streams["1"] == streams["2"]
    assert set(streams) <= {"0", "1", "2", "255"}, "255 is the shell's own"
    assert await client.alive()
    assert await client.leave() == 0


@pytest.mark.contract("E5", "E9", "E11", "B2")
async def test_what_an_editor_has_open_is_told_and_what_a_command_rewrote_is_read(
    client: RawClient, root: Path
) -> None:
    paths = [root / "a.txt", root / "b.txt"]
    for path in paths:
        path.write_text("disk\n")
        document = {"uri": path.as_uri(), "version": 1, "languageId": "text", "text": "disk\n"}
        client.notify("textDocument/didOpen", {"textDocument": document})
    change = {"textDocument": {"uri": paths[0].as_uri(), "version": 2}, "contentChanges": [{"text": "typed\n"}]}
    client.notify("textDocument/didChange", change)
    done = (await client.call("Shell", {"command": "cat a.txt; echo command > b.txt"}))["data"]["output"]
    assert f"which the command did not see: {paths[0]} (the user's changes).\n" in done
    assert done.endswith("\ndisk\n")
    assert "1\ttyped" in (await client.call("Read", {"filePath": "a.txt"}))["data"]["output"]
    assert "1\tcommand" in (await client.call("Read", {"filePath": "b.txt"}))["data"]["output"]
    arguments = {"filePath": "b.txt", "oldString": "command", "newString": "edited"}
    assert (await client.call("Edit", arguments))["data"]["success"]
    assert paths[1].read_text() == "edited\n"
    assert await client.leave() == 0


@pytest.mark.contract("S1", "B1")
def test_the_command_line_runs_commands_and_leaves_nothing(root: Path) -> None:
    arguments = ['{"command": "sleep 300 & echo $! > pid; echo out; exit 3"}']
    done = subprocess.run(
        [COMMAND, "call", "Shell", *arguments],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Exit code 3 in {root}. Not confined. ")
    assert done.stdout.endswith(":\nout\n")
    gone(int((root / "pid").read_text()))


@pytest.mark.contract("S2")
def test_an_interrupted_command_line_ends_its_command(root: Path) -> None:
    with subprocess.Popen(
        [COMMAND, "call", "Shell", '{"command": "echo $$ > new; mv new pid; sleep 300"}'],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_until((root / "pid").exists)
        pid = int((root / "pid").read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) != 0
    gone(pid)
