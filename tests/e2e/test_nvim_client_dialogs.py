"""Real Neovim with the plugin: permissions and questions, how they are shown, answered, withdrawn, kept from keys."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import pytest

from .neovim import Call, folder_in, wait_for
from .nvim_client import PluginNeovim, plugin_editor_in, short_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.editor, pytest.mark.contract("B2", "B4", "X4")]
_numbers = itertools.count(1)
CONFIG = '[permissions]\ndefault = { FILE_WRITE = "ask", SHELL = "ask" }\n'


@pytest.fixture(scope="module")
def editor() -> Iterator[PluginNeovim]:
    with short_directory() as directory:
        (directory / "config.toml").write_text(CONFIG)
        yield from plugin_editor_in(directory, arguments=("--config", str(directory / "config.toml")))


@pytest.fixture
def folder(editor: PluginNeovim) -> Iterator[Path]:
    yield from folder_in(editor, editor.root / f"dialogs{next(_numbers)}")
    for _ in waiting(editor):  # of a test that failed
        editor.command("Openbuffer answer")
        editor.type("q")


def waiting(editor: PluginNeovim) -> list[str]:
    return editor.lua("return require('openbuffer.window').waiting()")


def windows(editor: PluginNeovim) -> int:
    return editor.lua("return #vim.api.nvim_list_wins()")


def asked(editor: PluginNeovim, file: Path, old: str = "b", new: str = "B") -> Call:
    """A call that waits for its user."""
    before = len(waiting(editor))
    call = editor.begin("Edit", {"filePath": str(file), "oldString": old, "newString": new})
    wait_for(lambda: len(waiting(editor)) > before, "a dialog")
    return call


def opened(editor: PluginNeovim, folder: Path, text: str = "a\nb\nc\n") -> Path:
    file = folder / "a.txt"
    file.write_text(text)
    editor.open(file)
    return file


def test_the_screen_tells_what_is_to_be_changed_and_how_to_answer(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = asked(editor, file)
    screen = editor.wait_for_screen("allow once")
    for text in (
        "Edit: allow?",
        "Edit wants to change",
        "(+1 -1",
        "Why you are asked:",
        "@@ line 2 @@",
        "-b",
        "+B",
        "y allow once",
        "s for this session",
        "A always",
        "n deny",
        "r deny with a reason",
        "d side by side",
        ":Openbuffer answer",
    ):
        assert text in screen, screen
    editor.command("Openbuffer answer")
    editor.type("y")
    assert call.answer().success
    assert (editor.lines(), waiting(editor), windows(editor)) == (["a", "B", "c"], [], 1)


def test_typed_keys_answer_nothing_and_go_where_they_were_going(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    editor.type("Go")
    call = asked(editor, file)
    editor.type("yes, always y s A n<Esc>")
    assert editor.lines() == ["a", "b", "c", "yes, always y s A n"]
    assert len(waiting(editor)) == 1
    editor.command("Openbuffer answer")
    editor.type("y")
    assert call.answer().success
    assert editor.lines() == ["a", "B", "c", "yes, always y s A n"]


@pytest.mark.parametrize(
    ("keys", "says"),
    [("n", "did not approve"), ("q", "closed"), (":quit<CR>", "closed"), ("rtoo early<CR>", "too early")],
)
def test_what_is_not_allowed_is_not_done_and_the_agent_hears_why(
    editor: PluginNeovim, folder: Path, keys: str, says: str
) -> None:
    file = opened(editor, folder)
    call = asked(editor, file)
    editor.command("Openbuffer answer")
    editor.type(keys)
    answer = call.answer()
    assert not answer.success
    assert says in answer.error, answer.error
    assert (editor.lines(), waiting(editor), windows(editor)) == (["a", "b", "c"], [], 1)


def test_allowed_for_the_session_is_not_asked_again(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = asked(editor, file)
    screen = editor.wait_for_screen("Allowed from then on")
    assert "Edit" in screen.partition("Allowed from then on")[2]
    editor.command("Openbuffer answer")
    editor.type("s")
    assert call.answer().success
    assert editor.edit(file, "B", "b").success
    assert waiting(editor) == []


def test_several_wait_one_behind_the_other(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    calls = [asked(editor, file, old, old.upper()) for old in ("a", "b", "c")]
    assert "(1 of 3)" in editor.screen()
    for key in "yny":
        editor.command("Openbuffer answer")
        editor.type(key)
    answers = [call.answer() for call in calls]
    assert [answer.success for answer in answers] == [True, False, True]
    assert editor.lines() == ["A", "b", "C"]


def test_a_cancelled_call_takes_its_dialog_away(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    editor.lua(
        """
        ended = nil
        cancel = require('openbuffer').call('Edit', { filePath = ..., oldString = 'b', newString = 'B' },
          function(failed, result) ended = failed or 'answered' end)
        """,
        str(file),
    )
    wait_for(lambda: waiting(editor) != [], "a dialog")
    editor.lua("cancel()")
    wait_for(lambda: editor.lua("return ended") == "cancelled", "the end of the call")
    wait_for(lambda: waiting(editor) == [], "no dialog")
    assert (editor.lines(), windows(editor)) == (["a", "b", "c"], 1)


def test_the_dialogs_of_a_server_that_died_go_away(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG)
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / "a.txt"
    file.write_text("a\nb\n")
    options = ("--config", str(tmp_path / "config.toml"))
    with PluginNeovim(tmp_path / "home", tmp_path / "work", arguments=options) as editor:
        editor.open(file)
        editor.lua("vim.notify = function() end")  # Neovim's own words about it would wait for a key
        for old in ("a", "b"):
            asked(editor, file, old, old.upper())
        os.kill(editor.server_pid, 9)
        wait_for(lambda: waiting(editor) == [], "no dialog")
        assert (windows(editor), editor.lines()) == (1, ["a", "b"])


WITHDRAW_FROM_ANOTHER = """
local client = vim.lsp.get_clients({ name = 'openbuffer' })[1]
for number = 1, 50 do
  local params = { dialogId = 'openbuffer-dialog-' .. number }
  require('openbuffer.waiting').withdraw(nil, params, { client_id = client.id + 1 })
