"""The server lives exactly as long as its client, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from .raw_client import DEADLINE_S, SERVER, RawClient, frame

TOOLS = (sys.executable, "-P", str(Path(__file__).with_name("tool_server.py")))


@pytest.mark.contract("B3")
async def test_exit_after_shutdown_is_success(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        assert await client.leave() == 0


@pytest.mark.contract("B3")
async def test_shutdown_is_taken_however_many_requests_have_no_answer_yet(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        held = [client.ask("openbuffer/callTool", {"name": "hold"}) for _ in range(2_100)]
        assert (await client.answer(held[-1]))["error"]["code"] == -32803
        assert await client.leave() == 0
        assert (await client.answer(held[0]))["error"]["code"] == -32800


@pytest.mark.contract("B3")
@pytest.mark.parametrize("initialized", [True, False])
async def test_exit_without_shutdown_is_1(tmp_path: Path, initialized: bool) -> None:
    async with RawClient.start(TOOLS) as client:
        if initialized:
            await client.initialize(tmp_path)
        client.notify("exit")
        assert await client.exit_code() == 1


@pytest.mark.contract("B3")
async def test_the_end_of_input_ends_it(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        client.ask("openbuffer/callTool", {"name": "hold"})
        assert await client.alive()
        client.close_stdin()
        assert await client.exit_code() == 1


@pytest.mark.contract("B3")
async def test_the_end_of_input_after_shutdown_is_success(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        await client.request("shutdown")
        client.close_stdin()
        assert await client.exit_code() == 0


@pytest.mark.contract("B3")
async def test_a_message_that_stops_in_the_middle_is_an_end_as_well(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        client.send_bytes(b'Content-Length: 1000\r\n\r\n{"jsonrpc"')
        client.close_stdin()
        assert await client.exit_code() == 1


@pytest.mark.contract("B3")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_signal_ends_it_with_the_running_call_answered(tmp_path: Path, number: signal.Signals) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        held = client.ask("openbuffer/callTool", {"name": "hold"})
        assert await client.alive()
        os.kill(client.process.pid, number)
        assert await client.exit_code() == 128 + number
        assert (await client.answer(held))["error"]["code"] == -32800


@pytest.mark.contract("B3")
async def test_it_ends_with_the_process_of_its_client_even_if_the_pipe_stays_open(tmp_path: Path) -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path, processId=editor.pid)
        assert await client.alive()
        editor.kill()
        assert await client.exit_code() == 1
    await editor.wait()


@pytest.mark.contract("B3")
def test_a_killed_editor_costs_the_server_no_more_than_half_a_second_of_work(tmp_path: Path) -> None:
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as editor,
        subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
    ):
        assert server.stdin
        assert server.stdout
        params = {"processId": editor.pid, "rootUri": tmp_path.as_uri(), "capabilities": {}}
        server.stdin.write(frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
        server.stdin.flush()
        assert b"Content-Length" in server.stdout.readline()
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
        used_before_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        editor.kill()
        _, status, used = os.wait4(server.pid, 0)  # pytest-timeout ends a wait that does not
        server.returncode = os.waitstatus_to_exitcode(status)
        assert server.returncode == 1
        assert used.ru_utime + used.ru_stime - used_before_s < 0.5


@pytest.mark.contract("B3")
async def test_the_process_of_its_client_may_be_told_before_it_says_a_word() -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    async with RawClient.start((*SERVER, f"--clientProcessId={editor.pid}")) as client:
        assert await client.alive()
        editor.kill()
        assert await client.exit_code() == 1
    await editor.wait()


@pytest.mark.contract("B3")
async def test_it_ends_when_the_process_of_its_client_is_gone_already(tmp_path: Path) -> None:
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    async with RawClient.start(TOOLS) as client:
        client.ask("initialize", {"processId": gone.pid, "rootUri": tmp_path.as_uri(), "capabilities": {}})
        assert await client.exit_code() == 1


@pytest.mark.contract("B3")
@pytest.mark.parametrize("process_id", [0, 2**40])
async def test_a_process_id_that_is_none_is_not_watched(tmp_path: Path, process_id: object) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path, processId=process_id)
        assert await client.alive()
        assert await client.leave() == 0


@pytest.mark.contract("B3")
async def test_a_client_that_closes_its_side_is_noticed_without_a_word(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        client.process._transport.get_pipe_transport(1).close()
        assert await client.exit_code() == 1


@pytest.mark.contract("B3")
async def test_a_client_that_does_not_read_blocks_nobody_and_is_given_up_in_the_end(tmp_path: Path) -> None:
    async with RawClient.start((*TOOLS, "outgoing_max_bytes=3000000"), read=False) as client:
        client.ask("initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}})
        for _ in range(4):
            client.ask("openbuffer/callTool", {"name": "big", "arguments": {"bytes": 1_000_000}})
        assert await client.exit_code() == 1
        assert b"the client does not read" in client.stderr


@pytest.mark.contract("B3")
async def test_a_client_that_takes_nothing_for_long_is_given_up(tmp_path: Path) -> None:
    async with RawClient.start((*TOOLS, "outgoing_stall_s=0.2"), read=False) as client:
        client.ask("initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}})
        client.ask("openbuffer/callTool", {"name": "big", "arguments": {"bytes": 1_000_000}})
        assert await client.exit_code() == 1
        assert b"has read nothing" in client.stderr


@pytest.mark.contract("B3")
async def test_while_nobody_reads_the_input_is_still_worked_off(tmp_path: Path) -> None:
    started = tmp_path / "started"
    async with RawClient.start(TOOLS, read=False) as client:
        client.ask("initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}})
        big = client.ask("openbuffer/callTool", {"name": "big", "arguments": {"bytes": 5_000_000}})
        arguments = {"started": str(started), "may_stop": str(started)}
        slow = client.ask("openbuffer/callTool", {"name": "slow_to_stop", "arguments": arguments})
        async with asyncio.timeout(DEADLINE_S):
            while not started.exists():  # noqa: ASYNC110  a file of another process is no event
                await asyncio.sleep(0.01)
        client.start_reading()
        assert len((await client.answer(big))["result"]["data"]) == 5_000_000
        assert "result" in await client.answer(slow)


@pytest.mark.contract("B3")
async def test_logs_that_nobody_reads_block_nobody(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(*TOOLS, stdin=-1, stdout=-1, stderr=-1)
    assert process.stdin is not None
    transport = process._transport.get_pipe_transport(2)
    transport.pause_reading()
    process.stdin.write(
        frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"rootUri": tmp_path.as_uri()}})
    )
    call = {"name": "logs", "arguments": {"lines": 5_000}}
    process.stdin.write(frame({"jsonrpc": "2.0", "id": 2, "method": "openbuffer/callTool", "params": call}))
    process.stdin.write(frame({"jsonrpc": "2.0", "id": 3, "method": "shutdown"}))
    process.stdin.write(frame({"jsonrpc": "2.0", "method": "exit"}))
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE_S):
        assert b'"data":"logged"' in await process.stdout.read()
        transport.resume_reading()
        assert await process.wait() == 0


@pytest.mark.contract("B3")
async def test_it_leaves_even_if_a_thread_hangs(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        await client.call("hang_in_thread")
        assert await client.leave() == 0


@pytest.mark.contract("B3")
async def test_it_leaves_even_if_a_call_cannot_be_stopped(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        client.ask("openbuffer/callTool", {"name": "hang_uncancellable", "arguments": {"started": str(tmp_path / "s")}})
        assert await client.alive()
        client.close_stdin()
        assert await client.exit_code() == 1


@pytest.mark.contract("B3")
@pytest.mark.parametrize("way", ["its process ends", "its end of the pipe is closed"])
async def test_it_leaves_with_its_client_even_if_its_event_loop_hangs(tmp_path: Path, way: str) -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path, processId=editor.pid)
        started = tmp_path / "started"
        client.ask("openbuffer/callTool", {"name": "hang_loop", "arguments": {"started": str(started)}})
        while not started.exists():  # noqa: ASYNC110  a file of another process is no event
            await asyncio.sleep(0.01)
        if way == "its process ends":
            editor.kill()
        else:
            client.close_stdin()
        assert await client.exit_code() == 1
    if editor.returncode is None:
        editor.kill()
    await editor.wait()


@pytest.mark.contract("B3")
async def test_a_conversation_may_come_from_a_file_and_go_to_one(tmp_path: Path) -> None:
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"rootUri": tmp_path.as_uri()}},
        {"jsonrpc": "2.0", "id": 2, "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "exit"},
    )
    (tmp_path / "in").write_bytes(b"".join(frame(m) for m in messages))
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as taken:
        process = await asyncio.create_subprocess_exec(*SERVER, stdin=given, stdout=taken)
        async with asyncio.timeout(DEADLINE_S):
            assert await process.wait() == 0
    assert b'"id":2,"result":null' in (tmp_path / "out").read_bytes()


@pytest.mark.contract("B3")
async def test_a_conversation_may_go_over_sockets_as_some_editors_have_it(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = await asyncio.create_subprocess_exec(*SERVER, stdin=theirs, stdout=theirs)
        theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(
            frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"rootUri": tmp_path.as_uri()}})
        )
        async with asyncio.timeout(DEADLINE_S):
            assert b"Content-Length" in await reader.readline()
            writer.write(frame({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}))
            writer.write(frame({"jsonrpc": "2.0", "method": "exit"}))
            assert b'"id":2,"result":null' in await reader.read()
            assert await process.wait() == 0
        writer.close()
        await writer.wait_closed()
