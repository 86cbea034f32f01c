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
        self._unasked: object = self._said.settings
        """What was said without being asked for."""
        self._was_pulled = False
        """Whether the settings are an answer."""

    def begin(self, settings: object, trusted: bool | None) -> None:
        """The client has introduced itself."""
        with self._lock:
            self._said = EditorSaid(settings, trusted)
            self._unasked, self._was_pulled = settings, False

    def changed(self, settings: object) -> None:
        """The settings are others now; whether the workspace is trusted stays as it was told."""
        with self._lock:
            self._said = replace(self._said, settings=settings)
            self._unasked, self._was_pulled = settings, False

    def pulled(self, settings: object) -> None:
        """The answer of a client that was asked. None: it has nothing to say, and what it said unasked holds."""
        with self._lock:
            before, is_answer = self._said.settings, settings is not None
            now = settings if is_answer else self._unasked if self._was_pulled else before
            self._was_pulled = is_answer
            if now is not before:
                self._said = replace(self._said, settings=now)

    def trust_changed(self, trusted: bool) -> None:
        """The user trusts the workspace now, or not any more; the settings stay as they were told."""
        with self._lock:
            if trusted is not self._said.trusted:
                self._said = replace(self._said, trusted=trusted)

    def now(self) -> EditorSaid:
        """What holds; the same object until something changes."""
        return self._said
