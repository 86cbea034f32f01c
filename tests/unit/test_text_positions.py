"""Positions, line ends and edits as plain arithmetic."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.editor_access.port import TextEdit
from openbuffer.editor_access.text import (
    Position,
    PositionEncoding,
    Range,
    apply_edits,
    character_of_index,
    index_in_line,
    is_inside_line_end,
    line_of,
    pair_surrogates,
    split_lines,
)

ENCODINGS: tuple[PositionEncoding, ...] = ("utf-8", "utf-16", "utf-32")
CHARACTERS = st.text(alphabet="ab é中😋\u0301\u200d\u2028\f\x85\v\x1c\ud83d", max_size=30)
TEXTS = st.lists(
    st.sampled_from(
        ["a", "é", "😋", "e\u0301", "\n", "\r\n", "\r", "\u2028", "\u2029", "\f", "\x85", "\v", "\x1c", "\x1e"]
    )
).map("".join)


def units(text: str, encoding: PositionEncoding) -> int:
    size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    return sum(len(character.encode(codec, "surrogatepass")) for character in text) // size


@pytest.mark.contract("E8")
@pytest.mark.parametrize(
    ("encoding", "character", "index"),
    [
        ("utf-8", 0, 0),
        ("utf-8", 1, 1),
        ("utf-8", 2, 1),  # inside é: its start
        ("utf-8", 3, 2),
        ("utf-8", 4, 2),  # inside 😋: its start
        ("utf-8", 6, 2),
        ("utf-8", 7, 3),
        ("utf-8", 8, 4),
        ("utf-8", 99, 4),
        ("utf-16", 2, 2),
        ("utf-16", 3, 2),
        ("utf-16", 4, 3),
        ("utf-16", 5, 4),
        ("utf-16", 99, 4),
        ("utf-32", 3, 3),
        ("utf-32", 99, 4),
    ],
)
def test_a_character_is_counted_in_the_units_of_its_encoding(
    encoding: PositionEncoding, character: int, index: int
) -> None:
    for line_end in ("", "\n", "\r\n", "\r"):
        assert index_in_line("aé😋b" + line_end, character, encoding) == index


@given(line=CHARACTERS, line_end=st.sampled_from(["", "\n", "\r", "\r\n"]))
def test_units_and_indices_agree_both_ways(line: str, line_end: str) -> None:
    line = pair_surrogates(line)
    for encoding in ENCODINGS:
        for index in range(len(line) + 1):
            character = character_of_index(line + line_end, index, encoding)
            assert character == units(line[:index], encoding)
            assert index_in_line(line + line_end, character, encoding) == index
        assert index_in_line(line + line_end, units(line, encoding) + 1, encoding) == len(line)


@given(line=CHARACTERS, character=st.integers(0, 200))
def test_a_position_inside_a_character_means_its_start(line: str, character: int) -> None:
    line = pair_surrogates(line)
    for encoding in ENCODINGS:
        index = index_in_line(line, character, encoding)
        assert units(line[:index], encoding) <= character
        assert index == len(line) or units(line[: index + 1], encoding) > character


@pytest.mark.contract("E8")
@given(text=TEXTS)
def test_only_the_three_line_ends_of_lsp_end_a_line(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    assert [re.sub(r"\r?\n\Z|\r\Z", "", line) for line in lines] == re.split(r"\r\n|\r|\n", text)


@given(text=TEXTS)
def test_an_offset_is_in_the_line_that_holds_it(text: str) -> None:
    expected: list[int] = []
    for number, line in enumerate(split_lines(text)):
        expected += [number] * len(line)
    assert [line_of(text, offset) for offset in range(len(text))] == expected
    assert line_of(text, len(text)) == len(split_lines(text)) - 1
    for offset in (-1, len(text) + 1):
        with pytest.raises(ValueError, match="not within"):
            line_of(text, offset)


def test_between_return_and_line_feed_is_inside_a_line_end() -> None:
    assert [is_inside_line_end("a\r\nb\r", offset) for offset in range(6)] == [False, False, True, False, False, False]


def test_positions_are_ordered_by_line_then_character() -> None:
    assert Position(1, 9) < Position(2, 0) < Position(2, 1)
    assert Range(Position(0, 0), Position(0, 1)) == Range(Position(0, 0), Position(0, 1))


def test_halves_of_a_character_that_meet_are_that_character() -> None:
    assert pair_surrogates("x\ud83d\ude0by\ud83d") == "x😋y\ud83d"
    assert pair_surrogates("plain 😋") == "plain 😋"


def test_edits_apply_at_the_offsets_of_the_text_before_all_of_them() -> None:
    text = "one two three"
    edits = [TextEdit(0, 3, "1"), TextEdit(4, 4, "and "), TextEdit(4, 7, "2"), TextEdit(13, 13, "!")]
    assert apply_edits(text, edits) == "1 and 2 three!"
    assert apply_edits(text, []) == text


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([TextEdit(2, 1, "")], "does not lie"),
        ([TextEdit(-1, 1, "")], "does not lie"),
        ([TextEdit(0, 4, "")], "does not lie"),
        ([TextEdit(0, 2, ""), TextEdit(1, 3, "")], "begins before"),
        ([TextEdit(2, 3, ""), TextEdit(0, 1, "")], "begins before"),
    ],
)
def test_edits_that_do_not_fit_the_text_are_refused(edits: list[TextEdit], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        apply_edits("abc", edits)
