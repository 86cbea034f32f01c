"""``initialized``: the client takes requests now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..settings_pull import SettingsPull


def initialized(settings: SettingsPull, _params: object) -> None:
    """Ask for its settings."""
    settings.client_is_ready()
