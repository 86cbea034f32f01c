r"""An editor without a screen: the in-memory editor and its user, connected to a server over JSON-RPC.

For sessions that have no other editor, the demo and tests. Its language client behaves as its ``Temperament`` has
it, tells the server whatever happens to documents, and answers what the server asks, of the requests beyond LSP
those that it announced::

    async with open_headless("/path/to/workspace") as editor:
        editor.memory.open("/path/to/workspace/notes.txt")
        editor.memory.type("/path/to/workspace/notes.txt", 0, "typed, not saved\n")
        answer = await editor.call_tool("Read", {"filePath": "notes.txt"})

What its user is asked waits in ``client.prompts`` until they answer it (``Prompt.choose``, ``Prompt.answer``).

Everything that the client tells goes out in the order in which it happened, and before the answer that follows it.
What is absent on purpose: a clock of the user's. Every action of theirs is a call.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from openbuffer.editor_access import client_requests as rich_requests
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import PLAIN, MemoryLanguageClient, RichTemperament, Temperament

from .client import SERVER_COMMAND, BridgeClient, BridgeEndedError
from .protocol import PROTOCOL_VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import ByteStream
    from openbuffer.editor_access.client_requests import RichCapabilities
    from openbuffer.editor_access.memory import MemoryBuffer
    from openbuffer.editor_access.port import TextEdit
    from openbuffer.editor_access.text import PositionEncoding

    from .client import RequestHandler, ToolAnswer

TELLS_AFTER_S: Final = 0.1
"""How long after a change the server hears of it by itself, from a client that does not tell at once."""


@asynccontextmanager
async def open_headless(
    roots: Sequence[str | Path] | str | Path,
    *,
    temperament: Temperament | None = None,
    rich: RichCapabilities = PLAIN,
    rich_temperament: RichTemperament | None = None,
    position_encodings: Sequence[PositionEncoding] = ("utf-8", "utf-16"),
    tells_after_s: float | None = TELLS_AFTER_S,
    command: Sequence[str] = SERVER_COMMAND,
    environment: Mapping[str, str] | None = None,
    connect: str | None = None,
    access_token: str | None = None,
    stream: ByteStream | None = None,
    settings: Mapping[str, Any] | None = None,
    workspace_trusted: bool | None = None,
) -> AsyncGenerator[HeadlessEditor, None]:
    """Start a server for these workspace folders, or use one that runs; end the connection afterwards.

    One that runs is reached by ``connect`` and ``access_token``, as in ``BridgeClient``, or by a ``stream`` to it;
    ``settings`` and ``workspace_trusted`` are also those of ``BridgeClient``.

    ``rich`` is what the client announces beyond LSP, and ``rich_temperament`` how it answers that.
    ``tells_after_s`` concerns clients that tell "when_flushed": how long a change is kept back; None: until
    :meth:`HeadlessEditor.flush`, a save, or a tool call, as every request of the editor's own flushes.

    Raises:
        BridgeStartError: the server could not be started, or did not answer.
    """
    editor = HeadlessEditor(temperament or Temperament(), rich, rich_temperament, tells_after_s)
    bridge = BridgeClient(
        roots,
        command=command,
        environment=environment,
        connect=connect,
        access_token=access_token,
        stream=stream,
        handlers=editor.handlers,
        on_notification=editor.notified,
        position_encodings=position_encodings,
        experimental={"openbuffer": editor.announced},
        settings=settings,
        workspace_trusted=workspace_trusted,
    )
    async with bridge:
        editor.connect(bridge)
        try:
            yield editor
        finally:
            editor.disconnect()


class HeadlessEditor:
    """One editor, one user, one connection; made by :func:`open_headless`.

    ``memory`` is the editor: its user's actions are called there. ``client`` is its language client, with the
    hooks at which a user can get in between. ``apply_answers`` keeps what was answered to ``workspace/applyEdit``.
    """

    client: MemoryLanguageClient
    bridge: BridgeClient

    def __init__(
        self,
        temperament: Temperament,
        rich: RichCapabilities,
        rich_temperament: RichTemperament | None,
        tells_after_s: float | None,
    ) -> None:
        self.memory = MemoryEditor(temperament.habits)
        self.apply_answers: list[Mapping[str, Any]] = []
        self._temperament = temperament
        self._rich = rich
        self._rich_temperament = rich_temperament
        self._tells_after_s = tells_after_s
        self._converter = get_converter()
        self._is_about_to_tell: asyncio.TimerHandle | None = None

    @property
    def handlers(self) -> Mapping[str, RequestHandler]:
        """The answers to the server's requests, for a ``BridgeClient``."""
        asked = {method: partial(self._ask, method) for method in _announced(self._rich).values()}
        dialogs = {lsp.WINDOW_SHOW_MESSAGE_REQUEST: partial(self._ask, lsp.WINDOW_SHOW_MESSAGE_REQUEST)}
        return {lsp.WORKSPACE_APPLY_EDIT: self._apply_edit, **dialogs, **asked}

    @property
    def announced(self) -> Mapping[str, Any]:
        """What the client says of itself under ``capabilities.experimental.openbuffer``."""
        return {"protocolVersion": PROTOCOL_VERSION, **dict.fromkeys(_announced(self._rich), True)}

    def connect(self, bridge: BridgeClient) -> None:
        """Be the client of this server from now on: tell it what is open, and what happens."""
        self.bridge = bridge
        encoding = cast("PositionEncoding", bridge.server_capabilities.get("positionEncoding", "utf-16"))
        self.client = MemoryLanguageClient(
            self.memory,
            encoding=encoding,
            temperament=self._temperament,
            rich=self._rich,
            rich_temperament=self._rich_temperament,
        )
        self.client.connect(self)
        self.memory.listen(self)

    def disconnect(self) -> None:
        """Tell the server nothing any more; the documents stay open."""
        self.client.disconnect()
        if self._is_about_to_tell is not None:
            self._is_about_to_tell.cancel()

    def flush(self) -> None:
        """Tell the server every change that it does not know yet."""
        self.client.flush()

    async def call_tool(self, name: str, arguments: Mapping[str, Any], *, timeout_s: float | None = None) -> ToolAnswer:
        """Call a tool and wait for its answer; it sees all that was typed until now.

        Raises:
            BridgeEndedError, BridgeTimeoutError, BridgeRequestError: see ``client``.
        """
        self.flush()
        return await self.bridge.call_tool(name, arguments, timeout_s=timeout_s)

    # --- what the server asks ------------------------------------------------------------------------------

    async def _apply_edit(self, params: Any) -> Mapping[str, Any]:
        request = self._converter.structure(params, lsp.ApplyWorkspaceEditParams)
        answer = self._converter.unstructure(await self.client.apply_edit(request))
        self.apply_answers.append(answer)
        return answer

    async def _ask(self, method: str, params: Any) -> Any:
        return await self.client.ask(method, params)

    def notified(self, method: str, params: Any) -> None:
        """Take a notification of the server."""
        if method == rich_requests.WITHDRAW_DIALOG and self._rich.withdraw_dialog:
            self.client.tell(method, params)

    # --- LanguageServerSink: what the client tells ---------------------------------------------------------

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """Pass it on to the server."""
        self._tell(lsp.TEXT_DOCUMENT_DID_OPEN, params)

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Pass it on to the server."""
        self._tell(lsp.TEXT_DOCUMENT_DID_CHANGE, params)

    def did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        """Pass it on to the server."""
        self._tell(lsp.TEXT_DOCUMENT_DID_SAVE, params)

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """Pass it on to the server."""
        self._tell(lsp.TEXT_DOCUMENT_DID_CLOSE, params)

    def _tell(self, method: str, params: object) -> None:
        try:
            self.bridge.notify(method, self._converter.unstructure(params))
        except BridgeEndedError:
            self.disconnect()  # a user goes on typing, whatever became of the server

    # --- EditorListener: what is told later ----------------------------------------------------------------

    def opened(self, buffer: MemoryBuffer) -> None:
        """The client told it already."""

    def changed(self, buffer: MemoryBuffer, before: str, edits: Sequence[TextEdit]) -> None:  # noqa: ARG002  a listener is told all of it
        """See to it that a change that the client keeps back is told after a while."""
        if self._tells_after_s is not None and self._is_about_to_tell is None:
            self._is_about_to_tell = asyncio.get_running_loop().call_later(self._tells_after_s, self._tell_now)

    def saved(self, buffer: MemoryBuffer) -> None:
        """The client told it already."""

    def closed(self, buffer: MemoryBuffer) -> None:
        """The client told it already."""

    def _tell_now(self) -> None:
        self._is_about_to_tell = None
        self.flush()


def _announced(rich: RichCapabilities) -> Mapping[str, str]:
    """The names of what is announced, and the methods that they stand for."""
    can = {
        "readDocument": (rich.read_document, rich_requests.READ_DOCUMENT),
        "applyEdit": (rich.apply_edit, rich_requests.APPLY_EDIT),
        "saveDocument": (rich.save_document, rich_requests.SAVE_DOCUMENT),
        "reloadDocument": (rich.reload_document, rich_requests.RELOAD_DOCUMENT),
        "withdrawDialog": (rich.withdraw_dialog, rich_requests.WITHDRAW_DIALOG),
        "requestPermission": (rich.request_permission, rich_requests.REQUEST_PERMISSION),
        "askUser": (rich.ask_user, rich_requests.ASK_USER),
    }
    return {name: method for name, (announced, method) in can.items() if announced}
