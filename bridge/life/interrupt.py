"""Run one command until it is done or a signal asks it to stop; either way its clean-up runs first."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_STOP_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def run_until_stopped(work: Callable[[], Awaitable[int]]) -> int:
    """The exit code of ``work``, or 128 plus the signal's number.

    The first signal cancels the work and waits for it; a second one has its ordinary effect.
    """
    return anyio.run(_run, work)


async def _run(work: Callable[[], Awaitable[int]]) -> int:
    code = 0
    failure: BaseException | None = None
    async with anyio.create_task_group() as tasks:

        async def watch(*, task_status: anyio.abc.TaskStatus[None]) -> None:
            nonlocal code
            with anyio.open_signal_receiver(*_STOP_SIGNALS) as signals:
                task_status.started()
                async for received in signals:
                    code = 128 + received
                    break
            tasks.cancel_scope.cancel()

        await tasks.start(watch)
        try:
            result = await work()
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  raised again below, not in a group of one
            failure = error
        else:
            code = code or result
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return code
