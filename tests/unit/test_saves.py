"""What the editor saves is told to whoever asked for it; for that the disk is never looked at on the event loop."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.bridge.client_facts import read_client_facts
from openbuffer.bridge.handlers.did_open import did_open
from openbuffer.bridge.handlers.did_save import did_save
from openbuffer.bridge.saves import Saves
from openbuffer.bridge.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.bridge.client_facts import ClientFacts
    from openbuffer.editor_access.lsp import LspClient


class Desk:
    """A session whose saves are told here."""

    def __init__(self, root: Path) -> None:
        self.told: list[tuple[str, bytes]] = []
        self.came = anyio.Event()
        self._loop = asyncio.get_running_loop()
        loop = threading.get_ident()
        self.is_loop = lambda: threading.get_ident() == loop
        saves = Saves()
        saves.tell_to(self._tell)
        self.session = Session(
            create_executor=lambda _roots, _editor: pytest.fail("no tools are needed"),
            create_client=_no_client,
            send_progress=lambda _params: None,
            saves=saves,
        )
        self.session.begin(read_client_facts({"rootUri": root.as_uri()}))

    def open(self, path: Path, text: str) -> None:
        document = {"uri": path.as_uri(), "version": 1, "text": text}
        did_open(self.session, {"textDocument": document})

    def save(self, path: Path) -> None:
        did_save(self.session, {"textDocument": {"uri": path.as_uri()}})

    def _tell(self, path: str, content: bytes) -> None:
        assert not self.is_loop()
        self.told.append((path, content))
        self._loop.call_soon_threadsafe(self.came.set)


def _no_client(_facts: ClientFacts) -> LspClient:
    return None  # type: ignore[return-value]


@pytest.mark.contract("B3")
async def test_a_protected_file_saved_through_a_link_is_told_by_its_own_name_with_no_look_at_the_disk_on_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "settings").symlink_to(tmp_path / ".git" / "config")
    desk = Desk(tmp_path)
    desk.open(tmp_path / "settings", "[core]\n")
    desk.open(tmp_path / "plain", "text")
    looks_on_loop: list[str] = []
    for name in ("stat", "lstat"):
        real = getattr(os, name)

        def look(path: object, *more: object, real: object = real, **options: object) -> object:
            if desk.is_loop():
                looks_on_loop.append(str(path))
            return real(path, *more, **options)  # type: ignore[operator]

        monkeypatch.setattr(os, name, look)
    desk.save(tmp_path / "plain")
    desk.save(tmp_path / "settings")
    with anyio.fail_after(10):
        await desk.came.wait()
    assert desk.told == [(str(tmp_path / ".git" / "config"), b"[core]\n")]
    assert looks_on_loop == []
