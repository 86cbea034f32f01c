"""Where commands run, and what confines them. Imported as ``openbuffer.sandbox``; importing it touches no host."""

from .errors import CommandStartError, SandboxError, SandboxUnavailableError
from .port import (
    Command,
    Containment,
    Invocation,
    RunResult,
    SandboxClient,
    WrappedCommand,
    WrapsCommands,
    routes_files_through_sandbox,
)
from .settings import SandboxSettings

__all__ = [
    "Command",
    "CommandStartError",
    "Containment",
    "Invocation",
    "RunResult",
    "SandboxClient",
    "SandboxError",
    "SandboxSettings",
    "SandboxUnavailableError",
    "WrappedCommand",
    "WrapsCommands",
    "routes_files_through_sandbox",
]
