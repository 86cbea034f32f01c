"""The Shell tool with the real OS sandbox: what it says of it, and that it ends what is inside (S2, S3, S7)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from openbuffer.sandbox import SandboxSettings
from openbuffer.sandbox.detect import detect_os_sandbox
from openbuffer.sandbox.os_client import OsSandboxClient
from openbuffer.tools import FunctionTool, ToolContext, TraceContext
from openbuffer.tools.host import create_shell_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = "May write only in the workspace, "


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[FunctionTool]:
    root, state = tmp_path / "w", tmp_path / "state"
    for directory in (root, state):
        directory.mkdir()
    detection = detect_os_sandbox([str(root)])
    if not detection.available:
        pytest.skip(detection.problem)
    client = OsSandboxClient(
        detection=detection,
        roots=[str(root)],
        settings=lambda: SandboxSettings(enabled=True),
        state_directory=str(state),
    )
    yield create_shell_tool(cwd=root, sandbox=client)
    client.close()


def alive(marker: str) -> list[str]:
    """The command lines of processes that have this argument, seen from outside."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words:
            found.append(b" ".join(words).decode(errors="replace"))
    return found


async def call(tool: FunctionTool, command: str, context: ToolContext | None = None, **more: Any) -> dict[str, Any]:
    return (await tool.execute({"command": command, **more}, context)).value


@pytest.mark.contract("S3", "S7", "S8")
async def test_a_confined_command_is_told_to_be_by_what_and_gets_no_trace(
    tool: FunctionTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPARENT", "ambient")
    monkeypatch.setenv("TRACESTATE", "state")
    command = "touch in ../out; env | grep -c ^TRACE[PS]; exit 5"
    result = await call(tool, command, ToolContext(trace=TraceContext("00-1-2-01")))
    assert (result["success"], result["exitCode"]) == (True, 5)
    assert result["output"].startswith(f"Exit code 5 in {tmp_path}/w. Confined by bubblewrap ")
    assert WORDS in result["output"]
    assert result["output"].endswith("\n0\n")
    assert ((tmp_path / "w" / "in").exists(), (tmp_path / "out").exists()) == (True, False)


@pytest.mark.contract("S2", "S7")
async def test_what_is_left_in_the_background_ends_with_a_confined_command(tool: FunctionTool) -> None:
    result = await call(tool, "sleep 300.125 & echo hi", timeout=20_000)
    assert (result["success"], result["output"].splitlines()[-1]) == (True, "hi")
    assert alive("300.125") == []


@pytest.mark.contract("S2", "S7")
async def test_a_timeout_ends_what_is_inside_although_it_ignores_to_be_asked(tool: FunctionTool) -> None:
    result = await call(tool, "echo a; trap '' TERM; (sleep 300.25; sleep 300.25); sleep 300.25", timeout=1_500)
    assert (result["success"], result["output"].splitlines()[-1]) == (False, "a")
    assert "within its timeout of 1500 ms" in result["error"]
    assert alive("300.25") == []


@pytest.mark.contract("S2", "S7", "T6")
async def test_a_cancelled_call_ends_what_is_inside(tool: FunctionTool) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(call, tool, "sleep 300.375")
        while not await anyio.to_thread.run_sync(alive, "300.375"):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert alive("300.375") == []
