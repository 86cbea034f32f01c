"""The gate: a policy is asked twice for every call, and nobody goes around it (X4).

First with the bare targets, before a tool has read any of them or picked disk or editor; then with the whole
plan. So far the one policy allows everything, but it is asked; rules and approvals plug in here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .contract import Capability, FileChange, Target, Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """What is to be judged. ``stage`` is ``targets`` before anything is read, ``plan`` once the change is known."""

    call_id: str
    tool: str
    capabilities: frozenset[Capability]
    targets: tuple[Target, ...]
    stage: Literal["targets", "plan"]
    change: FileChange | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer; ``reason`` names the rule, for the model and the log."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""


class PermissionPolicy(Protocol):
    """Decides one request; pure and quick, never reads a file or asks a person."""

    def decide(self, request: PermissionRequest) -> Decision:
        """Judge the request."""
        ...


@runtime_checkable
class HidesPaths(Protocol):
    """A policy that also knows which paths a tool that walks must leave out, before it comes upon them."""

    def unreadable(self, tool: str, /) -> Unreadable | None:
        """What this tool may not read; None where there is no such thing."""
        ...


class AllowAll:
    """The policy of a session without rules."""

    def decide(self, request: PermissionRequest) -> Decision:  # noqa: ARG002  the port's signature
        """Allow."""
        return Decision("allow")
