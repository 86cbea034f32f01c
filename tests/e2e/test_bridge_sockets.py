"""Servers that listen: who is let in, that sessions do not know of each other, and what is left at the end."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.client import BridgeClient, BridgeEndedError, BridgeStartError
from openbuffer.bridge.headless import open_headless

from .listening_server import TOKEN, TOOLS, answer, initialize, is_closed, listening
from .raw_client import DEADLINE_S, SERVER, frame

if TYPE_CHECKING:
    from collections.abc import Iterator

GIVEN = {"OPENBUFFER_ACCESS_TOKEN": TOKEN}


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A short path in a directory of one's own: sockets have little room for their names."""
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture(params=["[::1]:0", "localhost:0", "unix"])
def address(request: pytest.FixtureRequest, private: Path) -> str:
    if request.param.startswith("[") and not has_ipv6():
        pytest.skip("this machine has no IPv6 loopback")
    return f"unix:{private / 's'}" if request.param == "unix" else request.param


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.contract("B1", "B3", "E6")
async def test_an_unsaved_document_is_edited_over_every_transport(tmp_path: Path, address: str) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    async with listening(address) as server:
        async with open_headless(root, **server.reached_by) as editor:
            path = str(root / "a.txt")
            editor.memory.open(path)
            editor.memory.type(path, 0, "typed\n")
            assert "1\ttyped" in (await editor.call_tool("Read", {"filePath": "a.txt"})).output
            edited = await editor.call_tool("Edit", {"filePath": "a.txt", "oldString": "one", "newString": "two"})
            assert not edited.is_error, edited.output
            assert editor.memory.buffer(path).text == "typed\ntwo\n"
        assert server.process.returncode is None
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 128 + signal.SIGTERM
        assert await server.process.stdout.read() == b""  # type: ignore[union-attr]  it is a pipe


# --- the token and the address ------------------------------------------------------------------------------------


