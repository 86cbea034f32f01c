"""JSON-RPC messages as JSON text: read strictly, written always; pure."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from ..limits import ID_SEARCH_MAX_BYTES

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SERVER_NOT_INITIALIZED: Final = -32002
REQUEST_FAILED: Final = -32803
REQUEST_CANCELLED: Final = -32800


class UnreadableError(ValueError):
    """The body of a frame is not JSON."""


class NotJsonError(ValueError):
    """A value cannot be written as JSON."""


class Json(str):
    """A value that is JSON text already."""

    __slots__ = ()


def loads(body: bytes) -> tuple[Any, bytes]:
    """The value at the start of a body, and the bytes that follow it (none in a sound frame).

    Raises:
        UnreadableError: not UTF-8, not JSON, or nested too deeply to be read.
    """
    try:
        text = body.decode("utf-8").lstrip(_BLANK)
        value, end = _decoder.raw_decode(text)
    except RecursionError:
        raise UnreadableError("the message is nested too deeply") from None
    except ValueError as error:
        raise UnreadableError(f"the message is not JSON in UTF-8: {_short(error)}") from None
    rest = text[end:].strip(_BLANK)
    return value, rest.encode("utf-8")


def dumps(value: object) -> str:
    """JSON text without raw line breaks.

    Raises:
        NotJsonError: it holds something that JSON has no form for, itself, or too many levels.
    """
    if isinstance(value, Json):
        return value
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJsonError(_short(error)) from None


def frame(text: str) -> bytes:
    """The bytes of one message. A lone surrogate, which no UTF-8 can carry, becomes U+FFFD."""
    try:
        body = text.encode("utf-8")
    except UnicodeEncodeError:
        body = _SURROGATE.sub("\ufffd", text).encode("utf-8")
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def result_text(request_id: int | str, result: object) -> str:
    """The answer of a request that was carried out."""
    return f'{{"jsonrpc":"2.0","id":{_encoder.encode(request_id)},"result":{dumps(result)}}}'


def error_text(request_id: int | str | None, code: int, message: str) -> str:
    """The answer of a request that was not."""
    return _encoder.encode({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}})


def find_request_id(start: bytes) -> int | str | None:
    """The id of a request that cannot be read as a whole, so that its client need not wait for ever."""
    depth = 0
    found: int | str | None = None
    is_request = False
    for token in _TOKEN.finditer(start[:ID_SEARCH_MAX_BYTES]):
        match token[0][:1]:
            case b"[" if depth == 0:
                return None
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
            case _ if depth == 1 and token[0] == b'"method"':
                is_request = True
            case _ if depth == 1 and token[0] == b'"id"' and (value := _ID.match(start, token.end())):
                found = json.loads(value[1])
            case _:
                pass
    return found if is_request else None


_BLANK: Final = " \t\r\n"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)
_ID: Final = re.compile(rb'\s*:\s*(-?(?:0|[1-9]\d{0,17})(?![\d.eE])|"[^"\\\x00-\x1f\x80-\xff]{1,200}")')


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder: Final = json.JSONDecoder(parse_constant=_refuse_constant)
_encoder: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _short(error: Exception) -> str:
    return str(error)[:200]
