"""Real Neovim with the plugin: set-up, ``:Openbuffer``, the Lua functions, marks, progress, ``:checkhealth``."""

from __future__ import annotations

import itertools
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..processes import descendants_of
from .neovim import SERVER, Neovim, folder_in, wait_for, wait_until_gone
from .nvim_client import PLUGIN, PluginNeovim, plugin_editor_in, short_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.editor, pytest.mark.contract("B4")]
_numbers = itertools.count(1)
PROGRAM = Path(sys.executable).parent / "openbuffer"


@pytest.fixture(scope="module")
def editor() -> Iterator[PluginNeovim]:
    with short_directory() as directory:
        yield from plugin_editor_in(directory)


@pytest.fixture
def folder(editor: PluginNeovim) -> Iterator[Path]:
    yield from folder_in(editor, editor.root / f"commands{next(_numbers)}")
    editor.command("silent! only")


def opened(editor: PluginNeovim, folder: Path, text: str = "a\nb\nc\n") -> Path:
    file = folder / "a.txt"
    file.write_text(text)
    editor.open(file)
    return file


def notices(editor: Neovim) -> list[str]:
    """What was notified since the last time; notices are kept from the screen."""
    return editor.lua(
        """
        local seen = _G.notices or {}
        _G.notices = {}
        vim.notify = function(text) table.insert(_G.notices, text) end
        return seen
        """
    )


# --- :Openbuffer -------------------------------------------------------------------------------------------------


def test_a_tool_is_called_by_command_and_its_answer_is_shown(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    editor.type("Gox<Esc>")
    editor.command(f'Openbuffer call Read {{"filePath": "{file}"}}')
    screen = editor.wait_for_screen("openbuffer://Read")
    assert re.search(r"4\s+x", screen), screen
    assert any(line.endswith("4\tx") for line in editor.lines())
    assert editor.option("modifiable") is False


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("call", "which tool?"),
        ("call Read {nonsense", "no JSON object"),
        ("call Read [1]", "no JSON object"),
        ("call NoSuchTool", "NoSuchTool"),
        ("nonsense", "there is no :Openbuffer nonsense; there are answer, call, changes, clear"),
        ("log --follow", "for a terminal"),
    ],
)
def test_what_cannot_be_done_is_said(editor: PluginNeovim, folder: Path, line: str, says: str) -> None:
    opened(editor, folder)
    notices(editor)
    editor.command(f"Openbuffer {line}")
    seen: list[str] = []

    def is_said() -> bool:
        seen.extend(notices(editor))
        seen.extend(editor.lines())
        return any(says in text for text in seen)

    wait_for(is_said, f"{says!r} in {seen}")
    assert editor.process.poll() is None


def test_words_are_completed(editor: PluginNeovim, folder: Path) -> None:
    opened(editor, folder)

    def completed(line: str) -> list[str]:
        return editor.api("nvim_call_function", "getcompletion", [line, "cmdline"])

    assert completed("Openbuffer ") == [
        *("answer", "call", "changes", "clear", "install", "log", "restart", "status", "tools")
    ]
    assert completed("Openbuffer re") == ["restart"]
    names = completed("Openbuffer call ")
    assert {"Read", "Edit", "Write", "Grep"} <= set(names)
    assert completed("Openbuffer call Re") == ["Read"]
    assert completed("Openbuffer call Read ") == []
    assert "--tool" in completed("Openbuffer log --")


def test_other_tools_are_noticed(editor: PluginNeovim, folder: Path) -> None:
    opened(editor, folder)
    editor.lua("require('openbuffer').tools_sync()")
    editor.command("autocmd User OpenbufferToolsChanged let g:told = 1")
    editor.lua(
        "local client = require('openbuffer.client').current()"
        " client:notify('openbuffer/didChangeWorkspaceTrust', { trusted = false })"
    )
    wait_for(lambda: editor.api("nvim_eval", "get(g:, 'told')") == 1, "the word that there are other tools")
    names = editor.api("nvim_call_function", "getcompletion", ["Openbuffer call ", "cmdline"])
    assert "Read" in names
    assert "Bash" not in names
    editor.lua(
        "require('openbuffer.client').current():notify('openbuffer/didChangeWorkspaceTrust', { trusted = true })"
    )


