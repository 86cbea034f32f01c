"""Which tools there are: an explicit list, fixed at assembly; no discovery, no import side effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .errors import ToolDefinitionError, ToolNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .contract import FunctionTool

_NAMES_SHOWN = 50
_NAME_MAX_CHARS = 100


class ToolRegistry(Protocol):
    """Finds a tool by its exact name."""

    @property
    def tools(self) -> tuple[FunctionTool, ...]:
        """All tools, in the order of assembly."""
        ...

    def get(self, name: str) -> FunctionTool:
        """Return the tool.

        Raises:
            ToolNotFoundError: naming the tools that there are.
        """
        ...


class DefaultToolRegistry:
    """A registry over a given list. What it hands out has effects only on record, which the executor sees to (X2).

    Raises:
        ToolDefinitionError: two tools of one name.
    """

    def __init__(self, tools: Iterable[FunctionTool]) -> None:
        given = tuple(tools)
        refuse_doubles(given)
        self._by_name = {tool.name: tool.acting_on_record_only() for tool in given}

    @property
    def tools(self) -> tuple[FunctionTool, ...]:
        """All tools, in the order of assembly."""
        return tuple(self._by_name.values())

    def get(self, name: str) -> FunctionTool:
        """Return the tool of exactly this name, or raise ToolNotFoundError."""
        tool = self._by_name.get(name)
        if tool is None:
            raise tool_not_found(name, self._by_name)
        return tool


def tool_not_found(name: str, known: Iterable[str]) -> ToolNotFoundError:
    """The refusal of a name that no tool has; ``known`` are those that can be called."""
    named = ", ".join(list(known)[:_NAMES_SHOWN]) or "none"
    return ToolNotFoundError(f"no tool is named {name[:_NAME_MAX_CHARS]!r}; the tools are: {named}")


def refuse_doubles(tools: Iterable[FunctionTool]) -> None:
    """Refuse two tools of one name, of which only one could be called.

    Raises:
        ToolDefinitionError: naming it.
    """
    seen: set[str] = set()
    for tool in tools:
        if tool.name in seen:
            raise ToolDefinitionError(f"two tools are named {tool.name}; names must be unique")
        seen.add(tool.name)
