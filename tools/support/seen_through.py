"""Seeing something short through to its end, whoever cancels the caller meanwhile (T6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def seen_through(work: Callable[[], Awaitable[None]]) -> None:
    """Run ``work`` to its end; a cancellation goes on after that. ``work`` has to be bounded in time.

    In a task of its own, because asyncio's own ways to cancel (``Task.cancel``, ``timeout``, ``TaskGroup``) reach into
    an awaited coroutine, from which no shield protects.
    """
    failure: Exception | None = None

    async def shielded() -> None:
        nonlocal failure
        with anyio.CancelScope(shield=True):
            try:
                await work()
            except Exception as error:  # noqa: BLE001  # raised below, not in a group
                failure = error

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(shielded)
    except anyio.get_cancelled_exc_class() as cancelled:
        raise cancelled from failure
    if failure is not None:
        raise failure
