r"""A small headless LSP client for the bridge: synchronise documents, list and call tools, answer what the server asks.

For scripts, the demo and tests. It speaks plain LSP as an editor without a plugin would, plus the two requests
``openbuffer/listTools`` and ``openbuffer/callTool``. The server is started by it, and then always ended by it::

    async with BridgeClient(["/path/to/workspace"]) as client:
        client.did_open("file:///path/to/workspace/notes.txt", "not saved\n")
        answer = await client.call_tool("Read", {"filePath": "notes.txt"})

or runs already, at an address that it has announced (``openbuffer serve --listen``), and goes on afterwards::

    async with BridgeClient(["/path/to/workspace"], connect="127.0.0.1:40123", access_token=token) as client:
        ...

What the server asks goes to the ``handlers`` given, by method: edits of open documents (``workspace/applyEdit``),
approvals and questions (``window/showMessageRequest``, and beyond LSP what ``experimental`` announces), configuration.
What the server withdraws (``$/cancelRequest``) is cancelled where its handler waits: there the dialog is to be closed.
``headless`` has a whole editor on top of this. Errors: see ``client_errors``.
"""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import anyio.lowlevel

from . import client_messages
from .client_errors import BridgeEndedError, BridgeError, BridgeRequestError, BridgeStartError, BridgeTimeoutError
from .client_link import ServerLink, ServerProcess, ServerStream
from .client_messages import NotLspError, id_in
from .protocol import CALL_TOOL, LIST_TOOLS, TRUST_CHANGED
from .tool_answer import ToolAnswer
from .wire.framing import FrameReader

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from anyio.abc import ByteStream

    from .protocol import CallToolParams, ListToolsResult, ToolDescription

__all__ = [
    "ANSWER_TIMEOUT_S",
    "END_TIMEOUT_S",
    "SERVER_COMMAND",
    "START_TIMEOUT_S",
    "BridgeClient",
    "BridgeEndedError",
    "BridgeError",
    "BridgeRequestError",
    "BridgeStartError",
    "BridgeTimeoutError",
    "NotificationHandler",
    "ProgressHandler",
    "RequestHandler",
    "ToolAnswer",
]

log = logging.getLogger(__name__)

SERVER_COMMAND: Final = (sys.executable, "-P", "-m", "openbuffer.bridge", "serve")
"""The server of this very installation; ``-P`` keeps modules of the current directory out of it."""

ANSWER_TIMEOUT_S: Final = 60.0
START_TIMEOUT_S: Final = 30.0
END_TIMEOUT_S: Final = 3.0
"""How long each step of ending the server (shutdown, end of input, SIGTERM) may take before the next is tried."""

RequestHandler = Callable[[Any], Awaitable[Any] | Any]
"""Answers one request of the server: takes its params, returns the result as JSON, at once or when awaited.

A coroutine is cancelled when the server withdraws the request; what waits for a person cleans up then, and re-raises.
"""

NotificationHandler = Callable[[str, Any], None]
"""Takes a notification of the server (method, params); must not block. What it raises is logged, and no more."""


ProgressHandler = Callable[[Mapping[str, Any]], None]
"""Takes the value of each ``$/progress`` of a call: ``kind``, ``title``, ``message``, ``percentage``; never blocks.

What it raises is logged, and no more.
"""


