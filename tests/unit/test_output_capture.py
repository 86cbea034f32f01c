"""What is kept of a command's output, whatever the cut in which it comes."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openbuffer.sandbox.process.capture import BoundedBytes, OutputCapture
from openbuffer.sandbox.process.folding import ReturnFolding
from openbuffer.sandbox.process.result import Captured, CaptureLimits

LARGE = CaptureLimits(head_bytes=4_000, tail_bytes=4_000)


def captured(*pieces: bytes, limits: CaptureLimits = LARGE) -> Captured:
    capture = OutputCapture(limits)
    for piece in pieces:
        capture.feed(piece)
    return capture.captured()


def as_a_terminal_leaves_it(raw: bytes) -> bytes:
    """The whole rule, on the whole output."""
    return b"\n".join(line.rstrip(b"\r").rpartition(b"\r")[2] for line in raw.split(b"\n"))


class Whole:
    """Takes everything and keeps it."""

    def __init__(self) -> None:
        self.data = b""

    @property
    def length(self) -> int:
        return len(self.data)

    def append(self, data: bytes | bytearray, size: int) -> None:
        self.data += data[:size]

    def take_back(self, length: int) -> None:
        assert b"\n" not in self.data[length:]
        self.data = self.data[:length]


outputs = st.lists(st.text("ab\r\n\r\n", max_size=12).map(str.encode), max_size=8)


@pytest.mark.contract("S1")
@given(outputs)
@example([b"a\r", b"\nb"])
@example([b"a\r", b"\r\r", b"\r\nb"])
@example([b"50%\r", b"100%\r"])
def test_progress_is_folded_to_what_a_terminal_would_show_in_any_cut(pieces: list[bytes]) -> None:
    whole = Whole()
    folding = ReturnFolding(whole)
    for piece in pieces:
        folding.feed(piece, len(piece))
    expected = as_a_terminal_leaves_it(b"".join(pieces))
    assert whole.data == expected
    visible = b"".join(pieces).replace(b"\r", b"")
    assert folding.folded == (len(expected) < len(visible))


@pytest.mark.contract("S1")
@given(outputs, st.integers(0, 12), st.integers(0, 12))
def test_head_and_tail_are_the_ends_of_the_folded_output_and_what_lies_between_is_counted(
    pieces: list[bytes], head_bytes: int, tail_bytes: int
) -> None:
    kept = captured(*pieces, limits=CaptureLimits(head_bytes=head_bytes, tail_bytes=tail_bytes))
    whole = as_a_terminal_leaves_it(b"".join(pieces)).decode()
    assert whole.startswith(kept.head)
    assert whole.endswith(kept.tail)
    assert len(kept.head) <= head_bytes + tail_bytes
    assert len(kept.tail) <= tail_bytes
    between = whole[len(kept.head) : len(whole) - len(kept.tail)]
    assert kept.omitted_bytes == len(between)
    assert kept.omitted_lines == between.count("\n")
    assert kept.cut == (between != "")
    assert kept.total_bytes == len(b"".join(pieces))


@given(st.text("aé😋\n", max_size=60), st.integers(1, 9), st.integers(0, 20), st.integers(0, 20))
def test_characters_stay_whole_however_they_are_split_and_cut(
    text: str, step: int, head_bytes: int, tail_bytes: int
) -> None:
    raw = text.encode()
    pieces = [raw[at : at + step] for at in range(0, len(raw), step)]
    kept = captured(*pieces, limits=CaptureLimits(head_bytes=head_bytes, tail_bytes=tail_bytes))
    assert text.startswith(kept.head)
    assert text.endswith(kept.tail)
    assert "\\x" not in kept.head + kept.tail


@given(st.binary(max_size=40), st.integers(0, 10), st.integers(0, 10))
def test_any_bytes_are_shown(raw: bytes, head_bytes: int, tail_bytes: int) -> None:
    kept = captured(raw, limits=CaptureLimits(head_bytes=head_bytes, tail_bytes=tail_bytes))
    assert kept.cut or kept.head == as_a_terminal_leaves_it(raw).decode("utf-8", "backslashreplace")


def test_bytes_that_are_no_text_are_shown_as_numbers() -> None:
    assert captured(b"caf\xe9\n\xff\x00").head == "caf\\xe9\n\\xff\x00"


def test_a_cut_is_made_at_whole_lines_where_that_costs_little() -> None:
    raw = b"".join(b"line %d\n" % number for number in range(1_000))
    kept = captured(raw, limits=CaptureLimits(head_bytes=100, tail_bytes=100))
    assert kept.head.endswith("\n")
    assert kept.head.splitlines()[-1] == "line 12"
    assert kept.tail.startswith("line ")
    assert kept.tail.endswith("line 999\n")


def test_a_carriage_return_takes_back_a_line_that_was_already_cut() -> None:
    kept = captured(b"begin\n", b"x" * 500, b"\rshort", limits=CaptureLimits(head_bytes=20, tail_bytes=20))
    assert (kept.head, kept.tail, kept.omitted_bytes, kept.folded) == ("begin\nshort", "", 0, True)
    assert kept.total_bytes == 6 + 500 + 6


@pytest.mark.contract("S1")
@pytest.mark.parametrize("piece", [b"y\n" * 50_000, b"x" * 100_000, b"x\r" * 50_000, b"\r" * 100_000, b"\xff"])
def test_memory_stays_bounded_whatever_is_written(piece: bytes) -> None:
    capture = OutputCapture(CaptureLimits(head_bytes=10_000, tail_bytes=10_000))
    capture.feed(piece)
    tracemalloc.start()
    try:
        for _ in range(200):
            capture.feed(piece)
        assert tracemalloc.get_traced_memory()[1] < 1_500_000
    finally:
        tracemalloc.stop()
    assert capture.captured().total_bytes == 201 * len(piece)


def test_a_run_of_carriage_returns_takes_no_longer_than_its_length() -> None:
    # Quadratic work on this would not end within the test's time.
    kept = captured(b"\r" * 20_000_000, b"a\n", b"\r" * 20_000_000 + b"\n", b"b\r" * 1_000_000 + b"c")
    assert kept.head == "a\n\nc"


def test_bytes_behind_a_gap_do_not_join_the_head_when_a_line_is_taken_back() -> None:
    bounded = BoundedBytes(CaptureLimits(head_bytes=4, tail_bytes=2))
    bounded.append(b"a\nbcdefghi and more", 10)
    bounded.take_back(8)
    bounded.append(bytearray(b"Z"), 1)
    assert bounded.pieces() == (b"a\nbc", b"Z", 0)
