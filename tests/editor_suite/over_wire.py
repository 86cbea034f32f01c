"""A real session of the server in this process, and editors at the other end of a connection to it."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import ExitStack, asynccontextmanager
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING

import anyio
from openbuffer.bridge.headless import HeadlessEditor, open_headless
from openbuffer.bridge.wire.stdio import run_session
from openbuffer.bridge.wiring import create_builtin_executor
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor

from .in_process import AttachedClient, answer_all, nature_of, timeouts_for

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from anyio.abc import SocketStream
    from openbuffer.bridge.session import ToolExecutor
    from openbuffer.editor_access.client_requests import RichCapabilities
    from openbuffer.editor_access.memory_temperament import RichTemperament, Temperament
    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.editor_access.text import PositionEncoding

    from .attached import Attached, Nature

GRACE_S = 0.5
"""What a client that has said its word may still send; there is a real connection between."""


@dataclass
class ServerSide:
    """One session that waits for its client at a port of this machine."""

    port: int
    ended: anyio.Event = field(default_factory=anyio.Event)
    _provider: EditorProvider | None = None

    @property
    def editor(self) -> LspEditor:
        """The session's editor; there is one once the tools were listed."""
        editor = None if self._provider is None else self._provider()
        assert isinstance(editor, LspEditor)
        return editor

    def create_executor(self, roots: tuple[str, ...], editor: EditorProvider) -> ToolExecutor:
        self._provider = editor
        return create_builtin_executor(roots, editor, ending=ExitStack())


@asynccontextmanager
async def server_side(timeouts: EditTimeouts) -> AsyncGenerator[ServerSide, None]:
    """Serve one client; it has to leave before the end."""
    constructor = EditTimeouts.__init__
    before = constructor.__defaults__
    constructor.__defaults__ = astuple(timeouts)
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            side = ServerSide(port=listener.getsockname()[1])
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_serve, listener, side)
                yield side
                with anyio.fail_after(30):
                    await side.ended.wait()
    finally:
        constructor.__defaults__ = before


async def _serve(listener: socket.socket, side: ServerSide) -> None:
    connection, _ = await asyncio.get_running_loop().sock_accept(listener)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection:
        await run_session(
            connection.fileno(),
            os.dup(connection.fileno()),
            create_executor=side.create_executor,
            owns_process=False,
        )
    side.ended.set()


class AttachedHeadless(AttachedClient):
    """The user of the headless editor."""

    def __init__(self, headless: HeadlessEditor, side: ServerSide, stream: SocketStream, nature: Nature) -> None:
        super().__init__(headless.client, headless.memory, side.editor, nature)
        self._headless = headless
        self._side = side
        self._stream = stream

    async def settle(self) -> None:
        self._headless.flush()
        await self._headless.bridge.list_tools()  # what was sent before it has arrived before it

    async def lose(self) -> None:
        await self._stream.aclose()
        await self._side.ended.wait()


@asynccontextmanager
async def headless_over_wire(
    root: Path,
    encoding: PositionEncoding,
    temperament: Temperament,
    rich: RichCapabilities,
    rich_temperament: RichTemperament | None = None,
    timeouts: EditTimeouts | None = None,
    user_says: bool | None = True,
) -> AsyncGenerator[Attached, None]:
    """The headless editor, JSON-RPC over a real connection, and the server's own adapter."""
    nature = nature_of(temperament, rich, encoding)
    async with server_side(timeouts or timeouts_for(nature, GRACE_S)) as side:
        stream = await anyio.connect_tcp("127.0.0.1", side.port)
        async with open_headless(
            [root],
            stream=stream,
            temperament=temperament,
            rich=rich,
            rich_temperament=rich_temperament,
            position_encodings=[encoding],
            tells_after_s=None,
        ) as headless:
            await headless.bridge.list_tools()
            user = asyncio.get_running_loop().create_task(answer_all(headless.client, user_says))
            try:
                yield AttachedHeadless(headless, side, stream, nature)
            finally:
                user.cancel()
