"""Shell and Bash: one tool under two names, which runs a command line and returns what it wrote and its exit code (S1).

The working directory is where the command starts, and no boundary: what holds a command, if anything does, is the
sandbox, and each result tells. A command sees the files on disk, not the documents of an editor.
"""

from __future__ import annotations

import os
import posixpath
import stat
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, TypedDict

from openbuffer.sandbox.errors import SandboxError
from openbuffer.sandbox.port import Command, Containment
from pydantic import BaseModel, ConfigDict, Field

from ..contract import Capability, CommandTarget, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import ToolFailure
from ..limits import (
    COMMAND_DEFAULT_TIMEOUT_MS,
    COMMAND_MAX_BYTES,
    COMMAND_MAX_TIMEOUT_MS,
    COMMAND_OUTPUT_MAX_BYTES,
)
from ..support.blocking import run_blocking
from ..support.command_host import CommandHost
from ..support.command_run import PlannedCommand, not_run, run_command
from ..support.command_words import command_result
from ..support.paths import CwdInput, Roots, check_text, printable
from ..support.shells import find_shell
from ..support.unsaved_note import unsaved_note

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Unpack

    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.sandbox.port import SandboxClient

    from ..ports import ArtifactStore
    from ..support.command_host import Environment
    from ..support.shells import Shell

_NAMES: Final = ("Shell", "Bash")
_FOR_DOCUMENTS: Final = ("Read", "Write", "Edit")


class ShellInput(BaseModel):
    """Arguments of Shell and Bash."""

    model_config = ConfigDict(extra="forbid")

    command: str = Field(min_length=1, description="The command line, in the language of the shell.")
    timeout: int = Field(
        COMMAND_DEFAULT_TIMEOUT_MS,
        ge=1,
        le=COMMAND_MAX_TIMEOUT_MS,
        description="After how many milliseconds the command is ended.",
    )
    working_directory: str = Field(
        "",
        alias="workingDirectory",
        description="Absolute path of the directory that the command starts in; the first root if left out.",
    )


class CommandOptions(TypedDict, total=False):
    """What the two factories take, besides the root and a description of one's own."""

    editor: EditorProvider | None
    """Asked at every call for the editor that is attached then, for a note about its unsaved documents."""
    sandbox: SandboxClient | None
    """What confines commands, or runs them elsewhere; without one they have all the rights of this process."""
    environment: Environment
    """The variables of commands; without them, those of this process."""
    artifacts: ArtifactStore | None
    """Keeps the whole of an output that is not shown whole."""
    shell: Shell | None
    """The shell; without one it is looked for on this system, outside of the roots."""
    max_output_bytes: int
    """How much of an output is shown."""
    assembled: Collection[str]
    """The names of the tools beside which this one is offered; the description names no other."""


def create_shell_tool(
    *, cwd: CwdInput, description: str | None = None, **options: Unpack[CommandOptions]
) -> FunctionTool:
    """Build the Shell tool. Commands start in the first root, and no root holds them.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """
    return _create("Shell", _session(Roots(cwd), **options), description)


def create_bash_tool(
    *, cwd: CwdInput, description: str | None = None, **options: Unpack[CommandOptions]
) -> FunctionTool:
    """Build the Bash tool: the same as :func:`create_shell_tool`, for models that know it by this name."""
    return _create("Bash", _session(Roots(cwd), **options), description)


def _session(
    roots: Roots,
    *,
    editor: EditorProvider | None = None,
    sandbox: SandboxClient | None = None,
    environment: Environment = None,
    artifacts: ArtifactStore | None = None,
    shell: Shell | None = None,
    max_output_bytes: int = COMMAND_OUTPUT_MAX_BYTES,
    assembled: Collection[str] = (),
) -> _Session:
    host = CommandHost(
        # Looked for when it is first needed: building the tool does no I/O.
        find_shell=(lambda: shell) if shell is not None else lru_cache(maxsize=1)(partial(find_shell, roots.given)),
        sandbox=sandbox,
        environment=environment,
        artifacts=artifacts,
        max_output_bytes=max_output_bytes,
    )
    return _Session(roots, host, editor if host.is_here else None, frozenset(assembled))


@dataclass(frozen=True, slots=True)
class _Session:
    roots: Roots
    host: CommandHost
    editor: EditorProvider | None
    assembled: frozenset[str]


def _create(name: str, session: _Session, description: str | None) -> FunctionTool:
    async def prepare(parsed: ShellInput, context: ToolContext) -> Plan:
        _refuse_line(parsed.command)
        prepared = await run_blocking(context.cancellation, lambda: _prepared(session, parsed))
        planned = prepared.planned
        target = CommandTarget(
            command=parsed.command,
            argv=planned.argv,
            cwd=planned.command.cwd,
            confined_by=planned.containment.by if planned.containment.confined else "",
            auto_allowed=planned.containment.auto_allowed,
            in_sandbox=not session.host.is_here,
            asks_because=planned.containment.asks_because,
        )
        await context.admit((target,))
        settled = InvocationResult.failed(prepared.refusal) if prepared.refusal else None
        return Plan(targets=(target,), settled=settled, state=prepared)

    async def commit(plan: Plan, context: ToolContext) -> InvocationResult:
        prepared: _Prepared = plan.state
        note = await unsaved_note(session.editor, prepared.around, context)
        end = await run_command(prepared.planned, context)
        return command_result(prepared.planned, end, () if note is None else (note,))

    return create_builtin_tool(
        name=name,
        description=description if description is not None else partial(_description, name, session),
        model=ShellInput,
        prepare=prepare,
        commit=commit,
        capabilities=frozenset({Capability.SHELL}),
    )


