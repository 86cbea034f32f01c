"""Texts of strangers on one line: without markup, without what acts on a terminal or hides from a reader, and bounded.

For titles and snippets of pages that were found. They are words to read; whatever they say, they stay one value.
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape
from typing import Final

from .unseen import SELECTORS, SHAPELESS

_RAW_CHARS: Final = 8
"""How many times the characters that are shown are looked at, since markup goes away."""

_UNSHOWN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<name>script|style|template|noscript|svg)\b[^<>]*>.*?(?:</(?P=name)\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TAG: Final = re.compile(
    r"</?(?:a|abbr|article|aside|b|bdi|bdo|big|blockquote|body|br|button|center|cite|code|dd|del|details|dfn|div|dl|dt|em|"
    r"embed|figure|figcaption|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|"
    r"mark|meta|nav|object|ol|option|p|pre|q|s|samp|script|section|select|small|span|strike|strong|style|sub|summary|sup|"
    r"svg|table|tbody|td|template|textarea|th|thead|time|title|tr|tt|u|ul|var|video|wbr)(?:\s[^<>]*|/)?>",
    re.IGNORECASE,
)
"""Elements of HTML, and nothing else in such brackets: ``vector<int>`` is a text."""

_BLOCK: Final = re.compile(
    r"</?(?:br|p|div|li|tr|td|th|h[1-6]|dd|dt|hr|blockquote|pre|section|article)\b", re.IGNORECASE
)
_CUT_TAG: Final = re.compile(r"<[^<>]*\Z")
_SPACE: Final = re.compile(r"\s+")
_JOINERS: Final = frozenset("\u200c\u200d")
"""Marks that are part of words (Persian, Hindi) and of emoji, and do nothing else."""

_HIDING: Final = re.compile(f"[{SHAPELESS}{SELECTORS}]")
"""Characters that show nothing, and can carry a text that nobody sees."""


def words_of(value: object, most: int) -> str:
    """The text on one line, of at most so many characters and ``…`` where there is more; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    raw = value[: most * _RAW_CHARS]
    if len(raw) < len(value):
        raw = _CUT_TAG.sub("", raw)
    text = unescape(_TAG.sub(_gap, _UNSHOWN.sub(" ", raw)))
    text = _SPACE.sub(" ", "".join(map(_shown, _HIDING.sub("", text)))).strip()
    if len(text) <= most and len(value) <= most * _RAW_CHARS:
        return text
    return f"{text[: most - 1].rstrip()}…"


def _gap(tag: re.Match[str]) -> str:
    """Blocks stand apart; what only marks words is within them."""
    return " " if _BLOCK.match(tag[0]) else ""


def _shown(character: str) -> str:
    if character.isascii() and character.isprintable():
        return character
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp", "Zs"}:
        return " "
    if category in {"Cf", "Cs", "Co", "Cn"}:
        return character if character in _JOINERS else ""
    return character
