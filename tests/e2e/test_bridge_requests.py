"""Every request has exactly one answer, whatever is in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from openbuffer.bridge.limits import RESULT_MAX_BYTES

from .raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOOLS = (sys.executable, "-P", str(Path(__file__).with_name("tool_server.py")))


SHAPE_BYTES = len('{"name":"big","isError":false,"data":""}')

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """One server for all: none of these tests may leave it in another state than before."""
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path_factory.mktemp("root"))
        yield client
        assert await client.leave() == 0


@pytest.mark.contract("B1")
async def test_tools_are_listed_by_request_and_by_command(client: RawClient) -> None:
    listed = await client.request("openbuffer/listTools")
    echo = next(tool for tool in listed["result"]["tools"] if tool["name"] == "echo")
    assert echo == {"name": "echo", "description": "A tool.", "inputSchema": {"type": "object"}, "capabilities": []}
    for params in ({"command": "openbuffer.listTools", "arguments": []}, {"command": "openbuffer.listTools"}):
        assert (await client.request("workspace/executeCommand", params))["result"] == listed["result"]


@pytest.mark.contract("B1")
async def test_a_call_by_request_and_by_command_gives_the_same_answer(client: RawClient) -> None:
    call = {"name": "echo", "arguments": {"a": 1}}
    by_request = await client.request("openbuffer/callTool", call)
    command = {"command": "openbuffer.callTool", "arguments": [call]}
    by_command = await client.request("workspace/executeCommand", command)
    assert by_request["result"] == {"name": "echo", "isError": False, "data": {"a": 1}}
    assert by_command["result"] == by_request["result"]


async def test_arguments_arrive_as_they_were_written(client: RawClient) -> None:
    arguments = {
        "class": 1, "a-b": 2, "_x": 3, "": 4, "ключ": "значение", "emoji": "😋", "jsonrpc": {"jsonrpc": "2.0"},
        "id": {"id": 5, "method": "x"}, "deep": [[[{"jsonrpc": "1.0"}]]], "big": 2**60, "nul": "\u0000", "u": "\u2028",
    }  # fmt: skip
    assert (await client.call("echo", arguments))["data"] == arguments


async def test_a_hundred_thousand_small_objects_are_no_matter(client: RawClient) -> None:
    items = [{"n": n} for n in range(100_000)]
    assert (await client.call("echo", {"items": items}))["data"] == {"items": items}


async def test_extra_members_of_a_message_are_ignored(client: RawClient) -> None:
    request_id = client.ask("openbuffer/callTool", {"name": "echo", "arguments": {}, "later": 1}, trace="x")
    assert (await client.answer(request_id))["result"]["data"] == {}


@pytest.mark.parametrize("arguments", [[], None])
async def test_an_empty_table_of_a_lua_client_is_an_empty_object(client: RawClient, arguments: Any) -> None:
    answer = await client.request("openbuffer/callTool", {"name": "echo", "arguments": arguments})
    assert answer["result"]["data"] == {}
    assert "tools" in (await client.request("openbuffer/listTools", []))["result"]


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("openbuffer/callTool", None),
        ("openbuffer/callTool", []),
        ("openbuffer/callTool", "Read"),
        ("openbuffer/callTool", {}),
        ("openbuffer/callTool", {"name": 5, "arguments": {}}),
        ("openbuffer/callTool", {"name": "echo", "workDoneToken": {}}),
        ("openbuffer/callTool", {"name": "echo", "workDoneToken": True}),
        ("workspace/executeCommand", None),
        ("workspace/executeCommand", {"command": "other.command"}),
        ("workspace/executeCommand", {"command": None}),
        ("workspace/executeCommand", {"command": "openbuffer.callTool"}),
        ("workspace/executeCommand", {"command": "openbuffer.callTool", "arguments": {"name": "echo"}}),
        ("workspace/executeCommand", {"command": "openbuffer.callTool", "arguments": ["echo"]}),
        ("workspace/executeCommand", {"command": "openbuffer.callTool", "arguments": [{}, {}]}),
    ],
)
async def test_malformed_params_are_invalid_params(client: RawClient, method: str, params: Any) -> None:
    assert (await client.request(method, params))["error"]["code"] == -32602


async def test_a_malformed_request_says_what_it_should_have_been(client: RawClient) -> None:
    error = (await client.request("openbuffer/callTool", {"name": 5}))["error"]
    assert error["message"] == "params.name must be a string (the tool's name), not a number"


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    ("message", "code", "answered_id"),
    [
        ([], -32600, None),
        ([{"jsonrpc": "2.0", "id": "n900", "method": "shutdown"}], -32600, None),
        ("text", -32600, None),
        (None, -32600, None),
        ({}, -32600, None),
        ({"jsonrpc": "2.0", "id": "n901", "method": "no/such"}, -32601, "n901"),
        ({"jsonrpc": "2.0", "id": "s", "method": "$/no/such"}, -32601, "s"),
        ({"jsonrpc": "2.0", "id": "n902", "method": 5}, -32600, "n902"),
        ({"jsonrpc": "1.0", "id": "n903", "method": "shutdown"}, -32600, "n903"),
        ({"id": "n904", "method": "shutdown"}, -32600, "n904"),
        ({"jsonrpc": "2.0", "id": None, "method": "shutdown"}, -32600, None),
        ({"jsonrpc": "2.0", "id": True, "method": "shutdown"}, -32600, None),
        ({"jsonrpc": "2.0", "id": [1], "method": "shutdown"}, -32600, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"}, -32600, None),
        ({"jsonrpc": "2.0", "id": "n905", "method": "initialize", "params": {}}, -32600, "n905"),
        ({"jsonrpc": "2.0", "id": "n906", "method": "textDocument/didOpen", "params": {}}, -32601, "n906"),
    ],
)
async def test_what_is_no_request_is_answered_by_its_error(
    client: RawClient, message: Any, code: int, answered_id: Any
) -> None:
    before = len(client.received)
    client.send(message)
    answer = await client.expect(lambda m: "error" in m, since=before)
    assert (answer["error"]["code"], answer["id"]) == (code, answered_id)
    assert await client.alive()


@pytest.mark.contract("B3")
async def test_notifications_that_mean_nothing_are_ignored(client: RawClient) -> None:
    before = len(client.received)
    for params in (None, [], {}, {"id": None}, {"id": {}}, {"id": "nobody"}, {"id": 1.0}, {"token": {}}, 5):
        for method in ("$/cancelRequest", "window/workDoneProgress/cancel", "no/such", "$/setTrace"):
            client.notify(method, params)
    client.notify("openbuffer/callTool", {"name": "hold", "arguments": {}})
    client.notify("shutdown")
    client.send({"jsonrpc": "2.0", "id": 77, "result": "to a question nobody asked"})
    client.send({"jsonrpc": "2.0", "id": [], "error": {"code": 1, "message": "x"}})
    client.send({"jsonrpc": "2.0", "id": "openbuffer-1", "error": "x"})
    assert await client.alive()
    assert len(client.received) == before + 1


@pytest.mark.contract("B3")
@pytest.mark.parametrize("what", ["exit", "interrupt", "error", "memory"])
async def test_a_tool_that_raises_anything_is_a_hard_error_of_that_call(client: RawClient, what: str) -> None:
    answer = await client.call("raises", {"what": what})
    assert answer["isError"] is True
    assert answer["error"]["type"] == "ToolCrashedError"
    assert "on purpose" in answer["error"]["message"]
    assert await client.alive()


@pytest.mark.contract("B3")
@pytest.mark.parametrize("what", ["object", "nan", "loop", "set"])
async def test_a_result_that_json_cannot_carry_is_a_hard_error_of_that_call(client: RawClient, what: str) -> None:
    answer = await client.call("not_json", {"what": what})
    assert answer["isError"] is True
    assert answer["error"]["type"] == "ToolResultError"
    assert answer["error"]["message"].startswith("not_json returned something that JSON cannot carry")


async def test_a_giant_name_is_not_repeated_whole(client: RawClient) -> None:
    answer = await client.call("n" * 1_000_000)
    assert answer["isError"] is True
    assert len(str(answer)) < 2_000


async def test_half_a_surrogate_pair_goes_out_as_the_replacement_character(client: RawClient) -> None:
    assert (await client.call("not_json", {"what": "half"}))["data"] == "a\ufffdb"


async def test_a_request_id_in_use_is_refused_and_the_first_one_still_answered(client: RawClient) -> None:
    hold = {"jsonrpc": "2.0", "id": "twice", "method": "openbuffer/callTool", "params": {"name": "hold"}}
    client.send(hold)
    client.send(hold)
    refusal = await client.answer("twice")
    assert refusal["error"]["code"] == -32600
    await client.call("let_go")
    released = await client.expect(lambda m: m.get("id") == "twice" and "result" in m)
    assert released["result"]["data"] == "released"
    assert len(client.answers("twice")) == 2


async def test_many_calls_run_at_the_same_time_and_more_wait_for_their_turn(client: RawClient) -> None:
    await client.call("let_go")
    held = [client.ask("openbuffer/callTool", {"name": "hold"}) for _ in range(80)]
    release = client.ask("openbuffer/callTool", {"name": "let_go"})
    assert await client.alive()
    assert client.answers(release) == []
    for request_id in held[:40]:
        client.notify("$/cancelRequest", {"id": request_id})
    assert (await client.answer(release))["result"]["data"] == {"most": 64}
    for request_id in held[40:]:
        assert (await client.answer(request_id))["result"]["data"] == "released"


async def test_too_many_requests_without_an_answer_are_refused(client: RawClient) -> None:
    ids = [client.ask("openbuffer/callTool", {"name": "hold"}) for _ in range(2_060)]
    refused = await client.answer(ids[-1])
    assert refused["error"]["code"] == -32803
    for request_id in ids[:2_048]:
        client.notify("$/cancelRequest", {"id": request_id})
    for request_id in ids[:2_048]:
        assert (await client.answer(request_id))["error"]["code"] == -32800
    assert (await client.call("echo"))["data"] == {}


@pytest.mark.contract("B3")
async def test_nothing_but_frames_is_on_stdout_and_no_child_reads_stdin(client: RawClient) -> None:
    answer = await client.call("prints")
    assert sorted(answer["data"]) == ["0", "1", "2"]
    assert answer["data"]["0"] == "/dev/null"
    assert answer["data"]["1"] == os.readlink(f"/proc/{client.process.pid}/fd/2")
    assert await client.alive()
    assert client.broken is None
    for words in (b"a stray print", b"a stray write", b"from a child"):
        while words not in client.stderr:
            assert await client.alive()


@pytest.mark.contract("B3")
async def test_a_result_too_large_to_send_is_a_hard_error_of_that_call(client: RawClient) -> None:
    answer = await client.call("big", {"bytes": RESULT_MAX_BYTES})
    assert answer["error"] == {
        "type": "ToolResultError",
        "message": f"big returned {RESULT_MAX_BYTES + SHAPE_BYTES} characters; the most is {RESULT_MAX_BYTES}; "
        "what it did is done",
    }
    assert len((await client.call("big", {"bytes": RESULT_MAX_BYTES - SHAPE_BYTES}))["data"]) > 0