def _description(name: str, session: _Session) -> str:
    host = session.host
    where = (
        f"with {host.shell.name} on {host.shell.system} ({host.shell.program})"
        if host.is_here
        else "in the session's sandbox"
    )
    text = (
        f"Runs a command line {where} and returns its exit code and what it wrote to standard output and standard "
        "error, in the order in which it came. An exit code other than 0 is no failure of the call. Each call has a "
        "shell of its own, whose standard input is empty: no variable, function or directory carries over from one "
        "call to the next. The working directory is where the command starts and does not confine it; a relative one "
        "starts at the first root. "
    )
    if host.is_here:
        text += (
            "A command that does not end within its timeout is ended with all its processes, and the call fails and "
            "has the output so far. "
        )
    else:
        text += "A command that does not end within its timeout fails the call, and the sandbox is told to end it. "
    kept = ""
    if host.is_here:
        on = "they go on" if host.sandbox is None else "confined ones are ended, others go on"
        text += f"Processes that are left in the background do not hold the call back: {on} and are named by pid. "
        kept = "; the whole is kept apart, under the name that is told" if host.artifacts is not None else ""
    text += (
        f"Of an output over {host.max_output_bytes} bytes the beginning and the end are shown{kept}. Lines that were "
        "drawn anew by carriage returns are shown as they were last. The result says whether something confined the "
        "command."
    )
    if session.editor is not None:
        text += _about_documents(session.assembled)
    same = [other for other in _NAMES if other != name and other in session.assembled]
    return text + "".join(f" {other} is the same tool by another name." for other in same)


def _about_documents(assembled: frozenset[str]) -> str:
    text = (
        " A command sees the files on disk; the result names the documents of an attached editor that hold unsaved "
        "text, and whose it is."
    )
    names = [name for name in _FOR_DOCUMENTS if name in assembled]
    if not names:
        return text
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{text} {listed} {'works' if len(names) == 1 else 'work'} on that text."


def _refuse_line(line: str) -> None:
    if not line.strip():
        raise ToolFailure("the command is empty; nothing was run.")
    if "\0" in line:
        raise ToolFailure("the command contains a NUL character, which no command line can have; nothing was run.")
    size = len(line.encode())
    if size > COMMAND_MAX_BYTES:
        raise ToolFailure(
            f"the command is too long ({size} bytes, at most {COMMAND_MAX_BYTES}); nothing was run. Put it into a file "
            "and run that."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """What a plan holds: the command; the directories whose unsaved documents are told of; why it cannot be run."""

    planned: PlannedCommand
    around: tuple[str, ...] = ()
    refusal: str = ""


def _prepared(session: _Session, parsed: ShellInput) -> _Prepared:
    roots, host = session.roots, session.host
    cwd, directory = _directory(roots, parsed) if host.is_here else (_elsewhere(roots, parsed), None)
    command = Command(line=parsed.command, cwd=cwd, timeout_s=parsed.timeout / 1000)
    refusal = ""
    try:
        containment = host.containment(command)
    except SandboxError as error:
        containment, refusal = Containment(confined=False, by="", words=""), not_run(error)
    argv = host.shell.argv(parsed.command) if host.is_here else ()
    planned = PlannedCommand(host=host, command=command, argv=argv, containment=containment, directory=directory)
    around = (cwd, *map(os.path.realpath, roots.given)) if session.editor is not None else ()
    return _Prepared(planned=planned, around=around, refusal=refusal)


def _elsewhere(roots: Roots, parsed: ShellInput) -> str:
    """The directory in a sandbox with files of its own, which alone knows whether there is one."""
    if parsed.working_directory:
        check_text(parsed.working_directory)
    return posixpath.normpath(posixpath.join(roots.first, parsed.working_directory))


def _directory(roots: Roots, parsed: ShellInput) -> tuple[str, tuple[int, int]]:
    """The canonical path of the directory to start in, and which directory that is."""
    given = os.path.join(roots.first, parsed.working_directory) if parsed.working_directory else roots.first
    shown = printable(given[:400])
    try:
        path = os.path.realpath(given, strict=True)
        status = os.stat(path)
    except FileNotFoundError:
        raise ToolFailure(f"no such directory: {shown}. {_other_directory(parsed)}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it contains a NUL character"
        raise ToolFailure(
            f"{shown}: cannot be used as a directory ({reason}); nothing was run. {_other_directory(parsed)}"
        ) from None
    if not stat.S_ISDIR(status.st_mode):
        raise ToolFailure(f"{shown}: is no directory, and a command starts in one; nothing was run.")
    if not os.access(path, os.X_OK):
        raise ToolFailure(f"{shown}: may not be entered (no permission); nothing was run. {_other_directory(parsed)}")
    return path, (status.st_dev, status.st_ino)


def _other_directory(parsed: ShellInput) -> str:
    if parsed.working_directory:
        return "Check workingDirectory; a relative one starts at the first root."
    return "It is the first root; name another directory by workingDirectory."
