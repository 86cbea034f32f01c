"""What the doctor finds."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    ``good``: fine. ``note``: works, with a difference worth knowing, or is not needed for the main job.
    ``bad``: the main job does not work without it. ``fix`` says what to do.
    """

    name: str
    state: Literal["good", "note", "bad"]
    detail: str
    fix: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The form of ``openbuffer doctor --json``."""
        wire = {"name": self.name, "state": self.state, "detail": self.detail}
        return wire if self.fix is None else {**wire, "fix": self.fix}


def pip_install(what: str) -> str:
    """The command that installs into this very Python; its environment need not have a pip of its own."""
    return f"python3 -m pip --python {shlex.quote(sys.executable)} install {what}"
