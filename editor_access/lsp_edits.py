r"""The shape in which edits go out, so that every editor applies them alike; pure.

- No edit begins or ends between ``\r`` and ``\n``: no position names that place.
- None inserts on the line after the last one: Neovim has no such line and adds a blank one.
- Where characters beyond the BMP precede a boundary in its line (with UTF-8, characters beyond ASCII), the edit is
  widened to where the line begins or the next one does: some clients count columns in code points whatever was
  negotiated, but all agree on column 0.
- A byte-order mark is the file's, not the text's: none goes out for the start of a document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .lines import is_inside_line_end
from .port import TextEdit

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE_END = re.compile(r"\r\n|\n|\r")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOM = "\ufeff"


def effective_edits(text: str, edits: Sequence[TextEdit]) -> list[TextEdit]:
    """The edits that change something, in the form that is sent and later looked for.

    Raises:
        ValueError: they overlap, are not ascending, lie outside of the text, or hold what no editor can be sent.
    """
    spans: list[_Span] = []
    reached = 0
    for edit in edits:
        if not reached <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edit {edit.start}:{edit.end} overlaps the one before it or is outside of the text")
        reached = edit.end
        if _SURROGATE.search(edit.new_text):
            raise ValueError("the new text holds half a surrogate pair, which is no character")
        start, end = _outside_line_ends(text, edit.start, edit.end)
        _add(spans, _Span(start, end, [_without_bom(text, edit)]))
    return _rendered(text, spans)


def outgoing_edits(
    text: str, edits: Sequence[TextEdit], *, avoid_columns_beyond_bmp: bool, counts_bytes: bool = False
) -> list[TextEdit]:
    """The same change (of ``effective_edits``) in the shape described above: ascending, never touching.

    ``counts_bytes``: UTF-8 was negotiated, so that columns after any character beyond ASCII are to be avoided.
    """
    disputed = _BEYOND_ASCII if counts_bytes else _BEYOND_BMP
    spans: list[_Span] = []
    for edit in edits:
        start, end = edit.start, edit.end
        if avoid_columns_beyond_bmp:
            start, end = _agreed_start(text, start, disputed), _agreed_end(text, end, disputed)
        _add(spans, _Span(start, end, [edit]))
    outgoing = _rendered(text, spans)
    if outgoing and outgoing[-1].end == len(text):
        last = outgoing.pop()
        moved = _off_the_last_line(text, last)
        if not (
            avoid_columns_beyond_bmp
            and (_ends_disputed(text, disputed) or _agreed_start(text, moved.start, disputed) != moved.start)
        ):
            last = moved
        if outgoing and outgoing[-1].end == last.start:
            before = outgoing.pop()
            last = TextEdit(before.start, last.end, before.new_text + last.new_text)
        outgoing.append(last)
    return outgoing


def has_lone_return(text: str) -> bool:
    r"""Whether the text holds a ``\r`` that no ``\n`` follows."""
    return "\r" in text and _LONE_RETURN.search(text) is not None


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of the text that goes out as one edit, and the edits inside it."""

    start: int
    end: int
    edits: Sequence[TextEdit]

    def render(self, text: str) -> TextEdit:
        parts: list[str] = []
        at = self.start
        for edit in self.edits:
            parts += (text[at : edit.start], edit.new_text)
            at = edit.end
        parts.append(text[at : self.end])
        return TextEdit(self.start, self.end, "".join(parts))


def _add(spans: list[_Span], span: _Span) -> None:
    """Add a span after the others; those that it reaches become one with it."""
    while spans and span.start <= spans[-1].end:
        before = spans.pop()
        span = _Span(min(before.start, span.start), max(before.end, span.end), [*before.edits, *span.edits])
    spans.append(span)


def _rendered(text: str, spans: Sequence[_Span]) -> list[TextEdit]:
    edits = (span.render(text) for span in spans)
    return [edit for edit in edits if edit.new_text != text[edit.start : edit.end]]


def _without_bom(text: str, edit: TextEdit) -> TextEdit:
    if edit.start or text.startswith(_BOM) or not edit.new_text.startswith(_BOM):
        return edit
    return TextEdit(edit.start, edit.end, edit.new_text.lstrip(_BOM))


def _outside_line_ends(text: str, start: int, end: int) -> tuple[int, int]:
    if is_inside_line_end(text, start):
        start -= 1
    if is_inside_line_end(text, end):
        end += 1
    return start, end


def _agreed_start(text: str, at: int, disputed: re.Pattern[str]) -> int:
    if at == len(text) and _ends_disputed(text, disputed):
        # An addition at the end: no column of the line before is agreed on but its first.
        return _line_start(text, at - _line_end_before(text, at))
    line = _line_start(text, at)
    return line if disputed.search(text, line, at) else at


def _agreed_end(text: str, at: int, disputed: re.Pattern[str]) -> int:
    if not disputed.search(text, _line_start(text, at), at):
        return at
    # The end of this line has a column that clients disagree on; the start of the next one has not.
    found = _LINE_END.search(text, at)
    return found.end() if found else len(text)


def _ends_disputed(text: str, disputed: re.Pattern[str]) -> bool:
    """Whether a final line end follows a line that holds disputed characters."""
    length = _line_end_before(text, len(text))
    end = len(text) - length
    return length > 0 and disputed.search(text, _line_start(text, end), end) is not None


def _line_end_before(text: str, at: int) -> int:
    """The length of the line end right before ``at``; 0 when there is none."""
    if text.endswith("\r\n", 0, at):
        return 2
    return 1 if text.endswith(("\n", "\r"), 0, at) else 0


def _line_start(text: str, at: int) -> int:
    newline = text.rfind("\n", 0, at)
    return max(newline, text.rfind("\r", newline + 1, at)) + 1


def _off_the_last_line(text: str, edit: TextEdit) -> TextEdit:
    """Move an edit at the text's end before its final line end, where the change can be said that way."""
    length = _line_end_before(text, len(text))
    if not length:
        return edit
    final = text[-length:]
    moved = _without_final_line_end(text, edit, final)
    if moved is None and edit.start and edit.start == _line_start(text, edit.start):
        back = edit.start - _line_end_before(text, edit.start)
        stretched = TextEdit(back, edit.end, text[back : edit.start] + edit.new_text)
        moved = _without_final_line_end(text, stretched, final) or stretched
    return moved or edit


def _without_final_line_end(text: str, edit: TextEdit, final: str) -> TextEdit | None:
    if edit.end - edit.start < len(final) or not edit.new_text.endswith(final):
        return None
    if final == "\n" and edit.new_text.endswith("\r\n"):
        return None
    return TextEdit(edit.start, len(text) - len(final), edit.new_text.removesuffix(final))
