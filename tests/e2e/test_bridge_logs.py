"""What a server tells of itself while it runs: to its client, to a file, never over the wire of another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .listening_server import TOKEN, initialize, listening
from .raw_client import SERVER, RawClient

TOOLS = (sys.executable, "-P", str(Path(__file__).with_name("tool_server.py")))


@pytest.mark.contract("B1")
async def test_a_trace_tells_what_was_taken_and_answered_from_when_it_is_asked_for(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        secret = {"openbuffer": {"accessToken": "not needed here"}}
        await client.initialize(tmp_path, trace="verbose", initializationOptions=secret)
        await client.call("echo", {"a": 1})
        client.notify("$/setTrace", {"value": "messages"})
        await client.call("echo", {"b": 2})
        client.notify("$/setTrace", {"value": "nonsense"})
        client.notify("$/setTrace", {"value": "off"})
        await client.call("echo", {"c": 3})
        assert await client.leave() == 0
        traces = [m["params"] for m in client.received if m.get("method") == "$/logTrace"]
    told = [each["message"].partition(" after ")[0] for each in traces]
    assert told == [
        "took notification: initialized",
        "took request 2: openbuffer/callTool",
        "answered request 2",
        "took request 3: openbuffer/callTool",
        "answered request 3",
    ]
    assert ["verbose" in each for each in traces] == [True, True, True, False, False]
    assert '"arguments":{"a":1}' in traces[1]["verbose"]
    assert "accessToken" not in str(traces)


@pytest.mark.contract("B1", "B3")
async def test_the_client_is_told_of_warnings_and_a_flood_of_them_is_counted(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        await client.call("logs", {"lines": 3_000})
        counted = await client.expect(
            lambda m: m.get("method") == "window/logMessage" and "left out here" in m["params"]["message"]
        )
        assert counted["params"]["type"] == 2
        shown = [m for m in client.received if m.get("method") == "window/logMessage" and m is not counted]
        assert all(m["params"]["type"] == 1 for m in shown)
        assert len(shown) + int(counted["params"]["message"].split()[0]) == 3_000
        assert len(shown) < 100
        assert await client.leave() == 0


@pytest.mark.contract("B3")
async def test_a_log_file_has_all_of_it_and_the_level_is_as_asked(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    async with RawClient.start((*SERVER, "--log-file", str(log), "--log-level", "info")) as client:
        await client.initialize(tmp_path)
        client.send_bytes(b"nonsense\r\n\r\n")
        assert await client.alive()
        assert await client.leave() == 0
    lines = log.read_text().splitlines()
    assert any(" WARNING openbuffer.bridge.wire.jsonrpc: bytes that are no header" in line for line in lines)
    assert lines[-1].endswith(" INFO openbuffer.bridge.life.lifetime: ending: exit")


@pytest.mark.contract("B3")
async def test_a_log_file_that_cannot_be_had_is_told_before_anything_is_served(tmp_path: Path) -> None:
    async with RawClient.start((*SERVER, "--log-file", str(tmp_path / "none" / "log"))) as client:
        assert await client.exit_code() == 2
        await client.drained()
    assert b"the log cannot be written there (No such file or directory)" in client.stderr


@pytest.mark.contract("B1", "B3")
async def test_of_several_sessions_each_hears_of_itself_alone_and_nobody_of_the_token(tmp_path: Path) -> None:
    log = tmp_path / "log"
    more = ("--log-file", str(log), "--log-level", "debug")
    async with listening("127.0.0.1:0", *more, env={"OPENBUFFER_ACCESS_TOKEN": TOKEN}) as server:
        (one, one_writer), (_, other_writer) = [await server.connect() for _ in range(2)]
        for writer in (one_writer, other_writer):
            writer.write(initialize(tmp_path))
        other_writer.write(b"only the other's\r\n\r\n")
        other_writer.write_eof()
        one_writer.write_eof()
        heard = (await one.read()).decode()
        assert '"id":1,"result"' in heard
        assert "no header" not in heard
    assert TOKEN not in log.read_text()
    assert "no header" in log.read_text()


@pytest.mark.contract("B7")
async def test_a_client_of_another_version_of_the_protocol_is_told_and_taken_as_a_plain_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text\n")
    async with RawClient.start() as client:
        announced = {"protocolVersion": 2, "readDocument": True}
        told = await client.initialize(tmp_path, capabilities={"experimental": {"openbuffer": announced}})
        assert told["capabilities"]["experimental"]["openbuffer"] == {"protocolVersion": 1}
        logged = await client.expect(lambda m: m.get("method") == "window/logMessage")
        assert "the client speaks version 2 of the openbuffer protocol and this server version 1" in str(logged)
        assert "install a client and a server of the same release" in str(logged)
        document = {"uri": (tmp_path / "a.txt").as_uri(), "languageId": "text", "version": 1, "text": "text\n"}
        client.notify("textDocument/didOpen", {"textDocument": document})
        assert (await client.call("Read", {"filePath": "a.txt"}))["isError"] is False
        assert not [m for m in client.received if m.get("method") == "openbuffer/readDocument"]
