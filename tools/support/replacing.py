"""Finding ``oldString`` in a text and building what takes its place; pure, on UTF-8 bytes.

Matching is literal and exact with one liberty: a line feed that is not preceded by a carriage return in ``oldString``
matches a CRLF line end as well, because a model sees neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, starmap
from typing import TYPE_CHECKING, Final, TypeAlias

from .byte_search import after_line_feed, count, find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Span: TypeAlias = tuple[int, int]

_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_MOST_REJECTED_BYTES: Final = 20_000_000
_PIECE_BYTES: Final = 1 << 16
_MOST_APART: Final = 10_000
"""Places of one edit that each have a replacement of their own."""


class TooMixedError(Exception):
    """Comparing the line ends of ``oldString`` with those of the text would take too long. Never leaves the tools."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """``new`` takes the place of ``utf8[start:end]``."""

    start: int
    end: int
    new: bytes


def occurrences(utf8: bytes, old: bytes, *, overlapping: bool = False) -> Iterator[Span]:
    """Where ``old`` (not empty) matches, ascending.

    Overlapping places count when the question is whether a place is the only one; they do not when all are replaced.

    Raises:
        TooMixedError: line ends are mixed in both, and nearly match in too many places.
    """
    if b"\r" in utf8 and _BARE_LINE_FEED.search(old):
        return _across_line_ends(utf8, old, overlapping)
    return _literal(utf8, old, overlapping)


def count_up_to(utf8: bytes, old: bytes, most: int) -> int:
    """How many places without overlap there are; ``most + 1`` for more than ``most``."""
    if not _BARE_LINE_FEED.search(old) or b"\r" not in utf8:
        # What is counted in the front stays counted, so that a text full of places is not counted to its end.
        front = count(utf8, old, 0, min(len(utf8), (most + 1) * len(old)))
        return min(front if front > most else count(utf8, old), most + 1)
    found = 0
    for _ in occurrences(utf8, old):
        found += 1
        if found > most:
            break
    return found


def size_after(utf8: bytes, spans: Iterable[Span], new: bytes) -> int:
    """How long the text is with ``new`` for each of the ascending spans; nothing is built."""
    return len(utf8) + sum(len(put) - (end - start) for start, end, put in _each(utf8, spans, new))


def replacements(utf8: bytes, spans: Iterable[Span], new: bytes) -> list[Replacement]:
    """``new`` for each of the ascending spans; a bare line feed in it becomes the line end of that place.

    That is the first line end inside the replaced text, else the one before it, else the one after it. Of very many
    places those near each other are one replacement with what lies between them: a million objects stop every thread
    for as long as Python looks for garbage among them.
    """
    each = _each(utf8, spans, new)
    return [*starmap(Replacement, islice(each, _MOST_APART)), *_in_blocks(utf8, each)]


def common_prefix(one: bytes, other: bytes) -> int:
    """How many bytes both begin with; compares halves, so that the work is done in C."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(one: bytes, other: bytes, most: int) -> int:
    """How many bytes, and not more than ``most``, both end with."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _literal(utf8: bytes, old: bytes, overlapping: bool) -> Iterator[Span]:
    step = 1 if overlapping else len(old)
    at = find(utf8, old)
    while at >= 0:
        yield at, at + len(old)
        at = find(utf8, old, at + step)


def _across_line_ends(utf8: bytes, old: bytes, overlapping: bool) -> Iterator[Span]:
    """Looks for ``old`` with every line end made CRLF, in the text with every line end made CRLF.

    A literal search is linear whatever the bytes are. In the text's own CRLF it finds the very places; where line
    feeds were expanded, a place may be none, and its offsets have to be counted back.
    """
    wanted = _all_crlf(old)
    if count(utf8, b"\n") == count(utf8, b"\r\n"):
        yield from _literal(utf8, wanted, overlapping)
        return
    expanded = _all_crlf(utf8)
    offsets = _Offsets(utf8, expanded)
    explicit = [number for number, part in enumerate(old.split(b"\n")[:-1]) if part.endswith(b"\r")]
    rejected = 0
    at = find(expanded, wanted)
    while at >= 0:
        start = offsets.of(at)
        end = offsets.of(at + len(wanted), remember=False)
        if _holds_explicit_returns(utf8[start:end], old, explicit):
            yield start, end
            at = find(expanded, wanted, at + 1 if overlapping else at + len(wanted))
            continue
        rejected += len(wanted)
        if rejected > _MOST_REJECTED_BYTES:
            raise TooMixedError
        at = find(expanded, wanted, at + 1)


def _all_crlf(text: bytes) -> bytes:
    # Piece by piece, as one replacement in a large text would hold the interpreter for long.
    pieces: list[bytes] = []
    start = 0
    while start < len(text):
        stop = start + _PIECE_BYTES
        stop += text.startswith(b"\r\n", stop - 1)
        pieces.append(text[start:stop].replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        start = stop
    return b"".join(pieces)


def _holds_explicit_returns(found: bytes, old: bytes, explicit: Sequence[int]) -> bool:
    """Whether ``found`` has each carriage return that ``old`` writes itself: those were not put there by expanding."""
    if old.endswith(b"\r") and not found.endswith(b"\r"):
        return False
    if not explicit:
        return True
    lines = found.split(b"\n")
    return all(lines[number].endswith(b"\r") for number in explicit)


class _Offsets:
    """Counts offsets of the expanded text back to the text, line by line and only forward."""

    def __init__(self, text: bytes, expanded: bytes) -> None:
        self._text = text
        self._expanded = expanded
        self._line = self._expanded_line = 0

    def of(self, offset: int, *, remember: bool = True) -> int:
        """The offset in the text; ``remember`` makes the line it is in the first that is asked for again."""
        passed = count(self._expanded, b"\n", self._expanded_line, offset)
        if not passed:
            return self._line + offset - self._expanded_line
        expanded_line = self._expanded.rfind(b"\n", 0, offset) + 1
        most = min(len(self._text), self._line + offset - self._expanded_line)
        line = after_line_feed(self._text, passed, self._line, most)
        if remember:
            self._line, self._expanded_line = line, expanded_line
        return line + offset - expanded_line


def _each(utf8: bytes, spans: Iterable[Span], new: bytes) -> Iterator[tuple[int, int, bytes]]:
    if not _BARE_LINE_FEED.search(new):
        return ((start, end, new) for start, end in spans)
    variants = {end: _BARE_LINE_FEED.sub(lambda _, end=end: end, new) for end in (b"\n", b"\r\n", b"\r")}
    return ((start, end, variants[found]) for start, end, found in _line_ends_at(utf8, spans))


def _in_blocks(utf8: bytes, each: Iterable[tuple[int, int, bytes]]) -> Iterator[Replacement]:
    begin = kept = 0
    parts: list[bytes] = []
    for start, end, new in each:
        if parts and start - begin >= _PIECE_BYTES:
            yield Replacement(begin, kept, b"".join(parts))
            parts = []
        if not parts:
            begin = kept = start
        parts += (utf8[kept:start], new)
        kept = end
    if parts:
        yield Replacement(begin, kept, b"".join(parts))


def _line_ends_at(utf8: bytes, spans: Iterable[Span]) -> Iterator[tuple[int, int, bytes]]:
    first = utf8.find(b"\n")
    before = b""
    after = _line_end(utf8, first) if first >= 0 else (b"\r" if b"\r" in utf8 else b"\n")
    seen = 0
    for start, end in spans:
        # Only what lies between two places is looked at again: one long line with many places stays linear.
        nearest = utf8.rfind(b"\n", seen, start)
        before = _line_end(utf8, nearest) if nearest >= 0 else before
        seen = start
        inside = utf8.find(b"\n", start, end)
        yield start, end, _line_end(utf8, inside) if inside >= 0 else before or after


def _line_end(utf8: bytes, line_feed: int) -> bytes:
    return b"\r\n" if line_feed and utf8[line_feed - 1] == ord("\r") else b"\n"
