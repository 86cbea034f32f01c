"""Blocking work really stops before its cancellation goes on (T6)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest
from openbuffer.tools import CancellationToken
from openbuffer.tools.support.blocking import run_blocking

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.contract("T6")
async def test_a_cancelled_caller_waits_for_its_thread_to_stop() -> None:
    token, started = CancellationToken(), threading.Event()
    trail: list[str] = []

    def work() -> None:
        started.set()
        while not token.cancelled:
            pass
        trail.append("thread stopped")

    async def caller() -> None:
        try:
            await run_blocking(token, work)
        except anyio.get_cancelled_exc_class():
            trail.append("cancelled")
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(caller)
        await anyio.to_thread.run_sync(started.wait)
        group.cancel_scope.cancel()
    assert trail == ["thread stopped", "cancelled"]


@pytest.mark.contract("T6")
async def test_work_that_was_cancelled_before_it_had_a_thread_never_runs() -> None:
    ran: list[int] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run_blocking(CancellationToken(), lambda: ran.append(1))
    assert ran == []


@pytest.mark.contract("T6")
async def test_work_whose_thread_comes_to_it_after_the_cancellation_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    queued: list[Callable[[], object]] = []

    async def busy(work: Callable[[], object], *, abandon_on_cancel: bool, limiter: object) -> None:
        assert abandon_on_cancel
        assert limiter is None
        queued.append(work)
        await anyio.sleep_forever()

    monkeypatch.setattr(anyio.to_thread, "run_sync", busy)
    async with anyio.create_task_group() as group:
        group.start_soon(run_blocking, CancellationToken(), lambda: ran.append(1))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    for work in queued:
        work()
    assert (len(queued), ran) == (1, [])


async def test_results_and_errors_pass_through() -> None:
    assert await run_blocking(CancellationToken(), lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await run_blocking(CancellationToken(), lambda: 1 // 0)
