"""The demo's headless editor: the in-memory editor and its user, connected to a real server process over LSP.

It treats a stale edit as Neovim does: the edit is skipped and answered ``applied: true``.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient, Temperament

from ..client import BridgeClient, ToolAnswer
from .demo_stage import Buffer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from openbuffer.editor_access.text import PositionEncoding

LIKE_NEOVIM: Final = Temperament(stale="skipped", answer="true", tells_typing="when_flushed", tells_edit="when_flushed")
TELLS_AFTER_S: Final = 0.1
"""How long after a change the server hears of it, unless a request of the editor's own goes out before."""


@asynccontextmanager
async def open_headless(file: Path) -> AsyncGenerator[HeadlessEditor, None]:
    """Start the server with this file open; end it afterwards."""
    editor = HeadlessEditor()
    async with BridgeClient([file.parent], handlers={"workspace/applyEdit": editor.apply_edit}) as bridge:
        editor.connect(bridge)
        editor.open(file)
        try:
            yield editor
        finally:
            editor.disconnect()


class HeadlessEditor:
    """One editor, one user, one connection; also the sink of what the in-memory editor tells its server."""

    name = "a headless editor"

    def __init__(self) -> None:
        self._memory = MemoryEditor()
        self._converter = get_converter()
        self._apply_answers: list[Mapping[str, Any]] = []

    def connect(self, bridge: BridgeClient) -> None:
        """Be a client of this server from now on."""
        self.process_ids = (bridge.pid,)
        self._bridge = bridge
        encoding = cast("PositionEncoding", bridge.server_capabilities.get("positionEncoding", "utf-16"))
        self._client = MemoryLanguageClient(self._memory, encoding=encoding, temperament=LIKE_NEOVIM)
        self._client.connect(self)

    def disconnect(self) -> None:
        """Tell the server nothing any more."""
        self._client.disconnect()

    def open(self, path: Path) -> None:
        """Show the file."""
        self._memory.open(str(path), version=1)

    async def type_over(self, path: Path, line: int, text: str) -> None:
        """See DemoEditor."""
        self._type_over(path, line, text)

    async def type_when_edited(self, path: Path, line: int, text: str) -> None:
        """See DemoEditor."""

        def type_once() -> None:
            self._client.on_request = None
            self._type_over(path, line, text)

        self._client.on_request = type_once

    async def buffer(self, path: Path) -> Buffer:
        """See DemoEditor."""
        shown = self._memory.buffer(str(path))
        return Buffer(text=shown.text, modified=shown.is_dirty)

    async def save(self, path: Path) -> None:
        """See DemoEditor."""
        self._memory.save(str(path))

    async def last_apply_answer(self) -> Mapping[str, Any]:
        """See DemoEditor."""
        return self._apply_answers[-1] if self._apply_answers else {}

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See DemoEditor."""
        self._client.flush()  # as Neovim does with every request of its own
        return await self._bridge.call_tool(name, arguments)

    async def apply_edit(self, params: Any) -> Mapping[str, Any]:
        """Answer ``workspace/applyEdit``."""
        request = self._converter.structure(params, lsp.ApplyWorkspaceEditParams)
        answer = self._converter.unstructure(await self._client.apply_edit(request))
        self._apply_answers.append(answer)
        asyncio.get_running_loop().call_later(TELLS_AFTER_S, self._client.flush)  # the in-memory editor needs asyncio
        return answer

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Pass it on to the server."""
        self._tell("textDocument/didOpen", params)

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Pass it on to the server."""
        self._tell("textDocument/didChange", params)

    def did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        """Pass it on to the server."""
        self._tell("textDocument/didSave", params)

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Pass it on to the server."""
        self._tell("textDocument/didClose", params)

    def _tell(self, method: str, params: object) -> None:
        self._bridge.notify(method, self._converter.unstructure(params))

    def _type_over(self, path: Path, line: int, text: str) -> None:
        lines = self._memory.buffer(str(path)).text.splitlines(keepends=True)
        start = sum(map(len, lines[: line - 1]))
        self._memory.replace(str(path), start, start + len(lines[line - 1].rstrip("\n")), text)
