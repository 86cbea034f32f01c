"""Real VS Code with the .vsix alone: the server is installed from it, with consent. A workspace is not trusted."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from .client_server import ClientServer
from .client_window import ClientWindow
from .code_server import CodeServer
from .vsix import pack_probe, packaged_extension
from .window import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .browser import Browser

pytestmark = [pytest.mark.vscode, pytest.mark.contract("B4")]

INSTALL_S = 300.0
TOAST = ".notifications-toasts .notification-toast"
DIALOG = ".monaco-dialog-box"


PYTHON_EXTENSION = """
exports.activate = () => ({environments: {
  getActiveEnvironmentPath: () => ({id: 'active', path: process.env.TESTS_ACTIVE_PYTHON}),
  resolveEnvironment: async ({path}) => ({executable: {uri: require('vscode').Uri.file(path)}}),
}});
"""


def pack_python_extension(directory: Path) -> Path:
    """What stands for the Python extension: it knows one environment, which is active."""
    about = {
        "name": "python",
        "publisher": "ms-python",
        "version": "9.0.0",
        "engines": {"vscode": "^1.101.0"},
        "main": "./m.js",
        "activationEvents": [],
    }
    package = directory / "python.vsix"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("extension/package.json", json.dumps(about))
        archive.writestr("extension/m.js", PYTHON_EXTENSION)
    return package


def make_environment(directory: Path) -> Path:
    """A Python environment that has the server; its interpreter."""
    programs = directory / "bin"
    programs.mkdir(parents=True)
    for name, command in (("python", ""), ("openbuffer", "-P -m openbuffer.bridge ")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command}"$@"\n')
        (programs / name).chmod(0o755)
    return programs / "python"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[CodeServer]:
    """An editor with the extension, where no server of openbuffer is on PATH or in an environment.

    With the parameter "python" there is one in an environment of the workspace, the Python extension's active one.
    """
    directories = os.environ["PATH"].split(os.pathsep)
    path = os.pathsep.join(each for each in directories if not os.path.exists(os.path.join(each, "openbuffer")))
    monkeypatch.setenv("PATH", path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    package = packaged_extension()
    assert package is not None
    home = tmp_path / "editor"
    extensions = [pack_probe(tmp_path), package]
    if getattr(request, "param", "") == "python":
        extensions.append(pack_python_extension(tmp_path))
        monkeypatch.setenv("TESTS_ACTIVE_PYTHON", str(make_environment(home / "work" / ".venv")))
    server = CodeServer(home, extensions=extensions)
    server.start()
    yield server
    server.stop()
    assert not server.left_behind


@pytest.mark.parametrize("bare", ["python"], indirect=True)
def test_the_server_of_the_active_python_environment_is_found(bare: CodeServer, browser: Browser) -> None:
    folder = bare.home / "work"
    window = ClientWindow(bare, browser, folder)
    window.open()
    try:
        window.wait_until_running()
        assert window.api("return api.server.from") == "the active Python environment"
        assert window.api("return api.server.command[0]") == str(folder / ".venv" / "bin" / "openbuffer")
        assert window.call("ListDir", path=".").success
    finally:
        window.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_server_is_installed_from_the_package_with_consent_and_works(bare: CodeServer, browser: Browser) -> None:
    """Downloads what the server needs, as pip does for its user."""
    folder = bare.home / "work"
    folder.mkdir()
    file = folder / "a.txt"
    file.write_text("one\ntwo\n")
    window = ClientWindow(bare, browser, folder)
    window.open()
    try:
        wait_for(lambda: window.api("return api.serverState") == "failed", "the want of a server to be told")
        assert "needs its server" in window.see(f"{TOAST}:has-text('openbuffer')")
        window.click(f"{TOAST} .monaco-button:has-text('Install Server')")
        asked = window.see(DIALOG)
        assert "environment of its own" in asked
        assert ".whl" in asked
        window.click(f"{DIALOG} .monaco-button:has-text('Install')")
        wait_for(lambda: window.api("return api.serverState") == "running", "the installation", INSTALL_S)
        assert window.api("return api.server.from") == "the environment of this extension"
        window.show(file)
        window.type_at_end("typed")
        assert "typed" in window.read(file).output
        assert window.edit(file, "two", "TWO").success
        window.wait_for_text(file, "one\nTWO\ntyped")
    finally:
        window.close()


@pytest.mark.contract("B4")
def test_without_consent_nothing_is_installed(bare: CodeServer, browser: Browser) -> None:
    folder = bare.home / "work"
    folder.mkdir()
    window = ClientWindow(bare, browser, folder)
    window.open()
    try:
        wait_for(lambda: window.api("return api.serverState") == "failed", "the want of a server to be told")
        answer = window.read("a.txt")
        assert answer.is_hard_error
        assert "did not find it" in answer.error
        window.click(f"{TOAST} .monaco-button:has-text('Install Server')")
        window.see(DIALOG)
        window.press("Escape")
        window.gone(DIALOG)
        assert window.api("return api.serverState") == "failed"
        assert not list((bare.home / "data").rglob("openbuffer-ready"))
        assert not list((bare.home / "data").rglob("pyvenv.cfg"))
    finally:
        window.close()


@pytest.fixture
def careful(tmp_path: Path) -> Iterator[ClientServer]:
    """An editor that trusts no workspace until its user says so."""
    (home := tmp_path / "editor").mkdir()
    server = ClientServer(home)
    settings = server.home / "data" / "User" / "settings.json"
    trust = {"security.workspace.trust.enabled": True, "security.workspace.trust.banner": "never"}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **trust}))
    server.start()
    yield server
    server.stop()
    assert not server.left_behind


@pytest.mark.contract("B7", "X4")
def test_a_workspace_that_is_not_trusted_changes_nothing_and_chooses_nothing(
    careful: ClientServer, browser: Browser
) -> None:
    folder = careful.home / "work"
    (folder / ".vscode").mkdir(parents=True)
    evil = folder / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {folder}/was-run\n")
    evil.chmod(0o755)
    settings = {"openbuffer.server.command": str(evil), "openbuffer.permissions.allow": ["Write"]}
    (folder / ".vscode" / "settings.json").write_text(json.dumps(settings))
    file = folder / "a.txt"
    file.write_text("one\n")
    window = ClientWindow(careful, browser, folder)
    window.open()
    try:
        window.wait_until_running()
        names = window.api("return (await api.tools()).map((tool) => tool.name)")
        assert "Read" in names
        assert not {"Write", "Edit", "Shell"} & set(names)
        window.show(file)
        window.type_at_end("typed")
        assert "typed" in window.read(file).output
        answer = window.write(file, "of the agent\n")
        assert answer.is_hard_error
        assert "trust" in answer.error
        window.command("workbench.trust.manage")
        window.click(".workspace-trust-editor .monaco-button:has-text('Trust')")
        wait_for(lambda: "Write" in window.api("return (await api.tools()).map((tool) => tool.name)"), "the trust")
        assert window.edit(file, "one", "ONE").success
        assert not (folder / "was-run").exists()
        assert window.api("return api.server.command[0]") != str(evil)
    finally:
        window.close()
