"""Edits move to a newer text only where nobody could say that they are touched by what changed.

The model knows what the code under test has to find out: which characters of the newer text are those of the base.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from openbuffer.editor_access.port import TextEdit
from openbuffer.editor_access.rebase import rebased_edits
from openbuffer.editor_access.text import apply_edits, split_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.contract("T12")


@dataclass(frozen=True)
class Typed:
    """Replace ``removed`` characters at ``at`` (both modulo what is there) by ``added``."""

    at: int
    removed: int
    added: str


class Model:
    """A text under changes, each character with its place in the base; -1 for one that was typed."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.characters = [*zip(base, range(len(base)), strict=True)]

    @property
    def text(self) -> str:
        return "".join(character for character, _ in self.characters)

    def type(self, typed: Typed) -> None:
        at = typed.at % (len(self.characters) + 1)
        self.characters[at : at + typed.removed] = [(character, -1) for character in typed.added]

    def merged(self, edits: Sequence[TextEdit]) -> str | None:
        """The newer text with the edits; None where one of the lines that they cover was touched."""
        moved: list[TextEdit] = []
        for edit in edits:
            start, end = covered(self.base, edit)
            at = 0 if start < 0 else next((i for i, (_, place) in enumerate(self.characters) if place == start), None)
            if at is None:
                return None
            first = max(start, 0)
            wanted = [*range(first, min(end, len(self.base)))]
            if [place for _, place in self.characters[at : at + len(wanted)]] != wanted:
                return None
            if end > len(self.base) and at + len(wanted) != len(self.characters):
                return None
            moved.append(TextEdit(edit.start - first + at, edit.end - first + at, edit.new_text))
        return apply_edits(self.text, moved)


def covered(base: str, edit: TextEdit) -> tuple[int, int]:
    """The lines of the edit with the line end before; beyond the text where there is none before or after."""
    lines = split_lines(base)
    starts = [sum(map(len, lines[:index])) for index in range(len(lines) + 1)]
    first = max(index for index in range(len(lines)) if starts[index] <= edit.start)
    last = max(index for index in range(len(lines)) if starts[index] <= edit.end)
    start = -1 if not first else starts[first] - (2 if lines[first - 1].endswith("\r\n") else 1)
    return start, len(base) + 1 if last == len(lines) - 1 else starts[last + 1]


def after(base: str, typed: Sequence[Typed]) -> Model:
    model = Model(base)
    for change in typed:
        model.type(change)
    return model


PLAIN = ["", "a", "b", "ab", "abab", "aab", "x y"]
PLACES = st.integers(0, 60)
PIECES = st.text("ab", min_size=1, max_size=3) | st.sampled_from(["\n", "a\n", "\na", "ab\r\n", "\nab", "abab\n"])
TYPING = st.lists(st.builds(Typed, PLACES, st.just(0), PIECES), min_size=1, max_size=4)
DELETING = st.lists(st.builds(Typed, PLACES, st.integers(1, 9), st.just("")), min_size=1, max_size=4)
BOTH = st.lists(st.builds(Typed, PLACES, st.integers(0, 4), PIECES | st.just("")), min_size=1, max_size=4)


@st.composite
def texts(draw: st.DrawFn, lines: Sequence[str], *, unique: bool = False) -> str:
    return draw(st.sampled_from(["\n", "\r\n"])).join(draw(st.lists(st.sampled_from(lines), max_size=9, unique=unique)))


@st.composite
def edits_of(draw: st.DrawFn, base: str) -> list[TextEdit]:
    cuts = [at for at in range(len(base) + 1) if not at or not base.startswith("\r\n", at - 1)]
    places = sorted(draw(st.lists(st.sampled_from(cuts), min_size=2, max_size=4)))
    edits = [TextEdit(start, end, draw(st.text("AB\n", max_size=3))) for start, end in batched(places)]
    assume(all(one.end < other.start for one, other in pairwise(edits)))
    return edits


def batched(places: list[int]) -> list[tuple[int, int]]:
    return [*zip(places[::2], places[1::2], strict=False)]


@settings(max_examples=500)
@given(st.data(), texts(PLAIN), TYPING | DELETING)
def test_the_edit_lands_where_it_was_meant_and_what_was_typed_stays_or_it_is_refused(
    data: st.DataObject, base: str, typed: list[Typed]
) -> None:
    edits = data.draw(edits_of(base))
    model = after(base, typed)
    rebased = rebased_edits(base, edits, model.text)
    merged = model.merged(edits)
    if rebased is not None and merged is not None:
        assert apply_edits(model.text, rebased) == merged


@settings(max_examples=300)
@given(st.data(), texts([f"{number} {chr(96 + number)}" for number in range(1, 20)], unique=True), BOTH)
def test_among_lines_that_differ_typing_and_deleting_may_mix(
    data: st.DataObject, base: str, typed: list[Typed]
) -> None:
    edits = data.draw(edits_of(base))
    model = after(base, typed)
    rebased = rebased_edits(base, edits, model.text)
    merged = model.merged(edits)
    if rebased is not None:
        assert [base[e.start : e.end] for e in edits] == [model.text[e.start : e.end] for e in rebased]
    if rebased is not None and merged is not None:
        assert apply_edits(model.text, rebased) == merged


