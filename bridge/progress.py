"""``$/progress`` of one call: begin, at most a report per interval, end."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Final

import anyio

from .dialog_text import one_line
from .limits import PROGRESS_DELAY_S, PROGRESS_INTERVAL_S, PROGRESS_TOKEN_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .protocol import ProgressToken

_MESSAGE_MAX_CHARS: Final = 500
_TITLE_MAX_CHARS: Final = 100


class WorkDoneProgress:
    """Implements ``ProgressPort``; ``report`` may come from any thread and as often as it likes.

    A report that comes too soon replaces the one that waits: the client sees the latest, never a flood. A message goes
    out on one line, with whatever would act on the text around it escaped.
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
        self._waiting: tuple[str, int | None] | None = None
        self._scheduled = False
        self._ended = False
        self._next_at = 0.0

    def begin(self, title: str, message: str = "", *, percentage: int | None = None) -> None:
        """The call has begun; the client may offer to cancel it."""
        value = {"kind": "begin", "title": one_line(title, _TITLE_MAX_CHARS), "cancellable": True}
        self._value({**value, **_told(message, percentage)})

    def report(self, message: str, *, percentage: int | None = None) -> None:
        """Tell that work went on."""
        with self._lock:
            self._waiting = (message, percentage)
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
            waiting, self._waiting, self._scheduled = self._waiting, None, False
            if waiting is None or self._ended:
                return
        self._next_at = self._loop.time() + self._interval_s
        self._value({"kind": "report", **_told(*waiting)})

    def _value(self, value: dict[str, Any]) -> None:
        self._send({"token": self._token, "value": value})


class LateProgress:
    """Progress under a token of the server's: of a call that lasts, and whose client takes the token.

    Implements ``ProgressPort``. Most calls are over before a client could show anything; nothing is sent of them.
    """

    def __init__(
        self,
        token: str,
        title: str,
        send: Callable[[dict[str, Any]], None],
        create: Callable[[str], Awaitable[object]],
        *,
        delay_s: float = PROGRESS_DELAY_S,
    ) -> None:
        """``create`` asks the client to take a token, and raises where it does not."""
        self._token = token
        self._title = title
        self._send = send
        self._create = create
        self._lock = threading.Lock()
        self._latest: tuple[str, int | None] = ("", None)
        self._begun: WorkDoneProgress | None = None
        self._creating: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(delay_s, self._start)

    def report(self, message: str, *, percentage: int | None = None) -> None:
        """Tell that work went on."""
        with self._lock:
            begun = self._begun
            self._latest = (message, percentage)
        if begun is not None:
            begun.report(message, percentage=percentage)

    def end(self) -> None:
        """The call has ended; nothing is sent after this, but that the token is not asked for any more."""
        self._timer.cancel()
        if self._creating is not None:
            self._creating.cancel()
        if self._begun is not None:
            self._begun.end()

    def _start(self) -> None:
        self._creating = self._loop.create_task(self._begin())

    async def _begin(self) -> None:
        try:
            with anyio.fail_after(PROGRESS_TOKEN_TIMEOUT_S):
                await self._create(self._token)
        except Exception:  # noqa: BLE001  a client that does not take it, for whatever reason, is told nothing
            return
        begun = WorkDoneProgress(self._token, self._send)
        with self._lock:
            self._begun = begun
            message, percentage = self._latest
        begun.begin(self._title, message, percentage=percentage)


def _told(message: str, percentage: int | None) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if message:
        told["message"] = one_line(message, _MESSAGE_MAX_CHARS)
    if percentage is not None:
        told["percentage"] = max(0, min(100, int(percentage)))
    return told
