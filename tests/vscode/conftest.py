"""One editor for all tests of a process. Nothing here builds it: without it the tests are skipped, and say how to."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..chromium import FLAGS
from . import editor_tree, vsix
from .browser import Browser
from .client_server import ClientServer
from .client_window import ClientWindow

if TYPE_CHECKING:
    from collections.abc import Iterator

_numbers = itertools.count(1)


def _why_not() -> str:
    """What is missing; empty where nothing is."""
    if not editor_tree.is_built():
        return "VS Code is not built here: python tests/vscode/editor_tree.py"
    if shutil.which("chromium") is None:
        return "there is no Chromium here: apt-get install chromium"
    return vsix.why_not_packaged()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if item.get_closest_marker("vscode")]
    if here and (reason := _why_not()):
        for item in here:
            item.add_marker(pytest.mark.skip(reason=reason))
    for item in here:
        # The first one starts the editor.
        if not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    pytest.importorskip("playwright", reason="playwright is missing; the test extra has it")
    program = shutil.which("chromium")
    assert program is not None
    browser = Browser(program, FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def server() -> Iterator[ClientServer]:
    """The editor, with the extension.

    Its directory has a short name: what the extension shows on one line, such as a rule, depends on how long it is.
    """
    with tempfile.TemporaryDirectory(prefix="vs-", ignore_cleanup_errors=True) as home:
        server = ClientServer(Path(home).resolve())
        server.start()
        yield server
        server.stop()
        assert not server.left_behind
        assert not server.processes()


@pytest.fixture(scope="module")
def window(server: ClientServer, browser: Browser) -> Iterator[ClientWindow]:
    """A window of the module's own, on a folder of its own; there are no rules."""
    root = server.home / f"work{next(_numbers)}"
    root.mkdir()
    server.set_config("")
    window = ClientWindow(server, browser, root).open().wait_until_running()
    yield window
    window.close()


@pytest.fixture
def folder(window: ClientWindow) -> Iterator[Path]:
    """A folder of the test's own in the workspace; nothing stays open."""
    folder = window.place / f"test{next(_numbers)}"
    folder.mkdir()
    window.dismiss()
    yield folder
    window.close_editors()
