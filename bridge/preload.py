"""What the first call of a session needs, imported before a server that listens lets anybody in.

Over stdio it is imported late, so that the one client has its first answer early. Where many clients share an event
loop, half a second of imports in the session of one would keep all others waiting.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

_MODULES: Final = (
    "openbuffer.bridge.assembly",
    "openbuffer.bridge.environment",
    "openbuffer.sandbox.detect",
    "openbuffer.sandbox.confinement.mount_table",
    "openbuffer.sandbox.os_client",
    "openbuffer.sandbox.confinement.places",
    "openbuffer.sandbox.quarantine.watch",
    "openbuffer.sandbox.quarantine.journal",
    "openbuffer.sandbox.confinement.scratch",
    "openbuffer.sandbox.confinement.unconfined",
    "openbuffer.sandbox.confinement.waiting",
    "openbuffer.sandbox.confinement.words",
    "openbuffer.tools.adapters.brave_search",
    "openbuffer.tools.adapters.task_memory",
    "openbuffer.tools.builtin.codebase_retrieval",
    "openbuffer.tools.builtin.web_fetch",
)


def import_tools() -> None:
    """Import it; takes as long as the first call of a session over stdio does."""
    for name in _MODULES:
        import_module(name)
