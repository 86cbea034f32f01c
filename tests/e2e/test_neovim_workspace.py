"""Folders and settings of a real Neovim: what its user adds, removes and sets reaches the tools without a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .neovim import Neovim

if TYPE_CHECKING:
    from pathlib import Path

_ADD = "vim.lsp.buf.add_workspace_folder(...)"
_REMOVE = "vim.lsp.buf.remove_workspace_folder(...)"
_SET = """
local client = vim.lsp.get_clients({ name = 'openbuffer' })[1]
client.settings = ...
client:notify('workspace/didChangeConfiguration', { settings = client.settings })
"""
_HINT = """
local client = vim.lsp.get_clients({ name = 'openbuffer' })[1]
client.settings = ...
client:notify('workspace/didChangeConfiguration', { settings = vim.NIL })
"""


@pytest.fixture
def more(tmp_path: Path) -> Path:
    more = tmp_path / "more"
    more.mkdir()
    (more / "b.txt").write_text("text of b\n")
    return more


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("text of a\n")
    return root


@pytest.mark.contract("B2", "B4", "E5")
def test_folders_that_a_user_of_neovim_adds_and_removes(tmp_path: Path, root: Path, more: Path) -> None:
    with Neovim(tmp_path / "home", root) as editor:
        editor.open(root / "a.txt")
        assert "is outside the workspace" in editor.read(more / "b.txt").error
        editor.lua(_ADD, str(more))
        assert "text of b" in editor.read(more / "b.txt").output
        assert str(more) in editor.lua("return vim.lsp.buf.list_workspace_folders()")
        editor.open(more / "b.txt")
        assert editor.edit(more / "b.txt", "text", "word").success
        assert editor.lines() == ["word of b"]
        editor.lua(_REMOVE, str(more))
        assert "is outside the workspace" in editor.edit(more / "b.txt", "word", "text").error
        assert editor.lines() == ["word of b"]
        assert "text of a" in editor.read(root / "a.txt").output


@pytest.mark.contract("B2", "B4", "B7", "X5")
def test_settings_of_neovim_are_asked_for_and_told(tmp_path: Path, root: Path) -> None:
    with Neovim(tmp_path / "home", root) as editor:
        editor.open(root / "a.txt")
        assert editor.read(root / "a.txt").success, "nothing is set, which Neovim answers with null"
        editor.lua(_HINT, {"openbuffer": {"permissions": {"deny": ["Read(a.txt)"]}}})
        assert "is not permitted" in editor.read(root / "a.txt").error
        editor.lua(_SET, {"openbuffer": {"permissions": {"deny": []}}})
        assert editor.read(root / "a.txt").success
        editor.lua(_HINT, {"openbuffer": {"permissions": {"deny": ["FILE_READ"]}}})
        assert not editor.read(root / "a.txt").success
        editor.lua(_HINT, {"other": {}})
        assert editor.read(root / "a.txt").success
