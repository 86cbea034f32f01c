"""What of a growing output a progress shows: its last lines, as a terminal would have them, and nothing that acts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools.support.output_tail import OutputTail

pytestmark = pytest.mark.contract("B2", "S1")


def after(*pieces: bytes) -> str:
    tail = OutputTail()
    return [tail.feed(piece) for piece in pieces][-1]


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        ([b""], ""),
        ([b"\n \n\t\n"], ""),
        ([b"one\n"], "one"),
        ([b"one\ntwo\nthree\nfour\n"], "two \u2502 three \u2502 four"),
        ([b"half a li", b"ne"], "half a line"),
        ([b"one\n", b"two"], "one \u2502 two"),
        ([b"\r10%\r20%"], "20%"),
        ([b"10%\r20%\r", b"30%\r"], "30%"),
        ([b"a\r\nb\r\n"], "a \u2502 b"),
        ([b"\x1b[32mok\x1b[0m \x1b[1;31mbad\x1b[m"], "ok bad"),
        ([b"\x1b]0;title\x07text"], "text"),
        ([b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\"], "link"),
        ([b"\x1b[2K\x1b[1Gdrawn\x1b[3"], "drawn"),
        ([b"a\x00\x07\x08b\xe2\x80\xaec"], "abc"),
        ([b"caf\xc3", b"\xa9"], "caf\xe9"),
        ([b"\xff\xfebytes"], "bytes"),
    ],
)
def test_the_last_lines_are_told(pieces: list[bytes], shown: str) -> None:
    assert after(*pieces) == shown


def test_long_lines_push_out_older_ones_and_are_cut() -> None:
    assert after(b"old\n" + b"x" * 230 + b"\nnew\n") == "x" * 230 + " \u2502 new"
    assert after(b"old\n" + b"x" * 500) == "x" * 239 + "\u2026"


def test_a_line_whose_beginning_is_gone_is_left_out() -> None:
    assert after(b"x" * 1_500 + b"\n", b"y" * 1_000 + b"\nlast\n") == "last"
    assert after(b"z" * 9_000) == "z" * 239 + "\u2026"


noise = st.binary(max_size=300) | st.sampled_from(
    [b"\x1b[", b"\x1b]0;", b"\r", b"\n", b"\xf0\x9f\x98", b"\x8b", b"x" * 3_000]
)


@given(st.lists(noise, max_size=20))
def test_whatever_comes_is_bounded_one_line_and_of_no_control_characters(pieces: list[bytes]) -> None:
    tail = OutputTail()
    for piece in pieces:
        shown = tail.feed(piece)
        assert len(shown) <= 240
        assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown)
        assert len(tail._kept) <= 2_048