@pytest.mark.contract("B1")
async def test_the_token_can_lie_in_a_file_that_only_the_user_can_read(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("of an older server")
    file.chmod(0o644)
    async with listening("127.0.0.1:0", "--token-file", str(file)) as server:
        assert set(server.announced) == {"listen"}
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        async with BridgeClient(tmp_path, connect=server.address, access_token=file.read_text().strip()) as client:
            assert await client.list_tools()
        arguments = await asyncio.to_thread(Path(f"/proc/{server.process.pid}/cmdline").read_text)
        assert file.read_text().strip() not in arguments
        server.process.send_signal(signal.SIGTERM)
        await server.exit_code()
    assert not file.exists()


def refusal(*arguments: str, **environment: str) -> str:
    """What a server says that cannot be had."""
    done = subprocess.run(
        [*SERVER, *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


@pytest.mark.contract("B1")
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("0.0.0.0:0", "0.0.0.0 can be reached from other machines; use 127.0.0.1:0"),
        ("[::]:0", ":: can be reached from other machines"),
        ("192.168.1.1:7", "192.168.1.1 can be reached from other machines"),
        ("example.com:80", "'example.com' is no IP address"),
        ("4711", "'4711' is no address; write HOST:PORT"),
        ("127.0.0.1:x", "'127.0.0.1:x' is no address"),
        ("127.0.0.1:70000", "'127.0.0.1:70000' is no address"),
        ("unix:", "unix: needs the path of a socket file"),
        ("unix:~nobody-of-this-name/serve.sock", "there is no such user here; write the whole path"),
        (f"unix:/tmp/{'x' * 120}", "is longer than the 100 bytes"),
    ],
)
def test_an_address_that_others_could_reach_or_that_is_none_is_refused(address: str, why: str) -> None:
    assert why in refusal("--listen", address)


@pytest.mark.contract("B3")
@pytest.mark.parametrize("number", ["x", "-1", "0", "99999999999999"])
def test_what_can_be_no_process_of_a_client_is_refused(number: str) -> None:
    assert f"'{number}' is no process id" in refusal(f"--clientProcessId={number}")


@pytest.mark.contract("B1")
def test_a_port_in_use_and_a_poor_token_are_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"127.0.0.1:{port}: Address already in use" in refusal("--listen", f"127.0.0.1:{port}")
    said = refusal("--listen", "127.0.0.1:0", OPENBUFFER_ACCESS_TOKEN="guess")
    assert "OPENBUFFER_ACCESS_TOKEN must be 16 to 1024 printable ASCII characters" in said
    assert "--token-file goes with --listen" in refusal("--token-file", "/nowhere")
    assert "cannot be written there" in refusal("--listen", "127.0.0.1:0", "--token-file", "/no/such/directory/t")


# --- socket files ------------------------------------------------------------------------------------------------


@pytest.mark.contract("B1", "B3")
async def test_a_socket_file_is_its_users_alone_and_goes_with_the_server(private: Path) -> None:
    async with listening(f"unix:{private / 's'}") as server:
        assert stat.S_IMODE((private / "s").stat().st_mode) == 0o600
        server.process.send_signal(signal.SIGINT)
        assert await server.exit_code() == 128 + signal.SIGINT
    assert os.listdir(private) == []


@pytest.mark.contract("B1", "B3")
async def test_the_socket_of_a_dead_server_is_replaced_and_that_of_a_living_one_is_not(
    tmp_path: Path, private: Path
) -> None:
    address = f"unix:{private / 's'}"
    async with listening(address) as dead:
        dead.process.kill()
        await dead.exit_code()
    assert (private / "s").exists()
    async with listening(address) as living:
        assert "a server listens there already" in await asyncio.to_thread(refusal, "--listen", address)
        async with BridgeClient(tmp_path, **living.reached_by) as client:
            assert await client.list_tools()


@pytest.mark.contract("B1")
async def test_of_servers_that_start_at_one_socket_together_one_has_it(tmp_path: Path, private: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(private / "s"))

    async def start() -> bytes:
        process = await asyncio.create_subprocess_exec(
            *SERVER, "--listen", f"unix:{private / 's'}", stdin=-3, stdout=-1, stderr=-3
        )
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), DEADLINE_S)
        started.append(process)
        return line

    started: list[asyncio.subprocess.Process] = []
    try:
        (announced,) = [line for line in await asyncio.gather(*(start() for _ in range(4))) if line]
        told = json.loads(announced)
        async with BridgeClient(tmp_path, connect=told["listen"], access_token=told["accessToken"]) as client:
            assert await client.list_tools()
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
            await process.wait()


@pytest.mark.contract("B1")
def test_a_place_that_others_can_enter_or_that_is_taken_by_something_else_is_refused(
    tmp_path: Path, private: Path
) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o755)
    assert "can be entered by others" in refusal("--listen", f"unix:{open_to_all}/s")
    (tmp_path / "link").symlink_to(private)
    assert "links are not followed here" in refusal("--listen", f"unix:{tmp_path}/link/s")
    (private / "file").write_text("precious")
    assert "exists and is no socket" in refusal("--listen", f"unix:{private}/file")
    assert (private / "file").read_text() == "precious"


# --- sessions ----------------------------------------------------------------------------------------------------


@pytest.fixture
def roots(tmp_path: Path) -> Iterator[list[Path]]:
    made = [tmp_path / name for name in "abcd"]
    for root in made:
        root.mkdir()
        (root / "f.txt").write_text(f"disk {root.name}\n")
    return made  # type: ignore[return-value]  # pytest takes a value as well


