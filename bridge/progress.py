"""``$/progress`` of one call: begin, at most a report per interval, end."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from .limits import PROGRESS_INTERVAL_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from .protocol import ProgressToken

_MESSAGE_MAX_CHARS = 500


class WorkDoneProgress:
    """Implements ``ProgressPort``; ``report`` may come from any thread and as often as it likes.

    A report that comes too soon replaces the one that waits: the client sees the latest, never a flood.
    """

    def __init__(
        self, token: ProgressToken, send: Callable[[dict[str, Any]], None], *, interval_s: float = PROGRESS_INTERVAL_S
    ) -> None:
        """``send`` takes the params of ``$/progress``; it is called on this event loop only."""
        self._token = token
        self._send = send
        self._interval_s = interval_s
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._waiting: dict[str, Any] | None = None
        self._scheduled = False
        self._ended = False
        self._next_at = 0.0

    def begin(self, title: str) -> None:
        """The call has begun; the client may offer to cancel it."""
        self._value({"kind": "begin", "title": title, "cancellable": True})

    def report(self, message: str, *, percentage: int | None = None) -> None:
        """Tell that work went on."""
        value: dict[str, Any] = {"kind": "report", "message": message[:_MESSAGE_MAX_CHARS]}
        if percentage is not None:
            value["percentage"] = max(0, min(100, int(percentage)))
        with self._lock:
            self._waiting = value
            if self._scheduled or self._ended:
                return
            self._scheduled = True
        try:
            self._loop.call_soon_threadsafe(self._schedule)
        except RuntimeError:
            return  # the loop is closed: the session is over, and nobody is left to be told

    def end(self) -> None:
        """The call has ended; nothing is sent after this."""
        with self._lock:
            self._ended = True
        self._value({"kind": "end"})

    def _schedule(self) -> None:
        self._loop.call_at(max(self._next_at, self._loop.time()), self._flush)

    def _flush(self) -> None:
        with self._lock:
            value, self._waiting, self._scheduled = self._waiting, None, False
            if value is None or self._ended:
                return
        self._next_at = self._loop.time() + self._interval_s
        self._value(value)

    def _value(self, value: dict[str, Any]) -> None:
        self._send({"token": self._token, "value": value})
