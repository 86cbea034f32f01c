"""Editors of every kind behind one face: pytest-lsp with the capabilities of each preset, and real Neovim."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features

from .neovim import Neovim
from .raw_client import DEADLINE_S, SERVER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from .listening_server import Listening

PRESETS = (
    *("visual-studio-code@v1.65.2", "emacs@v29.1", "neovim@v0.11.0", "neovim@v0.10.0", "neovim@v0.9.1"),
    *("neovim@v0.8.0", "neovim@v0.7.0", "neovim@v0.6.1"),
)


class Desk(Protocol):
    """A user at their editor, and an agent that calls tools through its language client."""

    async def open(self, path: Path) -> None:
        """Open a file."""

    async def type_all(self, path: Path, text: str) -> None:
        """Have this text in the document, without saving it."""

    async def save(self, path: Path) -> None:
        """Write it to disk."""

    async def text(self, path: Path) -> str:
        """What the user sees."""

    async def tools(self) -> list[str]:
        """The names of the tools, by request."""

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; its answer."""

    async def begin(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool, and do not wait; something to cancel it by."""

    async def cancel(self, call: Any) -> None:
        """Cancel it, and wait for the end of it as far as this client hears of that."""


class Editor(LanguageClient):
    """Holds documents and applies edits to them, in the encoding that was agreed on."""

    texts: dict[str, str]
    versions: dict[str, int]
    encoding: str
    root: Path

    def open(self, path: Path, text: str) -> str:
        uri = path.as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri=uri, language_id="text", version=1, text=text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def type_over(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        (change,) = params.edit.document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        uri = change.text_document.uri
        if change.text_document.version != self.versions[uri]:
            return types.ApplyWorkspaceEditResult(applied=False)
        for edit in reversed(change.edits):
            assert isinstance(edit, types.TextEdit)
            start, end = (self._offset(uri, position) for position in (edit.range.start, edit.range.end))
            self.texts[uri] = self.texts[uri][:start] + edit.new_text + self.texts[uri][end:]
        self.type_over(uri, self.texts[uri])
        return types.ApplyWorkspaceEditResult(applied=True)

    def _offset(self, uri: str, position: types.Position) -> int:
        lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", self.texts[uri])
        codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[self.encoding]
        unit = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[self.encoding]
        before = lines[position.line].encode(codec)[: position.character * unit].decode(codec)
        return sum(map(len, lines[: position.line])) + len(before)


def in_memory_editor() -> Editor:
    client = Editor(converter_factory=default_converter)
    client.texts, client.versions = {}, {}
    register_lsp_features(client)

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        return client.apply(params)

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(_params: types.RegistrationParams) -> None:
        """Agree: the server wants to hear of changes that its client tells in any case."""

    return client


class PresetDesk:
    """A headless pytest-lsp session; calls go by the command, which is all that some clients have."""

    def __init__(self, client: Editor) -> None:
        self._client = client
        self._calls = 0

    async def open(self, path: Path) -> None:
        self._client.open(path, (await asyncio.to_thread(path.read_bytes)).decode())

    async def type_all(self, path: Path, text: str) -> None:
        self._client.type_over(path.as_uri(), text)

    async def save(self, path: Path) -> None:
        text = self._client.texts[path.as_uri()]
        await asyncio.to_thread(path.write_bytes, text.encode())
        document = types.TextDocumentIdentifier(path.as_uri())
        self._client.text_document_did_save(types.DidSaveTextDocumentParams(document, text))

    async def text(self, path: Path) -> str:
        return self._client.texts[path.as_uri()]

    async def tools(self) -> list[str]:
        answer = await self._client.protocol.send_request_async("openbuffer/listTools", {})
        listed = await self._client.workspace_execute_command_async(
            types.ExecuteCommandParams("openbuffer.listTools", [])
        )
        assert [tool.name for tool in answer.tools] == [tool["name"] for tool in listed["tools"]]
        return [tool["name"] for tool in listed["tools"]]

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await self._client.workspace_execute_command_async(_command(name, arguments))

    async def begin(self, name: str, arguments: dict[str, Any]) -> Any:
        self._calls += 1
        number = f"call {self._calls}"
        params = _command(name, arguments)
        asking = self._client.protocol.send_request_async(types.WORKSPACE_EXECUTE_COMMAND, params, msg_id=number)
        return number, asyncio.ensure_future(asking)

    async def cancel(self, call: Any) -> None:
        number, answer = call
        self._client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(id=number))
        outcome = (await asyncio.wait_for(asyncio.gather(answer, return_exceptions=True), DEADLINE_S))[0]
        assert outcome.code == -32800, outcome


def _command(name: str, arguments: dict[str, Any]) -> types.ExecuteCommandParams:
    return types.ExecuteCommandParams("openbuffer.callTool", [{"name": name, "arguments": arguments}])


_BEGIN = """
local client = vim.lsp.get_clients({ name = 'openbuffer' })[1]
local sent, id = client:request('openbuffer/callTool', ..., function() end)
assert(sent)
return id
"""
_CANCEL = "return vim.lsp.get_clients({ name = 'openbuffer' })[1]:cancel_request(...)"


class NeovimDesk:
    """Real Neovim, whose user types keys."""

    def __init__(self, editor: Neovim) -> None:
        self._editor = editor

    async def open(self, path: Path) -> None:
        await asyncio.to_thread(self._editor.open, path)

    async def type_all(self, path: Path, text: str) -> None:  # noqa: ARG002  the open buffer is the one
        lines = re.split(r"\r?\n", text)
        await asyncio.to_thread(self._editor.api, "nvim_buf_set_lines", 0, 0, -1, True, lines)

    async def save(self, path: Path) -> None:  # noqa: ARG002  likewise
        await asyncio.to_thread(self._editor.command, "write")

    async def text(self, path: Path) -> str:  # noqa: ARG002  likewise
        return "\n".join(await asyncio.to_thread(self._editor.lines))

    async def tools(self) -> list[str]:
        listed = await asyncio.to_thread(lambda: self._editor.request("openbuffer/listTools", {}).result())
        return [tool["name"] for tool in listed["tools"]]

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return dict((await asyncio.to_thread(self._editor.call, name, arguments)).wire)

    async def begin(self, name: str, arguments: dict[str, Any]) -> Any:
        return await asyncio.to_thread(self._editor.lua, _BEGIN, {"name": name, "arguments": arguments})

    async def cancel(self, call: Any) -> None:
        await asyncio.to_thread(self._editor.lua, _CANCEL, call)


@asynccontextmanager
async def preset_desk(preset: str, root: Path, server: Listening | None = None) -> AsyncIterator[PresetDesk]:
    """A session that says of itself what that editor says, over stdio or to a server that listens."""
    client = in_memory_editor()
    options: Any = None
    if server is None:
        await client.start_io(*SERVER)
    else:
        host, _, port = server.address.rpartition(":")
        await client.start_tcp(host, int(port))
        options = {"openbuffer": {"accessToken": server.token}}
    try:
        result = await client.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities(preset),
                workspace_folders=[types.WorkspaceFolder(uri=root.as_uri(), name="root")],
                initialization_options=options,
            )
        )
        client.encoding = str(result.capabilities.position_encoding)
        yield PresetDesk(client)
        await client.shutdown_session()
    finally:
        await client.stop()
        writer = client.protocol.writer
        if isinstance(writer, asyncio.StreamWriter):  # over TCP pygls leaves it open, and the loop ends before it
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


@asynccontextmanager
async def neovim_desk(home: Path, root: Path, server: Listening | None = None) -> AsyncIterator[NeovimDesk]:
    """Neovim without a plugin, over stdio or by ``vim.lsp.rpc.connect``."""
    editor = Neovim(home, root, server=SERVER if server is None else None)
    await asyncio.to_thread(editor.__enter__)
    try:
        if server is not None:
            is_pipe = server.address.startswith("unix:")
            host, _, port = server.address.removeprefix("unix:").rpartition(":")
            where = {"host": port} if is_pipe else {"host": host, "port": int(port)}
            told = {**where, "access_token": server.token}
            await asyncio.to_thread(editor.start_client, told, root)
        yield NeovimDesk(editor)
    finally:
        await asyncio.to_thread(editor.__exit__, None, None, None)
