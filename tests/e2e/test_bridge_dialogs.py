"""What a real server asks the user of its client, by plain LSP: one answer each, and nothing done without a yes."""

from __future__ import annotations

import json
import signal
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.tools.adapters.sqlite_log_reader import LogReader

from .raw_client import LATER, RawClient
from .test_bridge_commands import Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from .raw_client import Message

SHOW = "window/showMessageRequest"
ASKS = '[permissions]\nask = ["Edit", "Bash"]\n'
EDIT = {"filePath": "a.txt", "oldString": "one", "newString": "two"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path.resolve())
    place.config.write_text(ASKS)
    (place.root / "a.txt").write_text("one\n")
    (place.root / "b.txt").write_text("one\n")
    return place


@asynccontextmanager
async def session(place: Place, answer: Callable[[Any], Any] | None) -> AsyncIterator[RawClient]:
    """A server whose client answers dialogs by ``answer``; None: by the test's own messages."""
    async with place.server() as client:
        client.on_request[SHOW] = answer or (lambda _params: LATER)
        yield client


def choose(title: str) -> Callable[[Any], Any]:
    return lambda params: next(action for action in params["actions"] if action["title"] == title)


def dialogs(client: RawClient) -> list[Message]:
    return [message for message in client.received if message.get("method") == SHOW]


async def dialog(client: RawClient, number: int = 0) -> Message:
    """The dialog of this number, once it is there."""
    await client.expect(lambda _message: len(dialogs(client)) > number)
    return dialogs(client)[number]


def reply(client: RawClient, asked: Message, result: Any) -> None:
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})


def begin(client: RawClient, **arguments: str) -> int:
    return client.ask("openbuffer/callTool", {"name": "Edit", "arguments": {**EDIT, **arguments}})


def steps(place: Place) -> list[str]:
    """What the log tells of the session's first call, event by event."""
    with closing(LogReader(str(place.state / "log"))) as reader:
        (call,) = reader.call("1")
    return [type(event.event).__name__ for event in call.events]


@pytest.mark.contract("X4", "B2")
async def test_a_yes_does_what_was_shown_and_is_asked_for_again(place: Place) -> None:
    async with session(place, choose("Allow once")) as client:
        assert (await client.call("Edit", EDIT))["isError"] is False
        assert (place.root / "a.txt").read_text() == "two\n"
        assert (await client.call("Edit", {**EDIT, "filePath": "b.txt"}))["isError"] is False
        shown = [each["params"] for each in dialogs(client)]
    assert len(shown) == 2
    lines = shown[0]["message"].splitlines()
    path = place.root / "a.txt"
    assert lines[0] == f"openbuffer needs your permission: Edit wants to change {path} in 1 place (-1 +1 lines)"
    assert lines[-3:] == ["At line 1:", "- one", "+ two"]
    assert [action["title"] for action in shown[0]["actions"]][:2] == ["Deny", "Allow once"]


@pytest.mark.contract("X4", "B2")
@pytest.mark.parametrize(("title", "lasts"), [("Allow for this session", False), ("Always allow", True)])
async def test_a_yes_for_longer_is_not_asked_for_again_as_long_as_it_lasts(
    place: Place, title: str, lasts: bool
) -> None:
    place.config.write_text('[permissions]\ndefault = { FILE_WRITE = "ask" }\n')  # which a rule that allows outranks
    async with session(place, choose(title)) as client:
        assert (await client.call("Edit", EDIT))["isError"] is False
        assert (await client.call("Edit", {**EDIT, "oldString": "two", "newString": "one"}))["isError"] is False
        (shown,) = dialogs(client)
        assert "allows from then on: Edit(" in shown["params"]["message"]
    async with session(place, choose("Deny")) as client:
        answer = await client.call("Edit", EDIT)
        assert answer["isError"] is not lasts
        assert bool(dialogs(client)) is not lasts


NO_YES: list[tuple[Callable[[Any], Any], str, str]] = [
    (choose("Deny"), "no", "the user did not approve"),
    (lambda _: None, "dismissed", "closed the question"),
    (lambda _: "Allow once", "unavailable", "not among the choices"),
    (lambda _: {"title": "Allow everything"}, "unavailable", "not among the choices"),
    (lambda _: 1 / 0, "unavailable", "with an error: division by zero"),
]


@pytest.mark.contract("X4", "B2")
async def test_without_a_yes_nothing_is_done_and_the_reason_is_told(place: Place) -> None:
    async with session(place, None) as client:
        for answer, reason, says in NO_YES:
            client.on_request[SHOW] = answer
            refused = await client.call("Edit", EDIT)
            assert refused["error"]["type"] == "PermissionDeniedError"
            assert refused["error"]["reason"] == reason
            assert says in refused["error"]["message"]
            assert (place.root / "a.txt").read_text() == "one\n"
        assert (await client.call("Read", {"filePath": "a.txt"}))["isError"] is False
    assert steps(place) == ["ApprovalAsked", "ApprovalAnswered", "ToolRejected"]


