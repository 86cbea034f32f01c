"""What tests of commands share: a sandbox that confines nothing and says that it does, and short ways to call."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import anyio.to_thread
from openbuffer.sandbox import Command, Containment, Invocation, RunResult, SandboxUnavailableError
from openbuffer.tools.host import create_shell_tool

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from openbuffer.tools import InvocationResult, ToolContext

CONFINED = Containment(confined=True, by="pretence 1.0", words="It may do anything.", auto_allowed=True)


@dataclass
class Pretence:
    """Implements ``WrapsCommands`` by setting a variable, and writes down what happens."""

    contains: Containment = CONFINED
    unavailable: str = ""
    happened: list[str] = field(default_factory=list[str])
    given: list[Invocation] = field(default_factory=list[Invocation])
    fails_at_the_end: BaseException | None = None
    filesystem: Literal["shared", "separate"] = "shared"

    def containment(self, command: Command) -> Containment:
        self.happened.append(f"containment of {command.line}")
        if self.unavailable:
            raise SandboxUnavailableError(self.unavailable)
        return self.contains

    @contextmanager
    def wrap_command(self, command: Command, invocation: Invocation) -> Iterator[PretendedCommand]:
        self.happened.append(f"wrapped {command.line}")
        self.given.append(invocation)
        argv = ("/usr/bin/env", "CONFINED=yes", *invocation.argv)
        wrapped = PretendedCommand(self, Invocation(argv=argv, cwd=invocation.cwd, environment=invocation.environment))
        yield wrapped
        wrapped.notes = ("something was put aside.",)
        self.happened.append("left")
        if self.fails_at_the_end is not None:
            raise self.fails_at_the_end

    async def run(self, command: Command) -> RunResult:
        raise AssertionError(f"a client of the shared file system was asked to run {command.line}")


@dataclass
class PretendedCommand:
    """Implements ``WrappedCommand``."""

    client: Pretence
    invocation: Invocation
    pass_fds: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    def started(self, process_id: int) -> None:
        assert process_id > 0
        self.client.happened.append("started")

    def terminate(self) -> bool:
        self.client.happened.append("told to end")
        return False

    def wait_until_empty(self) -> None:
        self.client.happened.append("empty")


async def shell(
    root: str | os.PathLike[str], command: str, context: ToolContext | None = None, **more: Any
) -> InvocationResult:
    """Run a command with a tool of its own; what is no argument of the tool is an option of the factory."""
    arguments = {name: more.pop(name) for name in ("timeout", "workingDirectory") if name in more}
    result = await create_shell_tool(cwd=root, **more).execute({"command": command, **arguments}, context)
    assert result.invocation is not None
    return result.invocation


def written(result: InvocationResult) -> str:
    """What the command wrote, without what is told about it."""
    if "No output." in result.output.splitlines():
        return ""
    _, found, output = result.output.partition("):\n")
    assert found, result.output
    return output


def is_gone(pid: int) -> bool:
    """Whether no such process runs any more; one that only waits for its parent counts as gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return True


def pid_in(path: Path) -> int:
    """The pid that a command wrote into a file."""
    return int(path.read_text())


async def until(holds: Callable[[], object]) -> None:
    """Wait until something that a command does can be seen; the test's own time-out is the end of it."""

    def wait() -> None:
        while not holds():
            time.sleep(0.005)

    await anyio.to_thread.run_sync(wait, abandon_on_cancel=False)


async def until_open_for_reading(pipe: Path) -> None:
    """Give whoever reads from a named pipe its end."""
    await anyio.to_thread.run_sync(lambda: pipe.open("w").close())
