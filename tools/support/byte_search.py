"""Counting and finding in bytes at the speed of memory, by stringzilla (SIMD); for ``bytes`` and ``bytearray``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import stringzilla  # pyright: ignore[reportMissingTypeStubs]  it ships no types

if TYPE_CHECKING:
    from collections.abc import Callable

Bytes: TypeAlias = bytes | bytearray

_Search: TypeAlias = "Callable[[Bytes, bytes, int, int], int]"
_count = cast("_Search", stringzilla.count)  # pyright: ignore[reportUnknownMemberType]
_find = cast("_Search", stringzilla.find)  # pyright: ignore[reportUnknownMemberType]


def count(data: Bytes, needle: bytes, start: int = 0, end: int | None = None) -> int:
    """How often ``needle`` (not empty) is in ``data[start:end]``, without overlap."""
    end = len(data) if end is None else end
    return _count(data, needle, start, end) if start < end else 0


def find(data: Bytes, needle: bytes, start: int = 0) -> int:
    """The index of the first ``needle`` (not empty) at or after ``start``; -1 when there is none."""
    end = len(data)
    return _find(data, needle, start, end) if start < end else -1


def line_number(data: Bytes, offset: int) -> int:
    """The 1-based number of the line that holds ``data[offset]``; lines end with a line feed."""
    return count(data, b"\n", 0, offset) + 1
