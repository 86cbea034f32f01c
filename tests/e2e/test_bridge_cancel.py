"""Cancelling: exactly one answer, and only when the work has really stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from .raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOOLS = (sys.executable, "-P", str(Path(__file__).with_name("tool_server.py")))

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path_factory.mktemp("root"))
        yield client
        assert await client.leave() == 0


def by_request(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "openbuffer/callTool", call


def by_command(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "workspace/executeCommand", {"command": "openbuffer.callTool", "arguments": [call]}


BOTH = pytest.mark.parametrize("way", [by_request, by_command])


@pytest.mark.contract("B2", "T6")
@BOTH
async def test_a_cancelled_call_is_answered_once_as_cancelled(client: RawClient, way: Any) -> None:
    request_id = client.ask(*way({"name": "hold", "arguments": {"tag": f"cancelled {way.__name__}"}}))
    client.notify("$/cancelRequest", {"id": request_id})
    assert (await client.answer(request_id))["error"] == {"code": -32800, "message": "cancelled"}
    client.notify("$/cancelRequest", {"id": request_id})
    assert f"stopped cancelled {way.__name__}" in (await client.call("told"))["data"]
    assert len(client.answers(request_id)) == 1


@pytest.mark.contract("T6")
@BOTH
async def test_the_answer_waits_until_the_thread_has_stopped(client: RawClient, way: Any, tmp_path: Path) -> None:
    started, may_stop = tmp_path / "started", tmp_path / "may stop"
    arguments = {"started": str(started), "may_stop": str(may_stop)}
    request_id = client.ask(*way({"name": "slow_to_stop", "arguments": arguments}))
    while not started.exists():
        assert await client.alive()
    for _ in range(3):
        client.notify("$/cancelRequest", {"id": request_id})
        assert await client.alive()
    assert client.answers(request_id) == []
    may_stop.touch()
    assert (await client.answer(request_id))["error"]["code"] == -32800
    assert (await client.call("told"))["data"][-1] == "thread stopped"
    assert len(client.answers(request_id)) == 1


@pytest.mark.contract("B2")
async def test_ids_are_compared_with_their_type(client: RawClient) -> None:
    request_id = client.ask("openbuffer/callTool", {"name": "hold"})
    for other in (str(request_id), float(request_id), [request_id], None):
        client.notify("$/cancelRequest", {"id": other})
    assert await client.alive()
    assert client.answers(request_id) == []
    client.notify("$/cancelRequest", {"id": request_id})
    assert (await client.answer(request_id))["error"]["code"] == -32800


@pytest.mark.contract("B2")
async def test_cancelling_what_is_done_changes_nothing(client: RawClient) -> None:
    request_id = client.ask("openbuffer/callTool", {"name": "echo"})
    await client.answer(request_id)
    client.notify("$/cancelRequest", {"id": request_id})
    assert await client.alive()
    assert len(client.answers(request_id)) == 1


@pytest.mark.contract("B2")
@BOTH
async def test_progress_begins_reports_without_a_flood_and_ends_before_the_answer(client: RawClient, way: Any) -> None:
    token = f"token {way.__name__}"
    call = {"name": "progress", "arguments": {"reports": 20_000}, "workDoneToken": token}
    request_id = client.ask(*way(call))
    assert (await client.answer(request_id))["result"]["data"] == "reported"
    values = [
        m["params"]["value"]
        for m in client.received
        if m.get("method") == "$/progress" and m["params"]["token"] == token
    ]
    assert values[0] == {"kind": "begin", "title": "progress", "cancellable": True}
    assert values[-1] == {"kind": "end"}
    assert all(value["kind"] == "report" for value in values[1:-1])
    assert len(values) < 200
    ends = [
        i
        for i, m in enumerate(client.received)
        if m.get("method") == "$/progress" and m["params"]["value"] == {"kind": "end"}
    ]
    assert ends[-1] < client.received.index(client.answers(request_id)[0])


@pytest.mark.contract("B2")
async def test_a_progress_token_may_stand_beside_the_command_as_lsp_has_it(client: RawClient) -> None:
    call = {"name": "progress", "arguments": {"reports": 1}}
    params = {"command": "openbuffer.callTool", "arguments": [call], "workDoneToken": 42}
    assert (await client.request("workspace/executeCommand", params))["result"]["data"] == "reported"
    kinds = [
        m["params"]["value"]["kind"]
        for m in client.received
        if m.get("method") == "$/progress" and m["params"]["token"] == 42
    ]
    assert (kinds[0], kinds[-1]) == ("begin", "end")


@pytest.mark.contract("B2")
async def test_without_a_token_no_progress_is_sent(client: RawClient) -> None:
    before = len(client.received)
    assert (await client.call("progress", {"reports": 10}))["data"] == "no progress wanted"
    assert not [m for m in client.received[before:] if m.get("method") == "$/progress"]


@pytest.mark.contract("B2")
async def test_the_progress_bar_can_cancel_its_call(client: RawClient) -> None:
    call = {"name": "progress", "arguments": {"reports": 1, "hold": True}, "workDoneToken": "bar"}
    request_id = client.ask("openbuffer/callTool", call)
    await client.expect(lambda m: m.get("method") == "$/progress" and m["params"]["token"] == "bar")
    client.notify("window/workDoneProgress/cancel", {"token": "bar"})
    assert (await client.answer(request_id))["error"]["code"] == -32800
    kinds = [
        m["params"]["value"]["kind"]
        for m in client.received
        if m.get("method") == "$/progress" and m["params"]["token"] == "bar"
    ]
    assert kinds[-1] == "end"


@pytest.mark.contract("B2")
async def test_a_token_in_use_reports_for_its_first_call_only(client: RawClient) -> None:
    first = client.ask("openbuffer/callTool", {"name": "hold", "workDoneToken": "shared"})
    assert (await client.call("progress", {"reports": 5}, workDoneToken="shared"))["data"] == "no progress wanted"
    client.notify("$/cancelRequest", {"id": first})
    assert (await client.answer(first))["error"]["code"] == -32800


@pytest.mark.contract("B3", "T6")
async def test_shutdown_cancels_what_runs_and_is_answered_last(tmp_path: Path) -> None:
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        held = [client.ask(*way({"name": "hold"})) for way in (by_request, by_command) for _ in range(10)]
        assert await client.alive()
        answer = await client.request("shutdown")
        assert answer["result"] is None
        for request_id in held:
            assert [a["error"]["code"] for a in client.answers(request_id)] == [-32800]
        assert client.received[-1] == answer
        client.notify("exit")
        assert await client.exit_code() == 0


@pytest.mark.contract("B2", "E7", "T6")
async def test_a_call_cancelled_while_its_edit_is_at_the_editor_is_answered_once_after_the_outcome(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    async with RawClient.start() as client:
        await client.initialize(tmp_path)
        document = {"uri": path.as_uri(), "version": 1}
        client.notify("textDocument/didOpen", {"textDocument": {**document, "languageId": "text", "text": "a\n"}})
        arguments = {"filePath": str(path), "oldString": "a", "newString": "A"}
        request_id = client.ask("openbuffer/callTool", {"name": "Edit", "arguments": arguments})
        asked = await client.expect(lambda m: m.get("method") == "workspace/applyEdit")
        for _ in range(3):
            client.notify("$/cancelRequest", {"id": request_id})
            assert await client.alive()
        assert client.answers(request_id) == []
        (edit,) = asked["params"]["edit"]["documentChanges"][0]["edits"]
        change = {"range": edit["range"], "text": edit["newText"]}
        client.notify(
            "textDocument/didChange", {"textDocument": {**document, "version": 2}, "contentChanges": [change]}
        )
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})
        assert (await client.answer(request_id))["error"]["code"] == -32800
        assert "1\tA" in (await client.call("Read", {"filePath": str(path)}))["data"]["output"]
        assert len(client.answers(request_id)) == 1
        assert await client.leave() == 0


@pytest.mark.contract("B3", "E7")
async def test_an_edit_at_the_editor_is_seen_through_after_shutdown_by_the_text_that_still_comes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    async with RawClient.start() as client:
        await client.initialize(tmp_path)
        document = {"uri": path.as_uri(), "version": 1}
        client.notify("textDocument/didOpen", {"textDocument": {**document, "languageId": "text", "text": "a\n"}})
        arguments = {"filePath": str(path), "oldString": "a", "newString": "A"}
        call = client.ask("openbuffer/callTool", {"name": "Edit", "arguments": arguments})
        asked = await client.expect(lambda m: m.get("method") == "workspace/applyEdit")
        shutdown = client.ask("shutdown")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})
        change = {"textDocument": {**document, "version": 2}, "contentChanges": [{"text": "A\n"}]}
        client.notify("textDocument/didChange", change)
        answer = await client.answer(shutdown)
        assert answer["result"] is None
        # Nobody had to run out of time: the call ended first, and shutdown is answered last.
        assert [a["error"]["code"] for a in client.answers(call)] == [-32800]
        client.notify("exit")
        assert await client.exit_code() == 0
