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


async def run_blocking(token: CancellationToken, work: Callable[[], T]) -> T:
    """Run ``work`` in a worker thread; ``work`` polls ``token`` where it can take long.

    When the caller is cancelled, the token is set, the thread is waited for, and only then the cancellation
    goes on: a cancelled call has really stopped. A result that came in the meantime is dropped.
    """
    turn = threading.Lock()
    started = dropped = False
    finished = threading.Event()

    def run() -> T | None:
        nonlocal started
        with turn:
            if dropped:
                return None
            started = True
        try:
            return work()
        finally:
            finished.set()

    try:
        return await anyio.to_thread.run_sync(run, abandon_on_cancel=True)  # type: ignore[return-value]  # None only when dropped, and then nobody awaits it
    except anyio.get_cancelled_exc_class():
        token.cancel()
        with turn:
            dropped = True
        if started:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(finished.wait)
        raise