@pytest.mark.contract("T6", "B2", "X4")
@pytest.mark.parametrize("way", ["request id", "token"])
async def test_a_cancelled_call_withdraws_its_dialog_and_a_late_yes_is_harmless(place: Place, way: str) -> None:
    async with session(place, None) as client:
        params = {"name": "Edit", "arguments": EDIT, "workDoneToken": "bar"}
        call = client.ask("openbuffer/callTool", params)
        asked = await dialog(client)
        if way == "token":
            client.notify("window/workDoneProgress/cancel", {"token": "bar"})
        else:
            client.notify("$/cancelRequest", {"id": call})
        assert (await client.answer(call))["error"]["code"] == -32800
        await client.expect(lambda m: m.get("method") == "$/cancelRequest" and m["params"]["id"] == asked["id"])
        reply(client, asked, {"title": "Allow once"})
        reply(client, asked, {"title": "Always allow"})
        assert await client.alive()
        assert (place.root / "a.txt").read_text() == "one\n"
        assert len(client.answers(call)) == 1
    assert steps(place) == ["ApprovalAsked", "ApprovalAnswered", "ToolRejected"]


@pytest.mark.contract("B2", "X4")
async def test_dialogs_come_one_at_a_time_in_order_and_hold_no_other_call_up(place: Place) -> None:
    async with session(place, None) as client:
        calls = [begin(client)]
        first = await dialog(client)
        calls.append(begin(client, filePath="b.txt"))
        # More calls than can run at the same time wait for the user, and others run all the same.
        many = [begin(client, filePath="b.txt") for _ in range(80)]
        for _ in range(3):
            assert (await client.call("Read", {"filePath": "a.txt"}))["isError"] is False
        assert len(dialogs(client)) == 1
        for call in many:
            client.notify("$/cancelRequest", {"id": call})
        for call in many:
            assert (await client.answer(call))["error"]["code"] == -32800
        reply(client, first, {"title": "Deny"})
        assert (await client.answer(calls[0]))["result"]["error"]["reason"] == "no"
        second = await dialog(client, 1)
        assert "b.txt" in second["params"]["message"]
        reply(client, second, {"title": "Allow once"})
        assert (await client.answer(calls[1]))["result"]["isError"] is False
        assert ((place.root / "a.txt").read_text(), (place.root / "b.txt").read_text()) == ("one\n", "two\n")
        assert len(dialogs(client)) == 2


@pytest.mark.contract("B3", "X4")
@pytest.mark.parametrize("way", ["shutdown", "end of input"])
async def test_a_session_that_ends_while_somebody_is_asked_has_done_nothing(place: Place, way: str) -> None:
    async with RawClient.start(cwd=place.root, env=place.variables) as client:
        await client.initialize(place.root)
        client.on_request[SHOW] = lambda _params: LATER
        call = begin(client)
        await dialog(client)
        if way == "shutdown":
            assert await client.leave() == 0
            assert [each["error"]["code"] for each in client.answers(call)] == [-32800]
        else:
            client.close_stdin()
            assert await client.exit_code() == 1
    assert (place.root / "a.txt").read_text() == "one\n"
    assert steps(place) == ["ApprovalAsked", "ApprovalAnswered", "ToolRejected"]


@pytest.mark.contract("B2", "B3")
@pytest.mark.parametrize("method", [SHOW, "openbuffer/requestPermission"])
async def test_a_server_that_is_ended_by_a_signal_withdraws_the_dialog_that_is_open(place: Place, method: str) -> None:
    rich = {"protocolVersion": 1, "requestPermission": method != SHOW, "withdrawDialog": True}
    async with RawClient.start(cwd=place.root, env=place.variables) as client:
        await client.initialize(place.root, capabilities={"experimental": {"openbuffer": rich}})
        client.on_request[method] = lambda _params: LATER
        call = begin(client)
        asked = await client.expect(lambda m: m.get("method") == method)
        client.process.send_signal(signal.SIGTERM)
        assert await client.exit_code() == 143
        await client.drained()
    after = [m for m in client.received[client.received.index(asked) + 1 :] if m.get("method") != "window/logMessage"]
    dialog_id = asked["params"].get("dialogId")
    closed = [{"method": "openbuffer/withdrawDialog", "params": {"dialogId": dialog_id}}] if dialog_id else []
    assert [{name: m[name] for name in ("method", "params")} for m in after[:-1]] == [
        {"method": "$/cancelRequest", "params": {"id": asked["id"]}},
        *closed,
    ]
    assert (after[-1]["id"], after[-1]["error"]["code"]) == (call, -32800)


