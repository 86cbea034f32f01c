"""Traps of stock pygls where the server waits for its client, and in its threads."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest

from .trap_sides import BOTH, CALL, PATIENCE_S, Side, popups

if TYPE_CHECKING:
    from pathlib import Path

    from .raw_client import Message, RawClient

THREADS = 6  # as many as stock_pygls.py has

HASTY = "hasty_server.py"


async def ask_for_an_edit(client: RawClient, root: Path, method: str = CALL) -> tuple[int, Message]:
    """A call that asks the client; returns its id and what the client is asked."""
    path = root / "a.txt"
    path.write_text("a\n")
    item = {"uri": path.as_uri(), "languageId": "text", "version": 1, "text": "a\n"}
    client.notify("textDocument/didOpen", {"textDocument": item})
    arguments = {"filePath": str(path), "oldString": "a", "newString": "A"}
    asked = client.ask(method, {"name": "Edit", "arguments": arguments})
    return asked, await client.expect(lambda m: m.get("method") == "workspace/applyEdit")


async def goes_on(side: Side, client: RawClient) -> bool:
    """Whether a further call is answered."""
    asked = client.ask(CALL, {"name": "echo", "arguments": {}})
    try:
        async with asyncio.timeout(None if side.name == "bridge" else PATIENCE_S):
            await client.answer(asked)
    except TimeoutError:
        return False
    return True


@pytest.mark.contract("B3")
@BOTH
async def test_trap_5_a_plain_handler_that_waits_for_the_client_stops_the_server_for_good(
    side: Side, tmp_path: Path
) -> None:
    async with side.start(tmp_path, script=HASTY) as client:
        _, question = await ask_for_an_edit(client, tmp_path, side.sync)
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"applied": False}})
        side.shows(await goes_on(side, client), bridge=True, stock=False)


@pytest.mark.contract("B3")
@BOTH
async def test_trap_6_as_many_waiting_threads_as_the_pool_has_stop_the_server(side: Side, tmp_path: Path) -> None:
    arguments = {"started": str(tmp_path / "started"), "may_stop": str(tmp_path / "may stop")}
    async with side.start(tmp_path) as client:
        for _ in range(THREADS):
            client.ask(side.thread, {"name": "slow_to_stop", "arguments": arguments})
        side.shows(await goes_on(side, client), bridge=True, stock=False)
        (tmp_path / "may stop").touch()
        assert (await client.call("echo"))["data"] == {}


@pytest.mark.contract("B3")
@BOTH
async def test_trap_6_large_answers_of_threads_are_mixed_up_on_the_wire(side: Side, tmp_path: Path) -> None:
    # It is a race: a fast machine may be lucky a few times.
    mixed_up = False
    for _ in range(1 if side.name == "bridge" else 20):
        mixed_up = not await answers_of_threads_are_whole(side, tmp_path)
        if mixed_up:
            break
    side.shows(mixed_up, bridge=False, stock=True)


async def answers_of_threads_are_whole(side: Side, tmp_path: Path) -> bool:
    async with side.start(tmp_path) as client:
        client.may_break = side.name == "stock"
        asked = [client.ask(side.thread, {"name": "big", "arguments": {"bytes": 1_000_000}}) for _ in range(24)]
        whole = 0
        # A length that came from elsewhere may have the client wait for bytes that never come.
        with contextlib.suppress(EOFError, TimeoutError):
            async with asyncio.timeout(None if side.name == "bridge" else 3 * PATIENCE_S):
                for number in asked:
                    whole += len((await client.answer(number))["result"]["data"]) == 1_000_000
        return whole == len(asked)


@pytest.mark.contract("B2")
@BOTH
async def test_trap_8_a_question_to_the_client_outlives_the_call_that_asked_it_and_its_answer_is_a_popup(
    side: Side, tmp_path: Path
) -> None:
    async with side.start(tmp_path, script=HASTY) as client:
        asked, question = await ask_for_an_edit(client, tmp_path)
        client.notify("$/cancelRequest", {"id": asked})
        assert (await client.answer(asked))["error"]["code"] == -32800
        withdrawn = [m["params"]["id"] for m in client.received if m.get("method") == "$/cancelRequest"]
        side.shows(withdrawn, bridge=[question["id"]], stock=[])
        before = popups(client)
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"applied": True}})
        await client.request("openbuffer/listTools", {})
        side.shows(popups(client) - before, bridge=0, stock=1)
