"""Counting the lines of a text that comes in pieces, and numbering those of one window as ``cat -n`` does.

A line ends with a line feed; a carriage return right before it belongs to the line end and is not shown. Any other
character that some programs take for a line end (a lone carriage return, form feed, U+2028, NEL) is an ordinary one.
"""

from __future__ import annotations

from typing import Final

from ..limits import LINE_MAX_CHARS
from .byte_search import Bytes, after_line_feed, count


class LineWindow:
    """Lines ``first`` to ``first + limit - 1`` of a text, numbered; everything else is only counted.

    Feed it the text as UTF-8 in pieces that end with a whole character, then call :meth:`finish`.

    Attributes:
        total_lines: exact after :meth:`finish`; text after the last line feed is a line.
        shown_lines: how many are in the window.
        crlf_lines: how many line ends are CRLF.
        line_feeds: how many line ends there are.
        size: how many bytes the text has.
        is_over_budget: True once the numbered lines have more than ``max_bytes``; the rest is not taken any more.
    """

    def __init__(self, *, first: int, limit: int, max_bytes: int) -> None:
        self._first = first
        self._last = first + limit - 1
        self._max_bytes = max_bytes
        self._blocks: list[str] = []
        self._block_bytes = 0
        self._line = _UnfinishedLine()
        self._last_byte = b""
        self.total_lines = 0
        self.shown_lines = 0
        self.crlf_lines = 0
        self.line_feeds = 0
        self.size = 0
        self.is_over_budget = False

    @property
    def ends_with_line_feed(self) -> bool:
        """False for a text whose last line has no line end, and for an empty one."""
        return self._last_byte == b"\n"

    @property
    def blocks(self) -> list[str]:
        """The numbered lines in blocks, each with a line feed except the last of its block."""
        return self._blocks

    @property
    def body(self) -> str:
        """The numbered lines, each with a line feed except the last."""
        return "\n".join(self._blocks)

    def lines_within(self, room_bytes: int) -> int:
        """How many of the numbered lines, from the first on, fit into so many bytes."""
        lines = 0
        for line in self.body.split("\n"):
            room_bytes -= len(line.encode()) + bool(lines)
            if room_bytes < 0:
                break
            lines += 1
        return lines

    def feed(self, piece: Bytes, plain_line_feeds: int | None = None) -> None:
        """Take the next piece; ``plain_line_feeds`` is how many line feeds it has, if it has no carriage return."""
        if not piece:
            return
        self.size += len(piece)
        before = self.line_feeds
        inside = count(piece, b"\n") if plain_line_feeds is None else plain_line_feeds
        self.line_feeds = before + inside
        if self._last_byte == b"\r" and piece[0] == ord("\n"):
            self.crlf_lines += 1
        if plain_line_feeds is None and piece.find(b"\r") >= 0:
            self.crlf_lines += count(piece, b"\r\n")
        self._last_byte = bytes(piece[-1:])
        if before >= self._last or self.line_feeds < self._first - 1 or self.is_over_budget:
            return
        start = 0 if before >= self._first - 1 else _after_line_feed(piece, self._first - 1 - before, inside)
        end = len(piece) if self.line_feeds < self._last else _after_line_feed(piece, self._last - before, inside)
        self._take(str(memoryview(piece)[start:end], "utf-8"))

    def finish(self) -> None:
        """The text has ended."""
        unfinished = bool(self._last_byte) and not self.ends_with_line_feed
        self.total_lines = self.line_feeds + unfinished
        if unfinished and self._first <= self.total_lines <= self._last:
            self._emit([self._line.close(by_line_feed=False)])

    def _take(self, text: str) -> None:
        lines = _split(text)
        first, tail = lines[0], lines.pop()
        if lines:
            if _may_hold_long_line(text):
                lines = [line if len(line) <= LINE_MAX_CHARS else _cut(line, len(line)) for line in lines]
            del text  # as large as the lines, and not needed while they are joined
            self._line.extend(first)
            lines[0] = self._line.close(by_line_feed=True)
            self._emit(lines)
        self._line.extend(tail)

    def _emit(self, lines: list[str]) -> None:
        if self.is_over_budget:
            return
        numbered = _numbered(lines, self._first + self.shown_lines)
        self._block_bytes += utf8_length(numbered) + bool(self._blocks)
        self._blocks.append(numbered)
        self.shown_lines += len(lines)
        self.is_over_budget = self._block_bytes > self._max_bytes


class _UnfinishedLine:
    """A line whose end has not come yet; holds no more of it than can be shown."""

    def __init__(self) -> None:
        self._head = ""
        self._length = 0
        self._ends_with_cr = False

    def extend(self, part: str) -> None:
        if not part:
            return
        if len(self._head) <= LINE_MAX_CHARS:  # one more than is shown, as that one may be part of the line end
            self._head = (self._head + part)[: LINE_MAX_CHARS + 1]
        self._length += len(part)
        self._ends_with_cr = part.endswith("\r")

    def close(self, *, by_line_feed: bool) -> str:
        length = self._length - (by_line_feed and self._ends_with_cr)
        line = self._head[:length] if length <= LINE_MAX_CHARS else _cut(self._head, length)
        self._head, self._length, self._ends_with_cr = "", 0, False
        return line


def utf8_length(text: str) -> int:
    """How many bytes the text has as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _cut(line: str, length: int) -> str:
    return f"{line[:LINE_MAX_CHARS]} … (line cut: {LINE_MAX_CHARS} of {length} characters shown)"


def _split(text: str) -> list[str]:
    """The lines, without the carriage return of their line end; the first has its own, as it began before ``text``."""
    if "\r" not in text:
        return text.split("\n")
    first, line_feed, rest = text.partition("\n")
    return [first, *rest.replace("\r\n", "\n").split("\n")] if line_feed else [first]


def _may_hold_long_line(text: str) -> bool:
    """False when every line surely has at most ``LINE_MAX_CHARS``; looks at few of the line ends."""
    start = 0
    while len(text) - start > LINE_MAX_CHARS:
        end = text.rfind("\n", start, start + LINE_MAX_CHARS + 1)
        if end < 0:
            return True
        start = end + 1
    return False


def _numbered(lines: list[str], first: int) -> str:
    """The ``cat -n`` form of all lines, at an eighth of what formatting each by itself costs."""
    first_digits: list[str] = []
    last_digits: list[str] = []
    for hundred in range(first // 100, (first + len(lines) - 1) // 100 + 1):
        first_digits += [f"\n{hundred:4}" if hundred else "\n    "] * 100
        last_digits += _LAST_DIGITS if hundred else _BELOW_HUNDRED
    shown = slice(first % 100, first % 100 + len(lines))
    parts = [""] * (3 * len(lines))
    parts[0::3] = first_digits[shown]
    parts[0] = parts[0][1:]
    parts[1::3] = last_digits[shown]
    parts[2::3] = lines
    return "".join(parts)


_LAST_DIGITS: Final = tuple(f"{number:02}\t" for number in range(100))
_BELOW_HUNDRED: Final = tuple(f"{number:2}\t" for number in range(100))


def _after_line_feed(piece: Bytes, nth: int, inside: int) -> int:
    """The index right after the ``nth`` line feed (1 or more) of a piece that holds ``inside``; 0 for none."""
    return piece.rfind(b"\n") + 1 if nth == inside else after_line_feed(piece, nth, 0, len(piece))