@pytest.mark.contract("X4", "B2")
async def test_a_command_is_shown_with_all_that_it_hides(place: Place) -> None:
    line = "true \u202e\n" + " " * 300 + "; touch made"
    async with session(place, choose("Deny")) as client:
        refused = await client.call("Bash", {"command": line})
        assert refused["error"]["reason"] == "no"
        message = dialogs(client)[0]["params"]["message"]
    assert f"Bash wants to run a command in {place.root}" in message
    assert message.endswith("$ true \\u202e \u23ce\n> …(300 blanks)…; touch made")
    assert not (place.root / "made").exists()


@pytest.mark.contract("X4", "E2")
async def test_what_the_user_types_while_they_are_asked_survives_the_yes(place: Place) -> None:
    path = place.root / "a.txt"
    async with session(place, None) as client:
        document = {"uri": path.as_uri(), "version": 1}
        client.notify("textDocument/didOpen", {"textDocument": {**document, "languageId": "text", "text": "one\n"}})
        call = begin(client)
        asked = await dialog(client)
        typed = {"textDocument": {**document, "version": 2}, "contentChanges": [{"text": "one\ntyped\n"}]}
        client.notify("textDocument/didChange", typed)
        reply(client, asked, {"title": "Allow once"})
        edit = await client.expect(lambda m: m.get("method") == "workspace/applyEdit")
        (made,) = edit["params"]["edit"]["documentChanges"][0]["edits"]
        assert edit["params"]["edit"]["documentChanges"][0]["textDocument"]["version"] == 2
        change = {"range": made["range"], "text": made["newText"]}
        client.notify(
            "textDocument/didChange", {"textDocument": {**document, "version": 3}, "contentChanges": [change]}
        )
        reply(client, edit, {"applied": True})
        assert (await client.answer(call))["result"]["isError"] is False
        assert "two\n     2\ttyped" in (await client.call("Read", {"filePath": "a.txt"}))["data"]["output"]
        assert len(dialogs(client)) == 1


# --- questions -------------------------------------------------------------------------------------------------

COLOUR = {"question": "Which colour?", "options": ["red", {"label": "blue", "description": "like the sky"}]}


async def asked_tool(client: RawClient, *questions: object) -> dict[str, Any]:
    return (await client.call("AskUserQuestion", {"questions": list(questions)}))["data"]


@pytest.mark.contract("W3", "B2")
async def test_a_question_is_a_request_with_its_options_as_actions_and_no_other_answer_is_a_success(
    place: Place,
) -> None:
    async with session(place, choose("blue")) as client:
        data = await asked_tool(client, COLOUR)
        (shown,) = dialogs(client)
        assert data["success"] is True
        assert outcomes(data) == ["answered"]
        assert json.loads(data["output"].splitlines()[1])["answers"] == ["blue"]
        assert shown["params"]["type"] == 3
        assert shown["params"]["message"] == "The agent asks: Which colour?\n  blue: like the sky"
        assert [action["title"] for action in shown["params"]["actions"]] == ["red", "blue"]
        for number, (answer, outcome) in enumerate([(None, "dismissed"), (5, "unavailable")], start=2):
            client.on_request[SHOW] = lambda _, given=answer: given
            data = await asked_tool(client, COLOUR, {**COLOUR, "question": "And the other?"})
            assert data["success"] is False
            assert outcomes(data) == [outcome, "not_asked"]
            assert len(dialogs(client)) == number
        for more in ({"multiSelect": True}, {"freeText": True}, {"options": []}):
            data = await asked_tool(client, {**COLOUR, **more})
            assert outcomes(data) == ["unavailable"]
            assert "this client shows a message with buttons and cannot" in data["output"]
        assert len(dialogs(client)) == 3


def outcomes(data: dict[str, Any]) -> list[str]:
    return [json.loads(line)["outcome"] for line in data["output"].splitlines()[1:]]


@pytest.mark.contract("W3", "T6")
async def test_a_question_that_is_cancelled_is_withdrawn(place: Place) -> None:
    async with session(place, None) as client:
        call = client.ask("openbuffer/callTool", {"name": "AskUserQuestion", "arguments": {"questions": [COLOUR]}})
        asked = await dialog(client)
        client.notify("$/cancelRequest", {"id": call})
        assert (await client.answer(call))["error"]["code"] == -32800
        await client.expect(lambda m: m.get("method") == "$/cancelRequest" and m["params"]["id"] == asked["id"])
        reply(client, asked, {"title": "red"})
        assert await client.alive()
        assert len(client.answers(call)) == 1


@pytest.mark.contract("B2")
async def test_a_call_that_waits_for_the_user_says_so_in_its_progress(place: Place) -> None:
    async with session(place, None) as client:
        client.ask("openbuffer/callTool", {"name": "Edit", "arguments": EDIT, "workDoneToken": 7})
        told = await client.expect(
            lambda m: m.get("method") == "$/progress" and m["params"]["value"]["kind"] == "report"
        )
        assert told["params"]["value"]["message"] == "waits for your permission"
