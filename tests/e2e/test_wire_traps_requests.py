"""Traps of stock pygls in requests and their answers: here on neither side of the bridge's wire, there all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from .trap_sides import BOTH, CALL, COMMAND, SIDES, Side, command, popups, to_the_end

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from .raw_client import RawClient

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module", params=SIDES, ids=lambda side: side.name)
def side(request: pytest.FixtureRequest) -> Side:
    return request.param


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(side: Side, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RawClient]:
    """One server a side, for what leaves it alive."""
    async with side.start(tmp_path_factory.getbasetemp()) as client:
        yield client


def did_open(client: RawClient, path: Path) -> None:
    item = {"uri": path.as_uri(), "languageId": "text", "version": 0, "text": "0\n"}
    client.notify("textDocument/didOpen", {"textDocument": item})


def did_change(client: RawClient, path: Path, version: int) -> None:
    document = {"uri": path.as_uri(), "version": version}
    change = {"textDocument": document, "contentChanges": [{"text": f"{version}\n"}]}
    client.notify("textDocument/didChange", change)


# --- order -----------------------------------------------------------------------------------------------------


@pytest.mark.contract("E6")
async def test_trap_4_a_call_that_waits_goes_on_with_a_newer_text_than_it_was_sent_for(
    side: Side, client: RawClient, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    did_open(client, path)
    asked = client.ask(CALL, {"name": "text", "arguments": {"path": str(path), "hold": True}})
    await client.call("echo")
    did_change(client, path, 1)
    await client.call("let_go")
    seen = (await client.answer(asked))["result"]["data"]
    side.shows(seen, bridge={"version": 0, "text": "0\n"}, stock={"version": 1, "text": "1\n"})


@pytest.mark.contract("E6")
@BOTH
async def test_trap_4_where_input_is_read_from_a_stream_calls_even_start_with_a_newer_text(
    side: Side, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    async with side.start(tmp_path, *(() if side.name == "bridge" else ("streams",))) as client:
        did_open(client, path)
        asked = []
        for version in range(1, 100):
            did_change(client, path, version)
            asked.append(client.ask(CALL, {"name": "text", "arguments": {"path": str(path), "hold": False}}))
        seen = [(await client.answer(number))["result"]["data"]["text"] for number in asked]
        on_time = sum(text == f"{version}\n" for version, text in enumerate(seen, 1))
        side.shows(on_time == 99, bridge=True, stock=False)


# --- cancelling ------------------------------------------------------------------------------------------------


@pytest.mark.contract("B2")
async def test_trap_7_a_cancelled_command_is_answered_while_its_work_goes_on(side: Side, client: RawClient) -> None:
    asked = client.ask(COMMAND, command("hold", {"tag": "trap 7"}))
    await client.call("echo")
    client.notify("$/cancelRequest", {"id": asked})
    assert (await client.answer(asked))["error"]["code"] == -32800
    told = (await client.call("told"))["data"]
    side.shows("stopped trap 7" in told, bridge=True, stock=False)


@pytest.mark.contract("B3")
@BOTH
async def test_trap_8_shutdown_fails_while_a_command_runs(side: Side, tmp_path: Path) -> None:
    async with side.start(tmp_path) as client:
        client.ask(COMMAND, command("hold"))
        await client.call("echo")
        answer = await client.request("shutdown")
        side.shows("error" in answer, bridge=False, stock=True)


# --- params ----------------------------------------------------------------------------------------------------


@pytest.mark.contract("B1")
async def test_trap_9_keys_that_are_no_python_names_are_renamed(side: Side, client: RawClient) -> None:
    given = {"class": 1, "a-b": 2, "_x": 3, "fine": 4}
    seen = (await client.call("echo", given))["data"]
    side.shows(seen, bridge=given, stock={"_0": 1, "_1": 2, "_2": 3, "fine": 4})


@pytest.mark.contract("B1")
async def test_trap_9_every_object_gets_a_class_of_its_own_which_takes_its_time(side: Side, client: RawClient) -> None:
    seen = (await client.call("kinds", {"items": [{"n": n} for n in range(500)]}))["data"]
    side.shows(seen, bridge=1, stock=500)


# --- no answer -------------------------------------------------------------------------------------------------

NO_ANSWER: dict[str, dict[str, Any]] = {
    "a custom request without params": {"method": "openbuffer/listTools"},
    "a member that JSON-RPC does not know": {"method": CALL, "params": {"name": "echo", "arguments": {}}, "trace": 1},
    "an object with a member jsonrpc inside of the params": {
        "method": CALL,
        "params": {"name": "echo", "arguments": {"jsonrpc": "2.0"}},
    },
    "malformed params of a method of LSP": {"method": COMMAND, "params": {"command": "x", "arguments": 5}},
    "a result that JSON cannot carry": {
        "method": CALL,
        "params": {"name": "not_json", "arguments": {"what": "object"}},
    },
    "a handler that raises what is no Exception": {
        "method": CALL,
        "params": {"name": "raises", "arguments": {"what": "base"}},
    },
}


@pytest.mark.contract("B3")
@BOTH
async def test_trap_10_requests_that_never_get_an_answer(side: Side, tmp_path: Path) -> None:
    async with side.start(tmp_path) as client:
        for name, message in NO_ANSWER.items():
            client.send({"jsonrpc": "2.0", "id": name, **message})
        await to_the_end(client)
        answered = {name for name in NO_ANSWER if client.answers(name)}
        side.shows(answered, bridge=set(NO_ANSWER), stock=set())


@pytest.mark.contract("B3")
@BOTH
@pytest.mark.parametrize("what", ["exit", "base"])
async def test_trap_10_a_plain_handler_that_raises_what_is_no_exception_ends_the_server(
    side: Side, tmp_path: Path, what: str
) -> None:
    async with side.start(tmp_path) as client:
        client.ask(side.sync, {"name": "raises", "arguments": {"what": what}})
        after = client.ask(CALL, {"name": "echo", "arguments": {}})
        client.close_stdin()
        await client.exit_code()
        await client.drained()
        side.shows(bool(client.answers(after)), bridge=True, stock=False)


# --- errors ----------------------------------------------------------------------------------------------------


@pytest.mark.contract("B3")
async def test_trap_11_the_client_gets_tracebacks(side: Side, client: RawClient) -> None:
    answer = await client.request(CALL, {"name": "raises", "arguments": {"what": "error"}})
    assert "on purpose" in json.dumps(answer)
    side.shows("Traceback" in json.dumps(answer) or "stock_pygls.py" in json.dumps(answer), bridge=False, stock=True)


@pytest.mark.contract("B3")
async def test_trap_11_a_notification_that_does_not_fit_is_a_popup(
    side: Side, client: RawClient, tmp_path: Path
) -> None:
    before = popups(client)
    did_change(client, tmp_path / "never opened", 1)
    await client.call("echo")
    side.shows(popups(client) - before, bridge=0, stock=1)


@pytest.mark.contract("B2")
async def test_trap_11_a_command_never_sees_the_token_of_its_progress(side: Side, client: RawClient) -> None:
    await client.request(COMMAND, command("progress", {"reports": 1}, workDoneToken="trap 11"))
    reports = [m for m in client.received if m.get("method") == "$/progress" and m["params"]["token"] == "trap 11"]
    side.shows(bool(reports), bridge=True, stock=False)
