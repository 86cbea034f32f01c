"""Counting and finding in bytes at the speed of memory, by stringzilla (SIMD); for ``bytes`` and ``bytearray``.

Every call holds the interpreter, and with it the whole server, so none may take long whatever the bytes are: long
needles are left to the standard library, whose search is linear where stringzilla's is quadratic, and large ranges
are counted part by part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

import stringzilla  # pyright: ignore[reportMissingTypeStubs]  it ships no types

if TYPE_CHECKING:
    from collections.abc import Callable

Bytes: TypeAlias = bytes | bytearray

_Search: TypeAlias = "Callable[[Bytes, bytes, int, int], int]"
_count = cast("_Search", stringzilla.count)  # pyright: ignore[reportUnknownMemberType]
_find = cast("_Search", stringzilla.find)  # pyright: ignore[reportUnknownMemberType]
_byte_sum = cast("Callable[[memoryview], int]", stringzilla.bytesum)  # pyright: ignore[reportUnknownMemberType]


class _Translate(Protocol):
    def __call__(self, data: Bytes, table: bytes, *, start: int, end: int, out: bytearray) -> object: ...


_translate = cast("_Translate", stringzilla.translate)  # pyright: ignore[reportUnknownMemberType]

_SHORT_BYTES: Final = 64
_PART_BYTES: Final = 1024 * 1024
_NARROW_ENOUGH_BYTES: Final = 2048

# Line feeds are counted by looking every byte up in a table of zeros and ones and adding them up. Neither step depends
# on what the bytes are, which makes them several times as fast as a search that stops at each line feed.
_LINE_FEEDS: Final = bytes(byte == ord("\n") for byte in range(256))
_NOT_PLAIN: Final = b"\x80"
_PLAIN_LINES: Final = bytes(
    _NOT_PLAIN[0] if byte in b"\0\r" or byte >= 0x80 else byte == ord("\n") for byte in range(256)
)
_NO_TEXT: Final = bytes(_NOT_PLAIN[0] if byte == 0 or byte >= 0x80 else 0 for byte in range(256))
_LOOKED_UP_BYTES: Final = 64 * 1024
_FEW_BYTES: Final = 16 * 1024


def count(data: Bytes, needle: bytes, start: int = 0, end: int | None = None) -> int:
    """How often ``needle`` (not empty) is in ``data[start:end]``, without overlap."""
    end = len(data) if end is None else end
    if len(needle) > _SHORT_BYTES:
        return data.count(needle, start, end)
    if needle == b"\n" and end - start > _FEW_BYTES:
        return _line_feeds(data, start, end)
    total = 0
    if end - start > _PART_BYTES and needle[0] not in needle[1:]:
        # Such a needle cannot overlap itself, so that parts may share all of it but a byte and count nothing twice.
        shared = len(needle) - 1
        while end - start > _PART_BYTES:
            total += _count(data, needle, start, start + _PART_BYTES)
            start += _PART_BYTES - shared
    return total + _count(data, needle, start, end) if start < end else total


def find(data: Bytes, needle: bytes, start: int = 0) -> int:
    """The index of the first ``needle`` (not empty) at or after ``start``; -1 when there is none."""
    if len(needle) > _SHORT_BYTES:
        return data.find(needle, start)
    end = len(data)
    while end - start > _PART_BYTES:
        part_end = start + _PART_BYTES
        if (at := _find(data, needle, start, part_end)) >= 0:
            return at
        start = part_end - len(needle) + 1
    return _find(data, needle, start, end) if start < end else -1


def is_ascii_text(data: Bytes) -> bool:
    """Whether ``data`` is ASCII without a NUL."""
    size = len(data)
    looked_up = bytearray(min(_LOOKED_UP_BYTES, size))
    for start in range(0, size, _LOOKED_UP_BYTES):
        end = min(start + _LOOKED_UP_BYTES, size)
        _translate(data, _NO_TEXT, start=start, end=end, out=looked_up)
        if looked_up.find(_NOT_PLAIN, 0, end - start) >= 0:
            return False
    return True


class PlainLines:
    """Tells plain pieces of text and counts their lines; for one text at a time, as it has a buffer of its own."""

    def __init__(self) -> None:
        self._looked_up = bytearray()

    def line_feeds(self, piece: Bytes) -> int | None:
        """How many line feeds ``piece`` holds; None where it is not plain: with a NUL, CR or byte beyond ASCII."""
        size = len(piece)
        if len(self._looked_up) < size:
            self._looked_up = bytearray(size)
        _translate(piece, _PLAIN_LINES, start=0, end=size, out=self._looked_up)
        if self._looked_up.find(_NOT_PLAIN, 0, size) >= 0:
            return None
        return _byte_sum(memoryview(self._looked_up)[:size])


def line_number(data: Bytes, offset: int) -> int:
    """The 1-based number of the line that holds ``data[offset]``; lines end with a line feed."""
    return count(data, b"\n", 0, offset) + 1


def after_line_feed(data: Bytes, nth: int, start: int, end: int) -> int:
    """The index right after the ``nth`` line feed of ``data[start:end]``, which holds as many; ``start`` for none."""
    passed = 0
    while end - start > _NARROW_ENOUGH_BYTES:
        middle = (start + end) // 2
        within = count(data, b"\n", start, middle)
        if passed + within < nth:
            start, passed = middle, passed + within
        else:
            end = middle
    for _ in range(nth - passed):
        start = data.find(b"\n", start) + 1
    return start


def _line_feeds(data: Bytes, start: int, end: int) -> int:
    looked_up = bytearray(min(_LOOKED_UP_BYTES, end - start))
    total = 0
    for at in range(start, end, _LOOKED_UP_BYTES):
        stop = min(at + _LOOKED_UP_BYTES, end)
        _translate(data, _LINE_FEEDS, start=at, end=stop, out=looked_up)
        total += _byte_sum(memoryview(looked_up)[: stop - at])
    return total
