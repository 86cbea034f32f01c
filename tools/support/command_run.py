"""A command from its start to its end: on this host, confined where the session has it so, or where a sandbox runs it.

What blocks runs in a worker thread out of a number of its own: long commands leave the threads of all other tools
alone. A command that would be one too many is refused, because a call that waits holds up others as well.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import anyio
from anyio.lowlevel import RunVar
from openbuffer.sandbox.errors import CommandStartError, CommandTimeoutError, SandboxError, SandboxUnavailableError
from openbuffer.sandbox.port import Command, Containment, Invocation
from openbuffer.sandbox.process.capture import OutputCapture
from openbuffer.sandbox.process.result import CaptureLimits, Ended
from openbuffer.sandbox.process.runner import run_invocation

from ..errors import PlanOutdatedError, ToolCancelledError, ToolFailure
from ..limits import COMMANDS_AT_ONCE
from .blocking import run_blocking
from .command_environment import command_environment
from .kept_output import KeptOutput
from .sandbox_answers import answered, end_of_command
from .sandbox_files import is_unavailable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from openbuffer.sandbox.port import WrappedCommand

    from ..contract import CancellationToken, ToolContext
    from ..ports import ArtifactRef
    from .command_host import CommandHost

_threads: Final[RunVar[anyio.CapacityLimiter]] = RunVar("openbuffer.tools.commands")

_LOOK_FIRST: Final = "Look at what it did before you try again."


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCommand:
    """What was judged: the command, how it starts and what holds it. ``directory`` tells which one ``cwd`` was."""

    host: CommandHost
    command: Command
    argv: tuple[str, ...]
    containment: Containment
    directory: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """How a command ended. ``artifact`` is its raw output, kept where not all of it is shown.

    ``cut_there``: the sandbox that ran it gave back less than it wrote.
    """

    ended: Ended
    notes: tuple[str, ...] = ()
    artifact: ArtifactRef | None = None
    cut_there: bool = False


async def run_command(planned: PlannedCommand, context: ToolContext) -> CommandEnd:
    """Run it to its end. When the caller is cancelled, the command has ended before the cancellation goes on.

    Raises:
        PlanOutdatedError: the directory, or what confines commands, is not what it was; nothing ran.
        ToolFailure: it did not run, or how it ended is not known.
        ToolCancelledError: cancelled through its token.
    """
    if not planned.host.is_here:
        return await _run_there(planned)
    limiter = _threads.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(COMMANDS_AT_ONCE)
        _threads.set(limiter)
    if limiter.available_tokens < 1:
        raise ToolFailure(
            f"{COMMANDS_AT_ONCE} commands are running, which is the most; nothing was run. Retry when one has ended."
        )
    end = await run_blocking(context.cancellation, lambda: _run_here(planned, context), limiter=limiter)
    if end.ended.how == "cancelled":
        raise ToolCancelledError("the command was cancelled and has ended; what it did until then is done")
    return end


# --- on this host --------------------------------------------------------------------------------------------------


def _run_here(planned: PlannedCommand, context: ToolContext) -> CommandEnd:
    _refuse_changes(planned)
    kept = KeptOutput(planned.host.artifacts, planned.host.max_output_bytes, context.progress)
    confined = planned.containment.confined
    environment = command_environment(planned.host, None if confined else context.trace, with_ambient=not confined)
    invocation = Invocation(argv=planned.argv, cwd=planned.command.cwd, environment=environment)
    try:
        ended, notes = _run_held(planned, invocation, kept, context.cancellation)
        return CommandEnd(ended=ended, notes=notes, artifact=kept.finish(ended.output))
    finally:
        kept.discard()


def _refuse_changes(planned: PlannedCommand) -> None:
    """What was judged is what runs, or nothing does."""
    cwd = planned.command.cwd
    try:
        containment = planned.host.containment(planned.command)
        status = os.stat(cwd)
    except SandboxError as error:
        raise ToolFailure(not_run(error)) from error
    except OSError as error:
        raise PlanOutdatedError(f"{cwd}: is not there any more ({error.strerror}); nothing was run.") from error
    if (status.st_dev, status.st_ino) != planned.directory:
        raise PlanOutdatedError(f"{cwd}: is another directory by now; nothing was run.")
    if containment != planned.containment:
        raise PlanOutdatedError("what confines commands has been changed meanwhile; nothing was run.")


def _run_held(
    planned: PlannedCommand, invocation: Invocation, kept: KeptOutput, token: CancellationToken
) -> tuple[Ended, tuple[str, ...]]:
    limits = capture_limits(planned.host.max_output_bytes)

    def run(invocation: Invocation, wrapped: WrappedCommand | None) -> Ended:
        return run_invocation(
            invocation,
            timeout_s=planned.command.timeout_s,
            is_cancelled=lambda: token.cancelled,
            limits=limits,
            sink=kept.sink,
            wrapped=wrapped,
        )

    ended: Ended | None = None
    notes: tuple[str, ...] = ()
    try:
        if not planned.containment.confined:
            return run(invocation, None), ()
        with _wrapping(planned, invocation) as wrapped:
            ended = run(wrapped.invocation, wrapped)
        notes = wrapped.notes
    except (CommandStartError, SandboxUnavailableError) as error:
        raise ToolFailure(not_run(error)) from error
    except SandboxError as error:
        if ended is None:
            raise ToolFailure(f"{_sentence(error)} {_LOOK_FIRST}") from error
        notes = (_sentence(error),)  # cleaning up failed, and the command has run all the same
    return ended, notes


def _wrapping(planned: PlannedCommand, invocation: Invocation) -> AbstractContextManager[WrappedCommand]:
    wrapper = planned.host.wrapper
    assert wrapper is not None, "nothing else says that it confines"
    return wrapper.wrap_command(planned.command, invocation)


# --- where a sandbox runs it ---------------------------------------------------------------------------------------


async def _run_there(planned: PlannedCommand) -> CommandEnd:
    client = planned.host.sandbox
    assert client is not None
    result = None
    output = ""
    try:
        with anyio.move_on_after(planned.command.timeout_s):
            result = end_of_command(await answered(lambda: client.run(planned.command)))
            output = result.output
    except CommandTimeoutError as error:
        told = cast("object", error.output)
        output = told if isinstance(told, str) else ""
    except SandboxError as error:
        if isinstance(error, CommandStartError) or is_unavailable(error):
            raise ToolFailure(not_run(error)) from error
        raise ToolFailure(f"the sandbox did not run it to a known end: {_sentence(error)} {_LOOK_FIRST}") from error
    capture = OutputCapture(capture_limits(planned.host.max_output_bytes))
    capture.feed(output.encode("utf-8", "backslashreplace"))
    return CommandEnd(
        ended=Ended(
            how="timed_out" if result is None else "exited",
            exit_code=None if result is None else result.exit_code,
            signal=None,
            output=capture.captured(),
            left_running=(),
            seconds=0.0,
        ),
        cut_there=result is not None and result.cut,
    )


def capture_limits(max_output_bytes: int) -> CaptureLimits:
    """As much of the end as of the beginning: the cause of a failure may be in either."""
    return CaptureLimits(head_bytes=max_output_bytes // 2, tail_bytes=max_output_bytes - max_output_bytes // 2)


def not_run(error: SandboxError) -> str:
    """The words about a command that did not begin."""
    text = _sentence(error)
    return text if "not run" in text else f"{text} Nothing was run."


def _sentence(error: SandboxError) -> str:
    text = str(error).rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
