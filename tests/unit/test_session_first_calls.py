"""Many sessions whose first calls come at once: the loop comes to everything else in between."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.bridge.client_facts import ClientFacts
from openbuffer.bridge.handlers.list_tools import list_tools
from openbuffer.bridge.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.tools.contract import FunctionTool

SESSIONS = 30


class NoTools:
    tools: tuple[FunctionTool, ...] = ()


@pytest.mark.contract("B1", "B3")
async def test_one_session_in_a_turn_of_the_loop_assembles_its_tools(tmp_path: Path) -> None:
    turn = 0
    assembled_in: list[int] = []

    def create_executor(_roots: object, _editor: object) -> NoTools:
        assembled_in.append(turn)
        return NoTools()

    async def count_turns() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    assembling = anyio.Lock()
    sessions = [
        Session(
            create_executor=create_executor,  # type: ignore[arg-type]
            create_client=lambda _facts: None,  # type: ignore[arg-type, return-value]
            send_progress=print,
            assembling=assembling,
        )
        for _ in range(SESSIONS)
    ]
    async with anyio.create_task_group() as counting:
        counting.start_soon(count_turns)
        async with anyio.create_task_group() as calls:
            for session in sessions:
                session.begin(ClientFacts(roots=(str(tmp_path),)))
                calls.start_soon(list_tools, session, {})
        before = turn
        for session in sessions:
            await list_tools(session, {})
        assert turn == before, "a session that has its tools does not give way"
        counting.cancel_scope.cancel()
    assert len(assembled_in) == SESSIONS
    assert len(set(assembled_in)) == SESSIONS


@pytest.mark.contract("B1")
async def test_first_calls_of_a_session_keep_their_order(tmp_path: Path) -> None:
    session = Session(
        create_executor=lambda _roots, _editor: NoTools(),  # type: ignore[arg-type, return-value]
        create_client=lambda _facts: None,  # type: ignore[arg-type, return-value]
        send_progress=print,
        assembling=anyio.Lock(),
    )
    session.begin(ClientFacts(roots=(str(tmp_path),)))
    answered: list[int] = []

    async def ask(number: int) -> None:
        await list_tools(session, {})
        answered.append(number)

    async with anyio.create_task_group() as calls:
        for number in range(20):
            calls.start_soon(ask, number)
            if number % 3 == 0:
                await asyncio.sleep(0)
    assert answered == list(range(20))
