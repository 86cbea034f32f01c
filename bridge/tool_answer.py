"""The answer to a call as the headless client hands it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing import Self

    from .protocol import CallToolResult, ToolError


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """The answer of ``openbuffer/callTool``: ``data`` of a call that ran, or ``error`` of one that did not.

    ``tools_changed``: there are more tools now than when the call began.
    """

    name: str
    is_error: bool
    data: Any = None
    error: ToolError | None = None
    tools_changed: bool = False

    @classmethod
    def from_json(cls, answer: CallToolResult) -> Self:
        """Read the wire form."""
        return cls(
            name=answer["name"],
            is_error=answer["isError"],
            data=answer.get("data"),
            error=answer.get("error"),
            tools_changed=answer.get("toolsChanged", False),
        )

    @property
    def output(self) -> str:
        """The text a person reads: a built-in tool's output, or why there is none."""
        if self.error is not None:
            return self.error["message"]
        data = self.data
        if isinstance(data, dict):
            fields = cast("dict[str, Any]", data)
            return str(fields.get("error") or fields.get("output", ""))
        return "" if data is None else str(data)
