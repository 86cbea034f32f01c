"""The in-memory editor and its files: how it reads and writes them, saves by itself, and what it asks its user."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from openbuffer.editor_access.client_requests import disk_hash
from openbuffer.editor_access.memory import EditorHabits, EditorQuestion, MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.editor_access.memory_habits import NEOVIM_HABITS, VSCODE_HABITS
from openbuffer.editor_access.port import EditorAbilities, TextEdit

ASKING = EditorHabits(saves_over="asks")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path.resolve() / "a.txt"
    file.write_bytes(b"one\n")
    return file


def saved(file: Path, data: bytes, habits: EditorHabits, typed: str = "") -> tuple[str, bytes]:
    """What is shown for these bytes, and what is on disk once something was typed in front and saved."""
    file.write_bytes(data)
    editor = MemoryEditor(habits)
    text = editor.open(str(file)).text
    editor.type(str(file), 0, typed)
    editor.write(str(file))
    return text, file.read_bytes()


def only_question(editor: MemoryEditor) -> EditorQuestion:
    (question,) = editor.questions()
    return question


# --- bytes and text --------------------------------------------------------------------------------------------------


@pytest.mark.contract("F6")
@pytest.mark.parametrize("habits", [EditorHabits(), NEOVIM_HABITS, VSCODE_HABITS], ids=["plain", "neovim", "vs code"])
@pytest.mark.parametrize(
    "data",
    [
        b"one\n",
        b"\xef\xbb\xbfone\n",
        "\ufeffé\n".encode("utf-16-le"),
        "\ufeffé\n".encode("utf-16-be"),
        b"a\r\nb\r\n",
        b"",
    ],
    ids=["utf-8", "mark", "utf-16-le", "utf-16-be", "crlf", "empty"],
)
def test_what_is_opened_and_saved_unchanged_keeps_its_bytes(file: Path, data: bytes, habits: EditorHabits) -> None:
    text, after = saved(file, data, habits)
    assert "\ufeff" not in text
    assert after == data


def test_latin_1_is_damaged_by_the_one_and_kept_by_the_other_which_loses_what_it_lacks(file: Path) -> None:
    assert saved(file, b"caf\xe9\n", VSCODE_HABITS) == ("caf\ufffd\n", "caf\ufffd\n".encode())
    assert saved(file, b"caf\xe9\n", NEOVIM_HABITS, "é漢") == ("café\n", b"\xe9\xbfcaf\xe9\n")


def test_half_a_surrogate_pair_is_not_saved_and_neither_file_nor_document_change(file: Path) -> None:
    editor = MemoryEditor(EditorHabits(format_on_save=str.upper))
    editor.open(str(file))
    editor.type(str(file), 0, "\ud800")
    with pytest.raises(UnicodeEncodeError):
        editor.save(str(file))
    assert (editor.buffer(str(file)).text, file.read_bytes()) == ("\ud800one\n", b"one\n")


def test_line_ends_are_made_those_of_the_majority_or_shown_as_others(file: Path) -> None:
    mixed = b"a\r\nb\nc\r\n"
    assert saved(file, mixed, VSCODE_HABITS) == ("a\r\nb\r\nc\r\n", b"a\r\nb\r\nc\r\n")
    assert saved(file, b"a\r\nb\n", VSCODE_HABITS) == ("a\nb\n", b"a\nb\n")
    assert saved(file, b"a\r\nb\r\n", EditorHabits(line_ends="shown_as_lf"), "x\n") == ("a\nb\n", b"x\r\na\r\nb\r\n")
    assert saved(file, mixed, EditorHabits()) == ("a\r\nb\nc\r\n", mixed)


def test_an_empty_file_may_be_shown_as_one_empty_line_and_stays_empty(file: Path) -> None:
    assert saved(file, b"", NEOVIM_HABITS) == ("\n", b"")
    assert saved(file, b"\n", NEOVIM_HABITS) == ("\n", b"\n")
    assert saved(file, b"", NEOVIM_HABITS, "x") == ("\n", b"x\n")


@pytest.mark.parametrize(
    ("final_newline", "shown", "on_disk"),
    [
        ("as_it_is", "a\r\nb", b"a\r\nb"),
        ("added", "a\r\nb\r\n", b"a\r\nb\r\n"),
        ("added_untold", "a\r\nb", b"a\r\nb\r\n"),
    ],
)
def test_a_missing_final_newline_is_added_on_saving_as_a_change_or_behind_everyones_back(
    file: Path, final_newline: str, shown: str, on_disk: bytes
) -> None:
    file.write_bytes(b"a\r\nb")
    editor = MemoryEditor(replace(EditorHabits(), final_newline=final_newline))
    buffer = editor.open(str(file))
    editor.save(str(file))
    assert (buffer.text, buffer.is_dirty, file.read_bytes()) == (shown, False, on_disk)


# --- changes, undo, versions -----------------------------------------------------------------------------------------


def test_redo_makes_again_what_was_undone_until_something_else_is_changed(file: Path) -> None:
    editor, path = MemoryEditor(), str(file)
    buffer = editor.open(path, "abc")
    editor.type(path, 3, "d")
    editor.change(path, [TextEdit(0, 1, "AAA"), TextEdit(2, 3, "")])
    for _ in range(3):
        editor.undo(path)
    assert buffer.text == "abc"
    editor.redo(path)
    assert buffer.text == "abcd"
    editor.redo(path)
    assert buffer.text == "AAAbd"
    editor.undo(path)
    editor.type(path, 0, "!")
    editor.redo(path)
    assert buffer.text == "!abcd"


def test_an_editor_that_counts_keystrokes_still_undoes_what_was_typed_at_once(file: Path) -> None:
    editor, path = MemoryEditor(EditorHabits(first_version=1, counts="keystrokes")), str(file)
    buffer = editor.open(path)
    editor.type(path, 1, "xyz")
    assert (buffer.text, buffer.version) == ("oxyzne\n", 4)
    editor.undo(path)
    assert (buffer.text, buffer.version) == ("one\n", 5)


def test_opening_an_open_file_again_shows_it_as_it_is_and_with_another_text_anew(file: Path) -> None:
    editor, path = MemoryEditor(), str(file)
    first = editor.open(path)
    editor.type(path, 0, "x")
    assert editor.open(path) is first
    second = editor.open(path, "other")
    assert (second.text, editor.buffers()) == ("other", (second,))
    assert second.generation > first.generation


# --- saving ----------------------------------------------------------------------------------------------------------


def test_formatting_on_save_is_a_change_that_can_be_undone(file: Path) -> None:
    editor, path = MemoryEditor(EditorHabits(format_on_save=str.upper)), str(file)
    buffer = editor.open(path)
    editor.type(path, 0, "x")
    assert editor.save(path)
    assert (buffer.text, buffer.is_dirty, file.read_text()) == ("XONE\n", False, "XONE\n")
    editor.undo(path)
    assert (buffer.text, buffer.is_dirty) == ("xone\n", True)


def test_autosave_writes_what_is_dirty_unformatted_and_spares_what_somebody_else_changed(tmp_path: Path) -> None:
    habits = EditorHabits(autosave=True, saves_over="asks", format_on_save=str.upper)
    editor = MemoryEditor(habits)
    paths = [str(tmp_path / name) for name in ("clean", "dirty", "changed")]
    for path in paths:
        Path(path).write_text("text")
        editor.open(path)
    editor.open_unnamed("untitled:1")
    for name in (*paths[1:], "untitled:1"):
        editor.type(name, 0, "my ")
    Path(paths[2]).write_text("theirs")
    assert editor.autosave() == (paths[1],)
    assert [Path(path).read_text() for path in paths] == ["text", "my text", "theirs"]
    assert editor.questions() == ()
    editor.habits = replace(habits, saves_over="overwrites")
    assert editor.autosave() == (paths[2],)
    editor.type(paths[0], 0, "\ud800")
    assert editor.autosave() == ()
    editor.undo(paths[0])
    editor.type(paths[0], 0, "my ")
    editor.habits = replace(habits, autosave=False)
    assert editor.autosave() == ()


@pytest.mark.parametrize(
    ("choice", "shown", "on_disk"),
    [("overwrite", "my one\n", "my one\n"), ("reload", "theirs\n", "theirs\n"), ("cancel", "my one\n", "theirs\n")],
)
def test_saving_over_a_change_of_somebody_else_is_asked_about(
    file: Path, choice: str, shown: str, on_disk: str
) -> None:
    editor, path = MemoryEditor(ASKING), str(file)
    buffer = editor.open(path)
    editor.type(path, 0, "my ")
    file.write_text("theirs\n")
    assert not editor.save(path)
    assert not editor.save(path)
    (question,) = editor.questions()
    assert question.kind == "saving_over"
    editor.answer(question, choice)
    assert (buffer.text, file.read_text(), buffer.is_dirty) == (shown, on_disk, choice == "cancel")
    assert editor.questions() == ()
    with pytest.raises(ValueError, match="not in list"):
        editor.answer(question, choice)


def test_saving_over_a_change_of_somebody_else_may_be_refused_or_just_done(file: Path) -> None:
    path = str(file)
    for habit, on_disk in (("refuses", "theirs\n"), ("overwrites", "one\n")):
        file.write_text("one\n")
        editor = MemoryEditor(replace(EditorHabits(), saves_over=habit))
        editor.open(path)
        file.write_text("theirs\n")
        assert editor.save(path) == (habit == "overwrites")
        assert (file.read_text(), editor.questions()) == (on_disk, ())


def test_a_file_that_is_gone_is_written_again_without_a_question(file: Path) -> None:
    editor, path = MemoryEditor(ASKING), str(file)
    editor.open(path)
    file.unlink()
    editor.check_disk()
    assert editor.save(path)
    assert file.read_text() == "one\n"


# --- changes of somebody else ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reloads", ["changed", "reopened"])
def test_a_clean_document_follows_its_file_when_the_editor_looks(file: Path, reloads: str) -> None:
    editor, path = MemoryEditor(replace(EditorHabits(), reloads=reloads)), str(file)
    first = editor.open(path)
    file.write_text("theirs\n")
    assert editor.buffer(path).text == "one\n"
    editor.check_disk()
    now = editor.buffer(path)
    assert (now.text, now.is_dirty) == ("theirs\n", False)
    assert (now is first) == (reloads == "changed")
    editor.check_disk()
    assert editor.buffer(path) is now


def test_a_dirty_document_is_asked_about_once_for_each_content(file: Path) -> None:
    editor, path = MemoryEditor(), str(file)
    buffer = editor.open(path)
    editor.type(path, 0, "my ")
    file.write_text("theirs\n")
    editor.check_disk()
    editor.check_disk()
    (question,) = editor.questions()
    assert (question.kind, question.buffer) == ("changed_outside", buffer)
    editor.answer(question, "keep")
    editor.check_disk()
    assert (editor.questions(), buffer.text) == ((), "my one\n")
    file.write_text("theirs again\n")
    editor.check_disk()
    editor.answer(only_question(editor), "reload")
    assert (buffer.text, buffer.is_dirty) == ("theirs again\n", False)
    editor.undo(path)
    assert buffer.text == "my one\n"


def test_a_file_that_cannot_be_shown_any_more_leaves_its_document_alone(file: Path) -> None:
    for reloads in ("changed", "reopened"):
        file.write_text("one\n")
        editor = MemoryEditor(replace(EditorHabits(), reloads=reloads))
        buffer = editor.open(str(file))
        file.write_bytes(b"\xff\xff")
        editor.check_disk()
        assert editor.buffers() == (buffer,)
        with pytest.raises(UnicodeDecodeError):
            editor.refresh(str(file))
        assert (editor.buffers(), buffer.text) == ((buffer,), "one\n")


# --- names and closing -----------------------------------------------------------------------------------------------


def test_a_renamed_file_is_another_document_with_the_same_unsaved_text(file: Path) -> None:
    editor, path, other = MemoryEditor(), str(file), str(file.with_name("b.txt"))
    first = editor.open(path)
    editor.type(path, 0, "my ")
    second = editor.rename(path, other)
    assert [buffer.name for buffer in editor.buffers()] == [other]
    assert second.generation > first.generation
    assert (second.text, second.is_dirty, file.exists(), Path(other).read_text()) == ("my one\n", True, False, "one\n")
    editor.undo(other)
    assert (second.text, second.is_dirty) == ("one\n", False)
    assert MemoryEditorAccess(editor).document(other) is not None


def test_nothing_is_renamed_over_another_file_or_document(file: Path) -> None:
    editor, path = MemoryEditor(), str(file)
    editor.open(path)
    other, unsaved = file.with_name("b.txt"), str(file.with_name("c.txt"))
    other.write_text("other")
    editor.open(unsaved, "not on disk")
    for name in (str(other), unsaved):
        with pytest.raises(FileExistsError):
            editor.rename(path, name)
    assert (file.read_text(), other.read_text()) == ("one\n", "other")


def test_an_unnamed_document_gets_a_name_when_it_is_saved(file: Path) -> None:
    editor, path = MemoryEditor(), str(file.with_name("new.txt"))
    editor.open_unnamed("untitled:1", "draft")
    editor.type("untitled:1", 5, "!")
    buffer = editor.save_as("untitled:1", path)
    assert (buffer.is_dirty, Path(path).read_text()) == (False, "draft!")
    assert [b.name for b in editor.buffers()] == [path]


@pytest.mark.parametrize(
    ("choice", "is_open", "on_disk"), [("save", 0, "my one\n"), ("drop", 0, "one\n"), ("cancel", 1, "one\n")]
)
def test_closing_with_unsaved_text_may_be_asked_about(file: Path, choice: str, is_open: int, on_disk: str) -> None:
    editor, path = MemoryEditor(), str(file)
    editor.open(path)
    editor.type(path, 0, "my ")
    assert not editor.close(path, unsaved="asked")
    editor.answer(only_question(editor), choice)
    assert (len(editor.buffers()), file.read_text()) == (is_open, on_disk)


def test_a_document_closes_at_once_when_nothing_is_unsaved_and_takes_its_questions_along(file: Path) -> None:
    editor, path = MemoryEditor(ASKING), str(file)
    editor.open(path)
    assert editor.close(path, unsaved="asked")
    editor.open(path)
    editor.type(path, 0, "my ")
    file.write_text("theirs\n")
    assert not editor.close(path, unsaved="saved")
    editor.check_disk()
    assert [question.kind for question in editor.questions()] == ["saving_over", "changed_outside"]
    assert editor.close(path)
    assert editor.questions() == ()


# --- the port --------------------------------------------------------------------------------------------------------


@pytest.mark.contract("E9", "E10")
async def test_tools_in_the_same_process_flush_save_and_reload(file: Path) -> None:
    editor, path = MemoryEditor(EditorHabits(format_on_save=str.upper, reloads="reopened")), str(file)
    access = MemoryEditorAccess(editor)
    editor.open(path)
    editor.type(path, 0, "my ")
    document = access.document(path)
    assert document is not None
    assert await access.flush(document) == ""
    outcome = await access.save(document, disk_hash=disk_hash(b"one\n"))
    assert (outcome.kind, text_of(file)) == ("done", "MY ONE\n")
    assert outcome.document is not None
    assert (outcome.document, outcome.document.text) == (access.document(path), "MY ONE\n")
    put(file, "theirs\n")
    reloaded = await access.reload(outcome.document, disk_hash=disk_hash(b"theirs\n"))
    assert reloaded.document is not None
    assert (reloaded.kind, reloaded.document.text) == ("done", "theirs\n")
    assert reloaded.document.generation > outcome.document.generation


@pytest.mark.contract("E9")
async def test_tools_in_the_same_process_save_and_reload_nothing_that_is_not_as_they_say(file: Path) -> None:
    editor, path = MemoryEditor(), str(file)
    access = MemoryEditorAccess(editor)
    editor.open(path)
    editor.type(path, 0, "my ")
    document = access.document(path)
    assert document is not None
    put(file, "theirs\n")
    for act in (access.save, access.reload):
        outcome = await act(document, disk_hash=disk_hash(b"one\n"))
        assert (outcome.kind, "holds something else" in outcome.reason) == ("not_done", True)
    plain = MemoryEditorAccess(editor, abilities=EditorAbilities())
    for act in (plain.save, plain.reload):
        assert (await act(document, disk_hash=disk_hash(b"theirs\n"))).kind == "not_done"
    assert await plain.flush(document) != ""
    make_directory_of(file)
    assert (await access.save(document, disk_hash=None)).kind == "not_done"
    assert editor.buffer(path).text == "my one\n"


def text_of(file: Path) -> str:
    return file.read_text()


def put(file: Path, text: str) -> None:
    file.write_text(text)


def make_directory_of(file: Path) -> None:
    file.unlink()
    file.mkdir()