@pytest.mark.contract("B1", "B3", "E1")
async def test_each_connection_has_its_own_documents_folders_and_editor(roots: list[Path], tmp_path: Path) -> None:
    shared = tmp_path / "shared.txt"
    async with listening() as server:
        async with (
            open_headless([roots[0]], **server.reached_by) as one,
            open_headless([roots[1]], **server.reached_by) as other,
        ):
            for editor, root in ((one, roots[0]), (other, roots[1])):
                editor.memory.open(str(root / "f.txt"))
                editor.memory.type(str(root / "f.txt"), 0, f"typed in {root.name}\n")
            calls = [editor.call_tool("Read", {"filePath": "f.txt"}) for editor in (one, other) for _ in range(5)]
            told = [answered.output for answered in await asyncio.gather(*calls)]
            assert ["typed in a" in text for text in told] == [True] * 5 + [False] * 5
            assert ["typed in b" in text for text in told] == [False] * 5 + [True] * 5
            foreign = await one.call_tool("Read", {"filePath": str(roots[1] / "f.txt")})
            assert foreign.is_error
            assert "outside" in foreign.output
        assert not shared.exists()


@pytest.mark.contract("B1", "B3")
@pytest.mark.parametrize("death", ["reset", "junk", "client process"])
async def test_a_session_that_dies_leaves_the_others_alone(roots: list[Path], death: str) -> None:
    async with listening(env=GIVEN, command=TOOLS) as server, BridgeClient(roots[0], **server.reached_by) as client:
        held = asyncio.ensure_future(client.call_tool("hold", {"tag": "the other one's"}))
        reader, writer = await server.connect()
        doomed = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=-1)
        writer.write(initialize(roots[1], processId=doomed.pid))
        assert "result" in await answer(reader)
        call = {"name": "hold", "arguments": {"tag": "doomed"}}
        writer.write(frame({"jsonrpc": "2.0", "id": 2, "method": "openbuffer/callTool", "params": call}))
        writer.write(frame({"jsonrpc": "2.0", "id": 3, "method": "openbuffer/listTools"}))
        assert (await answer(reader))["id"] == 3
        if death == "reset":
            raw: Any = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            writer.transport.abort()
        elif death == "junk":
            writer.write(b"\x00" * 100_000 + b"Content-Length: 5\r\n\r\n{}")
            writer.write_eof()
        else:
            doomed.kill()
        if death != "reset":
            await asyncio.wait_for(reader.read(), DEADLINE_S)
        if doomed.returncode is None:
            doomed.kill()
        await doomed.wait()
        assert (await client.call_tool("echo", {"alive": True})).data == {"alive": True}
        assert not held.done()
        await client.call_tool("let_go", {})
        assert (await held).data == "released"
        writer.close()


@pytest.mark.contract("B3")
async def test_a_server_without_descriptors_left_goes_on_when_there_are_some_again(tmp_path: Path) -> None:
    async with listening(env=GIVEN) as server:
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = len(os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 4, before[1]))
        waiting = [await server.connect() for _ in range(20)]
        for _, writer in waiting:
            writer.write(b"hello\n\n")
            writer.write_eof()
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        for reader, _ in waiting:
            await asyncio.wait_for(reader.read(), DEADLINE_S)
        async with BridgeClient(tmp_path, **server.reached_by) as client:
            assert await client.list_tools()


