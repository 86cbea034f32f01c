"""The first message of a connection: who is let in, and what becomes of everybody else."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from openbuffer.bridge.client import BridgeClient

from .listening_server import TOKEN, Listening, answer, initialize, is_closed, listening
from .raw_client import DEADLINE_S, frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")
GIVEN = {"OPENBUFFER_ACCESS_TOKEN": TOKEN}
HASTY = (sys.executable, "-P", str(Path(__file__).with_name("hasty_doorkeeper.py")))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Listening]:
    """One server for all, with its usual patience; it never tells the token."""
    async with listening(env=GIVEN) as server:
        assert "accessToken" not in server.announced
        yield server
    assert TOKEN.encode() not in server.stderr


@pytest.mark.contract("B1", "B3")
@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", 17, [TOKEN], "\ud800" + TOKEN])
async def test_without_the_token_nothing_is_taken(server: Listening, tmp_path: Path, token: object) -> None:
    reader, writer = await server.connect()
    writer.write(initialize(tmp_path, token))
    writer.write(frame({"jsonrpc": "2.0", "id": 2, "method": "openbuffer/listTools"}))
    refused = await answer(reader)
    assert (refused["id"], refused["error"]["code"]) == (1, -32040)
    where = "initializationOptions.openbuffer.accessToken"
    needed = f"initialize needs the access token of this server under {where}"
    wrong = f"{where} of initialize is not the access token of this server"
    assert refused["error"]["message"] == (needed if token is None else wrong)
    assert TOKEN not in str(refused)
    assert await is_closed(reader)
    writer.close()
    async with BridgeClient(tmp_path, **server.reached_by) as client:
        assert await client.list_tools()


@pytest.mark.contract("B1", "B3")
@pytest.mark.parametrize(
    "first",
    [
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n",
        frame({"jsonrpc": "2.0", "id": 1, "method": "openbuffer/listTools"}),
        frame({"jsonrpc": "2.0", "method": "initialize", "params": {"initializationOptions": {"openbuffer": 1}}}),
        frame([initialize(Path("/")).decode()]),
        b"Content-Length: 3\r\n\r\n{{{",
        b"x" * 300_000,
    ],
)
async def test_what_is_no_initialize_ends_the_connection_at_once(server: Listening, first: bytes) -> None:
    reader, writer = await server.connect()
    writer.write(first)
    # Closed with bytes of ours unread: the answer may be lost on the way.
    with suppress(ConnectionResetError, asyncio.IncompleteReadError):
        assert (await answer(reader))["error"]["code"] == -32040
    assert await is_closed(reader)
    writer.close()


@pytest.mark.contract("B1", "B3")
async def test_a_connection_that_says_nothing_is_closed_and_keeps_nobody_out(tmp_path: Path) -> None:
    async with listening(command=HASTY) as server:
        silent = [await server.connect() for _ in range(80)]
        async with BridgeClient(tmp_path, **server.reached_by) as client:
            assert await client.list_tools()
        assert len(silent) == 80
        for reader, writer in silent:
            await asyncio.wait_for(reader.read(), DEADLINE_S)  # to its end
            writer.close()


@pytest.mark.contract("B1", "B3")
async def test_a_message_may_come_in_pieces_and_what_follows_it_is_not_lost(server: Listening, tmp_path: Path) -> None:
    reader, writer = await server.connect()
    data = initialize(tmp_path) + b"".join(
        frame({"jsonrpc": "2.0", "id": number, "method": "openbuffer/listTools"}) for number in range(2, 30)
    )
    for start in range(0, len(data), 97):
        writer.write(data[start : start + 97])
        await writer.drain()
    assert [(await answer(reader))["id"] for _ in range(29)] == list(range(1, 30))
    writer.close()


@pytest.mark.contract("B1", "B3")
async def test_many_at_once_throw_nobody_out_before_it_could_say_a_word(server: Listening, tmp_path: Path) -> None:
    async def refused() -> int:
        reader, writer = await server.connect()
        writer.write(initialize(tmp_path, "wrong"))
        return (await answer(reader))["error"]["code"]

    codes = await asyncio.gather(*(refused() for _ in range(300)))
    assert set(codes) == {-32040}
    async with BridgeClient(tmp_path, **server.reached_by) as client:
        assert await client.list_tools()


async def test_the_token_may_have_the_end_of_the_line_that_it_had_in_its_file(
    server: Listening, tmp_path: Path
) -> None:
    async with BridgeClient(tmp_path, connect=server.address, access_token=f"{TOKEN}\n") as client:
        assert await client.list_tools()
