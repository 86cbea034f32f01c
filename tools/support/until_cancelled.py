"""Work of the event loop that also ends when the call's token is cancelled, from whatever thread (T6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import anyio

from ..errors import ToolCancelledError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..contract import CancellationToken

T = TypeVar("T")

_LOOK_S: Final = 0.05


async def until_cancelled(token: CancellationToken, work: Callable[[], Awaitable[T]], what: str) -> T:
    """Do the work; ``what`` is said of a cancelled call.

    Raises:
        ToolCancelledError: the token was cancelled; the work has ended.
    """
    done: list[T] = []
    failed: list[Exception] = []
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            try:
                done.append(await work())
            except Exception as error:  # noqa: BLE001  raised below, as itself and not in a group
                failed.append(error)
            tasks.cancel_scope.cancel()

        tasks.start_soon(run)
        while not token.cancelled:  # noqa: ASYNC110  the token is set from threads, and has no event to wait for
            await anyio.sleep(_LOOK_S)
        tasks.cancel_scope.cancel()
    if failed:
        raise failed[0]
    if not done:
        raise ToolCancelledError(what)
    return done[0]
