"""Edits and the document that they fit: moved along while somebody types elsewhere, refused where they do not fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openbuffer.editor_access.rebase import rebased_edits
from openbuffer.editor_access.text import holds_edits

from ..errors import PlanOutdatedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openbuffer.editor_access.port import Document, TextEdit


@dataclass(frozen=True, slots=True)
class Fitted:
    """``edits``, ascending, are for the text of ``document``."""

    document: Document
    edits: tuple[TextEdit, ...]

    def moved_to(self, newest: Document, *, can_move: bool) -> Fitted:
        """The same for the newest state of the document.

        Raises:
            PlanOutdatedError: what changed may have to do with the edits, or (not ``can_move``) anything changed.
        """
        if newest == self.document:
            return self
        edits = rebased_edits(self.document.text, self.edits, newest.text) if can_move else None
        if edits is None:
            raise PlanOutdatedError(f"{newest.path}: was changed in the editor since the change was prepared.")
        return Fitted(newest, edits)

    def is_in(self, text: str) -> bool:
        """Whether a later text of the document certainly holds the edits; blocks."""
        return holds_edits(self.document.text, self.edits, text)

    def lines_at(self, landed: Fitted) -> tuple[tuple[int, int], ...]:
        """For each edit, its line here and its line where it has been moved to, from 1; blocks."""
        return tuple(zip(self._lines(), landed._lines(), strict=True))

    def _lines(self) -> Iterator[int]:
        line, counted = 1, 0
        for edit in self.edits:
            line += self.document.text.count("\n", counted, edit.start)
            counted = edit.start
            yield line
