"""The beginning of every plan about a path: it is resolved and opened, and the gate admits it before all else (E2)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..contract import FileTarget, InvocationResult, Plan
from ..errors import ToolFailure
from .blocking import run_blocking
from .located import UnresolvedPathError, printable
from .text_place import refuse_cancelled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ..contract import ToolContext
    from .located import Located
    from .text_place import FileAccess


async def admitted_plan(
    locate: Callable[[], Located],
    accesses: tuple[FileAccess, ...],
    context: ToolContext,
    fill: Callable[[Located, Plan], Awaitable[None]],
) -> Plan:
    """A plan about what ``locate`` finds: its targets and descriptors, and what ``fill`` adds once the gate admits it.

    A failure after the admission settles the plan, which then still tells its targets.

    Raises:
        PathRefusedError: the path is outside of the roots.
        PermissionDeniedError: the gate said no; nothing was looked at.
        ToolCancelledError: the call was cancelled, and would have been answered without a commit.
    """
    with ExitStack() as resources:
        try:
            located = await run_blocking(context.cancellation, locate)
        except UnresolvedPathError as refusal:
            await _admit_way(refusal.passed, accesses, context)
            stuck = tuple(FileTarget(path=refusal.place, access=access) for access in accesses)
            await context.admit(stuck)
            return Plan(targets=stuck, settled=InvocationResult.failed(str(refusal)))
        resources.callback(located.close)
        await _admit_way(located.passed, accesses, context)
        exists = located.status is not None
        plan = Plan(targets=tuple(FileTarget(path=located.path, access=each, exists=exists) for each in accesses))
        await context.admit(plan.targets)
        if await was_filled(plan, printable(located.path), context, lambda: fill(located, plan)):
            plan.resources = resources.pop_all()
        return plan


async def was_filled(plan: Plan, path: str, context: ToolContext, fill: Callable[[], Awaitable[None]]) -> bool:
    """Whether an admitted plan got what ``fill`` adds; a failure there settles it instead.

    Raises:
        ToolCancelledError: the call was cancelled, and would have been answered without a commit.
    """
    failed = False
    try:
        await fill()
    except ToolFailure as failure:
        plan.settled = InvocationResult.failed(str(failure))
        failed = True
    if plan.settled is not None:
        refuse_cancelled(path, context.cancellation)
    return not failed


async def _admit_way(passed: Sequence[str], accesses: tuple[FileAccess, ...], context: ToolContext) -> None:
    """Ask about each place on the way by itself, so that a refusal names the same wherever the way ends."""
    for place in passed:
        await context.admit(tuple(FileTarget(path=place, access=access) for access in accesses))
