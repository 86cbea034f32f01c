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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactRef:
    """A kept artifact by its content: the SHA-256 as 64 hex digits, and its size in bytes.

    ``complete`` is False where the store kept only the beginning.
    """

    sha256: str
    size: int
    complete: bool = True


class ArtifactWriter(Protocol):
    """Takes the bytes of one artifact in order; nothing is kept unless it is finished."""

    def write(self, data: bytes) -> None:
        """Take more bytes; never raises for a full store or disk: then the artifact ends here and is not complete."""
        ...

    def finish(self) -> ArtifactRef | None:
        """Keep it for good; None when nothing could be kept."""
        ...

    def discard(self) -> None:
        """Keep nothing; safe after :meth:`finish`, which it does not undo."""
        ...


class ArtifactStore(Protocol):
    """Keeps large outputs by their content, out of reach of the tools (X7). Used from worker threads."""

    def create(self) -> ArtifactWriter:
        """Begin an artifact; the caller finishes or discards it."""
        ...

    def read(self, sha256: str) -> bytes | None:
        """The artifact's bytes, or None when it is not kept."""
        ...


class DeferredToolCatalog(Protocol):
    """Tools whose schemas the model has not seen yet (W4)."""

    def schemas(self) -> Sequence[ToolSchema]:
        """Every deferred tool's schema."""
        ...

    def load(self, names: Sequence[str]) -> None:
        """Make these tools resident for the rest of the session."""
        ...
