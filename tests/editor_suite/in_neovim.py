"""Real Neovim with plain ``vim.lsp``, connected to a session of the server in this process; its user presses keys."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio.to_thread
from openbuffer.editor_access.lsp import EditTimeouts

from .attached import Attached, Nature
from .over_wire import ServerSide, server_side

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from ..e2e.neovim import Neovim

T = TypeVar("T")

NATURE = Nature(
    tells_typing="when_flushed", line_ends="of_document", final_newline="kept_apart", one_document_per_file=True
)

_TEXT = """
local buffer = ...
local options = vim.bo[buffer]
local line_end = options.fileformat == 'dos' and '\\r\\n' or options.fileformat == 'mac' and '\\r' or '\\n'
local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), line_end)
return text .. (options.eol and line_end or '')
"""

_UNNAMED = """
vim.cmd.enew()
vim.lsp.buf_attach_client(0, vim.lsp.get_clients({ name = 'openbuffer' })[1].id)
return vim.api.nvim_get_current_buf()
"""


class AttachedNeovim(Attached):
    """The user of a Neovim."""

    nature = NATURE

    def __init__(self, editor: Neovim, side: ServerSide) -> None:
        self.access = side.editor
        self._editor = editor
        self._side = side
        self._buffers: dict[str, int] = {}

    async def open(self, path: str) -> None:
        self._buffers[path] = await self._do(self._editor.open, path)

    async def open_unnamed(self, text: str) -> None:
        self._buffers[""] = await self._do(self._editor.lua, _UNNAMED)
        await self._do(self._editor.type, f"i{text}<Esc>")

    async def type(self, path: str, offset: int, text: str) -> None:
        before = (await self.shown(path))[:offset].replace("\r\n", "\n")
        line, column = before.count("\n"), len(before[before.rfind("\n") + 1 :].encode())
        await self._command(path, f"call cursor({line + 1}, {column + 1})")
        is_at_end = column == len((await self._do(self._editor.lines, self._buffers[path]))[line].encode())
        keys = text.replace("<", "<lt>").replace("\n", "<CR>")
        await self._do(self._editor.type, f"{'A' if is_at_end else 'i'}{keys}<Esc>")

    async def undo(self, path: str) -> None:
        await self._command(path, "silent undo")

    async def save(self, path: str) -> None:
        await self._command(path, "silent write")

    async def reload(self, path: str) -> None:
        await self._command(path, "silent edit!")

    async def close(self, path: str) -> None:
        await self._command(path, "bdelete!")

    async def type_when_asked(self, path: str, offset: int, text: str) -> None:
        await self.type(path, offset, text)  # nothing flushes it; the debounce lasts longer than the way of a request

    async def shown(self, path: str) -> str:
        return await self._do(self._editor.lua, _TEXT, self._buffers[path])

    async def is_dirty(self, path: str) -> bool:
        return await self._do(self._editor.modified, self._buffers[path])

    async def settle(self) -> None:
        await self._do(_settle, self._editor)

    async def lose(self) -> None:
        await self._do(partial(self._editor.stop_client, force=True))
        await self._side.ended.wait()

    async def _command(self, path: str, line: str) -> None:
        await self._do(self._editor.command, f"buffer {self._buffers[path]}")
        await self._do(self._editor.command, line)

    async def _do(self, action: Callable[..., T], *args: Any) -> T:
        return await anyio.to_thread.run_sync(partial(action, *args))


@asynccontextmanager
async def in_neovim(editor: Neovim, root: Path) -> AsyncGenerator[Attached, None]:
    """A language client of its own in a Neovim that runs, and no buffer left in it afterwards."""
    async with server_side(EditTimeouts()) as side:
        server = {"host": "127.0.0.1", "port": side.port}
        await anyio.to_thread.run_sync(editor.start_client, server, root)
        try:
            await anyio.to_thread.run_sync(_settle, editor)
            yield AttachedNeovim(editor, side)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_leave, editor)


def _settle(editor: Neovim) -> None:
    """A request of the client's own tells all changes first."""
    editor.request("openbuffer/listTools", {}).result()


def _leave(editor: Neovim) -> None:
    editor.wipe_all()
    if not editor.client_exited.is_set():
        editor.stop_client()
