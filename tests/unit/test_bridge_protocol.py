"""Requests to the client: withdrawn when nobody waits any more, and never confused by what comes back."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from lsprotocol import types
from openbuffer.bridge.editor_client import EditorClient
from openbuffer.bridge.wire.jsonrpc import BridgeProtocol, ConnectionLostError
from openbuffer.bridge.wiring import create_protocol
from openbuffer.editor_access.errors import EditorLostError
from pygls.exceptions import JsonRpcException

PARAMS = types.ApplyWorkspaceEditParams(types.WorkspaceEdit(document_changes=[]), label="Edit")


class Client:
    """The other side: keeps what was sent, answers what it is told to."""

    def __init__(self, protocol: BridgeProtocol) -> None:
        self._protocol = protocol
        self.sent: list[dict[str, Any]] = []
        protocol.set_writer(self)

    def write(self, data: bytes) -> None:
        self.sent.append(json.loads(data.partition(b"\r\n\r\n")[2]))

    def close(self) -> None:
        """Nothing to close."""

    def answer(self, **fields: Any) -> None:
        self._protocol.handle_message({"jsonrpc": "2.0", "id": self.sent[-1]["id"], **fields})


@pytest.fixture
def protocol() -> BridgeProtocol:
    return create_protocol()


@pytest.fixture
def client(protocol: BridgeProtocol) -> Client:
    return Client(protocol)


async def answered(protocol: BridgeProtocol, client: Client, **fields: Any) -> Any:
    """The outcome of one applyEdit that is answered so."""
    outcome: list[Any] = []

    async def ask() -> None:
        try:
            outcome.append(await EditorClient(protocol, applies_edits=True).apply_edit(PARAMS))
        except Exception as error:  # noqa: BLE001  whatever it is, it is the outcome
            outcome.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        client.answer(**fields)
    return outcome[0]


async def test_a_result_comes_back_typed(protocol: BridgeProtocol, client: Client) -> None:
    result = await answered(protocol, client, result={"applied": False, "failureReason": "no"})
    assert result == types.ApplyWorkspaceEditResult(applied=False, failure_reason="no")
    assert client.sent[0]["method"] == "workspace/applyEdit"
    assert client.sent[0]["params"] == {"edit": {"documentChanges": []}, "label": "Edit"}


@pytest.mark.contract("B3")
@pytest.mark.parametrize("error", ["no", {}, {"code": "x", "message": 5}, {"code": -32603, "message": "no"}])
async def test_an_error_of_any_shape_is_an_error(protocol: BridgeProtocol, client: Client, error: Any) -> None:
    assert isinstance(await answered(protocol, client, error=error), JsonRpcException)


@pytest.mark.contract("B3", "E7")
@pytest.mark.parametrize(
    "fields",
    [
        *({"result": None}, {"result": []}, {"result": "yes"}, {"result": {}}, {}, {"error": None}),
        *({"result": {"applied": applied}} for applied in (None, "false", "true", 0, 1, float("nan"), [], {})),
    ],
    ids=str,
)
async def test_what_is_neither_result_nor_error_says_nothing(
    protocol: BridgeProtocol, client: Client, fields: Any
) -> None:
    assert await answered(protocol, client, **fields) is None


@pytest.mark.contract("B3", "E7")
@pytest.mark.parametrize(
    "more", [{"failureReason": {"a": [1]}}, {"failedChange": "x"}, {"failureReason": None}], ids=str
)
async def test_a_plain_answer_counts_whatever_stands_beside_it(
    protocol: BridgeProtocol, client: Client, more: dict[str, Any]
) -> None:
    result = await answered(protocol, client, result={"applied": False, **more})
    assert result == types.ApplyWorkspaceEditResult(applied=False)


@pytest.mark.contract("B2")
async def test_a_request_that_nobody_waits_for_is_withdrawn_and_its_late_answer_ignored(
    protocol: BridgeProtocol, client: Client
) -> None:
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(protocol.send_request_async, types.WORKSPACE_APPLY_EDIT, PARAMS)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    request, withdrawal = client.sent
    assert withdrawal == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request["id"]}}
    for _ in range(2):
        protocol.handle_message({"jsonrpc": "2.0", "id": request["id"], "result": {"applied": True}})
    protocol.handle_message({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32800, "message": "cancelled"}})
    assert len(client.sent) == 2


@pytest.mark.contract("E2")
async def test_when_the_connection_is_lost_whoever_waits_is_told(protocol: BridgeProtocol, client: Client) -> None:
    async def lose_it() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(EditorClient(protocol, applies_edits=True).apply_edit, PARAMS)
            await anyio.wait_all_tasks_blocked()
            protocol.connection_lost()

    with pytest.raises(ExceptionGroup) as lost:
        await lose_it()
    assert lost.group_contains(EditorLostError)
    with pytest.raises(ConnectionLostError):
        await protocol.send_request_async(types.WORKSPACE_APPLY_EDIT, PARAMS)
    request, withdrawn = client.sent
    assert (withdrawn["method"], withdrawn["params"]) == ("$/cancelRequest", {"id": request["id"]})


async def test_a_client_that_cannot_apply_edits_is_not_asked(protocol: BridgeProtocol, client: Client) -> None:
    result = await EditorClient(protocol, applies_edits=False).apply_edit(PARAMS)
    assert result is not None
    assert result.applied is False
    assert client.sent == []


@pytest.mark.contract("B3")
async def test_a_cancel_of_the_client_cannot_reach_our_own_requests(protocol: BridgeProtocol, client: Client) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(protocol.send_request_async, types.WORKSPACE_APPLY_EDIT, PARAMS)
        await anyio.wait_all_tasks_blocked()
        request_id = client.sent[0]["id"]
        protocol.handle_message({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request_id}})
        await anyio.wait_all_tasks_blocked()
        client.answer(result={"applied": True})
    assert len(client.sent) == 1


@pytest.mark.contract("B3")
async def test_what_fails_beside_the_messages_takes_no_session_down(
    protocol: BridgeProtocol, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> None:
        raise OSError("the sandbox could not be cleaned up")

    async with anyio.create_task_group() as tasks:
        protocol.run_in(tasks)
        protocol.run_beside(fails)
        await anyio.wait_all_tasks_blocked()
        protocol.handle_message({"jsonrpc": "2.0", "id": 1, "method": "no/such"})
    assert client.sent[-1]["error"]["code"] == -32002
    assert "the sandbox could not be cleaned up" in caplog.text
