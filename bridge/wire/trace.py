"""``$/setTrace`` and ``$/logTrace``: what the server takes and answers, for whoever looks for a fault."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from ..limits import TRACE_VALUE_MAX_CHARS
from . import messages

if TYPE_CHECKING:
    from collections.abc import Callable

LOG_TRACE: Final = "$/logTrace"
SET_TRACE: Final = "$/setTrace"

_VALUES: Final = frozenset({"off", "messages", "verbose"})


class Trace:
    """Off until the client asks for it. ``send`` takes the params of ``$/logTrace``."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._value = "off"
        self._began: dict[int | str, float] = {}

    def set(self, value: object) -> None:
        """Trace like this from now on; an unknown value changes nothing."""
        if isinstance(value, str) and value in _VALUES:
            self._value = value

    def request_came(self, request_id: int | str, method: str, params: object) -> None:
        """The client asks for something."""
        if self._value != "off":
            self._began[request_id] = time.monotonic()
            self._tell(f"took request {request_id!r}: {method}", params)

    def answered(self, request_id: int | str, text: str) -> None:
        """It has its answer."""
        began = self._began.pop(request_id, None)
        if began is not None and self._value != "off":
            self._tell(f"answered request {request_id!r} after {(time.monotonic() - began) * 1000:.1f} ms", text)

    def notification_came(self, method: str, params: object) -> None:
        """The client tells something."""
        if self._value != "off":
            self._tell(f"took notification: {method}", params)

    def asked_client(self, request_id: int | str, method: str, params: object) -> None:
        """The client is asked for something."""
        if self._value != "off":
            self._tell(f"asked the client {request_id!r}: {method}", params)

    def client_answered(self, request_id: int | str, answer: object) -> None:
        """The client has answered."""
        if self._value != "off":
            self._tell(f"the client answered {request_id!r}", answer)

    def _tell(self, message: str, value: object) -> None:
        params: dict[str, Any] = {"message": message}
        if self._value == "verbose":
            with suppress(messages.NotJsonError):
                params["verbose"] = _cut(value if isinstance(value, str) else messages.dumps(value))
        self._send(params)


def trace_value(params: object, member: str) -> object:
    """What the params of ``initialize`` (``trace``) or ``$/setTrace`` (``value``) say."""
    return cast("Mapping[str, object]", params).get(member) if isinstance(params, Mapping) else None


def _cut(text: str) -> str:
    most = TRACE_VALUE_MAX_CHARS
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