class BridgeClient:
    """One server process and the connection to it, as an async context manager.

    Args:
        roots: the workspace folders, first one first, or the only one.
        command: the server to start; :data:`SERVER_COMMAND` unless given.
        environment: what the server is started with; this process's own unless given.
        connect: where a server listens, ``HOST:PORT`` or ``unix:PATH``; then nothing is started.
        access_token: what that server asks for.
        stream: a connection to a server that runs already, in the place of ``connect``.
        handlers: answers to requests of the server, by method; any other is answered "method not found". Without one
            for ``workspace/applyEdit`` open documents can be read and not changed.
        on_notification: told every notification of the server.
        position_encodings: what this client offers, best first.
        experimental: what it announces under ``capabilities.experimental``.
        settings: the settings of its user, by the tables of the configuration file; none unless given.
        workspace_trusted: whether its user trusts the workspace; without a word the tools are all there, and settings
            can only make the user's own stricter.
        answer_timeout_s: how long a request may take unless the call says otherwise.
    """

    def __init__(
        self,
        roots: Sequence[str | Path] | str | Path,
        *,
        command: Sequence[str] = SERVER_COMMAND,
        environment: Mapping[str, str] | None = None,
        connect: str | None = None,
        access_token: str | None = None,
        stream: ByteStream | None = None,
        handlers: Mapping[str, RequestHandler] | None = None,
        on_notification: NotificationHandler | None = None,
        position_encodings: Sequence[str] = ("utf-8", "utf-16"),
        experimental: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        workspace_trusted: bool | None = None,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        self.server_capabilities: Mapping[str, Any] = {}
        # A string is a sequence too: of folders named by its characters, and one of them would be "/".
        folders = [roots] if isinstance(roots, (str, Path)) else roots
        self._roots = [Path(root).absolute() for root in folders]
        self._command = tuple(command)
        self._environment = environment
        self._connect = connect
        self._stream = stream
        self._handlers = {**_STANDARD_HANDLERS, **(handlers or {})}
        self._on_notification = on_notification
        self._position_encodings = list(position_encodings)
        self._experimental = experimental
        options = {"accessToken": access_token, "settings": settings, "workspaceTrusted": workspace_trusted}
        self._options = {name: value for name, value in options.items() if value is not None}
        self._answer_timeout_s = answer_timeout_s
        self._ids = itertools.count(1)
        self._tokens = itertools.count(1)
        self._carrying = anyio.CancelScope(shield=True)
        self._pending: dict[int, _Reply] = {}
        self._progress: dict[int | str | None, ProgressHandler] = {}
        self._answering: dict[int | str | None, anyio.CancelScope] = {}
        self._outgoing, self._frames = anyio.create_memory_object_stream[bytes](math.inf)
        self._ended: str | None = None
        self._complaint = ""

    # --- life ----------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Start the server, where it does not run yet, and shake hands.

        Raises:
            BridgeStartError: it could not be started or did not answer.
        """
        try:
            self._link: ServerLink = await self._linked()
        except OSError as error:
            self._outgoing.close()
            self._frames.close()
            raise BridgeStartError(self._why_not_started(error)) from error
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._carry_messages)
        try:
            await self._initialize()
        except BaseException as error:
            await self._end()
            if isinstance(error, BridgeError):
                raise BridgeStartError(f"the server did not start: {error}") from error
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the server, by force where asking does not help."""
        await self._end()

    @property
    def pid(self) -> int | None:
        """The process id of the server; None where this client did not start it."""
        return self._link.pid

    async def _linked(self) -> ServerLink:
        if self._stream is not None:
            return ServerStream(self._stream)
        if self._connect is not None:
            return await ServerStream.connect(self._connect)
        return await ServerProcess.start(self._command, self._roots[0] if self._roots else None, self._environment)

    def _why_not_started(self, error: OSError) -> str:
        """The system says the same of a missing program and of a missing directory to start it in."""
        if self._connect is not None:
            return f"{self._connect}: no server answers there ({error.strerror or error})"
        if self._roots and not self._roots[0].is_dir():
            return f"{self._roots[0]}: the workspace folder is not a directory; name one that exists"
        return f"{self._command[0]} could not be started: {error.strerror}"

    async def _initialize(self) -> None:
        folders = list(map(_folder, self._roots))
        params: dict[str, Any] = {
            "processId": os.getpid(),
            "clientInfo": {"name": "openbuffer headless client"},
            "rootUri": folders[0]["uri"] if folders else None,
            "workspaceFolders": folders,
            "capabilities": {
                "general": {"positionEncodings": self._position_encodings},
                "textDocument": {"synchronization": {"didSave": True}},
                "window": {"workDoneProgress": True},
                "workspace": {
                    "applyEdit": "workspace/applyEdit" in self._handlers,
                    "workspaceEdit": {"documentChanges": True},
                    "workspaceFolders": True,
                },
            },
        }
        if self._options:
            params["initializationOptions"] = {"openbuffer": self._options}
        if self._experimental is not None:
            params["capabilities"]["experimental"] = self._experimental
        result = await self.request("initialize", params, timeout_s=START_TIMEOUT_S)
        self.server_capabilities = result["capabilities"]
        self.notify("initialized", {})

    async def _end(self) -> None:
        with anyio.CancelScope(shield=True):
            with suppress(BridgeError, TimeoutError), anyio.fail_after(END_TIMEOUT_S):
                await self.request("shutdown", timeout_s=END_TIMEOUT_S)
                self.notify("exit")
            # Closing the queue closes the server's input, once all that is in it was sent.
            self._outgoing.close()
            await self._link.end(END_TIMEOUT_S)
        self._carrying.cancel()
        self._tasks.cancel_scope.cancel()
        try:
            await self._tasks.__aexit__(None, None, None)
        finally:
            with anyio.CancelScope(shield=True):
                await self._link.aclose()

    # --- the workspace -------------------------------------------------------------------------------------

    def change_folders(self, *, added: Sequence[str | Path] = (), removed: Sequence[str | Path] = ()) -> None:
        """Open and close workspace folders: calls that begin later have the new ones."""
        event = {"added": list(map(_folder, added)), "removed": list(map(_folder, removed))}
        self.notify("workspace/didChangeWorkspaceFolders", {"event": event})

    def change_settings(self, settings: Mapping[str, Any] | None) -> None:
        """Replace all settings, for calls that begin later; None: there are none any more."""
        self.notify("workspace/didChangeConfiguration", {"settings": {"openbuffer": settings}})

    def change_trust(self, *, trusted: bool) -> None:
        """Tell whether the user trusts the workspace now."""
        self.notify(TRUST_CHANGED, {"trusted": trusted})

    # --- tools ---------------------------------------------------------------------------------------------

    async def list_tools(self) -> Sequence[ToolDescription]:
        """Name, description, inputSchema and capabilities of every tool."""
        result: ListToolsResult = await self.request(LIST_TOOLS, {})
        return result["tools"]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        on_progress: ProgressHandler | None = None,
        timeout_s: float | None = None,
    ) -> ToolAnswer:
        """Call a tool and wait for its answer; cancelling withdraws the call. ``on_progress`` is told how it goes on.

        Raises:
            BridgeEndedError, BridgeTimeoutError, BridgeRequestError: see the module.
        """
        params: CallToolParams = {"name": name, "arguments": arguments}
        if on_progress is None:
            return ToolAnswer.from_json(await self.request(CALL_TOOL, params, timeout_s=timeout_s))
        token = params["workDoneToken"] = f"call-{next(self._tokens)}"
        self._progress[token] = on_progress
        try:
            return ToolAnswer.from_json(await self.request(CALL_TOOL, params, timeout_s=timeout_s))
        finally:
            del self._progress[token]

    # --- documents -----------------------------------------------------------------------------------------

    def did_open(self, uri: str, text: str, *, version: int = 1, language_id: str = "plaintext") -> None:
        """Tell that a document is open with this text."""
        document = {"uri": uri, "languageId": language_id, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def did_change(self, uri: str, version: int, changes: Sequence[Mapping[str, Any]]) -> None:
        """Tell changes: ``{"text": whole}`` or ``{"range": ..., "text": part}``, applied in order."""
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)}
        self.notify("textDocument/didChange", params)

    def did_save(self, uri: str) -> None:
        """Tell that the document is on disk now."""
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def did_close(self, uri: str) -> None:
        """Tell that the document is not open any more."""
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    # --- messages ------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Any = None, *, timeout_s: float | None = None) -> Any:
        """Send a request and wait for its result.

        Raises:
            BridgeEndedError, BridgeTimeoutError, BridgeRequestError: see the module.
        """
        timeout_s = self._answer_timeout_s if timeout_s is None else timeout_s
        number = next(self._ids)
        reply = self._pending[number] = _Reply()
        try:
            with anyio.fail_after(timeout_s):
                self._send({"id": number, "method": method, "params": params})
                await reply.arrived.wait()
        except TimeoutError:
            self._withdraw(number)
            raise BridgeTimeoutError(f"{method}: no answer in {timeout_s:g} s; what became of it is unknown") from None
        except anyio.get_cancelled_exc_class():
            self._withdraw(number)
            raise
        finally:
            del self._pending[number]
        return self._result(method, reply)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification, without waiting for it to be read; messages keep their order.

        Raises:
            BridgeEndedError: the server is gone.
        """
        self._send({"method": method, "params": params})

    def _result(self, method: str, reply: _Reply) -> Any:
        if reply.message is None:
            raise BridgeEndedError(f"{method}: {self._ended}")
        error = reply.message.get("error")
        if isinstance(error, dict):
            told = cast("dict[str, Any]", error)
            raise BridgeRequestError(f"{method}: {told.get('message')}", told.get("code", 0), told.get("data"))
        if error is not None:
            raise BridgeRequestError(f"{method}: {error}", 0)
        return reply.message.get("result")

    def _withdraw(self, number: int) -> None:
        with suppress(BridgeEndedError):
            self.notify("$/cancelRequest", {"id": number})

    def _send(self, message: dict[str, Any]) -> None:
        if self._ended is not None:
            raise BridgeEndedError(self._ended)
        frame = client_messages.written(message)
        try:
            self._outgoing.send_nowait(frame)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise BridgeEndedError("the server takes no more input") from None

    async def _carry_messages(self) -> None:
        # Shielded, so that a caller who is being cancelled can still end the server in good order.
        with self._carrying:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write_frames)
                tasks.start_soon(self._read_messages)
                tasks.start_soon(self._link.watch)

    async def _write_frames(self) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with self._frames:
                async for frame in self._frames:
                    await self._link.send(frame)
        await self._link.close_input()

    async def _read_messages(self) -> None:
        frames = FrameReader()
        not_lsp = None
        async with aclosing(self._link.received()) as received:
            async for chunk in received:
                try:
                    for frame in frames.feed(chunk):
                        self._dispatch(client_messages.read(frame))
                        # A request's handler takes its first steps before the message behind it is looked at.
                        await anyio.lowlevel.checkpoint()
                except NotLspError as error:
                    not_lsp = f"the server's output is no LSP: {error}"
                    break
        self._ended = not_lsp or f"{await self._link.last_words(END_TIMEOUT_S)}{self._complaint}"
        for reply in self._pending.values():
            reply.arrived.set()

    def _dispatch(self, message: Mapping[str, Any]) -> None:
        """Take a message; one of a shape that it cannot have is nobody's."""
        method, number = message.get("method"), id_in(message, "id")
        if method is None:
            reply = self._pending.get(number) if isinstance(number, int) else None
            if reply is not None:  # an answer to a withdrawn request has nobody waiting for it
                reply.message = message
                reply.arrived.set()
            elif number is None:  # of no request: why the connection is about to end, mostly
                self._complaint = client_messages.complaint(message)
        elif isinstance(method, str) and number is not None:
            scope = self._answering[number] = anyio.CancelScope()
            self._tasks.start_soon(self._answer, number, scope, method, message.get("params"))
        elif isinstance(method, str) and "id" not in message:
            self._notified(method, message.get("params"))

    def _notified(self, method: str, params: Any) -> None:
        if method == "$/cancelRequest" and (number := id_in(params, "id")) in self._answering:
            self._answering[number].cancel()
        if method == "$/progress" and (token := id_in(params, "token")) in self._progress:
            _hand(self._progress[token], params.get("value"))
        if self._on_notification is not None:
            _hand(self._on_notification, method, params)

    async def _answer(self, number: int | str, scope: anyio.CancelScope, method: str, params: Any) -> None:
        answer: dict[str, Any] = {"error": {"code": -32800, "message": "withdrawn"}}
        try:
            with scope:
                answer = await self._answer_of(method, params)
        finally:
            del self._answering[number]
        with suppress(BridgeEndedError):
            self._send({"id": number, **answer})

    async def _answer_of(self, method: str, params: Any) -> dict[str, Any]:
        handler = self._handlers.get(method)
        if handler is None:
            return {"error": {"code": -32601, "message": f"this client does not know {method}"}}
        try:
            result = handler(params)
            result = await result if isawaitable(result) else result
            json.dumps(result)  # whether it can be sent
        except Exception as error:  # noqa: BLE001  the server is owed an answer whatever went wrong here
            return {"error": {"code": -32603, "message": f"{method}: {error}"}}
        return {"result": result}


def _hand(callback: Callable[..., None], *what: Any) -> None:
    """Call what the caller gave; a fault of it is told in the log, and no reason to end their session."""
    try:
        callback(*what)
    except Exception:
        log.exception("%s failed", getattr(callback, "__qualname__", callback))


def _folder(path: str | Path) -> dict[str, str]:
    path = Path(path).absolute()
    return {"uri": path.as_uri(), "name": path.name}


@dataclass(slots=True)
class _Reply:
    """The place an answer is put; no message once it has arrived means that the connection ended."""

    arrived: anyio.Event = field(default_factory=anyio.Event)
    message: Mapping[str, Any] | None = None


async def _nothing(_params: Any) -> None:
    """Agree, with nothing to tell."""


async def _no_configuration(params: Any) -> list[None]:
    return [None] * len(params["items"])


_STANDARD_HANDLERS: Final[Mapping[str, RequestHandler]] = {
    "client/registerCapability": _nothing,
    "client/unregisterCapability": _nothing,
    "window/workDoneProgress/create": _nothing,
    "workspace/configuration": _no_configuration,
}
