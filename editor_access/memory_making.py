"""How the in-memory client makes the edits that it is sent: what it takes their positions and line ends for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from .document_store import TextBuffer
from .port import TextEdit
from .text import Position, apply_edits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .memory_temperament import Temperament
    from .text import PositionEncoding


def edits_to_make(
    text: str, wanted: Sequence[object], temperament: Temperament, encoding: PositionEncoding
) -> list[TextEdit]:
    """The edits, ascending, by which this client carries out what it was sent for a document that shows ``text``."""
    positions = TextBuffer(text, encoding)
    edits = sorted((_from_wire(positions, edit) for edit in wanted), key=lambda edit: (edit.start, edit.end))
    if temperament.line_ends == "of_document":
        line_end = "\r\n" if "\r\n" in text else "\n"
        edits = [TextEdit(e.start, e.end, _with_line_ends(e.new_text, line_end)) for e in edits]
    if temperament.adds_final_newline and not apply_edits(text, edits).endswith("\n"):
        edits = _and_final_newline(text, edits)
    if temperament.makes == "whole_document":
        return [TextEdit(0, len(text), apply_edits(text, edits))]
    return edits


def _from_wire(positions: TextBuffer, edit: object) -> TextEdit:
    assert isinstance(edit, lsp.TextEdit), "annotated and snippet edits are not announced"
    start = positions.offset_at(Position(edit.range.start.line, edit.range.start.character))
    end = positions.offset_at(Position(edit.range.end.line, edit.range.end.character))
    return TextEdit(start, end, edit.new_text)


def _with_line_ends(text: str, line_end: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", line_end)


def _and_final_newline(text: str, edits: list[TextEdit]) -> list[TextEdit]:
    if edits and edits[-1].end == len(text):
        last = edits.pop()
        return [*edits, TextEdit(last.start, last.end, last.new_text + "\n")]
    return [*edits, TextEdit(len(text), len(text), "\n")]