def test_tools_are_listed_with_what_they_do(editor: PluginNeovim, folder: Path) -> None:
    opened(editor, folder)
    editor.command("Openbuffer tools")
    editor.wait_for_screen("openbuffer://tools")
    lines = editor.lines()
    assert "# Read  (FILE_READ)" in lines
    assert "Arguments: filePath, limit, offset" in lines


def test_the_log_tells_of_the_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / "a.txt"
    file.write_text("a\n")
    with PluginNeovim(tmp_path / "home", tmp_path / "work", options={"cmd": [str(PROGRAM)]}) as editor:
        editor.open(file)
        assert editor.edit(file, "a", "b").success
        editor.command("Openbuffer log -n 5")
        editor.wait_for_screen("openbuffer://log")
        assert any("Edit" in line and "a.txt" in line for line in editor.lines())


NEW_CLIENT_RUNS = """
local client = require('openbuffer.client').all()[1]
return client ~= nil and client.id > ... and client.initialized == true
"""


def test_status_and_restart(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    editor.type("Gox<Esc>")
    editor.command("Openbuffer")
    status = "\n".join(editor.lines())
    for text in ("Server: ", "(from the option `cmd`)", "running in", "1 open document, 1 with unsaved changes"):
        assert text in status
    for text in ("Calls under way: none", "Waiting for your answer: nothing"):
        assert text in status
    editor.command("quit")
    before_id = editor.lua("return require('openbuffer.client').all()[1].id")
    before = descendants_of(editor.process.pid)
    editor.command("Openbuffer restart")
    assert wait_until_gone(before, 20) == []
    wait_for(lambda: editor.lua(NEW_CLIENT_RUNS, before_id), "a new server")
    assert "4\tx" in editor.read(file).output
    assert editor.lua("return #require('openbuffer.client').all()") == 1


# --- Lua ---------------------------------------------------------------------------------------------------------


def test_calls_wait_or_do_not(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder)
    editor.type("Gox<Esc>")
    result, failed = editor.lua(
        "local r, f = require('openbuffer').call_sync('Read', { filePath = ... }) return { r, f or vim.NIL }", str(file)
    )
    assert failed is None
    assert "4\tx" in result["data"]["output"]
    text = editor.lua("return require('openbuffer').text_of(...)", result)
    assert text == result["data"]["output"]
    tools = editor.lua("return require('openbuffer').tools_sync()")
    assert "Read" in [tool["name"] for tool in tools]
    editor.lua(
        "require('openbuffer').call('Read', { filePath = ... }, function(f, r) answer = { f or vim.NIL, r } end)",
        str(file),
    )
    wait_for(lambda: editor.lua("return answer ~= nil"), "the answer")
    assert "4\tx" in editor.lua("return answer")[1]["data"]["output"]
    hard = editor.lua("return require('openbuffer').call_sync('Nope')")
    assert hard["isError"] is True
    assert "Nope" in editor.lua("return require('openbuffer').text_of(...)", hard)


def test_a_synchronous_call_ends_in_time_and_is_cancelled(editor: PluginNeovim, folder: Path) -> None:
    opened(editor, folder)
    code = (
        "local r, f = require('openbuffer').call_sync('Bash', { command = 'sleep 60' }, { timeout_ms = 300 }) return f"
    )
    assert "no answer within 300 ms" in editor.lua(code)
    wait_for(lambda: editor.lua("return #require('openbuffer.calls').running()") == 0, "the end of the call")


def test_a_server_that_dies_ends_its_calls_and_the_next_call_starts_another(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / "a.txt"
    file.write_text("a\n")
    with PluginNeovim(tmp_path / "home", tmp_path / "work") as editor:
        editor.open(file)
        editor.type("Gonot saved<Esc>")
        notices(editor)
        editor.lua("require('openbuffer').call('Bash', { command = 'sleep 60' }, function(failed) ended = failed end)")
        wait_for(lambda: len(descendants_of(editor.process.pid)) > 1, "the command")
        os.kill(editor.server_pid, 9)
        wait_for(lambda: editor.lua("return ended or ''") != "", "the end of the call")
        assert "the server ended" in editor.lua("return ended")
        result = editor.lua("return require('openbuffer').call_sync('Read', { filePath = 'a.txt' })")
        assert "2\tnot saved" in result["data"]["output"]


# --- what was changed ----------------------------------------------------------------------------------------------


def marked(editor: PluginNeovim, buffer: int = 0) -> list[int]:
    space = editor.api("nvim_create_namespace", "openbuffer.changed")
    return [mark[1] + 1 for mark in editor.api("nvim_buf_get_extmarks", buffer, space, 0, -1, {})]


TEN = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.mark.contract("E8")
def test_the_lines_of_the_last_call_are_marked_until_the_next_one(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, TEN)
    assert editor.edit(file, "line 3\n", "line three\nand more\n").success
    assert marked(editor) == [3, 4]
    assert "▎" in editor.screen()
    assert editor.write(file, TEN.replace("line 2\n", "two\n").replace("line 9\n", "nine\nten\n")).success
    assert marked(editor) == [2, 3, 9, 10]
    editor.command("Openbuffer clear")
    assert marked(editor) == []
    assert "▎" not in editor.screen()


def test_a_change_is_in_the_jump_list_and_the_cursor_is_not_moved(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, TEN)
    assert editor.edit(file, "line 7\n", "line seven\n").success
    assert editor.api("nvim_eval", "line('.')") == 1
    editor.type("<C-o>")
    assert editor.api("nvim_eval", "getline('.')") == "line seven"


def test_the_changes_of_a_session_are_a_quickfix_list(editor: PluginNeovim, folder: Path) -> None:
    file = opened(editor, folder, TEN)
    closed = folder / "closed.txt"
    closed.write_text("x\n")
    editor.lua("require('openbuffer').tools_sync()")
    assert editor.edit(file, "line 7\n", "line seven\n").success
    editor.type("ggOabove<Esc>")
    code = "return require('openbuffer').call_sync('Edit', { filePath = ..., oldString = 'x', newString = 'y' })"
    assert editor.lua(code, str(closed))["isError"] is False
    editor.command("Openbuffer changes")
    found: list[dict[str, Any]] = editor.api("nvim_eval", "getqflist()")
    names = editor.lua(
        "return vim.tbl_map(function(i) return vim.api.nvim_buf_get_name(i.bufnr) end, vim.fn.getqflist())"
    )
    assert [(Path(name).name, item["lnum"]) for name, item in zip(names, found, strict=True)][-2:] == [
        ("a.txt", 8),
        ("closed.txt", 1),
    ]
    assert editor.api("nvim_eval", "getqflist({'title': 1}).title") == "openbuffer: changes"
    editor.command("cclose")


# --- progress ------------------------------------------------------------------------------------------------------


@pytest.mark.contract("B2")
def test_progress_is_in_the_message_area_and_told_to_those_who_listen(editor: PluginNeovim, folder: Path) -> None:
    opened(editor, folder)
    editor.lua(
        "heard = {} vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)"
        " table.insert(heard, event.data.params.value.kind) end })"
    )
    call = editor.begin("Bash", {"command": "echo working on it; sleep 3"})
    editor.wait_for_screen("openbuffer: Bash · working on it")
    assert call.answer().success
    editor.wait_for_screen("done")
    heard = editor.lua("return heard")
    assert (heard[0], heard[-1]) == ("begin", "end")


@pytest.mark.contract("B2")
def test_progress_leaves_the_command_line_alone_and_asks_for_no_key(editor: PluginNeovim, folder: Path) -> None:
    opened(editor, folder)
    call = editor.begin(
        "Bash", {"command": "for i in 1 2 3 4 5 6 7 8; do echo " + "long " * 60 + "$i; sleep 0.2; done"}
    )
    editor.api("nvim_input", ":echo 'typed by me")
    assert call.answer().success
    assert ":echo 'typed by me" in editor.screen()
    editor.type("<Esc>")
    call = editor.begin("Bash", {"command": "for i in 1 2 3 4 5; do echo " + "long " * 60 + "$i; sleep 0.2; done"})
    for _ in range(6):
        editor.command("echomsg 'another message'")
        assert editor.api("nvim_get_mode") == {"mode": "n", "blocking": False}
    assert call.answer().success


# --- set-up and health ---------------------------------------------------------------------------------------------


def test_health_tells_what_works(editor: PluginNeovim, folder: Path) -> None:
    opened(editor, folder)
    editor.command("checkhealth openbuffer")
    text = "\n".join(editor.lines())
    for line in (
        "OK Neovim 0.11",
        "OK found by the option `cmd`",
        "OK openbuffer 0.",
        "running in",
        "OK typed text is sent",
    ):
        assert line in text, text
    assert "ERROR" not in text
    assert "found by the option" in editor.screen()
    editor.command("bwipeout!")


def test_without_a_server_it_is_said_once_and_health_tells_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "work").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "work" / name).write_text("a\n")
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.api("nvim_ui_attach", 100, 40, {"rgb": True})
        editor.lua("vim.opt.runtimepath:append(...) vim.cmd('runtime plugin/openbuffer.lua')", str(PLUGIN))
        notices(editor)
        editor.lua("require('openbuffer').setup()")
        editor.command("edit a.txt")
        editor.command("edit b.txt")
        seen = notices(editor)
        assert len(seen) == 1
        assert ":Openbuffer install" in seen[0]
        editor.command("checkhealth openbuffer")
        text = "\n".join(editor.lines())
        assert "ERROR no server was found" in text
        assert "g:openbuffer_cmd" in text
        failed = editor.lua("local r, f = require('openbuffer').call_sync('Read', {}) return f")
        assert ":Openbuffer install" in failed


