"""Progress reaches the client in order and without a flood."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from openbuffer.bridge.progress import WorkDoneProgress


class Client:
    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []
        self.came = asyncio.Event()

    def take(self, params: dict[str, Any]) -> None:
        assert params["token"] == "t"
        self.values.append(params["value"])
        self.came.set()

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(10):
            await self.came.wait()
        self.came.clear()
        return self.values[-1]


@pytest.mark.contract("B2")
async def test_a_report_goes_out_by_itself() -> None:
    client = Client()
    progress = WorkDoneProgress("t", client.take)
    progress.begin("Read")
    assert await client.next() == {"kind": "begin", "title": "Read", "cancellable": True}
    progress.report("half", percentage=50)
    assert await client.next() == {"kind": "report", "message": "half", "percentage": 50}
    progress.end()
    assert client.values[-1] == {"kind": "end"}


@pytest.mark.contract("B2")
async def test_of_many_reports_from_threads_the_latest_arrives_and_most_do_not() -> None:
    client = Client()
    progress = WorkDoneProgress("t", client.take, interval_s=0.02)
    threads = [
        threading.Thread(target=lambda: [progress.report(f"step {n}", percentage=n) for n in range(5_000)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])
    progress.report("last", percentage=300)
    while client.values[-1:] != [{"kind": "report", "message": "last", "percentage": 100}]:
        await client.next()
    assert len(client.values) < 2_000


@pytest.mark.contract("B2")
async def test_nothing_is_sent_after_the_end() -> None:
    client = Client()
    progress = WorkDoneProgress("t", client.take, interval_s=0)
    progress.report("before")
    progress.end()
    progress.report("after")
    await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    assert client.values == [{"kind": "end"}]


def test_reports_after_the_loop_is_gone_are_dropped() -> None:
    sent: list[dict[str, Any]] = []

    async def begin() -> WorkDoneProgress:
        return WorkDoneProgress("t", sent.append)

    progress = asyncio.run(begin())
    progress.report("too late")
    assert sent == []
