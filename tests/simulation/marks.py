"""Texts whose every piece can be told: who added it, once and never again.

What a user types is one character of a range of its own, so that nothing can tear it apart; so is what a command
writes. What an agent adds is one such character as well, or a longer mark.
"""

from __future__ import annotations

import re
from typing import Final

LINES: Final = 3
_AGENT_FIRST, _USER_FIRST, _COMMAND_FIRST = 0xAC00, 0x4E00, 0x3400
_ANY: Final = re.compile("<a[0-9]{3}>|[\uac00-\ud7a3\u4e00-\u9fff\u3400-\u4dbf]")

_ANCHOR: Final = re.compile("k[0-9]")
_BEFORE_LAST: Final = re.compile(" +t")


def base_text(line_end: str, *, ends_with_newline: bool) -> str:
    """The text that everything begins with; each line has an anchor, and characters of every width."""
    text = line_end.join(f"k{number} 😋 é t" for number in range(LINES))
    return text + line_end if ends_with_newline else text


def agent_mark(number: int, *, is_long: bool) -> str:
    return f"<a{number:03}>" if is_long else chr(_AGENT_FIRST + number)


def user_mark(number: int) -> str:
    return chr(_USER_FIRST + number)


def command_mark(number: int) -> str:
    return chr(_COMMAND_FIRST + number)


def marks_in(text: str | None) -> list[str]:
    """All marks, in order."""
    return _ANY.findall(text) if text else []


def is_agents(mark: str) -> bool:
    return mark[0] == "<" or ord(mark) >= _AGENT_FIRST


def anchors_in(text: str | None) -> list[str]:
    """The beginnings of the lines that are there, which nobody ever deletes by themselves."""
    return _ANCHOR.findall(text) if text else []


def plain(text: str | None) -> str:
    """The text without what editors normalise; a file that does not exist holds nothing."""
    if text is None:
        return ""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").removesuffix("\n")


def formatted(text: str) -> str:
    """What an editor makes of a text that it formats on saving."""
    return _BEFORE_LAST.sub("  t", text)


def is_formatting(before: str | None, after: str) -> bool:
    """Whether nothing but blanks and line ends changed."""
    return before is not None and plain(before).replace(" ", "") == plain(after).replace(" ", "")


def lines_of(text: str) -> list[str]:
    """The lines as Read shows them."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if not lines[-1]:
        lines.pop()
    elif text.endswith("\r"):
        lines[-1] += "\r"
    return lines
