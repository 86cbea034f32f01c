"""Traps of stock pygls in bytes that are no messages, in the handshake, and in life and death."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
from typing import TYPE_CHECKING

import anyio
import pytest

from .raw_client import DEADLINE_S
from .trap_sides import BOTH, CALL, PATIENCE_S, Side, popups, to_the_end

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from .raw_client import RawClient

# --- framing ---------------------------------------------------------------------------------------------------

NO_MESSAGES = {
    "bad JSON": b"{",
    "bad UTF-8": b'{"jsonrpc": "2.0", "x": "\xc3\x28"}',
    "a batch": b"[]",
    "deep nesting": b"[" * 100_000,
}


@pytest.mark.contract("B3")
@BOTH
async def test_trap_14_a_body_that_is_no_message_is_a_popup_and_no_answer(side: Side, tmp_path: Path) -> None:
    async with side.start(tmp_path) as client:
        for body in NO_MESSAGES.values():
            client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await to_the_end(client)
        seen = (len(client.answers(None)), popups(client))
        side.shows(seen, bridge=(len(NO_MESSAGES), 0), stock=(0, len(NO_MESSAGES)))


@pytest.mark.contract("B3")
@BOTH
async def test_trap_14_after_one_sloppy_header_nothing_is_understood_any_more(side: Side, tmp_path: Path) -> None:
    headers = (
        "Content-Length: {}",
        "Content-Length: {longer}",
        "content-length: {}",
        "Content-Length:{}",
        "Content-Length: 1000000000000",
    )
    seen = await asyncio.gather(
        *(answers_after(side, tmp_path, f"{header}\r\n\r\n") for header in headers),
        answers_after(side, tmp_path, "Content-Length: {}\n\n"),
    )
    side.shows(seen, bridge=[20] * 6, stock=[20] + [0] * 5)


async def answers_after(side: Side, root: Path, header: str) -> int:
    """How many of 20 sound requests are answered that follow a message with this header."""
    async with side.start(root) as client:
        body = json.dumps({"jsonrpc": "2.0", "method": "no/such", "params": {}}).encode()
        client.send_bytes(header.format(len(body), longer=len(body) + 40).encode() + body)
        asked = [client.ask(CALL, {"name": "echo", "arguments": {}}) for _ in range(20)]
        client.close_stdin()
        await client.exit_code()
        await client.drained()
        return sum(len(client.answers(number)) for number in asked)


# --- the handshake ---------------------------------------------------------------------------------------------


@pytest.mark.contract("B3")
@BOTH
async def test_trap_15_a_capability_value_from_a_later_lsp_leaves_initialize_without_an_answer(
    side: Side, tmp_path: Path
) -> None:
    later = {"workspace": {"symbol": {"symbolKind": {"valueSet": [99_999]}}}}
    async with side.start_raw() as client:
        asked = client.ask("initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": later})
        client.close_stdin()
        await client.exit_code()
        await client.drained()
        side.shows(len(client.answers(asked)), bridge=1, stock=0)


# --- the end ---------------------------------------------------------------------------------------------------


@pytest.mark.contract("B3")
@BOTH
async def test_trap_16_exit_without_shutdown_passes_for_success(side: Side, tmp_path: Path) -> None:
    async with side.start(tmp_path) as client:
        client.notify("exit")
        side.shows(await client.exit_code(), bridge=1, stock=0)


@pytest.mark.contract("B3")
@BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_trap_16_a_signal_leaves_the_running_call_unanswered_and_its_child_behind(
    side: Side, tmp_path: Path, number: signal.Signals
) -> None:
    async with side.start(tmp_path) as client:
        asked = client.ask(CALL, {"name": "child", "arguments": {"started": str(tmp_path / "started")}})
        await exists(tmp_path / "started")
        child = os.pidfd_open(int((tmp_path / "started").read_text()))
        try:
            os.kill(client.process.pid, number)
            code = await client.exit_code()
            await client.drained()
            # No time for it to end: the bridge ends after its calls have, with what they started.
            child_is_there = not select.select([child], [], [], 0)[0]
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
            os.close(child)
        seen = (code, bool(client.answers(asked)), child_is_there)
        side.shows(seen, bridge=(128 + number, True, False), stock=(-number, False, True))


@pytest.mark.contract("B3")
@BOTH
async def test_trap_16_it_outlives_its_client(side: Side, tmp_path: Path) -> None:
    deeds = (interrupt, kill_the_editor, stop_reading, hang_a_thread_and_leave)
    seen = await asyncio.gather(*(ends_after(side, tmp_path, deed) for deed in deeds))
    side.shows(seen, bridge=[True] * 4, stock=[False] * 4)


async def ends_after(side: Side, root: Path, deed: Callable[[RawClient, Process], Awaitable[None]]) -> bool:
    """Whether the server ends when this has been done to it."""
    editor = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        async with side.start_raw() as client:
            await client.initialize(root, processId=editor.pid)
            await client.call("echo")
            await deed(client, editor)
            async with asyncio.timeout(None if side.name == "bridge" else PATIENCE_S):
                await client.exit_code()
    except TimeoutError:
        return False
    finally:
        if editor.returncode is None:
            editor.kill()
        await editor.wait()
    return True


async def interrupt(client: RawClient, _editor: Process) -> None:
    os.kill(client.process.pid, signal.SIGINT)


async def kill_the_editor(_client: RawClient, editor: Process) -> None:
    editor.kill()
    await editor.wait()


async def stop_reading(client: RawClient, _editor: Process) -> None:
    client.process._transport.get_pipe_transport(1).close()


async def hang_a_thread_and_leave(client: RawClient, _editor: Process) -> None:
    await client.answer(client.ask(CALL, {"name": "hang_in_thread", "arguments": {}}))
    client.close_stdin()


@pytest.mark.contract("B3")
@BOTH
async def test_trap_16_a_client_that_does_not_read_stops_all_other_work(side: Side, tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    async with side.start_raw(read=False) as client:
        client.ask("initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}})
        client.ask(CALL, {"name": "touch", "arguments": {"path": str(before)}})
        await exists(before)
        client.ask(CALL, {"name": "big", "arguments": {"bytes": 1_000_000}})
        client.ask(CALL, {"name": "touch", "arguments": {"path": str(after)}})
        with contextlib.suppress(TimeoutError):
            await exists(after, DEADLINE_S if side.name == "bridge" else PATIENCE_S)
        side.shows(after.exists(), bridge=True, stock=False)


@pytest.mark.contract("B3")
@BOTH
async def test_trap_16_children_can_take_bytes_from_the_clients_stream(side: Side, tmp_path: Path) -> None:
    async with side.start(tmp_path) as client:
        stdin = (await client.call("prints"))["data"]["0"]
        side.shows(stdin.startswith("pipe:"), bridge=False, stock=True)


async def exists(path: Path, within_s: float = DEADLINE_S) -> None:
    async with asyncio.timeout(within_s):
        while not await anyio.Path(path).exists():  # noqa: ASYNC110  a file of another process is no event
            await asyncio.sleep(0.01)
