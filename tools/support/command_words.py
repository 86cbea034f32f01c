"""The answer about a command that has ended: what held it, how it ended, what it wrote."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from ..contract import InvocationResult
from ..limits import COMMAND_MAX_TIMEOUT_MS
from .left_out import counted
from .located import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openbuffer.sandbox.process.result import Captured

    from .command_run import CommandEnd, PlannedCommand


def command_result(planned: PlannedCommand, end: CommandEnd, remarks: Iterable[str]) -> InvocationResult:
    """The result; what is told about the command comes before its output, which could imitate it."""
    ended = end.ended
    where = f"in {printable(planned.command.cwd)}"
    notes = [*remarks, *end.notes]
    if ended.left_running:
        pids = ", ".join(map(str, ended.left_running))
        goes_on = "process goes" if len(ended.left_running) == 1 else "processes go"
        notes.append(f"{len(ended.left_running)} {goes_on} on in the background, by pid: {pids}.")
    error = None
    if ended.how == "timed_out":
        how = f"Ended at its timeout {where}."
        error = _timed_out(planned)
    elif ended.exit_code is None:
        how = f"Ended {where}, and with which exit code is not known."
        error = "the command was started, and its end could not be awaited; look at what it did before you try again"
    else:
        how = f"Exit code {ended.exit_code}{_by_signal(ended.signal)} {where}."
    lines = [
        f"{how} {_held(planned)}",
        *(f"Note: {note}" for note in notes),
        *_output(end, has_store=planned.host.artifacts is not None and planned.host.is_here),
    ]
    return InvocationResult(
        success=error is None,
        output="\n".join(lines),
        error=error,
        exit_code=None if ended.how == "timed_out" else ended.exit_code,
    )


def _held(planned: PlannedCommand) -> str:
    """Whether something confined the command, what, and what that means; of another place its own words alone."""
    containment = planned.containment
    if not planned.host.is_here:
        return containment.words
    by = f"Confined by {containment.by}." if containment.confined else "Not confined."
    return f"{by} {containment.words}".rstrip()


def _timed_out(planned: PlannedCommand) -> str:
    milliseconds = round(planned.command.timeout_s * 1000)
    longer = (
        f"Give it a longer timeout (at most {COMMAND_MAX_TIMEOUT_MS}), or less to do."
        if milliseconds < COMMAND_MAX_TIMEOUT_MS
        else "That is the longest timeout; give it less to do."
    )
    ended = (
        "so it was ended with all its processes. What it did until then is done, and what it wrote is in the output."
    )
    if not planned.host.is_here:
        ended = (
            "so the sandbox was told to end it, and whether all its processes have ended is not known. What it did is "
            "done; the output has what the sandbox gave of what it wrote."
        )
    return f"the command did not end within its timeout of {milliseconds} ms, {ended} {longer}"


def _by_signal(number: int | None) -> str:
    if number is None:
        return ""
    try:
        return f" (ended by {signal.Signals(number).name})"
    except ValueError:
        return f" (ended by signal {number})"


def _output(end: CommandEnd, *, has_store: bool) -> list[str]:
    output = end.ended.output
    if not output.total_bytes:
        return ["No output."]
    told = [f"Output ({counted(output.total_bytes, 'byte', 'bytes')}{_not_shown(output)}):"]
    if (output.cut or output.folded) and has_store:
        told.insert(0, _kept(end))
    if end.cut_there:
        told.insert(0, "Note: the sandbox gave back less than the command wrote.")
    if not output.cut:
        return [*told, output.head]
    lines = f", {counted(output.omitted_lines, 'line end', 'line ends')}" if output.omitted_lines else ""
    gap = f"[... {counted(output.omitted_bytes, 'byte', 'bytes')}{lines} left out ...]"
    return [*told, output.head.removesuffix("\n"), gap, output.tail]


def _not_shown(output: Captured) -> str:
    why: list[str] = []
    if output.cut:
        why.append("its middle is left out")
    if output.folded:
        why.append("lines that were drawn anew are shown as they were last")
    return "".join(f"; {each}" for each in why)


def _kept(end: CommandEnd) -> str:
    kept = end.artifact
    if kept is None:
        return "Note: the whole output could not be kept."
    if kept.complete:
        return f"Note: the whole output is kept as sha256:{kept.sha256}."
    return f"Note: the first {kept.size} bytes of the output are kept as sha256:{kept.sha256}; no more could be."
