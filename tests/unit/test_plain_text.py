from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.editor_access import alignment, plain_text
from openbuffer.editor_access.lines import cut_at_line_ends, terminated_lines
from openbuffer.editor_access.plain_text import plain_byte_pieces, plain_pieces, same_stream, same_text

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = st.text(st.sampled_from("ab\r\n\ufeffé😋"), max_size=12)


@pytest.fixture(autouse=True, params=[1, 2, 3, 1 << 16])
def pieces_of(request: pytest.FixtureRequest) -> Iterator[None]:
    """The same answers whatever the size of a piece is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_text, "_PIECE", request.param)
        patch.setattr(alignment, "_WINDOW", request.param)
        yield


def whole(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")


@given(TEXTS, TEXTS, TEXTS)
def test_texts_are_the_same_exactly_if_their_normalised_copies_are(start: str, one: str, other: str) -> None:
    assert same_text(start + one, start + other) == (whole(start + one) == whole(start + other))


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans())
def test_a_text_is_the_same_with_other_line_ends_a_mark_or_a_final_line_end(
    text: str, end: str, mark: bool, final: bool
) -> None:
    other = "\ufeff" * mark + whole(text).replace("\n", end) + end * final
    assert same_text(text, other) == (whole(text) == whole(other))
    assert same_text(whole(text) + "x", "\ufeff" * mark + (whole(text) + "x").replace("\n", end) + end * final) or (
        whole(text).startswith("\ufeff")
    )


@given(TEXTS)
def test_pieces_come_to_the_normalised_copy_and_none_is_empty(text: str) -> None:
    pieces = [*plain_pieces(text)]
    assert "".join(pieces) == whole(text)
    assert all(pieces)
    assert b"".join(plain_byte_pieces(text.encode())) == whole(text).encode()


@given(st.lists(st.text("ab", min_size=1)), st.lists(st.text("ab", min_size=1)))
def test_streams_are_the_same_exactly_if_they_come_to_the_same(one: list[str], other: list[str]) -> None:
    assert same_stream(iter(one), iter(other)) == ("".join(one) == "".join(other))


@given(TEXTS, st.integers(1, 5))
def test_a_text_is_cut_between_lines_only(text: str, least: int) -> None:
    pieces = cut_at_line_ends(text, least)
    assert "".join(pieces) == text
    assert [line for piece in pieces for line in terminated_lines(piece)] == terminated_lines(text)


def test_a_large_text_is_cut_into_the_same_lines() -> None:
    lines = ["x" * 79 + "\r\n", "é\n", "\n", "a\fb\n"] * 2_000
    assert terminated_lines("".join(lines)) == lines
