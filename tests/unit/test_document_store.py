"""The document store beside a model: one plain string, positions found by counting character by character."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.editor_access import document_store
from openbuffer.editor_access.document_store import TextBuffer
from openbuffer.editor_access.text import Position, PositionEncoding, Range

if TYPE_CHECKING:
    from collections.abc import Iterator

ENCODINGS: tuple[PositionEncoding, ...] = ("utf-8", "utf-16", "utf-32")
PIECES = ["a", "b", "é", "😋", "e\u0301", "👩\u200d💻", "\r\n", "\r", "\n", "\n", "\u2028", "\f", "\x85", "\v", "\x1d"]
LONE_RETURN = re.compile(r"\r(?!\n)")
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Model:
    """The same document, done the slow and obvious way."""

    def __init__(self, text: str, encoding: PositionEncoding) -> None:
        self.text = text
        self._codec, self._size = CODECS[encoding]

    def offset_at(self, line: int, character: int) -> int:
        starts_and_ends = list(self._lines())
        if line >= len(starts_and_ends):
            return len(self.text)
        start, end = starts_and_ends[line]
        units = 0
        for offset in range(start, end):
            units += len(self.text[offset].encode(self._codec, "surrogatepass")) // self._size
            if units > character:
                return offset
        return end

    def change(self, range_: Range, new_text: str) -> None:
        start = self.offset_at(range_.start.line, range_.start.character)
        end = self.offset_at(range_.end.line, range_.end.character)
        self.text = self.text[:start] + new_text + self.text[end:]

    def line_count(self) -> int:
        return len(list(self._lines()))

    def _lines(self) -> Iterator[tuple[int, int]]:
        at = 0
        for line_end in re.finditer(r"\r\n|\r|\n", self.text):
            yield at, line_end.start()
            at = line_end.end()
        yield at, len(self.text)


@pytest.fixture(params=[24, 200, 128 * 1024], ids=["tiny chunks", "small chunks", "real chunks"])
def chunk_weight(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So that short texts meet the ends, the splitting and the merging of chunks."""
    _set_chunk_weight(monkeypatch, request.param)
    return request.param


