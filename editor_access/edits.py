"""Applying edits given as offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .port import TextEdit


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """The text after all edits; their offsets count in ``text``, ascending and without overlap.

    Edits may touch: two insertions at one offset land in their order.

    Raises:
        ValueError: an edit lies outside the text, is reversed, or begins before its predecessor ends.
    """
    pieces: list[str] = []
    done = 0
    for edit in edits:
        if not 0 <= edit.start <= edit.end <= len(text):
            raise ValueError(f"the edit of {edit.start} to {edit.end} does not lie in {len(text)} characters of text")
        if edit.start < done:
            raise ValueError(f"the edit of {edit.start} to {edit.end} begins before {done}, where the last one ends")
        pieces += (text[done : edit.start], edit.new_text)
        done = edit.end
    pieces.append(text[done:])
    return "".join(pieces)
