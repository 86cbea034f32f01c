"""What the doctor finds."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec
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
    """The command that installs into this very Python, in any shell.

    An environment need not have a pip of its own, and where it is activated `python3` is its Python: then the pip
    of the Python that it was made from does it.
    """
    own = shlex.quote(sys.executable)
    if find_spec("pip") is not None or sys.prefix == sys.base_prefix:
        return f"{own} -m pip install {what}"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    maker = os.path.join(sys.base_prefix, "bin", version)
    return f"{shlex.quote(maker) if os.path.exists(maker) else 'python3'} -m pip --python {own} install {what}"
