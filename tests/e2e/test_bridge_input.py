"""Bytes that are no messages: an answer or a reason to go on, never the end, never silence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from .raw_client import RawClient, frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOOLS = (sys.executable, "-P", str(Path(__file__).with_name("tool_server.py")))

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """One server for all: it has to be as good as new after each of these tests."""
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path_factory.mktemp("root"))
        yield client
        assert await client.leave() == 0
        assert not [m for m in client.received if m.get("method") == "window/showMessage"]


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "body",
    [
        b"{", b"", b"\xff\xfe\x00", b'{"jsonrpc": "2.0", "x": "\xc3\x28"}', b"[" * 100_000, b'{"a":' * 100_000,
        b'{"a": NaN}', b"\x00" * 100, b"null null",
    ],
)  # fmt: skip
async def test_a_body_that_is_no_json_is_a_parse_error(client: RawClient, body: bytes) -> None:
    before = len(client.received)
    client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    answer = await client.expect(lambda m: "error" in m, since=before)
    assert answer["id"] is None
    assert answer["error"]["code"] in {-32700, -32600}
    assert await client.alive()


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "params",
    ['{"name":"echo","arguments":' + '{"a":' * 50_000 + "1" + "}" * 50_001, "NaN", '{"n":' + "9" * 5_000 + "}"],
)
async def test_a_request_that_cannot_be_read_is_answered_under_its_id(client: RawClient, params: str) -> None:
    request_id = f"unreadable {len(params)}"
    body = f'{{"jsonrpc":"2.0","id":"{request_id}","method":"openbuffer/callTool","params":{params}}}'.encode()
    client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert (await client.answer(request_id))["error"]["code"] == -32700
    assert await client.alive()


@pytest.mark.contract("B3")
@pytest.mark.parametrize("depth", [500, 900, 2_000, 9_000])
async def test_nested_arguments_get_some_answer_at_any_depth(client: RawClient, depth: int) -> None:
    request_id = f"deep {depth}"
    nested = "[" * depth + "]" * depth
    params = f'{{"name":"echo","arguments":{{"a":{nested}}}}}'
    body = f'{{"jsonrpc":"2.0","id":"{request_id}","method":"openbuffer/callTool","params":{params}}}'.encode()
    client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    answer = await client.answer(request_id)
    assert "error" in answer or "result" in answer
    assert await client.alive()


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "header",
    [
        "content-length: {}\r\n\r\n",
        "Content-Length:{}\r\n\r\n",
        "Content-Length: {}\n\n",
        "CONTENT-LENGTH :  {}\r\n\r\n",
    ],
)
async def test_a_sloppy_header_is_understood(client: RawClient, header: str) -> None:
    request_id = header
    body = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "no/such"}).encode()
    client.send_bytes(header.format(len(body)).encode() + body)
    assert (await client.answer(request_id))["error"]["code"] == -32601


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "junk",
    [
        b"hello\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: x\r\n\r\n{}",
        b"Content-Length: 1000000000000\r\n\r\n{}",
        b"Content-Length: 99999999999999999999999999\r\n\r\n{}",
        b"Content-Type: text/plain\r\n\r\n{}",
        b"\x00\x01\x02" * 50_000,
        b"Content-Length: 3\r\n\r\n" + b'{"jsonrpc":"2.0"}',
    ],
)
async def test_junk_is_answered_once_and_the_next_request_as_ever(client: RawClient, junk: bytes) -> None:
    before = len(client.received)
    client.send_bytes(junk)
    assert await client.alive()
    errors = [m for m in client.received[before:] if "method" not in m and m["id"] is None]
    assert 1 <= len(errors) <= 2
    assert {m["error"]["code"] for m in errors} == {-32700}


@pytest.mark.contract("B3")
async def test_a_length_that_is_too_large_is_noticed_at_the_next_message(client: RawClient) -> None:
    for extra in (3, 40, 5_000):
        request = {"jsonrpc": "2.0", "id": f"long {extra}", "method": "no/such"}
        body = json.dumps(request).encode()
        client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body) + extra, body))
        assert await client.alive()
        assert (await client.answer(f"long {extra}"))["error"]["code"] == -32601


@pytest.mark.contract("B3")
async def test_a_message_may_come_byte_by_byte_and_many_at_once(client: RawClient) -> None:
    message = frame({"jsonrpc": "2.0", "id": "slow", "method": "no/such"})
    for byte in message:
        client.send_bytes(bytes([byte]))
        await client.process.stdin.drain()  # type: ignore[union-attr]  it is a pipe
    assert (await client.answer("slow"))["error"]["code"] == -32601
    client.send_bytes(b"".join(frame({"jsonrpc": "2.0", "id": f"m{n}", "method": "x"}) for n in range(200)))
    await client.answer("m199")
    order = [m["id"] for m in client.received if str(m.get("id")).startswith("m")]
    assert order == [f"m{n}" for n in range(200)]


@pytest.mark.contract("B3")
async def test_a_message_of_100_mb_is_read_and_one_beyond_the_limit_is_refused_under_its_id(client: RawClient) -> None:
    call = (
        '{"jsonrpc":"2.0","id":"%s","method":"openbuffer/callTool","params":{"name":"no-such","arguments":{"a":"%s"}}}'
    )
    for megabytes, request_id in ((100, "large"), (130, "too large")):
        body = (call % (request_id, "x" * (megabytes * 1024 * 1024))).encode()
        client.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body))
        client.send_bytes(body)
        del body
    assert (await client.answer("large"))["result"]["isError"] is True
    refused = (await client.answer("too large"))["error"]
    assert refused["code"] == -32700
    assert "the most is" in refused["message"]
    assert await client.alive()


@pytest.mark.contract("B3")
async def test_before_initialize_requests_are_refused_and_notifications_dropped(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        client.notify("textDocument/didOpen", {"textDocument": {"uri": "file:///x"}})
        assert (await client.request("openbuffer/listTools"))["error"]["code"] == -32002
        assert (await client.request("shutdown"))["error"]["code"] == -32002
        assert (await client.request("initialize", [1]))["error"]["code"] == -32602
        assert (await client.request("initialize"))["error"]["code"] == -32602
        await client.initialize(tmp_path)
        assert (await client.call("echo"))["data"] == {}


@pytest.mark.contract("B3")
async def test_after_shutdown_everything_but_exit_is_refused(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        assert (await client.request("shutdown"))["result"] is None
        for method in ("shutdown", "initialize", "openbuffer/listTools", "no/such"):
            assert (await client.request(method))["error"]["code"] == -32600
        client.notify("exit")
        assert await client.exit_code() == 0
