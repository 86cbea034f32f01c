r"""Positions, offsets and edits: the arithmetic of LSP text, pure.

Offsets are Python string indices. A position counts its line at LSP line ends (see ``lines``) and its character in
the code units of the negotiated encoding: bytes of UTF-8, 16-bit units of UTF-16, or code points (UTF-32).
A position in the middle of a character means the start of that character. The parts in modules of their own are
offered here as well, so that this is the one module to import from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .edit_evidence import holds_edits, lacks_edits
from .edits import apply_edits
from .lines import is_inside_line_end, line_end_length, line_of, split_lines
from .minimal_diff import minimal_edits

__all__ = [
    "Position",
    "PositionEncoding",
    "Range",
    "apply_edits",
    "character_of_index",
    "holds_edits",
    "index_in_line",
    "is_inside_line_end",
    "lacks_edits",
    "line_of",
    "minimal_edits",
    "pair_surrogates",
    "split_lines",
]

PositionEncoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a document: 0-based line, and 0-based character in code units of the negotiated encoding."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Range:
    """From ``start`` up to, and without, ``end``."""

    start: Position
    end: Position


def index_in_line(line: str, character: int, encoding: PositionEncoding) -> int:
    """The string index in ``line`` of a position's character; past the end of the line means before its line end.

    The work is bounded by the character asked for and done in C, so that a line of a megabyte is no trap.
    """
    is_by_code_point = encoding == "utf-32" or line.isascii()
    if is_by_code_point and character <= len(line) - 2:  # certainly before the line end, whichever that is
        return character
    limit = len(line) - line_end_length(line)
    # Each character takes at least one unit, so the answer lies within the first `character` characters.
    reach = min(character, limit)
    if is_by_code_point:
        return reach
    if encoding == "utf-8":
        return _index_by_utf8(line[:reach], character)
    return _index_by_utf16(line[:reach], character)


def character_of_index(line: str, index: int, encoding: PositionEncoding) -> int:
    """How many code units of the encoding lie before ``line[index]``."""
    if encoding == "utf-32" or line.isascii():
        return index
    # A lone surrogate can arrive through a JSON escape; it is one unit of UTF-16 and, by convention, three of UTF-8.
    if encoding == "utf-8":
        return len(line[:index].encode("utf-8", "surrogatepass"))
    return len(line[:index].encode("utf-16-le", "surrogatepass")) // 2


def pair_surrogates(text: str) -> str:
    """``text`` with each high surrogate that stands right before a low one made the character they mean.

    A client may send the halves of one character in two changes; to the client they are one character again.
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _index_by_utf8(prefix: str, units: int) -> int:
    encoded = prefix.encode("utf-8", "surrogatepass")
    if units >= len(encoded):
        return len(prefix)
    while encoded[units] & 0xC0 == 0x80:  # a continuation byte: go back to where its character starts
        units -= 1
    return len(encoded[:units].decode("utf-8", "surrogatepass"))


def _index_by_utf16(prefix: str, units: int) -> int:
    encoded = prefix.encode("utf-16-le", "surrogatepass")
    if 2 * units >= len(encoded):
        return len(prefix)
    starts_low = 0xDC <= encoded[2 * units + 1] <= 0xDF
    follows_high = units > 0 and 0xD8 <= encoded[2 * units - 1] <= 0xDB
    if starts_low and follows_high:
        units -= 1
    return len(encoded[: 2 * units].decode("utf-16-le", "surrogatepass"))
