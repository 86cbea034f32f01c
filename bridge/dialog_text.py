"""Text of files, commands and models, made fit to be shown in a dialog; pure.

It may be meant to deceive: by control characters, marks of writing direction and characters that nobody sees, by lines
that look like the dialog's own, by an end that lies beyond what is shown, and by links, which some clients make of
``[text](address)``. So whatever is not plainly seen is escaped, each line has a mark in front, what is cut tells how
much is missing and keeps its end, and no link is left.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from openbuffer.tools.support.unseen import SHAPELESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE_END: Final = "\u23ce"
"""Stands where a line of a command ends, since some clients show all on one line; as a character, it is escaped."""

_MARKS_MAX: Final = 4
"""Combining marks in a row; more of them cover the text around."""

_UNSEEN: Final = re.compile(f"[{SHAPELESS}]")

_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LINK: Final = re.compile(r"\]\((?=\s*[A-Za-z][A-Za-z0-9+.-]*:)")
_BLANKS: Final = re.compile("[ \u3000]{33,}")  # that many push what follows out of sight
_LINES: Final = re.compile(r"\r\n|\n|\r")


def one_line(text: str, most: int) -> str:
    """The text on one line of at most ``most`` characters, with everything escaped that could deceive."""
    return cut_in_the_middle(_escaped(cut_in_the_middle(text, most)), most)


def marked_lines(text: str, mark: str, *, most_lines: int, most_chars: int) -> list[str]:
    """The lines of a text, each behind ``mark``, within bounds; what is left out is told on a line of its own.

    An end of line at the end of the text begins no line. There may be one line more than ``most_lines``.
    """
    lines = _LINES.split(text)
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    left_out = max(0, len(lines) - most_lines)
    first = most_lines - most_lines // 3 if left_out else len(lines)
    shown = [f"{mark}{one_line(line, most_chars)}" for line in lines[:first]]
    if left_out:
        shown.append(f"({left_out} lines are not shown)")
        shown += [f"{mark}{one_line(line, most_chars)}" for line in lines[len(lines) - most_lines // 3 :]]
    return shown


def cut_in_the_middle(text: str, most: int) -> str:
    """The text, or its beginning and its end with the number of characters between; at most ``most`` characters."""
    if len(text) <= most:
        return text
    gap = f"…({len(text)} characters in all)…"
    kept = max(0, most - len(gap))
    end = kept // 3
    return (text[: kept - end] + gap + text[len(text) - end :])[:most]


def distinct(titles: Iterable[str]) -> Iterator[str]:
    """The titles, of which those that are there already get a number."""
    seen: set[str] = set()
    for title in titles:
        told, number = title, 1
        while told in seen:
            number += 1
            told = f"{title} ({number})"
        seen.add(told)
        yield told


def _escaped(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        text = "".join(_shown(text))
    text = _BLANKS.sub(lambda found: f"…({len(found[0])} blanks)…", text)
    return _LINK.sub(r"]\\(", text)


def _shown(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        is_unseen = category in _UNSEEN_CATEGORIES or (category == "Zs" and character not in " \u3000")
        if is_unseen or marks > _MARKS_MAX or _UNSEEN.match(character) or character == LINE_END:
            yield character.encode("unicode_escape").decode("ascii")
        else:
            yield character
