"""Dialogs of a client: one answer each, whatever the client and its user do, and nobody is held up meanwhile."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from openbuffer.bridge.approvals import LspApprovals
from openbuffer.bridge.asks import LspQuestions
from openbuffer.bridge.call_turn import CallTurn
from openbuffer.editor_access.errors import EditorLostError
from openbuffer.tools.contract import Capability, FileTarget
from openbuffer.tools.ports import Answer, ApprovalAnswer, ApprovalRequest, Question
from pygls.exceptions import JsonRpcException

from .dialog_desk import NEVER, Desk, chosen, unknown_method

ALL_TITLES = ["Deny", "Allow once", "Allow for this session", "Always allow"]
COLOUR = Question(text="Which colour?", options={"red": "", "blue": "like the sky"}, header="Paint")


def request(rules: tuple[str, ...] = ("Edit(/ws/a.txt)",)) -> ApprovalRequest:
    target = FileTarget(path="/ws/a.txt", access=Capability.FILE_WRITE)
    return ApprovalRequest(
        call_id="c1", tool="Edit", capabilities=frozenset(), reason="why", targets=(target,), rules=rules
    )


async def approve(desk: Desk, made: ApprovalRequest | None = None) -> ApprovalAnswer:
    async with desk.turn:
        return await LspApprovals(desk.dialogs, desk.turn).approve(made or request())


async def ask(desk: Desk, question: Question = COLOUR) -> Answer:
    async with desk.turn:
        return await LspQuestions(desk.dialogs, desk.turn).ask(question)


# --- by buttons ------------------------------------------------------------------------------------------------


@pytest.mark.contract("X4", "B2")
@pytest.mark.parametrize(
    ("title", "outcome"),
    [("Deny", "no"), ("Allow once", "once"), ("Allow for this session", "session"), ("Always allow", "always")],
)
async def test_the_chosen_button_is_the_answer(title: str, outcome: Any) -> None:
    desk = Desk(chosen(title))
    assert await approve(desk) == ApprovalAnswer(outcome=outcome)
    ((method, params),) = desk.client.asked
    assert method == "window/showMessageRequest"
    assert (params["type"], [action["title"] for action in params["actions"]]) == (2, ALL_TITLES)
    assert "Edit(/ws/a.txt)" in params["message"]


@pytest.mark.contract("X4")
async def test_without_a_rule_there_is_no_button_for_one_and_its_title_is_no_answer() -> None:
    desk = Desk(chosen("Always allow"))
    answer = await approve(desk, request(rules=()))
    assert [action["title"] for action in desk.client.asked[0][1]["actions"]] == ["Deny", "Allow once"]
    assert answer.outcome == "unavailable"


NO_ANSWERS: list[tuple[Any, str, str]] = [
    (None, "dismissed", ""),
    ("Allow once", "unavailable", "something that was not among the choices"),
    (True, "unavailable", "not among the choices"),
    ({}, "unavailable", "not among the choices"),
    ({"title": ["Allow once"]}, "unavailable", "not among the choices"),
    ({"title": "allow once"}, "unavailable", "not among the choices"),
    ([chosen("Allow once")], "unavailable", "not among the choices"),
    (unknown_method(), "unavailable", "does not answer window/showMessageRequest"),
    (JsonRpcException("boom\x1b[2J", -32603), "unavailable", r"with an error: boom\x1b[2J"),
    (EditorLostError("the connection to the client was lost"), "unavailable", "connection to the client was lost"),
    (NEVER, "timeout", "there was no answer for 0.02 seconds"),
]


@pytest.mark.contract("X4", "W3")
@pytest.mark.parametrize(("answer", "outcome", "reason"), NO_ANSWERS)
async def test_what_is_no_answer_allows_nothing_and_says_what_it_is(answer: Any, outcome: str, reason: str) -> None:
    approved = await approve(Desk(answer, timeout_s=0.02))
    answered = await ask(Desk(answer, timeout_s=0.02))
    assert not approved.is_yes
    assert (approved.outcome, answered.outcome) == (outcome, outcome)
    assert answered.values == ()
    assert reason in approved.reason
    assert reason in answered.reason


@pytest.mark.contract("W3", "B2")
async def test_a_question_is_put_with_its_options_as_buttons() -> None:
    desk = Desk(chosen("blue"))
    assert await ask(desk) == Answer(outcome="answered", values=("blue",))
    ((_, params),) = desk.client.asked
    assert params == {
        "type": 3,
        "message": "The agent asks: Paint: Which colour?\n  blue: like the sky",
        "actions": [{"title": "red"}, {"title": "blue"}],
    }


@pytest.mark.contract("W3")
async def test_options_that_cannot_be_told_apart_as_buttons_are_and_come_back_as_they_were() -> None:
    long = ["x" * 100 + end for end in ("a", "b")]
    labels = ["a\u200b", r"a\u200b", *long]
    for number, label in enumerate(labels):
        probe = Desk(NEVER, timeout_s=0.01)
        question = Question(text="?", options=dict.fromkeys(labels, ""))
        await ask(probe, question)
        titles = [action["title"] for action in probe.client.asked[0][1]["actions"]]
        assert len(set(titles)) == len(labels)
        assert max(map(len, titles)) <= 64
        assert (await ask(Desk(chosen(titles[number])), question)).values == (label,)


@pytest.mark.contract("W3")
@pytest.mark.parametrize(
    ("question", "why"),
    [
        (Question(text="?", options={"a": ""}, multi_select=True), "several answers"),
        (Question(text="?", options={"a": ""}, free_text=True), "take a text"),
        (Question(text="?", options={}), "without options"),
        (Question(text="?", options={str(n): "" for n in range(50)}), "more than 20 options"),
    ],
)
async def test_what_buttons_cannot_put_is_unavailable_and_nothing_is_shown(question: Question, why: str) -> None:
    desk = Desk()
    answer = await ask(desk, question)
    assert answer.outcome == "unavailable"
    assert why in answer.reason
    assert desk.client.asked == []


# --- the richer requests ---------------------------------------------------------------------------------------


@pytest.mark.contract("X4", "B2")
async def test_a_client_that_can_gets_the_whole_plan_and_may_give_a_reason() -> None:
    desk = Desk({"outcome": "no", "reason": "use b.txt"}, rich=True)
    assert await approve(desk) == ApprovalAnswer(outcome="no", reason="use b.txt")
    ((method, params),) = desk.client.asked
    assert method == "openbuffer/requestPermission"
    assert params["dialogId"]
    assert params["targets"][0]["path"] == "/ws/a.txt"


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [({"outcome": "yes"}, "unavailable"), (None, "unavailable"), (unknown_method(), "unavailable"),
     ({"outcome": "dismissed"}, "dismissed"), (NEVER, "timeout")],
)  # fmt: skip
async def test_of_the_richer_request_too_only_an_answer_allows(answer: Any, outcome: str) -> None:
    desk = Desk(answer, rich=True, timeout_s=0.02)
    assert (await approve(desk)).outcome == outcome


MANY = Question(text="Which?", options={"a": "first", "b": ""}, multi_select=True, free_text=True, header="H")


@pytest.mark.contract("W3", "B2")
async def test_a_client_that_can_gets_the_whole_question() -> None:
    desk = Desk({"outcome": "answered", "values": ["b", "a", "own words"]}, rich=True)
    assert await ask(desk, MANY) == Answer(outcome="answered", values=("b", "a", "own words"))
    ((method, params),) = desk.client.asked
    assert method == "openbuffer/askUser"
    assert params.pop("dialogId")  # type: ignore[attr-defined]  it is a dict
    assert params == {
        "header": "H",
        "text": "Which?",
        "options": [{"label": "a", "description": "first"}, {"label": "b"}],
        "multiSelect": True,
        "freeText": True,
    }


ONE = Question(text="?", options={"a": "", "b": ""})


@pytest.mark.contract("W3")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"outcome": "answered", "values": ["a"]}, Answer(outcome="answered", values=("a",))),
        ({"outcome": "answered", "values": ["c", "d"]}, Answer(outcome="answered", values=("c", "d"))),
        ({"outcome": "dismissed", "values": ["a"]}, Answer(outcome="dismissed")),
        ({"outcome": "answered", "values": [5]}, "a value that is no text"),
        ({"outcome": "answered"}, "none that it can give"),
        ({"outcome": "answered", "values": "a"}, "none that it can give"),
        ({"outcome": ["dismissed"]}, "none that it can give"),
        ({"outcome": "timeout"}, "none that it can give"),
        (None, "none that it can give"),
        ("a", "none that it can give"),
    ],
)
async def test_what_is_no_answer_of_the_richer_request_carries_no_values(answer: Any, expected: Answer | str) -> None:
    answered = await ask(Desk(answer, rich=True), ONE)
    if isinstance(expected, Answer):
        assert answered == expected
    else:
        assert (answered.outcome, answered.values) == ("unavailable", ())
        assert expected in answered.reason


# --- waiting ---------------------------------------------------------------------------------------------------


@pytest.mark.contract("T6", "B2")
@pytest.mark.parametrize("rich", [False, True])
async def test_who_is_cancelled_withdraws_the_dialog(rich: bool) -> None:
    desk = Desk(rich=rich)
    async with anyio.create_task_group() as group:
        group.start_soon(approve, desk)
        await desk.client.came.wait()
        group.cancel_scope.cancel()
    assert desk.client.withdrawn == 1
    told = [("openbuffer/withdrawDialog", {"dialogId": desk.client.asked[0][1].get("dialogId")})]
    assert desk.client.told == (told if rich else [])
    assert desk.turns.value == 1


@pytest.mark.contract("B2")
async def test_what_times_out_withdraws_the_dialog_too() -> None:
    desk = Desk(rich=True, timeout_s=0.01)
    assert (await ask(desk, MANY)).outcome == "timeout"
    assert desk.client.withdrawn == 1
    assert [method for method, _ in desk.client.told] == ["openbuffer/withdrawDialog"]


@pytest.mark.contract("B2", "X4")
async def test_plain_dialogs_come_one_at_a_time_and_the_richer_ones_together() -> None:
    for rich in (False, True):
        closed = [anyio.Event() for _ in range(5)]
        desk = Desk(*closed, rich=rich)
        async with anyio.create_task_group() as group:
            for _ in closed:
                group.start_soon(LspApprovals(desk.dialogs, CallTurn(anyio.Semaphore(1))).approve, request())
            await desk.client.came.wait()
            await anyio.wait_all_tasks_blocked()
            assert desk.client.open == (5 if rich else 1)
            for event in closed:
                event.set()
        assert len(desk.client.asked) == 5
        assert desk.client.most_open == (5 if rich else 1)


@pytest.mark.contract("B2", "T6")
async def test_the_next_dialog_comes_when_the_open_one_is_withdrawn_and_one_that_waits_can_be_cancelled() -> None:
    desk = Desk(NEVER, chosen("blue"))
    answers: list[Answer] = []

    async def one(scope: anyio.CancelScope) -> None:
        with scope:
            answers.append(await LspQuestions(desk.dialogs, CallTurn(anyio.Semaphore(1))).ask(COLOUR))

    scopes = [anyio.CancelScope() for _ in range(3)]
    async with anyio.create_task_group() as group:
        for scope in scopes:
            group.start_soon(one, scope)
        await desk.client.came.wait()
        await anyio.wait_all_tasks_blocked()
        scopes[1].cancel()
        await anyio.wait_all_tasks_blocked()
        assert len(desk.client.asked) == 1, "one that has waited in vain is never shown"
        scopes[0].cancel()
    assert answers == [Answer(outcome="answered", values=("blue",))]
    assert len(desk.client.asked) == 2


@pytest.mark.contract("B2", "T6")
async def test_calls_that_are_cancelled_one_after_the_other_open_no_dialog_on_their_way_out() -> None:
    desk = Desk(NEVER, chosen("blue"))
    answers: list[Answer] = []
    scopes = [anyio.CancelScope() for _ in range(50)]

    async def one(scope: anyio.CancelScope) -> None:
        with scope:
            answers.append(await LspQuestions(desk.dialogs, CallTurn(anyio.Semaphore(1))).ask(COLOUR))

    async with anyio.create_task_group() as group:
        for scope in scopes:
            group.start_soon(one, scope)
        await desk.client.came.wait()
        for scope in scopes[:-1]:
            scope.cancel()
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
    assert len(desk.client.asked) == 2
    assert [answer.outcome for answer in answers] == ["answered"]


@pytest.mark.contract("B2")
async def test_one_that_waits_for_others_in_vain_times_out_and_says_so() -> None:
    desk = Desk(queue_s=0.02)
    async with anyio.create_task_group() as group:
        group.start_soon(LspApprovals(desk.dialogs, CallTurn(anyio.Semaphore(1))).approve, request())
        await desk.client.came.wait()
        answer = await approve(desk)
        assert answer == ApprovalAnswer(outcome="timeout", reason="other dialogs were open for 0.02 seconds")
        assert len(desk.client.asked) == 1
        group.cancel_scope.cancel()


@pytest.mark.contract("X4", "B2")
async def test_a_call_that_waits_for_the_user_leaves_its_turn_to_others_and_takes_it_back() -> None:
    closed = anyio.Event()
    desk = Desk(closed)
    order: list[str] = []

    async def waits() -> None:
        async with desk.turn:
            await LspApprovals(desk.dialogs, desk.turn).approve(request())
            order.append("goes on")
            assert desk.turns.value == 0

    async with anyio.create_task_group() as group:
        group.start_soon(waits)
        await desk.client.came.wait()
        async with CallTurn(desk.turns):
            order.append("another call")
            closed.set()
            await anyio.wait_all_tasks_blocked()
    assert order == ["another call", "goes on"]
    assert desk.turns.value == 1


@pytest.mark.contract("B2")
async def test_a_call_that_asks_two_things_at_once_has_its_turn_back_after_the_last() -> None:
    first, second = anyio.Event(), anyio.Event()
    desk = Desk(first, second, rich=True)
    port = LspQuestions(desk.dialogs, desk.turn)
    async with desk.turn:
        async with anyio.create_task_group() as group:
            group.start_soon(port.ask, MANY)
            group.start_soon(port.ask, MANY)
            await desk.client.came.wait()
            await anyio.wait_all_tasks_blocked()
            first.set()
            await anyio.wait_all_tasks_blocked()
            assert desk.turns.value == 1
            second.set()
        assert desk.turns.value == 0
    assert desk.turns.value == 1
