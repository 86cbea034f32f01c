"""Numbered lines out of a text in pieces, against a model that has the whole text."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.tools.limits import LINE_MAX_CHARS
from openbuffer.tools.support.encodings import UTF8, utf8_pieces
from openbuffer.tools.support.line_window import LineWindow

# Line ends, what other programs take for line ends, a character of each length in UTF-8, and a tab.
CHARACTERS = st.sampled_from("ab\t \n\n\n\r\r\u2028\x0b\x0c\x1c\x85é漢😋\u0301")


def model_lines(text: str) -> list[str]:
    """The lines of a text as ``cat -n`` counts them, without their line ends."""
    *ended, last = text.split("\n")
    lines = [line.removesuffix("\r") for line in ended]
    return [*lines, last] if last else lines


def cat_n(lines: list[str], first: int, limit: int) -> str:
    shown = list(enumerate(lines, 1))[first - 1 : first - 1 + limit]
    return "\n".join(f"{str(number).rjust(6)}\t{line}" for number, line in shown)


def window_of(text: str, *, first: int = 1, limit: int = 2000, size: int = 7, max_bytes: int = 10**9) -> LineWindow:
    raw = text.encode()
    pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
    window = LineWindow(first=first, limit=limit, max_bytes=max_bytes)
    for piece, plain_line_feeds in utf8_pieces("/f", lambda: pieces, UTF8):
        window.feed(piece, plain_line_feeds)
    window.finish()
    return window


@pytest.mark.contract("F1")
@settings(max_examples=600, deadline=None)
@given(
    text=st.text(CHARACTERS, max_size=80),
    first=st.integers(1, 12),
    limit=st.integers(1, 8),
    size=st.integers(1, 9),
)
def test_any_window_of_any_text_in_any_pieces_is_what_the_model_says(
    text: str, first: int, limit: int, size: int
) -> None:
    window = window_of(text, first=first, limit=limit, size=size)
    lines = model_lines(text)
    assert window.body == cat_n(lines, first, limit)
    assert window.total_lines == len(lines)
    assert window.shown_lines == len(lines[first - 1 : first - 1 + limit])
    assert window.crlf_lines == text.count("\r\n")
    assert window.line_feeds == text.count("\n")
    assert window.ends_with_line_feed == text.endswith("\n")


@pytest.mark.contract("F1")
@pytest.mark.parametrize("first", [1, 9, 99, 100, 101, 9_950, 99_999, 999_900, 1_000_001])
@pytest.mark.parametrize("limit", [1, 99, 101, 250])
def test_numbers_of_any_size_are_right(first: int, limit: int) -> None:
    lines = [f"line {number}" for number in range(first, first + limit)]
    window = LineWindow(first=first, limit=limit, max_bytes=10**9)
    window.feed(b"\n" * (first - 1) + "\n".join(lines).encode())
    window.finish()
    assert window.body == cat_n([""] * (first - 1) + lines, first, limit)


@pytest.mark.contract("F2")
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 1999, 2000, 2001, 2002, 65536])
@pytest.mark.parametrize("length", [1999, 2000, 2001, 2002, 600_000])
def test_a_line_over_the_limit_is_cut_and_its_length_told(length: int, size: int, end: str) -> None:
    if size == 1 and length > 3000:
        size = 1000
    window = window_of("a" + "é" * (length - 1) + end, size=size)
    whole = "a" + "é" * (min(length, LINE_MAX_CHARS) - 1)
    cut = f" … (line cut: 2000 of {length} characters shown)" if length > LINE_MAX_CHARS else ""
    assert window.body == f"     1\t{whole}{cut}"


@pytest.mark.contract("F2")
@settings(max_examples=300, deadline=None)
@given(text=st.text(CHARACTERS, min_size=1, max_size=80), room=st.integers(0, 200), size=st.integers(1, 9))
def test_over_its_budget_it_tells_how_many_lines_fit(text: str, room: int, size: int) -> None:
    whole = cat_n(model_lines(text), 1, 2000)
    window = window_of(text, size=size, max_bytes=room)
    assert window.is_over_budget == (len(whole.encode()) > room)
    if window.is_over_budget:
        fits = window.lines_within(room)
        assert len(cat_n(model_lines(text), 1, fits).encode()) <= room
        assert len(cat_n(model_lines(text), 1, fits + 1).encode()) > room


@pytest.mark.contract("F2")
def test_memory_stays_small_however_long_the_text_and_its_lines_are() -> None:
    piece = (b"x" * 99 + b"\n") * 655
    long_line = b"y" * len(piece)
    window = LineWindow(first=5_000, limit=10, max_bytes=10**6)
    window.feed(piece)
    tracemalloc.start()
    for _ in range(100):
        window.feed(piece)
        window.feed(long_line)
    window.finish()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 600_000
    assert window.total_lines == 101 * 655 + 1
    assert window.shown_lines == 10


def test_the_budget_stops_a_window_of_very_long_lines_early() -> None:
    window = LineWindow(first=1, limit=10**6, max_bytes=10_000)
    for _ in range(1_000):
        window.feed(b"z" * 60_000 + b"\n")
    assert window.is_over_budget
    assert len(window.body) < 20_000
