"""What the editor saves, for whoever wants to be told: the sandbox, which would take it for a command's work."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Saves:
    """What the editor saves, for whoever wants to be told. Used on the event loop."""

    def __init__(self) -> None:
        self._tell: Callable[[str, bytes], None] | None = None

    def tell_to(self, tell: Callable[[str, bytes], None]) -> None:
        """Have ``tell`` called from now on, in a thread, with a resolved path and the whole content."""
        self._tell = tell

    def saved(self, path: str, text: str) -> None:
        """The editor has saved the document of this path.

        A file that is not UTF-8, or has a mark that the editor keeps to itself, will not match and be moved, and told.
        """
        from openbuffer.sandbox.quarantine.protected import has_protected_name  # noqa: PLC0415  not before the first answer

        tell = self._tell
        if tell is not None and has_protected_name(path):
            # Nothing waits for it, and it ends by itself: it writes a line where commands are noted.
            asyncio.get_running_loop().run_in_executor(
                None, lambda: tell(os.path.realpath(path), text.encode("utf-8", "replace"))
            )
