"""Messages of the headless client: read as far as they could be LSP, written as a frame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from .protocol import is_id
from .wire.framing import BadFrame

if TYPE_CHECKING:
    from collections.abc import Mapping


_SAID_MAX_CHARS: Final = 500


class NotLspError(Exception):
    """The server wrote something that is no message."""


def read(frame: bytes | BadFrame) -> Mapping[str, Any]:
    """The message in a frame.

    Raises:
        NotLspError: there is none.
    """
    if isinstance(frame, BadFrame):
        raise NotLspError(frame.reason)
    try:
        message = json.loads(frame)
    except (ValueError, RecursionError) as error:
        raise NotLspError(f"a message is not JSON ({error})") from None
    if not isinstance(message, dict):
        raise NotLspError("a message is not a JSON object")
    return cast("Mapping[str, Any]", message)


def written(message: Mapping[str, Any]) -> bytes:
    """The frame of a message; params that are None are left out."""
    fields = {name: value for name, value in message.items() if name != "params" or value is not None}
    # ASCII, so that no text can make invalid UTF-8 of it (lone surrogates).
    body = json.dumps({"jsonrpc": "2.0", **fields}, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def id_in(fields: Any, member: str) -> int | str | None:
    """An id or a token; None where there is none that could be one."""
    value = cast("dict[str, Any]", fields).get(member) if isinstance(fields, dict) else None
    return value if is_id(value) else None


def complaint(message: Mapping[str, Any]) -> str:
    """What an error that answers no request adds to how the server ended."""
    error = message.get("error")
    said = cast("dict[str, Any]", error).get("message") if isinstance(error, dict) else None
    return f"; its last error was: {said[:_SAID_MAX_CHARS]}" if isinstance(said, str) else ""
