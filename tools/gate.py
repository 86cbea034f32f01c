"""The gate as one call meets it: judged before anything is read, judged as a plan, and put before a person (X4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from .approvals import answer_of, approval_request, key_of, recorded_change, refusal, shown_of
from .contract import Capability, FileTarget
from .errors import PermissionDeniedError
from .events import ApprovalAnswered, ApprovalAsked
from .permissions import Decision, HidesPaths, LooksAgain, PermissionRequest, RuleNotKeptError, TakesRules
from .support.located import printable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AsyncExitStack

    from .approvals import Shown
    from .contract import Admission, FileChange, FunctionTool, Plan, Target, ToolContext, Unreadable
    from .events import Event
    from .permissions import PermissionPolicy

_COMMAND_MAX_CHARS: Final = 300
"""Of a command in a message; the model that wrote it knows the rest."""


class CallGate:
    """Judges one call, attempt by attempt, and remembers what was approved of it.

    ``record`` puts an event on record or raises; ``tell`` takes a sentence on a rule that could not be kept.
    """

    def __init__(
        self,
        policy: PermissionPolicy,
        call_id: str,
        record: Callable[[Event], Awaitable[None]],
        tell: Callable[[str], None],
    ) -> None:
        self._policy = policy
        self._call_id = call_id
        self._record = record
        self._tell = tell
        self._approved: list[Shown] = []
        self._approved_targets: set[object] = set()
        self._asked_about: list[Target] = []
        self._judged: frozenset[object] | None = None

    async def begin(self, tool: FunctionTool) -> Admission:
        """Begin an attempt; what is returned is the gate's first word on targets.

        What rules ask about is put with the whole plan, once there is one. After that there is nothing more to be
        asked with, so that whatever else would have to be asked about is refused.
        """
        await self._look()
        self._asked_about = []
        self._judged = None

        async def admit(targets: Sequence[Target], /) -> None:
            self._admit(tool, tuple(targets))

        return admit

    def unreadable(self, tool: FunctionTool) -> Unreadable | None:
        """What the tool must leave out while it walks."""
        return self._policy.unreadable(tool.name) if isinstance(self._policy, HidesPaths) else None

    async def pass_through(
        self,
        tool: FunctionTool,
        arguments: Mapping[str, Any],
        plan: Plan,
        context: ToolContext,
        attempt: int,
        turn: AsyncExitStack,
    ) -> None:
        """Return once it is certain that the plan may be carried out. While somebody is asked, ``turn`` is let go of.

        Raises:
            PermissionDeniedError: it may not be done.
            ToolCancelledError: the call was cancelled while somebody was asked.
        """
        change = plan.change
        known = {key_of(target) for target in plan.targets}
        further = {key_of(target): target for target in self._asked_about if key_of(target) not in known}
        targets = (*plan.targets, *further.values())
        decision = self._decided(tool, targets, "plan", change)
        if decision.verdict == "ask" and plan.settled is not None:
            # Nothing is done any more; but what was looked at for the answer may have to be asked about.
            targets = tuple(t for t in _looked_at(targets) if key_of(t) not in self._approved_targets)
            change = None
            decision = self._decided(tool, targets, "plan", None) if targets else Decision("allow")
        if decision.verdict == "ask":
            shown = shown_of(targets, change)
            if shown is None or shown not in self._approved:
                await turn.aclose()
                await self._approval(
                    tool, arguments, self._request(tool, targets, "plan", change), decision, context, attempt
                )
                self._approved += [] if shown is None else [shown]
                self._approved_targets.update(key_of(target) for target in targets)
                await self._look()  # a rule may have come meanwhile
                decision = self._decided(tool, targets, "plan", change)
        if decision.verdict == "deny":
            raise _denied(tool, targets, decision)
        self._judged = frozenset((*known, *further))

    async def _look(self) -> None:
        if isinstance(self._policy, LooksAgain):
            await self._policy.look()

    def _admit(self, tool: FunctionTool, targets: tuple[Target, ...]) -> None:
        decision = self._decided(tool, targets, "targets", None)
        if decision.verdict == "deny":
            raise _denied(tool, targets, decision)
        if decision.verdict == "ask":
            if self._judged is None:
                self._asked_about += targets
            elif any(key_of(target) not in self._judged for target in targets):
                raise _unasked(tool, targets, decision, "it was no part of what was judged; call it by itself")

    async def _approval(
        self,
        tool: FunctionTool,
        arguments: Mapping[str, Any],
        judged: PermissionRequest,
        decision: Decision,
        context: ToolContext,
        attempt: int,
    ) -> None:
        if context.approvals is None:
            raise _unasked(tool, judged.targets, decision, "nobody can give one here")
        rules = self._policy.offered(judged) if isinstance(self._policy, TakesRules) else ()
        request = approval_request(judged, reason=decision.reason, arguments=arguments, rules=rules)
        asked = ApprovalAsked(
            call_id=self._call_id,
            attempt=attempt,
            tool=tool.name,
            capabilities=tool.capabilities,
            reason=decision.reason,
            targets=judged.targets,
            change=recorded_change(request.change) if request.change is not None else None,
            is_whole=request.change is None or request.change.is_whole,
            rules=rules,
        )
        await self._record(asked)

        def answered(outcome: _Answered, reason: str = "", rules: tuple[str, ...] = ()) -> ApprovalAnswered:
            return ApprovalAnswered(
                call_id=self._call_id, attempt=attempt, tool=tool.name, outcome=outcome, reason=reason, rules=rules
            )

        try:
            answer = await answer_of(context.approvals, request, context.cancellation)
        except BaseException:  # cancelled, or the end of the program: there will be no answer
            await self._record(answered("withdrawn"))
            raise
        kept = rules if answer.outcome in {"session", "always"} else ()
        await self._record(answered(answer.outcome, answer.reason, kept))
        if not answer.is_yes:
            raise refusal(f"{tool.name} on {_about(tool, judged.targets)}", decision.reason, answer)
        if kept and isinstance(self._policy, TakesRules):
            try:
                await self._policy.allow(kept, always=answer.outcome == "always")
            except RuleNotKeptError as error:
                self._tell(str(error))

    def _request(
        self,
        tool: FunctionTool,
        targets: tuple[Target, ...],
        stage: Literal["targets", "plan"],
        change: FileChange | None,
    ) -> PermissionRequest:
        return PermissionRequest(
            call_id=self._call_id,
            tool=tool.name,
            capabilities=tool.capabilities,
            targets=targets,
            stage=stage,
            change=change,
        )

    def _decided(
        self,
        tool: FunctionTool,
        targets: tuple[Target, ...],
        stage: Literal["targets", "plan"],
        change: FileChange | None,
    ) -> Decision:
        return self._policy.decide(self._request(tool, targets, stage, change))


def _looked_at(targets: Sequence[Target]) -> list[Target]:
    """The targets by which rules judge that an answer tells of a file: where it is read, else where it is changed."""
    files = [target for target in targets if isinstance(target, FileTarget)]
    read = {target.path for target in files if target.access is Capability.FILE_READ}
    return [target for target in files if target.access is Capability.FILE_READ or target.path not in read]


def _denied(tool: FunctionTool, targets: Sequence[Target], decision: Decision) -> PermissionDeniedError:
    why = f": {decision.reason}" if decision.reason else ""
    text = f"{tool.name} on {_about(tool, targets)} is not permitted{why}; nothing was done"
    return PermissionDeniedError(text, reason="deny")


def _unasked(tool: FunctionTool, targets: Sequence[Target], decision: Decision, but: str) -> PermissionDeniedError:
    why = f": {decision.reason}" if decision.reason else ""
    text = f"{tool.name} on {_about(tool, targets)} needs an approval and {but}{why}; nothing was done"
    return PermissionDeniedError(text, reason="ask")


def _about(tool: FunctionTool, targets: Sequence[Target]) -> str:
    return ", ".join(dict.fromkeys(_shown(target) for target in targets)) or tool.name


def _shown(target: Target) -> str:
    subject = printable(target.subject)
    if isinstance(target, FileTarget) or len(subject) <= _COMMAND_MAX_CHARS:
        return subject
    return f"{subject[:_COMMAND_MAX_CHARS]}… ({len(target.subject)} characters)"


_Answered = Literal["once", "session", "always", "no", "dismissed", "timeout", "unavailable", "withdrawn"]
