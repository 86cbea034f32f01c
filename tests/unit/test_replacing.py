"""Finding oldString, building the replacement, and telling the change as hunks: pure, against brute force."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openbuffer.tools.support import byte_search, replacing
from openbuffer.tools.support.hunks import line_hunks, narrowed
from openbuffer.tools.support.not_found import named_lines, why_not_found
from openbuffer.tools.support.replacing import (
    Replacement,
    Span,
    common_prefix,
    common_suffix,
    count_up_to,
    occurrences,
    replacements,
    size_after,
)

SMALL_TEXT = st.binary().map(lambda raw: bytes(b"ab\r\n"[byte % 4] for byte in raw))


def match_end(text: bytes, at: int, old: bytes) -> int | None:
    """Where ``old`` ends when it matches at ``at``: a bare line feed in it takes ``\\n`` or ``\\r\\n``."""
    for index, byte in enumerate(old):
        bare = byte == ord("\n") and old[index - 1 : index] != b"\r"
        if bare and text[at : at + 2] == b"\r\n":
            at += 2
        elif text[at : at + 1] == bytes([byte]) and not (bare and at > 0 and text[at - 1] == ord("\r")):
            at += 1
        else:
            return None
    return at


def brute_force(text: bytes, old: bytes, *, overlapping: bool) -> list[Span]:
    found: list[Span] = []
    at = 0
    while at < len(text):
        end = match_end(text, at, old)
        if end is None:
            at += 1
            continue
        found.append((at, end))
        at = at + 1 if overlapping else end
    return found


def applied(text: bytes, changes: list[Replacement]) -> bytes:
    for change in reversed(changes):
        text = text[: change.start] + change.new + text[change.end :]
    return text


@pytest.mark.contract("F5", "F6")
@settings(max_examples=600, deadline=None)
@given(text=SMALL_TEXT, old=SMALL_TEXT.filter(bool))
def test_all_places_are_found_and_no_other(text: bytes, old: bytes) -> None:
    wanted = brute_force(text, old, overlapping=False)
    assert list(occurrences(text, old)) == wanted
    assert count_up_to(text, old, 10**6) == len(wanted)


@pytest.mark.contract("F5")
@settings(max_examples=600, deadline=None)
@given(text=SMALL_TEXT, old=SMALL_TEXT.filter(bool))
def test_a_place_counts_as_the_only_one_when_brute_force_finds_one(text: bytes, old: bytes) -> None:
    wanted = brute_force(text, old, overlapping=True)
    found = list(occurrences(text, old, overlapping=True))
    assert found[:1] == wanted[:1]
    assert (len(found) == 1) == (len(wanted) == 1)
    assert set(found) <= set(wanted)


@pytest.mark.contract("F6")
@pytest.mark.parametrize(
    ("text", "old", "found"),
    [
        (b"x\r\ny\r\nz\r\n", b"x\ny", [(0, 4)]),
        (b"x\ny", b"x\r\ny", []),
        (b"x\r\ny x\ny", b"x\ny", [(0, 4), (5, 8)]),
        (b"x\r\ny", b"\ny", [(1, 4)]),
        (b"x\r\ny", b"x\n", [(0, 3)]),
        (b"\r\n\r\n", b"\n\n", [(0, 4)]),
        (b"x\ry", b"x\ny", []),
        (b"x\r\r\ny", b"x\ny", []),
        (b"\xe2\x80\x9cx\xe2\x80\x9d", b'"x"', []),
    ],
)
def test_a_bare_line_feed_matches_both_line_ends_and_nothing_else_is_loose(
    text: bytes, old: bytes, found: list[Span]
) -> None:
    assert list(occurrences(text, old)) == found


@pytest.mark.contract("F6")
@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        pytest.param(b"a\r\nb\nc", b"c", b"C", b"a\r\nb\nC", id="one byte changes"),
        pytest.param(b"a\r\nb\nc", b"c", b"c\nd", b"a\r\nb\nc\nd", id="the line end before"),
        pytest.param(b"a\r\nb\nc", b"b", b"b\nd", b"a\r\nb\r\nd\nc", id="the line end before, not after"),
        pytest.param(b"a\r\nb\nc", b"a", b"a\nd", b"a\r\nd\r\nb\nc", id="the line end after"),
        pytest.param(b"a\nb\r\nc", b"b\nc", b"x\ny\nz", b"a\nx\r\ny\r\nz", id="the line end inside"),
        pytest.param(b"a\r\nb\r\n", b"b", b"x\r\ny", b"a\r\nx\r\ny\r\n", id="an explicit CRLF stays"),
        pytest.param(b"a\nb\n", b"b", b"x\r\ny", b"a\nx\r\ny\n", id="an explicit CRLF in an LF file stays"),
        pytest.param(b"abc", b"b", b"x\ny", b"ax\nyc", id="no line end at all"),
        pytest.param(b"a\rb\rc", b"b", b"x\ny", b"a\rx\ry\rc", id="only carriage returns"),
        pytest.param(b"a\r\nb", b"b", b"", b"a\r\n", id="nothing new"),
    ],
)
def test_a_line_feed_in_the_new_text_becomes_the_line_end_of_the_place(
    text: bytes, old: bytes, new: bytes, after: bytes
) -> None:
    assert applied(text, replacements(text, list(occurrences(text, old)), new)) == after


@pytest.mark.contract("F6")
def test_each_place_of_a_mixed_file_gets_its_own_line_end() -> None:
    text = b"k\r\nk\nk\nx\r\nk"
    changes = replacements(text, list(occurrences(text, b"k")), b"1\n2")
    assert applied(text, changes) == b"1\r\n2\r\n1\r\n2\n1\n2\nx\r\n1\r\n2"


@pytest.mark.contract("F5")
@pytest.mark.parametrize(
    "new", ["$&", "$`", "$$", r"\1", r"\g<0>", r"\n", "&lt;", "%s", "{0}", "\\\\", "\u2019", "\t", "  "]
)
def test_the_new_text_is_literal(new: str) -> None:
    text = b"a\r\nold\r\nb"
    for old in (b"old", b"old\nb"):
        changed = applied(text, replacements(text, list(occurrences(text, old)), new.encode()))
        assert changed == text.replace(old.replace(b"\n", b"\r\n"), new.encode())


@settings(max_examples=500, deadline=None)
@given(text=SMALL_TEXT, needle=SMALL_TEXT.filter(bool), start=st.integers(0, 30), end=st.integers(0, 30))
def test_searching_agrees_with_the_bytes_own_methods(text: bytes, needle: bytes, start: int, end: int) -> None:
    for data in (text, bytearray(text)):
        assert byte_search.count(data, needle, start, min(end, len(text))) == text.count(needle, start, end)
        assert byte_search.find(data, needle, start) == text.find(needle, start)


@settings(max_examples=500, deadline=None)
@given(one=SMALL_TEXT, other=SMALL_TEXT)
def test_common_ends_are_the_longest(one: bytes, other: bytes) -> None:
    most = min(len(one), len(other))
    prefix = next((i for i in range(most) if one[i] != other[i]), most)
    assert common_prefix(one, other) == prefix
    suffix = next((i for i in range(most) if one[-1 - i] != other[-1 - i]), most)
    assert common_suffix(one, other, most) == suffix
    assert common_suffix(one, other, most // 2) == min(suffix, most // 2)


def by_hunks(text: bytes, changes: list[Replacement]) -> bytes:
    """Apply hunks to lines by their numbers alone, as an undo would."""
    *whole, last = text.decode().split("\n")
    lines = [f"{line}\n" for line in whole] + [last]
    for hunk in reversed(line_hunks(text, changes)):
        first = hunk.start_line - 1
        rest = "".join(lines[first:])
        assert rest.startswith(hunk.before)
        lines = [*lines[:first], hunk.after + rest.removeprefix(hunk.before)]
    return "".join(lines).encode()


@pytest.mark.contract("T12")
@settings(max_examples=400, deadline=None)
@given(text=SMALL_TEXT, old=SMALL_TEXT.filter(bool), new=SMALL_TEXT)
def test_hunks_of_an_edit_are_exact(text: bytes, old: bytes, new: bytes) -> None:
    changes = replacements(text, list(occurrences(text, old)), new)
    if changes:
        assert by_hunks(text, changes) == applied(text, changes)


@pytest.mark.contract("T12")
@settings(max_examples=400, deadline=None)
@given(text=SMALL_TEXT, after=SMALL_TEXT)
def test_a_whole_new_content_is_narrowed_to_exact_lines(text: bytes, after: bytes) -> None:
    changes = narrowed(text, after)
    assert applied(text, changes) == after
    assert (changes == []) == (text == after)
    if changes:
        assert by_hunks(text, changes) == after


def test_a_narrow_change_has_a_narrow_hunk() -> None:
    text = b"".join(b"line %d\n" % number for number in range(1000))
    (hunk,) = line_hunks(text, narrowed(text, text.replace(b"line 500\n", b"changed\n")))
    assert (hunk.start_line, hunk.before, hunk.after) == (501, "line 500\n", "changed\n")


def test_very_many_places_are_told_as_one_hunk() -> None:
    text = b"first\n" + b"k\n" * 2_000 + b"last\n"
    (hunk,) = line_hunks(text, replacements(text, list(occurrences(text, b"k")), b"x"))
    assert (hunk.start_line, hunk.before, hunk.after) == (2, "k\n" * 2_000, "x\n" * 2_000)


@pytest.mark.contract("F5")
@pytest.mark.parametrize(
    ("old", "new", "line"), [(b"b", b"B", 2), (b"a\nb\nc", b"a\nb\nC", 3), (b"a\n", b"", 1), (b"c", b"c\nd", 3)]
)
def test_the_first_hunk_begins_in_the_line_of_the_first_byte_that_differs(old: bytes, new: bytes, line: int) -> None:
    text = b"a\nb\nc\n"
    hunks = line_hunks(text, replacements(text, list(occurrences(text, old)), new))
    assert hunks[0].start_line == line


@pytest.mark.contract("F5")
@pytest.mark.parametrize(
    ("text", "old", "why"),
    [
        ("", "x", "The text is empty."),
        (
            "def f():\n    return 1\n",
            "     2\t    return 1",
            (
                "oldString holds line numbers, each with a tab, that are no part of the text; leave them out. "
                "Without them it is in line 2."
            ),
        ),
        (
            "a\nb\n",
            "a\r\nb",
            (
                "Except for the kind of line ends it would match lines 1-2:\n     1\ta\n     2\tb\n"
                "A line feed in oldString matches either kind."
            ),
        ),
        (
            "a  \nb\n",
            "a\nb",
            "Except for blanks at the ends of lines it would match lines 1-2:\n     1\ta  \n     2\tb",
        ),
        ("\tx = 1\n", "    x = 1", "Except for tabs against spaces it would match line 1:\n     1\t\tx = 1"),
        (
            "if a:\n  x = 1\n",
            "if a:\n      x  = 1",
            "Except for blanks or indentation it would match lines 1-2:\n     1\tif a:\n     2\t  x = 1",
        ),
        (
            "say “hi”\n",
            'say "hi"',
            "Except for the kind of quotes, dashes, blanks or accents it would match line 1:\n     1\tsay “hi”",
        ),
        (
            "caf\u00e9\n",
            "cafe\u0301",
            "Except for the kind of quotes, dashes, blanks or accents it would match line 1:\n     1\tcafé",
        ),
        (
            "x\nHello World\n",
            "hello world",
            "Except for upper and lower case it would match line 2:\n     2\tHello World",
        ),
        (
            "a\nb\n",
            "a\\nb",
            (
                "oldString holds backslashes before n, t or a quote where the text, in line 1, has the characters "
                "they stand for."
            ),
        ),
        (
            "if a < b:\n",
            "if a &lt; b:",
            "oldString holds HTML entities where the text, in line 1, has the characters they stand for.",
        ),
        (
            "alpha\ndef compute(total, rate):\n    return total * rate\nomega\n",
            "def compute(total, rates):\n    return total * rates",
            "The most similar place: lines 2-3:\n     2\tdef compute(total, rate):\n     3\t    return total * rate",
        ),
        (
            "x\n" + "long " * 5_000,
            "long " * 5_000 + "er",
            "Its first 20000 characters are there, in line 2; what follows them differs.",
        ),
        (
            "ab cd ef\n" * 3,
            "ab cd eg\nab cd eg",
            "The most similar place: lines 1-2:\n     1\tab cd ef\n     2\tab cd ef",
        ),
        ("completely different\n", "zzz qqq", "No place in it is similar."),
        ("a\n", "+-*/", "No place in it is similar."),
    ],
)
def test_why_it_was_not_found_is_told_with_the_place_that_comes_closest(text: str, old: str, why: str) -> None:
    assert why_not_found(text, old) == why


@pytest.mark.contract("F5")
@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("x" * 3_000_000, "y" * 3_000_000),
        ("ab cd ef\n" * 500_000, "ab cd eg\n" * 50_000),
        ("(" * 200_000, "(" * 199_999 + ")"),
        ("a " * 1_500_000, "a b " * 5_000),
    ],
    ids=["one line", "many lines", "brackets", "words"],
)
def test_the_explanation_is_short_whatever_the_text_is(text: str, old: str) -> None:
    assert len(why_not_found(text, old)) < 3_000


@pytest.mark.parametrize(
    ("lines", "total", "words"),
    [
        ([3], 1, "line 3"),
        ([3, 9], 2, "lines 3 and 9"),
        ([3, 9, 11], 3, "lines 3, 9 and 11"),
        ([3, 9], 40, "lines 3, 9 and 38 more places"),
        ([1, 1, 1], 3, "line 1"),
        ([1, 1, 7, 7], 4, "lines 1 and 7"),
        ([1, 1], 40, "line 1 and 38 more places"),
    ],
)
def test_lines_are_named_in_words(lines: list[int], total: int, words: str) -> None:
    assert named_lines(lines, total) == words


@pytest.mark.contract("F5", "F6")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=SMALL_TEXT, old=SMALL_TEXT.filter(bool), new=SMALL_TEXT, apart=st.integers(0, 3), piece=st.integers(1, 5))
def test_of_very_many_places_those_near_each_other_are_one_replacement_of_the_same_outcome(
    monkeypatch: pytest.MonkeyPatch, text: bytes, old: bytes, new: bytes, apart: int, piece: int
) -> None:
    one_by_one = replacements(text, occurrences(text, old), new)
    with monkeypatch.context() as patch:
        patch.setattr(replacing, "_MOST_APART", apart)
        patch.setattr(replacing, "_PIECE_BYTES", piece)
        changes = replacements(text, occurrences(text, old), new)
    assert applied(text, changes) == applied(text, one_by_one)
    assert size_after(text, occurrences(text, old), new) == len(applied(text, one_by_one))
    assert len(changes) <= min(len(one_by_one), apart + len(text) // piece + 1)
    assert changes[:apart] == one_by_one[:apart]
