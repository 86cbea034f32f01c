"""Progress reaches the client in order and without a flood."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from openbuffer.bridge.progress import LateProgress, WorkDoneProgress
from openbuffer.bridge.reporting import Reporting


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


@pytest.mark.contract("B2")
async def test_what_a_report_brings_is_one_line_without_what_acts_on_a_terminal() -> None:
    client = Client()
    progress = WorkDoneProgress("t", client.take, interval_s=0)
    progress.begin("Re\x1bad", "a\nb", percentage=-4)
    assert await client.next() == {
        "kind": "begin",
        "title": r"Re\x1bad",
        "cancellable": True,
        "message": r"a\nb",
        "percentage": 0,
    }
    progress.report("\x1b[2J\u202e" + "x" * 9_000)
    value = await client.next()
    assert value["message"].startswith(r"\x1b[2J\u202exxx")
    assert len(value["message"]) == 500
    progress.end()


class Taker:
    """Takes the server's tokens, or does with them what it is told."""

    def __init__(self, refusal: Exception | None = None) -> None:
        self.refusal = refusal
        self.tokens: list[str] = []
        self.sent: list[dict[str, Any]] = []
        self.came = asyncio.Event()
        self.may_take = asyncio.Event()
        self.may_take.set()
        self.cancelled = 0
        self.wanted, self.seen = 0, asyncio.Event()

    async def create(self, token: str) -> None:
        self.tokens.append(token)
        self.came.set()
        try:
            await self.may_take.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.refusal is not None:
            raise self.refusal

    def send(self, params: dict[str, Any]) -> None:
        self.sent.append(params)
        if len(self.sent) == self.wanted:
            self.seen.set()

    async def sees(self, count: int) -> None:
        self.wanted, self.seen = count, asyncio.Event()
        if len(self.sent) < count:
            async with asyncio.timeout(10):
                await self.seen.wait()

    def late(self, delay_s: float = 0) -> LateProgress:
        return LateProgress("s1", "Shell", self.send, self.create, delay_s=delay_s)


@pytest.mark.contract("B2")
async def test_a_token_of_the_servers_begins_once_it_is_taken_with_what_was_reported_until_then() -> None:
    taker = Taker()
    progress = taker.late()
    progress.report("early", percentage=5)
    progress.report("latest", percentage=7)
    await taker.sees(1)
    assert taker.tokens == ["s1"]
    begin = {"kind": "begin", "title": "Shell", "cancellable": True, "message": "latest", "percentage": 7}
    assert taker.sent == [{"token": "s1", "value": begin}]
    progress.report("more")
    await taker.sees(2)
    progress.end()
    assert [params["value"] for params in taker.sent[1:]] == [{"kind": "report", "message": "more"}, {"kind": "end"}]


@pytest.mark.contract("B2")
async def test_of_a_short_call_nothing_is_sent() -> None:
    taker = Taker()
    progress = taker.late(delay_s=3_600)
    progress.report("done soon")
    progress.end()
    await asyncio.sleep(0.01)
    assert (taker.tokens, taker.sent) == ([], [])


@pytest.mark.contract("B2")
async def test_a_token_that_is_refused_reports_nothing() -> None:
    taker = Taker(RuntimeError("no progress here"))
    progress = taker.late()
    await taker.came.wait()
    await asyncio.sleep(0)
    progress.report("unheard")
    progress.end()
    await asyncio.sleep(0.01)
    assert taker.sent == []


@pytest.mark.contract("B2")
async def test_a_call_that_ends_before_its_token_is_taken_withdraws_it_and_reports_nothing() -> None:
    taker = Taker()
    taker.may_take.clear()
    progress = taker.late()
    await taker.came.wait()
    progress.end()
    taker.may_take.set()
    await asyncio.sleep(0.01)
    assert (taker.cancelled, taker.sent) == (1, [])


@pytest.mark.contract("B2")
async def test_a_token_of_the_servers_is_none_that_a_client_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openbuffer.bridge.progress.PROGRESS_DELAY_S", 0)
    taker = Taker()
    reporting = Reporting(taker.send, taker.create)
    with reporting.of("Read", "openbuffer-1"), reporting.of("Shell", None) as progress:
        assert isinstance(progress, LateProgress)
        assert set(reporting._scopes) == {"openbuffer-1", "openbuffer-2"}
    assert reporting._scopes == {}


@pytest.mark.contract("B2", "T6")
@pytest.mark.parametrize("token", ["the client's", None])
async def test_cancelling_by_a_token_of_either_side_ends_its_call_alone(token: str | None) -> None:
    taker = Taker()
    reporting = Reporting(taker.send, taker.create)
    ended: list[str] = []
    with reporting.of("Other", "other"):
        with reporting.of("Shell", token):
            reporting.cancel("openbuffer-1" if token is None else token)
            reporting.cancel("unknown")
            await asyncio.sleep(60)
            ended.append("not cancelled")
        await asyncio.sleep(0)
        ended.append("the other goes on")
    assert ended == ["the other goes on"]


def test_reports_after_the_loop_is_gone_are_dropped() -> None:
    sent: list[dict[str, Any]] = []

    async def begin() -> WorkDoneProgress:
        return WorkDoneProgress("t", sent.append)

    progress = asyncio.run(begin())
    progress.report("too late")
    assert sent == []
