"""What a session's OS sandbox lets commands do: the ``[sandbox]`` table as data (S7)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """Read anew for every command, so that a change counts from the next one on.

    ``enabled``: commands are confined, or not run at all. ``network``: whether confined commands have one; without,
    Unix sockets are closed too. ``allow_write``: absolute paths that commands may write besides the workspace and
    temporary files. ``deny_read``: absolute paths that they may not read. ``excluded_commands``: programs by name that
    run unconfined, when the line runs nothing else. ``auto_allow``: a confined command needs no approval.
    """

    enabled: bool = False
    network: bool = False
    allow_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    excluded_commands: tuple[str, ...] = ()
    auto_allow: bool = False
