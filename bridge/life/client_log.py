"""What is logged, told to the client that it concerns as ``window/logMessage``: some of it, and a count of the rest."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..limits import CLIENT_LOG_AT_ONCE, CLIENT_LOG_INTERVAL_S, CLIENT_LOG_LINE_MAX_CHARS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_ERROR, _WARNING, _INFO, _DEBUG = 1, 2, 3, 5
"""LSP's MessageType; 5 is of LSP 3.18, which older clients take for a plain log line."""

_session: ContextVar[ClientLog | None] = ContextVar("session", default=None)


class ClientLog:
    """The log of one session. At most ``at_once`` messages in a row, and then one in each ``interval_s``.

    What is left out is counted, and the count told when there is room again. ``send`` takes the params of
    ``window/logMessage`` on the event loop; ``take`` may come from any thread.
    """

    def __init__(
        self,
        send: Callable[[dict[str, Any]], None],
        *,
        at_once: int = CLIENT_LOG_AT_ONCE,
        interval_s: float = CLIENT_LOG_INTERVAL_S,
    ) -> None:
        self._send = send
        self._at_once = at_once
        self._interval_s = interval_s
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._room = float(at_once)
        self._counted_at = self._loop.time()
        self._left_out = 0

    def take(self, level: int, text: str) -> None:
        """Tell it, or count it."""
        with self._lock:
            if self._has_room():
                params = {"type": _message_type(level), "message": text[:CLIENT_LOG_LINE_MAX_CHARS]}
                work: Callable[[], object] = partial(self._send, params)
            else:
                self._left_out += 1
                if self._left_out > 1:
                    return
                work = self._tell_count_later
        with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(work)

    def _has_room(self) -> bool:
        now = self._loop.time()
        self._room = min(self._at_once, self._room + (now - self._counted_at) / self._interval_s)
        self._counted_at = now
        if self._left_out or self._room < 1:  # what was left out is told before anything else
            return False
        self._room -= 1
        return True

    def _tell_count_later(self) -> None:
        self._loop.call_later(self._interval_s * 2, self._tell_count)

    def _tell_count(self) -> None:
        with self._lock:
            left_out, self._left_out = self._left_out, 0
            self._room = max(0.0, self._room - 1)
        what = "1 message was" if left_out == 1 else f"{left_out} messages were"
        self._send({"type": _WARNING, "message": f"{what} left out here; the server's own log has all of them"})


class ClientLogHandler(logging.Handler):
    """Hands each record to the log of the session in whose tasks and threads it came up."""

    def emit(self, record: logging.LogRecord) -> None:
        """Tell it to its client, if it has one."""
        log = _session.get()
        if log is not None:
            with suppress(Exception):  # a log that cannot be told is no reason to fail
                log.take(record.levelno, f"{record.name}: {record.getMessage()}")


@contextmanager
def logging_to_client(log: ClientLog) -> Generator[None]:
    """What is logged in here, and in tasks and threads that begin in here, concerns this client."""
    token = _session.set(log)
    try:
        yield
    finally:
        _session.reset(token)


def _message_type(level: int) -> int:
    return next((kind for least, kind in _TYPES if level >= least), _DEBUG)


_TYPES: Final = ((logging.ERROR, _ERROR), (logging.WARNING, _WARNING), (logging.INFO, _INFO))
