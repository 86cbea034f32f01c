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
    window.type_at_end("typed_é😋")
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
    window.type_at_end("typed")
    window.wait_for_text(file, "one\ntwo\nthree\ntyped")
    assert window.edit(file, "two", "TWO\n2").success
    window.wait_for_text(file, "one\nTWO\n2\nthree\ntyped")
    assert window.is_dirty(file)
    assert file.read_text() == "one\ntwo\nthree\n"
    window.undo(file)
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
    window.undo(file)
    window.wait_for_text(file, "u4~😋\t<u2~👩‍💻.e\nk0~日u2~👩‍💻.e\nu3~u2~👩‍💻.e")


@pytest.mark.contract("E9", "E11")
def test_typing_on_while_a_document_is_saved_brings_it_in_no_conflict(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    typed = ""
    for number in range(6):
        window.type_at_end(f"before{number}")
        window.press("Control+s")
        window.type(f"after{number}")
        typed += f"before{number}after{number}"
    window.wait_for_text(file, f"one\ntwo\nthree\n{typed}")
    answer = window.edit(file, "two", "TWO")
    assert answer.success, answer
    assert window.text(file) == f"one\nTWO\nthree\n{typed}"


@pytest.mark.contract("E5")
def test_grep_searches_the_disk_and_names_what_is_unsaved(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    window.type_at_end("typed_by_hand")
    window.wait_for_text(file, "one\ntwo\nthree\ntyped_by_hand")
    answer = window.call("Grep", pattern="two|typed", path=str(folder), outputMode="content")
    assert answer.success
    assert "two" in answer.output
    assert "typed_by_hand" not in answer.output
    assert f"open here with text that is not on disk: {file}" in answer.output


@pytest.mark.contract("E1", "E6")
def test_a_file_that_is_not_open_is_written_on_disk_and_not_opened(window: ClientWindow, folder: Path) -> None:
    file = folder / "new" / "b.txt"
    answer = window.write(file, "of the agent\n")
    assert answer.success, answer
    assert file.read_text() == "of the agent\n"
    assert window.document(file) is None
    assert window.js("return vscode.window.tabGroups.all.flatMap((group) => group.tabs).length") == 0


@pytest.mark.contract("E7", "E8")
def test_a_write_of_an_open_document_keeps_what_stays_and_is_one_undo(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    window.caret(file, 2, 5)
    answer = window.write(file, "zero\none\nTWO\nthree\n")
    assert answer.success, answer
    window.wait_for_text(file, "zero\none\nTWO\nthree\n")
    assert file.read_text() == "zero\none\nTWO\nthree\n"
    # The caret is where it was in the text.
    window.type("!")
    window.wait_for_text(file, "zero\none\nTWO\nthree!\n")
    window.press("Control+z", "Control+z")
    window.wait_for_text(file, "one\ntwo\nthree\n")


@pytest.mark.contract("E7", "E12")
def test_edits_that_meet_typing_are_made_or_refused_and_never_over_it(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder, "0\n")
    made = 0
    for number in range(10):
        window.focus(file)
        window.press("Control+End")
        call = window.begin("Edit", filePath=str(file), oldString=f"{made}\n", newString=f"{made + 1}\n")
        window.type(f"t{number}.")
        answer = call.answer()
        made += answer.success
        assert answer.success or "nothing was changed" in answer.error.lower(), answer
    window.wait_for_text(file, f"{made}\n" + "".join(f"t{number}." for number in range(10)))


@pytest.mark.contract("E12")
def test_edits_at_the_same_time_are_all_made(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder, "".join(f"<{number}>\n" for number in range(8)))
    calls = [
        window.begin("Edit", filePath=str(file), oldString=f"<{number}>", newString=f"[{number}]")
        for number in range(8)
    ]
    assert all(call.answer().success for call in calls)
    assert window.text(file) == "".join(f"[{number}]\n" for number in range(8))


@pytest.mark.contract("E11")
def test_a_conflict_is_over_once_the_user_reverts_and_types_on(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder)
    window.type_at_end("typed")
    window.wait_for_text(file, "one\ntwo\nthree\ntyped")
    file.write_text("one\ntwo\nfrom outside\n")
    assert "conflict" in window.edit(file, "two", "TWO").error
    window.command("workbench.action.files.revert")
    window.wait_for_text(file, "one\ntwo\nfrom outside\n")
    window.focus(file)
    window.type_at_end("again")
    window.wait_for_text(file, "one\ntwo\nfrom outside\nagain")
    answer = window.edit(file, "two", "TWO")
    assert answer.success, answer
    assert window.text(file) == "one\nTWO\nfrom outside\nagain"
    assert file.read_text() == "one\ntwo\nfrom outside\n"
