"""Finding ``oldString`` in a text and building what takes its place; pure, on UTF-8 bytes.

Matching is literal and exact with one liberty: a line feed that is not preceded by a carriage return in ``oldString``
matches a CRLF line end as well, because a model sees neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .byte_search import count, find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Span: TypeAlias = tuple[int, int]

_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_LINE_END = rb"(?:\r\n|(?<!\r)\n)"


@dataclass(frozen=True, slots=True)
class Replacement:
    """``new`` takes the place of ``utf8[start:end]``."""

    start: int
    end: int
    new: bytes


def occurrences(utf8: bytes, old: bytes, *, overlapping: bool = False) -> Iterator[Span]:
    """Where ``old`` (not empty) matches, ascending.

    Overlapping places count when the question is whether a place is the only one; they do not when all are replaced.
    """
    if b"\r" in utf8 and _BARE_LINE_FEED.search(old):
        return _across_line_ends(utf8, old, overlapping)
    return _literal(utf8, old, overlapping)


def count_up_to(utf8: bytes, old: bytes, most: int) -> int:
    """How many places without overlap there are; stops counting soon after ``most``."""
    if not _BARE_LINE_FEED.search(old) or b"\r" not in utf8:
        return count(utf8, old)
    found = 0
    for _ in occurrences(utf8, old):
        found += 1
        if found > most:
            break
    return found


def replacements(utf8: bytes, spans: Sequence[Span], new: bytes) -> list[Replacement]:
    """``new`` for each of the ascending spans; a bare line feed in it becomes the line end of that place.

    That is the first line end inside the replaced text, else the one before it, else the one after it.
    """
    if not _BARE_LINE_FEED.search(new):
        return [Replacement(start, end, new) for start, end in spans]
    variants = {end: _BARE_LINE_FEED.sub(lambda _, end=end: end, new) for end in (b"\n", b"\r\n", b"\r")}
    line_ends = _line_ends_at(utf8, spans)
    return [Replacement(start, end, variants[found]) for (start, end), found in zip(spans, line_ends, strict=True)]


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
    """A regular expression, started only where the longest literal part of ``old`` is found.

    The expression has nothing to try twice, so that the work stays linear whatever the text is.
    """
    parts = _BARE_LINE_FEED.split(old)
    longest = max(range(len(parts)), key=lambda index: len(parts[index]))
    anchor = parts[longest] or b"\n"
    most_before = sum(map(len, parts[:longest])) + 2 * longest + 2
    pattern = re.compile(
        _LINE_END.join(b"(%s)" % re.escape(part) if i == longest else re.escape(part) for i, part in enumerate(parts))
    )
    at = anchor_from = 0
    while (found := find(utf8, anchor, anchor_from)) >= 0:
        match = pattern.search(utf8, max(at, found - most_before))
        if match is None:
            return
        yield match.span()
        at = match.start() + 1 if overlapping else match.end()
        anchor_from = match.start(1) + 1 if overlapping else match.end()


def _line_ends_at(utf8: bytes, spans: Iterable[Span]) -> Iterator[bytes]:
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
        yield _line_end(utf8, inside) if inside >= 0 else before or after


def _line_end(utf8: bytes, line_feed: int) -> bytes:
    return b"\r\n" if line_feed and utf8[line_feed - 1] == ord("\r") else b"\n"
