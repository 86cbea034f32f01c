"""The headless editor and a real server process: a whole session without any other editor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.client import BridgeEndedError
from openbuffer.bridge.headless import open_headless
from openbuffer.editor_access.memory_lsp import RICH, TEMPERAMENTS

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.bridge.headless import HeadlessEditor
    from openbuffer.editor_access.text import PositionEncoding

LATE = TEMPERAMENTS["tells late"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path.resolve() / "a.txt"
    file.write_text("one\ntwo 😋x\n")
    return os.fspath(file)


def watch_answers(editor: HeadlessEditor) -> list[tuple[int, int]]:
    """Of every answer that tells a version, from now on: that version, and the one last sent before it."""
    seen: list[tuple[int, int]] = []
    last_sent = 0
    send = editor.bridge._send

    def watch(message: dict[str, Any]) -> None:
        nonlocal last_sent
        if message.get("method") in {"textDocument/didOpen", "textDocument/didChange"}:
            last_sent = message["params"]["textDocument"]["version"]
        state = message.get("result") or {}
        state = state.get("document", state)
        if "version" in state:
            seen.append((state["version"], last_sent))
        send(message)

    editor.bridge._send = watch  # type: ignore[method-assign]
    return seen


@pytest.mark.contract("E6", "E10")
async def test_the_tools_see_what_was_typed_and_the_server_ends_with_the_session(tmp_path: Path, path: str) -> None:
    async with open_headless(tmp_path, temperament=LATE, tells_after_s=None) as editor:
        pid = editor.bridge.pid
        editor.memory.open(path)
        editor.memory.type(path, 0, "typed ")
        answer = await editor.call_tool("Read", {"filePath": path})
        assert "typed one" in answer.output
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.contract("E7", "E9", "E10")
async def test_all_that_a_rich_client_tells_goes_out_before_the_answer_that_follows_it(
    tmp_path: Path, path: str
) -> None:
    async with open_headless(tmp_path, temperament=LATE, rich=RICH, tells_after_s=None) as editor:
        answers = watch_answers(editor)
        editor.memory.open(path)
        editor.client.on_request = lambda: type_once(editor, path)
        arguments = {"filePath": path, "oldString": "two", "newString": "2"}
        answer = await editor.bridge.call_tool("Edit", arguments)  # not through the editor, which would flush
        assert not answer.is_error, answer.output
        assert editor.memory.buffer(path).text == "typed one\n2 😋x\n"
        versions = [told for told, _ in answers]
        assert versions == sorted(versions)
        assert len(set(versions)) > 1, "what was typed, and then the edit"
        assert all(told == last_sent for told, last_sent in answers), answers


def type_once(editor: HeadlessEditor, path: str) -> None:
    editor.client.on_request = None
    editor.memory.type(path, 0, "typed ")


@pytest.mark.contract("E9")
async def test_an_edit_of_a_clean_document_is_saved_through_a_rich_client(tmp_path: Path, path: str) -> None:
    async with open_headless(tmp_path, rich=RICH) as editor:
        editor.memory.open(path)
        answer = await editor.call_tool("Edit", {"filePath": path, "oldString": "one", "newString": "1"})
        assert not answer.is_error, answer.output
        assert not editor.memory.buffer(path).is_dirty
        with open(path, "rb") as file:  # noqa: ASYNC230  a few bytes
            assert file.read() == "1\ntwo 😋x\n".encode()


@pytest.mark.contract("E8")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_columns_are_those_that_were_negotiated(tmp_path: Path, path: str, encoding: PositionEncoding) -> None:
    async with open_headless(tmp_path, position_encodings=[encoding]) as editor:
        assert editor.bridge.server_capabilities["positionEncoding"] == encoding
        editor.memory.open(path)
        editor.memory.type(path, 9, "typed ")
        answer = await editor.call_tool("Edit", {"filePath": path, "oldString": "typed x", "newString": "y"})
        assert not answer.is_error, answer.output
        assert editor.memory.buffer(path).text == "one\ntwo 😋y\n"


async def test_a_user_goes_on_typing_when_the_server_has_died(tmp_path: Path, path: str) -> None:
    async with open_headless(tmp_path) as editor:
        editor.memory.open(path)
        assert editor.bridge.pid is not None
        os.kill(editor.bridge.pid, 9)
        with pytest.raises(BridgeEndedError):
            await editor.call_tool("Read", {"filePath": path})
        editor.memory.type(path, 0, "typed ")
        editor.memory.save(path)
        editor.memory.close(path)
        with open(path, encoding="utf-8") as file:  # noqa: ASYNC230  a few bytes
            assert file.read() == "typed one\ntwo 😋x\n"