@pytest.mark.contract("B3", "T6")
async def test_a_call_that_cannot_be_stopped_keeps_neither_its_client_nor_the_server(tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    async with listening(command=(*TOOLS, f"token_file={token_file}")) as server:
        reader, writer = await server.connect()
        started = tmp_path / "started"
        call = {"name": "hang_uncancellable", "arguments": {"started": str(started)}}
        token = (await asyncio.to_thread(token_file.read_text)).strip()
        writer.write(initialize(tmp_path, token))
        writer.write(frame({"jsonrpc": "2.0", "id": 2, "method": "openbuffer/callTool", "params": call}))
        assert "result" in await answer(reader)
        async with asyncio.timeout(DEADLINE_S):
            while not started.exists():  # noqa: ASYNC110  a file of another process is no event
                await asyncio.sleep(0.01)
        writer.write(frame({"jsonrpc": "2.0", "method": "exit"}))
        await asyncio.wait_for(reader.read(), DEADLINE_S)
        async with BridgeClient(tmp_path, connect=server.address, access_token=token) as client:
            assert (await client.call_tool("echo", {})).data == {}
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 128 + signal.SIGTERM
        assert "token" not in os.listdir(tmp_path)


@pytest.mark.contract("B3")
async def test_the_end_of_the_server_ends_every_session_with_its_calls_answered(roots: list[Path]) -> None:
    async with listening(env=GIVEN, command=TOOLS) as server:
        connections = []
        for root in roots:
            reader, writer = await server.connect()
            call = {"name": "hold", "arguments": {}}
            writer.write(initialize(root))
            writer.write(frame({"jsonrpc": "2.0", "id": 2, "method": "openbuffer/callTool", "params": call}))
            writer.write(frame({"jsonrpc": "2.0", "id": 3, "method": "openbuffer/listTools"}))
            assert [(await answer(reader))["id"] for _ in range(2)] == [1, 3]
            connections.append((reader, writer))
        server.process.send_signal(signal.SIGTERM)
        for reader, writer in connections:
            messages = [await answer(reader)]
            while messages[-1].get("method") == "window/logMessage":
                messages.append(await answer(reader))
            assert (messages[-1]["id"], messages[-1]["error"]["code"]) == (2, -32800)
            assert await is_closed(reader)
            writer.close()
        assert await server.exit_code() == 128 + signal.SIGTERM


@pytest.mark.contract("B3")
async def test_a_client_that_does_not_read_is_given_up_and_the_others_do_not_notice(tmp_path: Path) -> None:
    more = (*TOOLS, "outgoing_max_bytes=3000000")
    async with (
        listening(env=GIVEN, command=more) as server,
        BridgeClient(tmp_path, **server.reached_by) as client,
    ):
        reader, writer = await server.connect()
        writer.write(initialize(tmp_path))
        await answer(reader)
        transport: Any = reader._transport  # type: ignore[attr-defined]  # the way to a client that reads no more
        transport.pause_reading()
        call = {"name": "big", "arguments": {"bytes": 2_000_000}}
        for number in range(2, 8):
            writer.write(frame({"jsonrpc": "2.0", "id": number, "method": "openbuffer/callTool", "params": call}))
        async with asyncio.timeout(DEADLINE_S):
            while b"the client does not read" not in server.stderr:
                assert (await client.call_tool("echo", {"a": 1})).data == {"a": 1}


@pytest.mark.contract("B3")
async def test_more_sessions_than_there_may_be_are_turned_away(tmp_path: Path) -> None:
    async with (
        listening(env=GIVEN, command=(*TOOLS, "sessions_max=2")) as server,
        BridgeClient(tmp_path, **server.reached_by) as first,
    ):
        second, third = (BridgeClient(tmp_path, **server.reached_by) for _ in range(2))
        async with second:
            with pytest.raises(BridgeStartError, match="there are 2 sessions, and no more are taken"):
                await third.__aenter__()
        await ended_sessions(first, server.reached_by, tmp_path)


async def ended_sessions(first: BridgeClient, reached_by: dict[str, str], root: Path) -> None:
    """The place of one that has left is free again, a moment later."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                async with BridgeClient(root, **reached_by) as again:
                    assert (await again.call_tool("echo", {})).data == {}
                    assert (await first.call_tool("echo", {})).data == {}
                    return
            except BridgeStartError:
                await asyncio.sleep(0.05)


@pytest.mark.contract("B3")
async def test_a_listening_server_ends_with_the_process_that_it_was_told_of(tmp_path: Path) -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=-1)
    async with listening("127.0.0.1:0", "--clientProcessId", str(editor.pid)) as server:
        client = BridgeClient(tmp_path, **server.reached_by)
        async with client:
            assert await client.list_tools()
            editor.kill()
            await editor.wait()
            assert await server.exit_code() == 0
            with pytest.raises(BridgeEndedError):
                await client.list_tools()
