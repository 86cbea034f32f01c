"""Request headers that a call sets: which it may set, and which go on to where a redirect leads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..limits import WEB_REQUEST_HEADERS_MAX_BYTES
from .http_guard_errors import HeadersRefusedError
from .located import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?|")

_NOT_TO_BE_SET: Final = frozenset(
    {
        *("host", "connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "upgrade"),
        *("expect", "accept-encoding", "range", "via", "http2-settings"),
    }
)
"""What decides where the request goes, how the connection is used, or what part of an answer comes."""

_NOT_TO_BEGIN_WITH: Final = ("proxy-", "if-", "content-", "sec-", "x-forwarded-", "forwarded")


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers by their names in lower case.

    Raises:
        HeadersRefusedError: one that a call may not set, one that is none, or too many.
    """
    checked: dict[str, str] = {}
    for given, value in headers.items():
        name = given.lower()
        if not _NAME.fullmatch(name):
            raise HeadersRefusedError(f"{printable(given[:100])!r} is no name of a request header. Correct it.")
        if name in _NOT_TO_BE_SET or name.startswith(_NOT_TO_BEGIN_WITH):
            raise HeadersRefusedError(f"the request header {given} cannot be set. Leave it out.")
        if name in checked:
            raise HeadersRefusedError(f"the request header {given} is given twice. Give it once.")
        if not _VALUE.fullmatch(value):
            raise HeadersRefusedError(
                f"the value of the request header {given} is to be printable ASCII on one line, without spaces at its "
                "ends. Correct it."
            )
        checked[name] = value
    if sum(len(name) + len(value) for name, value in checked.items()) > WEB_REQUEST_HEADERS_MAX_BYTES:
        raise HeadersRefusedError(f"the request headers are over {WEB_REQUEST_HEADERS_MAX_BYTES} bytes. Set fewer.")
    return checked
