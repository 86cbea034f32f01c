"""Counting line feeds and telling plain pieces, against the bytes' own methods; and files in pieces."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.tools import CancellationToken
from openbuffer.tools.support import byte_search, file_bytes
from openbuffer.tools.support.encodings import UTF8, Encoding, NotUtf8Error, marked_text, utf8_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCK = b"\n".join(bytes([byte]) * (byte % 7) for byte in range(256)) + b"\n\n"
STRIDE = 64 * 1024


@settings(max_examples=150, deadline=None)
@given(
    start=st.integers(0, 3 * STRIDE),
    size=st.one_of(
        st.integers(0, 3 * STRIDE), st.sampled_from([k * STRIDE + d for k in (0, 1, 2) for d in (-1, 0, 1)])
    ),
    mutable=st.booleans(),
)
def test_line_feeds_of_any_range_of_any_bytes_are_counted(start: int, size: int, mutable: bool) -> None:
    whole = BLOCK * (6 * STRIDE // len(BLOCK) + 1)
    data = bytearray(whole) if mutable else whole
    end = max(0, start + size)
    assert byte_search.count(data, b"\n", start, end) == whole.count(b"\n", start, end)


def test_many_line_feeds_in_a_row_are_counted() -> None:
    data = b"\n" * (5 * STRIDE + 3)
    assert byte_search.count(data, b"\n") == len(data)
    assert byte_search.PlainLines().line_feeds(data) == len(data)


@pytest.mark.contract("F1")
@settings(max_examples=400, deadline=None)
@given(pieces=st.lists(st.binary(max_size=40) | st.text("ab\n\t~\x7f", max_size=40).map(str.encode), max_size=6))
def test_a_piece_is_plain_only_if_it_is_ascii_without_nul_and_carriage_return(pieces: list[bytes]) -> None:
    lines = byte_search.PlainLines()
    for piece in pieces:
        plain = piece.isascii() and b"\0" not in piece and b"\r" not in piece
        assert lines.line_feeds(piece) == (piece.count(b"\n") if plain else None)


@pytest.mark.parametrize("byte", range(256))
def test_every_byte_decides_for_itself_whether_a_piece_is_plain(byte: int) -> None:
    piece = bytearray(b"x\n" * 50_000)
    piece[77_777] = byte
    plain = byte < 0x80 and byte not in b"\0\r"
    assert byte_search.PlainLines().line_feeds(piece) == (piece.count(b"\n") if plain else None)


@settings(max_examples=200, deadline=None)
@given(size=st.integers(0, 3 * STRIDE), byte=st.integers(0, 255), place=st.integers(0, 3 * STRIDE))
def test_ascii_text_is_told_by_every_byte_of_it(size: int, byte: int, place: int) -> None:
    data = bytearray(b"x\r\n\x01\x7f" * (size // 5 + 1))[:size]
    if place < size:
        data[place] = byte
    for given_bytes in (data, bytes(data)):
        assert byte_search.is_ascii_text(given_bytes) == (data.isascii() and b"\0" not in data)


@pytest.mark.parametrize("needle", [b"k", b"kk", b"needle kk", b"k" * 64])
@pytest.mark.parametrize("place", [80, 999_990, 1_048_575, 1_048_576, 1_048_577, 2_097_152, 2_500_000])
def test_a_needle_is_found_over_the_seams_of_parts(needle: bytes, place: int) -> None:
    for before in range(0, 80, 7):
        data = bytearray(3_000_000)
        assert byte_search.find(data, needle) == -1
        at = place - before
        data[at : at + len(needle)] = needle
        assert byte_search.find(data, needle) == at
        assert byte_search.find(data, needle, at) == at
        assert byte_search.find(data, needle, at + 1) == -1


@pytest.mark.contract("F2")
@pytest.mark.parametrize(
    "size", [0, 1, 16 * 1024, *(n * file_bytes.PIECE_BYTES + d for n in (1, 2) for d in (-1, 0, 1))]
)
def test_the_pieces_of_a_file_are_the_file(tmp_path: Path, size: int) -> None:
    raw = os.urandom(size)
    (tmp_path / "f").write_bytes(raw)
    with (tmp_path / "f").open("rb") as file:
        for _ in range(2):
            pieces = file_bytes.file_pieces(file.fileno(), "/f", CancellationToken(), size)
            assert b"".join(bytes(piece) for piece in pieces) == raw


@pytest.mark.contract("F2")
def test_what_is_written_to_a_file_while_it_is_read_is_in_its_pieces(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"first")
    read = b""
    with path.open("rb") as file:
        for number, piece in enumerate(file_bytes.file_pieces(file.fileno(), "/f", CancellationToken(), 10**7)):
            read += piece
            if number < 3:
                with path.open("ab") as more:
                    more.write(os.urandom(200_000))
    assert read == path.read_bytes()
    assert len(read) == 600_005


@pytest.mark.contract("F6")
@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (b"", UTF8),
        (b"a", UTF8),
        (b"abc\nd\n", UTF8),
        (b"\xef\xbb\xbf", Encoding("utf-8", b"\xef\xbb\xbf")),
        ("\ufeffé\n".encode(), Encoding("utf-8", b"\xef\xbb\xbf")),
        ("\ufeffé\n".encode("utf-16-le"), Encoding("utf-16-le", b"\xff\xfe")),
        ("\ufeffé\n".encode("utf-32-le"), Encoding("utf-32-le", b"\xff\xfe\0\0")),
    ],
)
def test_a_mark_is_found_over_pieces_that_share_one_buffer(raw: bytes, encoding: Encoding, size: int) -> None:
    def pieces() -> Iterator[bytearray]:
        buffer = bytearray()
        for start in range(0, len(raw), size):
            buffer[:] = raw[start : start + size]
            yield buffer

    found, text = marked_text("/f", pieces)
    assert found == encoding
    assert b"".join(bytes(piece) for piece, _ in text) == raw.decode(encoding.codec).removeprefix("\ufeff").encode()


@pytest.mark.contract("F6")
@pytest.mark.parametrize("shift", range(4))
@pytest.mark.parametrize("size", [5_000, 32 * 1024, 99_999])
def test_characters_may_lie_across_all_parts_that_are_looked_at(shift: int, size: int) -> None:
    raw = b"a" * shift + "😋é漢\n".encode() * 9_000
    pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
    text = [bytes(piece) for piece, _ in utf8_pieces("/f", lambda: pieces, UTF8)]
    assert b"".join(text) == raw
    for piece in text:
        piece.decode()


@pytest.mark.contract("F6")
@pytest.mark.parametrize("place", [0, 1, 8_191, 8_192, 8_193, 32_767, 32_768, 65_536, 79_999])
def test_the_byte_that_is_not_utf8_is_told_wherever_it_is(place: int) -> None:
    raw = bytearray("é".encode() * 40_000)
    raw[place - place % 2] = 0xFF
    with pytest.raises(NotUtf8Error) as refused:
        list(utf8_pieces("/f", lambda: [raw[:50_001], raw[50_001:]], UTF8))
    assert (refused.value.offset, refused.value.byte) == (place - place % 2, 0xFF)


@pytest.mark.contract("F6")
@pytest.mark.parametrize("whole", [1, 8_192, 32_768, 40_000])
def test_an_unfinished_character_at_the_end_is_not_utf8(whole: int) -> None:
    raw = "é".encode() * whole + "😋".encode()[:3]
    with pytest.raises(NotUtf8Error) as refused:
        list(utf8_pieces("/f", lambda: [raw], UTF8))
    assert refused.value.offset == 2 * whole


@pytest.mark.contract("F2")
def test_a_large_file_is_read_in_pieces_too(tmp_path: Path) -> None:
    line = b"0123456789abcdef" * 64
    raw = line * (17 * 1024)
    (tmp_path / "f").write_bytes(raw)
    with (tmp_path / "f").open("rb") as file:
        pieces = file_bytes.file_pieces(file.fileno(), "/f", CancellationToken(), len(raw))
        read = [bytes(piece) for piece in pieces]
    assert b"".join(read) == raw
    assert max(map(len, read)) < 300_000
