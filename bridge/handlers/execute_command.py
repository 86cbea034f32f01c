"""``workspace/executeCommand``: the two requests again, for clients that can send nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..protocol import CALL_TOOL_COMMAND, LIST_TOOLS_COMMAND, MalformedParamsError, json_kind
from .call_tool import call_tool
from .list_tools import list_tools

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..session import Session


async def execute_command(session: Session, params: object) -> Any:
    """Answer as the request of the same name does.

    Raises:
        MalformedParamsError: no such command, or arguments that it does not take.
    """
    if not isinstance(params, dict):
        raise MalformedParamsError(f"params must be an object {{command, arguments}}, not {json_kind(params)}")
    fields = cast("dict[str, Any]", params)
    command = fields.get("command")
    if command == LIST_TOOLS_COMMAND:
        return await list_tools(session, None)
    if command == CALL_TOOL_COMMAND:
        return await call_tool(session, _call_of(fields))
    raise MalformedParamsError(f"no such command; there are {LIST_TOOLS_COMMAND} and {CALL_TOOL_COMMAND}")


def _call_of(fields: Mapping[str, Any]) -> object:
    """The command's one argument; a progress token may stand in it or, as LSP has it, beside it."""
    arguments = fields.get("arguments")
    given = cast("list[object]", arguments) if isinstance(arguments, list) else []
    if len(given) != 1:
        raise MalformedParamsError(f"{CALL_TOOL_COMMAND} takes one argument, an object {{name, arguments}}")
    call = given[0]
    if not isinstance(call, dict):
        return call
    return {"workDoneToken": fields.get("workDoneToken"), **cast("dict[str, Any]", call)}
