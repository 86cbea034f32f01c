"""Did a document take an edit, judged by the text that came back (E7).

The user may have typed meanwhile, so the text need not be the expected one. Two comparisons must agree. *Against the
expected text*: is each hunk's new text still there, untouched? *Against the base*: is each hunk's old text gone?
A hunk is taken as held, or as lacking, only when both comparisons say so; all else is left undecided.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from .alignment import common_prefix, common_suffix
from .edits import apply_edits
from .minimal_diff import DiffBudget, Fineness, Span, changed_spans, minimal_edits
from .port import TextEdit

if TYPE_CHECKING:
    from collections.abc import Sequence

_FINE = Fineness(short_gap=1, max_changes=200, max_share=1.0)
# Text that somebody typed at the very place may begin or end like a short new text by chance; this many characters
# hardly do.
_DISTINCTIVE = 4


_LARGE_CHARS = 100_000
_APART_CHARS = 200


def holds_edits(base: str, edits: Sequence[TextEdit], result: str) -> bool:
    """True when ``result`` is ``base`` with all of ``edits``, whatever else changed elsewhere in it.

    False means no more than that it is not certain; ``lacks_edits`` answers the opposite question.

    Raises:
        ValueError: the edits do not fit ``base``.
    """
    return EditEvidence(base, edits).holds(result)


def lacks_edits(base: str, edits: Sequence[TextEdit], result: str) -> bool:
    """True when ``result`` moved on from ``base`` with none of ``edits`` in it: every hunk's old text is untouched.

    Raises:
        ValueError: the edits do not fit ``base``.
    """
    return EditEvidence(base, edits).lacks(result)


class EditEvidence:
    """``holds_edits`` and ``lacks_edits`` for edits that many results are judged against.

    Raises:
        ValueError: at the first question, the edits do not fit ``base``.
    """

    def __init__(self, base: str, edits: Sequence[TextEdit]) -> None:
        self._base = base
        self._edits = edits
        self._hunks: _Hunks | None = None
        self._last: tuple[str, _Verdict] | None = None
        self._is_obvious = False

    def holds(self, result: str) -> bool:
        """As ``holds_edits``."""
        return self._verdict(result) == (True, False)

    def lacks(self, result: str) -> bool:
        """As ``lacks_edits``."""
        return self._verdict(result) == (False, True)

    @cached_property
    def expected(self) -> str:
        """The base with the edits."""
        return apply_edits(self._base, self._edits)

    def is_far_from(self, result: str) -> bool:
        """True for a large text in which all that is new is far from all edits, and none of them is in it."""
        return len(self._base) >= _LARGE_CHARS and self._verdict(result) == (False, True) and self._is_obvious

    def _verdict(self, result: str) -> _Verdict:
        if self._last is None or self._last[0] is not result:
            self._last = result, self._judged(result)
        return self._last[1]

    def _judged(self, result: str) -> _Verdict:
        if result == self.expected:
            return True, False
        obvious = self._obvious(result) if len(self._base) >= _LARGE_CHARS else None
        self._is_obvious = obvious is not None
        if obvious is not None:
            return obvious
        if self._hunks is None:
            self._hunks = _hunks_with_regions(self._base, self._edits)
        old, new = self._hunks
        if not old:
            return True, False
        if result == self._base:
            return False, True
        since_base = _changes(self._base, result)
        untouched, touched = _are_untouched(old, since_base), _are_touched(old, since_base)
        if not (untouched or touched):
            return False, False
        since_expected = _changes(self.expected, result)
        # The way from the text that the document really was is hardly ever the longer one.
        distance = _size(since_base) - _size(since_expected)
        held = touched and distance >= 0 and _are_untouched(new, since_expected)
        lacking = untouched and distance <= 0 and _are_touched(new, since_expected)
        return (held, lacking) if held != lacking else (False, False)

    def _obvious(self, result: str) -> _Verdict | None:
        """The verdict where all that is new is far from all edits, as when somebody typed at one other place.

        That is the usual case, and spares a large text the comparisons, which take up to a second.
        """
        old: list[tuple[int, int]] = []
        new: list[tuple[int, int]] = []
        shift = 0
        for edit in self._edits:
            old.append((edit.start, edit.end))
            new.append((edit.start + shift, edit.start + shift + len(edit.new_text)))
            shift += len(edit.new_text) - (edit.end - edit.start)
        if not old:
            return None
        since_base = _common(self._base, result)
        since_expected = self._common_with_expected(result, *since_base)
        are_in, from_expected = _far_inside(new, self.expected, result, *since_expected)
        are_out, from_base = _far_inside(old, self._base, result, *since_base)
        if are_in == len(new) and not are_out and from_expected <= from_base:
            return True, False
        if are_out == len(old) and not are_in and from_base <= from_expected:
            return False, True
        return None

    def _common_with_expected(self, result: str, prefix: int, suffix: int) -> tuple[int, int]:
        """``_common`` of the expected text, from that of the base, which it equals outside of the edits."""
        base, expected, since_base_prefix = self._base, self.expected, prefix
        head, tail = self._edits[0].start, len(base) - self._edits[-1].end
        if prefix >= head:
            prefix = head + common_prefix(expected, result, head, head)
        room = min(len(expected), len(result)) - prefix
        if suffix < min(tail, min(len(base), len(result)) - since_base_prefix):
            return prefix, min(suffix, room)
        known = min(suffix, tail, room)
        ends = len(expected) - known, len(result) - known
        return prefix, known + common_suffix(expected, result, *ends, room - known)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change since a text was known, with the ways it can be moved left and right to the same outcome.

    One of two equal lines was deleted: nobody can tell which.
    """

    start: int
    end: int
    added: int
    slack_left: int
    slack_right: int


