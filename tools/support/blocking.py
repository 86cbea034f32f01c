"""Blocking work in a thread, ended for real before a cancellation goes on (T6)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..contract import CancellationToken

T = TypeVar("T")


async def run_blocking(
    token: CancellationToken, work: Callable[[], T], *, limiter: anyio.CapacityLimiter | None = None
) -> T:
    """Run ``work`` in a worker thread; ``work`` polls ``token`` where it can take long.

    ``limiter`` bounds the threads of its kind; without one they come out of the number that all others share.

    When the caller is cancelled, the token is set, the thread is waited for, and only then the cancellation
    goes on: a cancelled call has really stopped. A result that came in the meantime is dropped.
    """
    # Whoever takes ``turn`` first decides whether the work is done at all: the thread, or a caller that was cancelled
    # while it waited for a thread. Locks alone, because this is paid at every step of every call.
    turn = threading.Lock()
    running = threading.Lock()
    running.acquire()

    def run() -> T | None:
        if not turn.acquire(blocking=False):
            return None
        try:
            return work()
        finally:
            running.release()

    try:
        return await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=limiter)  # type: ignore[return-value]  # None only when dropped, and then nobody awaits it
    except anyio.get_cancelled_exc_class():
        token.cancel()
        if not turn.acquire(blocking=False) and not running.acquire(blocking=False):
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(running.acquire, limiter=limiter)
        raise
