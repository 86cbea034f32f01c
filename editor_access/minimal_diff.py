r"""The smallest edits that turn one text into another, so that cursors, folds and marks elsewhere survive.

Lines are aligned first; a stretch that differs is then narrowed down to characters. The work is bounded: two large
texts that have little in common become few and larger edits, never a long computation. No edit begins or ends
inside a ``\r\n``, where no LSP position can point. Combining marks are characters of their own here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from .alignment import Run, WorkBudget, align_lines, common_prefix, common_suffix, shortest_script
from .lines import line_end_length, terminated_lines
from .port import TextEdit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINE_STEPS = 600_000
_CHARACTER_STEPS = 150_000
# Editors take some thousand edits at once well. Beyond that, those that are closest together become one.
_MAX_EDITS = 5_000


@dataclass(frozen=True, slots=True)
class Span:
    """``before[start:end]`` became ``after[new_start:new_end]``; at least one of the two is not empty."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class Fineness:
    """How far a changed stretch of lines is taken apart into changes of characters.

    At most ``max_changes`` inserted and deleted characters are looked for, and no more than ``max_share`` of all
    characters on both sides. Changes closer together than ``short_gap`` equal characters count as one.
    """

    short_gap: int
    max_changes: int
    max_share: float


class DiffBudget:
    """How much work one comparison may take, or several that have to share it; what is left over stays coarse."""

    def __init__(self) -> None:
        self.lines = WorkBudget(_LINE_STEPS)
        self.characters = WorkBudget(_CHARACTER_STEPS)


# Where less than half is common, or between changes with fewer than eight equal characters, what is equal is mostly
# chance, as the "l" of "hello" and "world"; an edit in such pieces helps no cursor.
_FOR_EDITORS = Fineness(short_gap=8, max_changes=96, max_share=0.5)


def minimal_edits(before: str, after: str, budget: DiffBudget | None = None) -> tuple[TextEdit, ...]:
    """Edits with ``apply_edits(before, edits) == after``: ascending, apart from each other, none without effect.

    An addition or deletion at the end of a text that keeps its last line end leaves that line end alone: editors
    that keep it out of their lines would add or leave a blank line.
    """
    if before == after:
        return ()
    spans = _fewest(changed_spans(before, after, _FOR_EDITORS, budget), _MAX_EDITS)
    spans = _joined((_around_line_ends(before, after, span) for span in spans), gap=0)
    previous_end = spans[-2].end if len(spans) > 1 else 0
    spans[-1] = _before_last_line_end(before, after, spans[-1], previous_end)
    return tuple(TextEdit(s.start, s.end, after[s.new_start : s.new_end]) for s in _joined(spans, gap=0))


def changed_spans(before: str, after: str, fineness: Fineness, budget: DiffBudget | None = None) -> list[Span]:
    """What differs, ascending, any two with something equal in between; empty only for equal texts."""
    whole = _around_whole_lines(before, after)
    old_lines = terminated_lines(before[whole.start : whole.end])
    new_lines = terminated_lines(after[whole.new_start : whole.new_end])
    budget = budget or DiffBudget()
    old_starts = list(accumulate(map(len, old_lines), initial=whole.start))
    new_starts = list(accumulate(map(len, new_lines), initial=whole.new_start))
    spans: list[Span] = []
    for block in _between(align_lines(old_lines, new_lines, budget.lines), len(old_lines), len(new_lines)):
        old_marks = old_starts[block.start : block.end + 1]
        new_marks = new_starts[block.new_start : block.new_end + 1]
        refined = _refined(before, after, old_marks, new_marks, fineness, budget.characters)
        spans += _joined(refined, gap=fineness.short_gap - 1)
    return _joined(spans, gap=0)


def _around_whole_lines(before: str, after: str) -> Span:
    """What differs, widened to line starts and line ends that both texts have."""
    prefix = common_prefix(before, after)
    suffix = common_suffix(before, after, limit=min(len(before), len(after)) - prefix)
    # A return at the very end of what is common may be half of a line end in one of the texts.
    known = prefix - 1 if prefix and before[prefix - 1] == "\r" else prefix
    start = max(before.rfind("\n", 0, known), before.rfind("\r", 0, known)) + 1
    end = len(before) - suffix
    ends = [found for found in (before.find("\n", end), before.find("\r", end)) if found >= 0]
    stop = min(ends) + 1 if ends else len(before)
    if before.startswith("\r\n", stop - 1):
        stop += 1
    return Span(start, stop, start, len(after) - (len(before) - stop))


