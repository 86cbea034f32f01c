"""A command that is asked to stop cleans up first and says by which signal it was stopped."""

from __future__ import annotations

import os
import signal

import anyio
import pytest
from openbuffer.bridge.life.interrupt import run_until_stopped


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_cancels_the_work_and_waits_for_its_clean_up(number: int, code: int) -> None:
    steps: list[str] = []

    async def work() -> int:
        try:
            os.kill(os.getpid(), number)
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
                steps.append("cleaned up")
        return 0

    assert run_until_stopped(work) == code
    assert steps == ["cleaned up"]


def test_work_that_ends_by_itself_gives_its_own_code() -> None:
    async def work() -> int:
        return 7

    assert run_until_stopped(work) == 7


def test_an_error_comes_out_as_itself() -> None:
    async def work() -> int:
        raise BrokenPipeError("gone")

    with pytest.raises(BrokenPipeError, match="gone"):
        run_until_stopped(work)


def test_a_second_signal_has_its_ordinary_effect() -> None:
    async def work() -> int:
        with anyio.CancelScope(shield=True):
            os.kill(os.getpid(), signal.SIGINT)
            while signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # noqa: ASYNC110  no event tells
                await anyio.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)
            await anyio.sleep_forever()
        return 0

    with pytest.raises(KeyboardInterrupt):
        run_until_stopped(work)
