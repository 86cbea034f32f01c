"""Sessions as every editor begins them, over stdio and over a socket: one suite for real Neovim and all presets."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import client_capabilities

from .editor_desks import PRESETS, Desk, in_memory_editor, neovim_desk, preset_desk
from .listening_server import listening
from .raw_client import DEADLINE_S, SERVER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from .listening_server import Listening

TEXT = "first 😋 line\r\nsecond e\u0301 line\u2028still second\r\nthird 😋 end"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ws").resolve()


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=[
        *PRESETS,
        "visual-studio-code@v1.65.2 over TCP",
        pytest.param("Neovim", marks=pytest.mark.editor),
        pytest.param("Neovim over TCP", marks=pytest.mark.editor),
        pytest.param("Neovim over unix", marks=pytest.mark.editor),
    ],
)
async def desk(
    request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Desk]:
    """One editor for all tests, as its user would have it open all day."""
    name, _, transport = request.param.partition(" over ")
    home = tmp_path_factory.mktemp("home")

    def opened(server: Listening | None = None) -> AbstractAsyncContextManager[Desk]:
        return neovim_desk(home, root, server) if name == "Neovim" else preset_desk(name, root, server)

    if not transport:
        async with opened() as desk:
            yield desk
        return
    home.chmod(0o700)
    address = "127.0.0.1:0" if transport == "TCP" else f"unix:{home}/s"
    async with listening(address) as server, opened(server) as desk:
        yield desk


@pytest.mark.contract("B1", "B4", "E8")
async def test_an_unsaved_text_is_read_edited_and_saved_as_in_any_other_editor(desk: Desk, root: Path) -> None:
    assert set(await desk.tools()) >= {"Read", "Write", "Edit", "Delete", "Shell"}
    path = root / f"ä b {len(os.listdir(root))}.txt"
    path.write_bytes(b"on disk\r\n")
    await desk.open(path)
    await desk.type_all(path, TEXT)
    assert "1\tfirst 😋 line" in (await desk.call("Read", {"filePath": path.name}))["data"]["output"]
    expected = await desk.text(path)
    for old, new in (("line\nsecond", "LINE\n2nd"), ("e\u0301", "é"), ("😋 end", "🦑 END\nmore")):
        edited = await desk.call("Edit", {"filePath": str(path), "oldString": old, "newString": new})
        assert edited["data"]["success"] is True, edited
        expected = expected.replace("\r\n", "\n").replace(old, new)
        assert (await desk.text(path)).replace("\r\n", "\n") == expected
    assert path.read_bytes() == b"on disk\r\n"
    await desk.save(path)
    told = await desk.call("Read", {"filePath": str(path)})
    assert "in the open document, nothing unsaved" in told["data"]["output"]
    assert path.read_bytes().decode().replace("\r\n", "\n").rstrip("\n") == expected


@pytest.mark.contract("B2", "B4", "T6")
async def test_a_cancelled_command_ends_and_the_session_goes_on(desk: Desk, root: Path) -> None:
    call = await desk.begin("Shell", {"command": "echo $$ > new; mv new pid; sleep 300"})
    async with asyncio.timeout(DEADLINE_S):
        while not (root / "pid").exists():  # noqa: ASYNC110  a file of another process is no event
            await asyncio.sleep(0.01)
    pid = int((root / "pid").read_text())
    (root / "pid").rename(root / "ended")
    await desk.cancel(call)
    async with asyncio.timeout(DEADLINE_S):
        while exists(pid):  # noqa: ASYNC110  likewise
            await asyncio.sleep(0.01)
    listed = await desk.call("ListDir", {"path": "."})
    assert "ended" in listed["data"]["output"]


def exists(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.contract("B4")
async def test_a_call_reports_progress_under_the_clients_token(root: Path) -> None:
    (root / "a.txt").write_text("a\n")
    client = in_memory_editor()
    await client.start_io(*SERVER)
    try:
        await client.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities("visual-studio-code"),
                workspace_folders=[types.WorkspaceFolder(uri=root.as_uri(), name="root")],
            )
        )
        client.progress_reports["mine"] = []
        call = {"name": "Read", "arguments": {"filePath": "a.txt"}, "workDoneToken": "mine"}
        answer = await client.workspace_execute_command_async(types.ExecuteCommandParams("openbuffer.callTool", [call]))
        assert answer["isError"] is False
        assert [value.kind for value in client.progress_reports["mine"]] == ["begin", "end"]
        assert client.messages == []
        await client.shutdown_session()
    finally:
        await client.stop()
