"""Real Neovim, no plugin: the server lives and dies with its editor, and leaves nothing behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..processes import descendants_of
from .neovim import Neovim, wait_until_gone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.editor
GONE_WITHIN_S = 10


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("a\nb\n")
    return root


@pytest.fixture
def editor(tmp_path: Path, root: Path) -> Iterator[Neovim]:
    with Neovim(tmp_path / "home", root) as editor:
        editor.open(root / "a.txt")
        assert editor.read(root / "a.txt").success
        yield editor


@pytest.mark.contract("B3", "B4")
def test_an_editor_that_is_killed_takes_its_server_with_it(editor: Neovim) -> None:
    processes = [editor.server_pid, *descendants_of(editor.server_pid)]
    editor.kill()
    assert wait_until_gone(processes, GONE_WITHIN_S) == []


@pytest.mark.contract("B3", "B4")
def test_an_editor_that_is_killed_in_the_middle_of_a_call_takes_its_server_with_it(editor: Neovim, root: Path) -> None:
    processes = [editor.server_pid, *descendants_of(editor.server_pid)]
    arguments = {"filePath": str(root / "a.txt"), "oldString": "a", "newString": "A"}
    editor.begin_then_type("Edit", arguments, "Gotyped<Esc>")
    editor.kill()
    assert wait_until_gone(processes, GONE_WITHIN_S) == []
    assert (root / "a.txt").read_text() == "a\nb\n"


@pytest.mark.contract("B3", "B4")
@pytest.mark.parametrize("when", ["idle", "during a call"])
def test_leaving_with_qa_bang_ends_the_server(editor: Neovim, root: Path, when: str) -> None:
    processes = [editor.server_pid, *descendants_of(editor.server_pid)]
    if when == "during a call":
        arguments = {"filePath": str(root / "a.txt"), "oldString": "a", "newString": "A"}
        editor.begin_then_type("Edit", arguments, "Gotyped<Esc>")
    editor.post("nvim_input", ":qa!<CR>")
    editor.process.wait(GONE_WITHIN_S)
    assert wait_until_gone(processes, GONE_WITHIN_S) == []
    assert (root / "a.txt").read_text() == "a\nb\n"


@pytest.mark.contract("B3", "B4")
@pytest.mark.parametrize("force", [False, True])
def test_stopping_the_client_ends_the_server_and_the_editor_goes_on(editor: Neovim, force: bool) -> None:
    processes = [editor.server_pid, *descendants_of(editor.server_pid)]
    editor.lua("vim.lsp.get_clients({ name = 'openbuffer' })[1]:stop(...)", force)
    assert editor.client_exited.wait(GONE_WITHIN_S)
    assert wait_until_gone(processes, GONE_WITHIN_S) == []
    editor.type("ostill here<Esc>")
    assert editor.lines() == ["a", "still here", "b"]


@pytest.mark.contract("B3", "B4")
def test_a_client_that_is_started_again_sees_the_unsaved_text(editor: Neovim, root: Path) -> None:
    editor.type("ccunsaved<Esc>")
    editor.lua("vim.lsp.get_clients({ name = 'openbuffer' })[1]:stop()")
    assert editor.client_exited.wait(GONE_WITHIN_S)
    editor.ready.clear()
    editor.lua("vim.cmd('doautocmd BufReadPost')")
    assert editor.ready.wait(GONE_WITHIN_S), editor.log()
    assert "1\tunsaved" in editor.read(root / "a.txt").output
