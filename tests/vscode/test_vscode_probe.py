"""The harness itself: what it says of the editor is so, before anything is said of the extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .code_server import CodeServer
from .vsix import pack_probe
from .window import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .browser import Browser

pytestmark = pytest.mark.vscode


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Window]:
    home = tmp_path_factory.mktemp("bare")
    (home / "work").mkdir()
    server = CodeServer(home, extensions=[pack_probe(home)])
    server.start()
    try:
        window = Window(server, browser, home / "work").open()
        yield window
        window.close()
    finally:
        server.stop()
    assert server.processes() == set()


@pytest.mark.timeout(180)
def test_what_is_typed_is_in_the_document_and_not_on_disk(window: Window) -> None:
    file = window.place / "a b.txt"
    file.write_text("one\n")
    window.show(file)
    window.type_at_end("two_é😋")
    window.wait_for_text(file, "one\ntwo_é😋")
    assert window.is_dirty(file)
    assert file.read_text() == "one\n"
    window.save(file)
    assert file.read_text() == "one\ntwo_é😋"
    window.press("Control+z")
    window.wait_for_text(file, "one\n")
