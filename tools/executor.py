"""The pipeline that every call goes through: find, validate, prepare, gate, record, commit, record.

``DispatchingToolExecutor`` finds the tool and fits the arguments. ``SandboxedToolExecutor`` wraps it, asks the
gate, and records the intent before the effect and the outcome before the return. There are no branches per tool.
"""

from __future__ import annotations

import dataclasses
import logging
import uuid
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

import anyio
from openbuffer.sandbox.errors import in_words

from .catalog import DeferredCatalog
from .config import ToolConfig, build_tools
from .contract import ToolContext, only_observes
from .errors import (
    EventLogError,
    PlanOutdatedError,
    ToolCancelledError,
    ToolCrashedError,
    ToolExecutionError,
    ToolFailure,
)
from .event_log import EventLog, InMemoryEventLog
from .events import ApprovalAnswered, ApprovalAsked, ToolFinished, ToolIntended, ToolRejected
from .gate import CallGate
from .limits import COMMIT_ATTEMPTS
from .permissions import AllowAll, PermissionPolicy
from .registry import DefaultToolRegistry, ToolRegistry
from .support.seen_through import seen_through
from .turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AsyncExitStack

    from .contract import FunctionTool, Plan, ToolResult
    from .events import Event
    from .ports import ApprovalPort, DeferredToolCatalog

logger = logging.getLogger(__name__)


