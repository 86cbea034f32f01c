"""What the demo shows and what it checks: steps, tool calls, disk beside editor, claims."""

from __future__ import annotations

import json
import os
import textwrap
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ..client import ToolAnswer
    from .terminal import Terminal, Tone

WIDTH_MAX: Final = 100
"""Wider panels are harder to compare by eye."""

INDENT: Final = "   "

MARK_COLUMNS: Final = 5
"""What the mark of a claim and the blank behind it take at most."""


class DemoError(Exception):
    """The demo cannot go on; the text says why and what to do."""


class ClaimError(DemoError):
    """Something that the demo claims is not true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """What an editor shows of a file, and whether it has that on disk."""

    text: str
    modified: bool


class DemoEditor(Protocol):
    """An editor with a user in front of it and the server behind it."""

    @property
    def name(self) -> str:
        """What it is, with its version."""
        ...

    @property
    def process_ids(self) -> Sequence[int]:
        """The processes that must be gone at the end: the server, and the editor where it is one."""
        ...

    async def type_over(self, path: Path, line: int, text: str) -> None:
        """The user replaces a line (1-based) and does not save."""
        ...

    async def type_when_edited(self, path: Path, line: int, text: str) -> None:
        """The same, at the moment when the agent's next edit arrives."""
        ...

    async def buffer(self, path: Path) -> Buffer:
        """What the user sees."""
        ...

    async def save(self, path: Path) -> None:
        """The user saves."""
        ...

    async def last_apply_answer(self) -> Mapping[str, Any]:
        """What the editor told the server about its latest edit."""
        ...

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """The agent calls a tool through the editor's connection."""
        ...


def own_directories(own: str) -> dict[str, str]:
    """Variables by which settings, logs, state and sockets of what the demo starts are in a directory of its own."""
    names = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
    return {**dict.fromkeys(names, own), "NVIM_LOG_FILE": os.path.join(own, "log")}


class Stage:
    """Prints the story and stops it at the first claim that does not hold."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._width = min(terminal.width, WIDTH_MAX)
        self._steps = 0
        self._claims = 0

    @property
    def claims(self) -> int:
        """How many claims held so far."""
        return self._claims

    def title(self, text: str) -> None:
        """The headline of the whole."""
        self._headline(text)

    def step(self, title: str, story: str) -> None:
        """Begin the next step."""
        self._steps += 1
        self._terminal.print()
        self._headline(f"{self._steps}. {title}")
        self._paragraph(story)

    def call(self, name: str, arguments: Mapping[str, Any], answer: ToolAnswer, workspace: Path) -> None:
        """A tool call and what it answered; the workspace's own path is left out of both."""

        def short(text: str) -> str:
            return text.replace(f"{workspace}{os.sep}", "")

        self._terminal.print()
        self._terminal.print(INDENT + self._terminal.paint("strong", f"the agent calls {name}"))
        for key, value in arguments.items():
            self._lines(f"{key}: {json.dumps(short(value))}", INDENT + "    ", "faint")
        for line in answer.output.splitlines() or ["(no output)"]:
            self._lines(short(line).expandtabs(4), INDENT + "  > ", "warn" if answer.is_error else "good")

    def side_by_side(self, path: Path, buffer: Buffer | None) -> None:
        """The file on disk beside what the editor shows; None: the editor does not have it open."""
        half = (self._width - len(INDENT) - 3) // 2
        disk = path.read_text(encoding="utf-8").splitlines()
        state = "not open" if buffer is None else "unsaved" if buffer.modified else "saved"
        shown = disk if buffer is None else buffer.text.splitlines()
        self._terminal.print()
        self._row(f"on disk: {path.name}", f"in the editor: {path.name} ({state})", " ", half, "strong")
        self._row("-" * half, "-" * half, " ", half, "faint")
        for left, right in zip_longest(disk, shown, fillvalue=""):
            same = left == right
            self._row(left, "" if buffer is None else right, " " if same else "|", half, "faint" if same else "warn")
        self._terminal.print()

    def claim(self, text: str, holds: bool) -> None:
        """Show that something is true.

        Raises:
            ClaimError: it is not.
        """
        tone: Tone = "good" if holds else "bad"
        mark = self._terminal.mark(tone)
        for line in textwrap.wrap(text, self._width - len(INDENT) - MARK_COLUMNS):
            self._terminal.print(f"{INDENT}{mark} {line}")
            mark = " " * (1 if self._terminal.marks else MARK_COLUMNS - 1)
        if not holds:
            raise ClaimError(f"this is not true: {text}")
        self._claims += 1

    def space(self) -> None:
        """An empty line."""
        self._terminal.print()

    def _headline(self, text: str) -> None:
        for line in textwrap.wrap(text, self._width):
            self._terminal.print(self._terminal.paint("strong", line))

    def _paragraph(self, text: str) -> None:
        for line in textwrap.wrap(text, self._width - len(INDENT)):
            self._terminal.print(INDENT + line)

    def _lines(self, text: str, prefix: str, tone: Tone) -> None:
        wrapped = textwrap.wrap(text, self._width - len(prefix)) or [""]
        for line in wrapped:
            self._terminal.print((prefix + self._terminal.paint(tone, line)).rstrip())
            prefix = " " * len(prefix)

    def _row(self, left: str, right: str, between: str, half: int, tone: Tone) -> None:
        left, right = _fit(left, half), _fit(right, half)
        self._terminal.print(INDENT + self._terminal.paint(tone, f"{left:<{half}} {between} {right}".rstrip()))


def _fit(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 3] + "..."
