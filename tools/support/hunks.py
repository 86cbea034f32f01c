"""A change as hunks of whole lines: what the gate judges, an approval shows and the record keeps; pure.

A hunk is exact: its lines stand at ``start_line`` in the text before, and putting its new lines there gives the text
after. So it can be undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..contract import Hunk
from .byte_search import count
from .replacing import Replacement, Span, common_prefix, common_suffix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_HUNKS: Final = 1_000
"""More places than that are told as one hunk from the first to the last, which nobody reads one by one."""


def line_hunks(utf8: bytes, changes: Sequence[Replacement]) -> tuple[Hunk, ...]:
    """The hunks of ascending replacements."""
    if len(changes) > _MOST_HUNKS:
        groups = [[*_trimmed(utf8, changes[0]), *changes[1:]]]
    else:
        groups = _grouped(utf8, [trimmed for change in changes for trimmed in _trimmed(utf8, change)])
    hunks: list[Hunk] = []
    line, counted = 1, 0
    for group in groups:
        start, end = _whole_lines(utf8, group[0].start, group[-1])
        line += count(utf8, b"\n", counted, start)
        counted = start
        hunks.append(Hunk(line, utf8[start:end].decode(), _replaced(utf8, start, end, group).decode()))
    return tuple(hunks)


def narrowed(utf8: bytes, after: bytes) -> list[Replacement]:
    """The one replacement of whole lines that turns ``utf8`` into ``after``; none when they are equal."""
    if utf8 == after:
        return []
    same = common_prefix(utf8, after)
    start = utf8.rfind(b"\n", 0, same) + 1
    tail = common_suffix(utf8, after, min(len(utf8), len(after)) - start)
    if tail and not (_at_line_start(utf8, len(utf8) - tail) and _at_line_start(after, len(after) - tail)):
        cut = utf8.find(b"\n", len(utf8) - tail)
        tail = len(utf8) - cut - 1 if cut >= 0 else 0
    return [Replacement(start, len(utf8) - tail, after[start : len(after) - tail])]


def _trimmed(utf8: bytes, change: Replacement) -> Iterator[Replacement]:
    """Without what is the same at both ends: text that was only given to name the place is no change."""
    old, new = utf8[change.start : change.end], change.new
    if old == new:
        return
    head = common_prefix(old, new)
    tail = common_suffix(old, new, min(len(old), len(new)) - head)
    yield Replacement(change.start + head, change.end - tail, new[head : len(new) - tail])


def _grouped(utf8: bytes, changes: Sequence[Replacement]) -> Iterator[list[Replacement]]:
    """Changes whose whole lines touch belong together."""
    group: list[Replacement] = []
    reach = -1
    for change in changes:
        if group and _line_start(utf8, change.start) >= reach:
            yield group
            group = []
        group.append(change)
        _, reach = _whole_lines(utf8, group[0].start, change)
    if group:
        yield group


def _whole_lines(utf8: bytes, first: int, last: Replacement) -> Span:
    start = _line_start(utf8, first)
    whole_new = last.new.endswith(b"\n") or (not last.new and last.start == start)
    if _at_line_start(utf8, last.end) and whole_new:
        return start, last.end
    cut = utf8.find(b"\n", last.end)
    return start, cut + 1 if cut >= 0 else len(utf8)


def _replaced(utf8: bytes, start: int, end: int, group: Sequence[Replacement]) -> bytes:
    parts: list[bytes] = []
    kept = start
    for change in group:
        parts += (utf8[kept : change.start], change.new)
        kept = change.end
    return b"".join([*parts, utf8[kept:end]])


def _line_start(utf8: bytes, offset: int) -> int:
    return utf8.rfind(b"\n", 0, offset) + 1


def _at_line_start(utf8: bytes, offset: int) -> bool:
    return offset == 0 or utf8[offset - 1] == ord("\n")
