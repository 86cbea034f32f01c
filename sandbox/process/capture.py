"""Output kept within bounds while it is produced: its first and its last bytes, and a count of what lay between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, cast

import stringzilla  # pyright: ignore[reportMissingTypeStubs]  it ships no types

from .folding import ReturnFolding
from .result import Captured, CaptureLimits

if TYPE_CHECKING:
    from collections.abc import Callable

_byte_sum = cast("Callable[[memoryview], int]", stringzilla.bytesum)  # pyright: ignore[reportUnknownMemberType]


class _Translate(Protocol):
    def __call__(self, data: bytes | bytearray, table: bytes, *, start: int, end: int, out: bytearray) -> object: ...


_translate = cast("_Translate", stringzilla.translate)  # pyright: ignore[reportUnknownMemberType]

_LINE_FEEDS: Final = bytes(byte == ord("\n") for byte in range(256))
_CONTINUATION_BYTES_MAX: Final = 3
_COUNTED_BYTES: Final = 64 * 1024


class OutputCapture:
    """Takes the raw output piece by piece, in any cut, and gives the text that is shown."""

    def __init__(self, limits: CaptureLimits) -> None:
        self._bounded = BoundedBytes(limits)
        self._folding = ReturnFolding(self._bounded)
        self._total = 0

    def feed(self, data: bytes | bytearray, size: int | None = None) -> None:
        """Take the next bytes: the first ``size`` of ``data``, which is not kept and may be used again."""
        size = len(data) if size is None else size
        self._total += size
        self._folding.feed(data, size)

    def captured(self) -> Captured:
        """What is kept; ends the capture."""
        head, tail, lines = self._bounded.pieces()
        return Captured(
            head=_shown(head),
            tail=_shown(tail),
            total_bytes=self._total,
            omitted_bytes=self._bounded.length - len(head) - len(tail),
            omitted_lines=lines,
            folded=self._folding.folded,
        )


class BoundedBytes:
    """A sequence of bytes that only grows, or is taken back to a line's start; its head and tail are kept.

    It takes at most ``head_bytes`` and two times ``tail_bytes`` of memory, and the piece that is being appended.
    """

    def __init__(self, limits: CaptureLimits) -> None:
        self._limits = limits
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped_lines = 0
        self._looked_up = bytearray()
        self.length = 0

    def append(self, data: bytes | bytearray, size: int) -> None:
        """Add the first ``size`` bytes of ``data`` at the end."""
        start = 0
        # Bytes behind a gap never join the head, also when taking back has made room in it.
        if self.length == len(self._head):
            start = min(size, self._limits.head_bytes - self.length)
            self._head.extend(memoryview(data)[:start])
        self.length += size
        keep = self._limits.tail_bytes
        if size - start >= keep:
            self._drop(self._tail, 0, len(self._tail))
            self._drop(data, start, size - keep)
            self._tail[:] = memoryview(data)[size - keep : size]
            return
        self._tail.extend(memoryview(data)[start:size])
        if len(self._tail) > 2 * keep:
            self._drop_front(len(self._tail) - keep)

    def take_back(self, length: int) -> None:
        """Forget all but the first ``length`` bytes; what is forgotten has no line feed in it."""
        tail_start = self.length - len(self._tail)
        self.length = length
        del self._tail[max(0, length - tail_start) :]
        del self._head[length:]

    def pieces(self) -> tuple[bytes, bytes, int]:
        """The head, the tail, and the line feeds between them; ends the growing.

        The tail is empty when nothing lies between. Where something does, both end at whole lines if that costs
        little, and always at whole characters.
        """
        excess = len(self._tail) - self._limits.tail_bytes
        if excess > 0:
            self._drop_front(excess)
        head, tail = bytes(self._head), bytes(self._tail)
        if len(head) + len(tail) == self.length:
            return head + tail, b"", 0
        head_end, tail_start = _end_of_whole(head), _start_of_whole(tail)
        lines = self._dropped_lines + head.count(b"\n", head_end) + tail.count(b"\n", 0, tail_start)
        return head[:head_end], tail[tail_start:], lines

    def _drop_front(self, size: int) -> None:
        self._drop(self._tail, 0, size)
        del self._tail[:size]

    def _drop(self, data: bytes | bytearray, start: int, end: int) -> None:
        # Adding up a table's ones takes the same time whatever the bytes are, and a tenth of what counting takes.
        if len(self._looked_up) < _COUNTED_BYTES and start < end:
            self._looked_up = bytearray(_COUNTED_BYTES)
        for at in range(start, end, _COUNTED_BYTES):
            stop = min(at + _COUNTED_BYTES, end)
            _translate(data, _LINE_FEEDS, start=at, end=stop, out=self._looked_up)
            self._dropped_lines += _byte_sum(memoryview(self._looked_up)[: stop - at])


def _end_of_whole(head: bytes) -> int:
    """Where to end a head that something is missing behind."""
    line_end = head.rfind(b"\n", len(head) - len(head) // 4) + 1
    if line_end > 0:
        return line_end
    for back in range(1, min(_CONTINUATION_BYTES_MAX, len(head)) + 1):
        byte = head[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(head) - back if needed > back else len(head)
        if byte < 0x80:
            break
    return len(head)


def _start_of_whole(tail: bytes) -> int:
    """Where to begin a tail that something is missing before."""
    line_start = tail.find(b"\n", 0, len(tail) // 4) + 1
    if line_start > 0:
        return line_start
    start = 0
    while start < min(_CONTINUATION_BYTES_MAX, len(tail)) and 0x80 <= tail[start] < 0xC0:
        start += 1
    return start


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