@dataclass(frozen=True, slots=True)
class _Region:
    """A hunk's text on one side; empty for a pure insertion (old side) or deletion (new side).

    ``is_firm``: a change right beside it leaves no doubt about it. ``pieces``: the parts of the region that differ
    from the other side, as start and end; a hunk may hold a few equal characters between its differences.
    """

    start: int
    end: int
    is_firm: bool
    pieces: tuple[tuple[int, int], ...]


_Verdict: TypeAlias = tuple[bool, bool]
"""Whether all hunks are in, and whether none is; both False where it cannot be told."""

_Hunks: TypeAlias = tuple[list[_Region], list[_Region]]
"""Where the hunks' old text is in the base, and where their new text is in the expected text."""


def _common(before: str, result: str) -> tuple[int, int]:
    """How many characters the two begin with, and end with after that."""
    prefix = common_prefix(before, result)
    return prefix, common_suffix(before, result, limit=min(len(before), len(result)) - prefix)


def _far_inside(regions: list[tuple[int, int]], before: str, result: str, prefix: int, suffix: int) -> tuple[int, int]:
    """How many regions of ``before`` lie far inside of what ``result`` begins or ends with as well; and what is left.

    That is the number of characters on both sides between the same beginning and the same end.
    """
    first, last = prefix - _APART_CHARS, len(before) - suffix + _APART_CHARS
    inside = sum(end <= first or start >= last for start, end in regions)
    return inside, len(before) + len(result) - 2 * (prefix + suffix)


def _hunks_with_regions(base: str, edits: Sequence[TextEdit]) -> _Hunks:
    budget = DiffBudget()  # one for all hunks, as there may be thousands
    return _regions(base, _hunks(base, edits, budget), budget)


def _hunks(base: str, edits: Sequence[TextEdit], budget: DiffBudget) -> list[TextEdit]:
    """The edits without what they leave as it is; edits that touch are taken together."""
    joined: list[TextEdit] = []
    for edit in edits:
        if joined and joined[-1].end == edit.start:
            joined[-1] = TextEdit(joined[-1].start, edit.end, joined[-1].new_text + edit.new_text)
        else:
            joined.append(edit)
    return [
        TextEdit(edit.start + part.start, edit.start + part.end, part.new_text)
        for edit in joined
        for part in minimal_edits(base[edit.start : edit.end], edit.new_text, budget)
    ]


