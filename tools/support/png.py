"""PNG without a library: whether bytes are a whole picture and of what size, and a plain picture as PNG."""

from __future__ import annotations

import struct
import zlib
from typing import Final

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CHANNELS: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Values of a pixel by the colour type."""

_DEPTHS: Final = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_BY_PALETTE: Final = 3
_PACKED_WORDS: Final = frozenset({b"zTXt", b"iTXt", b"iCCP"})
"""What may grow a thousandfold when whoever shows the picture unpacks it."""

_PACKED_WORDS_MAX_BYTES: Final = 16 * 1024
_ROWS_AT_ONCE: Final = 1 << 20


class NoPictureError(ValueError):
    """The bytes are no whole PNG picture; the text says why."""


def png_size(data: bytes, max_pixels: int) -> tuple[int, int]:
    """Width and height of a picture that is whole: every part is there and intact, and so are all of its rows.

    Raises:
        NoPictureError: it is none, or has more than ``max_pixels``.
    """
    width, height = png_head(data)
    if width * height > max_pixels:
        raise NoPictureError(f"it has {width} x {height} pixels, and the most is {max_pixels}")
    depth, colour, *_, interlaced = data[24:29]
    if depth not in _DEPTHS.get(colour, ()):
        raise NoPictureError("its header makes no sense")
    if interlaced:
        raise NoPictureError("it is interlaced, which screenshots are not")
    chunks = _chunks(data)
    row = 1 + (width * depth * _CHANNELS[colour] + 7) // 8
    _check_rows([content for kind, content in chunks if kind == b"IDAT"], row * height)
    if colour == _BY_PALETTE and not any(kind == b"PLTE" for kind, _ in chunks):
        raise NoPictureError("its colours are missing")
    if any(kind in _PACKED_WORDS and len(content) > _PACKED_WORDS_MAX_BYTES for kind, content in chunks):
        raise NoPictureError("it brings packed data along that is no picture")
    return width, height


def png_head(data: bytes) -> tuple[int, int]:
    """Width and height as the beginning tells them, whatever follows.

    Raises:
        NoPictureError: it does not begin as a PNG picture.
    """
    if data[:16] != _SIGNATURE + b"\0\0\0\x0dIHDR" or len(data) < 33:
        raise NoPictureError("it does not begin as one")
    width, height = struct.unpack_from(">II", data, 16)
    if not (width and height):
        raise NoPictureError("its header makes no sense")
    return width, height


def rgb_png(width: int, height: int, rows: bytes | bytearray) -> bytes:
    """A picture of 8-bit red, green and blue, given row by row without anything between."""
    stride = 3 * width
    filtered = b"".join(b"\0" + rows[at : at + stride] for at in range(0, stride * height, stride))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered, 6)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, content) for kind, content in parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    at = len(_SIGNATURE)
    while not found or found[-1][0] != b"IEND":
        if at + 12 > len(data):
            raise NoPictureError("its end is missing")
        (length,) = struct.unpack_from(">I", data, at)
        end = at + 8 + length
        if end + 4 > len(data):
            raise NoPictureError("its end is missing")
        if struct.unpack_from(">I", data, end)[0] != zlib.crc32(data[at + 4 : end]):
            raise NoPictureError("a part of it is damaged")
        found.append((data[at + 4 : at + 8], data[at + 8 : end]))
        at = end + 4
    if at != len(data):
        raise NoPictureError("something follows its end")
    return found


def _check_rows(packed: list[bytes], expected: int) -> None:
    """Unpack no more than a picture of that size has, and see whether that is all."""
    unpacker = zlib.decompressobj()
    size = 0
    try:
        for piece in packed:
            rest = piece
            while rest and size <= expected:
                size += len(unpacker.decompress(rest, _ROWS_AT_ONCE))
                rest = unpacker.unconsumed_tail
        size += len(unpacker.flush()) if size <= expected else 0
    except zlib.error:
        raise NoPictureError("its pixels cannot be unpacked") from None
    if size != expected or not unpacker.eof:
        raise NoPictureError("its pixels are not all there")