@settings(max_examples=300)
@given(st.data(), texts(PLAIN), TYPING | DELETING)
def test_one_change_of_covered_lines_is_always_seen(data: st.DataObject, base: str, typed: list[Typed]) -> None:
    edits = data.draw(edits_of(base))
    model = after(base, typed[:1])
    assume(model.text != base)
    if model.merged(edits) is None:
        assert rebased_edits(base, edits, model.text) is None


CODE = [f"    call_{number}(argument, {number * 7})" for number in range(60)]


@settings(max_examples=40)
@given(
    st.sampled_from(["\n", "\r\n"]),
    st.integers(0, 59),
    st.lists(st.tuples(st.integers(0, 59), st.integers(5, 20), st.sampled_from(["y", "word", "é😋"])), max_size=20),
)
def test_what_is_typed_some_lines_away_never_holds_up_an_edit(
    end: str, line: int, marks: list[tuple[int, int, str]]
) -> None:
    base = end.join(CODE)
    start = base.index(CODE[line])
    edits = [TextEdit(start + 4, start + 8, "run")]
    model = Model(base)
    for other, column, mark in marks:
        if abs(other - line) > 2:
            place = next(i for i, (_, at) in enumerate(model.characters) if at == base.index(CODE[other]) + column)
            model.type(Typed(place, 0, mark))
    rebased = rebased_edits(base, edits, model.text)
    assert rebased is not None
    assert apply_edits(model.text, rebased) == model.merged(edits)


@pytest.mark.parametrize(
    ("base", "old", "newer"),
    [
        ("a\nold\nb\n", "old", "a\noldy\nb\n"),  # in the line
        ("a\nold\nb\n", "old", "a\nyold\nb\n"),
        ("a\nold\nb\n", "old", "a\nold\r\nb\n"),  # its line end
        ("a\nold\nb\n", "old", "aold\nb\n"),  # the line end before
        ("a\nold\nb\n", "old", "a\nb\n"),  # the line itself
        ("old\nb\n", "old", "new\nold\nb\n"),  # before the first line
        ("a\nold", "old", "a\nold\n"),  # the end of the last line
        ("a\nold\nold\nb\n", "old\nb", "a\nold\nb\n"),  # one of two equal lines
        ("a\nold\nb\n", "old", "a\nold\nold\nb\n"),  # a second one
        ("a\nold\n" + "b\n" * 99, "old", "a\nold\nc\nold\nz\n" + "b\n" * 98),  # a copy, and a change of the original
        ("a\r\nold\r\nb\r\n", "old", "a\nold\nb\n"),  # all line ends
        ("one\nold\ntwo\nthree\n", "old", "one\ntwo\nold\nthree\n"),  # this line or the next one was moved
        ("a\nold\nb\n", "old", ""),
    ],
)
def test_a_change_at_the_edited_lines_or_one_that_may_be_there_is_refused(base: str, old: str, newer: str) -> None:
    start = base.index(old)
    assert rebased_edits(base, [TextEdit(start, start + 3, "new")], newer) is None


@pytest.mark.parametrize(
    ("base", "newer", "expected"),
    [
        ("first\nold\nlast\n", "first line\nold\nlast\n", "first line\nnew\nlast\n"),
        ("first\nold\nlast\n", "first\nold\nthe last\n", "first\nnew\nthe last\n"),
        ("first\nold\nlast one\n", "0\nfirst\nold\nlast two\n", "0\nfirst\nnew\nlast two\n"),
        ("first\r\nold\r\nlast\r\n", "fi\r\nrst\r\nold\r\nlast", "fi\r\nrst\r\nnew\r\nlast"),
        ("first\nold\nlast\n", "first\nold\nlast\n", "first\nnew\nlast\n"),
        ("first\nold\nlast\n", "x" * 9_000 + "first\nold\nlast\n", "x" * 9_000 + "first\nnew\nlast\n"),  # a large paste
    ],
)
def test_a_change_elsewhere_moves_the_edit(base: str, newer: str, expected: str) -> None:
    start = base.index("old")
    rebased = rebased_edits(base, [TextEdit(start, start + 3, "new")], newer)
    assert rebased is not None
    assert apply_edits(newer, rebased) == expected


def test_every_edit_has_to_fit_or_none_is_moved() -> None:
    base = "".join(f"line number {number}\n" for number in range(50))
    edits = [TextEdit(at, at + 4, "LINE") for at in (base.index("line number 7\n"), base.index("line number 31\n"))]
    elsewhere = base.replace("number 20\n", "number twenty\n").replace("number 40\n", "number forty\n")
    rebased = rebased_edits(base, edits, elsewhere)
    assert rebased is not None
    assert apply_edits(elsewhere, rebased).count("LINE") == 2
    assert rebased_edits(base, edits, elsewhere.replace("number 31\n", "number thirty-one\n")) is None


def test_thousands_of_edits_in_a_large_text_that_changed_everywhere_are_refused_and_not_worked_at_for_long() -> None:
    base = "".join(f"line number {number}\n" for number in range(100_000))
    starts = [base.index(f"line number {number}\n") for number in range(0, 100, 3)]
    edits = [TextEdit(start, start + 4, "LINE") for start in starts]
    assert rebased_edits(base, edits, base.replace("number", "nr")) is None
