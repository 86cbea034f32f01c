"""What the command line prints: colours and marks on a terminal, plain text anywhere else."""

from __future__ import annotations

import io
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from openbuffer.tools.support.located import printable

from .output import writing

if TYPE_CHECKING:
    from typing import TextIO

Tone = Literal["good", "bad", "warn", "strong", "faint"]

NARROWEST: Final = 40
PLAIN_WIDTH: Final = 80
"""Columns when nobody looks at a terminal, so that piped output is the same everywhere."""

_SGR: Final[dict[Tone, str]] = {"good": "32", "bad": "31", "warn": "33", "strong": "1", "faint": "2"}
_MARKS: Final[dict[Tone, tuple[str, str]]] = {"good": ("✓", "ok  "), "bad": ("✗", "FAIL"), "warn": ("•", "note")}


@dataclass(frozen=True, slots=True)
class Terminal:
    """A stream and what it can show. Colours follow https://no-color.org."""

    stream: TextIO
    colours: bool
    marks: bool
    width: int

    def print(self, line: str = "") -> None:
        """Write one line and let it be seen at once."""
        with writing():
            self.stream.write(line + "\n")
            self.stream.flush()

    def paint(self, tone: Tone, text: str) -> str:
        """The text in a tone, where there are colours."""
        return f"\x1b[{_SGR[tone]}m{text}\x1b[0m" if self.colours else text

    def mark(self, tone: Tone) -> str:
        """The sign of an outcome: a coloured mark, or a word."""
        sign, word = _MARKS[tone]
        return self.paint(tone, sign if self.marks else word)


def terminal_for(stream: TextIO) -> Terminal:
    """Find out what the stream can show."""
    seen = stream.isatty()
    encoder: object = stream
    if isinstance(encoder, io.TextIOWrapper):
        encoder.reconfigure(errors="backslashreplace")  # a file name that cannot be shown must not end the command
    return Terminal(
        stream,
        colours=seen and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        marks=seen and _can_show(stream, "✓✗•"),
        width=max(NARROWEST, shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns) if seen else PLAIN_WIDTH,
    )


def harmless(text: str) -> str:
    """The text with everything escaped that would act on a terminal; line feeds and tabs stay."""
    return _LINES_AND_TABS.sub(lambda found: printable(found[0]), text)


_LINES_AND_TABS: Final = re.compile(r"[^\n\t]+")


def _can_show(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
