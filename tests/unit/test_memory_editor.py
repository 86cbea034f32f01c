"""The in-memory editor as its user sees it: files, undo, dirty state, versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openbuffer.editor_access import TextEdit
from openbuffer.editor_access.memory import MemoryBuffer, MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path.resolve() / "a.txt"
    file.write_bytes(b"one\r\ntwo\n")
    return str(file)


def test_a_file_is_shown_as_it_is_on_disk_and_saved_byte_for_byte(path: str, tmp_path: Path) -> None:
    editor = MemoryEditor()
    assert editor.open(path).text == "one\r\ntwo\n"
    editor.type(path, 0, "😋")
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\ntwo\n"
    editor.save(path)
    assert (tmp_path / "a.txt").read_bytes() == "😋one\r\ntwo\n".encode()


@pytest.mark.contract("F6")
def test_a_byte_order_mark_is_not_shown_and_stays_on_disk(tmp_path: Path) -> None:
    file = tmp_path / "bom.txt"
    file.write_bytes(b"\xef\xbb\xbfone")
    editor = MemoryEditor()
    assert editor.open(str(file)).text == "one"
    editor.replace(str(file), 0, 3, "two")
    editor.save(str(file))
    assert file.read_bytes() == b"\xef\xbb\xbftwo"


def test_a_file_that_is_not_utf_8_is_refused_rather_than_damaged(tmp_path: Path) -> None:
    file = tmp_path / "latin1.txt"
    file.write_bytes(b"caf\xe9")
    editor = MemoryEditor()
    with pytest.raises(UnicodeDecodeError):
        editor.open(str(file))
    assert editor.buffers() == ()


def test_a_document_is_dirty_while_its_text_differs_from_the_saved_one(path: str) -> None:
    editor = MemoryEditor()
    buffer = editor.open(path)
    assert not buffer.is_dirty
    editor.type(path, 0, "x")
    assert buffer.is_dirty
    editor.undo(path)
    assert not buffer.is_dirty
    editor.type(path, 0, "x")
    editor.save(path)
    assert not buffer.is_dirty


def test_undo_takes_back_one_step_after_the_other_and_counts_as_a_change(path: str) -> None:
    editor = MemoryEditor()
    buffer = editor.open(path, "abc", version=4)
    editor.change(path, [TextEdit(0, 1, "AAA"), TextEdit(2, 3, "")])
    editor.type(path, 4, "!")
    assert (buffer.text, buffer.version) == ("AAAb!", 6)
    editor.undo(path)
    assert buffer.text == "AAAb"
    editor.undo(path)
    assert (buffer.text, buffer.version) == ("abc", 8)
    editor.undo(path)
    assert (buffer.text, buffer.version) == ("abc", 8)


def test_reverting_takes_the_disk_and_can_be_undone(path: str, tmp_path: Path) -> None:
    editor = MemoryEditor()
    buffer = editor.open(path)
    editor.type(path, 0, "mine ")
    (tmp_path / "a.txt").write_text("theirs\n")
    editor.revert(path)
    assert (buffer.text, buffer.is_dirty) == ("theirs\n", False)
    editor.undo(path)
    assert buffer.text == "mine one\r\ntwo\n"


def test_reloading_starts_a_new_generation(path: str) -> None:
    editor = MemoryEditor()
    first = editor.open(path)
    editor.type(path, 0, "lost ")
    second = editor.reload(path)
    assert (second.text, second.version, second.undo_steps) == ("one\r\ntwo\n", 0, [])
    assert second.generation > first.generation


def test_an_unnamed_buffer_has_no_file_and_stays_apart(tmp_path: Path) -> None:
    editor = MemoryEditor()
    buffer = editor.open_unnamed("untitled:1", "draft")
    editor.type("untitled:1", 5, "!")
    editor.save("untitled:1")
    editor.revert("untitled:1")
    assert (buffer.text, buffer.is_dirty) == ("draft!", True)
    assert MemoryEditorAccess(editor).unsaved_under("/") == ()
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_open_cannot_be_changed(path: str) -> None:
    editor = MemoryEditor()
    for act in (editor.save, editor.undo, editor.close, editor.reload, editor.revert, editor.buffer):
        with pytest.raises(KeyError):
            act(path)


def test_listeners_hear_everything_in_its_order(path: str) -> None:
    heard: list[tuple[object, ...]] = []

    class Listener:
        def opened(self, buffer: MemoryBuffer) -> None:
            heard.append(("opened", buffer.text))

        def changed(self, buffer: MemoryBuffer, before: str, edits: Sequence[TextEdit]) -> None:
            heard.append(("changed", before, tuple(edits), buffer.text))

        def saved(self, buffer: MemoryBuffer) -> None:
            heard.append(("saved", buffer.text))

        def closed(self, buffer: MemoryBuffer) -> None:
            heard.append(("closed", buffer.text))

    editor = MemoryEditor()
    editor.listen(Listener())
    editor.open(path, "ab")
    editor.type(path, 1, "x")
    editor.save(path)
    editor.undo(path)
    editor.close(path)
    assert heard == [
        ("opened", "ab"),
        ("changed", "ab", (TextEdit(1, 1, "x"),), "axb"),
        ("saved", "axb"),
        ("changed", "axb", (TextEdit(1, 2, ""),), "ab"),
        ("closed", "ab"),
    ]
