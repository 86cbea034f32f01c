"""What ``serve`` records: calls on unsaved text with what it was before, and the end of one whose server was killed."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest
from openbuffer.bridge.client import BridgeClient
from openbuffer.bridge.headless import open_headless
from openbuffer.tools.adapters.sqlite_log_reader import LogReader

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the server records; nothing of it is made yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "openbuffer" / "log"


@pytest.mark.contract("X7", "X3")
async def test_an_edit_of_unsaved_text_is_on_record_with_the_text_before_it_and_its_version(
    tmp_path: Path, log: Path
) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    file = root / "a.txt"
    file.write_text("one\n")
    async with open_headless(root) as editor:
        editor.memory.open(str(file))
        editor.memory.type(str(file), 0, "typed\n")
        answer = await editor.call_tool("Edit", {"filePath": "a.txt", "oldString": "one", "newString": "two"})
        assert not answer.is_error, answer.output
        reader = LogReader(str(log))
        (call,) = reader.call("1")
        assert (call.outcome, call.session.is_alive, call.session.face) == ("succeeded", True, "serve")
    (call,) = reader.call("1")
    assert not call.session.is_alive
    assert call.session.ended_ns is not None
    assert call.session.roots == (str(root),)
    event = call.events[0]
    assert reader.artifact(event.before_sha256 or "") == b"typed\none\n"
    assert event.before_version is not None
    assert call.intent is not None
    assert call.intent.targets[0].subject == str(file)
    reader.close()


@pytest.mark.contract("X2")
async def test_a_command_of_a_server_that_was_killed_was_interrupted(tmp_path: Path, log: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    os.mkfifo(root / "started")

    async def call(client: BridgeClient) -> None:
        try:
            await client.call_tool("Shell", {"command": "echo x > started; sleep 60"})
        except Exception:  # noqa: BLE001  however the client tells that its server is gone
            ended.set()

    ended = anyio.Event()
    reader = LogReader(str(log))
    client = BridgeClient(root)
    try:
        async with client, anyio.create_task_group() as group:
            group.start_soon(call, client)
            await anyio.to_thread.run_sync((root / "started").read_bytes)
            assert [each.outcome for each in reader.calls()] == ["running"]
            assert client.pid is not None
            os.kill(client.pid, signal.SIGKILL)
            await ended.wait()
    except Exception:  # noqa: BLE001  a client whose server was killed may say so when it is left
        assert ended.is_set()
    (seen,) = reader.calls()
    assert (seen.outcome, seen.session.is_alive) == ("interrupted", False)
    reader.close()