def create_tool_executor(
    config: ToolConfig,
    *,
    policy: PermissionPolicy | None = None,
    log: EventLog | None = None,
    approvals: ApprovalPort | None = None,
    tell: Callable[[str], None] = logger.warning,
) -> SandboxedToolExecutor:
    """Assemble the tools of ``config`` and the pipeline around them.

    See ``SandboxedToolExecutor`` for ``approvals`` and ``tell``.
    """
    catalog = DeferredCatalog(DefaultToolRegistry(build_tools(config)))
    return SandboxedToolExecutor(
        DispatchingToolExecutor(catalog),
        deferred=catalog,
        policy=policy or AllowAll(),
        log=log if log is not None else InMemoryEventLog(),
        approvals=approvals,
        tell=tell,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Dispatch:
    """A call whose tool was found and whose arguments fit."""

    tool: FunctionTool
    arguments: dict[str, Any]
    parsed: Any


class DispatchingToolExecutor:
    """Finds the tool of a call and fits the arguments to it; has no effect of its own."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry

    @property
    def tools(self) -> tuple[FunctionTool, ...]:
        """The tools that can be called now."""
        return self._registry.tools

    def dispatch(self, name: str, arguments: object) -> Dispatch:
        """Return the tool and the parsed arguments.

        Raises:
            ToolNotFoundError: no such tool.
            ToolArgumentError: the arguments do not fit its schema.
        """
        tool = self._registry.get(name)
        parsed = tool.validate(arguments)
        assert isinstance(arguments, dict)  # validate refuses anything else
        return Dispatch(tool, arguments, parsed)  # pyright: ignore[reportUnknownArgumentType]  its JSON shape was just validated


class SandboxedToolExecutor:
    """Runs calls under the gate and on the record.

    ``deferred`` is the catalog that the calls work with, for what loads deferred tools. ``approvals`` is asked about
    what the policy asks about, unless a call brings a port of its own; without any, that is refused.
    While the log cannot be written, what could change something does not run (X2), and what only observes goes on;
    ``tell`` takes the sentence about that, once for each cause.
    """

    def __init__(
        self,
        dispatcher: DispatchingToolExecutor,
        *,
        policy: PermissionPolicy,
        log: EventLog,
        deferred: DeferredToolCatalog | None = None,
        approvals: ApprovalPort | None = None,
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        self._dispatcher = dispatcher
        self._approvals = approvals
        self._deferred = deferred
        self._policy = policy
        self._record = _Record(log, tell)
        self._turns = Turns()

    @property
    def tools(self) -> tuple[FunctionTool, ...]:
        """The tools that can be called now: those of the registry, deferred ones once they are loaded."""
        return self._dispatcher.tools

    async def call(self, name: str, arguments: object, context: ToolContext | None = None) -> ToolResult:
        """Run one call to its end.

        Returns the result, of an ordinary failure too. Cancelling ends the call as cancelled, after its work has
        stopped; a change that was already sent is seen through first.

        Raises:
            ToolExecutionError: a hard error; ``code`` and ``reason`` are stable.
        """
        context = context or ToolContext()
        if self._deferred is not None:
            context = dataclasses.replace(context, deferred=self._deferred)
        if context.approvals is None:
            context = dataclasses.replace(context, approvals=self._approvals)
        run = _Run(self._policy, self._record, context.call_id or uuid.uuid4().hex, name)
        try:
            dispatch = self._dispatcher.dispatch(name, arguments)
        except ToolExecutionError as error:
            await run.reject(error)
        run.acts = not only_observes(dispatch.tool.capabilities)
        try:
            return await self._attempts(run, dispatch, context)
        except anyio.get_cancelled_exc_class() as cancelled:
            await run.cancelled(dispatch.tool, cancelled)
            raise

    async def refuse(self, name: str, error: ToolExecutionError, context: ToolContext | None = None) -> NoReturn:
        """Put on record that whoever runs the tools refuses a call of this one, and raise ``error``."""
        call_id = context.call_id if context is not None else ""
        await _Run(self._policy, self._record, call_id or uuid.uuid4().hex, name).reject(error)

    async def _attempts(self, run: _Run, dispatch: Dispatch, context: ToolContext) -> ToolResult:
        for attempt in range(1, COMMIT_ATTEMPTS + 1):
            try:
                # Calls that started together would otherwise keep meeting, and most would run out of attempts.
                async with self._turns.of(run.met_at) as turn:
                    return await run.attempt(dispatch, context, attempt, turn)
            except PlanOutdatedError as outdated:
                if attempt == COMMIT_ATTEMPTS:
                    return await run.give_up(dispatch.tool, outdated)
        raise AssertionError("unreachable: the last attempt returns or raises")


class _Record:
    """The log, and what was told of its not being written."""

    def __init__(self, log: EventLog, tell: Callable[[str], None]) -> None:
        self._log = log
        self.tell = tell
        self._told = ""

    async def append(self, event: Event) -> None:
        """Record it, or raise whatever the log raises."""
        await self._log.append(event)
        if not isinstance(event, ToolIntended):  # of which one that only observes may be written later
            self._told = ""

    def goes_on_without(self, error: Exception) -> None:
        """Tell that a call goes on although it is not recorded, unless that was told already."""
        sentence = f"the event log could not be written ({error}); what only reads goes on without a record"
        if sentence != self._told:
            self._told = sentence
            self.tell(sentence)


class _Run:
    """One call on its way through the pipeline."""

    def __init__(self, policy: PermissionPolicy, record: _Record, call_id: str, name: str) -> None:
        self._log = record
        self._call_id = call_id
        self._name = name[:100]
        self._last: Event | None = None
        self.acts = False
        """Whether its tool could change something; none could, before it is found."""
        self._gate = CallGate(policy, call_id, lambda event: self._record(event, "nothing was done"), record.tell)
        self.met_at: tuple[str, ...] = ()
        """What an attempt was about that something else overtook."""

    async def attempt(self, dispatch: Dispatch, context: ToolContext, attempt: int, turn: AsyncExitStack) -> ToolResult:
        """Prepare, judge, record, commit, record; once. While somebody is asked, ``turn`` is let go of."""
        tool = dispatch.tool
        admit = await self._gate.begin(tool)
        context = dataclasses.replace(
            context, call_id=self._call_id, admit=admit, unreadable=self._gate.unreadable(tool)
        )
        try:
            plan = await self._prepared(tool, dispatch.parsed, context)
        except (ToolExecutionError, anyio.get_cancelled_exc_class()) as error:
            await self.reject(error)
        try:
            try:
                await self._gate.pass_through(tool, dispatch.arguments, plan, context, attempt, turn)
            except EventLogError:
                raise
            except (ToolExecutionError, anyio.get_cancelled_exc_class()) as error:
                await self.reject(error)
            except Exception as error:  # noqa: BLE001  a policy that fails allows nothing, and the record has its end
                await self.reject(self._crash(tool, error, "while it was judged; nothing was done"))
            intent = ToolIntended(
                call_id=self._call_id,
                attempt=attempt,
                tool=tool.name,
                capabilities=tool.capabilities,
                arguments=tool.recorded_arguments(dispatch.arguments),
                targets=plan.targets,
                change=plan.change,
            )
            await self._record(intent, "nothing was done")
            plan.is_on_record = True
            return await self._committed(tool, plan, context, attempt)
        finally:
            plan.close()

    async def give_up(self, tool: FunctionTool, outdated: PlanOutdatedError) -> ToolResult:
        """Record and return the answer of a call whose before-state never held still."""
        result = tool.gave_up(outdated)
        event = ToolFinished(
            call_id=self._call_id, attempt=COMMIT_ATTEMPTS, tool=tool.name, outcome="failed", value=result.value
        )
        await self._record(event, "nothing was done")
        return result

    async def cancelled(self, tool: FunctionTool, cancelled: BaseException) -> None:
        """See to it that the record tells the end of a call that was cancelled between two of its steps."""
        if isinstance(self._last, ToolIntended):
            event = ToolFinished(
                call_id=self._call_id,
                attempt=self._last.attempt,
                tool=tool.name,
                outcome="cancelled",
                error="cancelled before it acted",
            )
            await self._record(event, "nothing was done")
        elif self._is_between_attempts():
            await self.reject(cancelled)

    def _is_between_attempts(self) -> bool:
        last = self._last
        if last is None or isinstance(last, (ApprovalAsked, ApprovalAnswered)):
            return True
        return isinstance(last, ToolFinished) and last.outcome == "outdated"

    async def reject(self, error: BaseException) -> NoReturn:
        """Record a call that ends before its intent, and raise its error."""
        code = error.code if isinstance(error, ToolExecutionError) else "Cancelled"
        event = ToolRejected(call_id=self._call_id, tool=self._name, error_type=code, error=str(error))
        await self._record(event, "nothing was done")
        raise error

    async def _prepared(self, tool: FunctionTool, parsed: Any, context: ToolContext) -> Plan:
        try:
            return await tool.prepare(parsed, context)
        except ToolExecutionError:
            raise
        except Exception as error:
            raise self._crash(tool, error, "while preparing; nothing was done") from error

    async def _committed(self, tool: FunctionTool, plan: Plan, context: ToolContext, attempt: int) -> ToolResult:
        before = plan.change.before if plan.change is not None else None
        planned = before.version if before is not None else None

        def finished(outcome: _Outcome, value: Any = None, error: str | None = None) -> ToolFinished:
            made_on = before.version if before is not None and before.version != planned else None
            return ToolFinished(
                call_id=self._call_id,
                attempt=attempt,
                tool=tool.name,
                outcome=outcome,
                value=value,
                error=error,
                made_on=made_on,
            )

        try:
            result = await tool.commit(plan, context)
        except anyio.get_cancelled_exc_class() as cancelled:
            # Who could not see it through in time says so in a note.
            end = "; ".join(getattr(cancelled, "__notes__", ())) or _SEEN_THROUGH
            await self._record(
                finished("cancelled", error=f"cancelled while it acted: {end}"), "the call was cancelled"
            )
            raise
        except PlanOutdatedError as error:
            # What has no target can only have met a call of the same tool.
            self.met_at = tuple(target.subject for target in plan.targets) or (tool.name,)
            await self._record(finished("outdated", error=str(error)), "nothing was done")
            raise
        except ToolExecutionError as error:
            ended: _Outcome = "cancelled" if isinstance(error, ToolCancelledError) else "error"
            await self._record(finished(ended, error=f"{error.code}: {error}"), str(error))
            raise
        except Exception as error:
            crash = self._crash(tool, error, "while acting; read before you try again")
            await self._record(finished("error", error=str(crash)), str(crash))
            raise crash from error
        outcome: _Outcome = "succeeded" if result.success else "failed"
        await self._record(finished(outcome, value=result.recorded), f"the call {outcome}; read before you try again")
        return result

    async def _record(self, event: Event, consequence: str) -> None:
        """Append for good, even when the caller is being cancelled: a gap in the log would be a lie.

        Raises:
            EventLogError: that was not possible, and the call is not one that only observes.
        """

        async def append() -> None:
            await self._log.append(event)
            self._last = event

        try:
            await seen_through(append)
        except Exception as error:
            if self.acts:
                raise EventLogError(f"the event log could not be written ({error}); {consequence}") from error
            self._last = event
            self._log.goes_on_without(error)

    @staticmethod
    def _crash(tool: FunctionTool, error: Exception, when: str) -> ToolCrashedError:
        kind = type(error).__name__
        if isinstance(error, ToolFailure):
            return ToolCrashedError(str(error), reason=kind)
        return ToolCrashedError(f"{tool.name} failed unexpectedly {when} ({in_words(error)})", reason=kind)


_SEEN_THROUGH: Final = "what was under way by then has been seen through"

_Outcome = Literal["succeeded", "failed", "outdated", "cancelled", "error"]
