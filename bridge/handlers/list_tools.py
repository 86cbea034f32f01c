"""``openbuffer/listTools``: the tools there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openbuffer.tools.errors import ToolExecutionError

from ..protocol import RequestFailedError
from ..read_only import UNTRUSTED

if TYPE_CHECKING:
    from openbuffer.tools.contract import FunctionTool

    from ..protocol import ListToolsResult, ToolDescription
    from ..session import Session


async def list_tools(session: Session, _params: object) -> ListToolsResult:
    """Describe every tool; without a workspace folder there is none.

    Raises:
        RequestFailedError: the tools cannot be assembled, for example because the folder is gone.
    """
    await session.ready()
    try:
        result: ListToolsResult = {"tools": [_described(tool) for tool in session.tools()]}
    except ToolExecutionError as error:
        raise RequestFailedError(str(error)) from error
    withheld = session.withheld()
    if withheld:
        result["withheld"] = {"tools": withheld, "reason": UNTRUSTED}
    return result


def _described(tool: FunctionTool) -> ToolDescription:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "capabilities": sorted(tool.capabilities),
    }
