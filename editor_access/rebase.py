r"""Moving edits to a newer text, where what changed in between has provably nothing to do with them; pure.

An edit is about whole lines: those that it covers, their line ends, and the line end before the first of them. It is
moved only if these lines are in the newer text as they were, and if nobody could say that something changed among
them. What makes that doubtful is refused: a change that can be seen at several places, as when one of equal lines was
deleted, and one of them lies there; and a change that brought or took away the very same lines. Lines that stand
unchanged at another place, with others before them by now, are as good as lines that nobody touched.

The work is bounded, and fast: what is equal in the two texts is never taken apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from .alignment import Run, WorkBudget, common_prefix, common_suffix, shortest_script
from .lines import is_inside_line_end
from .port import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_CHARS: Final = 96  # inserted and deleted; a fast typist needs seconds for that
_STEPS: Final = 200_000
_MOST_SEARCHED: Final = 50_000_000


def rebased_edits(base: str, edits: Sequence[TextEdit], newer: str) -> tuple[TextEdit, ...] | None:
    """The edits of ``base``, ascending and apart, as edits of ``newer``; None where it is not certain that they fit.

    What the edits replace is in ``newer`` as it was. Applying them there gives what the changes in between would have
    made of the edited text.
    """
    if len(base) == len(newer) and base == newer:
        return tuple(edits)
    changes = _Changes(base, newer, _changed(base, newer))
    regions = [*_regions(base, edits)]
    if len(regions) * changes.size * 4 > _MOST_SEARCHED:
        return None
    moved: list[TextEdit] = []
    for region in regions:
        shift = changes.shift(region)
        if shift is None:
            return None
        moved += (TextEdit(edit.start + shift, edit.end + shift, edit.new_text) for edit in region.edits)
    return tuple(moved)


class _Span(NamedTuple):
    """``base[start:end]`` became ``newer[new_start:new_end]``."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class _Region:
    """Lines that edits cover: ``base[start:end]``. A change that ends by ``low`` or begins at ``high`` is outside."""

    start: int
    end: int
    low: int
    high: int
    edits: list[TextEdit]


class _Changes:
    """What changed between two texts, and what can be said of lines that it may have to do with."""

    def __init__(self, base: str, newer: str, spans: list[_Span]) -> None:
        self._base = base
        self._newer = newer
        self._spans = spans
        self.size = sum(span.end - span.start + span.new_end - span.new_start for span in spans)

    def shift(self, region: _Region) -> int | None:
        """By how much the region has moved; None where that is doubtful."""
        before = [span for span in self._spans if span.end <= region.low]
        after = self._spans[len(before) :]
        if after and after[0].start < region.high:
            return None
        shift = sum(span.new_end - span.new_start - span.end + span.start for span in before)
        start, end = region.start + shift, region.end + shift
        lines = self._base[region.start : region.end]
        fits = self._newer.startswith(lines, start) and not any(
            is_inside_line_end(self._newer, at) for at in (start, end)
        )
        if (
            not fits
            or self._is_repeated(self._base, region.start, region.end)
            or self._is_repeated(self._newer, start, end)
            or any(self._is_among(lines, span) for span in self._spans)
        ):
            return None
        free_before = region.start - before[-1].end if before else 0
        free_after = after[0].start - region.end if after else 0
        can_slide = (before and self._can_slide_in(region.start, free_before, shift, -1)) or (
            after and self._can_slide_in(region.end - 1, free_after, shift, 1)
        )
        return None if can_slide else shift

    def _is_repeated(self, text: str, start: int, end: int) -> bool:
        """Whether the lines are there once more, so near that the fewest changes may have moved one to the other."""
        lines = text[start:end]
        return _is_in(lines, text, start - self.size, end - 1) or _is_in(lines, text, start + 1, end + self.size)

    def _is_among(self, lines: str, span: _Span) -> bool:
        """Whether the very lines came or went with a change."""
        around = len(lines) - 1
        return _is_in(lines, self._base, span.start - around, span.end + around) or _is_in(
            lines, self._newer, span.new_start - around, span.new_end + around
        )

    def _can_slide_in(self, at: int, free: int, shift: int, direction: int) -> bool:
        """Whether a change that is ``free`` characters away could as well be seen at ``at``, the end of a region.

        All that lies between would have to be there twice. Asked is only for the quarter that is nearest to the
        region, because a part of a change may have moved and a part not.
        """
        near = min(free // 4, 2 * self.size)
        for text, here in ((self._base, at), (self._newer, at + shift)):
            start, end = (here, here + near + 1) if direction > 0 else (here - near, here + 1)
            again = (start + 1, end + self.size) if direction > 0 else (start - self.size, end - 1)
            if _is_in(text[start:end], text, *again):
                return True
        return False


def _is_in(part: str, text: str, start: int, end: int) -> bool:
    return text.find(part, max(start, 0), max(end, 0)) >= 0


def _changed(base: str, newer: str) -> list[_Span]:
    """What differs: by the fewest characters if they are few, else all from the first to the last difference."""
    if abs(len(base) - len(newer)) <= _MOST_CHARS:
        runs = shortest_script(base, newer, _MOST_CHARS, WorkBudget(_STEPS))
        if runs is not None:
            return [*_between(runs, len(base), len(newer))]
    start = common_prefix(base, newer)
    tail = common_suffix(base, newer, limit=min(len(base), len(newer)) - start)
    return [_Span(start, len(base) - tail, start, len(newer) - tail)]


def _between(runs: Sequence[Run], length: int, new_length: int) -> Iterator[_Span]:
    at = new_at = 0
    for run in (*runs, Run(length, new_length, 0)):
        if run.first > at or run.second > new_at:
            yield _Span(at, run.first, new_at, run.second)
        at, new_at = run.first + run.length, run.second + run.length


def _regions(base: str, edits: Sequence[TextEdit]) -> Iterator[_Region]:
    """The lines that the edits cover; of neighbours and of lines with several edits one region."""
    region: _Region | None = None
    for edit in edits:
        covered = _covered(base, edit)
        if region is not None and covered.start < region.end:
            region = _Region(region.start, covered.end, region.low, covered.high, [*region.edits, edit])
            continue
        if region is not None:
            yield region
        region = covered
    if region is not None:
        yield region


def _covered(base: str, edit: TextEdit) -> _Region:
    first = _line_start(base, edit.start - is_inside_line_end(base, edit.start))
    last = first if edit.end == edit.start else _line_start(base, edit.end)
    end = _line_end(base, edit.end)
    start = first - (2 if base.endswith("\r\n", 0, first) else min(first, 1))
    is_ended = end > last and base[end - 1] in "\r\n"
    return _Region(start, end, start if first else -1, end if is_ended else len(base) + 1, [edit])


def _line_start(text: str, at: int) -> int:
    line_feed = text.rfind("\n", 0, at)
    return max(line_feed, text.rfind("\r", line_feed + 1, at)) + 1


def _line_end(text: str, at: int) -> int:
    """Where the line that ``at`` is in ends, its line end included."""
    line_feed = text.find("\n", at)
    stop = line_feed + 1 if line_feed >= 0 else len(text)
    carriage_return = text.find("\r", at, stop)
    if carriage_return < 0:
        return stop
    return carriage_return + 1 + text.startswith("\n", carriage_return + 1)
