"""Real Neovim with the plugin: what is read, changed, saved and reloaded, and what becomes of the user's doings."""

from __future__ import annotations

import hashlib
import itertools
import time
from typing import TYPE_CHECKING, Any

import pytest

from .neovim import folder_in
from .nvim_client import PluginNeovim, plugin_editor_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.editor, pytest.mark.contract("B4")]
_numbers = itertools.count(1)
HUNDRED = "".join(f"line {number}\n" for number in range(1, 101))


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginNeovim]:
    yield from plugin_editor_in(tmp_path_factory.mktemp("nvim"))


@pytest.fixture
def folder(editor: PluginNeovim) -> Iterator[Path]:
    yield from folder_in(editor, editor.root / f"documents{next(_numbers)}")


def opened(editor: PluginNeovim, folder: Path, data: bytes | str = "a\nb\nc\n", options: str = "") -> Path:
    file = folder / "a.txt"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    editor.open(file, options)
    return file


@pytest.mark.contract("E10")
def test_what_was_typed_is_read_at_once(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    read = editor.type_then_begin("GccC-user<Esc>", "Read", {"filePath": str(file)}).answer()
    assert "3\tC-user" in read.output
    assert "as last sent by the editor" not in read.output


@pytest.mark.contract("E10")
def test_what_neovim_itself_does_not_tell_is_read_all_the_same(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, "one\n\ntwo\n\n")
    editor.type(":set ff=dos<CR>")  # sends no didChange
    assert "1\tone" in editor.read(file).output
    assert editor.edit(file, "two", "TWO").success
    editor.type("ggVGc")  # down to a last line that was empty before: the client's own diff is wrong here
    assert editor.lines() == [""]
    editor.type("x<Esc>")
    assert "1\tx" in editor.read(file).output
    assert editor.edit(file, "x", "y").success
    assert editor.lines() == ["y"]


@pytest.mark.contract("E10")
@pytest.mark.parametrize("keys", ["G:1,2d<CR>:w<CR>", ":set ff=dos<CR>:w<CR>", "ggVGc<Esc>:w<CR>"])
def test_what_neovim_tells_wrongly_is_told_rightly_before_it_is_saved(
    editor: PluginNeovim, folder: Path, keys: str
) -> None:
    file = opened(editor, folder, "one\ntwo\n\n")
    editor.type(keys + "Otyped<Esc>")
    assert "1\ttyped" in editor.read(file).output
    answer = editor.edit(file, "typed", "agent")
    assert answer.success, answer
    assert editor.lines()[0] == "agent"


@pytest.mark.contract("E9", "E7")
def test_a_clean_document_is_saved_after_an_edit_and_an_unsaved_one_is_not(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    answer = editor.edit(file, "a", "A")
    assert answer.success, answer
    assert (editor.modified(), file.read_text()) == (False, "A\nb\nc\n")
    editor.type("GccC-user<Esc>")
    answer = editor.edit(file, "b", "B")
    assert answer.success, answer
    assert (editor.modified(), file.read_text()) == (True, "A\nb\nc\n")
    assert editor.lines() == ["A", "B", "C-user"]
    assert "unsaved" in answer.output or "nothing was saved" in answer.output


@pytest.mark.contract("E9")
def test_what_a_formatter_makes_of_it_on_saving_is_what_the_next_edit_finds(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    editor.command("autocmd BufWritePre <buffer> silent! %s/ \\+$//e | silent! %s/TAB/\\t/ge")
    assert editor.edit(file, "a\n", "aTAB   \n").success
    assert file.read_bytes() == b"a\t\nb\nc\n"
    assert editor.edit(file, "a\t\nb", "A\nB").success
    assert editor.lines() == ["A", "B", "c"]


@pytest.mark.contract("E11")
def test_a_clean_document_is_reloaded_before_it_is_edited(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    assert "nothing unsaved" in editor.read(file).output
    file.write_text("x\ny\nz\n")
    assert "1\tx" in editor.read(file).output
    answer = editor.edit(file, "y", "Y")
    assert answer.success, answer
    assert (editor.lines(), editor.modified()) == (["x", "Y", "z"], False)
    assert file.read_text() == "x\nY\nz\n"


@pytest.mark.contract("E11")
@pytest.mark.parametrize("auto", ["autoread", "noautoread"])
def test_a_reload_keeps_the_cursor_and_works_while_the_user_types_elsewhere(
    editor: PluginNeovim, folder: Path, auto: str
) -> None:
    file = opened(editor, folder, HUNDRED)
    assert "nothing unsaved" in editor.read(file).output
    editor.command(f"set {auto}")
    editor.type("60G5l")
    editor.command("new")
    editor.type("ityping")
    file.write_text(HUNDRED.replace("line 90", "LINE 90"))
    assert editor.edit(file, "line 10\n", "LINE 10\n").success
    editor.type(" on<Esc>")
    assert editor.lines() == ["typing on"]
    editor.command("quit!")
    assert (editor.lines()[9], editor.lines()[89]) == ("LINE 10", "LINE 90")
    assert editor.api("nvim_eval", "getpos('.')")[1:3] == [60, 6]
    editor.command("set autoread")
    assert editor.lua("return vim.api.nvim_get_option_value('autoread', { buf = 0, scope = 'local' })") is None


@pytest.mark.contract("E11")
def test_both_changed_is_a_conflict_and_nothing_is_written(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    assert "nothing unsaved" in editor.read(file).output
    editor.type("GccC-user<Esc>")
    file.write_text("x\ny\nz\n")
    for refused in (editor.edit(file, "a", "A"), editor.write(file, "agent\n")):
        assert "conflict" in refused.error
    assert (editor.lines(), file.read_text()) == (["a", "b", "C-user"], "x\ny\nz\n")


@pytest.mark.contract("E8")
def test_one_undo_takes_an_edit_back_and_leaves_what_was_typed_before_and_after(
    editor: PluginNeovim, folder: Path
) -> None:
    file = opened(editor, folder, "x 1\nkeep\nx 2\nkeep\nx 3\n")
    editor.type("2Gccmine<Esc>")
    assert editor.edit(file, "x", "why", replaceAll=True).success
    editor.type("4Gcctoo<Esc>")
    assert editor.lines() == ["why 1", "mine", "why 2", "too", "why 3"]
    editor.type("u")
    assert editor.lines() == ["why 1", "mine", "why 2", "keep", "why 3"]
    editor.type("u")
    assert editor.lines() == ["x 1", "mine", "x 2", "keep", "x 3"]
    editor.type("u")
    assert editor.lines() == ["x 1", "keep", "x 2", "keep", "x 3"]
    editor.type("3<C-r>")
    assert editor.lines() == ["why 1", "mine", "why 2", "too", "why 3"]


@pytest.mark.contract("E8")
def test_an_edit_while_the_user_inserts_is_an_undo_step_of_its_own(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, "a\nb\nc\n")
    editor.type("2GAtyped")
    assert editor.edit(file, "a\n", "A\nnew\n").success
    assert editor.api("nvim_get_mode")["mode"] == "i"
    editor.type(" on<CR>more<Esc>")
    assert editor.lines() == ["A", "new", "btyped on", "more", "c"]
    seen = [editor.lines()]
    for _ in range(5):
        editor.type("u")
        seen.append(editor.lines())
    assert seen[-1] == ["a", "b", "c"]
    editor.type("9<C-r>")
    assert editor.lines() == ["A", "new", "btyped on", "more", "c"]
    # One of the steps is the agent's alone: what was typed before it is as it was.
    assert any(lines[0] == "a" and lines[1].startswith("btyped") for lines in seen)


@pytest.mark.contract("E8")
def test_cursor_marks_extmarks_and_folds_stay_on_their_text(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, HUNDRED)
    editor.type("90Gma10Gmb60G5l")
    editor.command("setlocal foldmethod=manual | 30,40fold")
    space = editor.api("nvim_create_namespace", "test")
    mark = editor.api("nvim_buf_set_extmark", 0, space, 79, 3, {})
    assert editor.edit(file, "line 10\n", "line ten\none\ntwo\nthree\n").success
    assert editor.lines()[9:14] == ["line ten", "one", "two", "three", "line 11"]
    assert editor.api("nvim_eval", "getpos('.')")[1:3] == [63, 6]
    assert editor.api("nvim_eval", 'getpos("\'a")')[1] == 93
    assert editor.api("nvim_eval", 'getpos("\'b")')[1] == 10
    assert editor.api("nvim_buf_get_extmark_by_id", 0, space, mark, {}) == [82, 3]
    assert editor.api("nvim_eval", "[foldclosed(33), foldclosedend(33)]") == [33, 43]


@pytest.mark.contract("E8")
def test_a_cursor_in_the_changed_line_stays_on_its_character(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, "é one two three\n")
    editor.type("fh")
    assert editor.edit(file, "one", "number one").success
    assert editor.lines() == ["é number one two three"]
    assert editor.api("nvim_eval", "strpart(getline('.'), col('.') - 1)") == "hree"


@pytest.mark.contract("E7")
@pytest.mark.parametrize("flush", [False, True])
def test_an_edit_that_meets_newer_text_is_never_made_over_it(editor: PluginNeovim, folder: Path, flush: bool) -> None:
    file = opened(editor, folder, "a\nb\nc\n")
    call = editor.begin_then_type(
        "Edit", {"filePath": str(file), "oldString": "b", "newString": "B"}, "GoC-user<Esc>", flush=flush
    )
    answer = call.answer()
    assert answer.success, answer
    assert editor.lines() == ["a", "B", "c", "C-user"]
    call = editor.begin_then_type("Edit", {"filePath": str(file), "oldString": "B", "newString": "x"}, "2Gccuser<Esc>")
    answer = call.answer()
    assert not answer.success
    assert editor.lines() == ["a", "user", "c", "C-user"]


STALE = """
local act, change = ...
local apply, documents = require('openbuffer.apply'), require('openbuffer.documents')
local client = vim.lsp.get_clients({ name = 'openbuffer' })[1]
local uri = vim.uri_from_bufnr(0)
local state = apply.read(client, { textDocument = { uri = uri } })
local at = { line = 0, character = 0 }
local params = {
  textDocument = { uri = uri, version = state.version },
  textHash = state.textHash, label = 'x', dialogId = 'stale',
  diskHash = vim.fn.sha256(table.concat(vim.fn.readfile(vim.fn.expand('%')), '\\n') .. '\\n'),
  edits = { { range = { start = at, ['end'] = at }, newText = 'agent ' } },
}
if change == 'version' then params.textDocument.version = state.version + 1
elseif change == 'null' then params.textDocument.version = vim.NIL
elseif change == 'hash' then params.textHash = vim.fn.sha256('other')
elseif change == 'disk' then params.diskHash = vim.fn.sha256('other')
elseif change == 'none' then params.diskHash = vim.NIL
elseif change == 'uri' then params.textDocument.uri = uri .. 'x'
elseif change == 'keys' then vim.api.nvim_feedkeys('Ouser', 'xt', false)
elseif change == 'withdrawn' then
  require('openbuffer.waiting').withdraw(nil, { dialogId = 'stale' }, { client_id = client.id })
end
local result, sent = nil, nil
local handler = require('openbuffer.client').lsp_config().handlers['openbuffer/' .. act]
local method = 'openbuffer/' .. act
coroutine.wrap(function() result = handler(nil, params, { client_id = client.id, method = method }) end)()
assert(vim.wait(8000, function() return result ~= nil end, 5), 'no answer')
return result
"""


@pytest.mark.contract("E7")
@pytest.mark.parametrize(
    ("act", "change", "why"),
    [
        ("applyEdit", "version", "version"),
        ("applyEdit", "null", "version"),
        ("applyEdit", "hash", "another text"),
        ("applyEdit", "uri", "not open"),
        ("applyEdit", "keys", "version"),
        ("applyEdit", "withdrawn", "withdrawn"),
        ("saveDocument", "hash", "another text"),
        ("saveDocument", "disk", "holds something else"),
        ("saveDocument", "none", "holds something else"),
        ("saveDocument", "withdrawn", "withdrawn"),
        ("reloadDocument", "keys", "version"),
        ("reloadDocument", "disk", "holds something else"),
    ],
)
def test_a_request_for_another_state_is_refused_with_the_state_as_it_is(
    editor: PluginNeovim, folder: Path, act: str, change: str, why: str
) -> None:
    file = opened(editor, folder)
    result: dict[str, Any] = editor.lua(STALE, act, change)
    assert result["done"] is False
    assert why in result["reason"]
    assert (result["document"] is None) == (change == "uri")
    assert editor.lines() == (["user", "a", "b", "c"] if change == "keys" else ["a", "b", "c"])
    assert file.read_text() == "a\nb\nc\n"


@pytest.mark.contract("E7")
def test_handlers_answer_whatever_goes_wrong_in_them(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    assert editor.lua(STALE, "applyEdit", "")["done"] is True
    editor.lua("broken = vim.api.nvim_buf_set_text vim.api.nvim_buf_set_text = function() error('broken here') end")
    answer = editor.edit(file, "b", "B")
    editor.lua("vim.api.nvim_buf_set_text = broken")
    assert "broken here" in answer.error
    assert editor.lines() == ["agent a", "b", "c"]
    editor.lua("broken = vim.fn.sha256 vim.fn.sha256 = function() error('no hash') end")
    editor.type("Gox<Esc>")
    read = editor.read(file)
    editor.lua("vim.fn.sha256 = broken")
    assert "x" in read.output
    assert editor.edit(file, "b", "B").success


@pytest.mark.contract("E7")
@pytest.mark.parametrize(
    ("command", "why"),
    [("setlocal nomodifiable", "not modifiable"), ("setlocal readonly", "read-only")],
)
def test_a_buffer_that_is_not_to_be_changed_refuses_with_the_reason(
    editor: PluginNeovim, folder: Path, command: str, why: str
) -> None:
    file = opened(editor, folder)
    editor.command(command)
    answer = editor.edit(file, "a", "A")
    assert why in answer.error
    assert str(file) in answer.error
    assert (editor.lines(), file.read_text()) == (["a", "b", "c"], "a\nb\nc\n")


@pytest.mark.contract("E7")
def test_a_text_that_is_locked_is_waited_for(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    # An expression register locks the text for as long as it is typed.
    editor.api("nvim_input", "A<C-r>=")
    call = editor.begin("Edit", {"filePath": str(file), "oldString": "b", "newString": "B"})
    editor.api("nvim_input", "1+1")
    editor.lua("vim.wait(300)")
    editor.type("<CR><Esc>")
    answer = call.answer()
    assert answer.success, answer
    assert editor.lines() == ["a2", "B", "c"]


@pytest.mark.contract("E7", "E10")
@pytest.mark.parametrize(
    "keys",
    [":echo 'in the command line", "/searching", "q:ione", "v", "R", "d", ":call confirm('really?', '&Yes')<CR>"],
)
def test_every_mode_answers_and_is_left_as_it_was(editor: PluginNeovim, folder: Path, keys: str) -> None:
    file = opened(editor, folder)
    editor.api("nvim_input", keys)
    mode = editor.api("nvim_get_mode")["mode"]
    assert "2\tb" in editor.read(file).output
    answer = editor.edit(file, "b", "B")
    assert answer.success, answer
    assert editor.api("nvim_get_mode")["mode"] == mode
    editor.api("nvim_input", "<C-Bslash><C-n>")
    editor.command("silent! quit" if keys.startswith("q:") else "")
    assert editor.lines(editor.api("nvim_eval", f"bufnr('{file}')")) == ["a", "B", "c"]


@pytest.mark.contract("E7", "E10")
def test_behind_a_prompt_reading_says_what_is_not_assured(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = editor.begin_at_prompt("Read", {"filePath": str(file)}, ':echo "one\\ntwo"<CR>')
    time.sleep(4)  # the server waits for two seconds
    editor.api("nvim_input", "<CR>")
    answer = call.answer()
    assert "2\tb" in answer.output
    assert "did not answer within 2 s" in answer.output
    assert "did not answer" not in editor.read(file).output


@pytest.mark.contract("E7", "E10")
def test_an_edit_behind_a_prompt_is_made_once_when_the_prompt_is_answered(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    arguments = {"filePath": str(file), "oldString": "b", "newString": "bb"}
    call = editor.begin_at_prompt("Edit", arguments, ':echo "one\\ntwo"<CR>')
    time.sleep(2.5)
    editor.api("nvim_input", "<CR>")
    answer = call.answer()
    assert answer.success, answer
    assert editor.lines() == ["a", "bb", "c"]


@pytest.mark.contract("E7", "T6")
def test_an_edit_that_was_cancelled_behind_a_prompt_is_not_made_any_more(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    arguments = {"filePath": str(file), "oldString": "b", "newString": "bb"}
    # The server gives up reading after two seconds, and sends the edit: then the call is cancelled.
    editor.begin_at_prompt("Edit", arguments, ':echo "one\\ntwo"<CR>', cancel_after_ms=2500)
    time.sleep(3)
    editor.api("nvim_input", "<CR>")
    assert "2\tb" in editor.read(file).output
    assert (editor.lines(), file.read_text()) == (["a", "b", "c"], "a\nb\nc\n")


@pytest.mark.contract("E10")
def test_documents_that_are_unloaded_wiped_or_special_are_not_carried(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    editor.type("Gox<Esc>")
    editor.command("enew! | bunload! #")
    assert "on disk" in editor.read(file).output
    assert editor.edit(file, "b", "B").success
    assert file.read_text() == "a\nB\nc\n"
    editor.open(file)
    assert "nothing unsaved" in editor.read(file).output
    editor.command("enew | setlocal buftype=nofile | file " + str(folder / "scratch"))
    editor.command("help | terminal")
    names = editor.lua(
        """
        local names = {}
        for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
          if #vim.lsp.get_clients({ bufnr = buffer }) > 0 then names[#names + 1] = vim.api.nvim_buf_get_name(buffer) end
        end
        return names
        """
    )
    assert names == [str(file)]


@pytest.mark.contract("E10", "E6")
@pytest.mark.parametrize(
    "name", ["a b é.txt", "50%20.txt", "#[x]{y}.txt", "e\u0301-日.txt", "q?&+~;.txt", "way/through.txt"]
)
def test_any_name_is_one_document(editor: PluginNeovim, folder: Path, name: str) -> None:
    (folder / "real").mkdir()
    (folder / "way").symlink_to(folder / "real")
    file = folder / name
    file.write_text("a\nb\n")
    editor.open(file)
    editor.type("GccB-user<Esc>")
    for path in (file, file.resolve()):
        assert "2\tB-user" in editor.read(path).output
    assert editor.edit(file, "a", "A").success
    assert (editor.lines(), file.read_text()) == (["A", "B-user"], "a\nb\n")
    editor.command("write")
    assert editor.edit(file.resolve(), "B-user", "B").success
    assert file.read_text() == "A\nB\n"


@pytest.mark.contract("E10", "E6")
def test_after_a_change_of_name_the_new_one_is_the_documents(editor: PluginNeovim, folder: Path) -> None:
    file, other = opened(editor, folder), folder / "other name.txt"
    editor.type("Gox<Esc>")
    editor.command("file " + str(other).replace(" ", "\\ "))
    assert "x" in editor.read(other).output
    assert "x" not in [line.split("\t")[-1] for line in editor.read(file).output.splitlines()]
    editor.command("write")
    assert "nothing unsaved" in editor.read(other).output
    assert editor.edit(other, "b", "B").success
    assert (editor.lines(), other.read_text()) == (["a", "B", "c", "x"], "a\nB\nc\nx\n")
    assert file.read_text() == "a\nb\nc\n"


@pytest.mark.contract("E10")
def test_a_file_of_no_known_type_and_one_without_a_name_at_first_are_documents(
    editor: PluginNeovim, folder: Path
) -> None:
    editor.open(folder / "no-known-type")
    editor.type("itext<Esc>")
    assert "1\ttext" in editor.read(folder / "no-known-type").output
    editor.command("enew!")
    editor.type("inameless<Esc>")
    editor.command("write " + str(folder / "named"))
    editor.type("Oagain<Esc>")
    assert "1\tagain" in editor.read(folder / "named").output


@pytest.mark.contract("E8", "F6")
@pytest.mark.parametrize(
    ("before", "after", "options"),
    [
        (b"a\r\nold\r\n", b"a\r\nnew\r\nmore\r\n", ""),
        (b"\xef\xbb\xbfa\nold\n", b"\xef\xbb\xbfa\nnew\nmore\n", ""),
        ("naïve\nold\n".encode("latin-1"), "naïve\nnew\nmore\n".encode("latin-1"), ""),
        ("\ufeffaß\nold\n".encode("utf-16-le"), "\ufeffaß\nnew\nmore\n".encode("utf-16-le"), ""),
        ("日本\nold\n".encode("cp932"), "日本\nnew\nmore\n".encode("cp932"), "++enc=cp932"),
        (b"a\r\nold\nc\r\n", b"a\r\nnew\r\nmore\nc\r\n", ""),
        ("😋 é\nold 👩‍💻 x\n".encode(), "😋 é\nnew\nmore 👩‍💻 x\n".encode(), ""),
    ],
    ids=["CRLF", "byte-order mark", "Latin-1", "UTF-16", "Shift-JIS", "mixed line ends", "beyond the BMP"],
)
def test_the_bytes_on_disk_are_the_old_ones_but_for_the_edit(
    editor: PluginNeovim, folder: Path, before: bytes, after: bytes, options: str
) -> None:
    file = opened(editor, folder, before, options)
    assert "nothing unsaved" in editor.read(file).output
    answer = editor.edit(file, "old", "new\nmore")
    assert answer.success, answer
    assert file.read_bytes() == after
    assert not editor.modified()
    assert "nothing unsaved" in editor.read(file).output


@pytest.mark.contract("E8", "E9", "F6")
@pytest.mark.parametrize("fixes", ["fixendofline", "nofixendofline"])
@pytest.mark.parametrize(
    ("before", "content"),
    [
        ("a\nb", "a\nB"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nB"),
        ("a\nb\n", "a\nb"),
        ("", "x\n"),
        ("", "x"),
        ("a\n", "a\n\n"),
        ("a\n\n", "a\n"),
        ("", ""),
        ("a", ""),
        ("a\n", ""),
        ("\n", ""),
    ],
)
def test_the_end_of_a_text_is_as_it_was_asked_for_unless_the_editor_adds_one(
    editor: PluginNeovim, folder: Path, before: str, content: str, fixes: str
) -> None:
    editor.command("set " + fixes)
    file = opened(editor, folder, before)
    assert "nothing unsaved" in editor.read(file).output
    answer = editor.write(file, content)
    shown = content if fixes.startswith("no") or content.endswith("\n") else content + "\n"
    if before in {content + "\n", content} and not content.endswith("\n"):  # the last line end is Neovim's alone
        shown = before
    editor.command("set fixendofline")
    assert file.read_text() == shown, answer
    assert not editor.modified()
    if shown == before:
        assert "The open document is what it was" in answer.output
        return
    assert "and saved to disk" in answer.output
    goes_on_without = shown != content and before != "" and not before.endswith("\n")
    assert ("saving put a line end" in answer.output) is goes_on_without, answer
    assert editor.read(file).success
    editor.type("u")
    assert editor.lines() == before.removesuffix("\n").split("\n")


@pytest.mark.contract("E8", "E9", "F6")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\n", b"a\nb\n"),
        (b"a\nb\n", b"a\r\nb\r\n"),
        (b"\xef\xbb\xbfa\nb", b"\xef\xbb\xbfa\nb\n"),
        (b"\xe9\nb", b"\xe9\nb\n"),
        (b"\xff\xfea\0\n\0b\0", b"\xff\xfea\0\n\0b\0\n\0"),
    ],
    ids=["line ends", "to CRLF", "behind a mark", "Latin-1", "UTF-16"],
)
def test_an_edit_of_nothing_but_line_ends_is_saved_like_any_other(
    editor: PluginNeovim, folder: Path, before: bytes, after: bytes
) -> None:
    file = opened(editor, folder, before)
    content = {0xE9: "é\nb\n", 0xFF: "a\nb\n"}.get(after[0]) or after.decode("utf-8-sig")
    answer = editor.write(file, content)
    assert "and saved to disk" in answer.output
    assert (file.read_bytes(), editor.modified()) == (after, False)


@pytest.mark.contract("E7")
def test_a_text_with_nul_is_told_with_its_hash(editor: PluginNeovim, folder: Path) -> None:
    opened(editor, folder)
    editor.type("Ga<C-v>x00<Esc>")
    state = editor.lua(
        """
        local client = vim.lsp.get_clients({ name = 'openbuffer' })[1]
        return require('openbuffer.apply').read(client, { textDocument = { uri = vim.uri_from_bufnr(0) } })
        """
    )
    assert state["textHash"] == hashlib.sha256(b"a\nb\nc\0\n").hexdigest()


@pytest.mark.contract("E7", "E8")
def test_line_ends_that_a_buffer_cannot_have_are_refused_and_leave_it_untouched(
    editor: PluginNeovim, folder: Path
) -> None:
    file = opened(editor, folder, b"a\r\nb\r\n")
    assert "would change nothing" in editor.write(file, "a\nb\r\n").error
    assert (editor.lines(), editor.modified(), file.read_bytes()) == (["a", "b"], False, b"a\r\nb\r\n")
    assert editor.edit(file, "b\r\n", "B\nc\n").success
    assert file.read_bytes() == b"a\r\nB\r\nc\r\n"


@pytest.mark.contract("E8")
def test_a_text_that_the_encoding_cannot_hold_is_refused(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, "naïve\n".encode("latin-1"))
    answer = editor.edit(file, "na", "日本")
    assert not answer.success
    assert editor.lines() == ["naïve"]
    assert file.read_bytes() == "naïve\n".encode("latin-1")


@pytest.mark.contract("E9", "E7")
@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("autocmd BufWritePre <buffer> throw 'no saving today'", "no saving today"),
        ("set nowrite", "(E142: File not written: Writing is disabled by 'write' option)"),
    ],
)
def test_a_save_that_fails_is_told_and_the_edit_stays_in_the_buffer(
    editor: PluginNeovim, folder: Path, command: str, why: str
) -> None:
    file = opened(editor, folder)
    editor.command(command)
    answer = editor.edit(file, "a", "A")
    editor.command("set write")
    assert answer.success, answer
    assert why in answer.output
    assert (editor.lines(), editor.modified(), file.read_text()) == (["A", "b", "c"], True, "a\nb\nc\n")


@pytest.mark.contract("E12")
def test_two_edits_at_once_both_land(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, HUNDRED)
    for number in range(20):
        calls = [
            editor.begin("Edit", {"filePath": str(file), "oldString": f"line {at}", "newString": f"line {at}."})
            for at in (50 + number, 75 + number if number < 5 else 10 + number)
        ]
        for call in calls:
            answer = call.answer()
            assert answer.success or "Nothing was changed" in answer.error, answer
    assert file.read_text() == "".join(f"{line}\n" for line in editor.lines())


@pytest.mark.contract("E8")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_any_position_encoding_is_right(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / "a.txt"
    file.write_text("é😋x日 old 👩‍💻\n\n😋old\n")
    with PluginNeovim(tmp_path / "home", tmp_path / "work", encodings=(encoding,)) as editor:
        editor.open(file)
        editor.type("3GAé<Esc>")
        assert editor.edit(file, "old", "new😋", replaceAll=True).success
        assert editor.lines() == ["é😋x日 new😋 👩‍💻", "", "😋new😋é"]
