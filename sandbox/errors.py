"""Errors of running commands and of sandboxes::

SandboxError
├── SandboxUnavailableError   confinement is asked for and cannot be had; the text names what to install or to change
└── CommandStartError         the command could not be started at all; nothing ran
"""

from __future__ import annotations


class SandboxError(Exception):
    """A sandbox, or the running of a command, failed; the text says what to do next."""


class SandboxUnavailableError(SandboxError):
    """Confinement is asked for and cannot be had. The command was not run, and must not be run without it (S7)."""


class CommandStartError(SandboxError):
    """The command could not be started: no such program or directory, or too long an argument; nothing ran."""
