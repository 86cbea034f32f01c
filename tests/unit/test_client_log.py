"""What a client is told of the log: its own session's, not too much, and how much was left out."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio.to_thread
import pytest
from openbuffer.bridge.life.client_log import ClientLog, ClientLogHandler, logging_to_client


@pytest.fixture
def logger() -> logging.Logger:
    logger = logging.Logger("of.a.test")  # noqa: LOG001  # one that nothing else is attached to
    logger.addHandler(ClientLogHandler())
    return logger


@pytest.mark.contract("B1", "B3")
async def test_records_go_to_the_session_in_whose_tasks_and_threads_they_came_up(logger: logging.Logger) -> None:
    told: dict[str, list[dict[str, Any]]] = {"one": [], "other": []}

    async def session(name: str) -> None:
        with logging_to_client(ClientLog(told[name].append)):
            logger.warning("%s itself", name)
            await asyncio.create_task(asyncio.sleep(0))
            await anyio.to_thread.run_sync(logger.error, f"a thread of {name}")
            await asyncio.sleep(0)

    await asyncio.gather(session("one"), session("other"))
    logger.warning("nobody's")
    await asyncio.sleep(0)
    for name, messages in told.items():
        assert messages == [
            {"type": 2, "message": f"of.a.test: {name} itself"},
            {"type": 1, "message": f"of.a.test: a thread of {name}"},
        ]


@pytest.mark.contract("B3")
async def test_a_flood_is_cut_and_counted_and_what_comes_after_it_is_told_again(logger: logging.Logger) -> None:
    told: list[dict[str, Any]] = []
    arrived = asyncio.Event()

    def send(params: dict[str, Any]) -> None:
        told.append(params)
        if "left out" in params["message"]:
            arrived.set()

    with logging_to_client(ClientLog(send, at_once=5, interval_s=0.05)):
        for number in range(1_000):
            logger.info("%d", number)
        async with asyncio.timeout(20):
            await arrived.wait()
        logger.debug("after %s", "z" * 10_000)
        await asyncio.sleep(0)
    counts = [int(each["message"].split()[0]) for each in told if "left out" in each["message"]]
    shown = [each for each in told if each["message"].startswith("of.a.test: ") and "after" not in each["message"]]
    assert len(shown) + sum(counts) == 1_000
    assert 5 <= len(shown) < 100
    assert told[-1]["type"] == 5
    assert len(told[-1]["message"]) == 2_000


def test_a_session_that_is_over_is_told_nothing_and_nothing_fails(logger: logging.Logger) -> None:
    told: list[dict[str, Any]] = []
    loop = asyncio.new_event_loop()

    async def make() -> ClientLog:
        return ClientLog(told.append)

    log = loop.run_until_complete(make())
    loop.close()
    with logging_to_client(log):
        logger.warning("too late")
    assert told == []
