"""The tools of a workspace that the user does not trust: those that read and ask, and nothing that has an effect (B7).

What is in such a workspace may have been written to have an agent do something. A request to the web is an effect too:
it can carry out what was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn, Protocol, runtime_checkable

from openbuffer.tools.contract import Capability, ToolContext
from openbuffer.tools.errors import ToolExecutionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openbuffer.tools.contract import FunctionTool, ToolResult

    from .session_tools import ToolExecutor

UNTRUSTED: Final = (
    "the user has not said that they trust this workspace, so that only tools are there that read; to have the others, "
    "they mark the workspace as trusted in the editor"
)

_HARMLESS: Final = frozenset({Capability.FILE_READ, Capability.SCREEN_READ, Capability.ASK_USER, Capability.SESSION})


class WorkspaceUntrustedError(ToolExecutionError):
    """The tool has effects, and the user does not trust the workspace."""


@runtime_checkable
class _Refuses(Protocol):
    async def refuse(self, name: str, error: ToolExecutionError, context: ToolContext | None = None) -> NoReturn: ...


def is_harmless(tool: FunctionTool) -> bool:
    """Whether a tool has no effect outside of its session; one that declares nothing is not known to have none."""
    return bool(tool.capabilities) and tool.capabilities <= _HARMLESS


class ReadOnlyTools:
    """An executor without the tools of another one that have effects. Fulfils ``ToolExecutor``."""

    def __init__(self, executor: ToolExecutor) -> None:
        self._executor = executor

    @property
    def tools(self) -> Sequence[FunctionTool]:
        """Those that can be called now."""
        return [tool for tool in self._executor.tools if is_harmless(tool)]

    @property
    def withheld(self) -> tuple[str, ...]:
        """The names of the others."""
        return tuple(tool.name for tool in self._executor.tools if not is_harmless(tool))

    async def call(self, name: str, arguments: object, context: ToolContext) -> ToolResult:
        """Run one call to its end.

        Raises:
            WorkspaceUntrustedError: of a tool that is withheld; nothing was done.
            ToolExecutionError: another hard error.
        """
        if name in self.withheld:
            error = WorkspaceUntrustedError(f"{name} is withheld: {UNTRUSTED}. Nothing was done")
            if isinstance(self._executor, _Refuses):
                await self._executor.refuse(name, error, context)
            raise error
        return await self._executor.call(name, arguments, context)
