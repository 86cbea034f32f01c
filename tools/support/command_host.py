"""Where and how the commands of a session run, as its composition root has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from openbuffer.sandbox.port import Containment, WrapsCommands

if TYPE_CHECKING:
    from openbuffer.sandbox.port import Command, SandboxClient

    from ..ports import ArtifactStore
    from .shells import Shell

Environment: TypeAlias = Mapping[str, str] | Callable[[], Mapping[str, str]] | None
"""The variables of commands, or what gives them for each command anew; None: those of this process, as they are."""

_NO_SANDBOX: Final = Containment(confined=False, by="", words="No sandbox is set up.")
_ELSEWHERE: Final = Containment(
    confined=False, by="", words="The session's sandbox ran it, and does not tell what confines it there."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHost:
    """The shell, what confines commands, their variables, and what is kept of their output.

    ``find_shell`` gives the same shell at every time and may block at the first. ``max_output_bytes`` of an output are
    shown; the rest goes to ``artifacts``, where there is such a store.
    """

    find_shell: Callable[[], Shell]
    sandbox: SandboxClient | None
    environment: Environment
    artifacts: ArtifactStore | None
    max_output_bytes: int

    @property
    def shell(self) -> Shell:
        """What takes the lines of commands on this host."""
        return self.find_shell()

    @property
    def is_here(self) -> bool:
        """Whether commands are started on this host, confined or not, and work on its files."""
        return self.sandbox is None or self.wrapper is not None

    @property
    def wrapper(self) -> WrapsCommands | None:
        """What confines commands by the way they are started on this host."""
        if self.sandbox is None or self.sandbox.filesystem != "shared":
            return None
        client: object = self.sandbox
        return client if isinstance(client, WrapsCommands) else None

    def containment(self, command: Command) -> Containment:
        """What would hold the command now. Blocks.

        Raises:
            SandboxUnavailableError: confinement is asked for and cannot be had.
        """
        if self.wrapper is not None:
            return self.wrapper.containment(command)
        return _NO_SANDBOX if self.sandbox is None else _ELSEWHERE
