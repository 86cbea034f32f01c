"""Edits that turn one text into another touch no more than what differs."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.editor_access.alignment import WorkBudget, align_lines, common_prefix, common_suffix, shortest_script
from openbuffer.editor_access.document_store import TextBuffer
from openbuffer.editor_access.port import TextEdit
from openbuffer.editor_access.text import apply_edits, is_inside_line_end, minimal_edits

PIECES = ["a", "b", "ab", "foo(", "😋", "e\u0301", "\r\n", "\r", "\n", "\n", "x\n", "}\n", "\u2028"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def assert_minimal(before: str, after: str) -> tuple[TextEdit, ...]:
    """What holds for every pair of texts."""
    edits = minimal_edits(before, after)
    assert apply_edits(before, edits) == after
    assert all(first.end < second.start for first, second in pairwise(edits)), "ascending, none touches the next"
    for edit in edits:
        assert before[edit.start : edit.end] != edit.new_text
        assert not is_inside_line_end(before, edit.start)
        assert not is_inside_line_end(before, edit.end)
    return edits


@pytest.mark.contract("E8")
@given(before=TEXTS, after=TEXTS)
@settings(max_examples=300)
def test_any_two_texts_are_turned_into_each_other(before: str, after: str) -> None:
    assert_minimal(before, after)


@st.composite
def related(draw: st.DrawFn) -> tuple[str, str]:
    pieces = draw(st.lists(st.sampled_from(PIECES), max_size=60))
    changed = list(pieces)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(changed)))
        changed[at : at + draw(st.integers(0, 3))] = draw(st.lists(st.sampled_from(PIECES), max_size=3))
    return "".join(pieces), "".join(changed)


@pytest.mark.contract("E8")
@given(texts=related())
@settings(max_examples=300)
def test_related_texts_are_turned_into_each_other_through_lsp_ranges(texts: tuple[str, str]) -> None:
    before, after = texts
    edits = assert_minimal(before, after)
    buffer = TextBuffer(before, "utf-16")
    for edit in reversed(edits):
        buffer.change(buffer.range_of(edit.start, edit.end), edit.new_text)
    assert buffer.text == after


def test_equal_texts_need_no_edit() -> None:
    assert minimal_edits("a\nb", "a\nb") == ()
    assert minimal_edits("", "") == ()


@pytest.mark.contract("E8")
def test_distant_changes_are_edits_of_their_own() -> None:
    before = "".join(f"{number}\n" for number in range(1, 101))
    after = before.replace("25\n", "twenty-five\n").replace("75\n", "").replace("90\n", "90\nmore\n")
    assert [(before[e.start : e.end], e.new_text) for e in minimal_edits(before, after)] == [
        ("25", "twenty-five"),
        ("75\n", ""),
        ("", "more\n"),
    ]


@pytest.mark.contract("E8")
def test_a_name_changed_in_neighbouring_lines_leaves_the_text_between() -> None:
    before = "".join(f"value_{number} = foo({number}) + something_else\n" for number in range(80))
    after = before.replace("foo", "barbaz")
    edits = minimal_edits(before, after)
    assert len(edits) == 80
    assert {(before[e.start : e.end], e.new_text) for e in edits} == {("foo", "barbaz")}


def test_distant_changes_in_one_long_line_are_edits_of_their_own() -> None:
    before = "ab" * 500_000
    after = before[:100] + "X" + before[100:-100] + "Y" + before[-100:]
    assert minimal_edits(before, after) == (TextEdit(100, 100, "X"), TextEdit(999_900, 999_900, "Y"))


def test_words_that_share_letters_by_chance_are_one_edit() -> None:
    assert minimal_edits("say hello now\n", "say world now\n") == (TextEdit(4, 9, "world"),)


def test_repeated_lines_do_not_hide_where_the_change_is() -> None:
    before = "0\n" * 1_000
    lines = ["0\n"] * 1_000
    lines[10], lines[-10] = "1\n", "2\n"
    lines.insert(500, "3\n")
    edits = assert_minimal(before, "".join(lines))
    assert len(edits) == 3
    assert sum(edit.end - edit.start + len(edit.new_text) for edit in edits) <= 10


@pytest.mark.contract("E8")
@pytest.mark.parametrize(
    ("before", "after", "edit"),
    [
        ("a\r\nb", "a\nb", TextEdit(1, 3, "\n")),
        ("a\nb", "a\r\nb", TextEdit(1, 2, "\r\n")),
        ("a\rb", "a\r\nb", TextEdit(1, 2, "\r\n")),
        ("a\r\nb", "a\rb", TextEdit(1, 3, "\r")),
        ("a\r\n", "a\r\r\n", TextEdit(1, 1, "\r")),
    ],
)
def test_a_line_end_of_two_characters_is_replaced_as_one(before: str, after: str, edit: TextEdit) -> None:
    edits = assert_minimal(before, after)
    assert len(edits) == 1
    assert edits == (edit,) or before == "a\r\n"


@pytest.mark.contract("E8")
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_an_addition_at_the_end_leaves_the_last_line_end_alone(line_end: str) -> None:
    first, both = f"a{line_end}", f"a{line_end}x{line_end}"
    assert minimal_edits(first, both) == (TextEdit(1, 1, f"{line_end}x"),)
    assert minimal_edits(both, first) == (TextEdit(1, 2 + len(line_end), ""),)
    assert minimal_edits(line_end, both) == (TextEdit(0, 0, f"a{line_end}x"),)


def test_a_final_newline_can_come_and_go() -> None:
    assert minimal_edits("a", "a\n") == (TextEdit(1, 1, "\n"),)
    assert minimal_edits("a\n", "a") == (TextEdit(1, 2, ""),)
    assert minimal_edits("", "a\n") == (TextEdit(0, 0, "a\n"),)
    assert minimal_edits("a\n", "") == (TextEdit(0, 2, ""),)


def test_more_changes_than_an_editor_takes_well_are_fewer_and_larger_edits() -> None:
    before = "".join(f"line number {number}\n" for number in range(12_000))
    edits = assert_minimal(before, before.replace("line", "row"))
    assert 1 <= len(edits) <= 5_000


LINES = 80_000
HOSTILE = {
    "equal lines and one more": lambda: ("x\n" * LINES, "x\n" * (LINES + 1)),
    "nothing in common": lambda: (_numbered("a"), _numbered("b")),
    "alternating, shifted": lambda: ("a\nb\n" * LINES, "b\na\n" * LINES),
    "alternating, unlike": lambda: ("a\nb\n" * LINES, "b\nb\na\n" * LINES),
    "reversed": lambda: (_numbered("a"), "".join(reversed(_numbered("a").splitlines(keepends=True)))),
    "shuffled": lambda: (_numbered("a"), _shuffled()),
    "other line ends": lambda: (_numbered("a"), _numbered("a").replace("\n", "\r\n")),
    "random short lines": lambda: (_random_lines(1), _random_lines(2)),
    "one line, nothing in common": lambda: ("ab" * LINES, "cd" * LINES),
    "one line, shifted": lambda: ("ab" * LINES, "ba" * (LINES + 3)),
    "one line, random": lambda: (_random_lines(1).replace("\n", ""), _random_lines(2).replace("\n", "")),
    "from nothing": lambda: ("", "x\n" * LINES),
}


def _numbered(prefix: str) -> str:
    return "".join(f"{prefix}{number}\n" for number in range(LINES))


def _shuffled() -> str:
    lines = _numbered("a").splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    return "".join(lines)


def _random_lines(seed: int) -> str:
    rng = random.Random(seed)
    return "".join(rng.choice("abc") + "\n" for _ in range(LINES))


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.timeout(30)
def test_hostile_pairs_of_texts_end_soon_and_right(kind: str) -> None:
    before, after = HOSTILE[kind]()
    assert apply_edits(before, minimal_edits(before, after)) == after


ITEMS = st.text(alphabet="abc", max_size=40)


@given(a=ITEMS, b=ITEMS, i=st.integers(0, 40), j=st.integers(0, 40), limit=st.none() | st.integers(0, 10))
def test_common_ends_are_as_long_as_they_are(a: str, b: str, i: int, j: int, limit: int | None) -> None:
    i, j = min(i, len(a)), min(j, len(b))
    most = len(a) + len(b) if limit is None else limit
    front = next((n for n, (x, y) in enumerate(zip(a[i:], b[j:], strict=False)) if x != y), min(len(a) - i, len(b) - j))
    back = next((n for n, (x, y) in enumerate(zip(a[:i][::-1], b[:j][::-1], strict=False)) if x != y), min(i, j))
    assert common_prefix(a, b, i, j, limit) == min(front, most)
    assert common_suffix(a, b, i, j, limit) == min(back, most)


@given(length=st.integers(0, 3_000), cut=st.integers(0, 3_000))
def test_common_ends_are_found_in_long_sequences(length: int, cut: int) -> None:
    a = "a" * length
    b = a[:cut] + "b" + a[cut:]
    assert common_prefix(a, b) == min(length, cut)
    assert common_suffix(list(a), list(b)) == max(length - cut, 0)


@given(a=ITEMS, b=ITEMS)
def test_a_shortest_script_is_shortest(a: str, b: str) -> None:
    runs = shortest_script(a, b, 80, WorkBudget(10**6))
    assert runs is not None
    for run in runs:
        assert a[run.first : run.first + run.length] == b[run.second : run.second + run.length]
    assert sum(run.length for run in runs) == _longest_common_subsequence(a, b)


def _longest_common_subsequence(a: str, b: str) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        above = row
        row = [0]
        for index, y in enumerate(b):
            row.append(above[index] + 1 if x == y else max(row[index], above[index + 1]))
    return row[-1]


def test_a_search_ends_when_its_changes_or_its_work_are_spent() -> None:
    assert shortest_script("abc", "xyz", 3, WorkBudget(1_000)) is None
    assert shortest_script("a" * 50 + "b" * 50, "b" * 50 + "a" * 50, 200, WorkBudget(20)) is None


@given(
    a=st.lists(st.sampled_from("abcdefghijk"), max_size=120),
    b=st.lists(st.sampled_from("abcdefghijk"), max_size=120),
    steps=st.sampled_from([0, 50, 10**6]),
)
def test_aligned_lines_are_equal_and_in_order_whatever_work_is_left(a: list[str], b: list[str], steps: int) -> None:
    at, other_at = 0, 0
    for run in align_lines(a, b, WorkBudget(steps)):
        assert run.first >= at
        assert run.second >= other_at
        assert a[run.first : run.first + run.length] == b[run.second : run.second + run.length]
        at, other_at = run.first + run.length, run.second + run.length


def test_lines_that_occur_once_anchor_what_is_too_much_for_a_search() -> None:
    shared = [f"shared {number}" for number in range(300)]
    a = [line for number in shared for line in (number, f"old {number}")]
    b = [line for number in shared for line in (number, f"new {number}", "more")]
    runs = align_lines(a, b, WorkBudget(10**6))
    assert sum(run.length for run in runs) == len(shared)
