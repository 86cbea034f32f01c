"""``openbuffer/callTool``: run a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..limits import RESULT_MAX_BYTES
from ..protocol import read_tool_call
from ..wire import messages

if TYPE_CHECKING:
    from ..protocol import CallToolResult
    from ..session import Session


async def call_tool(session: Session, params: object) -> messages.Json:
    """Run the call and write its answer; a result that cannot be written is a hard error of that call.

    Raises:
        MalformedParamsError: this is no call.
    """
    result = await session.call(read_tool_call(params))
    try:
        text = messages.dumps(result)
    except messages.NotJsonError as error:
        return _unsendable(result, f"returned something that JSON cannot carry ({error})")
    if len(text) > RESULT_MAX_BYTES:
        return _unsendable(result, f"returned {len(text)} characters; the most is {RESULT_MAX_BYTES}")
    return messages.Json(text)


def _unsendable(result: CallToolResult, why: str) -> messages.Json:
    message = f"{result['name']} {why}; what it did is done"
    failed: CallToolResult = {
        "name": result["name"],
        "isError": True,
        "error": {"type": "ToolResultError", "message": message},
    }
    return messages.Json(messages.dumps(failed))
