r"""The text of one open document, kept so that a keystroke costs microseconds whatever the document's size.

The text lies in chunks of some ten thousand characters that end at line ends. A chunk is a string until it is first
changed, from then on a list of lines; its string is joined again when somebody asks for the text. Per edit only one
list slot, and a table of some hundred counts, change. There is no list with an entry per character.

A text that the constructor or ``change`` was given is held as it came: line ends, BOM and all. The one exception is
written down at ``pair_surrogates``.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from .lines import count_line_ends, cut_at_line_ends, is_inside_line_end, line_end_length, split_lines, terminated_lines
from .text import Position, PositionEncoding, Range, character_of_index, index_in_line, pair_surrogates

# A chunk's weight is its characters plus this much per line, so that a chunk of empty lines stays short as a list.
_LINE_WEIGHT = 8
_FULL_WEIGHT = 128 * 1024
_TARGET_WEIGHT = _FULL_WEIGHT // 2
_SMALL_WEIGHT = _FULL_WEIGHT // 8


class TextBuffer:
    r"""A document's text under LSP changes.

    Invariants: every chunk holds at least one line; every line but the document's last carries its line end; no
    chunk ends between a ``\r`` and its ``\n``.
    """

    def __init__(self, text: str, encoding: PositionEncoding) -> None:
        self._encoding: PositionEncoding = encoding
        self._load(pair_surrogates(text))

    @property
    def encoding(self) -> PositionEncoding:
        """The code units in which positions count their characters."""
        return self._encoding

    @property
    def text(self) -> str:
        """The whole text; joined once after a change, then kept."""
        if self._text is None:
            self._text = "".join(self.pieces())
        return self._text

    def pieces(self) -> tuple[str, ...]:
        """The text in pieces; costs little, where joining them all would copy a large text."""
        texts = ["".join(self._lines_of(index)) if text is None else text for index, text in enumerate(self._texts)]
        self._texts = [*texts]
        return tuple(texts)

    def has_in_a_line(self, part: str) -> bool:
        """Whether the text holds ``part``, which has no line end in it."""
        return any(part in piece for piece in self.pieces())

    @property
    def has_lone_return(self) -> bool:
        r"""Whether a ``\r`` is in the text that no ``\n`` follows; known without looking through all of it."""
        for index, known in enumerate(self._lone_returns):
            if known is None:
                piece = self._texts[index] or "".join(self._lines_of(index))
                self._lone_returns[index] = "\r" in piece and piece.count("\r") > piece.count("\r\n")
        return any(self._lone_returns)

    @property
    def line_count(self) -> int:
        """The number of lines; a text that ends in a line end has an empty last line."""
        return self._line_starts()[-1]

    def __len__(self) -> int:
        return sum(self._char_counts)

    def change(self, range: Range | None, new_text: str) -> None:  # noqa: A002  # the name LSP gives it
        """Take in one content change of ``textDocument/didChange``; None as range replaces the whole text.

        A character past the end of its line means before the line end; a line past the last means the end of the
        document. After a ValueError the text is what it was before.

        Raises:
            ValueError: the range is negative or reversed, so the client's text cannot be the one held here.
        """
        if range is None:
            self._load(pair_surrogates(new_text))
            return
        line, character, end_line, end_character = _checked(range)
        chunk, row, column, first = end_chunk, end_row, end_column, last = self._place(line, character)
        if end_line != line or end_character != character:
            end_chunk, end_row, end_column, last = self._place(end_line, end_character)
        merged = _join(first[:column], new_text, last[end_column:])
        if not column and merged.startswith("\n") and (row or chunk):
            # The line before may end in a lone return, which together with this line feed is one line end.
            chunk, row, merged = self._with_return_before(chunk, row, merged)
        if row == end_row and chunk == end_chunk and "\n" not in new_text and "\r" not in new_text:
            rows = [merged]
        elif end_chunk == len(self._lines) - 1 and end_row == self._line_counts[end_chunk] - 1:
            rows = split_lines(merged)
        else:
            rows = terminated_lines(merged)
        if chunk == end_chunk:
            self._replace_rows(chunk, row, end_row + 1, rows)
        else:
            rows = self._lines_of(chunk)[:row] + rows + self._lines_of(end_chunk)[end_row + 1 :]
            self._replace_chunks(chunk, end_chunk + 1, rows)
        self._text = None

    def offset_at(self, position: Position) -> int:
        """The string index of a position, under the rules of ``change``.

        Raises:
            ValueError: the position holds a negative number.
        """
        if position.line < 0 or position.character < 0:
            raise ValueError(f"a position cannot hold negative numbers: {position.line}:{position.character}")
        chunk, row, column, _ = self._place(position.line, position.character)
        return self._char_starts()[chunk] + self._row_starts(chunk)[row] + column

    def position_at(self, offset: int) -> Position:
        r"""The position of a string index; between ``\r`` and ``\n`` there is none, and the one before both is given.

        Raises:
            ValueError: the offset is not within the text.
        """
        char_starts = self._char_starts()
        if not 0 <= offset <= char_starts[-1]:
            raise ValueError(f"offset {offset} is not within a text of {char_starts[-1]} characters")
        chunk = min(bisect_right(char_starts, offset), len(self._lines)) - 1
        row_starts = self._row_starts(chunk)
        row = min(bisect_right(row_starts, offset - char_starts[chunk]), len(row_starts) - 1) - 1
        line = self._lines_of(chunk)[row]
        index = min(offset - char_starts[chunk] - row_starts[row], len(line) - line_end_length(line))
        return Position(self._line_starts()[chunk] + row, character_of_index(line, index, self._encoding))

    def range_of(self, start: int, end: int) -> Range:
        r"""The range of ``text[start:end]``, for an edit that is to hit exactly that.

        Raises:
            ValueError: the offsets are reversed or not within the text, or one lies between ``\r`` and ``\n``,
                where no position can point.
        """
        if start > end:
            raise ValueError(f"a range cannot end ({end}) before it starts ({start})")
        for offset in (start, end):
            if is_inside_line_end(self.text, offset):
                raise ValueError(f"offset {offset} lies inside a line end of two characters; no position can tell it")
        return Range(self.position_at(start), self.position_at(end))

    # The table of chunks: five lists side by side.

    def _load(self, text: str) -> None:
        texts = cut_at_line_ends(text, _TARGET_WEIGHT)
        self._text: str | None = text
        self._texts: list[str | None] = [*texts]
        self._lines: list[list[str] | None] = [None] * len(texts)
        self._line_counts = [count_line_ends(piece) for piece in texts]
        self._line_counts[-1] += 1
        self._char_counts = [len(piece) for piece in texts]
        self._lone_returns: list[bool | None] = [None] * len(texts)
        self._forget_starts()

    def _forget_starts(self) -> None:
        self._line_starts_cache: list[int] | None = None
        self._char_starts_cache: list[int] | None = None
        self._row_starts_cache: tuple[int, list[int]] | None = None

    def _line_starts(self) -> list[int]:
        if self._line_starts_cache is None:
            self._line_starts_cache = list(accumulate(self._line_counts, initial=0))
        return self._line_starts_cache

    def _char_starts(self) -> list[int]:
        if self._char_starts_cache is None:
            self._char_starts_cache = list(accumulate(self._char_counts, initial=0))
        return self._char_starts_cache

    def _row_starts(self, chunk: int) -> list[int]:
        """The offsets at which the chunk's lines start, for the one chunk that was asked about last."""
        cached = self._row_starts_cache
        if cached is None or cached[0] != chunk:
            cached = self._row_starts_cache = (chunk, list(accumulate(map(len, self._lines_of(chunk)), initial=0)))
        return cached[1]

    def _lines_of(self, chunk: int) -> list[str]:
        lines = self._lines[chunk]
        if lines is None:
            text = self._texts[chunk]
            assert text is not None, "a chunk holds its text, its lines or both"
            lines = self._lines[chunk] = split_lines(text) if chunk == len(self._lines) - 1 else terminated_lines(text)
        return lines

    def _place(self, line: int, character: int) -> tuple[int, int, int, str]:
        """Where a position points: the chunk, the row in it, the string index in that row, and the row's text."""
        starts = self._line_starts_cache or self._line_starts()
        if line >= starts[-1]:
            chunk = len(self._lines) - 1
            rows = self._lines_of(chunk)
            return chunk, len(rows) - 1, len(rows[-1]), rows[-1]
        chunk = bisect_right(starts, line) - 1
        row = line - starts[chunk]
        text = self._lines_of(chunk)[row]
        return chunk, row, index_in_line(text, character, self._encoding), text

    def _with_return_before(self, chunk: int, row: int, merged: str) -> tuple[int, int, str]:
        before_chunk, before_row = (chunk, row - 1) if row else (chunk - 1, self._line_counts[chunk - 1] - 1)
        before = self._lines_of(before_chunk)[before_row]
        return (before_chunk, before_row, before + merged) if before.endswith("\r") else (chunk, row, merged)

    def _replace_rows(self, chunk: int, start: int, stop: int, new_rows: list[str]) -> None:
        rows = self._lines_of(chunk)
        if len(new_rows) == 1 == stop - start:
            self._char_counts[chunk] += len(new_rows[0]) - len(rows[start])
            rows[start] = new_rows[0]
        else:
            self._char_counts[chunk] += sum(map(len, new_rows)) - sum(map(len, rows[start:stop]))
            rows[start:stop] = new_rows
            self._line_counts[chunk] = len(rows)
            self._line_starts_cache = None
        self._texts[chunk] = self._lone_returns[chunk] = None
        self._char_starts_cache = self._row_starts_cache = None
        weight = self._char_counts[chunk] + _LINE_WEIGHT * self._line_counts[chunk]
        if weight > _FULL_WEIGHT:
            if len(rows) > 1:
                self._replace_chunks(chunk, chunk + 1, rows)
        elif weight < _SMALL_WEIGHT and len(self._lines) > 1:
            self._merge(chunk)

    def _weight(self, chunk: int) -> int:
        return self._char_counts[chunk] + _LINE_WEIGHT * self._line_counts[chunk]

    def _merge(self, chunk: int) -> None:
        """Put a small chunk together with a neighbour, if that does not make a full one."""
        for first in (chunk, chunk - 1):
            if 0 <= first < len(self._lines) - 1 and self._weight(first) + self._weight(first + 1) <= _TARGET_WEIGHT:
                self._replace_chunks(first, first + 2, self._lines_of(first) + self._lines_of(first + 1))
                return

    def _replace_chunks(self, start: int, stop: int, rows: list[str]) -> None:
        pieces = _grouped(rows)
        self._lines[start:stop] = pieces
        self._texts[start:stop] = [None] * len(pieces)
        self._lone_returns[start:stop] = [None] * len(pieces)
        self._line_counts[start:stop] = [len(piece) for piece in pieces]
        self._char_counts[start:stop] = [sum(map(len, piece)) for piece in pieces]
        self._forget_starts()


