"""When and why the server ends, and that it does: the first reason counts, and a clock runs from then on."""

from __future__ import annotations

import logging
import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

from ..limits import FLUSH_GRACE_S, STOP_GRACE_S

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Generator

log = logging.getLogger(__name__)


class Lifetime:
    """One server's end. ``in_order`` tells whether the client has asked for it by ``shutdown``.

    ``owns_process``: the process is there for this server alone, and leaves with it even if a thread hangs.
    """

    def __init__(self, in_order: Callable[[], bool], *, owns_process: bool = True) -> None:
        self._in_order = in_order
        self._owns_process = owns_process
        self._ended = anyio.Event()
        self._code = 0

    def end(self, why: str, code: int | None = None) -> None:
        """End, with this exit code; without one 0 after ``shutdown``, else 1. Only the first call counts."""
        if self._ended.is_set():
            return
        in_order = self._in_order()
        self._code = (0 if in_order else 1) if code is None else code
        log.log(logging.INFO if in_order else logging.WARNING, "ending: %s", why)
        self._ended.set()
        if self._owns_process:
            leave_anyway(self._code, STOP_GRACE_S + FLUSH_GRACE_S + _MARGIN_S)

    async def wait(self) -> int:
        """Wait for the end; returns the exit code."""
        await self._ended.wait()
        return self._code


@contextmanager
def ended_by_signals(loop: asyncio.AbstractEventLoop, lifetime: Lifetime) -> Generator[None]:
    """SIGTERM, SIGHUP and SIGINT end the session in good order."""
    for number in _SIGNALS:
        loop.add_signal_handler(number, lifetime.end, number.name, 128 + number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def leave_anyway(code: int, after_s: float) -> None:
    """Leave after this time even if a thread hangs: the interpreter would wait for it, and nobody else does."""

    def leave() -> None:
        log.warning("work did not stop in time; leaving without it")
        os._exit(code)

    timer = threading.Timer(after_s, leave)
    timer.daemon = True
    timer.start()


_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_MARGIN_S = 1.0
