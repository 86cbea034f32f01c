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
        """The editor has saved the document of this path, which may lead through links.

        A file that is not UTF-8, or has a mark that the editor keeps to itself, will not match and be moved, and told.
        """
        tell = self._tell
        if tell is not None:
            # Nothing waits for it, and it ends by itself: it writes a line where commands are noted.
            asyncio.get_running_loop().run_in_executor(None, _tell_of_protected, tell, path, text)


def _tell_of_protected(tell: Callable[[str, bytes], None], path: str, text: str) -> None:
    from openbuffer.sandbox.quarantine.protected import has_protected_name  # noqa: PLC0415  not before the first answer

    real = os.path.realpath(path)
    if has_protected_name(real):
        tell(real, text.encode("utf-8", "replace"))
