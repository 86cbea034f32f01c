"""LSP frames out of a stream of bytes, whatever the bytes are; pure.

A frame that cannot be read becomes a :class:`BadFrame` and reading goes on at the next line that ends in a
``Content-Length`` header. That line cannot be part of a message: JSON has no raw line break inside a string, and
nothing outside a string reads like that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from ..limits import FRAME_MAX_BYTES, HEADER_LINE_MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

_LENGTH: Final = re.compile(rb"content-length[ \t]*:[ \t]*([^\s:]*)[ \t\r]*$", re.IGNORECASE)
_HEADER: Final = re.compile(rb"[A-Za-z][A-Za-z0-9-]*[ \t]*:")
_BLANK_LINE: Final = re.compile(rb"\n\r?\n")
_EMBEDDED: Final = re.compile(rb"content-length[ \t]*:[ \t]*\d+[ \t]*\r?\n", re.IGNORECASE)
_BLANK_LINES_LOOKED_AT: Final = 1_000
"""Per step, in a body; JSON has next to none, and a body made of them must not cost more than that."""

_LENGTH_MAX_DIGITS: Final = 15
_KEPT: Final = 256
"""How much of skipped bytes is kept to find a header in that arrives in two pieces."""

_SHOWN_MAX_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class BadFrame:
    """Something that is no frame; ``start`` is the beginning of what is skipped, to find a request id in."""

    reason: str
    start: bytes = b""


class FrameReader:
    """Cuts a stream into the bodies of its frames. Header names in any case, line ends CRLF or LF."""

    def __init__(self, max_bytes: int = FRAME_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._searched = 0
        self._length: int | None = None
        self._in_headers = False
        self._in_body = False
        self._skipping = False
        self._report: BadFrame | None = None

    def feed(self, data: bytes) -> Iterator[bytes | BadFrame]:
        """Take the next bytes of the stream and yield what is complete with them."""
        self._buffer += data
        while True:
            if self._report is not None and (self._buffer or self._report.start):
                yield self._reported(self._report)
            item = self._take_body() if self._in_body else self._take_line()
            if isinstance(item, bytes):
                yield item
            elif item is None:
                if self._report is not None and self._report.start:
                    yield self._reported(self._report)
                return

    def push_back(self, data: bytes) -> None:
        """Put bytes of the last body back in front: its length was too large, they belong to the next frame."""
        self._buffer[:0] = data
        self._searched = 0

    def _take_body(self) -> bytes | None:
        assert self._length is not None
        end = self._next_frame_within(min(self._length, len(self._buffer)))
        if end is None:
            if len(self._buffer) < self._length:
                return None
            end = self._length
        with memoryview(self._buffer) as view:
            body = bytes(view[:end])
        del self._buffer[:end]
        self._searched = 0
        self._in_body = False
        self._length = None
        return body

    def _next_frame_within(self, limit: int) -> int | None:
        """Where the header of another frame begins inside this body, whose length then was too large."""
        for _ in range(_BLANK_LINES_LOOKED_AT):
            found = _BLANK_LINE.search(self._buffer, self._searched, limit)
            if found is None:
                self._searched = max(self._searched, limit - 3)
                return None
            front = max(0, found.start() - _KEPT)
            header = _EMBEDDED.search(self._buffer, front, found.end())
            if header is not None:
                return header.start()
            self._searched = found.end() - 1
        return None

    def _take_line(self) -> Literal[True] | None:
        """Work off one line of headers, or of what is skipped; None when there is no whole one."""
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            if self._searched > HEADER_LINE_MAX_BYTES:
                self._drop_front()
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        if line.strip():
            self._header_line(line)
        elif not self._skipping:
            self._end_of_headers()
        return True

    def _header_line(self, line: bytes) -> None:
        found = _LENGTH.search(line)
        if found is None:
            if _HEADER.match(line) and not self._skipping:
                self._in_headers = True  # Content-Type, or one that this version does not know
            else:
                self._skip("bytes that are no header", line)
            return
        if line[: found.start()].strip():
            self._skip("bytes that are no header", line[: found.start()])
        value = found[1]
        if not (value.isdigit() and len(value) <= _LENGTH_MAX_DIGITS):
            self._skip(f"Content-Length {_shown(value)} is not a number of bytes")
            return
        self._skipping = False
        self._in_headers = True
        self._length = int(value)

    def _end_of_headers(self) -> None:
        length, in_headers = self._length, self._in_headers
        self._in_headers = False
        if length is None:
            if in_headers:
                self._skip("a header without Content-Length")
        elif length > self._max_bytes:
            self._skip(f"a message of {length} bytes; the most is {self._max_bytes}")
        else:
            self._in_body = True

    def _skip(self, reason: str, start: bytes = b"") -> None:
        """Skip until the next Content-Length; told once, as soon as some of what is skipped is there."""
        if not self._skipping:
            self._report = BadFrame(reason, start)
        self._skipping = True
        self._length = None
        self._in_headers = False

    def _reported(self, bad: BadFrame) -> BadFrame:
        self._report = None
        if bad.start:
            return bad
        following = bytes(self._buffer[:_SHOWN_MAX_BYTES])
        next_frame = _EMBEDDED.search(following)  # its request has an answer of its own
        return BadFrame(bad.reason, following[: next_frame.start() if next_frame else None])

    def _drop_front(self) -> None:
        """Drop the front of a line that is too long for a header, so that memory stays bounded."""
        self._skip("bytes that are no header", bytes(self._buffer[:_SHOWN_MAX_BYTES]))
        del self._buffer[:-_KEPT]
        self._searched = len(self._buffer)


def _shown(value: bytes) -> str:
    return repr(value[:20].decode("ascii", "replace"))
