"""Aligning two sequences within a fixed amount of work.

Two methods. ``shortest_script`` (Myers' greedy search) finds the fewest insertions and deletions, if they are few.
``align_lines`` uses it on what it can and cuts the rest at lines that occur once on both sides (patience). Both give
matching runs; what lies between them is what differs. Both may find less than there is, never anything false.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq, lt
from typing import TypeAlias

Items: TypeAlias = str | Sequence[str]
"""Characters of a text, or lines."""

# Slices of this many characters still lie in a processor's cache when they are compared.
_WINDOW = 1 << 16
_COMPARED_PER_STEP = 256  # a step is about a microsecond; a slice comparison covers this many items in one
_COMPARED_IN_PLACE_PER_STEP = 16
_SEARCHED_PER_STEP = 2
_FEW_CHANGES = 64
_MOSTLY = 7 / 8


@dataclass(frozen=True, slots=True)
class Run:
    """``length`` items from ``first`` of the one sequence equal those from ``second`` of the other."""

    first: int
    second: int
    length: int


@dataclass(slots=True)
class WorkBudget:
    """Steps of work left; a search that finds it spent stops with what it has."""

    steps: int

    def spend(self, steps: int) -> None:
        """Take off work that was done."""
        self.steps -= steps

    @property
    def is_spent(self) -> bool:
        """True when no further work should begin."""
        return self.steps <= 0


def common_prefix(a: Items, b: Items, i: int = 0, j: int = 0, limit: int | None = None) -> int:
    """How many items ``a[i:]`` and ``b[j:]`` have in common at their start, ``limit`` at most."""
    most = min(len(a) - i, len(b) - j) if limit is None else min(len(a) - i, len(b) - j, limit)
    if most <= 0 or a[i] != b[j]:
        return 0
    done, window = 1, 16
    while done < most and a[i + done : i + min(done + window, most)] == b[j + done : j + min(done + window, most)]:
        done = min(done + window, most)
        window = min(window * 4, _WINDOW)
    end = min(done + window, most)  # the first difference, if any, is in done..end
    while done < end:
        middle = (done + end + 1) // 2
        if a[i + done : i + middle] == b[j + done : j + middle]:
            done = middle
        else:
            end = middle - 1
    return done


def common_suffix(a: Items, b: Items, i: int | None = None, j: int | None = None, limit: int | None = None) -> int:
    """How many items ``a[:i]`` and ``b[:j]`` have in common at their end, ``limit`` at most."""
    i = len(a) if i is None else i
    j = len(b) if j is None else j
    most = min(i, j) if limit is None else min(i, j, limit)
    if most <= 0 or a[i - 1] != b[j - 1]:
        return 0
    done, window = 1, 16
    while done < most and a[i - min(done + window, most) : i - done] == b[j - min(done + window, most) : j - done]:
        done = min(done + window, most)
        window = min(window * 4, _WINDOW)
    end = min(done + window, most)
    while done < end:
        middle = (done + end + 1) // 2
        if a[i - middle : i - done] == b[j - middle : j - done]:
            done = middle
        else:
            end = middle - 1
    return done


def shortest_script(a: Items, b: Items, max_changes: int, budget: WorkBudget) -> list[Run] | None:
    """The matching runs of a shortest edit script; None when it has more than ``max_changes`` or work runs out."""
    frontier = {1: 0}  # diagonal (index in a - index in b) -> furthest index in a
    history: list[dict[int, int]] = []
    for changes in range(min(max_changes, len(a) + len(b)) + 1):
        history.append(frontier.copy())
        for diagonal in range(-changes, changes + 1, 2):
            inserted = _is_insertion(frontier, diagonal, changes)
            x = frontier[diagonal + 1] if inserted else frontier[diagonal - 1] + 1
            run = common_prefix(a, b, x, x - diagonal)
            budget.spend(1 + run // _COMPARED_PER_STEP)
            frontier[diagonal] = x = x + run
            if x >= len(a) and x - diagonal >= len(b):
                return _walk_back(history, len(a), len(b))
        if budget.is_spent:
            return None
    return None


def align_lines(a: Sequence[str], b: Sequence[str], budget: WorkBudget) -> list[Run]:
    """Matching runs of lines, ascending in both; where work runs out, a part is left without."""
    runs: list[Run] = []
    blocks = [(0, len(a), 0, len(b))]
    while blocks:
        start_a, end_a, start_b, end_b = blocks.pop()
        prefix = common_prefix(a, b, start_a, start_b, min(end_a - start_a, end_b - start_b))
        if prefix:
            runs.append(Run(start_a, start_b, prefix))
        start_a, start_b = start_a + prefix, start_b + prefix
        suffix = common_suffix(a, b, end_a, end_b, min(end_a - start_a, end_b - start_b))
        if suffix:
            runs.append(Run(end_a - suffix, end_b - suffix, suffix))
        end_a, end_b = end_a - suffix, end_b - suffix
        if start_a == end_a or start_b == end_b or budget.is_spent:
            continue
        block_a, block_b = a[start_a:end_a], b[start_b:end_b]
        script = shortest_script(block_a, block_b, _FEW_CHANGES, budget)
        in_place = _equal_in_place(block_a, block_b, budget)
        # Of two equally good answers, lines that kept their number is the more natural one.
        least = len(block_a) * _MOSTLY if script is None else sum(run.length for run in script)
        if in_place is not None and sum(run.length for run in in_place) >= least:
            script = in_place
        if script is not None:
            runs += (Run(start_a + run.first, start_b + run.second, run.length) for run in script)
            continue
        work = (len(block_a) + len(block_b)) // _SEARCHED_PER_STEP
        if work > budget.steps:
            continue
        budget.spend(work)
        at_a, at_b = start_a, start_b
        anchors = _anchors(block_a, block_b)
        for x, y in anchors:
            # The anchor is the first line of the block that it opens, so it is found there as common prefix.
            blocks.append((at_a, start_a + x, at_b, start_b + y))
            at_a, at_b = start_a + x, start_b + y
        if anchors:
            blocks.append((at_a, end_a, at_b, end_b))
    return sorted(runs, key=lambda run: run.first)


def _is_insertion(frontier: dict[int, int], diagonal: int, changes: int) -> bool:
    """True when ``diagonal`` is reached further by an insertion than by a deletion."""
    return diagonal == -changes or (diagonal != changes and frontier[diagonal - 1] < frontier[diagonal + 1])


def _walk_back(history: list[dict[int, int]], x: int, y: int) -> list[Run]:
    runs: list[Run] = []
    for changes in range(len(history) - 1, -1, -1):
        frontier = history[changes]
        diagonal = x - y
        inserted = _is_insertion(frontier, diagonal, changes)
        entered = frontier[diagonal + 1] if inserted else frontier[diagonal - 1] + 1
        if x > entered:
            runs.append(Run(entered, entered - diagonal, x - entered))
        x, y = (entered, entered - diagonal - 1) if inserted else (entered - 1, entered - diagonal)
    runs.reverse()
    return runs


def _equal_in_place(a: Sequence[str], b: Sequence[str], budget: WorkBudget) -> list[Run] | None:
    """The runs of equal lines that kept their number; None when the sequences differ in length."""
    if len(a) != len(b):
        return None
    budget.spend(len(a) // _COMPARED_IN_PLACE_PER_STEP)
    same = bytes(map(eq, a, b))
    runs: list[Run] = []
    start = same.find(1)
    while start >= 0:
        end = same.find(0, start)
        end = len(same) if end < 0 else end
        runs.append(Run(start, start, end - start))
        start = same.find(1, end)
    return runs


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that occur once in each, as many as are in the same order in both; of neighbours only the first."""
    in_a, in_b = _single_places(a), _single_places(b)
    found = list(map(in_b.get, in_a))
    # Numbers in lists of their own: a million pairs would be a million objects for the garbage collector to visit.
    firsts = [first for first, second in zip(in_a.values(), found, strict=True) if second is not None]
    seconds = [second for second in found if second is not None]
    chosen = _longest_ascending(seconds)
    if chosen is not None:
        firsts, seconds = [firsts[index] for index in chosen], [seconds[index] for index in chosen]
    return [
        (x, y)
        for x, y, before_x, before_y in zip(firsts, seconds, [-2, *firsts], [-2, *seconds], strict=False)
        if x != before_x + 1 or y != before_y + 1
    ]


def _single_places(lines: Sequence[str]) -> dict[str, int]:
    """Where each line that occurs once is, in ascending order."""
    last = dict(zip(lines, range(len(lines)), strict=True))
    if len(last) == len(lines):
        return last
    first = dict(zip(reversed(lines), range(len(lines) - 1, -1, -1), strict=True))
    return {line: place for line, place in last.items() if first[line] == place}


def _longest_ascending(numbers: list[int]) -> list[int] | None:
    """The indices of a longest ascending part of ``numbers``; None when that is all of them."""
    if all(map(lt, numbers, numbers[1:])):
        return None
    tops: list[int] = []  # the least number at which an ascending part of each length can end
    ends: list[int] = []  # where that number is
    before: list[int] = []
    for index, number in enumerate(numbers):
        length = bisect_left(tops, number)
        before.append(ends[length - 1] if length else -1)
        if length == len(tops):
            tops.append(number)
            ends.append(index)
        else:
            tops[length] = number
            ends[length] = index
    longest: list[int] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        longest.append(index)
        index = before[index]
    longest.reverse()
    return longest
