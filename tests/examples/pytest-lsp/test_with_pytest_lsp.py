"""The tools see and change what the editor shows, and not what is on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Editor


async def test_what_was_typed_is_read_before_it_is_saved(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("apples\n")
    uri = editor.open(path)
    editor.type(uri, "apples\npears 🍐\n")
    answer = await editor.call_tool("Read", filePath="notes.txt")
    assert not answer["isError"]
    assert "2\tpears 🍐" in answer["data"]["output"]


async def test_an_edit_lands_in_the_document_and_leaves_the_file_alone(editor: Editor, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("apples\n")
    uri = editor.open(path)
    editor.type(uri, "apples\n🍐 pears\n")
    answer = await editor.call_tool("Edit", filePath="notes.txt", oldString="pears", newString="plums")
    assert not answer["isError"], answer
    assert editor.texts[uri] == "apples\n🍐 plums\n"
    assert path.read_text() == "apples\n"


async def test_what_goes_wrong_is_an_answer_that_says_what_to_do(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("apples\n")
    answer = await editor.call_tool("Edit", filePath="notes.txt", oldString="cherries", newString="plums")
    assert answer["isError"]
    assert "oldString" in answer["data"]["error"]
