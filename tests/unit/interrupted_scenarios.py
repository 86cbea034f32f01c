"""Calls that are interrupted, and what interrupts them: in these words ``interrupted_world`` is told what to play."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .interrupted_world import World

BASE: Final = "first\nsame\nlast\n"
AGENT: Final = "AGENT"
DRAFT: Final = "DRAFT"
USER: Final = "USER"
COMMAND: Final = "COMMAND"
OTHER: Final = "OTHER"
TOKENS: Final = (AGENT, DRAFT, USER, COMMAND, OTHER)


Tool = Literal["Read", "Edit", "Write"]
TOOLS: Final[tuple[Tool, ...]] = ("Read", "Edit", "Write")
ClientKind = Literal["plain", "rich", "prompting"]
CLIENTS: Final[tuple[ClientKind, ...]] = ("plain", "rich", "prompting")
Start = Literal["clean", "draft", "outdated", "closed", "no file"]
STARTS: Final[tuple[Start, ...]] = ("clean", "draft", "outdated", "closed", "no file")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A call, the client of its editor, and how file and document stand to each other when it comes."""

    tool: Tool
    client: ClientKind
    start: Start

    def __str__(self) -> str:
        return f"{self.tool}, {self.client}, {self.start}"

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The call's, its path aside."""
        return {
            "Read": {},
            "Edit": {"oldString": "same", "newString": AGENT},
            "Write": {"content": f"{AGENT}\nwritten\n"},
        }[self.tool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that happens during a call.

    ``brings`` the marks that it puts into a text; ``may_lose`` those that it may take out of one, as somebody wanted.
    ``saves_over``: what a tool has written to disk before may be lost as well. ``ends`` the call as cancelled.
    ``leaves_workable``: afterwards the file can be edited as if nothing had happened.
    """

    act: Callable[[World], object]
    brings: frozenset[str] = frozenset()
    may_lose: frozenset[str] = frozenset()
    saves_over: bool = False
    ends: bool = False
    leaves_workable: bool = False


@dataclass(slots=True)
class Ending:
    """What became of the call: its result, or what it raised."""

    result: Any = None
    error: BaseException | None = None
    cancelled: bool = False

    @property
    def success(self) -> bool:
        """Whether it said that it did what it was asked to."""
        return self.result is not None and bool(self.result.success)

    @property
    def text(self) -> str:
        """What the model is told."""
        if self.result is not None:
            return str(self.result.value["output"]) + str(self.result.value.get("error") or "")
        return "" if self.error is None else str(self.error)


@dataclass(slots=True)
class Seen:
    """Every text that document and file were seen to hold, in their order."""

    shown: list[str | None] = field(default_factory=list[str | None])
    disk: list[str | None] = field(default_factory=list[str | None])

    def ever(self, mark: str) -> bool:
        """Whether the mark was in any of them."""
        return self.ever_shown(mark) or self.ever_on_disk(mark)

    def ever_shown(self, mark: str) -> bool:
        """Whether the document ever held it."""
        return any(mark in text for text in self.shown if text)

    def ever_on_disk(self, mark: str) -> bool:
        """Whether the file ever held it."""
        return any(mark in text for text in self.disk if text)
