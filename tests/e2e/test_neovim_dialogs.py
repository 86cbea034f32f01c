"""Real Neovim, no plugin: its user is asked by ``vim.ui.select``, and sees the progress of calls that last."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from .neovim import Neovim, wait_for, wait_until_gone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.editor, pytest.mark.contract("B4")]

_PICKER = """
-- A picker that does not block, as plugins have them: it keeps what it was asked until a test chooses.
_G.asked, _G.pending = {}, {}
vim.ui.select = function(items, options, on_choice)
  local shown = {}
  for _, item in ipairs(items) do table.insert(shown, (options.format_item(item))) end
  table.insert(_G.asked, { prompt = options.prompt, kind = options.kind, items = shown })
  table.insert(_G.pending, function(title)
    for number, item in ipairs(items) do
      if shown[number] == title then return on_choice(item, number) end
    end
    on_choice(nil, nil)
  end)
end
"""

_PROGRESS = """
_G.progress = {}
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event) table.insert(_G.progress, event.data.params) end,
})
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    directory = tmp_path_factory.mktemp("nvim").resolve()
    config = directory / "home" / "config" / "openbuffer" / "openbuffer.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\ndefault = { FILE_WRITE = "ask" }\n')
    root = directory / "work"
    root.mkdir()
    with Neovim(directory / "home", root) as editor:
        editor.lua(_PROGRESS)
        yield editor


@pytest.fixture
def file(editor: Neovim, tmp_path: Path) -> Iterator[Path]:
    folder = editor.root / tmp_path.name
    folder.mkdir()
    path = folder / "a.txt"
    path.write_text("one\ntwo\n")
    editor.lua(_PICKER)
    editor.open(path)
    yield path
    editor.wipe_all()


def asked(editor: Neovim, number: int = 1) -> dict[str, Any]:
    """The dialog of this number, once it is there."""
    wait_for(lambda: editor.lua("return #_G.asked") >= number, f"dialog {number}")
    return editor.lua("return _G.asked[...]", number)


def choose(editor: Neovim, title: str, number: int = 1) -> None:
    editor.lua("local number, title = ... _G.pending[number](title)", number, title)


def edit(path: Path) -> dict[str, Any]:
    return {"filePath": str(path), "oldString": "one", "newString": "ONE"}


@pytest.mark.contract("X4", "B2")
def test_a_permission_is_a_choice_and_what_is_typed_meanwhile_survives_it(editor: Neovim, file: Path) -> None:
    call = editor.begin("Edit", edit(file))
    shown = asked(editor)
    assert shown["kind"] == "lsp_message"
    assert f"Edit wants to change {file} in 1 place (-1 +1 lines)" in shown["prompt"]
    assert "- one\n+ ONE" in shown["prompt"]
    assert shown["items"] == ["Deny", "Allow once", "Allow for this session", "Always allow"]
    editor.type("Gotyped<Esc>")
    assert editor.read(file).success, "others go on while somebody is asked"
    choose(editor, "Allow once")
    assert call.answer().success
    assert editor.lines() == ["ONE", "two", "typed"]


@pytest.mark.contract("X4", "B2")
@pytest.mark.parametrize(
    ("title", "says"), [("Deny", "did not approve"), ("<Esc>", "closed the question")], ids=["deny", "escape"]
)
def test_deny_and_escape_change_nothing_and_differ(editor: Neovim, file: Path, title: str, says: str) -> None:
    call = editor.begin("Edit", edit(file))
    asked(editor)
    choose(editor, title)
    answer = call.answer()
    assert answer.is_hard_error
    assert says in answer.error
    assert editor.lines() == ["one", "two"]


@pytest.mark.contract("X4", "B2")
def test_one_dialog_comes_after_the_other(editor: Neovim, file: Path) -> None:
    calls = [editor.begin("Edit", edit(file))]
    asked(editor)
    (file.parent / "b.txt").write_text("one\n")
    calls.append(editor.begin("Edit", edit(file.parent / "b.txt")))
    assert editor.read(file).success
    assert editor.lua("return #_G.asked") == 1
    choose(editor, "Deny")
    assert calls[0].answer().is_hard_error
    assert "b.txt" in asked(editor, 2)["prompt"]
    choose(editor, "Allow once", 2)
    assert calls[1].answer().success
    assert (file.parent / "b.txt").read_text() == "ONE\n"


@pytest.mark.contract("X4", "T6")
def test_the_answer_to_a_cancelled_call_comes_too_late_to_do_anything(editor: Neovim, file: Path) -> None:
    editor.begin("Edit", edit(file))
    asked(editor)
    editor.lua(
        "local client = vim.lsp.get_clients({ name = 'openbuffer' })[1] "
        "for id, request in pairs(client.requests) do client:cancel_request(id) end"
    )
    assert editor.read(file).success
    choose(editor, "Allow once")
    assert "one" in editor.read(file).output
    assert editor.lines() == ["one", "two"]


@pytest.mark.contract("X4", "B2")
def test_the_choice_that_neovim_has_without_any_plugin_can_be_made(editor: Neovim, file: Path) -> None:
    editor.lua("_G.inputs = {} vim.fn.inputlist = function(lines) table.insert(_G.inputs, lines) return 2 end")
    editor.lua("dofile(vim.env.VIMRUNTIME .. '/lua/vim/ui.lua').select = nil")
    editor.lua("vim.ui.select = dofile(vim.env.VIMRUNTIME .. '/lua/vim/ui.lua').select")
    assert editor.call("Edit", edit(file)).success
    lines = editor.lua("return _G.inputs[1]")
    assert lines[1:] == ["1: Deny", "2: Allow once", "3: Allow for this session", "4: Always allow"]
    assert editor.lines() == ["ONE", "two"]


@pytest.mark.contract("W3", "B2")
def test_a_question_is_a_choice_among_its_options(editor: Neovim, file: Path) -> None:
    assert file.exists()
    question = {"question": "Which colour?", "options": ["red", {"label": "blue", "description": "like the sky"}]}
    call = editor.begin("AskUserQuestion", {"questions": [question]})
    shown = asked(editor)
    assert shown["prompt"] == "The agent asks: Which colour?\n  blue: like the sky: "
    assert shown["items"] == ["red", "blue"]
    choose(editor, "blue")
    assert '"answers":["blue"]' in call.answer().output.replace(" ", "")


@pytest.mark.contract("B2", "T6")
def test_a_command_that_lasts_is_seen_at_work_and_stopped_at_its_progress(editor: Neovim, file: Path) -> None:
    os.mkfifo(file.parent / "hold")
    line = "echo $$ >pid; echo working on it; exec cat hold"
    editor.lua("_G.progress = {}")
    editor.begin("Shell", {"command": line, "workingDirectory": str(file.parent)})
    seen = "return vim.iter(_G.progress):any(function(each) return each.value.message == 'working on it' end)"
    wait_for(lambda: editor.lua(seen), "progress")
    begun = editor.lua("return _G.progress[1]")
    assert (begun["value"]["kind"], begun["value"]["title"]) == ("begin", "Shell")
    editor.lua(
        "vim.lsp.get_clients({ name = 'openbuffer' })[1]:notify('window/workDoneProgress/cancel', { token = ... })",
        begun["token"],
    )
    # Neovim tells nobody of an answer that says "cancelled".
    wait_for(lambda: editor.lua("return _G.progress[#_G.progress].value.kind") == "end", "the end of the progress")
    assert wait_until_gone([int((file.parent / "pid").read_text())], 10) == []
