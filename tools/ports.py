"""Ports that a host or a client implements for the tools; pure protocols and data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .schema import ToolSchema


class ProgressPort(Protocol):
    """Takes progress of a running call; must not raise and must not block."""

    def report(self, message: str, *, percentage: int | None = None) -> None:
        """Tell that work went on; ``percentage`` is 0 to 100 where it is known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to the user; ``options`` maps a label to its description (may be empty)."""

    text: str
    options: Mapping[str, str]
    multi_select: bool = False
    free_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one question; only ``answered`` carries values."""

    outcome: Literal["answered", "dismissed", "timeout", "unavailable"]
    values: tuple[str, ...] = ()


class AskPort(Protocol):
    """Puts a question to the user."""

    async def ask(self, question: Question) -> Answer:
        """Ask and wait for the user; cancelling withdraws the question where the client can."""
        ...


class DeferredToolCatalog(Protocol):
    """Tools whose schemas the model has not seen yet (W4)."""

    def schemas(self) -> Sequence[ToolSchema]:
        """Every deferred tool's schema."""
        ...

    def load(self, names: Sequence[str]) -> None:
        """Make these tools resident for the rest of the session."""
        ...
