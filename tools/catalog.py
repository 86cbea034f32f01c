"""The deferred tools of a session: not listed and not called before they are loaded, and resident from then on (W4).

A model has not seen the schema of a tool that is not loaded, so that a call of it would be a guess: it is refused, and
the refusal says how the tool is loaded. What may be done with a tool is not decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .errors import ToolNotFoundError
from .registry import tool_not_found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .contract import FunctionTool
    from .registry import ToolRegistry
    from .schema import ToolSchema

TOOL_SEARCH: Final = "ToolSearch"
"""The one tool that loads others, by its name."""


class DeferredCatalog:
    """A registry over another one that withholds its deferred tools; made once for each session.

    Implements ``ToolRegistry`` for the session, and ``DeferredToolCatalog`` for ToolSearch.
    """

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._deferred = {tool.name: tool for tool in registry.tools if tool.deferred}
        self._loaded: frozenset[str] = frozenset()
        self._resident = self._not_withheld()

    @property
    def tools(self) -> tuple[FunctionTool, ...]:
        """The tools that can be called now, in the order of assembly; the same tuple until one is loaded."""
        return self._resident

    def get(self, name: str) -> FunctionTool:
        """Return the tool of exactly this name.

        Raises:
            ToolNotFoundError: there is none, or it is not loaded, with the reason ``deferred``.
        """
        try:
            tool = self._registry.get(name)
        except ToolNotFoundError:
            raise tool_not_found(name, (tool.name for tool in self._resident)) from None
        if self._is_withheld(name):
            raise ToolNotFoundError(
                f"{name} is a deferred tool and is not loaded. {self._way(name)}", reason="deferred"
            )
        return tool

    def schemas(self) -> Sequence[ToolSchema]:
        """Every deferred tool's schema, in the order of assembly."""
        return [tool.schema for tool in self._deferred.values()]

    def load(self, names: Sequence[str]) -> None:
        """Make these tools resident for the rest of the session.

        Raises:
            ToolNotFoundError: a name is that of no deferred tool; none is loaded then.
        """
        for name in names:
            if name not in self._deferred:
                raise ToolNotFoundError(f"no deferred tool is named {name[:100]!r}; nothing was loaded")
        if not self._loaded.issuperset(names):
            self._loaded = self._loaded.union(names)
            self._resident = self._not_withheld()

    def _not_withheld(self) -> tuple[FunctionTool, ...]:
        return tuple(tool for tool in self._registry.tools if not self._is_withheld(tool.name))

    def _is_withheld(self, name: str) -> bool:
        return name in self._deferred and name not in self._loaded

    def _way(self, name: str) -> str:
        if any(tool.name == TOOL_SEARCH for tool in self._registry.tools):
            return f'Load it by {TOOL_SEARCH} with {{"names": ["{name}"]}}, which tells its arguments; then call it.'
        return "Nothing here loads deferred tools."
