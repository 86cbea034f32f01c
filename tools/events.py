"""What the event log records: a closed union of plain records, made before and after every call (X2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .contract import Capability, FileChange, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolIntended:
    """A call is about to act: what was judged, and exactly what will be done. Comes before any effect."""

    call_id: str
    attempt: int
    tool: str
    capabilities: frozenset[Capability]
    arguments: Mapping[str, Any]
    targets: tuple[Target, ...]
    change: FileChange | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """What became of an intent. ``outdated``: the before-state had changed, nothing was done, it starts over.

    ``made_on`` is the version of the document that the change was made on, where it had become another one than that
    of the intent: somebody typed elsewhere in it, and the lines of the change moved along.
    """

    call_id: str
    attempt: int
    tool: str
    outcome: Literal["succeeded", "failed", "outdated", "cancelled", "error"]
    value: Any = None
    error: str | None = None
    made_on: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRejected:
    """A call that never got as far as an intent: unknown, malformed, denied, cancelled or failed while preparing."""

    call_id: str
    tool: str
    error_type: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAsked:
    """Somebody is about to be asked about a plan, as it is shown to them: ``change`` has the hunks that are shown.

    ``is_whole``: those are all. ``reason`` is the rule that asks, ``rules`` are those that an answer may bring about.
    """

    call_id: str
    attempt: int
    tool: str
    capabilities: frozenset[Capability]
    reason: str
    targets: tuple[Target, ...]
    change: FileChange | None = None
    is_whole: bool = True
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswered:
    """What became of it; comes before the intent of what was approved. ``withdrawn``: the call was cancelled meanwhile.

    ``reason`` is what was said to it, ``rules`` those that it brought about.
    """

    call_id: str
    attempt: int
    tool: str
    outcome: Literal["once", "session", "always", "no", "dismissed", "timeout", "unavailable", "withdrawn"]
    reason: str = ""
    rules: tuple[str, ...] = ()


Event: TypeAlias = ToolIntended | ToolFinished | ToolRejected | ApprovalAsked | ApprovalAnswered
"""Everything that a log can hold; a new kind is added here and nowhere else."""
