"""Real Neovim, no plugin: a buffer and its file that went apart, and which of the two the tools take for the truth."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from .neovim import Answer, Neovim, editor_in, folder_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.editor, pytest.mark.contract("E11")]
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    yield from editor_in(tmp_path_factory.mktemp("nvim"))


@pytest.fixture
def folder(editor: Neovim) -> Iterator[Path]:
    editor.command("set noautoread")
    yield from folder_in(editor, editor.root / f"truth{next(_numbers)}")
    editor.command("set autoread")


def opened(editor: Neovim, folder: Path, text: str = "a\nb\nc\n") -> Path:
    """A file that is open, and known to be what the buffer shows."""
    file = folder / "a.txt"
    file.write_text(text)
    editor.open(file)
    assert "nothing unsaved" in editor.read(file).output
    return file


def lines_of(answer: Answer) -> list[str]:
    assert answer.success, answer
    return [line.strip() for line in answer.output.splitlines() if "\t" in line]


def test_a_command_rewrites_a_clean_file_and_the_next_read_and_edit_use_the_new_bytes(
    editor: Neovim, folder: Path
) -> None:
    file = opened(editor, folder)
    file.write_text("x\ny\nz\n")
    read = editor.read(file)
    assert lines_of(read) == ["1\tx", "2\ty", "3\tz"]
    assert "on disk, changed there; the open document still shows older text" in read.output
    edited = editor.edit(file, "y", "Y")
    assert edited.success, edited
    assert "still shows older text until the editor reloads it" in edited.output
    assert file.read_text() == "x\nY\nz\n"
    assert (editor.lines(), editor.modified()) == (["a", "b", "c"], False)


@pytest.mark.parametrize("how", ["checktime", "edit!"])
def test_once_it_is_reloaded_the_buffer_is_edited_again(editor: Neovim, folder: Path, how: str) -> None:
    file = opened(editor, folder)
    file.write_text("x\ny\nz\n")
    assert editor.edit(file, "y", "Y").success
    editor.command("set autoread")
    editor.command(how)
    assert editor.lines() == ["x", "Y", "z"]
    assert "nothing unsaved" in editor.read(file).output
    assert "in the open document" in editor.edit(file, "z", "Z").output
    assert (editor.lines(), file.read_text()) == (["x", "Y", "Z"], "x\nY\nz\n")


@pytest.mark.parametrize(
    ("resolve", "shown"),
    [("write!", ["a", "b", "C-user"]), ("edit!", ["x", "y", "z"])],
)
@pytest.mark.parametrize("first", ["user", "command"])
def test_both_changed_is_a_conflict_until_the_user_saves_or_reverts(
    editor: Neovim, folder: Path, resolve: str, shown: list[str], first: str
) -> None:
    file = opened(editor, folder)
    if first == "command":
        file.write_text("x\ny\nz\n")
    editor.type("GccC-user<Esc>")
    read = editor.read(file)
    if first == "user":
        assert "unsaved changes of the user" in read.output
        file.write_text("x\ny\nz\n")
        read = editor.read(file)
    assert lines_of(read) == ["1\ta", "2\tb", "3\tC-user"]
    assert "in conflict with the disk" in read.output
    for refused in (editor.edit(file, "a", "A"), editor.write(file, "agent\n")):
        assert "conflict" in refused.error
        assert "Nothing was changed" in refused.error
    assert (editor.lines(), file.read_text()) == (["a", "b", "C-user"], "x\ny\nz\n")
    editor.command(resolve)
    assert "nothing unsaved" in editor.read(file).output
    assert editor.edit(file, shown[0], "agent").success
    assert editor.lines() == ["agent", *shown[1:]]


def test_a_buffer_that_was_never_like_its_file_is_read_and_not_changed(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\nc\n")
    # The client attaches to a buffer that holds something else already, as after a recovery from a swap file.
    editor.lua(
        """
        vim.opt.eventignore = 'all'
        vim.cmd.edit(vim.fn.fnameescape(...))
        vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'recovered' })
        vim.opt.eventignore = ''
        vim.lsp.buf_attach_client(0, vim.lsp.get_clients({ name = 'openbuffer' })[1].id)
        """,
        str(file),
    )
    read = editor.read(file)
    assert lines_of(read) == ["1\trecovered"]
    assert "was opened with other text than is on disk" in read.output
    assert "Nothing was changed" in editor.edit(file, "recovered", "x").error
    assert (editor.lines(), file.read_text()) == (["recovered"], "a\nb\nc\n")
    editor.command("write!")
    assert editor.edit(file, "recovered", "x").success
    assert (editor.lines(), file.read_text()) == (["x"], "recovered\n")


def test_whose_the_unsaved_text_is(editor: Neovim, folder: Path) -> None:
    file = opened(editor, folder)
    assert editor.edit(file, "a", "A").success
    assert editor.edit(file, "b", "B").success
    assert "unsaved: the agent's own edits" in editor.read(file).output
    editor.type("GccC-user<Esc>")
    assert "unsaved changes of the user" in editor.read(file).output
    editor.command("write")
    assert "nothing unsaved" in editor.read(file).output
    assert editor.edit(file, "A", "a").success
    assert "unsaved: the agent's own edits" in editor.read(file).output


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (b"a\r\nb\r\n", ""),
        (b"\xef\xbb\xbfa\nb\n", ""),
        (b"a\nb", ""),
        (b"", ""),
        ("naïve\n".encode("latin-1"), ""),
        ("\ufeffaß\n".encode("utf-16-le"), ""),
        ("日本\n".encode("cp932"), "++enc=cp932"),
        (b"a\r\nb\nc\r\n", ""),
    ],
    ids=["CRLF", "byte-order mark", "no final newline", "empty", "Latin-1", "UTF-16", "Shift-JIS", "mixed line ends"],
)
def test_what_neovim_normalises_is_no_difference(editor: Neovim, folder: Path, data: bytes, options: str) -> None:
    file = folder / "a.txt"
    file.write_bytes(data)
    editor.open(file, options)
    assert "nothing unsaved" in editor.read(file).output
    editor.type("Otyped<Esc>")
    assert "unsaved changes of the user" in editor.read(file).output
    editor.command("write")
    assert "nothing unsaved" in editor.read(file).output
    assert editor.edit(file, "typed", "agent").success


def test_a_clean_buffer_whose_file_was_deleted_is_no_file(editor: Neovim, folder: Path) -> None:
    file = opened(editor, folder)
    file.unlink()
    assert "the open document still shows its old text" in editor.read(file).error
    assert editor.lines() == ["a", "b", "c"]
    editor.command("write!")
    assert "nothing unsaved" in editor.read(file).output


@pytest.mark.contract("F11")
def test_a_file_with_unsaved_changes_is_not_deleted_and_a_clean_one_can_be_brought_back(
    editor: Neovim, folder: Path
) -> None:
    file = opened(editor, folder)
    editor.type("ggA-user<Esc>")
    refused = editor.call("Delete", {"path": str(file)})
    assert "the open document has unsaved changes of the user" in refused.error
    assert file.read_text() == "a\nb\nc\n"
    editor.command("write")
    deleted = editor.call("Delete", {"path": str(file)})
    assert "saving the document there would bring the file back" in deleted.output
    assert not file.exists()
    assert editor.lines() == ["a-user", "b", "c"]
    assert "the open document still shows its old text" in editor.read(file).error
    editor.command("write!")
    assert "nothing unsaved" in editor.read(file).output
    assert file.read_text() == "a-user\nb\nc\n"
