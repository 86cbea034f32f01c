"""Counting and finding in bytes at the speed of memory, by stringzilla (SIMD); for ``bytes`` and ``bytearray``.

Every call holds the interpreter, and with it the whole server, so none may take long whatever the bytes are: long
needles are left to the standard library, whose search is linear where stringzilla's is quadratic, and large ranges
are counted part by part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

import stringzilla  # pyright: ignore[reportMissingTypeStubs]  it ships no types

if TYPE_CHECKING:
    from collections.abc import Callable

Bytes: TypeAlias = bytes | bytearray

_Search: TypeAlias = "Callable[[Bytes, bytes, int, int], int]"
_count = cast("_Search", stringzilla.count)  # pyright: ignore[reportUnknownMemberType]
_find = cast("_Search", stringzilla.find)  # pyright: ignore[reportUnknownMemberType]

_SHORT_BYTES: Final = 64
_PART_BYTES: Final = 1024 * 1024
_NARROW_ENOUGH_BYTES: Final = 2048


def count(data: Bytes, needle: bytes, start: int = 0, end: int | None = None) -> int:
    """How often ``needle`` (not empty) is in ``data[start:end]``, without overlap."""
    end = len(data) if end is None else end
    if len(needle) > _SHORT_BYTES:
        return data.count(needle, start, end)
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
    return _find(data, needle, start, end) if start < end else -1


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
