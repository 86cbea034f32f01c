"""Real VS Code with the extension: what Read, Edit, Write and Grep do with documents that are open, saved or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .client_window import ClientWindow

pytestmark = [pytest.mark.vscode, pytest.mark.contract("B4")]


def opened(window: ClientWindow, folder: Path, text: str = "one\ntwo\nthree\n", name: str = "a.txt") -> Path:
    file = folder / name
    file.write_bytes(text.encode())
    window.show(file)
    return file


@pytest.mark.contract("E1", "E6", "E10")
def test_read_shows_what_was_typed_and_not_saved(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    window.press("Control+End")
    window.type("typed_é😋")
    answer = window.read(file)
    assert answer.success
    assert "typed_é😋" in answer.output
    assert "unsaved" in answer.output
    assert file.read_text() == "one\ntwo\nthree\n"


@pytest.mark.contract("E1", "E8", "E9")
def test_an_edit_over_unsaved_text_lands_in_the_editor_and_one_undo_takes_it_back(
    window: ClientWindow, folder: Path
) -> None:
    file = opened(window, folder)
    window.press("Control+End")
    window.type("typed")
    window.wait_for_text(file, "one\ntwo\nthree\ntyped")
    assert window.edit(file, "two", "TWO\n2").success
    window.wait_for_text(file, "one\nTWO\n2\nthree\ntyped")
    assert window.is_dirty(file)
    assert file.read_text() == "one\ntwo\nthree\n"
    window.focus(file)
    window.press("Control+z")
    window.wait_for_text(file, "one\ntwo\nthree\ntyped")


@pytest.mark.contract("E9")
def test_an_edit_of_a_clean_document_is_saved(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    answer = window.edit(file, "two", "TWO")
    assert answer.success, answer
    window.wait_for_text(file, "one\nTWO\nthree\n")
    assert not window.is_dirty(file)
    assert file.read_text() == "one\nTWO\nthree\n"


@pytest.mark.contract("E7", "E8")
def test_characters_beyond_the_first_plane_are_whole_after_an_edit_that_the_editor_cuts_into_smaller_ones(
    window: ClientWindow, folder: Path
) -> None:
    file = opened(window, folder, "u4~😋\t<u2~👩‍💻.e\nk0~日u2~👩‍💻.e\nu3~u2~👩‍💻.e")
    content = "a1~\nk0~日\n😋\n👩‍💻a<\n"
    answer = window.write(file, content)
    assert answer.success, answer
    assert window.text(file) == content
    assert file.read_text() == content
    window.focus(file)
    window.press("Control+z")
    window.wait_for_text(file, "u4~😋\t<u2~👩‍💻.e\nk0~日u2~👩‍💻.e\nu3~u2~👩‍💻.e")
