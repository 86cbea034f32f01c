"""What the editor says of the settings, kept from the event loop for whoever reads it; judged in ``config_editor``."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class EditorSaid:
    """The settings as they came; ``trusted`` None: the client does not say whether the user trusts the workspace."""

    settings: object = None
    trusted: bool | None = None


class EditorSettings:
    """What the editor said last. Set from the event loop, read from any thread."""

    def __init__(self, said: EditorSaid | None = None) -> None:
        self._lock = threading.Lock()
        self._said = said or EditorSaid()

    def begin(self, settings: object, trusted: bool | None) -> None:
        """The client has introduced itself."""
        with self._lock:
            self._said = EditorSaid(settings, trusted)

    def changed(self, settings: object) -> None:
        """The settings are others now; whether the workspace is trusted stays as it was told."""
        with self._lock:
            self._said = replace(self._said, settings=settings)

    def now(self) -> EditorSaid:
        """What holds; the same object until something changes."""
        return self._said
