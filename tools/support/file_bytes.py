"""Bytes of an opened file or of a document's text, never more than were admitted."""

from __future__ import annotations

import os
from io import FileIO
from typing import TYPE_CHECKING, Final

from ..errors import ReadByteLimitError, ReadCancelledError, ToolFailure
from .text_files import surrogate_refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..contract import CancellationToken
    from .byte_search import Bytes

PIECE_BYTES: Final = 96 * 1024
"""Fits the processor's second cache, so that looking at a piece several times costs little.

From 128 KiB on, the C library gets a buffer from the system and gives it back, which pays for a large file only.
"""

_LARGE_FILE_BYTES: Final = 16 * 1024 * 1024
_LARGE_PIECE_BYTES: Final = 250_000  # no multiple of a page: the kernel copies to some of those at half of the speed

_LEAST_PIECE_BYTES: Final = 16 * 1024
"""Files that grow, and those of some file systems, hold more than their size says; a byte at a time would take ages."""


def file_pieces(fd: int, path: str, token: CancellationToken, max_bytes: int) -> Iterator[Bytes]:
    """The file from its start, through one buffer that is used again for each piece.

    Raises:
        ReadCancelledError: the token was cancelled.
        ReadByteLimitError: the file grew over ``max_bytes`` while it was being read.
    """
    expected = os.fstat(fd).st_size
    most = PIECE_BYTES if expected < _LARGE_FILE_BYTES else _LARGE_PIECE_BYTES
    buffer = bytearray(min(most, max(expected + 1, _LEAST_PIECE_BYTES)))
    total = 0
    with FileIO(fd, closefd=False) as file:
        file.seek(0)
        while True:
            if token.cancelled:
                raise ReadCancelledError(f"{path}: the read was cancelled after {total} bytes.")
            size = file.readinto(buffer)
            if not size:
                return
            total += size
            if total > max_bytes:
                raise ReadByteLimitError(
                    f"{path}: grew over the budget of {max_bytes} bytes while it was being read. "
                    "Read it again when nothing writes to it, or search it instead (Grep, where that tool is offered)."
                )
            whole = size == len(buffer)
            del buffer[size:]  # nothing, or shrinks it where it is: a slice would be a copy
            yield buffer
            if not whole:
                buffer = bytearray(_LEAST_PIECE_BYTES)  # mostly nothing more comes
            elif size < most:
                buffer = bytearray(most)


def file_bytes(fd: int, path: str, max_bytes: int) -> bytes:
    """The whole file.

    Raises:
        ToolFailure: it has more than ``max_bytes``.
    """
    parts: list[bytes] = []
    total = 0
    size = os.fstat(fd).st_size
    while max(size, total) <= max_bytes:
        # One byte more than expected, so that the end of the file is mostly seen without a copy of what was read.
        part = os.pread(fd, min(max(size - total + 1, _LEAST_PIECE_BYTES), max_bytes - total + 1), total)
        if not part:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        parts.append(part)
        total += len(part)
    size = max(total, os.fstat(fd).st_size)
    raise ToolFailure(over_budget(path, size, max_bytes))


def over_budget(path: str, size: int, max_bytes: int) -> str:
    """The sentence about a text that is too large to be changed."""
    return (
        f"{path}: has {size} bytes, over the budget of {max_bytes} bytes for one change; nothing was changed. "
        "Change it with a command made for large files."
    )


def document_pieces(text: str, path: str, token: CancellationToken, max_bytes: int) -> Iterator[Bytes]:
    """A document's text as UTF-8.

    Raises:
        ReadCancelledError: the token was cancelled.
        ReadByteLimitError: the text has more than ``max_bytes``.
        TextRefusedError: it holds half of a surrogate pair.
    """
    total = 0
    for start in range(0, len(text), PIECE_BYTES):
        if token.cancelled:
            raise ReadCancelledError(f"{path}: the read was cancelled after {total} bytes.")
        try:
            piece = text[start : start + PIECE_BYTES].encode()
        except UnicodeEncodeError as error:
            raise surrogate_refused(path, text, start + error.start) from None
        total += len(piece)
        if total > max_bytes:
            raise ReadByteLimitError(
                f"{path}: the open document has more than the budget of {max_bytes} bytes. "
                "Search it instead (Grep, where that tool is offered)."
            )
        yield piece
