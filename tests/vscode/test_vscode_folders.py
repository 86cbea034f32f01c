"""Real VS Code with several folders, which come and go; and which documents the server hears of at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .client_window import ClientWindow
from .window import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .browser import Browser
    from .client_server import ClientServer

pytestmark = [pytest.mark.vscode, pytest.mark.contract("B4")]

_ADD = """
const at = vscode.workspace.workspaceFolders.length;
return vscode.workspace.updateWorkspaceFolders(at, 0, {uri: vscode.Uri.file(args[0])});
"""
_REMOVE = """
const at = vscode.workspace.workspaceFolders.findIndex((folder) => folder.uri.fsPath === args[0]);
return vscode.workspace.updateWorkspaceFolders(at, 1);
"""


@pytest.fixture(scope="module")
def home(server: ClientServer) -> Path:
    """Directories one, two and three, each with a file a.txt that tells which."""
    home = server.home / "several"
    for name in ("one", "two", "three"):
        (home / name).mkdir(parents=True)
        (home / name / "a.txt").write_text(f"in {name}\nlast\n")
    return home


@pytest.fixture(scope="module")
def folders(server: ClientServer, browser: Browser, home: Path) -> Iterator[ClientWindow]:
    """A window on the first two."""
    file = home / "several.code-workspace"
    file.write_text(json.dumps({"folders": [{"path": str(home / "one")}, {"path": str(home / "two")}]}))
    server.set_config("")
    window = ClientWindow(server, browser, file)
    window.open()
    window.wait_until_running()
    yield window
    window.close()


@pytest.mark.contract("B2", "E10")
def test_unsaved_documents_of_every_folder_are_read_and_changed(folders: ClientWindow, home: Path) -> None:
    for name in ("one", "two"):
        file = home / name / "a.txt"
        folders.show(file)
        folders.type_at_end(f"typed {name}")
        assert f"typed {name}" in folders.read(file).output
        assert folders.edit(file, "last", "LAST").success
        folders.wait_for_text(file, f"in {name}\nLAST\ntyped {name}")
        assert file.read_text() == f"in {name}\nlast\n"
    assert "typed one" in folders.read("a.txt").output
    folders.close_editors()


@pytest.mark.contract("B2")
def test_a_folder_that_is_added_is_in_reach_and_one_that_is_removed_is_not(folders: ClientWindow, home: Path) -> None:
    file = home / "three" / "a.txt"
    assert not folders.read(file).success
    assert folders.js(_ADD, str(home / "three"))
    wait_for(lambda: folders.read(file).success, "the folder to be in reach")
    folders.show(file)
    folders.type_at_end("typed")
    assert "typed" in folders.read(file).output
    assert folders.js(_REMOVE, str(home / "three"))
    wait_for(lambda: not folders.read(file).success, "the folder to be out of reach")
    folders.close_editors()


@pytest.mark.contract("E6")
def test_the_server_hears_of_documents_of_files_alone(folders: ClientWindow, server: ClientServer, home: Path) -> None:
    since = len(server.wire())
    folders.js("await vscode.workspace.openTextDocument({content: 'without a name'})")
    folders.command("workbench.action.output.toggleOutput")
    file = home / "two" / "new.txt"
    file.write_text("new\n")
    folders.show(file)

    def opened() -> list[str]:
        return [params["textDocument"]["uri"] for params in server.requests("textDocument/didOpen", since)]

    wait_for(opened, "the file to be told")
    assert {uri.split(":", 1)[0] for uri in opened()} == {"file"}
    assert file.as_uri() in opened()
    folders.close_editors()
