"""The built-in tools over the wire: what they see is what was sent before, in the order in which it was sent."""

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
ALL_OF_IT = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """One server for all; each test works in a directory of its own below the root."""
    async with RawClient.start() as client:
        await client.initialize(tmp_path_factory.getbasetemp())
        yield client
        assert await client.leave() == 0
        assert not [m for m in client.received if m.get("method") == "window/showMessage"]


def did_open(client: RawClient, path: Path, text: str, version: int = 1) -> None:
    item = {"uri": path.as_uri(), "languageId": "text", "version": version, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": item})


def did_change(client: RawClient, path: Path, version: int, *changes: Any) -> None:
    params = {"textDocument": {"uri": path.as_uri(), "version": version}, "contentChanges": list(changes)}
    client.notify("textDocument/didChange", params)


def did_close(client: RawClient, path: Path) -> None:
    client.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})


@pytest.mark.contract("E6", "B1")
async def test_read_shows_the_unsaved_text(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("disk\n")
    did_open(client, path, "buffer\n")
    answer = await client.call("Read", {"filePath": str(path)})
    assert answer["isError"] is False
    assert "1\tbuffer" in answer["data"]["output"]
    did_close(client, path)
    assert "1\tdisk" in (await client.call("Read", {"filePath": str(path)}))["data"]["output"]


@pytest.mark.contract("E7", "B1")
async def test_edit_lands_in_the_editor_and_is_seen_as_done(client: RawClient, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\nb\n")
    did_open(client, path, "a\nb\n")
    asked: list[Any] = []

    def apply(params: Any) -> Any:
        asked.append(params)
        (edit,) = params["edit"]["documentChanges"][0]["edits"]
        did_change(client, path, 2, {"range": edit["range"], "text": edit["newText"]})
        return {"applied": True}

    client.on_request["workspace/applyEdit"] = apply
    answer = await client.call("Edit", {"filePath": str(path), "oldString": "a", "newString": "A"})
    assert answer["data"]["success"] is True
    assert asked[0]["edit"]["documentChanges"][0]["textDocument"] == {"uri": path.as_uri(), "version": 1}
    assert path.read_text() == "a\nb\n"
    assert "1\tA" in (await client.call("Read", {"filePath": str(path)}))["data"]["output"]


@pytest.mark.contract("E7", "B3")
@pytest.mark.parametrize("answer", [None, {"applied": False, "failureReason": "no"}, RuntimeError("no")])
async def test_whatever_the_client_answers_an_edit_that_is_not_seen_is_not_done(
    client: RawClient, tmp_path: Path, answer: Any
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    did_open(client, path, "a\n")

    def apply(_params: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    client.on_request["workspace/applyEdit"] = apply
    result = await client.call("Edit", {"filePath": str(path), "oldString": "a", "newString": "b"})
    assert result["isError"] is True
    assert path.read_text() == "a\n"


@pytest.mark.contract("T5", "B1")
async def test_a_hard_error_and_an_ordinary_failure_look_different(client: RawClient, tmp_path: Path) -> None:
    missing = await client.call("Read", {"filePath": str(tmp_path / "missing")})
    assert (missing["isError"], missing["data"]["success"]) == (True, False)
    assert "error" not in missing
    for name, arguments, kind in (("Reed", {}, "ToolNotFoundError"), ("Read", {"path": "x"}, "ToolArgumentError")):
        hard = await client.call(name, arguments)
        assert (hard["isError"], hard["error"]["type"]) == (True, kind)
        assert "data" not in hard


@pytest.mark.contract("B1")
@pytest.mark.parametrize("params", [{}, {"rootUri": "untitled:x"}, {"workspaceFolders": [{"uri": "ssh://x/y"}]}])
async def test_without_a_folder_there_are_no_tools_and_a_call_says_why(params: Any) -> None:
    async with RawClient.start() as client:
        await client.initialize(None, **params)
        assert (await client.request("openbuffer/listTools"))["result"] == {"tools": []}
        error = (await client.call("Read", {"filePath": "x"}))["error"]
        assert error["type"] == "NoWorkspaceError"
        assert "open a folder" in error["message"]


@pytest.mark.contract("B1")
async def test_a_folder_that_is_gone_is_said_so(tmp_path: Path) -> None:
    async with RawClient.start() as client:
        await client.initialize(tmp_path / "gone")
        assert (await client.call("Read", {"filePath": "x"}))["isError"] is True
        (tmp_path / "gone").mkdir()
        (tmp_path / "gone" / "x").write_text("back\n")
        assert "1\tback" in (await client.call("Read", {"filePath": "x"}))["data"]["output"]


@pytest.mark.contract("B3")
async def test_document_messages_that_do_not_fit_leave_the_server_alive_and_the_text_unknown(
    client: RawClient, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("disk\n")
    read = {"filePath": str(path)}
    did_change(client, path, 3, {"text": "never opened\n"})
    assert (await client.call("Read", read))["isError"] is True
    did_close(client, path)
    did_close(client, path)
    assert "disk" in (await client.call("Read", read))["data"]["output"]
    did_open(client, path, "one\n", 5)
    did_change(client, path, 4, {"text": "backwards\n"})
    assert (await client.call("Read", read))["isError"] is True
    did_open(client, path, "two\n", 1)
    assert "two" in (await client.call("Read", read))["data"]["output"]
    did_change(client, path, 2, {"text": None})
    assert (await client.call("Read", read))["isError"] is True
    did_open(client, path, "three\n", 3)
    did_change(client, path, 4, {"range": {**ALL_OF_IT, "end": {"line": 900, "character": 0}}, "text": ""})
    assert (await client.call("Read", read))["isError"] is True
    did_close(client, path)
    assert "disk" in (await client.call("Read", read))["data"]["output"]


@pytest.mark.contract("B3")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_positions_and_texts_at_the_edge_of_reason_leave_the_server_alive(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("disk\n")
    everywhere = [0, 1, -1, 10**30, 2**31 - 1]
    async with RawClient.start() as client:
        await client.initialize(tmp_path, capabilities={"general": {"positionEncodings": [encoding]}})
        for text in ("", "a\ud800b\n", "\udc00", "\x00\r\r\n", "😋" * 10):
            for number in everywhere:
                did_open(client, path, text, number)
                span = {"start": {"line": 0, "character": number}, "end": {"line": 0, "character": number}}
                did_change(client, path, number, {"range": span, "text": "\udfff"})
                span = {"start": {"line": number, "character": 0}, "end": {"line": 0, "character": 0}}
                did_change(client, path, number, {"range": span, "text": "x"})
                answer = await client.call("Read", {"filePath": "a.txt"})
                assert "data" in answer or "error" in answer
        did_close(client, path)
        assert "disk" in (await client.call("Read", {"filePath": "a.txt"}))["data"]["output"]


@pytest.mark.contract("E6")
async def test_each_of_many_calls_between_changes_sees_its_own_version(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("0\n")
    async with RawClient.start(TOOLS) as client:
        await client.initialize(tmp_path)
        did_open(client, path, "0\n", 0)
        asked: dict[int, int] = {}
        for version in range(1, 200):
            did_change(client, path, version, {"range": ALL_OF_IT, "text": f"{version}\n"})
            asked[version] = client.ask("openbuffer/callTool", {"name": "text", "arguments": {"path": str(path)}})
        for version, request_id in asked.items():
            data = (await client.answer(request_id))["result"]["data"]
            assert data == {"version": version, "text": f"{version}\n"}


@pytest.mark.contract("E2", "B3")
async def test_a_client_without_apply_edit_can_read_but_not_change_an_open_document(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("disk\n")
    async with RawClient.start() as client:
        await client.initialize(tmp_path, capabilities={})
        did_open(client, path, "disk\n")
        await client.call("Read", {"filePath": "a.txt"})
        did_change(client, path, 2, {"text": "buffer\n"})
        assert "buffer" in (await client.call("Read", {"filePath": "a.txt"}))["data"]["output"]
        edited = await client.call("Edit", {"filePath": "a.txt", "oldString": "buffer", "newString": "x"})
        assert edited["data"]["success"] is False
        assert "workspace/applyEdit" in edited["data"]["error"]
        assert path.read_text() == "disk\n"


@pytest.mark.contract("B3")
async def test_an_unknown_value_in_the_capabilities_does_not_spoil_initialize(tmp_path: Path) -> None:
    odd = {
        "general": {"positionEncodings": ["utf-64", "utf-8"], "markdown": 5},
        "workspace": {"applyEdit": True, "symbol": {"symbolKind": {"valueSet": [99_999, "x"]}}, "workspaceEdit": []},
        "textDocument": {"completion": {"completionItem": {"tagSupport": {"valueSet": [77]}}}, "codeAction": 5},
        "window": None, "experimental": {"class": 1}, "newer": {"unknown": True},
    }  # fmt: skip
    async with RawClient.start() as client:
        result = await client.initialize(tmp_path, capabilities=odd, trace="louder", clientInfo=5, locale=None)
        assert result["capabilities"]["positionEncoding"] == "utf-8"
        assert len((await client.request("openbuffer/listTools"))["result"]["tools"]) >= 3


@pytest.mark.contract("E6", "B3")
@pytest.mark.parametrize("lost", ["too long", "no JSON", "too many values"])
async def test_a_change_that_cannot_be_taken_in_leaves_no_stale_text_behind(
    client: RawClient, tmp_path: Path, lost: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("disk\n")
    did_open(client, path, "buffer\n")
    changes = {
        "too long": '[{"text":"' + "x" * (130 * 1024 * 1024) + '"}]',
        "no JSON": '[{"text":"\n"}]',
        "too many values": "[" + "{}," * 4_000_000 + "{}]",
    }[lost]
    params = f'{{"textDocument":{{"uri":"{path.as_uri()}","version":2}},"contentChanges":{changes}}}'
    body = f'{{"jsonrpc":"2.0","method":"textDocument/didChange","params":{params}}}'.encode()
    client.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body))
    client.send_bytes(body)
    answer = await client.call("Read", {"filePath": str(path)})
    assert "its text is not known reliably: a message about it could not be understood" in answer["data"]["error"]
    did_open(client, path, "again\n", 3)
    assert "1\tagain" in (await client.call("Read", {"filePath": str(path)}))["data"]["output"]
    did_close(client, path)


@pytest.mark.contract("B3", "E6")
async def test_a_huge_document_is_typed_into_read_and_edited_while_the_server_goes_on(
    client: RawClient, tmp_path: Path
) -> None:
    path = tmp_path / "huge.txt"
    text = "a line of some length, as logs have them\n" * 500_000
    path.write_text(text)
    did_open(client, path, text)
    for number in range(50):
        at = {"line": 10_000 * number, "character": 0}
        did_change(client, path, 2 + number, {"range": {"start": at, "end": at}, "text": f"typed {number}\n"})
    assert await client.alive()
    shown = await client.call("Read", {"filePath": str(path), "offset": 490_000, "limit": 3})
    assert "490001\ttyped 49" in shown["data"]["output"]
    call = client.ask(
        "openbuffer/callTool",
        {"name": "Edit", "arguments": {"filePath": str(path), "oldString": "typed 7\n", "newString": "edited\n"}},
    )
    asked = await client.expect(lambda m: m.get("method") == "workspace/applyEdit" and "huge.txt" in str(m))
    (change,) = asked["params"]["edit"]["documentChanges"]
    assert change["textDocument"]["version"] == 51
    (edit,) = change["edits"]
    assert len(edit["newText"]) < 100, "no more than what differs goes over the wire"
    did_change(client, path, 52, {"range": edit["range"], "text": edit["newText"]})
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": True}})
    assert (await client.answer(call))["result"]["isError"] is False
    shown = await client.call("Read", {"filePath": str(path), "offset": 70_000, "limit": 3})
    assert "70001\tedited" in shown["data"]["output"]
    did_close(client, path)
