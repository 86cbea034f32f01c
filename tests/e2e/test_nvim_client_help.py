"""``:help openbuffer`` is made of the plugin's annotations, complete, and its example for another plugin runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from openbuffer.bridge import protocol
from openbuffer.bridge.protocol import PROTOCOL_VERSION
from openbuffer.editor_access import client_requests
from openbuffer.editor_access.client_requests import ClientCapabilities

from .neovim import require_nvim, wait_for
from .nvim_client import PLUGIN, PluginNeovim

pytestmark = [pytest.mark.editor, pytest.mark.contract("B4")]

_CODECOMPANION = """
package.preload.codecompanion = function()
  return { setup = function(options) given = options.interactions.chat.tools end }
end
dofile(...)
"""
"""A stand-in that keeps what it is given, and calls it below as codecompanion.nvim 19 does."""

_RUN_TOOL = """
local name, arguments = ...
local tool = given[name].callback()
local chat = { add_tool_output = function(_, _, text) told = text end }
tool.cmds[1]({}, arguments, { output_cb = function(message)
  tool.output[message.status](tool, { message.data }, { tools = { chat = chat } })
end })
"""


def test_the_help_is_as_the_annotations_are_now() -> None:
    made = subprocess.run(
        [require_nvim(), "--clean", "--headless", "-l", str(PLUGIN / "scripts" / "vimdoc.lua"), "--print"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    kept = (PLUGIN / "doc" / "openbuffer.txt").read_text()
    assert made.stdout == kept, "make it anew: nvim --clean --headless -l nvim-client/scripts/vimdoc.lua"
    assert "{{" not in kept
    prose = [line for line in kept.splitlines() if not line.startswith("    ")]
    assert [line for line in prose if len(line) > 79] == []


def test_the_help_is_found_without_making_tags_first(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.lua("vim.opt.runtimepath:append(...)", str(PLUGIN))
        editor.command("help openbuffer-options")
        assert editor.option("filetype") == "help"
        copy = tmp_path / "doc"
        copy.mkdir()
        (copy / "openbuffer.txt").write_text((PLUGIN / "doc" / "openbuffer.txt").read_text())
        editor.command(f"helptags {copy}")
    made = (copy / "tags").read_text()
    assert made == (PLUGIN / "doc" / "tags").read_text(), "make them anew, as the help"


def test_a_plugin_that_is_loaded_late_has_its_command(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.lua("vim.opt.runtimepath:append(...) require('openbuffer').setup({})", str(PLUGIN))
        assert "Server: " in "\n".join(
            editor.lua("vim.cmd('Openbuffer') return vim.api.nvim_buf_get_lines(0, 0, -1, true)")
        )


def test_the_plugin_speaks_the_protocol_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.lua("vim.opt.runtimepath:append(...)", str(PLUGIN))
        ours = editor.lua("return require('openbuffer.protocol')")
    assert ours["CAPABILITIES"] == {
        name: PROTOCOL_VERSION if name == "protocolVersion" else True for name in ClientCapabilities.__annotations__
    }
    methods = {name: value for name, value in ours.items() if isinstance(value, str)}
    theirs = {**vars(client_requests), **vars(protocol)}
    assert {name: theirs[name] for name in methods} == methods


def test_help_is_found_and_names_every_command(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    copy = tmp_path / "plugin"
    copy.mkdir()
    for name in ("lua", "plugin"):
        (copy / name).symlink_to(PLUGIN / name)
    (copy / "doc").mkdir()
    (copy / "doc" / "openbuffer.txt").write_text((PLUGIN / "doc" / "openbuffer.txt").read_text())
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.lua("vim.opt.runtimepath:append(...) vim.cmd('runtime plugin/openbuffer.lua')", str(copy))
        editor.command(f"helptags {copy}/doc")  # fails where a tag is there twice
        for tag in ("openbuffer", ":Openbuffer", "openbuffer.call()", "openbuffer.dialogs.select", "g:openbuffer_cmd"):
            editor.command(f"help {tag}")
            assert editor.option("filetype") == "help"
        text = "\n".join(editor.lines())
        names = editor.api("nvim_call_function", "getcompletion", ["Openbuffer ", "cmdline"])
        assert len(names) == 9
        for name in names:
            assert f":Openbuffer {name}" in text or name == "status"


def test_the_example_for_codecompanion_hands_over_every_tool(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    file = tmp_path / "work" / "a.txt"
    file.write_text("a\n")
    with PluginNeovim(tmp_path / "home", tmp_path / "work") as editor:
        editor.open(file)
        editor.type("Gotyped<Esc>")
        editor.lua(_CODECOMPANION, str(PLUGIN / "scripts" / "codecompanion.lua"))
        names = editor.lua("return given.groups.openbuffer.tools")
        assert {"Read", "Edit", "Write", "Grep"} <= set(names)
        schema = editor.lua("return given.Read.callback().schema['function']")
        assert schema["name"] == "Read"
        assert "filePath" in schema["parameters"]["properties"]
        for arguments, text in (({"filePath": "a.txt"}, "2\ttyped"), ({"filePath": "missing.txt"}, "missing.txt")):
            editor.lua("told = nil")
            editor.lua(_RUN_TOOL, "Read", arguments)
            wait_for(lambda: editor.lua("return told or ''") != "", "the answer")
            assert text in editor.lua("return told")


def test_a_new_user_follows_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (PLUGIN.parent / "README.md").read_text().partition("### In Neovim, with the plugin")[2]
    init, ask = (readme.split(f"```{language}\n")[1].partition("```")[0] for language in ("lua", "vim"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    config = tmp_path / "home" / "config" / "nvim"
    config.mkdir(parents=True)
    (config / "init.lua").write_text(init.replace("/path/to/openbuffer/nvim-client", str(PLUGIN)))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("a\n")
    with PluginNeovim(tmp_path / "home", tmp_path / "work", server=None) as editor:
        editor.command("runtime! plugin/**/*.lua")
        editor.command(f"source {config}/init.lua")
        editor.command("runtime plugin/openbuffer.lua")  # as 'runtimepath' has it by now
        editor.command("edit a.txt")
        editor.type("Gonot saved<Esc>")
        editor.command(ask.strip().removeprefix(":"))
        wait_for(lambda: any("2\tnot saved" in line for line in editor.lines()), "the answer")