def _regions(base: str, hunks: list[TextEdit], budget: DiffBudget) -> _Hunks:
    old: list[_Region] = []
    new: list[_Region] = []
    shift = 0
    for hunk in hunks:
        removed, added = hunk.end - hunk.start, len(hunk.new_text)
        start = hunk.start + shift
        pieces = changed_spans(base[hunk.start : hunk.end], hunk.new_text, _FINE, budget)
        old_pieces = tuple((hunk.start + piece.start, hunk.start + piece.end) for piece in pieces)
        new_pieces = tuple((start + piece.new_start, start + piece.new_end) for piece in pieces)
        # Of a replacement, the old text that still stands there is proof at any length; the new text is not, because
        # what is beside it may be a piece of the old text that was left.
        old_is_firm = removed >= (1 if added else _DISTINCTIVE)
        new_is_firm = not removed and added >= _DISTINCTIVE
        old.append(_Region(hunk.start, hunk.end, old_is_firm, old_pieces))
        new.append(_Region(start, start + added, new_is_firm, new_pieces))
        shift += added - removed
    return old, new


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
    return _Change(span.start, span.end, span.new_end - span.new_start, left, right)


def _size(changes: list[_Change]) -> int:
    """How many characters were removed and added in all."""
    return sum(change.end - change.start + change.added for change in changes)


def _are_untouched(regions: list[_Region], changes: list[_Change]) -> bool:
    """True when each change can be seen at a place where it has no contact with any region.

    A firm region may have contact on one side; with new neighbours on both it may be somewhere else by now.
    """
    if _are_any_cut_loose(regions, changes):
        return False
    ends = [region.end for region in regions]
    return all(any(not _meets(regions, ends, change, move) for move in _moves(change)) for change in changes)


def _are_any_cut_loose(regions: list[_Region], changes: list[_Change]) -> bool:
    """Whether changes can be seen at both ends of a firm region."""
    lows, highs = _reaches(changes)
    return any(
        region.is_firm and all(bisect_left(highs, at) < bisect_right(lows, at) for at in (region.start, region.end))
        for region in regions
    )


def _moves(change: _Change) -> set[int]:
    return {0, -change.slack_left, change.slack_right}


def _meets(regions: list[_Region], ends: list[int], change: _Change, move: int) -> bool:
    low, high = change.start - change.slack_left, change.end + change.slack_right
    start, end = change.start + move, change.end + move
    for index in range(bisect_left(ends, low), len(regions)):
        region = regions[index]
        if region.start > high:
            return False
        if region.start == region.end:
            # Two characters meet here. A change that could be here tears them apart, wherever else it could be.
            return True
        if start < region.end and end > region.start:
            return True
        if not region.is_firm and start <= region.end and end >= region.start:
            return True
    return False


def _are_touched(regions: list[_Region], changes: list[_Change]) -> bool:
    """True when each region has a change that can be seen in one of its pieces; for an empty piece, at it."""
    lows, highs = _reaches(changes)
    return all(
        any(
            _can_be_in(piece, change)
            for piece in region.pieces
            for change in changes[bisect_left(highs, piece[0]) : bisect_right(lows, piece[1])]
        )
        for region in regions
    )


def _reaches(changes: list[_Change]) -> tuple[list[int], list[int]]:
    """Where each change can begin and end at most; both ascend, since one can be moved only up to the next."""
    return [c.start - c.slack_left for c in changes], [c.end + c.slack_right for c in changes]


def _can_be_in(piece: tuple[int, int], change: _Change) -> bool:
    start, end = piece
    low, high = change.start - change.slack_left, change.end + change.slack_right
    if start == end:
        return low <= start <= high
    if change.start == change.end:
        return max(low, start + 1) <= min(high, end - 1)
    return low < end and high > start
