"""The pygls protocol with its dispatch replaced: one answer per request, in order, whatever comes in.

Of pygls we keep the types, the conversion and the requests to the client. Not kept are its dispatch, which leaves
requests without an answer for a dozen reasons, and its documents, which cost O(document) per change (we have our
own). What is absent on purpose: handlers in threads, pop-ups about errors, params as named tuples.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import anyio
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter

from ..limits import DROPPABLE_OVER_BYTES, PENDING_REQUESTS_MAX
from ..protocol import CallCancelledError, MalformedParamsError, RequestFailedError, is_id, json_kind
from . import messages
from .trace import LOG_TRACE, SET_TRACE, Trace, trace_value

if TYPE_CHECKING:
    from concurrent.futures import Future

    from anyio.abc import TaskGroup
    from cattrs import Converter

    from .framing import BadFrame

RequestHandler: TypeAlias = Callable[[Any], Awaitable[Any]]
"""Takes the params as plain JSON, returns the result as plain JSON or :class:`messages.Json`."""

NotificationHandler: TypeAlias = Callable[[Any], None]
"""Takes the params as plain JSON; runs in the order of arrival, before the next message is looked at."""

log = logging.getLogger(__name__)


class ConnectionLostError(Exception):
    """The client went away before it answered."""


class Phase(Enum):
    """Where the session is in the life that LSP prescribes."""

    NEW = auto()
    RUNNING = auto()
    SHUT_DOWN = auto()
    ENDED = auto()


class BridgeProtocol(LanguageServerProtocol):
    """Messages in, handlers, messages out."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.phase = Phase.NEW
        self._requests: dict[str, RequestHandler] = {}
        self._notifications: dict[str, NotificationHandler] = {}
        self._running: dict[int | str, anyio.CancelScope] = {}
        self._answered: anyio.Event | None = None
        self._tasks: TaskGroup | None = None
        self._ids = itertools.count(1)
        self._trace = Trace(partial(self.send_droppable, LOG_TRACE))

    def _register_builtin_features(self) -> None:
        """Nothing of pygls' own answers: every method has its file in ``handlers``."""

    # --- set up ------------------------------------------------------------------------------------------------

    def on_request(self, method: str, handler: RequestHandler) -> None:
        """Answer ``method`` with this handler."""
        assert method not in self._requests, f"{method} has a handler"
        self._requests[method] = handler

    def on_notification(self, method: str, handler: NotificationHandler) -> None:
        """Hand ``method`` to this handler."""
        assert method not in self._notifications, f"{method} has a handler"
        self._notifications[method] = handler

    def run_in(self, tasks: TaskGroup) -> None:
        """Run handlers in this task group, which outlives every message."""
        self._tasks = tasks

    def run_beside(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run this beside the messages, until the session ends; a fault of it is logged."""
        assert self._tasks is not None
        self._tasks.start_soon(_done, work)

    # --- messages in -------------------------------------------------------------------------------------------

    def handle_body(self, body: bytes) -> bytes:
        """Take the body of a frame; returns the bytes behind its JSON value, which belong to the next frame."""
        try:
            message, rest = messages.loads(body)
        except messages.UnreadableError as error:
            self._refuse_unreadable(body, str(error))
            return b""
        self.handle_message(message)
        return rest

    def handle_bad_frame(self, bad: BadFrame) -> None:
        """Answer what is no frame at all."""
        self._refuse_unreadable(bad.start, f"{bad.reason}; skipped to the next Content-Length")

    def _refuse_unreadable(self, start: bytes, why: str) -> None:
        log.warning("%s", why)
        self._refuse(messages.find_request_id(start), messages.PARSE_ERROR, why)
        uri = messages.find_document(start)
        if uri is not None:  # its text is not known any more, which params without a version say
            self._take_notification(types.TEXT_DOCUMENT_DID_CHANGE, {"textDocument": {"uri": uri}})

    def handle_message(self, message: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  plain JSON instead of pygls' classes: that is what this class is for
        """Take one message as plain JSON. Never raises."""
        if not isinstance(message, dict):
            kind = "a batch is not part of LSP" if isinstance(message, list) else "a message must be an object"
            self._refuse(None, messages.INVALID_REQUEST, kind)
            return
        fields = cast("dict[str, Any]", message)
        method = fields.get("method")
        if "method" not in fields and "id" in fields:
            self._take_response(fields)
        elif not isinstance(method, str) or fields.get("jsonrpc") != "2.0":
            request_id = fields.get("id") if is_id(fields.get("id")) else None
            self._refuse(request_id, messages.INVALID_REQUEST, 'a message needs "jsonrpc": "2.0" and a "method"')
        elif "id" in fields:
            self._take_request(fields["id"], method, fields.get("params"))
        else:
            self._take_notification(method, fields.get("params"))

    def _take_request(self, request_id: Any, method: str, params: Any) -> None:
        if not is_id(request_id):
            about = f"the id of a request must be an integer or a string, not {json_kind(request_id)}"
            self._refuse(None, messages.INVALID_REQUEST, about)
            return
        if refusal := self._refusal(request_id, method):
            self._refuse(request_id, *refusal)
            return
        if method == types.INITIALIZE:
            self.phase = Phase.RUNNING
            self._trace.set(trace_value(params, "trace"))
        elif method == types.SHUTDOWN:
            self.phase = Phase.SHUT_DOWN
            self.cancel_requests()
        if method != types.INITIALIZE:  # which may hold an access token
            self._trace.request_came(request_id, method, params)
        scope = self._running[request_id] = anyio.CancelScope()
        assert self._tasks is not None
        self._tasks.start_soon(self._answer, request_id, scope, self._requests[method], params)

    def _refusal(self, request_id: int | str, method: str) -> tuple[int, str] | None:
        if self.phase is Phase.NEW and method != types.INITIALIZE:
            return messages.SERVER_NOT_INITIALIZED, f"{_shown(method)} came before initialize"
        if self.phase in {Phase.SHUT_DOWN, Phase.ENDED}:
            return messages.INVALID_REQUEST, f"{_shown(method)} came after shutdown"
        if self.phase is Phase.RUNNING and method == types.INITIALIZE:
            return messages.INVALID_REQUEST, "initialize came a second time"
        if method not in self._requests:
            return messages.METHOD_NOT_FOUND, f"no such request: {_shown(method)}"
        if request_id in self._running:
            return messages.INVALID_REQUEST, f"id {_shown(str(request_id))} belongs to a request without an answer yet"
        if len(self._running) >= PENDING_REQUESTS_MAX and method != types.SHUTDOWN:  # which ends them
            return messages.REQUEST_FAILED, f"{PENDING_REQUESTS_MAX} requests have no answer yet; wait for some"
        return None

    async def _answer(self, request_id: int | str, scope: anyio.CancelScope, handler: RequestHandler, p: Any) -> None:
        text = messages.error_text(request_id, messages.REQUEST_CANCELLED, "cancelled")
        done = False
        try:
            with scope:
                text = messages.result_text(request_id, await handler(p))
                done = True
        except anyio.get_cancelled_exc_class():
            raise  # the session ends
        except CallCancelledError:
            pass  # the text says so already
        except MalformedParamsError as error:
            text = messages.error_text(request_id, messages.INVALID_PARAMS, str(error))
        except RequestFailedError as error:
            text = messages.error_text(request_id, messages.REQUEST_FAILED, str(error))
        except messages.NotJsonError as error:
            text = messages.error_text(request_id, messages.INTERNAL_ERROR, f"the result cannot be sent: {error}")
        except BaseException as error:
            log.exception("a handler failed")
            text = messages.error_text(request_id, messages.INTERNAL_ERROR, f"internal error: {type(error).__name__}")
        finally:
            if not done and self.phase is Phase.RUNNING and handler is self._requests.get(types.INITIALIZE):
                self.phase = Phase.NEW  # the client may try again
            del self._running[request_id]
            self._write(text)
            self._trace.answered(request_id, text)
            if self._answered is not None:
                self._answered.set()
                self._answered = None

    def _take_notification(self, method: str, params: Any) -> None:
        if method == types.CANCEL_REQUEST:
            self._cancel(params)
            return
        if method == SET_TRACE:
            self._trace.set(trace_value(params, "value"))
            return
        self._trace.notification_came(method, params)
        handler = self._notifications.get(method)
        if handler is None:
            log.debug("no such notification: %s", _shown(method))
        elif self.phase in {Phase.RUNNING, Phase.SHUT_DOWN} or method == types.EXIT:
            # After shutdown too: the text that comes tells what became of the edits that are still on their way.
            try:
                handler(params)
            except MalformedParamsError as error:
                log.warning("%s: %s", method, error)
            except BaseException:
                log.exception("%s failed", method)

    def _cancel(self, params: Any) -> None:
        request_id = cast("dict[str, Any]", params).get("id") if isinstance(params, dict) else None
        # 1 and "1" are different ids in LSP; a cancel for the one does not concern the other.
        scope = self._running.get(cast("int | str", request_id)) if is_id(request_id) else None
        if scope is not None:
            scope.cancel()

    def _take_response(self, fields: dict[str, Any]) -> None:
        request_id = fields["id"]
        future = self._request_futures.pop(request_id, None) if is_id(request_id) else None
        if future is None or future.done():
            log.debug("an answer that nobody waits for")
            return
        self._trace.client_answered(request_id, fields)
        if fields.get("error") is not None:  # some clients send both members, one of them null
            future.set_exception(_client_error(fields["error"]))
        else:
            future.set_result(fields.get("result"))

    # --- messages out ------------------------------------------------------------------------------------------

    async def send_request_async(self, method: str, params: Any = None, msg_id: str | int | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  a coroutine, so that cancelling tells the client
        """Send a request to the client and wait for its answer, as plain JSON; cancelling withdraws it there.

        Raises:
            JsonRpcException: the client answered with an error.
            ConnectionLostError: the client went away.
        """
        if self.phase is Phase.ENDED:
            raise ConnectionLostError("the connection to the client is closed")
        msg_id = f"openbuffer-{next(self._ids)}" if msg_id is None else msg_id
        future: Future[Any] = self.send_request(method, params, msg_id=msg_id)
        self._trace.asked_client(msg_id, method, self._converter.unstructure(params))
        # Structured, an answer would be what its classes make of it: of the text "false" a yes.
        self._result_types.pop(msg_id, None)
        try:
            return await asyncio.wrap_future(future)
        except anyio.get_cancelled_exc_class():
            if self._request_futures.pop(msg_id, None) is not None:
                self.send_notification(types.CANCEL_REQUEST, {"id": msg_id})
            raise

    def send_notification(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification whose params are plain JSON."""
        self._write(messages.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def send_droppable(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that nobody misses: not before ``initialize``, nor where the client does not read."""
        waiting = getattr(self.writer, "waiting_bytes", 0)
        if self.phase in {Phase.RUNNING, Phase.SHUT_DOWN} and waiting <= DROPPABLE_OVER_BYTES:
            self.send_notification(method, params)

    def _send_data(self, data: Any) -> None:
        """What pygls' own senders hand over, as typed messages."""
        self._write(messages.dumps(self._converter.unstructure(data)))

    def _refuse(self, request_id: int | str | None, code: int, message: str) -> None:
        self._write(messages.error_text(request_id, code, message))

    def _write(self, text: str) -> None:
        if self.writer is not None:
            self.writer.write(messages.frame(text))

    # --- the end -----------------------------------------------------------------------------------------------

    def cancel_requests(self) -> None:
        """Cancel every request that runs; each is answered when its work has stopped."""
        for scope in list(self._running.values()):
            scope.cancel()

    async def wait_idle(self, *, others: int = 0) -> None:
        """Wait until no more than ``others`` requests run."""
        while len(self._running) > others:
            self._answered = self._answered or anyio.Event()
            await self._answered.wait()

    def connection_lost(self) -> None:
        """Nothing comes any more: whoever waits for the client is told.

        What it was asked is withdrawn: it may be there still, where a signal ended the server, with a dialog open.
        """
        self.phase = Phase.ENDED
        for request_id, future in list(self._request_futures.items()):
            if not future.done():
                self.send_notification(types.CANCEL_REQUEST, {"id": request_id})
                future.set_exception(ConnectionLostError("the connection to the client was lost"))
        self._request_futures.clear()


class BridgeServer(LanguageServer):
    """The pygls server object that owns the protocol; it starts nothing by itself."""

    def __init__(self, version: str) -> None:
        super().__init__("openbuffer", version, protocol_cls=BridgeProtocol, converter_factory=default_converter)  # pyright: ignore[reportUnknownMemberType]  pygls leaves *args untyped

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log it. A pop-up in the editor would tell its user nothing that they can act on."""
        log.error("%s: %s", getattr(source, "__name__", source), error)


async def _done(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except Exception:
        log.exception("what was to be done beside the messages failed")


def _client_error(error: object) -> JsonRpcException:
    fields: dict[str, Any] = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    code, message = fields.get("code"), fields.get("message")
    return JsonRpcException(
        message if isinstance(message, str) else "the client answered with an error",
        code if isinstance(code, int) else messages.INTERNAL_ERROR,
    )


def _shown(text: str) -> str:
    return text if len(text) <= 100 else text[:100] + "…"
