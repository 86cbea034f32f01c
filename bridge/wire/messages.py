"""JSON-RPC messages as JSON text: read strictly, written always; pure."""

from __future__ import annotations

import itertools
import json
import re
from contextlib import suppress
from typing import Any, Final, NoReturn

from ..limits import ID_SEARCH_MAX_BYTES, MESSAGE_MAX_VALUES

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SERVER_NOT_INITIALIZED: Final = -32002
ACCESS_DENIED: Final = -32040
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
        UnreadableError: not UTF-8, not JSON, nested too deeply to be read, or of too many values to be kept.
    """
    if _has_too_many_values(body):
        raise UnreadableError(f"the message holds more than {MESSAGE_MAX_VALUES} values")
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
                with suppress(ValueError):
                    found = json.loads(value[1])
            case _:
                pass
    return found if is_request else None


def find_document(start: bytes) -> str | None:
    """The URI of the document whose text a message that cannot be read would have told."""
    start = start[:ID_SEARCH_MAX_BYTES]
    found = _DOCUMENT.search(start) if _TELLS_TEXT.search(start) else None
    if found is None:
        return None
    try:
        return json.loads(found[1])
    except ValueError:
        return None


def _has_too_many_values(body: bytes) -> bool:
    """Whether so many values would take too much memory; what is inside of strings is none."""
    if len(body) <= _LARGE_BYTES or sum(map(body.count, (b",", b"[", b"{"))) <= MESSAGE_MAX_VALUES:
        return False
    separators = (token for token in _SEPARATOR.finditer(body) if token[0][:1] != b'"')
    return next(itertools.islice(separators, MESSAGE_MAX_VALUES, None), None) is not None


_BLANK: Final = " \t\r\n"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)
_ID: Final = re.compile(rb'\s*:\s*(-?(?:0|[1-9]\d{0,17})(?=\s*[,}])|"(?:[^"\\\x00-\x1f]|\\.){1,200}")')


_TELLS_TEXT: Final = re.compile(rb'"method"\s*:\s*"textDocument/did(?:Open|Change)"')
_DOCUMENT: Final = re.compile(rb'"textDocument"\s*:\s*\{[^{}]*?"uri"\s*:\s*("(?:[^"\\]|\\.)*+")')
_SEPARATOR: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[,\[{]', re.DOTALL)
_LARGE_BYTES: Final = 8 * 1024 * 1024


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder: Final = json.JSONDecoder(parse_constant=_refuse_constant)
_encoder: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _short(error: Exception) -> str:
    return str(error)[:200]
