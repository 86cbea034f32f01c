"""The end of the client's process is noticed, with and without the system's help."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, NoReturn

import anyio
import pytest
from openbuffer.bridge.life import parent

if TYPE_CHECKING:
    from collections.abc import Iterator

WAYS = ["descriptor", "no such call", "call refused"]


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    def refuse(_process_id: int) -> NoReturn:
        raise PermissionError

    monkeypatch.setattr(parent, "PARENT_POLL_S", 0.01)
    if request.param == "no such call":
        monkeypatch.delattr(os, "pidfd_open")
    elif request.param == "call refused":
        monkeypatch.setattr(os, "pidfd_open", refuse)
    return request.param


@pytest.mark.contract("B3")
async def test_an_end_is_noticed(way: str, process: subprocess.Popen[bytes]) -> None:
    assert way in WAYS
    with anyio.move_on_after(0.05) as still_there:
        await parent.process_ended(process.pid)
    assert still_there.cancelled_caught
    process.kill()
    process.wait()
    with anyio.fail_after(10):
        await parent.process_ended(process.pid)
    assert process.returncode is not None


@pytest.mark.contract("B3")
async def test_a_process_of_somebody_else_counts_as_there(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_yours(_process_id: int, _signal: int) -> NoReturn:
        raise PermissionError

    monkeypatch.setattr(os, "kill", not_yours)
    with anyio.move_on_after(0.05) as still_there:
        await parent.process_ended(os.getppid() if way == "descriptor" else 1)
    assert still_there.cancelled_caught


@pytest.mark.contract("B3")
async def test_a_process_that_ended_but_was_not_waited_for_has_ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with anyio.fail_after(10):
        await parent.process_ended(process.pid)
    assert process.wait() < 0
