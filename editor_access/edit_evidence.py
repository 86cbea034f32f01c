"""Did a document take an edit, judged by the text that came back (E7).

The user may have typed meanwhile, so the text need not be the expected one. Two comparisons must agree. *Against the
expected text*: is each hunk's new text still there, untouched? *Against the base*: is each hunk's old text gone?
A hunk is taken as held, or as lacking, only when both comparisons say so; all else is left undecided.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .alignment import common_prefix, common_suffix
from .edits import apply_edits
from .minimal_diff import Fineness, Span, changed_spans, minimal_edits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .port import TextEdit

_FINE = Fineness(short_gap=1, max_changes=200, max_share=1.0)
# Text that somebody typed at the very place may begin or end like a short new text by chance; this many characters
# hardly do.
_DISTINCTIVE = 4


def holds_edits(base: str, edits: Sequence[TextEdit], result: str) -> bool:
    """True when ``result`` is ``base`` with all of ``edits``, whatever else changed elsewhere in it.

    False means no more than that it is not certain; ``lacks_edits`` answers the opposite question.

    Raises:
        ValueError: the edits do not fit ``base``.
    """
    expected = apply_edits(base, edits)
    if result == expected:
        return True
    return _verdict(base, expected, result) == (True, False)


def lacks_edits(base: str, edits: Sequence[TextEdit], result: str) -> bool:
    """True when ``result`` moved on from ``base`` with none of ``edits`` in it: every hunk's old text is untouched.

    Raises:
        ValueError: the edits do not fit ``base``.
    """
    expected = apply_edits(base, edits)
    if result == expected:
        return False
    return _verdict(base, expected, result) == (False, True)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change since a text was known, with the ways it can be moved left and right to the same outcome.

    One of two equal lines was deleted: nobody can tell which.
    """

    start: int
    end: int
    slack_left: int = 0
    slack_right: int = 0


def _verdict(base: str, expected: str, result: str) -> tuple[bool, bool]:
    """Whether all hunks are in, and whether none is; both False where it cannot be told."""
    if base == expected:
        return True, False
    if result == base:
        return False, True
    old: list[tuple[int, int]] = []
    new: list[tuple[int, int]] = []
    shift = 0
    for hunk in minimal_edits(base, expected):
        old.append((hunk.start, hunk.end))
        new.append((hunk.start + shift, hunk.start + shift + len(hunk.new_text)))
        shift += len(hunk.new_text) - (hunk.end - hunk.start)
    since_base, since_expected = _changes(base, result), _changes(expected, result)
    held = _are_untouched(new, since_expected) and _are_touched(old, since_base)
    lacking = _are_untouched(old, since_base) and _are_touched(new, since_expected)
    return (held, lacking) if held != lacking else (False, False)


def _changes(before: str, after: str) -> list[_Change]:
    spans = changed_spans(before, after, _FINE)
    bounds = [Span(0, 0, 0, 0), *spans, Span(len(before), len(before), len(after), len(after))]
    return [
        _with_slack(
            before, after, span, room_left=span.start - bounds[index].end, room_right=bounds[index + 2].start - span.end
        )
        for index, span in enumerate(spans)
    ]


def _with_slack(before: str, after: str, span: Span, *, room_left: int, room_right: int) -> _Change:
    if span.start == span.end:
        left = common_suffix(before, after, span.start, span.new_end, room_left)
        right = common_prefix(before, after, span.start, span.new_start, room_right)
    elif span.new_start == span.new_end:
        left = common_suffix(before, before, span.start, span.end, room_left)
        right = common_prefix(before, before, span.start, span.end, room_right)
    else:
        left = right = 0
    return _Change(span.start, span.end, left, right)


def _are_untouched(regions: list[tuple[int, int]], changes: list[_Change]) -> bool:
    """True when each change can be seen at a place where it has no contact with any region."""
    ends = [end for _, end in regions]
    return all(
        any(
            not _meets(regions, ends, change.start + move, change.end + move)
            for move in {0, -change.slack_left, change.slack_right}
        )
        for change in changes
    )


def _meets(regions: list[tuple[int, int]], ends: list[int], start: int, end: int) -> bool:
    for index in range(bisect_left(ends, start), len(regions)):
        region_start, region_end = regions[index]
        if region_start > end:
            return False
        overlaps = start < region_end and end > region_start
        if overlaps or region_end - region_start < _DISTINCTIVE:
            return True
    return False


def _are_touched(regions: list[tuple[int, int]], changes: list[_Change]) -> bool:
    """True when each region has a change that can be seen in it; for an empty region, at it."""
    # Both ascend, since a change can be moved only up to the next one.
    lows = [change.start - change.slack_left for change in changes]
    highs = [change.end + change.slack_right for change in changes]
    return all(
        any(
            _can_be_in(region, change)
            for change in changes[bisect_left(highs, region[0]) : bisect_right(lows, region[1])]
        )
        for region in regions
    )


def _can_be_in(region: tuple[int, int], change: _Change) -> bool:
    start, end = region
    low, high = change.start - change.slack_left, change.end + change.slack_right
    if start == end:
        return low <= start <= high
    if change.start == change.end:
        return max(low, start + 1) <= min(high, end - 1)
    return low < end and high > start
