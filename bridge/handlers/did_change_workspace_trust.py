"""``openbuffer/didChangeWorkspaceTrust``: the user trusts the workspace now, or not any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..protocol import MalformedParamsError, json_kind

if TYPE_CHECKING:
    from ..editor_settings import EditorSettings
    from ..session import Session
    from ..settings_pull import SettingsPull


def did_change_workspace_trust(session: Session, settings: EditorSettings, pull: SettingsPull, params: object) -> None:
    """Have the settings count by it, and the tools with effects come or go.

    It has a message of its own and is no setting: settings may come from the workspace itself.

    Raises:
        MalformedParamsError: it is neither true nor false.
    """
    trusted = cast("dict[str, Any]", params).get("trusted") if isinstance(params, dict) else None
    if not isinstance(trusted, bool):
        raise MalformedParamsError(f"params.trusted must be true or false, not {json_kind(trusted)}")
    settings.trust_changed(trusted)
    session.change_trust(trusted=trusted)
    pull.pull()
