"""Real Neovim, no plugin: Edit and Write land in the buffer, as small as they are, and nowhere else."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from .neovim import Neovim, editor_in, folder_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.editor
_numbers = itertools.count(1)
HUNDRED = "".join(f"line {number}\n" for number in range(1, 101))


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    yield from editor_in(tmp_path_factory.mktemp("nvim"))


@pytest.fixture
def folder(editor: Neovim) -> Iterator[Path]:
    yield from folder_in(editor, editor.root / f"edit{next(_numbers)}")


@pytest.mark.contract("B4", "E1", "E7", "F5")
def test_an_edit_lands_beside_the_users_unsaved_line_and_not_on_disk(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_bytes(b"a\nb\nc\n")
    editor.open(file)
    editor.type("GccC-user<Esc>")
    answer = editor.edit(file, "a", "A")
    assert answer.success, answer
    assert answer.data["startLine"] == 1
    assert editor.lines() == ["A", "b", "C-user"]
    assert editor.modified()
    assert file.read_bytes() == b"a\nb\nc\n"
    editor.type(":w<CR>")
    assert file.read_bytes() == b"A\nb\nC-user\n"
    assert not editor.modified()


@pytest.mark.contract("B4", "E7")
def test_the_result_says_that_the_change_is_in_the_open_document_and_not_saved(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_bytes(b"a\nb\n")
    editor.open(file)
    for answer in (editor.edit(file, "a", "A"), editor.write(file, "A\nB\n")):
        assert answer.success, answer
        assert str(file) in answer.output
        assert "open document" in answer.output
        assert "nothing was saved to disk" in answer.output


@pytest.mark.contract("B4", "E8")
def test_one_undo_takes_an_edit_back_and_leaves_the_users_own_change(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("x 1\nkeep\nx 2\nkeep\nx 3\n")
    editor.open(file)
    editor.type("2Gccmine<Esc>")
    assert editor.edit(file, "x", "why", replaceAll=True).success
    assert editor.lines() == ["why 1", "mine", "why 2", "keep", "why 3"]
    editor.type("u")
    assert editor.lines() == ["x 1", "mine", "x 2", "keep", "x 3"]
    editor.type("u")
    assert editor.lines() == ["x 1", "keep", "x 2", "keep", "x 3"]
    editor.type("2<C-r>")
    assert editor.lines() == ["why 1", "mine", "why 2", "keep", "why 3"]


@pytest.mark.contract("B4", "E8")
def test_cursor_marks_extmarks_and_folds_stay_on_their_text(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text(HUNDRED)
    editor.open(file)
    editor.type("90Gma60G5l")  # a mark on line 90, the cursor in line 60
    editor.command("setlocal foldmethod=manual | 30,40fold")
    mark = _extmark(editor, row=79, column=3)
    answer = editor.edit(file, "line 10\n", "line 10\none\ntwo\nthree\n")
    assert answer.success, answer
    assert editor.lines()[9:14] == ["line 10", "one", "two", "three", "line 11"]
    assert _on(editor, "getpos('.')") == ("line 60", 6)
    assert _on(editor, 'getpos("\'a")')[0] == "line 90"
    assert _extmark_at(editor, mark) == [82, 3]
    assert editor.api("nvim_eval", "[foldclosed(33), foldclosedend(33)]") == [33, 43]


@pytest.mark.contract("B4", "E8", "F3")
def test_write_changes_only_the_lines_that_differ(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text(HUNDRED)
    editor.open(file)
    editor.type("90Gma60G5l")
    mark = _extmark(editor, row=79, column=3)
    answer = editor.write(file, HUNDRED.replace("line 20\n", "").replace("line 95\n", "line ninety-five\n"))
    assert answer.success, answer
    assert len(editor.lines()) == 99
    assert editor.lines()[93] == "line ninety-five"
    assert _on(editor, "getpos('.')") == ("line 60", 6)
    assert _on(editor, 'getpos("\'a")')[0] == "line 90"
    assert _extmark_at(editor, mark) == [78, 3]
    assert file.read_text() == HUNDRED
    editor.type("u")
    assert editor.lines() == HUNDRED.splitlines()


@pytest.mark.contract("B4", "E6", "F3", "F4")
def test_write_to_a_file_that_is_not_open_goes_to_disk_and_e_shows_it(editor: Neovim, folder: Path) -> None:
    file = folder / "new" / "deep er" / "é.txt"
    answer = editor.write(file, "created é\n")
    assert answer.success, answer
    assert file.read_bytes() == "created é\n".encode()
    assert [name for name in _buffer_names(editor) if name] == []
    editor.open(file)
    assert editor.lines() == ["created é"]
    assert [child.name for child in file.parent.iterdir()] == ["é.txt"]


@pytest.mark.contract("B4", "E2", "E6")
def test_a_closed_file_is_edited_on_disk_and_an_open_one_in_the_editor(editor: Neovim, folder: Path) -> None:
    closed, opened = folder / "closed.txt", folder / "open.txt"
    closed.write_text("x\n")
    opened.write_text("x\n")
    editor.open(opened)
    assert editor.edit(closed, "x", "y").success
    assert editor.edit(opened, "x", "y").success
    assert (closed.read_text(), opened.read_text()) == ("y\n", "x\n")
    assert editor.lines() == ["y"]
    assert _buffer_names(editor) == [str(opened)]


@pytest.mark.contract("B4", "E6", "F3")
def test_write_to_a_new_buffer_that_has_no_file_yet_lands_in_the_buffer(editor: Neovim, folder: Path) -> None:
    file = folder / "not-yet.txt"
    editor.open(file)
    answer = editor.write(file, "first\nsecond\n")
    assert answer.success, answer
    assert editor.lines() == ["first", "second"]
    assert not file.exists()
    editor.type(":w<CR>")
    assert file.read_bytes() == b"first\nsecond\n"


@pytest.mark.contract("B4", "E7")
def test_a_buffer_that_cannot_be_modified_refuses_with_the_reason(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\n")
    editor.open(file)
    editor.command("setlocal nomodifiable")
    for answer in (editor.edit(file, "a", "A"), editor.write(file, "x\n")):
        assert not answer.is_hard_error
        assert not answer.success
        assert str(file) in answer.error
        assert "modifiable" in answer.error
    assert editor.lines() == ["a", "b"]
    assert file.read_text() == "a\nb\n"
    editor.command("setlocal modifiable")
    assert editor.edit(file, "a", "A").success
    assert editor.lines() == ["A", "b"]


@pytest.mark.contract("B4", "F5")
def test_failures_about_the_unsaved_text_say_what_is_there(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("only on disk\n")
    editor.open(file)
    editor.type("cctwice<Esc>otwice<Esc>")
    missing = editor.edit(file, "only on disk", "x")
    double = editor.edit(file, "twice", "x")
    same = editor.edit(file, "twice", "twice")
    assert [answer.success for answer in (missing, double, same)] == [False] * 3
    assert [answer.is_hard_error for answer in (missing, double)] == [False] * 2
    assert str(file) in missing.error
    assert "1" in double.error
    assert "2" in double.error
    assert len({missing.error, double.error, same.error}) == 3
    assert editor.lines() == ["twice", "twice"]


@pytest.mark.contract("B4", "F5")
def test_new_text_is_taken_literally(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("before\n\there = OLD;  \nafter\n")
    editor.open(file)
    literal = r"$& $` $$ \1 \g<0> \n &lt; ${1:x} $0 %s" + "\t“q” <CR>"
    assert editor.edit(file, "OLD", literal).success
    assert editor.lines() == ["before", f"\there = {literal};  ", "after"]
    editor.type(":w<CR>")
    assert file.read_bytes() == f"before\n\there = {literal};  \nafter\n".encode()


@pytest.mark.contract("B4", "E7")
def test_edits_follow_each_other_without_a_read_in_between(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("0\n")
    editor.open(file)
    for number in range(6):
        answer = editor.edit(file, f"{number}\n", f"{number + 1}\nline {number}\n")
        assert answer.success, (number, answer)
    assert editor.lines() == ["6", *(f"line {number}" for number in reversed(range(6)))]
    for _ in range(6):
        editor.type("u")
    assert editor.lines() == ["0"]


@pytest.mark.contract("B4", "E7")
def test_an_edit_that_undoes_the_one_before_lands_too(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\n")
    editor.open(file)
    for old, new in (("a", "b"), ("b", "a"), ("a", "b")):
        assert editor.edit(file, old, new).success
    assert editor.lines() == ["b"]


@pytest.mark.contract("B4", "E1", "E7")
def test_a_user_who_undoes_the_edit_is_believed(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\n")
    editor.open(file)
    assert editor.edit(file, "a", "A").success
    editor.type("u")
    assert "1\ta" in editor.read(file).output
    assert editor.edit(file, "a", "Z").success
    assert editor.lines() == ["Z", "b"]


@pytest.mark.contract("B4", "E6")
def test_a_readonly_buffer_takes_the_edit_as_the_editor_allows(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\n")
    editor.open(file)
    editor.command("setlocal readonly")
    answer = editor.edit(file, "a", "A")
    assert answer.success == (editor.lines() == ["A"]), answer
    assert file.read_text() == "a\n"


@pytest.mark.contract("B4", "E6")
def test_a_client_that_vim_lsp_enable_started_sees_a_reload_as_well(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    file = root / "a.txt"
    file.write_text("a\n")
    with Neovim(tmp_path / "home", root) as editor:
        editor.command("autocmd! BufReadPost,BufNewFile,BufWritePost")
        editor.lua(
            "local command, root = ... vim.lsp.config('openbuffer', { cmd = command, root_dir = root })"
            " vim.lsp.enable('openbuffer') vim.cmd('filetype on')",
            list(editor.server),
            str(root),
        )
        editor.open(file)
        assert editor.edit(file, "a", "A").success
        editor.command("edit!")
        assert editor.lines() == ["a"]
        assert editor.edit(file, "a", "B").success
        assert editor.lines() == ["B"]


def _extmark(editor: Neovim, *, row: int, column: int) -> int:
    namespace = editor.api("nvim_create_namespace", "test")
    mark: int = editor.api("nvim_buf_set_extmark", 0, namespace, row, column, {})
    return mark


def _extmark_at(editor: Neovim, mark: int) -> Any:
    return editor.api("nvim_buf_get_extmark_by_id", 0, editor.api("nvim_create_namespace", "test"), mark, {})


def _on(editor: Neovim, position: str) -> tuple[str, int]:
    """The text of the line of a position, and its column."""
    where: list[int] = editor.api("nvim_eval", position)
    _, line, column, _ = where
    return editor.lines()[line - 1], column


def _buffer_names(editor: Neovim) -> list[str]:
    return editor.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
