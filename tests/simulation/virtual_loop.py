"""An event loop without threads, sockets and clock: time jumps to the next timer as soon as nothing else can happen."""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class NothingCanHappenError(Exception):
    """Somebody waits, and there is neither a timer nor an action that could wake anybody."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs one callback at a time, and calls ``between`` after each: there anything may come in between.

    ``idle`` is called before time passes; True says that it made something happen instead.
    """

    def __init__(self, *, between: Callable[[], None], idle: Callable[[], bool]) -> None:
        super().__init__()
        self._now = 0.0
        self._between = between
        self._idle = idle

    def time(self) -> float:
        return self._now

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
        """There is one thread."""
        return self.call_soon(callback, *args, context=context)

    def _run_once(self) -> None:
        # What the base class does with a selector, callback by callback. Its queues are alike in Python 3.11 to 3.14.
        ready: Any = self._ready  # type: ignore[attr-defined]  # of the base class
        while not ready and not self._stopping and not self._idle():  # type: ignore[attr-defined]  # as above
            self._pass_time(ready)
        if not ready:
            return
        handle = ready.popleft()
        if not handle.cancelled():
            handle._run()
            self._between()

    def _pass_time(self, ready: Any) -> None:
        scheduled: Any = self._scheduled  # type: ignore[attr-defined]  # of the base class
        while scheduled:
            timer = heapq.heappop(scheduled)
            timer._scheduled = False
            if timer.cancelled():
                self._timer_cancelled_count -= 1
                continue
            self._now = max(self._now, timer.when())
            ready.append(timer)
            return
        raise NothingCanHappenError