def _between(runs: Iterable[Run], length: int, new_length: int) -> Iterator[Span]:
    """What lies between matching runs."""
    at, new_at = 0, 0
    for run in (*runs, Run(length, new_length, 0)):
        if run.first > at or run.second > new_at:
            yield Span(at, run.first, new_at, run.second)
        at, new_at = run.first + run.length, run.second + run.length


def _refined(
    before: str, after: str, old_marks: list[int], new_marks: list[int], fineness: Fineness, budget: WorkBudget
) -> list[Span]:
    """The changes of characters in a block of lines, given by where its lines start and where the last one ends."""
    whole = _trimmed(before, after, Span(old_marks[0], old_marks[-1], new_marks[0], new_marks[-1]))
    script = _script(before, after, whole, fineness, budget)
    if script is not None or len(old_marks) != len(new_marks) or not 2 < len(old_marks) <= _MAX_EDITS:
        return script or [whole]
    # Too much for one search, but the block kept its number of lines: line by line there is less to search.
    refined: list[Span] = []
    for index in range(len(old_marks) - 1):
        line = Span(old_marks[index], old_marks[index + 1], new_marks[index], new_marks[index + 1])
        trimmed = _trimmed(before, after, line)
        refined += _script(before, after, trimmed, fineness, budget) or [trimmed]
    return [span for span in refined if span.start < span.end or span.new_start < span.new_end]


def _trimmed(before: str, after: str, span: Span) -> Span:
    """The span without what its two sides have in common at their start and at their end."""
    shorter = min(span.end - span.start, span.new_end - span.new_start)
    prefix = common_prefix(before, after, span.start, span.new_start, shorter)
    suffix = common_suffix(before, after, span.end, span.new_end, shorter - prefix)
    return Span(span.start + prefix, span.end - suffix, span.new_start + prefix, span.new_end - suffix)


def _script(before: str, after: str, span: Span, fineness: Fineness, budget: WorkBudget) -> list[Span] | None:
    """The span's shortest changes of characters; None when there are too many to look for."""
    old, new = before[span.start : span.end], after[span.new_start : span.new_end]
    max_changes = min(fineness.max_changes, int(fineness.max_share * (len(old) + len(new))))
    if abs(len(old) - len(new)) > max_changes or budget.is_spent:
        return None
    runs = shortest_script(old, new, max_changes, budget)
    if runs is None:
        return None
    return [
        Span(
            span.start + piece.start,
            span.start + piece.end,
            span.new_start + piece.new_start,
            span.new_start + piece.new_end,
        )
        for piece in _between(runs, len(old), len(new))
    ]


def _joined(spans: Iterable[Span], *, gap: int) -> list[Span]:
    """The spans, those with at most ``gap`` equal characters between them made one."""
    joined: list[Span] = []
    for span in spans:
        if joined and span.start - joined[-1].end <= gap:
            joined[-1] = Span(joined[-1].start, span.end, joined[-1].new_start, span.new_end)
        else:
            joined.append(span)
    return joined


def _fewest(spans: list[Span], most: int) -> list[Span]:
    """At most ``most`` spans, kept apart where the most equal text lies between them."""
    if len(spans) <= most:
        return spans
    gaps = sorted(range(1, len(spans)), key=lambda index: spans[index].start - spans[index - 1].end)
    cuts = [0, *sorted(gaps[len(gaps) - most + 1 :]), len(spans)]
    return [
        Span(spans[first].start, spans[stop - 1].end, spans[first].new_start, spans[stop - 1].new_end)
        for first, stop in pairwise(cuts)
    ]


def _around_line_ends(before: str, after: str, span: Span) -> Span:
    r"""The span, widened where it would cut a ``\r\n`` of either text in two."""
    start, end, new_start, new_end = span.start, span.end, span.new_start, span.new_end
    if start and before[start - 1] == "\r" and (before.startswith("\n", start) or after.startswith("\n", new_start)):
        start, new_start = start - 1, new_start - 1
    ends_in_return = before.endswith("\r", 0, end) or after.endswith("\r", 0, new_end)
    if ends_in_return and before.startswith("\n", end):
        end, new_end = end + 1, new_end + 1
    return Span(start, end, new_start, new_end)


def _before_last_line_end(before: str, after: str, span: Span, previous_end: int) -> Span:
    """An addition or deletion at the end of the text, moved to before the last line end where that is the same."""
    at_end = span.end == len(before) and span.new_end == len(after)
    length = line_end_length(before)
    line_end = before[len(before) - length :]
    if (
        at_end
        and length
        and (span.start == span.end or span.new_start == span.new_end)
        and span.start - length >= previous_end
        and line_end_length(after) == length
        and after.endswith(line_end)
        and before.endswith(line_end, 0, span.start)
    ):
        return Span(span.start - length, span.end - length, span.new_start - length, span.new_end - length)
    return span
