"""The pipeline: nobody goes around the gate and the log."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from openbuffer.tools import (
    Capability,
    EventLogError,
    FileTarget,
    FunctionTool,
    InvocationResult,
    PermissionDeniedError,
    Plan,
    PlanOutdatedError,
    ToolArgumentError,
    ToolCancelledError,
    ToolContext,
    ToolCrashedError,
    ToolDefinitionError,
    ToolNotFoundError,
)
from openbuffer.tools.catalog import DeferredCatalog
from openbuffer.tools.contract import create_builtin_tool
from openbuffer.tools.errors import UnrecordedEffectError
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import Event, ToolFinished, ToolIntended, ToolRejected
from openbuffer.tools.executor import DispatchingToolExecutor, SandboxedToolExecutor
from openbuffer.tools.permissions import AllowAll, Decision, PermissionRequest
from openbuffer.tools.registry import DefaultToolRegistry
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = FileTarget(path="/ws/a.txt", access=Capability.FILE_WRITE)


class Put(BaseModel):
    text: str = ""


class Probe:
    """A tool that writes down what happens, and can go wrong on request."""

    def __init__(
        self,
        *,
        prepare: Any = None,
        commit: Any = None,
        capabilities: frozenset[Capability] = frozenset({Capability.FILE_WRITE}),
    ) -> None:
        self.happened: list[str] = []
        self.capabilities = capabilities
        self.on_prepare = prepare
        self.on_commit = commit

    def tool(self) -> FunctionTool:
        async def prepare(_arguments: Put, context: ToolContext) -> Plan:
            await context.admit((TARGET,))
            self.happened.append("read")
            if self.on_prepare:
                await self.on_prepare()
            plan = Plan(targets=(TARGET,))
            plan.resources.callback(self.happened.append, "closed")
            return plan

        async def commit(_plan: Plan, _context: ToolContext) -> InvocationResult:
            self.happened.append("acted")
            if self.on_commit:
                return await self.on_commit()
            return InvocationResult(success=True, output="done")

        return create_builtin_tool(
            name="Put",
            description="Put.",
            model=Put,
            prepare=prepare,
            commit=commit,
            capabilities=self.capabilities,
        )


class Rules:
    def __init__(self, **verdicts: str) -> None:
        self.verdicts = verdicts
        self.asked: list[PermissionRequest] = []

    def decide(self, request: PermissionRequest) -> Decision:
        self.asked.append(request)
        return Decision(self.verdicts.get(request.stage, "allow"), "Put(*)")  # type: ignore[arg-type]


class BrokenLog(InMemoryEventLog):
    def __init__(self, broken: Any) -> None:
        super().__init__()
        self.broken = broken

    async def append(self, event: Event) -> None:
        if isinstance(event, self.broken):
            raise OSError("disk full")
        await super().append(event)


class SlowLog(InMemoryEventLog):
    """Takes a turn of the loop to write, as one on a disk does."""

    async def append(self, event: Event) -> None:
        await anyio.lowlevel.checkpoint()
        await super().append(event)


def pipeline(
    probe: Probe, *, rules: Rules | None = None, log: InMemoryEventLog | None = None
) -> tuple[SandboxedToolExecutor, InMemoryEventLog]:
    log = InMemoryEventLog() if log is None else log
    dispatcher = DispatchingToolExecutor(DefaultToolRegistry([probe.tool()]))
    return SandboxedToolExecutor(dispatcher, policy=rules or AllowAll(), log=log), log


def names(log: InMemoryEventLog) -> list[str]:
    return [f"{type(e).__name__} {getattr(e, 'outcome', getattr(e, 'error_type', ''))}".strip() for e in log]


@pytest.mark.contract("X1", "X2")
async def test_the_intent_is_recorded_before_the_effect_and_the_outcome_before_the_return() -> None:
    seen: list[list[str]] = []

    async def commit() -> InvocationResult:
        seen.append(names(log))
        return InvocationResult(success=True, output="done")

    executor, log = pipeline(Probe(commit=commit))
    result = await executor.call("Put", {"text": "x"}, ToolContext(call_id="c1"))
    assert result.success
    assert seen == [["ToolIntended"]]
    intent, outcome = log
    assert isinstance(intent, ToolIntended)
    assert (intent.call_id, intent.arguments, intent.targets) == ("c1", {"text": "x"}, (TARGET,))
    assert isinstance(outcome, ToolFinished)
    assert (outcome.call_id, outcome.outcome, outcome.value) == ("c1", "succeeded", {"success": True, "output": "done"})


@pytest.mark.contract("X1", "X2")
@pytest.mark.parametrize("way", ["registry", "executor", "dispatcher", "deferred"])
async def test_a_tool_of_a_registry_does_not_act_past_the_record(way: str) -> None:
    probe = Probe()
    registry = DefaultToolRegistry([probe.tool()])
    dispatcher = DispatchingToolExecutor(registry)
    handed_out = {
        "registry": lambda: registry.get("Put"),
        "executor": lambda: SandboxedToolExecutor(dispatcher, policy=AllowAll(), log=InMemoryEventLog()).tools[0],
        "dispatcher": lambda: dispatcher.dispatch("Put", {}).tool,
        "deferred": lambda: DeferredCatalog(registry).get("Put"),
    }[way]()
    with pytest.raises(UnrecordedEffectError, match=r"SandboxedToolExecutor\.call"):
        await handed_out.execute({})
    plan = await handed_out.prepare(handed_out.validate({}), ToolContext())
    with pytest.raises(UnrecordedEffectError):
        await handed_out.commit(plan, ToolContext())
    assert "acted" not in probe.happened
    assert (await probe.tool().execute({})).success, "what its factory built is used on its own (T12)"


@pytest.mark.contract("X2")
async def test_a_tool_of_a_registry_that_only_observes_can_be_used_on_its_own() -> None:
    probe = Probe(capabilities=frozenset({Capability.FILE_READ}))
    assert (await DefaultToolRegistry([probe.tool()]).get("Put").execute({})).success


@pytest.mark.contract("X2")
async def test_a_call_does_not_act_when_its_intent_cannot_be_recorded() -> None:
    probe = Probe()
    executor, _ = pipeline(probe, log=BrokenLog(ToolIntended))
    with pytest.raises(EventLogError, match=r"disk full.*nothing was done"):
        await executor.call("Put", {})
    assert probe.happened == ["read", "closed"]


@pytest.mark.contract("X2")
async def test_a_result_whose_outcome_cannot_be_recorded_is_not_returned() -> None:
    executor, _ = pipeline(Probe(), log=BrokenLog(ToolFinished))
    with pytest.raises(EventLogError, match="the call succeeded; read before you try again"):
        await executor.call("Put", {})


@pytest.mark.contract("X2")
@pytest.mark.parametrize(
    "capabilities",
    [frozenset(), frozenset({Capability.FILE_READ, Capability.SHELL}), frozenset({Capability.NETWORK})],
    ids=["none declared", "one of them acts", "network"],
)
async def test_what_is_not_known_to_only_observe_needs_its_record(capabilities: frozenset[Capability]) -> None:
    probe = Probe(capabilities=capabilities)
    executor, _ = pipeline(probe, log=BrokenLog(ToolIntended))
    with pytest.raises(EventLogError):
        await executor.call("Put", {})
    assert "acted" not in probe.happened


@pytest.mark.contract("X2")
async def test_what_only_observes_goes_on_without_a_record_and_that_is_told_once_for_each_cause() -> None:
    told: list[str] = []
    log = BrokenLog(Event)
    dispatcher = DispatchingToolExecutor(
        DefaultToolRegistry([Probe(capabilities=frozenset({Capability.FILE_READ})).tool()])
    )
    executor = SandboxedToolExecutor(dispatcher, policy=AllowAll(), log=log, tell=told.append)
    assert (await executor.call("Put", {})).success
    with pytest.raises(ToolNotFoundError):
        await executor.call("Nothing", {})
    assert told == ["the event log could not be written (disk full); what only reads goes on without a record"]
    log.broken = ()
    assert (await executor.call("Put", {})).success
    log.broken = Event
    assert (await executor.call("Put", {})).success
    assert len(told) == 2


@pytest.mark.contract("X2", "T6")
async def test_a_call_that_only_observes_is_cancelled_as_ever_while_the_log_cannot_be_written() -> None:
    waiting = anyio.Event()

    async def wait() -> InvocationResult:
        waiting.set()
        await anyio.sleep_forever()
        raise AssertionError

    probe = Probe(commit=wait, capabilities=frozenset({Capability.FILE_READ}))
    executor, _ = pipeline(probe, log=BrokenLog(Event))
    async with anyio.create_task_group() as group:
        group.start_soon(executor.call, "Put", {})
        await waiting.wait()
        group.cancel_scope.cancel()
    assert probe.happened == ["read", "acted", "closed"]


@pytest.mark.contract("X4", "E2")
async def test_a_denied_target_is_refused_before_anything_of_it_is_read() -> None:
    probe, rules = Probe(), Rules(targets="deny")
    executor, log = pipeline(probe, rules=rules)
    with pytest.raises(PermissionDeniedError, match=r"Put on /ws/a\.txt is not permitted: Put\(\*\)"):
        await executor.call("Put", {})
    assert probe.happened == []
    assert names(log) == ["ToolRejected PermissionDeniedError"]


@pytest.mark.contract("X4", "T12")
async def test_a_denied_plan_is_refused_before_it_acts() -> None:
    probe = Probe()
    executor, log = pipeline(probe, rules=Rules(plan="deny"))
    with pytest.raises(PermissionDeniedError):
        await executor.call("Put", {})
    assert probe.happened == ["read", "closed"]
    assert names(log) == ["ToolRejected PermissionDeniedError"]


@pytest.mark.contract("X4")
async def test_an_ask_that_nobody_can_answer_is_a_refusal() -> None:
    probe = Probe()
    executor, _ = pipeline(probe, rules=Rules(targets="ask", plan="ask"))
    with pytest.raises(PermissionDeniedError, match="nobody can give one") as refused:
        await executor.call("Put", {})
    assert refused.value.reason == "ask"
    assert "acted" not in probe.happened


@pytest.mark.contract("X1", "T12")
async def test_the_policy_is_asked_with_the_bare_targets_and_then_with_the_plan() -> None:
    rules = Rules()
    executor, _ = pipeline(Probe(), rules=rules)
    await executor.call("Put", {})
    assert [(request.stage, request.targets) for request in rules.asked] == [
        ("targets", (TARGET,)),
        ("plan", (TARGET,)),
    ]


@pytest.mark.contract("X1")
async def test_an_unknown_tool_and_wrong_arguments_are_refused_and_recorded() -> None:
    executor, log = pipeline(Probe())
    with pytest.raises(ToolNotFoundError, match="no tool is named 'put'; the tools are: Put"):
        await executor.call("put", {})
    with pytest.raises(ToolArgumentError, match="unknown argument path"):
        await executor.call("Put", {"path": 1})
    assert names(log) == ["ToolRejected ToolNotFoundError", "ToolRejected ToolArgumentError"]


@pytest.mark.contract("E2", "T12")
async def test_a_call_whose_before_state_changed_is_judged_and_recorded_anew() -> None:
    failures = [PlanOutdatedError("a.txt changed.")]

    async def commit() -> InvocationResult:
        if failures:
            raise failures.pop()
        return InvocationResult(success=True)

    rules = Rules()
    executor, log = pipeline(Probe(commit=commit), rules=rules)
    assert (await executor.call("Put", {})).success
    assert names(log) == ["ToolIntended", "ToolFinished outdated", "ToolIntended", "ToolFinished succeeded"]
    assert len(rules.asked) == 4


@pytest.mark.contract("T6")
@pytest.mark.parametrize("step", ["prepare", "commit"])
async def test_a_cancelled_call_ends_as_cancelled_and_is_recorded_as_such(step: str) -> None:
    waiting = anyio.Event()

    async def wait() -> InvocationResult:
        waiting.set()
        await anyio.sleep_forever()
        raise AssertionError

    probe = Probe(**{step: wait})
    executor, log = pipeline(probe, log=SlowLog())
    ended: list[str] = []

    async def call() -> None:
        try:
            await executor.call("Put", {})
        except anyio.get_cancelled_exc_class():
            ended.append("cancelled")
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await waiting.wait()
        group.cancel_scope.cancel()
    assert ended == ["cancelled"]
    last = list(log)[-1]
    assert isinstance(last, ToolRejected if step == "prepare" else ToolFinished)
    assert names(log)[-1].lower().endswith("cancelled")


@pytest.mark.contract("T6", "X2")
async def test_a_call_that_ends_by_its_token_while_it_acts_is_on_record_as_cancelled() -> None:
    async def stop() -> InvocationResult:
        raise ToolCancelledError("ended with its processes")

    executor, log = pipeline(Probe(commit=stop))
    with pytest.raises(ToolCancelledError):
        await executor.call("Put", {})
    end = list(log)[-1]
    assert isinstance(end, ToolFinished)
    assert (end.outcome, end.error) == ("cancelled", "ToolCancelledError: ended with its processes")


class InterruptedLog(SlowLog):
    """Calls back while it writes the first event of a kind."""

    def __init__(self, kind: type, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._kind, self._meanwhile = kind, meanwhile

    async def append(self, event: Event) -> None:
        if isinstance(event, self._kind) and not any(isinstance(each, self._kind) for each in self):
            self._meanwhile()
        await super().append(event)


@pytest.mark.contract("T6", "X2")
@pytest.mark.parametrize("way", ["scope", "task"])
@pytest.mark.parametrize(
    ("cancelled_at", "commit_raises", "recorded"),
    [
        (ToolIntended, None, ["ToolIntended", "ToolFinished cancelled"]),
        (ToolFinished, None, ["ToolIntended", "ToolFinished succeeded"]),
        (ToolFinished, PlanOutdatedError("moved"), ["ToolIntended", "ToolFinished outdated", "ToolRejected Cancelled"]),
    ],
    ids=["intent", "outcome", "outdated"],
)
async def test_a_call_that_is_cancelled_while_it_is_recorded_leaves_no_gap(
    way: str, cancelled_at: type, commit_raises: Exception | None, recorded: list[str]
) -> None:
    async def commit() -> InvocationResult:
        if commit_raises:
            raise commit_raises
        return InvocationResult(success=True)

    scope = anyio.CancelScope()
    probe = Probe(commit=commit)
    executor, log = pipeline(
        probe, log=InterruptedLog(cancelled_at, lambda: scope.cancel() if way == "scope" else task.cancel())
    )

    async def call() -> None:
        with scope:
            await executor.call("Put", {})

    task = asyncio.ensure_future(call())
    await asyncio.wait([task])
    assert task.cancelled() or scope.cancelled_caught or recorded[-1] == "ToolFinished succeeded"
    assert names(log) == recorded
    assert ("acted" in probe.happened) == (cancelled_at is ToolFinished)


async def test_a_tool_that_crashes_ends_as_a_typed_error_and_is_recorded() -> None:
    async def crash() -> InvocationResult:
        raise KeyError("oops")

    executor, log = pipeline(Probe(commit=crash))
    with pytest.raises(
        ToolCrashedError, match="Put failed unexpectedly while acting; read before you try again"
    ) as error:
        await executor.call("Put", {})
    assert error.value.reason == "KeyError"
    assert names(log) == ["ToolIntended", "ToolFinished error"]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="two tools are named Put"):
        DefaultToolRegistry([Probe().tool(), Probe().tool()])


async def test_the_in_memory_log_keeps_the_newest_events_within_its_budget() -> None:
    log = InMemoryEventLog(max_bytes=10_000)
    for number in range(100):
        await log.append(ToolRejected(call_id=str(number), tool="Put", error_type="E", error="x" * 1_000))
    kept = [event.call_id for event in log]
    assert kept[-1] == "99"
    assert 0 < len(kept) < 10
    assert log.dropped == 100 - len(kept)


@pytest.mark.contract("E2", "X2")
async def test_a_call_that_gives_up_has_its_answer_on_the_record() -> None:
    async def commit() -> InvocationResult:
        raise PlanOutdatedError("a.txt changed.")

    executor, log = pipeline(Probe(commit=commit))
    result = await executor.call("Put", {})
    assert not result.success
    last = list(log)[-1]
    assert isinstance(last, ToolFinished)
    assert (last.outcome, last.value) == ("failed", result.value)
