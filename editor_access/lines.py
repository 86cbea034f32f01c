r"""Line ends as LSP defines them, and nothing else.

``\n``, ``\r\n`` and a lone ``\r`` end a line. U+2028, U+2029, VT, FF, NEL and the other characters at which
``str.splitlines`` breaks do not; an editor shows them inside a line.
"""

from __future__ import annotations

import io

_OTHER_BREAKS_IN_ASCII = "\v\f\x1c\x1d\x1e"
_PIECE_CHARS = 1 << 16


def terminated_lines(text: str) -> list[str]:
    """The lines of ``text`` with their line ends; what follows the last line end is a line only if not empty."""
    if len(text) <= _PIECE_CHARS:
        return _terminated_lines(text)
    # Cutting a large text in one would hold the interpreter for long, from a worker thread too.
    return [line for piece in cut_at_line_ends(text, _PIECE_CHARS) for line in _terminated_lines(piece)]


def cut_at_line_ends(text: str, least_chars: int) -> list[str]:
    """The text in pieces that end at line ends: each as short as that allows, and at least so long."""
    # After a line feed there is a line start for certain; after a return, where no line feed is in the text.
    line_end = "\n" if "\n" in text else "\r"
    pieces: list[str] = []
    start = 0
    while len(text) - start > least_chars:
        found = text.find(line_end, start + least_chars)
        if found < 0:
            break
        pieces.append(text[start : found + 1])
        start = found + 1
    pieces.append(text[start:])
    return pieces


def _terminated_lines(text: str) -> list[str]:
    if text.isascii() and not any(character in text for character in _OTHER_BREAKS_IN_ASCII):
        return text.splitlines(keepends=True)  # breaks at the same places then, in less than half the time
    # With newline="" a StringIO ends lines at exactly the three LSP line ends and translates nothing, at C speed.
    return list(io.StringIO(text, newline=""))


def split_lines(text: str) -> list[str]:
    """The lines of ``text`` as an LSP client counts them: the last one has no line end and may be empty."""
    lines = terminated_lines(text)
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines


def count_line_ends(text: str, end: int | None = None) -> int:
    r"""How many line ends lie in ``text[:end]``; a ``\r\n`` that ``end`` cuts in two counts as one."""
    stop = len(text) if end is None else end
    line_feeds = text.count("\n", 0, stop)
    returns = text.count("\r", 0, stop)
    return line_feeds + returns - text.count("\r\n", 0, stop) if returns else line_feeds


def line_of(text: str, offset: int) -> int:
    r"""The 0-based line that holds ``offset``; the inside of a ``\r\n`` belongs to the line that it ends.

    Raises:
        ValueError: ``offset`` is not within the text.
    """
    if not 0 <= offset <= len(text):
        raise ValueError(f"offset {offset} is not within a text of {len(text)} characters")
    return count_line_ends(text, offset - 1 if is_inside_line_end(text, offset) else offset)


def is_inside_line_end(text: str, offset: int) -> bool:
    r"""True between the ``\r`` and the ``\n`` of one line end, where no LSP position can point."""
    return offset > 0 and text.startswith("\r\n", offset - 1)


def line_end_length(line: str) -> int:
    """The length in characters of the line end that closes this one line: 0, 1 or 2."""
    if line.endswith("\n"):
        return 2 if line.endswith("\r\n") else 1
    return 1 if line.endswith("\r") else 0
