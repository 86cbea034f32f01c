"""What tests of the event log share: events, a log over a directory, and what a reader finds there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openbuffer.tools import Capability, CommandTarget, FileChange, FileTarget, Hunk
from openbuffer.tools.adapters.sqlite_log import LogSession, LogSettings, SqliteEventLog
from openbuffer.tools.adapters.sqlite_log_reader import LoggedCall, LogReader
from openbuffer.tools.contract import BeforeState
from openbuffer.tools.events import ToolFinished, ToolIntended, ToolRejected

if TYPE_CHECKING:
    from pathlib import Path

READS = frozenset({Capability.FILE_READ})
WRITES = frozenset({Capability.FILE_WRITE})
RUNS = frozenset({Capability.SHELL})


def intended(call_id: str = "c1", **options: Any) -> ToolIntended:
    """A call that writes, unless told otherwise."""
    given: dict[str, Any] = {
        "attempt": 1,
        "tool": "Edit",
        "capabilities": WRITES,
        "arguments": {"filePath": "a.txt"},
        "targets": (FileTarget(path="/ws/a.txt", access=Capability.FILE_WRITE, place="disk"),),
        "change": None,
    }
    return ToolIntended(call_id=call_id, **{**given, **options})


def reading(call_id: str = "r1") -> ToolIntended:
    """A call that only reads."""
    target = FileTarget(path="/ws/a.txt", access=Capability.FILE_READ, place="disk")
    return intended(call_id, tool="Read", capabilities=READS, targets=(target,))


def running(command: str, call_id: str = "s1") -> ToolIntended:
    """A command."""
    target = CommandTarget(command=command, argv=("/bin/bash", "-c", command), cwd="/ws")
    return intended(call_id, tool="Shell", capabilities=RUNS, targets=(target,), arguments={"command": command})


def changing(before: bytes | None, hunks: tuple[Hunk, ...] = (Hunk(1, "a\n", "b\n"),), **options: Any) -> FileChange:
    """A change of /ws/a.txt."""
    return FileChange(
        path="/ws/a.txt",
        hunks=hunks,
        before_bytes=None if before is None else len(before),
        after_bytes=2,
        before=None if before is None else BeforeState(before, **options),
    )


def finished(call_id: str = "c1", **options: Any) -> ToolFinished:
    """A success, unless told otherwise."""
    given: dict[str, Any] = {"attempt": 1, "tool": "Edit", "outcome": "succeeded", "value": {"success": True}}
    return ToolFinished(call_id=call_id, **{**given, **options})


def rejected(call_id: str = "x1", error_type: str = "PermissionDeniedError") -> ToolRejected:
    """A call that the gate refused."""
    return ToolRejected(call_id=call_id, tool="Edit", error_type=error_type, error="not permitted")


class Desk:
    """A directory of the log, and everything that was told about it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.told: list[str] = []

    def log(self, settings: LogSettings | None = None, **options: Any) -> SqliteEventLog:
        """A log of a session of its own."""
        session = LogSession(face="test", release="1", roots=("/ws",))
        return SqliteEventLog(str(self.directory), session, settings, tell=self.told.append, **options)

    def calls(self) -> list[LoggedCall]:
        """All calls, in order, whole."""
        reader = LogReader(str(self.directory))
        try:
            numbers = [call.number for call in reader.calls()]
            return [reader.call(str(number))[0] for number in reversed(numbers)]
        finally:
            reader.close()

    def outcomes(self) -> list[str]:
        """What became of each call, in order."""
        return [f"{call.call_id} {call.outcome}" for call in self.calls()]

    def artifact(self, sha256: str | None) -> bytes | None:
        """A content by its name."""
        reader = LogReader(str(self.directory))
        try:
            return reader.artifact(sha256 or "")
        finally:
            reader.close()
