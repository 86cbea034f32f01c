r"""Contents compared modulo what editors normalise without telling: a mark, line ends, one final line end; pure.

Large contents are taken piece by piece and left at the first difference: nothing is copied whole, and in a worker
thread no step holds the interpreter for more than a moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr, Final, Generic, NamedTuple

from .alignment import common_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE: Final = 1 << 16


class _Signs(NamedTuple, Generic[AnyStr]):
    nothing: AnyStr
    mark: AnyStr
    line_feed: AnyStr
    carriage_return: AnyStr
    both: AnyStr


_IN_TEXT: Final = _Signs("", "\ufeff", "\n", "\r", "\r\n")
_IN_BYTES: Final = _Signs(b"", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n")


def same_text(one: str, other: str) -> bool:
    """Whether two texts differ at most in what editors normalise."""
    if one is other or (len(one) == len(other) and one == other):
        return True
    start, other_start = _start(one, _IN_TEXT), _start(other, _IN_TEXT)
    end, other_end = _end(one, _IN_TEXT), _end(other, _IN_TEXT)
    same = common_prefix(one, other, start, other_start, min(end - start, other_end - other_start))
    if same and one.startswith("\r", start + same - 1):
        same -= 1  # it may be half of a line end in one of the two
    rest = _pieces(one, start + same, end, _IN_TEXT)
    return same_stream(rest, _pieces(other, other_start + same, other_end, _IN_TEXT))


def plain_pieces(text: str) -> Iterator[str]:
    r"""The text without what is normalised: no mark, ``\n`` for every line end, no final one. No piece is empty."""
    return _pieces(text, _start(text, _IN_TEXT), _end(text, _IN_TEXT), _IN_TEXT)


def plain_byte_pieces(data: bytes) -> Iterator[bytes]:
    """The same of bytes: UTF-8, or an encoding in which the bytes of a line end are never part of a character."""
    return _pieces(data, _start(data, _IN_BYTES), _end(data, _IN_BYTES), _IN_BYTES)


def pieces_of(content: AnyStr) -> Iterator[AnyStr]:
    """All of a content as it is. No piece is empty."""
    return (content[start : start + _PIECE] for start in range(0, len(content), _PIECE))


def same_stream(one: Iterator[AnyStr], other: Iterator[AnyStr]) -> bool:
    """Whether two streams of pieces, none of them empty, come to the same; read no further than they do."""
    left, right = next(one, None), next(other, None)
    while left is not None and right is not None:
        shorter = min(len(left), len(right))
        if left[:shorter] != right[:shorter]:
            return False
        left = left[shorter:] or next(one, None)
        right = right[shorter:] or next(other, None)
    return left is None and right is None


def _start(content: AnyStr, signs: _Signs[AnyStr]) -> int:
    return len(signs.mark) if content.startswith(signs.mark) else 0


def _end(content: AnyStr, signs: _Signs[AnyStr]) -> int:
    """Where the content ends without one final line end."""
    if content.endswith(signs.both):
        return len(content) - 2
    return len(content) - (content[-1:] in {signs.line_feed, signs.carriage_return})


def _pieces(content: AnyStr, start: int, end: int, signs: _Signs[AnyStr]) -> Iterator[AnyStr]:
    while start < end:
        stop = min(start + _PIECE, end)
        if stop < end and content.startswith(signs.both, stop - 1):
            stop += 1
        piece = content[start:stop]
        if signs.carriage_return in piece:
            piece = piece.replace(signs.both, signs.line_feed).replace(signs.carriage_return, signs.line_feed)
        yield piece
        start = stop
