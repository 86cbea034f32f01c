"""``workspace/didChangeConfiguration``: the settings of the editor are others now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ..editor_settings import EditorSettings
    from ..settings_pull import SettingsPull


def did_change_configuration(settings: EditorSettings, pull: SettingsPull, params: object) -> None:
    """Take the section ``openbuffer`` where it comes along, and ask for it where it does not.

    Without it nothing changes by that: many clients send this with no settings, as a hint to ask for them, and a hint
    must not take away what was said before. Null is that there are none any more.
    """
    given = cast("dict[str, Any]", params).get("settings") if isinstance(params, dict) else None
    if isinstance(given, dict) and "openbuffer" in given:
        settings.changed(cast("dict[str, Any]", given)["openbuffer"])
    else:
        pull.pull()
