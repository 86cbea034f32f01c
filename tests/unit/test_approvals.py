"""What rules ask about is put before a person with the plan; one answer comes back, and what was shown is done."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.tools import (
    CancellationToken,
    Capability,
    InvocationResult,
    PermissionDeniedError,
    Plan,
    ToolCancelledError,
    ToolContext,
    UrlTarget,
)
from openbuffer.tools import limits as limits_module
from openbuffer.tools.adapters.approvals import HeadlessApprovals, PendingApprovals
from openbuffer.tools.contract import CommandTarget, FileTarget, create_builtin_tool
from openbuffer.tools.errors import ToolCrashedError
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import ApprovalAnswered, ApprovalAsked
from openbuffer.tools.executor import DispatchingToolExecutor, SandboxedToolExecutor
from openbuffer.tools.permissions import RuleNotKeptError
from openbuffer.tools.ports import ApprovalAnswer, ApprovalRequest
from openbuffer.tools.registry import DefaultToolRegistry
from pydantic import BaseModel

from .approval_desk import EDIT, AskAbout, Desk, Person, pending

if TYPE_CHECKING:
    from pathlib import Path


class Nothing(BaseModel):
    """A tool without arguments."""


APPROVED = ["asked", "once", "intended", "succeeded"]


@pytest.mark.contract("X4", "T12")
async def test_a_plan_that_is_asked_about_is_shown_before_it_is_done_and_done_after_a_yes(tmp_path: Path) -> None:
    seen: list[str] = []

    def look(_request: ApprovalRequest) -> ApprovalAnswer:
        seen.append(desk.file.read_text())
        return ApprovalAnswer(outcome="once")

    person = Person(look)
    desk = Desk(tmp_path, AskAbout("Edit"), person)
    assert (await desk.call("Edit", EDIT)).success
    assert seen == ["one\ntwo\nthree\n"]
    assert desk.file.read_text() == "one\nTWO\nthree\n"
    (request,) = person.asked
    assert (request.tool, request.reason) == ("Edit", "by the ask rule")
    assert {t.path for t in request.targets if isinstance(t, FileTarget)} == {str(desk.file)}
    change = request.change
    assert change is not None
    assert [(h.start_line, h.before, h.after) for h in change.hunks] == [(2, "two\n", "TWO\n")]
    assert (change.hunk_count, change.removed_lines, change.added_lines, change.is_whole) == (1, 1, 1, True)
    assert desk.events() == APPROVED


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ApprovalAnswer(outcome="no", reason="use the other file"), "did not approve .*: use the other file; nothing"),
        (ApprovalAnswer(outcome="dismissed"), "closed the question .* without an answer"),
        (ApprovalAnswer(outcome="timeout"), "nobody gave one in time"),
        (ApprovalAnswer(outcome="unavailable", reason="no window"), "nobody could be asked: no window"),
    ],
    ids=lambda value: getattr(value, "outcome", ""),
)
async def test_every_other_answer_is_a_hard_error_of_its_own_and_nothing_is_done(
    tmp_path: Path, answer: ApprovalAnswer, words: str
) -> None:
    desk = Desk(tmp_path, AskAbout("Edit"), Person(lambda _: answer))
    error = await desk.refused("Edit", EDIT)
    assert error.reason == answer.outcome
    assert re.search(words, str(error))
    assert "by the ask rule" in str(error)
    assert desk.file.read_text() == "one\ntwo\nthree\n"
    assert desk.events() == ["asked", answer.outcome, "rejected PermissionDeniedError"]


@pytest.mark.contract("X4")
async def test_without_anybody_to_ask_it_is_refused_as_before(tmp_path: Path) -> None:
    desk = Desk(tmp_path, AskAbout("Edit"), None)
    error = await desk.refused("Edit", EDIT)
    assert (error.reason, desk.events()) == ("ask", ["rejected PermissionDeniedError"])


@pytest.mark.contract("X4")
async def test_a_client_that_fails_while_it_asks_could_not_ask(tmp_path: Path) -> None:
    def fail(_request: ApprovalRequest) -> ApprovalAnswer:
        raise ConnectionError("gone")

    desk = Desk(tmp_path, AskAbout("Edit"), Person(fail))
    error = await desk.refused("Edit", EDIT)
    assert error.reason == "unavailable"
    assert "ConnectionError: gone" in str(error)


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    "junk",
    [None, True, "once", {"outcome": "once"}]
    + [ApprovalAnswer(outcome=outcome) for outcome in ("", "ONCE", "withdrawn", None, ["once"])],  # type: ignore[arg-type]  what a client's code may do
)
async def test_an_answer_that_is_none_is_no_yes(tmp_path: Path, junk: Any) -> None:
    async def answer(_request: ApprovalRequest) -> Any:
        return junk

    desk = Desk(tmp_path, AskAbout("Edit"), Person(answer))
    error = await desk.refused("Edit", EDIT)
    assert error.reason == "unavailable"
    assert desk.file.read_text() == "one\ntwo\nthree\n"
    assert desk.events() == ["asked", "unavailable", "rejected PermissionDeniedError"]


@pytest.mark.contract("X4")
async def test_what_is_said_to_a_request_is_bounded(tmp_path: Path) -> None:
    desk = Desk(tmp_path, AskAbout("Edit"), Person(lambda _: ApprovalAnswer(outcome="no", reason="x" * 1_000_000)))
    assert len(str(await desk.refused("Edit", EDIT))) < 5_000
    assert all(len(event.reason) < 5_000 for event in desk.log if isinstance(event, ApprovalAnswered))


@pytest.mark.contract("X4", "X2")
async def test_a_policy_that_fails_allows_nothing_and_the_record_has_the_end(tmp_path: Path) -> None:
    class Fails(AskAbout):
        def offered(self, _request: Any, /) -> tuple[str, ...]:
            raise RuntimeError("broken")

    desk = Desk(tmp_path, Fails("Edit"), Person("once"))
    with pytest.raises(ToolCrashedError, match="broken"):
        await desk.call("Edit", EDIT)
    assert desk.file.read_text() == "one\ntwo\nthree\n"
    assert desk.events() == ["rejected ToolCrashedError"]


@pytest.mark.contract("X4")
async def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "APPROVAL_TIMEOUT_S", 0.01)
    port = pending()
    desk = Desk(tmp_path, AskAbout("Edit"), port)
    assert (await desk.refused("Edit", EDIT)).reason == "timeout"
    assert port.requests == ()


@pytest.mark.contract("X4")
async def test_a_port_of_the_call_is_asked_instead_of_the_session_s(tmp_path: Path) -> None:
    desk = Desk(tmp_path, AskAbout("Edit"), HeadlessApprovals("never", how="nobody is here"))
    assert str(await desk.refused("Edit", EDIT)).count("nobody is here") == 1
    assert (await desk.call("Edit", EDIT, ToolContext(approvals=HeadlessApprovals("once")))).success


# --- cancelling --------------------------------------------------------------------------------------------------


@pytest.mark.contract("T6", "X4", "X2")
@pytest.mark.parametrize("way", ["scope", "token"])
async def test_cancelling_withdraws_the_request_and_there_is_one_end(tmp_path: Path, way: str) -> None:
    port = pending()
    desk = Desk(tmp_path, AskAbout("Edit"), port)
    token = CancellationToken()
    ends: list[str] = []
    asked: list[str] = []

    async def call() -> None:
        try:
            await desk.call("Edit", EDIT, ToolContext(cancellation=token))
        except ToolCancelledError:
            ends.append("token")
        except anyio.get_cancelled_exc_class():
            ends.append("scope")
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        asked.append((await port.next_request()).call_id)
        if way == "scope":
            group.cancel_scope.cancel()
        else:
            token.cancel()
    assert ends == [way]
    assert port.requests == ()
    assert not port.answer(asked[0], ApprovalAnswer(outcome="once")), "an answer that comes late is none"
    assert desk.file.read_text() == "one\ntwo\nthree\n"
    code = "Cancelled" if way == "scope" else "ToolCancelledError"
    assert desk.events() == ["asked", "withdrawn", f"rejected {code}"]


# --- while it is pending -----------------------------------------------------------------------------------------


async def approved_after(desk: Desk, port: PendingApprovals, name: str, arguments: Any, act: Any) -> Any:
    """The end of a call that is approved after something else has happened."""
    ends: list[Any] = []

    async def call() -> None:
        ends.append(await desk.call(name, arguments))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        request = await port.next_request()
        act()
        port.answer(request.call_id, ApprovalAnswer(outcome="once"))
    return ends[0]


@pytest.mark.contract("X4", "T12", "E2")
async def test_what_the_user_types_elsewhere_meanwhile_survives_and_the_shown_hunk_is_applied(
    tmp_path: Path,
) -> None:
    port = pending()
    desk = Desk(tmp_path, AskAbout("Edit"), port)
    desk.open()
    result = await approved_after(desk, port, "Edit", EDIT, lambda: desk.type("one", "zero\n"))
    assert result.success
    assert desk.text == "zero\none\nTWO\nthree\n"
    assert desk.events().count("asked") == 1


@pytest.mark.contract("X4", "T12")
async def test_an_edit_of_a_file_that_changed_elsewhere_goes_on_without_asking_again(tmp_path: Path) -> None:
    port = pending()
    desk = Desk(tmp_path, AskAbout("Edit"), port)
    result = await approved_after(
        desk, port, "Edit", EDIT, lambda: desk.file.write_text("zero\none\ntwo\nthree\nfour\n")
    )
    assert result.success
    assert desk.file.read_text() == "zero\none\nTWO\nthree\nfour\n"
    assert desk.events() == ["asked", "once", "intended", "outdated", "intended", "succeeded"]


@pytest.mark.contract("X4", "T12")
@pytest.mark.parametrize("is_open", [True, False])
async def test_hunks_that_do_not_fit_any_more_are_not_applied(tmp_path: Path, is_open: bool) -> None:
    port = pending()
    desk = Desk(tmp_path, AskAbout("Edit"), port)
    if is_open:
        desk.open()

    def change() -> None:
        if is_open:
            desk.editor.replace(str(desk.file), 4, 7, "2")
        else:
            desk.file.write_text("one\n2\nthree\n")

    result = await approved_after(desk, port, "Edit", EDIT, change)
    assert not result.success
    assert "was not found" in result.value["error"]
    assert (desk.text if is_open else desk.file.read_text()) == "one\n2\nthree\n"


@pytest.mark.contract("X4", "T12")
async def test_a_change_that_became_another_one_is_asked_about_anew(tmp_path: Path) -> None:
    """What stands beside the replaced text on its line is part of what was shown."""

    def change(_request: ApprovalRequest) -> ApprovalAnswer:
        desk.file.write_text("one\ntwo, changed\nthree\n")
        return ApprovalAnswer(outcome="once")

    person = Person(change, "no")
    desk = Desk(tmp_path, AskAbout("Edit"), person)
    assert (await desk.refused("Edit", EDIT)).reason == "no"
    assert [[h.after for h in r.change.hunks] for r in person.asked if r.change] == [["TWO\n"], ["TWO, changed\n"]]
    assert desk.file.read_text() == "one\ntwo, changed\nthree\n"
    assert desk.events() == [
        "asked", "once", "intended", "outdated", "asked", "no", "rejected PermissionDeniedError"
    ]  # fmt: skip


@pytest.mark.contract("X4", "T12")
async def test_a_write_over_what_the_user_changed_meanwhile_is_asked_about_with_what_it_takes_away(
    tmp_path: Path,
) -> None:
    def change(_request: ApprovalRequest) -> ApprovalAnswer:
        desk.file.write_text("one\ntwo\nthree\nthe user's\n")
        return ApprovalAnswer(outcome="once")

    person = Person(change, "no")
    desk = Desk(tmp_path, AskAbout("Write"), person)
    await desk.refused("Write", {"filePath": "a.txt", "content": "one\nTWO\nthree\n"})
    assert person.asked[1].change is not None
    assert "the user's" in person.asked[1].change.hunks[0].before
    assert "the user's" in desk.file.read_text()


@pytest.mark.contract("X4", "T12")
async def test_what_is_no_text_is_asked_about_anew_whenever_it_changed(tmp_path: Path) -> None:
    blob = tmp_path / "b.bin"
    blob.write_bytes(b"\0\1\2\3")

    def change(_request: ApprovalRequest) -> ApprovalAnswer:
        blob.write_bytes(b"\0\1\2\4")
        return ApprovalAnswer(outcome="once")

    desk = Desk(tmp_path, AskAbout("Delete"), Person(change, "no"))
    assert (await desk.refused("Delete", {"path": "b.bin"})).reason == "no"
    assert blob.read_bytes() == b"\0\1\2\4"


@pytest.mark.contract("X4", "E12")
async def test_other_calls_go_on_meanwhile_on_the_same_path_too(tmp_path: Path) -> None:
    port = pending()
    desk = Desk(tmp_path, AskAbout("Edit"), port)
    other = {"filePath": "a.txt", "content": "one\ntwo\nthree\nfour\n"}

    async with anyio.create_task_group() as group:
        group.start_soon(desk.call, "Edit", EDIT)
        first = await port.next_request()
        assert (await desk.call("Write", other)).success
        port.answer(first.call_id, ApprovalAnswer(outcome="once"))
    assert desk.file.read_text() == "one\nTWO\nthree\nfour\n"


@pytest.mark.contract("X4", "E12")
async def test_a_call_that_was_overtaken_lets_go_of_its_turn_while_it_is_asked_about_again(tmp_path: Path) -> None:
    port = pending()
    desk = Desk(tmp_path, AskAbout("Edit"), port)
    async with anyio.create_task_group() as group:
        group.start_soon(desk.call, "Edit", EDIT)
        request = await port.next_request()
        desk.file.write_text("one\ntwo!\nthree\n")
        port.answer(request.call_id, ApprovalAnswer(outcome="once"))
        second = await port.next_request()
        # Another call that was overtaken waits for the turn of the same path, and must get it.
        group.start_soon(desk.call, "Edit", {"filePath": "a.txt", "oldString": "three", "newString": "3"})
        while len(port.requests) < 2:  # noqa: ASYNC110  the port tells of the oldest alone
            await anyio.sleep(0.001)
        third = port.requests[1]
        desk.file.write_text("zero\none\ntwo!\nthree\n")
        port.answer(third.call_id, ApprovalAnswer(outcome="once"))
        while "3\n" not in desk.file.read_text():  # noqa: ASYNC110  a file tells nobody
            await anyio.sleep(0.001)
        assert port.requests == (second,)
        port.answer(second.call_id, ApprovalAnswer(outcome="once"))
    assert desk.file.read_text() == "zero\none\nTWO!\n3\n"


@pytest.mark.contract("X4")
async def test_a_denial_that_came_meanwhile_holds_against_the_approval(tmp_path: Path) -> None:
    policy = AskAbout("Edit")

    def deny(_request: ApprovalRequest) -> ApprovalAnswer:
        policy.denies = "Edit"
        return ApprovalAnswer(outcome="once")

    desk = Desk(tmp_path, policy, Person(deny))
    assert (await desk.refused("Edit", EDIT)).reason == "deny"
    assert policy.looks == 2


# --- what is asked about -----------------------------------------------------------------------------------------


@pytest.mark.contract("X4")
async def test_a_call_that_will_do_nothing_is_not_asked_about_unless_reading_is(tmp_path: Path) -> None:
    missing = {**EDIT, "oldString": "nowhere"}

    class AskToWrite(AskAbout):
        def decide(self, request: Any) -> Any:
            writes = any(t.access == "FILE_WRITE" for t in request.targets)
            return super().decide(request) if writes else type(super().decide(request))("allow")

    desk = Desk(tmp_path, AskToWrite("Edit"), Person())
    assert "was not found" in (await desk.call("Edit", missing)).value["error"]
    asked = Desk(tmp_path, AskAbout("Edit"), Person("no"))
    assert (await asked.refused("Edit", missing)).reason == "no"


@pytest.mark.contract("X4", "S1")
async def test_a_command_is_shown_with_its_arguments_its_directory_and_what_would_hold_it(tmp_path: Path) -> None:
    person = Person("no")
    desk = Desk(tmp_path, AskAbout("Bash"), person)
    await desk.refused("Bash", {"command": "touch made"})
    (request,) = person.asked
    (target,) = request.targets
    assert isinstance(target, CommandTarget)
    assert (target.argv[-1], target.cwd) == ("touch made", str(desk.root))
    assert request.containment == "not confined: it can do whatever you can"
    assert not (desk.root / "made").exists()


@pytest.mark.contract("X2", "X4")
async def test_what_was_asked_and_answered_is_on_record(tmp_path: Path) -> None:
    policy = AskAbout("Edit", offers=("Edit(a.txt)",))
    desk = Desk(tmp_path, policy, Person("always"))
    await desk.call("Edit", EDIT)
    asked, answered, *_ = desk.log
    assert isinstance(asked, ApprovalAsked)
    assert asked.change is not None
    assert (asked.reason, asked.rules, asked.change.hunks[0].after) == ("by the ask rule", ("Edit(a.txt)",), "TWO\n")
    assert isinstance(answered, ApprovalAnswered)
    assert (answered.outcome, answered.rules) == ("always", ("Edit(a.txt)",))


@pytest.mark.contract("X4")
@pytest.mark.parametrize(("outcome", "learnt"), [("once", []), ("session", [False]), ("always", [True])])
async def test_the_rule_that_was_shown_is_the_one_that_is_learnt(tmp_path: Path, outcome: Any, learnt: Any) -> None:
    policy = AskAbout("Edit", offers=("Edit(a.txt)",))
    person = Person(outcome)
    desk = Desk(tmp_path, policy, person)
    assert (await desk.call("Edit", EDIT)).success
    assert person.asked[0].rules == ("Edit(a.txt)",)
    assert policy.learnt == [(("Edit(a.txt)",), always) for always in learnt]


@pytest.mark.contract("X4")
async def test_always_counts_for_once_where_no_rule_was_shown(tmp_path: Path) -> None:
    policy = AskAbout("Edit")
    assert (await Desk(tmp_path, policy, Person("always")).call("Edit", EDIT)).success
    assert policy.learnt == []


@pytest.mark.contract("X4")
async def test_a_rule_that_could_not_be_kept_is_told_and_the_call_goes_on(tmp_path: Path) -> None:
    class Full(AskAbout):
        async def allow(self, rules: Any, *, always: bool) -> None:  # noqa: ARG002  the port's signature
            raise RuleNotKeptError("the disk is full")

    desk = Desk(tmp_path, Full("Edit", offers=("Edit",)), Person("always"))
    assert (await desk.call("Edit", EDIT)).success
    assert desk.told == ["the disk is full"]


@pytest.mark.contract("X4")
async def test_what_a_call_comes_upon_while_it_acts_is_refused_where_it_would_have_to_be_asked_about() -> None:
    """Such as the target of a redirect: a yes to one URL is none to another."""
    first, other = (UrlTarget(url=f"https://{h}/", host=h, port=443) for h in ("a.org", "b.org"))

    async def prepare(_arguments: Nothing, context: ToolContext) -> Plan:
        await context.admit((first,))
        return Plan(targets=(first,))

    async def commit(_plan: Plan, context: ToolContext) -> InvocationResult:
        await context.admit((first,))
        await context.admit((other,))
        raise AssertionError

    tool = create_builtin_tool(
        name="Fetch",
        description="Fetches.",
        model=Nothing,
        prepare=prepare,
        commit=commit,
        capabilities=frozenset({Capability.NETWORK}),
    )
    person = Person("once")
    dispatcher = DispatchingToolExecutor(DefaultToolRegistry((tool,)))
    log = InMemoryEventLog()
    executor = SandboxedToolExecutor(dispatcher, policy=AskAbout("Fetch"), log=log, approvals=person)
    with pytest.raises(PermissionDeniedError, match=r"b\.org.* needs an approval .* call it by itself") as refused:
        await executor.call("Fetch", {})
    assert refused.value.reason == "ask"
    assert len(person.asked) == 1
