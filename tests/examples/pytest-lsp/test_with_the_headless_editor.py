"""The same with openbuffer's own headless editor, which needs no pytest-lsp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openbuffer.bridge.headless import open_headless

if TYPE_CHECKING:
    from pathlib import Path


async def test_an_edit_lands_in_the_document_and_its_user_can_undo_it(tmp_path: Path) -> None:
    path = str(tmp_path / "notes.txt")
    (tmp_path / "notes.txt").write_text("apples\n")
    async with open_headless(tmp_path) as editor:
        editor.memory.open(path)
        editor.memory.type(path, 0, "pears\n")
        answer = await editor.call_tool("Edit", {"filePath": path, "oldString": "pears", "newString": "plums"})
        assert not answer.is_error, answer.output
        assert editor.memory.buffer(path).text == "plums\napples\n"
        editor.memory.undo(path)
        assert editor.memory.buffer(path).text == "pears\napples\n"
