"""Real VS Code: the server ends, is ended, is not there; calls and unsaved text get over it."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .window import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .client_window import ClientWindow

pytestmark = [pytest.mark.vscode, pytest.mark.contract("B4")]


def opened(window: ClientWindow, folder: Path, text: str = "one\ntwo\n", name: str = "a.txt") -> Path:
    file = folder / name
    file.write_text(text)
    window.show(file)
    return file


def typed(window: ClientWindow, folder: Path) -> Path:
    """A document with text that is not saved."""
    file = opened(window, folder)
    window.type_at_end("typed")
    window.wait_for_text(file, "one\ntwo\ntyped")
    return file


def killed(window: ClientWindow) -> int:
    """Kill the server; its process, which is gone."""
    pid = window.server_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: window.server_pid() != pid, "the end to be noticed")
    return pid


@pytest.mark.contract("B3", "E11")
def test_a_killed_server_comes_back_and_knows_what_is_unsaved(window: ClientWindow, folder: Path) -> None:
    file = typed(window, folder)
    pid = killed(window)
    window.wait_until_running()
    assert window.server_pid() not in {None, pid}
    answer = window.read(file)
    assert "typed" in answer.output
    assert "unsaved" in answer.output
    answer = window.edit(file, "two", "TWO")
    assert answer.success, answer
    window.wait_for_text(file, "one\nTWO\ntyped")
    assert file.read_text() == "one\ntwo\n"


@pytest.mark.contract("B3")
def test_a_call_waits_for_the_server_that_comes_back(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    killed(window)
    answer = window.read(file)
    assert answer.success, answer
    window.wait_until_running()


@pytest.mark.contract("B3")
def test_a_call_that_was_under_way_says_that_the_server_ended(window: ClientWindow, folder: Path) -> None:
    started = folder / "started"
    call = window.begin("Shell", command=f"touch {started}; sleep 600")
    wait_for(started.exists, "the command to run")
    killed(window)
    answer = call.answer()
    assert answer.is_hard_error
    assert "ended before it answered" in answer.error
    window.wait_until_running()


@pytest.mark.contract("B2")
def test_a_cancelled_call_ends_what_it_started(window: ClientWindow, folder: Path) -> None:
    started = folder / "started"
    call = window.begin("Shell", command=f"echo $$ > {started}; exec sleep 600")
    wait_for(lambda: started.exists() and started.read_text().strip(), "the command to run")
    pid = int(started.read_text())
    call.cancel()
    answer = call.answer()
    assert answer.is_hard_error
    assert "cancelled" in answer.error.lower()
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the command to end")


@pytest.mark.contract("E11")
def test_a_restart_by_hand_is_another_server_with_the_same_documents(window: ClientWindow, folder: Path) -> None:
    file = typed(window, folder)
    pid = window.server_pid()
    window.command("openbuffer.restartServer")
    window.wait_until_running()
    assert window.server_pid() not in {None, pid}
    assert not Path(f"/proc/{pid}").exists()
    assert "typed" in window.read(file).output


@pytest.mark.contract("B4")
def test_a_stopped_server_is_started_by_the_next_call(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    window.command("openbuffer.stopServer")
    assert window.api("return api.serverState") == "stopped"
    answer = window.read(file)
    assert answer.success, answer
    assert window.api("return api.serverState") == "running"


OTHER_PROTOCOL = """
import json, sys
while (header := sys.stdin.buffer.readline()):
    if not header.lower().startswith(b"content-length:"):
        continue
    while sys.stdin.buffer.readline().strip():
        pass
    message = json.loads(sys.stdin.buffer.read(int(header.split(b":")[1])))
    if message.get("method") == "exit":
        break
    if "id" in message and "method" in message:
        result = {"capabilities": {"experimental": {"openbuffer": {"protocolVersion": 99}}}}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
        sys.stdout.buffer.flush()
"""


@contextmanager
def server_command(window: ClientWindow, command: str | list[str]) -> Iterator[None]:
    """Another setting, for a while, which ends in a failure."""
    settings = window.server.home / "data" / "Machine" / "settings.json"
    before = settings.read_text()
    try:
        window.configure("openbuffer.server.command", command)
        wait_for(lambda: window.api("return api.serverState") == "failed", "the failure")
        yield
    finally:
        settings.write_text(before)
        wait_for(lambda: window.api("return api.serverState") != "failed", "the setting to count")
        window.wait_until_running()
        window.command("notifications.clearAll")


@pytest.mark.contract("B4")
def test_a_command_that_is_no_server_is_told_with_what_can_be_done(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    with server_command(window, "/nowhere/openbuffer"):
        assert "/nowhere/openbuffer" in window.api("return api.problem.message")
        answer = window.read(file)
        assert answer.is_hard_error
        assert "could not be started" in answer.error
        window.see(".notifications-toasts :text('could not be started')")
        assert window.sees(".notifications-toasts .monaco-button:has-text('Install Server')")
    assert window.read(file).success


@pytest.mark.contract("B7")
def test_a_server_of_another_protocol_is_told_and_ended(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    with server_command(window, [sys.executable, "-c", OTHER_PROTOCOL]):
        assert "speaks version 99 of the protocol" in window.api("return api.problem.message")
        assert "speaks version 99" in window.read(file).error
        assert window.server_pid() is None
    assert window.read(file).success


@pytest.mark.contract("B2", "X4")
def test_a_setting_of_the_user_counts_from_the_next_call_on(window: ClientWindow, folder: Path) -> None:
    file = folder / "new.txt"
    window.configure("openbuffer.permissions.deny", [f"Write({folder}/**)"])
    try:
        wait_for(lambda: not window.write(file, "text\n").success, "the rule to count")
        answer = window.write(file, "text\n")
        assert answer.is_hard_error
        assert "the editor's settings" in answer.error
    finally:
        window.configure("openbuffer.permissions.deny", None)
    wait_for(lambda: window.write(file, "again\n").success, "the rule to be gone")
    assert file.read_text() == "again\n"