def _join(head: str, new_text: str, tail: str) -> str:
    merged = head + new_text + tail
    if merged.isascii() or (new_text and new_text.isascii()):
        return merged
    return pair_surrogates(merged) if _may_pair(head, new_text, tail) else merged


def _may_pair(head: str, new_text: str, tail: str) -> bool:
    """True when halves of one character may have met: inside the new text or at one of its ends."""
    joint = head[-1:] + new_text + tail[:1]
    return pair_surrogates(joint) != joint


def _grouped(rows: list[str]) -> list[list[str]]:
    """The rows in groups of about the target weight; one row alone may weigh more."""
    ends = list(accumulate(len(row) + _LINE_WEIGHT for row in rows))
    count = ends[-1] // _TARGET_WEIGHT if ends[-1] > _FULL_WEIGHT else 1
    groups: list[list[str]] = []
    start = 0
    for number in range(1, count + 1):
        stop = bisect_right(ends, ends[-1] * number // count)
        if stop > start:
            groups.append(rows[start:stop])
            start = stop
    return groups


def _checked(range_: Range) -> tuple[int, int, int, int]:
    start, end = range_.start, range_.end
    line, character, end_line, end_character = start.line, start.character, end.line, end.character
    if line < 0 or character < 0 or end_character < 0:
        raise ValueError(f"a range cannot hold negative numbers: {_shown(range_)}")
    if end_line < line or (end_line == line and end_character < character):
        raise ValueError(f"a range cannot end before it starts: {_shown(range_)}")
    return line, character, end_line, end_character


def _shown(range_: Range) -> str:
    start, end = range_.start, range_.end
    return f"{start.line}:{start.character} to {end.line}:{end.character}"
