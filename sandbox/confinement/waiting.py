"""Blocking work awaited to its real end: cancelling asks it to stop, and goes on when it has (T6)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from ..errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def run_to_the_end(work: Callable[[threading.Event], T]) -> T:
    """What ``work`` returns from a worker thread; it looks at the event now and then and stops when that is set."""
    stop = threading.Event()
    outcome: list[T] = []
    failure: SandboxError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_set_when_cancelled, stop)
        try:
            outcome.append(await anyio.to_thread.run_sync(work, stop))  # not abandoned when it is cancelled
        except SandboxError as error:
            failure = error  # raised below, not in a group of one
        tasks.cancel_scope.cancel()
    # How work ended that was told to stop is nobody's result.
    await anyio.lowlevel.checkpoint_if_cancelled()
    if failure is not None:
        raise failure
    return outcome[0]


async def _set_when_cancelled(stop: threading.Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        stop.set()
