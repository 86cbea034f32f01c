"""Keeps the garbage collector from stopping all sessions of a process for as long as it takes to look at everything.

A full collection looks at every object that there is, and with ten thousand open documents that takes a tenth of a
second in which nobody is answered. So what has survived one is not looked at again (``gc.freeze``) until a session has
ended, which leaves its own behind in cycles, and then at a moment when little is asked for.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any, Final

import anyio

from ..limits import GARBAGE_WAIT_S

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_LOOK_S: Final = 0.25
_QUIET: Final = 0.1
"""Of the time the event loop may compute while it is quiet."""


class CollectedInQuiet:
    """Use as a context manager, with :meth:`run` beside it; one in a process."""

    def __init__(self) -> None:
        self._is_due = anyio.Event()

    def __enter__(self) -> Self:
        """From now on what survives is left alone."""
        gc.callbacks.append(self._keep_survivors)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Everything is looked at again."""
        gc.callbacks.remove(self._keep_survivors)
        gc.unfreeze()

    def ended(self) -> None:
        """A session has ended: there is garbage among what survived."""
        self._is_due.set()

    async def run(self) -> None:
        """Collect everything after sessions have ended, at a quiet moment or when none comes."""
        while True:
            await self._is_due.wait()
            self._is_due = anyio.Event()
            with anyio.move_on_after(GARBAGE_WAIT_S):
                await _quiet_moment()
            gc.unfreeze()
            gc.collect()

    def _keep_survivors(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "stop" and info["generation"] == 2:
            gc.freeze()


async def _quiet_moment() -> None:
    busy_s = _LOOK_S
    while busy_s > _LOOK_S * _QUIET:
        before = time.thread_time()
        await anyio.sleep(_LOOK_S)
        busy_s = time.thread_time() - before
