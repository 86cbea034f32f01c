"""Frames out of any bytes, however they are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.wire.framing import BadFrame, FrameReader

ONE, TWO = b'{"id":1}', b'{"id":2}'


def framed(body: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(body) + body


def read(*pieces: bytes, max_bytes: int = 1_000_000) -> list[bytes | str]:
    """Bodies, and the reasons of what was no frame."""
    reader = FrameReader(max_bytes)
    items = [item for piece in pieces for item in reader.feed(piece)]
    return [item.reason if isinstance(item, BadFrame) else item for item in items]


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: %d\r\n\r\n",
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Length:  %d  \r\n\r\n",
        b"Content-Length: %d\n\n",
        b"Content-Length: %d\r\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc\r\nX-Later: 1\r\n\r\n",
        b"\r\n\r\nContent-Length: %d\r\n\r\n",
    ],
)
def test_headers_are_read_as_clients_write_them(header: bytes) -> None:
    assert read(framed(ONE, header) + framed(TWO)) == [ONE, TWO]


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    ("junk", "reasons"),
    [
        (b"hello\r\n", ["bytes that are no header"]),
        (b"no end of line", ["bytes that are no header"]),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", ["bytes that are no header"]),
        (b"\x00\xff" * 5_000, ["bytes that are no header"]),
        (b"Content-Length: -5\r\n\r\n{}", ["Content-Length '-5' is not a number of bytes"]),
        (b"Content-Length: five\r\n\r\n{}", ["Content-Length 'five' is not a number of bytes"]),
        (b"Content-Length:\r\n\r\n{}", ["Content-Length '' is not a number of bytes"]),
        (b"Content-Length: 0x10\r\n\r\n{}", ["Content-Length '0x10' is not a number of bytes"]),
        (b"Content-Length: " + b"9" * 40 + b"\r\n\r\n{}", [f"Content-Length '{'9' * 20}' is not a number of bytes"]),
        (b"Content-Type: x\r\n\r\n{}", ["a header without Content-Length"]),
        (b"Content-Length: 2000000\r\n\r\n{}", ["a message of 2000000 bytes; the most is 1000000"]),
        (b"Content-Length: 1000000000000\r\n\r\n", ["a message of 1000000000000 bytes; the most is 1000000"]),
        (b"Content-Length: 1200001\r\n\r\n[" + b"1," * 600_000, ["a message of 1200001 bytes; the most is 1000000"]),
        (b'{"text":"Content-Length: 3"}', ["bytes that are no header"]),
    ],
)  # fmt: skip
def test_what_is_no_frame_is_told_once_and_the_next_frame_is_read(junk: bytes, reasons: list[str]) -> None:
    assert read(framed(ONE) + junk + framed(TWO)) == [ONE, *reasons, TWO]
    assert read(framed(ONE), junk, framed(TWO)) == [ONE, *reasons, TWO]


def test_a_length_that_is_too_small_costs_one_message() -> None:
    body, *rest = read(b"Content-Length: 5\r\n\r\n" + ONE + framed(TWO))
    assert (body, rest) == (ONE[:5], ["bytes that are no header", TWO])


def test_a_length_that_is_too_large_costs_nothing_when_the_next_frame_comes() -> None:
    assert read(b"Content-Length: 900000\r\n\r\n" + ONE + framed(TWO)) == [ONE, TWO]


def test_bytes_behind_a_value_are_read_as_the_next_frame() -> None:
    reader = FrameReader()
    stream = b"Content-Length: %d\r\n\r\n" % (len(ONE) + 9) + ONE + framed(TWO)
    bodies: list[bytes] = []
    for item in reader.feed(stream):
        assert isinstance(item, bytes)
        bodies.append(item[: len(ONE)])
        reader.push_back(item[len(ONE) :])
    assert bodies == [ONE, TWO]


def test_a_header_inside_of_a_string_is_text() -> None:
    body = json.dumps({"text": "\r\n\r\nContent-Length: 3\r\n\r\n{}"}).encode()
    pretty = json.dumps({"text": "Content-Length: 3", "more": [1]}, indent=2).encode()
    assert read(framed(body) + framed(pretty)) == [body, pretty]


def test_the_start_of_what_is_skipped_is_kept_for_its_request_id() -> None:
    reader = FrameReader(100)
    start = b'{"jsonrpc":"2.0","id":7,"method":"x","params":"'
    assert list(reader.feed(b"Content-Length: 5000\r\n\r\n")) == []
    (bad,) = reader.feed(start + b"y" * 10)
    assert isinstance(bad, BadFrame)
    assert bad.start.startswith(start)


def test_memory_stays_bounded_while_a_message_that_is_too_long_is_skipped() -> None:
    reader = FrameReader(1_000)
    list(reader.feed(b"Content-Length: 1000000000\r\n\r\n"))
    for _ in range(100):
        list(reader.feed(b"x" * 100_000))
    assert len(reader._buffer) < 10_000
    assert list(reader.feed(framed(ONE))) == [ONE]


@given(
    st.lists(st.sampled_from([ONE, TWO, b"{}", '{"text":"é😋\u2028"}'.encode(), b"[\n\n1\r\n\r\n]"]), max_size=6),
    st.lists(st.integers(1, 40), min_size=1, max_size=60),
)
def test_any_cut_of_the_stream_gives_the_same_frames(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(framed(body) for body in bodies)
    pieces: list[bytes] = []
    for cut in cuts:
        pieces.append(stream[:cut])
        stream = stream[cut:]
    assert read(*pieces, stream) == bodies


@given(st.lists(st.binary(max_size=60) | st.sampled_from([b"Content-Length: 3\r\n", b"\r\n\r\n", b"{}\n"]), max_size=8))
def test_after_any_bytes_the_second_next_frame_is_read(junk: list[bytes]) -> None:
    reader = FrameReader(1_000)
    for piece in junk:
        list(reader.feed(piece))
    items = [item for item in reader.feed(framed(ONE) + framed(TWO)) if isinstance(item, bytes)]
    assert TWO in items
