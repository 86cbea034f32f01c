"""Real Neovim, no plugin: what Read sees is what the user sees."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .neovim import Neovim, editor_in, folder_in

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.editor
_numbers = itertools.count(1)
ATTACH = "vim.lsp.buf_attach_client(0, vim.lsp.get_clients({ name = 'openbuffer' })[1].id)"


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    yield from editor_in(tmp_path_factory.mktemp("nvim"))


@pytest.fixture
def folder(editor: Neovim) -> Iterator[Path]:
    yield from folder_in(editor, editor.root / f"read{next(_numbers)}")


def shown(editor: Neovim, path: Path | str) -> list[str]:
    """The numbered lines of a Read, without the header."""
    answer = editor.read(path)
    assert answer.success, answer
    return [line.strip() for line in answer.output.splitlines() if "\t" in line]


@pytest.mark.contract("B4", "E1", "E6")
def test_an_unsaved_line_is_read_and_the_disk_stays_as_it_was(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\nc\n")
    editor.open(file)
    editor.type("GccC-user<Esc>")
    assert shown(editor, file) == ["1\ta", "2\tb", "3\tC-user"]
    assert file.read_text() == "a\nb\nc\n"
    assert editor.modified()


@pytest.mark.contract("B4", "E6")
def test_what_was_typed_in_the_same_moment_is_read(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\nc\n")
    editor.open(file)
    shown(editor, file)  # the first change after an opening waits for the client's debounce
    for round_ in range(5):
        # Typing and the request share one turn of the editor's loop: no debounce can have run out in between.
        call = editor.type_then_begin(f"Gcctyped {round_}<Esc>", "Read", {"filePath": str(file)})
        assert f"3\ttyped {round_}" in call.answer().output


@pytest.mark.contract("B4", "E6")
def test_a_user_who_is_still_in_insert_mode_is_read_too(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\n")
    editor.open(file)
    editor.type("ohalf a wor")
    assert shown(editor, file) == ["1\ta", "2\thalf a wor"]
    editor.type("d<Esc>")
    assert shown(editor, file) == ["1\ta", "2\thalf a word"]


@pytest.mark.contract("B1", "B4")
def test_execute_command_gives_the_same_answers_as_the_requests(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("on disk\n")
    editor.open(file)
    editor.type("ccunsaved<Esc>")
    call = {"name": "Read", "arguments": {"filePath": str(file)}}
    by_command = editor.request("workspace/executeCommand", {"command": "openbuffer.callTool", "arguments": [call]})
    assert by_command.result() == editor.request("openbuffer/callTool", call).result()
    listed = editor.request("workspace/executeCommand", {"command": "openbuffer.listTools", "arguments": []}).result()
    assert listed == editor.request("openbuffer/listTools", {}).result()
    assert {"Read", "Write", "Edit", "Delete"} <= {tool["name"] for tool in listed["tools"]}


@pytest.mark.contract("B1", "B4")
def test_an_empty_lua_table_is_taken_as_no_parameters(editor: Neovim) -> None:
    number, reply = editor.expect_answer()
    editor.lua(
        """
        local number = ...
        vim.lsp.get_clients({ name = 'openbuffer' })[1]:request('openbuffer/listTools', {}, function(err, result)
          vim.rpcnotify(vim.g.harness_channel, 'answer', number, err or vim.NIL, result or vim.NIL)
        end)
        """,
        number,
    )
    error, result = reply.result(30)
    assert error is None
    assert result["tools"]


@pytest.mark.contract("B1", "B3", "B4")
def test_a_call_with_an_empty_lua_table_as_arguments_names_what_is_missing(editor: Neovim) -> None:
    number, reply = editor.expect_answer()
    editor.lua(
        """
        local number = ...
        local client = vim.lsp.get_clients({ name = 'openbuffer' })[1]
        client:request('openbuffer/callTool', { name = 'Read', arguments = {} }, function(err, result)
          vim.rpcnotify(vim.g.harness_channel, 'answer', number, err or vim.NIL, result or vim.NIL)
        end)
        """,
        number,
    )
    error, result = reply.result(30)
    assert error is None
    assert result["isError"]
    assert "filePath" in result["error"]["message"]


@pytest.mark.contract("B4", "E6")
def test_reloading_with_e_bang_gives_the_text_of_the_disk_again(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\n")
    editor.open(file)
    editor.type("ggccnever saved<Esc>")
    assert shown(editor, file) == ["1\tnever saved", "2\tb"]
    editor.command("edit!")
    assert shown(editor, file) == ["1\ta", "2\tb"]
    assert editor.edit(file, "b", "B").success
    assert editor.lines() == ["a", "B"]


@pytest.mark.contract("B4", "E6")
def test_a_wiped_buffer_is_read_from_disk(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("disk\n")
    editor.open(file)
    editor.type("ccunsaved<Esc>")
    assert shown(editor, file) == ["1\tunsaved"]
    editor.command("bwipeout!")
    assert shown(editor, file) == ["1\tdisk"]


@pytest.mark.contract("B4", "E6")
def test_a_hidden_buffer_with_unsaved_text_is_read(editor: Neovim, folder: Path) -> None:
    first, second = folder / "a.txt", folder / "b.txt"
    first.write_text("disk\n")
    second.write_text("other\n")
    editor.open(first)
    editor.type("ccunsaved<Esc>")
    shown(editor, first)  # a request tells the server what was typed in the current buffer only
    editor.open(second)
    assert shown(editor, first) == ["1\tunsaved"]
    assert editor.edit(first, "unsaved", "edited while hidden").success
    assert shown(editor, first) == ["1\tedited while hidden"]
    assert first.read_text() == "disk\n"


@pytest.mark.contract("B4", "E6")
def test_an_unnamed_buffer_becomes_a_document_when_it_is_written(editor: Neovim, folder: Path) -> None:
    file = folder / "new.txt"
    editor.command("enew")
    editor.type("ifirst<Esc>")
    editor.lua("vim.cmd.write(...)", str(file))
    editor.type("osecond, unsaved<Esc>")
    assert shown(editor, file) == ["1\tfirst", "2\tsecond, unsaved"]
    assert file.read_text() == "first\n"


@pytest.mark.contract("B4", "E1", "E6")
def test_a_document_whose_opening_was_never_told_is_refused_until_it_is_opened_again(
    editor: Neovim, folder: Path
) -> None:
    file = folder / "new.txt"
    editor.command("enew")
    editor.lua(ATTACH)  # an unnamed buffer that is attached gets its name without a didOpen
    editor.type("ifirst<Esc>")
    editor.lua("vim.cmd.write(...)", str(file))
    editor.type("osecond, unsaved<Esc>")
    for answer in (editor.read(file), editor.edit(file, "first", "1st"), editor.write(file, "x\n")):
        assert not answer.success
        assert not answer.is_hard_error
        assert str(file) in answer.error
        assert "open" in answer.error
    assert editor.lines() == ["first", "second, unsaved"]
    assert file.read_text() == "first\n"
    editor.type(":w<CR>")
    editor.command("edit")
    assert editor.edit(file, "first", "1st").success
    assert editor.lines() == ["1st", "second, unsaved"]


@pytest.mark.contract("B4", "E6")
def test_a_buffer_saved_under_another_name_is_read_there_and_no_longer_at_the_old_one(
    editor: Neovim, folder: Path
) -> None:
    old, new = folder / "old.txt", folder / "new.txt"
    old.write_text("old\n")
    editor.open(old)
    shown(editor, old)
    editor.lua("vim.cmd.saveas(...)", str(new))
    editor.type("ccunsaved under the new name<Esc>")
    assert shown(editor, new) == ["1\tunsaved under the new name"]
    assert shown(editor, old) == ["1\told"]


@pytest.mark.contract("B4", "E1", "P2")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_opened_through_a_link_is_one_document(editor: Neovim, folder: Path, what: str) -> None:
    real = folder / "real"
    real.mkdir()
    (real / "a.txt").write_text("disk\n")
    if what == "file":
        link = folder / "link.txt"
        link.symlink_to(Path("real") / "a.txt")
    else:
        (folder / "linked").symlink_to("real")
        link = folder / "linked" / "a.txt"
    editor.open(link)
    editor.type("ccunsaved<Esc>")
    assert shown(editor, link) == shown(editor, real / "a.txt") == ["1\tunsaved"]
    assert editor.edit(link, "unsaved", "edited").success
    assert editor.lines() == ["edited"]
    editor.type(":w<CR>")
    assert (real / "a.txt").read_text() == "edited\n"
    assert (folder / "linked").is_symlink() if what == "folder" else link.is_symlink()


NAMES = [
    "with blank.txt",
    "per%20cent%41.txt",
    "hash#tag?.txt",
    "é ü 日本.txt",
    "e\u0301.txt",
    "brackets[...slug] *.txt",
    "😋&=+;@.txt",
    "it's $HOME `x` \\ back.txt",
]


@pytest.mark.contract("B4", "E6")
@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_one_document(editor: Neovim, folder: Path, name: str) -> None:
    file = folder / name
    file.write_text("disk\n")
    editor.open(file)
    assert editor.api("nvim_buf_get_name", 0) == str(file)
    editor.type("ccunsaved<Esc>")
    assert shown(editor, file) == ["1\tunsaved"]
    assert editor.edit(file, "unsaved", "edited").success
    assert editor.lines() == ["edited"]
    assert file.read_text() == "disk\n"


@pytest.mark.contract("B3", "B4")
def test_unnamed_help_and_terminal_buffers_do_not_disturb(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\n")
    editor.open(file)
    for line in ("enew", "help", "enew | terminal true"):
        editor.command(line)
        editor.lua(ATTACH)
    assert shown(editor, file) == ["1\ta"]
    assert editor.edit(file, "a", "A").success
    assert shown(editor, file) == ["1\tA"]


@pytest.mark.contract("B4", "E6")
def test_a_byte_order_mark_is_not_shown(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_bytes(b"\xef\xbb\xbffirst\n")
    editor.open(file)
    editor.type("osecond<Esc>")
    assert shown(editor, file) == ["1\tfirst", "2\tsecond"]


@pytest.mark.contract("B4", "E1", "E6")
@pytest.mark.parametrize("disk", [b"a\rb\nx\ny\n", b"a\rb\rc\r"], ids=["among newlines", "alone"])
def test_typing_below_a_lone_carriage_return_is_read_right_or_refused(
    editor: Neovim, folder: Path, disk: bytes
) -> None:
    file = folder / "a.txt"
    file.write_bytes(disk)
    editor.open(file)
    editor.type("Gcctyped<Esc>")
    answer = editor.read(file)
    if answer.success:
        # Neovim counts no lone return as a line end, and a server that does would put the typing elsewhere.
        assert answer.output.replace("\r", "\n").endswith("\ttyped") == (editor.lines()[-1] == "typed")
        assert "x" in answer.output or b"x" not in disk
    else:
        assert not answer.is_hard_error
        assert "carriage return" in answer.error


@pytest.mark.contract("B4", "P1", "E2")
@pytest.mark.usefixtures("folder")
def test_a_buffer_outside_the_workspace_is_refused_though_it_is_open(editor: Neovim, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret\n")
    editor.open(outside)
    for answer in (editor.read(outside), editor.edit(outside, "secret", "changed"), editor.write(outside, "x\n")):
        assert not answer.success
        assert str(outside) in answer.error
        assert "secret" not in answer.error
    assert editor.lines() == ["secret"]
    assert not editor.modified()
