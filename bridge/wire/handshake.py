"""The first message of a connection: ``initialize`` with the access token, or nothing is taken from it.

Whoever can reach the port may connect: other users of the machine, and web pages by way of a browser. So nothing is
looked at but one frame, and not for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import anyio

from ..access_token import is_token
from ..limits import FLUSH_GRACE_S, HANDSHAKE_MAX_BYTES, HANDSHAKE_TIMEOUT_S
from ..protocol import is_id
from . import messages
from .framing import BadFrame, FrameReader

if TYPE_CHECKING:
    import socket

_CHUNK_BYTES = 64 * 1024


class RefusedError(Exception):
    """The other end is not let in; ``request_id`` is what its request is answered under, where it made one."""

    def __init__(self, why: str, request_id: int | str | None = None) -> None:
        super().__init__(why)
        self.request_id = request_id


@dataclass(frozen=True, slots=True)
class Admitted:
    """A client that knows the token: all bytes that came of it so far, which begin with its request ``initialize``."""

    received: bytes
    request_id: int | str


async def admitted(
    connection: socket.socket,
    token: str,
    *,
    max_bytes: int = HANDSHAKE_MAX_BYTES,
    timeout_s: float = HANDSHAKE_TIMEOUT_S,
) -> Admitted:
    """Wait for the first message.

    Raises:
        RefusedError: the client does not know it, or says nothing to the point in time or within ``max_bytes``.
    """
    received = b""
    frames = FrameReader(max_bytes)
    try:
        with anyio.fail_after(timeout_s):
            while chunk := await asyncio.get_running_loop().sock_recv(connection, _CHUNK_BYTES):
                received += chunk
                for item in frames.feed(chunk):
                    return Admitted(received, _judged(item, token))
                if len(received) > max_bytes:
                    raise RefusedError(f"no whole message came in {max_bytes} bytes")
    except TimeoutError:
        raise RefusedError(f"no whole message came in {timeout_s:g} s") from None
    except OSError as error:
        raise RefusedError(f"the connection broke: {error.strerror}") from None
    raise RefusedError("the connection was closed before its first message")


async def turn_away(connection: socket.socket, why: str, request_id: int | str | None = None) -> None:
    """Say why as a JSON-RPC error; of no consequence if that is not taken."""
    answer = messages.frame(messages.error_text(request_id, messages.ACCESS_DENIED, why))
    with suppress(OSError), anyio.move_on_after(FLUSH_GRACE_S):
        await asyncio.get_running_loop().sock_sendall(connection, answer)


def _judged(item: bytes | BadFrame, token: str) -> int | str:
    """The id of ``initialize``, if that is what came."""
    if isinstance(item, BadFrame):
        raise RefusedError("what came first is no LSP message")
    try:
        message, _ = messages.loads(item)
    except messages.UnreadableError:
        raise RefusedError("what came first is no LSP message") from None
    request_id: Any = _at(message, "id")
    request_id = request_id if is_id(request_id) else None
    if _at(message, "method") != "initialize" or request_id is None:
        raise RefusedError("the first message has to be the request initialize", request_id)
    offered = _at(message, "params", "initializationOptions", "openbuffer", "accessToken")
    where = "initializationOptions.openbuffer.accessToken"
    if offered is None:
        raise RefusedError(f"initialize needs the access token of this server under {where}", request_id)
    if not is_token(offered, token):
        raise RefusedError(f"{where} of initialize is not the access token of this server", request_id)
    return request_id


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    return value
