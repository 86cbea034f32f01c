"""The gate: a policy is asked twice for every call, and nobody goes around it (X4).

First with the bare targets, before a tool has read any of them or picked disk or editor; then with the whole
plan. What is to be asked about is put before a person with the plan, and not before there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

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


@runtime_checkable
class LooksAgain(Protocol):
    """A policy whose rules may have changed since the last call."""

    async def look(self) -> None:
        """Take what changed; called before each call is judged. Never raises."""
        ...


class RuleNotKeptError(Exception):
    """A rule counts for this session, and could not be kept for later ones; the text says why."""


@runtime_checkable
class TakesRules(Protocol):
    """A policy that can learn a rule from an answer."""

    def offered(self, request: PermissionRequest, /) -> tuple[str, ...]:
        """The rules with which this request, about which the policy asks, would pass; empty where none would do.

        They mean nothing but what is shown with the request.
        """
        ...

    async def allow(self, rules: Sequence[str], *, always: bool) -> None:
        """Have these rules allow what they say for the rest of the session, or for good.

        Raises:
            RuleNotKeptError: they count for the session alone.
        """
        ...


class AllowAll:
    """The policy of a session without rules."""

    def decide(self, request: PermissionRequest) -> Decision:  # noqa: ARG002  the port's signature
        """Allow."""
        return Decision("allow")
