"""How many tokens a text takes, estimated without a tokenizer, and texts that keep within a number of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_LETTERS_OF_A_TOKEN: Final = 5
_BLANKS_OF_A_TOKEN: Final = 8
_PIECES: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]{1,3}|[ \t]+|.", re.DOTALL)


def estimated_tokens(text: str) -> int:
    """An estimate from above of what tokenizers of language models make of code.

    Counted are words, where parts of names in camel or snake case are words of their own, one token for each five
    letters of them begun; numbers, one for each three digits begun; runs of blanks, one for each eight of them, and
    none for a single blank; every other ASCII character, line ends included, one; and every other character, one for
    each of its bytes in UTF-8. So a text of several lines has what they have together and one for each line end.
    """
    total = 0
    for match in _PIECES.finditer(text):
        piece = match[0]
        first = piece[0]
        if first in " \t":
            total += (len(piece) + _BLANKS_OF_A_TOKEN - 2) // _BLANKS_OF_A_TOKEN
        elif not first.isascii():
            total += len(piece.encode("utf-8", "replace"))
        elif first.isalpha():
            total += (len(piece) + _LETTERS_OF_A_TOKEN - 1) // _LETTERS_OF_A_TOKEN
        else:
            total += 1
    return total


def lines_within(lines: Iterable[str], max_tokens: int) -> list[str]:
    """The first lines that fit together, with a line end between each two."""
    kept: list[str] = []
    left = max_tokens
    for line in lines:
        left -= estimated_tokens(line) + (1 if kept else 0)
        if left < 0:
            break
        kept.append(line)
    return kept
