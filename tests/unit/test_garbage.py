"""What survived a full collection is left alone until a session has ended, and then nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.life.garbage import CollectedInQuiet

if TYPE_CHECKING:
    from collections.abc import Iterator


class Session:
    """Something in a cycle, as sessions are."""

    def __init__(self) -> None:
        self.itself: Any = self


@pytest.fixture
def collected() -> Iterator[CollectedInQuiet]:
    with CollectedInQuiet() as collected:
        yield collected
    assert gc.get_freeze_count() == 0
    assert not [each for each in gc.callbacks if getattr(each, "__self__", None) is collected]


@pytest.mark.contract("B3")
async def test_survivors_are_not_looked_at_again_and_those_of_an_ended_session_go(collected: CollectedInQuiet) -> None:
    session = Session()
    gone = asyncio.Event()
    watched = weakref.ref(session, lambda _: gone.set())
    gc.collect()
    frozen = gc.get_freeze_count()
    assert frozen > 10_000
    del session
    gc.collect()
    assert watched() is not None, "frozen with the rest"
    running = asyncio.create_task(collected.run())
    collected.ended()
    async with asyncio.timeout(50):
        await gone.wait()
    running.cancel()


@pytest.mark.contract("B3")
async def test_where_no_quiet_moment_comes_it_is_done_all_the_same(
    collected: CollectedInQuiet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("openbuffer.bridge.life.garbage._quiet_moment", never)
    monkeypatch.setattr("openbuffer.bridge.life.garbage.GARBAGE_WAIT_S", 0.05)
    session = Session()
    gone = asyncio.Event()
    watched = weakref.ref(session, lambda _: gone.set())
    gc.collect()
    del session
    running = asyncio.create_task(collected.run())
    collected.ended()
    async with asyncio.timeout(50):
        await gone.wait()
    assert watched() is None
    running.cancel()