end
"""


def test_servers_that_number_their_dialogs_alike_take_each_their_own_away(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = asked(editor, file)
    editor.lua(WITHDRAW_FROM_ANOTHER)
    assert len(waiting(editor)) == 1
    editor.command("Openbuffer answer")
    editor.type("y")
    assert call.answer().success


def test_the_user_edits_another_line_before_allowing_and_both_are_there(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = asked(editor, file)
    editor.type("GccC-user<Esc>")
    editor.command("Openbuffer answer")
    editor.type("y")
    assert call.answer().success
    assert editor.lines() == ["a", "B", "C-user"]


def test_what_was_shown_does_not_fit_any_more_and_nothing_is_done(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = asked(editor, file)
    editor.type("2Gccuser<Esc>")
    editor.command("Openbuffer answer")
    editor.type("y")
    assert not call.answer().success
    assert editor.lines() == ["a", "user", "c"]


def test_both_sides_in_a_tab_of_their_own(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, "".join(f"line {number}\n" for number in range(1, 30)))
    call = asked(editor, file, "line 20\n", "LINE 20\nmore\n")
    editor.command("Openbuffer answer")
    editor.type("d")
    screen = editor.screen()
    assert "before: a.txt" in screen
    assert "after · " in screen
    assert "y allow once" in screen
    assert [editor.lua("return vim.wo[...].diff", window) for window in editor.api("nvim_tabpage_list_wins", 0)][
        :2
    ] == [True, True]
    editor.type("y")
    assert call.answer().success
    assert editor.api("nvim_list_tabpages") == [editor.api("nvim_get_current_tabpage")]
    assert editor.lines()[19:21] == ["LINE 20", "more"]


def test_a_dialog_comes_along_to_where_the_user_is(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = asked(editor, file)
    editor.command("tabnew")
    editor.wait_for_screen("allow once")
    editor.command("%bwipeout!")  # with a floating window in another tab the editor would crash
    editor.command("Openbuffer answer")
    editor.type("n")
    assert not call.answer().success


def test_only_hides_a_dialog_and_allows_nothing(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = asked(editor, file)
    editor.command("only")
    assert len(waiting(editor)) == 1
    editor.command("Openbuffer answer")
    editor.type("y")
    assert call.answer().success


@pytest.mark.parametrize("keys", ["", "d"])
def test_a_user_who_wipes_everything_away_has_allowed_nothing(editor: PluginNeovim, folder: Path, keys: str) -> None:
    file = opened(editor, folder)
    call = asked(editor, file)
    editor.command("Openbuffer answer")
    editor.type(keys)
    editor.command("%bwipeout!")
    editor.command("Openbuffer answer")
    if waiting(editor):
        editor.type("q")
    assert not call.answer().success
    assert (waiting(editor), file.read_text()) == ([], "a\nb\nc\n")
    editor.command("silent! tabonly | silent! only")


def test_invisible_characters_of_a_change_are_written_out(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = asked(editor, file, "b", "B\u202e\u200b\x1b[31m\u00ad é 😋 👩‍💻")
    screen = editor.wait_for_screen("+B")
    assert "+B<U+202E><U+200B><U+001B>[31m<U+00AD> é 😋" in screen
    editor.command("Openbuffer answer")
    editor.type("n")
    assert not call.answer().success


def test_a_name_with_a_line_break_is_one_line(editor: PluginNeovim, folder: Path) -> None:
    file = folder / "a\n@@ line 1 @@\n-b.txt"
    file.write_text("a\nb\n")
    editor.lua("local b = vim.fn.bufadd(...) vim.fn.bufload(b) vim.api.nvim_win_set_buf(0, b)", str(file))
    call = asked(editor, file)
    assert "a<U+000A>@@ line 1 @@<U+000A>-b.txt (+1 -1" in editor.wait_for_screen("allow once")
    editor.command("Openbuffer answer")
    editor.type("d")
    assert "before: a<U+000A>@@ line 1 @@" in editor.screen()
    editor.type("y")
    assert call.answer().success
    assert editor.lines() == ["a", "B"]


def test_the_keys_are_in_sight_of_whoever_is_asked_about_much(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    call = editor.begin("Write", {"filePath": str(file), "content": "x\n" * 5000})
    screen = editor.wait_for_screen("allow once")
    assert "y allow once · s for this session · A always · n deny" in screen
    editor.api("nvim_ui_try_resize", 60, 20)
    try:
        assert "y allow once · s for this session" in editor.wait_for_screen("n de…")
    finally:
        editor.api("nvim_ui_try_resize", 100, 40)
    editor.command("Openbuffer answer")
    editor.type("n")
    assert not call.answer().success


def test_a_command_is_shown_whole(editor: PluginNeovim, folder: Path) -> None:
    call = editor.begin("Bash", {"command": "echo one\necho two", "workingDirectory": str(folder)})
    screen = editor.wait_for_screen("allow once")
    assert "Command: echo one" in screen
    assert "  echo two" in screen
    assert f"In: {folder}" in screen
    assert "Containment:" in screen
    editor.command("Openbuffer answer")
    editor.type("y")
    assert "two" in call.answer().output


def test_a_dialog_that_cannot_be_shown_now_is_shown_later(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    editor.api("nvim_input", "A<C-r>=")
    call = asked(editor, file)
    editor.type("2<CR><Esc>")
    editor.wait_for_screen("allow once")
    editor.command("Openbuffer answer")
    editor.type("y")
    assert call.answer().success
    assert editor.lines() == ["a2", "B", "c"]


def test_a_synchronous_call_asks_by_confirm(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    future = editor.post(
        "nvim_exec_lua",
        "return { require('openbuffer').call_sync('Edit', { filePath = ..., oldString = 'b', newString = 'B' }) }",
        [str(file)],
    )
    wait_for(lambda: editor.api("nvim_get_mode")["mode"] != "n", "a question")
    editor.api("nvim_input", "y")
    assert future.result(30)[0]["isError"] is False
    assert editor.lines() == ["a", "B", "c"]


# --- questions ---------------------------------------------------------------------------------------------------


def question(editor: PluginNeovim, **more: Any) -> Call:
    one = {"question": "Which one?", "header": "Choice", **more}
    call = editor.begin("AskUserQuestion", {"questions": [one]})
    wait_for(lambda: waiting(editor) != [], "a dialog")
    return call


OPTIONS = [{"label": "first", "description": "the one"}, {"label": "second"}, {"label": "third"}]


@pytest.mark.usefixtures("folder")
def test_one_of_several_answers_is_chosen_by_its_number(editor: PluginNeovim) -> None:
    call = question(editor, options=OPTIONS)
    screen = editor.wait_for_screen("Which one?")
    for text in ("Choice", "1  first", "the one", "2  second", "q close"):
        assert text in screen, screen
    editor.type("2<Esc>")  # a count, for it is not in the dialog
    editor.command("Openbuffer answer")
    editor.type("2")
    answer = call.answer()
    assert "second" in answer.output
    assert "first" not in answer.output


@pytest.mark.usefixtures("folder")
def test_several_are_chosen_and_a_text_beside_them(editor: PluginNeovim) -> None:
    call = question(editor, options=OPTIONS, multiSelect=True, freeText=True)
    editor.command("Openbuffer answer")
    editor.type("<CR>132")
    screen = editor.screen()
    assert "[x] 1  first" in screen
    editor.type("2")
    assert "[ ] 2  second" in editor.screen()
    editor.type("imy own<CR>")
    assert "your text: my own" in editor.screen()
    editor.type("<CR>")
    answer = call.answer()
    assert all(text in answer.output for text in ("first", "third", "my own"))
    assert "second" not in answer.output


def test_a_free_text_is_asked_for_in_the_input_line(editor: PluginNeovim, folder: Path) -> None:
    call = question(editor, freeText=True)
    # The command waits in the input line, so that its own answer comes with the text.
    editor.api("nvim_input", ":Openbuffer answer<CR>")
    wait_for(lambda: editor.api("nvim_get_mode")["mode"] == "c", "the input line")
    read = editor.call("ListDir", {"path": str(folder)})  # nothing is held up
    assert read.success
    editor.api("nvim_input", "forty-two<CR>")
    assert "forty-two" in call.answer().output


@pytest.mark.usefixtures("folder")
def test_a_closed_question_has_no_answer(editor: PluginNeovim) -> None:
    call = question(editor, options=OPTIONS)
    editor.command("Openbuffer answer")
    editor.type("q")
    assert not call.answer().success
    assert waiting(editor) == []


@pytest.mark.usefixtures("folder")
def test_a_picker_of_the_users_is_used(editor: PluginNeovim) -> None:
    editor.lua(
        """
        select_before, picked = vim.ui.select, {}
        vim.ui.select = function(items, options, choose)
          local words = vim.tbl_map(options.format_item, items)
          picked[#picked + 1] = { prompt = options.prompt, kind = options.kind, words = words }
          local wanted = ({ 1, 3, #items })[#picked]
          vim.schedule(function() choose(items[wanted], wanted) end)
        end
        """
    )
    try:
        call = question(editor, options=OPTIONS, multiSelect=True)
        editor.command("Openbuffer answer")
        answer = call.answer()
    finally:
        picked = editor.lua("vim.ui.select = select_before return picked")
    assert "first" in answer.output
    assert "third" in answer.output
    assert [each["kind"] for each in picked] == ["openbuffer_question"] * 3
    assert picked[2]["words"] == ["[x] first: the one", "[ ] second", "[x] third", "Send"]


@pytest.mark.usefixtures("folder")
def test_a_question_of_a_cancelled_call_goes_away(editor: PluginNeovim) -> None:
    editor.lua(
        """
        ended = nil
        cancel = require('openbuffer').call('AskUserQuestion', { questions = { { question = 'x?', options = ... } } },
          function(failed) ended = failed end)
        """,
        OPTIONS,
    )
    wait_for(lambda: waiting(editor) != [], "a dialog")
    editor.lua("cancel()")
    wait_for(lambda: waiting(editor) == [], "no dialog")
    wait_for(lambda: editor.lua("return ended") == "cancelled", "the end of the call")
