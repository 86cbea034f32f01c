"""ComputerView and Computer over the computer in memory: a person who has it, ends, and the pipeline (W6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from openbuffer.tools import (
    Capability,
    PermissionDeniedError,
    ToolArgumentError,
    create_function_tool,
)
from openbuffer.tools.adapters.artifact_memory import InMemoryArtifactStore
from openbuffer.tools.adapters.computer_memory import InMemoryComputerDriver
from openbuffer.tools.adapters.computer_memory_parts import MemoryField
from openbuffer.tools.contract import CancellationToken, InvocationResult, ToolContext
from openbuffer.tools.errors import ToolCancelledError
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import ToolFinished, ToolIntended
from openbuffer.tools.executor import DispatchingToolExecutor, SandboxedToolExecutor
from openbuffer.tools.permissions import AllowAll
from openbuffer.tools.ports import Answer, Question
from openbuffer.tools.registry import DefaultToolRegistry
from openbuffer.tools.rules.grammar import Source, parse_rule
from openbuffer.tools.rules.places import RulePlaces
from openbuffer.tools.rules.policy import RulePolicy
from openbuffer.tools.support import computer_desk
from openbuffer.tools.support.computer_handover import HAND_BACK, KEEP

from .computer_tool_desk import AREA, GOOD, Desk, OddDriver

if TYPE_CHECKING:
    from openbuffer.tools.computer import PictureBounds, Screenshot

pytestmark = pytest.mark.contract("W6")


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- a person has it -----------------------------------------------------------------------------------------------


@dataclass
class Person:
    """Answers when told to."""

    answers: list[Answer] = field(default_factory=list[Answer])
    asked: list[Question] = field(default_factory=list[Question])
    stop: bool = False

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        if self.stop:
            await anyio.sleep_forever()
        if not self.answers:
            raise OSError("the client is gone")
        return self.answers.pop(0)


def answered(*values: str) -> Answer:
    return Answer(outcome="answered", values=values)


async def test_the_user_who_is_given_the_computer_hands_it_back_by_an_answer(desk: Desk) -> None:
    person = Person([answered(HAND_BACK)])
    await desk.look()
    result = await desk.do("takeover", ToolContext(ask=person), reason="log in")
    assert result.output == "The user has handed the computer back. Coordinates need a new screenshot."
    assert person.asked[0].text == "You have the computer: log in. Hand it back when you are done."
    assert list(person.asked[0].options) == [HAND_BACK, KEEP]
    assert "the user had it meanwhile" in await desk.refused("click", x=1, y=1)


async def test_a_port_of_the_composition_root_is_asked_where_the_call_brings_none() -> None:
    root, own = Person([answered(HAND_BACK)]), Person([answered(HAND_BACK)])
    desk = Desk(ask=root)
    assert (await desk.do("takeover", ToolContext(ask=own))).success
    assert (len(root.asked), len(own.asked)) == (0, 1)
    assert (await desk.do("takeover")).success
    assert (len(root.asked), len(own.asked)) == (1, 1)


@pytest.mark.parametrize(
    "answers",
    [
        [answered(KEEP)],
        [answered()],
        [answered("something else")],
        [Answer(outcome="dismissed")],
        [Answer(outcome="timeout")],
        [Answer(outcome="unavailable")],
        [],
    ],
)
async def test_nothing_but_their_word_ends_it(desk: Desk, answers: list[Answer]) -> None:
    context = ToolContext(ask=Person([*answers]))
    for phase in ("begin", "end"):
        error = await desk.refused("takeover", context, phase=phase)
        assert "nothing is done until they hand it back" in error
        context = ToolContext(ask=Person([*answers]))
    assert "The user has the computer" in await desk.refused("type", text="a")
    assert not (await desk.look()).success
    assert "nothing was done" in await desk.refused("takeover", context)


async def test_without_anybody_to_ask_the_host_ends_it_and_the_model_cannot(desk: Desk) -> None:
    begun = await desk.do("takeover", reason="solve the captcha")
    assert begun.output == (
        "The user has the computer now (solve the captcha); nothing is done until they hand it back; the action "
        "takeover with the phase end asks for it, and tells once it is so."
    )
    assert "nobody can be asked here" in await desk.refused("takeover", phase="end")
    await desk.driver.end_takeover()
    told = await desk.do("takeover", phase="end")
    assert told.output == "The user does not have the computer; it can be used."


async def test_a_question_is_withdrawn_once_the_host_ends_it(desk: Desk) -> None:
    person = Person(stop=True)
    results: list[InvocationResult] = []

    async def hand_over() -> None:
        results.append(await desk.do("takeover", ToolContext(ask=person)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hand_over)
        while not person.asked:  # noqa: ASYNC110  what is waited for has no event
            await anyio.sleep(0.01)
        await desk.driver.end_takeover()
    assert results[0].success


@pytest.mark.contract("T6")
async def test_a_handover_that_is_cancelled_leaves_the_computer_to_the_user(desk: Desk) -> None:
    token = CancellationToken()
    person = Person(stop=True)
    async with anyio.create_task_group() as tasks:

        async def cancel() -> None:
            while not person.asked:  # noqa: ASYNC110  what is waited for has no event
                await anyio.sleep(0.01)
            token.cancel()

        tasks.start_soon(cancel)
        with pytest.raises(ToolCancelledError, match="who has the computer still"):
            await desk.do("takeover", ToolContext(ask=person, cancellation=token))
    assert desk.driver.takeover is not None


class SlowToStop(InMemoryComputerDriver):
    """Takes its time until nothing is done any more."""

    async def begin_takeover(self, reason: str) -> None:
        await super().begin_takeover(reason)
        await anyio.sleep_forever()


@pytest.mark.contract("T6")
@pytest.mark.parametrize("by_token", [True, False])
async def test_a_handover_that_is_cancelled_before_it_is_whole_says_who_has_the_computer(by_token: bool) -> None:
    desk = Desk(SlowToStop())
    context = ToolContext(cancellation=CancellationToken())
    said: list[str] = []

    async def hand_over() -> None:
        try:
            await desk.do("takeover", context)
        except (ToolCancelledError, anyio.get_cancelled_exc_class()) as error:
            said.append(str(error) + "".join(getattr(error, "__notes__", [])))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hand_over)
        while desk.driver.takeover is None:
            await anyio.lowlevel.checkpoint()
        if by_token:
            context.cancellation.cancel()
        else:
            tasks.cancel_scope.cancel()
    assert "who has the computer still" in said[0]
    assert desk.driver.takeover is not None


@pytest.mark.parametrize("action", [{"action": "click", "x": 1, "y": 1}, {"action": "scroll", "x": 1, "y": 1}])
async def test_what_waits_for_its_turn_while_a_person_has_and_gives_back_the_computer_is_not_done(
    desk: Desk, action: dict[str, Any]
) -> None:
    await desk.look()
    results: list[InvocationResult] = []

    async def wait() -> None:
        results.append(await desk.do("wait", duration=60_000))

    async def act() -> None:
        results.append(await desk.do(**action))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(act)
        await anyio.wait_all_tasks_blocked()
        await desk.driver.begin_takeover("mine")
        await desk.driver.end_takeover()
    assert [result.success for result in results] == [False, False]
    assert "the user had it meanwhile" in (results[1].error or "")


async def test_a_picture_of_the_moment_that_a_person_takes_over_is_not_handed_out() -> None:
    desk = Desk(InMemoryComputerDriver(busy_s=30))
    results: list[InvocationResult] = []

    async def look() -> None:
        results.append(await desk.look())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        await anyio.sleep(0.05)
        await desk.driver.begin_takeover("mine")
    assert (results[0].success, results[0].images) == (False, ())


async def test_a_driver_that_forgets_the_rule_is_not_asked_for_a_picture_and_its_late_one_is_dropped() -> None:
    class Forgetful(OddDriver):
        async def screenshot(self, bounds: PictureBounds) -> Screenshot:
            shot = await super().screenshot(bounds)
            await self.begin_takeover("meanwhile")
            return shot

    desk = Desk(Forgetful(lambda _bounds: GOOD))
    for _ in range(2):
        result = await desk.look()
        assert (result.success, result.images) == (False, ())
    assert len(desk.driver.asked) == 1


# --- ends ----------------------------------------------------------------------------------------------------------


@pytest.mark.contract("T6")
@pytest.mark.parametrize("by_token", [True, False])
async def test_a_cancelled_action_is_not_done_and_nothing_stays_pressed(by_token: bool) -> None:
    desk = Desk(InMemoryComputerDriver(busy_s=0))
    await desk.look()
    desk.driver.busy_s = 60
    token = CancellationToken()
    notes: list[str] = []
    async with anyio.create_task_group() as tasks:

        async def click() -> None:
            try:
                await desk.do("click", ToolContext(cancellation=token), x=1, y=1)
            except ToolCancelledError as error:
                notes.append(str(error))
            except anyio.get_cancelled_exc_class() as cancelled:
                notes.extend(cancelled.__notes__)
                raise

        tasks.start_soon(click)
        while not desk.driver.held:  # noqa: ASYNC110  what is waited for has no event
            await anyio.sleep(0.01)
        token.cancel() if by_token else tasks.cancel_scope.cancel()
    assert notes == [
        "It was cancelled and has stopped; a part of it may have been done. No key or button is held down."
    ]
    assert (desk.driver.held, desk.driver.performed) == (frozenset(), [])


async def test_a_driver_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computer_desk, "COMPUTER_DRIVER_TIMEOUT_S", 0.05)
    desk = Desk(InMemoryComputerDriver(busy_s=60))
    for result in (await desk.look(), await desk.do("type", text="a")):
        assert result.error is not None
        assert "did not answer within" in result.error
        assert "what was done is not known" in result.error


async def test_what_broke_down_is_told_and_stops_what_is_under_way(desk: Desk) -> None:
    await desk.look()
    results: list[InvocationResult] = []

    async def wait() -> None:
        results.append(await desk.do("wait", duration=60_000))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.sleep(0.05)
        desk.driver.break_down("The cable was cut.")
    assert results[0].error == "The cable was cut."
    assert await desk.refused("click", x=1, y=1) == "The cable was cut."


async def test_what_happened_by_itself_is_told_once_bounded_and_printable(desk: Desk) -> None:
    for number in range(15):
        desk.driver.happenings.tell("A dialog said: ", f"{number}\x1b[2J\n" + "x" * 500, ".")
    lines = (await desk.do("wait", duration=1)).output.split("\n")
    assert lines[:2] == ["Waited for 1 ms.", "5 more things happened before what follows."]
    assert len(lines) == 12
    assert all(line.isprintable() and len(line) < 400 for line in lines)
    assert (await desk.do("wait", duration=1)).output == "Waited for 1 ms."


async def test_actions_at_the_same_time_are_done_one_after_the_other() -> None:
    text_field = MemoryField(AREA)
    desk = Desk(InMemoryComputerDriver(parts=[text_field], busy_s=0.001))
    await desk.look()
    await desk.do("click", x=1, y=1)
    async with anyio.create_task_group() as tasks:
        for letter in "abcdef":
            tasks.start_soon(lambda letter=letter: desk.do("type", text=letter * 3))
    assert text_field.text == "".join(letter * 3 for letter in "abcdef")


# --- through the pipeline ------------------------------------------------------------------------------------------


def pipeline(desk: Desk, log: InMemoryEventLog, **rules: list[str]) -> SandboxedToolExecutor:
    texts: list[tuple[Any, str]] = [(verdict, text) for verdict, each in rules.items() for text in each]
    policy = RulePolicy(
        [parse_rule(text, verdict, Source("test")) for verdict, text in texts],
        RulePlaces(roots=("/w",), home="/home/u"),
    )
    dispatcher = DispatchingToolExecutor(DefaultToolRegistry((desk.view, desk.computer)))
    return SandboxedToolExecutor(dispatcher, policy=policy if rules else AllowAll(), log=log)


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    ("rules", "view", "click"),
    [
        ({"allow": ["COMPUTER"]}, True, True),
        ({"allow": ["Read"]}, True, False),
        ({"deny": ["COMPUTER"]}, True, False),
        ({"deny": ["SCREEN_READ"], "allow": ["COMPUTER"]}, False, True),
        ({"deny": ["ComputerView"], "allow": ["Computer"]}, False, True),
        ({"ask": ["ComputerView"]}, False, False),
    ],
)
async def test_rules_judge_looking_and_acting_before_anything_happens(
    desk: Desk, rules: dict[str, list[str]], view: bool, click: bool
) -> None:
    await desk.look()
    executor = pipeline(desk, InMemoryEventLog(), **rules)
    for name, arguments, is_allowed in (
        ("ComputerView", {}, view),
        ("Computer", {"action": "click", "x": 1, "y": 1}, click),
    ):
        if is_allowed:
            assert (await executor.call(name, arguments)).success
        else:
            with pytest.raises(PermissionDeniedError):
                await executor.call(name, arguments)
    assert len(desk.driver.performed) == click


@pytest.mark.contract("X2", "X3")
async def test_intent_and_outcome_are_on_record_and_pictures_by_their_hash() -> None:
    log = InMemoryEventLog()
    executor = pipeline(Desk(artifacts=InMemoryArtifactStore()), log)
    await executor.call("ComputerView", {})
    await executor.call("Computer", {"action": "click", "x": 1, "y": 1})
    view, looked, intended, finished = log
    assert isinstance(view, ToolIntended)
    assert isinstance(looked, ToolFinished)
    assert set(looked.value["images"][0]) == {"mimeType", "width", "height", "sha256", "bytes"}
    assert isinstance(intended, ToolIntended)
    assert (intended.arguments, intended.capabilities) == (
        {"action": "click", "x": 1, "y": 1},
        {Capability.COMPUTER},
    )
    assert isinstance(finished, ToolFinished)
    assert finished.value["output"] == "Clicked the left button at 1, 1."


async def test_a_secret_text_is_typed_and_nowhere_on_record() -> None:
    text_field = MemoryField(AREA)
    desk = Desk(InMemoryComputerDriver(parts=[text_field]))
    log = InMemoryEventLog()
    executor = pipeline(desk, log)
    await executor.call("ComputerView", {})
    await executor.call("Computer", {"action": "click", "x": 1, "y": 1})
    await executor.call("Computer", {"action": "type", "text": "open sesame", "secret": True})
    desk.driver.break_down("Gone.")
    await executor.call("Computer", {"action": "type", "text": "open sesame", "secret": True})
    assert text_field.text == "open sesame"
    assert "sesame" not in repr(list(log))
    assert "[not kept: the call says that it is secret]" in repr(list(log))


@pytest.mark.parametrize("arguments", [{"text": 31337}, {"text": "31337", "duration": 5}, {"text": "31337" * 1_000}])
async def test_a_secret_text_that_does_not_fit_is_not_repeated(desk: Desk, arguments: dict[str, Any]) -> None:
    log = InMemoryEventLog()
    with pytest.raises(
        ToolArgumentError, match="the arguments do not fit the input schema; which is not told"
    ) as caught:
        await pipeline(desk, log).call("Computer", {"action": "type", "secret": True, **arguments})
    assert "31337" not in repr(list(log)) + str(caught.value)
    with pytest.raises(ToolArgumentError, match=r"text: |and not duration"):
        await pipeline(desk, log).call("Computer", {"action": "type", **arguments})


def test_a_tool_of_ones_own_is_recorded_as_it_was_called() -> None:
    schema = {"type": "object", "properties": {"secret": {"type": "boolean"}}}
    tool = create_function_tool("mine", "Mine.", schema, lambda arguments: arguments)
    assert tool.recorded_arguments({"secret": True, "text": "t"}) == {"secret": True, "text": "t"}
