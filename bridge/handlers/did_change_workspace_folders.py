"""``workspace/didChangeWorkspaceFolders``: folders were opened and closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..protocol import MalformedParamsError, json_kind
from ..workspace_folders import folder_uris

if TYPE_CHECKING:
    from ..session import Session


def did_change_workspace_folders(session: Session, params: object) -> None:
    """Have the tools work in the new ones.

    Raises:
        MalformedParamsError: there is no event in it.
    """
    event = cast("dict[str, Any]", params).get("event") if isinstance(params, dict) else None
    if not isinstance(event, dict):
        raise MalformedParamsError(f"params.event must be an object {{added, removed}}, not {json_kind(event)}")
    fields = cast("dict[str, Any]", event)
    session.change_folders(folder_uris(fields.get("added")), folder_uris(fields.get("removed")))