def _set_chunk_weight(monkeypatch: pytest.MonkeyPatch, weight: int) -> None:
    monkeypatch.setattr(document_store, "_FULL_WEIGHT", weight)
    monkeypatch.setattr(document_store, "_TARGET_WEIGHT", weight // 2)
    monkeypatch.setattr(document_store, "_SMALL_WEIGHT", weight // 8)


def _random_text(rng: random.Random, pieces: int) -> str:
    return "".join(rng.choice(PIECES) for _ in range(pieces))


def _random_range(rng: random.Random, line_count: int) -> Range:
    """At, inside and past the ends of lines and of the document."""
    line = rng.randrange(line_count + 2)
    places = [
        Position(line, rng.choice([0, 0, 1, 2, rng.randrange(12), 1_000])),
        Position(line + rng.choice([0, 0, 0, 1, 1, 2, 30]), rng.choice([0, 1, rng.randrange(12), 2**31 - 1])),
    ]
    return Range(*sorted(places))


@pytest.mark.contract("E6", "E8")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("seed", range(4))
def test_three_hundred_random_edits_equal_the_model_after_each(
    encoding: PositionEncoding, seed: int, chunk_weight: int
) -> None:
    rng = random.Random(f"{encoding} {seed} {chunk_weight}")
    text = _random_text(rng, 150)
    buffer, model = TextBuffer(text, encoding), Model(text, encoding)
    for _ in range(300):
        range_ = _random_range(rng, buffer.line_count)
        new_text = _random_text(rng, rng.choice([0, 0, 1, 1, 2, 5, 40]))
        model.change(range_, new_text)
        buffer.change(range_, new_text)
        assert buffer.has_lone_return == bool(LONE_RETURN.search(model.text))
        assert buffer.text == model.text
        assert buffer.line_count == model.line_count()
        assert len(buffer) == len(model.text)


@pytest.mark.contract("E8")
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_positions_and_offsets_are_inverse_while_the_text_changes(
    encoding: PositionEncoding, chunk_weight: int
) -> None:
    rng = random.Random(f"{encoding} {chunk_weight}")
    text = _random_text(rng, 80)
    buffer, model = TextBuffer(text, encoding), Model(text, encoding)
    for _ in range(15):
        positions = [buffer.position_at(offset) for offset in range(len(model.text) + 1)]
        for offset, position in enumerate(positions):
            found = offset - 1 if model.text[max(offset - 1, 0) : offset + 1] == "\r\n" else offset
            assert model.offset_at(position.line, position.character) == found
            assert buffer.offset_at(position) == found
        assert all(first <= second for first, second in pairwise(positions))
        range_ = _random_range(rng, buffer.line_count)
        buffer.change(range_, "x😋\r\n")
        model.change(range_, "x😋\r\n")


CHANGES = st.lists(
    st.tuples(
        st.tuples(st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.integers(0, 9), st.integers(0, 9)),
        st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
    ),
    max_size=12,
)


@given(
    text=st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    changes=CHANGES,
    encoding=st.sampled_from(ENCODINGS),
)
@settings(max_examples=300)
def test_any_changes_equal_the_model(
    text: str, changes: list[tuple[tuple[int, int], tuple[int, int], str]], encoding: PositionEncoding
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _set_chunk_weight(patch, 24)
        buffer, model = TextBuffer(text, encoding), Model(text, encoding)
        for first, second, new_text in changes:
            range_ = Range(*sorted((Position(*first), Position(*second))))
            model.change(range_, new_text)
            buffer.change(range_, new_text)
            assert buffer.has_lone_return == bool(LONE_RETURN.search(model.text))
            assert buffer.text == model.text
        assert buffer.line_count == model.line_count()


def changed(text: str, start: tuple[int, int], end: tuple[int, int], new_text: str) -> str:
    buffer = TextBuffer(text, "utf-16")
    buffer.change(Range(Position(*start), Position(*end)), new_text)
    fresh = TextBuffer(buffer.text, "utf-16")
    assert buffer.line_count == fresh.line_count, "what the change left behind is what opening the result would give"
    return buffer.text


@pytest.mark.contract("E8")
def test_a_return_and_a_line_feed_that_meet_are_one_line_end() -> None:
    assert changed("a\rb\nc", (1, 0), (1, 1), "") == "a\r\nc"
    assert changed("a\rc", (1, 0), (1, 0), "\n") == "a\r\nc"
    assert changed("a\nc", (0, 1), (0, 1), "\r") == "a\r\nc"
    assert changed("a\rb\r\nc", (0, 1), (1, 1), "") == "a\r\nc"


@pytest.mark.contract("E8")
def test_a_range_that_points_into_a_line_end_points_before_it() -> None:
    # LSP has no position between the two characters of one line end: past the end of a line is its end.
    assert changed("a\r\nb", (0, 1), (0, 2), "") == "a\r\nb"
    assert changed("a\r\nb", (0, 2), (0, 2), "x") == "ax\r\nb"
    assert changed("a\r\nb", (0, 2), (1, 0), "\n") == "a\nb"


@pytest.mark.contract("E8")
def test_the_end_of_a_document_with_and_without_a_final_newline() -> None:
    assert changed("a", (0, 99), (0, 99), "b") == "ab"
    assert changed("a", (9, 0), (9, 9), "b") == "ab"
    assert changed("a\n", (1, 0), (1, 0), "b") == "a\nb"
    assert changed("a\n", (0, 1), (1, 0), "") == "a"
    assert changed("a\n", (0, 0), (1, 0), "") == ""
    assert changed("", (0, 0), (0, 0), "a\n") == "a\n"
    assert changed("", (5, 5), (7, 0), "") == ""


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\v", "\f", "\x85", "\x1c", "\x1d", "\x1e"])
def test_other_separators_are_characters_of_their_line(separator: str) -> None:
    buffer = TextBuffer(f"a{separator}b\nc", "utf-16")
    assert buffer.line_count == 2
    buffer.change(Range(Position(0, 2), Position(0, 3)), "x")
    assert buffer.text == f"a{separator}x\nc"


@pytest.mark.contract("E6")
@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        ((0, 2), (0, 1), "before it starts"),
        ((1, 0), (0, 5), "before it starts"),
        ((9, 9), (9, 3), "before it starts"),
        ((-1, 0), (0, 0), "negative"),
        ((0, -1), (0, 0), "negative"),
        ((0, 0), (1, -1), "negative"),
    ],
)
def test_a_range_that_no_client_can_mean_is_refused_and_changes_nothing(
    start: tuple[int, int], end: tuple[int, int], reason: str
) -> None:
    buffer = TextBuffer("abc\ndef", "utf-8")
    with pytest.raises(ValueError, match=reason):
        buffer.change(Range(Position(*start), Position(*end)), "x")
    assert buffer.text == "abc\ndef"
    with pytest.raises(ValueError, match="negative"):
        buffer.offset_at(Position(-1, 0))
    for offset in (-1, 8):
        with pytest.raises(ValueError, match="not within"):
            buffer.position_at(offset)


def test_a_range_is_found_for_exactly_what_an_edit_covers() -> None:
    buffer = TextBuffer("a😋\r\nb", "utf-16")
    assert buffer.range_of(1, 4) == Range(Position(0, 1), Position(1, 0))
    for start, end in ((0, 3), (3, 3)):
        with pytest.raises(ValueError, match="inside a line end"):
            buffer.range_of(start, end)
    with pytest.raises(ValueError, match="before it starts"):
        buffer.range_of(2, 1)


def test_a_whole_new_text_replaces_the_old_one() -> None:
    buffer = TextBuffer("a\nb", "utf-16")
    buffer.change(Range(Position(0, 0), Position(0, 1)), "x")
    buffer.change(None, "new\r\n")
    assert (buffer.text, buffer.line_count, len(buffer)) == ("new\r\n", 2, 5)


def test_a_byte_order_mark_is_a_character_like_others() -> None:
    buffer = TextBuffer("\ufeffa", "utf-16")
    buffer.change(Range(Position(0, 1), Position(0, 2)), "b")
    assert buffer.text == "\ufeffb"


@pytest.mark.contract("E8")
def test_halves_of_a_character_sent_in_two_changes_become_that_character() -> None:
    buffer = TextBuffer("a\n", "utf-16")
    buffer.change(Range(Position(0, 1), Position(0, 1)), "\ud83d")
    buffer.change(Range(Position(0, 2), Position(0, 2)), "\ude0b")
    assert buffer.text == "a😋\n"
    apart = TextBuffer("\ud83dx\ude0b", "utf-16")
    apart.change(Range(Position(0, 1), Position(0, 2)), "")
    assert apart.text == "😋"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_document_of_many_chunks_stays_right_through_growth_and_emptying(line_end: str) -> None:
    text = f"line{line_end}" * 60_000
    buffer, model = TextBuffer(text, "utf-8"), Model(text, "utf-8")
    everything = Range(Position(0, 0), Position(10**6, 0))
    changes = [
        (Range(Position(30_000, 2), Position(30_000, 2)), f"pasted{line_end}" * 40_000),
        (Range(Position(10, 0), Position(59_000, 3)), "joined"),
        (Range(Position(0, 0), Position(0, 0)), "first" + line_end),
        (everything, ""),
        (everything, text),
    ]
    for range_, new_text in changes:
        model.change(range_, new_text)
        buffer.change(range_, new_text)
        assert buffer.text == model.text
        assert buffer.line_count == model.line_count()


def test_chunks_stay_few_while_lines_are_deleted_and_typed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_chunk_weight(monkeypatch, 400)
    rng = random.Random(5)
    buffer = TextBuffer("some words\n" * 2_000, "utf-16")
    for _ in range(1_900):
        line = rng.randrange(buffer.line_count - 1)
        buffer.change(Range(Position(line, 0), Position(line + 1, 0)), "")
    assert buffer.text == "some words\n" * 100
    assert len(buffer._lines) < 40


def test_one_line_of_a_million_characters_is_changed_in_place() -> None:
    line = "wörter 😋 " * 100_000
    for encoding in ENCODINGS:
        buffer, model = TextBuffer(line, encoding), Model(line, encoding)
        for character in (700_001, 10**9):
            range_ = Range(Position(0, character), Position(0, character + 3))
            model.change(range_, "X")
            buffer.change(range_, "X")
            assert buffer.text == model.text


def test_a_part_of_a_line_is_found_in_a_text_of_many_pieces() -> None:
    buffer = TextBuffer("".join(f"line {number}\r\n" for number in range(30_000)), "utf-16")
    buffer.change(Range(Position(20_000, 0), Position(20_000, 4)), "LINE")
    assert buffer.has_in_a_line("LINE 20000")
    assert not buffer.has_in_a_line("LINE 20001")
    assert buffer.has_in_a_line("")
    assert len(buffer.pieces()) > 1
    assert "".join(buffer.pieces()) == buffer.text
