"""The port to where commands run and files may live (S4), and the values that cross it. Pure: no process is named here.

A client declares its file system. ``shared``: it is the host's, the client only rewrites how a command is started
(``WrapsCommands``), and the shell tool keeps time-outs, cancellation, limits and the ending of groups. ``separate``:
files and commands both go through the client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One line for a shell. ``cwd`` is the absolute directory it starts in; ``timeout_s`` seconds."""

    line: str
    cwd: str
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """How a process is started: the argument vector, the directory and the whole environment."""

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Containment:
    """What would hold a command, decided before it runs.

    ``by`` names the mechanism with its version ("bubblewrap 0.11.0"), empty where nothing confines it. ``words`` is
    the sentence for the result: what the command may do, or why nothing confines it. ``auto_allowed``: it may run
    without being asked about; if not, ``asks_because`` says why.
    """

    confined: bool
    by: str
    words: str
    auto_allowed: bool = False
    asks_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The end of a command that ran to an end. ``output`` is bounded; ``cut`` tells whether some of it is missing."""

    exit_code: int
    output: str
    cut: bool = False


class WrappedCommand(Protocol):
    """A command about to run confined. Its context manager is entered before the start and left after the last process
    of the command has ended; leaving cleans up.
    """

    @property
    def invocation(self) -> Invocation:
        """What to start instead."""
        ...

    @property
    def pass_fds(self) -> tuple[int, ...]:
        """Descriptors that the started process inherits, besides its three standard ones."""
        ...

    def started(self, process_id: int) -> None:
        """Called at once after the start, from the thread that started it, which stays until the process has ended."""
        ...

    def terminate(self) -> None:
        """Ask what runs inside to end (SIGTERM), where a signal to the outer group does not reach it."""
        ...

    def wait_until_empty(self) -> None:
        """After the outer process has ended: wait until nothing runs inside any more; bounded."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """After leaving the context: sentences for the result, such as what was moved to the quarantine."""
        ...


@runtime_checkable
class WrapsCommands(Protocol):
    """A client of the shared file system: it confines commands by the way they are started.

    All of it blocks and is called from a worker thread.
    """

    def containment(self, command: Command) -> Containment:
        """What would hold this command now, by the settings as they are now.

        Raises:
            SandboxUnavailableError: confinement is asked for and cannot be had.
        """
        ...

    def wrap_command(self, command: Command, invocation: Invocation) -> AbstractContextManager[WrappedCommand]:
        """Confine an invocation of the command; only for one whose containment is ``confined``.

        Raises:
            SandboxUnavailableError: it cannot be had any more.
        """
        ...


class SandboxClient(Protocol):
    """A place where commands run. ``WrapsCommands`` and the operations on files are there if the client has them."""

    @property
    def filesystem(self) -> Literal["shared", "separate"]:
        """Whether its files are the host's."""
        ...

    async def run(self, command: Command) -> RunResult:
        """Run a command to its end; cancelling ends it.

        Raises:
            SandboxError: it could not be run, or how it ended is not known.
        """
        ...


def routes_files_through_sandbox(client: SandboxClient | None) -> bool:
    """Whether file tools have to go through this client, because its files are not the host's."""
    return client is not None and client.filesystem == "separate"
