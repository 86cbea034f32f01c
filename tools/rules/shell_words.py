"""One word of a shell line: what the shell makes of it, as far as that stands in the line itself.

This reads quotes by itself, and takes from the parser no more than where expansions begin and end; where the two do
not agree on what a word is, there is no word, and the line is not understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN: Final = "\0"
"""Stands in a word's text for what the line does not tell: an expansion, or a pattern of names."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word after quotes are removed.

    Attributes:
        text: with ``UNKNOWN`` for each part that is not known.
        splits: it can become several words, or none.
        tilde: it begins with an unquoted ``~``.
    """

    text: str
    splits: bool = False
    tilde: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether all of it is known."""
        return UNKNOWN not in self.text


ANY_WORDS: Final = Word(UNKNOWN, splits=True)
"""Words that come from elsewhere, such as those that ``xargs`` reads."""


class NoWordError(Exception):
    """The text is not one word, as a shell reads it."""


def read_word(text: str, expansions: Mapping[int, int]) -> Word:
    """Read one word. ``expansions``: where the outermost ones begin in ``text``, and where each of them ends.

    Raises:
        NoWordError: an unquoted blank or operator, a quote that is not closed, or an expansion that was not told.
    """
    if text.startswith("#"):
        raise NoWordError
    return _Reader(text, expansions).read()


class _Reader:
    def __init__(self, text: str, expansions: Mapping[int, int]) -> None:
        self._text = text
        self._expansions = expansions
        self._parts: list[str] = []
        self._splits = False
        self._at = 0

    def read(self) -> Word:
        text = self._text
        while self._at < len(text):
            plain = _PLAIN.match(text, self._at)
            if plain is not None:
                self._parts.append(_TILDE_INSIDE.sub(UNKNOWN, plain.group()))
                self._at = plain.end()
            else:
                self._special(text[self._at])
        return Word("".join(self._parts), splits=self._splits, tilde=text.startswith("~"))

    def _special(self, char: str) -> None:
        if char == "'":
            end = self._find("'", self._at + 1)
            self._take(self._text[self._at + 1 : end], end + 1)
        elif char == '"':
            self._at += 1
            self._double_quoted()
        elif char == "\\":
            self._escape()
        elif self._at in self._expansions:
            end = self._expansions[self._at]
            self._splits = self._splits or not (char in "<>" or self._text[self._at : end] in _NUMBERS)
            self._take(UNKNOWN, end)
        elif char == "$":
            self._dollar()
        elif char in "*?[]{}":
            self._splits = True
            self._take(UNKNOWN, self._at + 1)
        else:
            raise NoWordError

    def _double_quoted(self) -> None:
        text = self._text
        while True:
            plain = _PLAIN_IN_QUOTES.match(text, self._at)
            if plain is not None:
                self._take(plain.group(), plain.end())
            char = text[self._at : self._at + 1]
            if char == '"':
                self._at += 1
                return
            if self._at in self._expansions:
                self._splits = self._splits or "@" in text[self._at : self._expansions[self._at]]
                self._take(UNKNOWN, self._expansions[self._at])
            elif char == "$":
                if _EXPANDS.match(text, self._at):
                    raise NoWordError
                self._take("$", self._at + 1)
            elif char == "\\" and self._at + 1 < len(text):
                escaped = text[self._at + 1]
                kept = {"\n": ""}.get(escaped, escaped) if escaped in '$`"\\\n' else f"\\{escaped}"
                self._take(kept, self._at + 2)
            else:
                raise NoWordError

    def _escape(self) -> None:
        escaped = self._text[self._at + 1 : self._at + 2]
        if not escaped:
            raise NoWordError
        self._take("" if escaped == "\n" else escaped, self._at + 2)

    def _dollar(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if following == "'":
            found = _ANSI_C.match(self._text, self._at)
            if found is None:
                raise NoWordError
            self._take(_decoded(found.group(1)), found.end())
        elif following == '"':
            self._at += 2
            self._double_quoted()
        elif _EXPANDS.match(self._text, self._at):
            raise NoWordError
        else:
            self._take("$", self._at + 1)

    def _take(self, text: str, end: int) -> None:
        self._parts.append(text)
        self._at = end

    def _find(self, char: str, start: int) -> int:
        end = self._text.find(char, start)
        if end < 0:
            raise NoWordError
        return end


# Outside of ASCII a shell may see a blank where there is a letter, by its locale.
# Empty braces are what find and xargs are given; a shell leaves them alone.
_PLAIN: Final = re.compile(r"(?:[\w@%+=:,./^!~#-]|\{\}|[^\x00-\x7f\s])+")
_PLAIN_IN_QUOTES: Final = re.compile(r'[^"$`\\\x00]+')
_TILDE_INSIDE: Final = re.compile(r"(?<=[=:])~")
"""Some shells put a home directory there, as in an assignment."""

_NUMBERS: Final = frozenset({"$?", "$#", "$$"})
_EXPANDS: Final = re.compile(r"\$[\w@*#?$!({\[-]")
_ANSI_C: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|.)", re.DOTALL)
_SIMPLE: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def _decoded(text: str) -> str:
    return _ESCAPE.sub(_decoded_escape, text)


def _decoded_escape(found: re.Match[str]) -> str:
    escape = found.group(1)
    if escape in _SIMPLE:
        return _SIMPLE[escape]
    if escape[0] in "01234567":
        number = int(escape, 8) & 0xFF
    elif escape[0] in "xuU" and len(escape) > 1:
        number = int(escape[1:], 16)
    else:
        return UNKNOWN
    # A NUL ends the word, bytes beyond ASCII are put together by the locale: neither is guessed.
    is_plain = 0 < number < 0x80 or (escape[0] in "uU" and 0x80 <= number < 0xD800)
    return chr(number) if is_plain else UNKNOWN