def test_installing_asks_with_the_commands_and_a_no_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin")
    (tmp_path / "work").mkdir()
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.lua("vim.opt.runtimepath:append(...) vim.cmd('runtime plugin/openbuffer.lua')", str(PLUGIN))
        notices(editor)
        editor.lua("vim.ui.select = function(items, options, choose) prompt = options.prompt choose(items[2]) end")
        editor.command("Openbuffer install")
        prompt = editor.lua("return prompt")
        assert "-m venv" in prompt or "uv venv" in prompt
        assert "pip install" in prompt.replace(" --quiet", "") or " install " in prompt
        assert str(PLUGIN.parent) in prompt
        assert "not installed, as you wished" in notices(editor)[-1]
        assert not (tmp_path / "home" / "data" / "nvim" / "openbuffer").exists()


FAKE_UV = """#!/bin/sh
echo "$@" >> "$HOME/uv.log"
case "$1" in
  venv) for last in "$@"; do :; done; mkdir -p "$last/bin" ;;
  pip)
    made="$(dirname "$4")/openbuffer"
    printf '#!/bin/sh\\nexec {program} "$@"\\n' > "$made"
    chmod +x "$made" ;;
esac
"""


def test_installing_needs_no_key_but_the_answer_and_ends_with_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "uv").write_text(FAKE_UV.replace("{program}", str(PROGRAM)))
    (programs / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("a\n")
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.api("nvim_ui_attach", 100, 40, {"rgb": True})
        editor.lua("vim.opt.runtimepath:append(...) require('openbuffer').setup({})", str(PLUGIN))
        editor.api("nvim_input", ":silent edit a.txt<CR>:Openbuffer install ~/a wheel.whl<CR>")
        wait_for(lambda: editor.api("nvim_get_mode")["mode"] != "n", "the question")
        editor.api("nvim_input", "1<CR>")
        wait_for(lambda: "installed" in editor.screen(), "the end")
        wait_for(lambda: editor.lua("return #vim.lsp.get_clients({ bufnr = 0 })") == 1, "a session")
        commands = (tmp_path / "home" / "uv.log").read_text().splitlines()
        assert commands[0].startswith("venv ")
        assert commands[1].endswith(f" {tmp_path}/home/a wheel.whl")


def test_an_environment_that_was_made_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    bin_dir = tmp_path / "home" / "data" / "nvim" / "openbuffer" / "venv" / "bin"
    bin_dir.mkdir(parents=True)
    (bin_dir / "openbuffer").symlink_to(PROGRAM)
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / "a.txt"
    file.write_text("a\n")
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.lua("vim.opt.runtimepath:append(...) vim.cmd('runtime plugin/openbuffer.lua')", str(PLUGIN))
        editor.lua("require('openbuffer').setup()")
        editor.command("edit a.txt")
        editor.type("Gox<Esc>")
        result = editor.lua("return require('openbuffer').call_sync('Read', { filePath = 'a.txt' })")
        assert "2\tx" in result["data"]["output"]
        assert "`:Openbuffer install`" in "\n".join(editor.lua("return require('openbuffer.status').lines()"))


@pytest.mark.parametrize("value", ["string", "list"])
def test_a_server_is_named_by_a_global_variable(tmp_path: Path, value: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("a\n")
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.api("nvim_set_var", "openbuffer_cmd", str(PROGRAM) if value == "string" else list(SERVER))
        editor.lua("vim.opt.runtimepath:append(...) vim.cmd('runtime plugin/openbuffer.lua')", str(PLUGIN))
        editor.command('silent Openbuffer call Read {"filePath": "a.txt"}')  # without any set-up
        wait_for(lambda: any("1\ta" in line for line in editor.lines()), "the answer")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"comand": ["x"]}, 'no option "comand"'),
        ({"cmd": "openbuffer"}, "cmd"),
        ({"dialogs": {"select": "often"}}, "dialogs.select"),
        ({"marks": {"sign": 1}}, "marks.sign"),
    ],
)
def test_an_option_that_cannot_be_is_an_error_that_names_it(
    editor: PluginNeovim, options: dict[str, Any], says: str
) -> None:
    said = editor.lua("local _, why = pcall(require('openbuffer.config').set, ...) return tostring(why)", options)
    assert says in said


@pytest.mark.contract("B7")
def test_settings_and_trust_reach_the_server(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("a\n")
    for trusted, allowed in ((True, True), (False, False)):
        config = tmp_path / "config.toml"
        config.write_text('[permissions]\ndeny = []\ndefault = "deny"\n')
        # The progress of a slow call would be drawn over what the server said.
        settings = {"permissions": {"default": "allow"}}
        options = {"workspace_trusted": trusted, "settings": settings, "progress": False}
        home = tmp_path / f"home-{trusted}"
        with PluginNeovim(home, tmp_path / "work", options=options, arguments=("--config", str(config))) as editor:
            assert editor.read(tmp_path / "work" / "a.txt").success is allowed
            told = "\n".join(editor.lua("return require('openbuffer.status').lines()"))
            # Said on one line, for a longer one would wait for a key.
            assert ("The server said: " in told, "whole: :Openbuffer status" in editor.screen()) == (not allowed,) * 2


def test_files_outside_of_the_workspace_are_not_told(editor: PluginNeovim, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.txt").write_text("x\n")
    editor.command(f"edit {tmp_path}/elsewhere.txt")
    assert editor.lua("return #vim.lsp.get_clients({ bufnr = 0 })") == 0
    editor.command("bwipeout!")
