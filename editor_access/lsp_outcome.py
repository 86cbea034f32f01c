"""What a document that came back says about an edit (E7); pure.

Editors change more than they were asked to: some normalise line ends of inserted text, some cannot have a text
without a final newline. Both are overlooked, unless the edit was about nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from .edit_evidence import EditEvidence
from .port import TextEdit
from .text import holds_edits, minimal_edits

if TYPE_CHECKING:
    from collections.abc import Sequence

Verdict: TypeAlias = Literal["holds", "lacks", "unclear"]

_DISTINCTIVE = 4  # characters; that many are hardly typed by chance at the same time


class IntendedEdit:
    """An edit of a known text, against which later texts of the document are judged."""

    def __init__(self, base: str, edits: Sequence[TextEdit]) -> None:
        self._base = base
        self._evidence = EditEvidence(base, edits)
        self._plain_base = plain_line_ends(base)
        self._plain_edits = _with_plain_line_ends(base, edits)
        is_plain = self._plain_base == base and self._plain_edits == tuple(edits)
        self._plain_evidence = self._evidence if is_plain else EditEvidence(self._plain_base, self._plain_edits)
        intended = self._plain_evidence.expected
        self._ends_with_newline = intended.endswith("\n")
        self._only_final_newline = _same_but_for_final_newline(intended, self._plain_base)
        self._only_line_ends = intended == self._plain_base
        self._intended_length = len(intended)
        self._longest_new = max((edit.new_text for edit in self._plain_edits), key=len, default="")
        self._longest_line = max(self._longest_new.split("\n"), key=len)

    def may_hold(self, text: str) -> bool:
        """False where ``judge`` would certainly not say that the text holds the edit; cheap."""
        return self._longest_line in text

    def spares(self, before: str, after: str) -> bool:
        """Whether what had changed by ``before`` is still in ``after``, the text that holds the edit."""
        before, after = plain_line_ends(before), plain_line_ends(after)
        return holds_edits(self._plain_base, minimal_edits(self._plain_base, before), after)

    def judge(self, text: str) -> Verdict:
        """Whether ``text`` holds every hunk, provably lacks them, or was changed in a way that may be the edit."""
        if text == self._base:
            return "lacks"
        if self._evidence.holds(text):
            return "holds"
        if self._only_line_ends:
            return "lacks" if self._evidence.lacks(text) else "unclear"
        plain = plain_line_ends(text)
        if self._plain_evidence.holds(plain) or self._holds_but_for_final_newline(plain):
            return "holds"
        if self._turned_up_elsewhere(plain) or not self._plain_evidence.lacks(plain):
            return "unclear"
        return "lacks"

    def _turned_up_elsewhere(self, plain: str) -> bool:
        """Some editors apply by position to what is newer by then: the new text is there, in a wrong place.

        A short one says little, for anybody types a letter, unless the text got exactly as long as it should.
        """
        if len(self._longest_new) < _DISTINCTIVE and (not self._longest_new or len(plain) != self._intended_length):
            return False
        return plain.count(self._longest_new) > self._plain_base.count(self._longest_new)

    def _holds_but_for_final_newline(self, plain: str) -> bool:
        if self._only_final_newline or plain.endswith("\n") == self._ends_with_newline:
            return False
        other = plain + "\n" if self._ends_with_newline else plain.removesuffix("\n")
        return self._plain_evidence.holds(other)


def plain_line_ends(text: str) -> str:
    r"""The text with ``\n`` for every line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _same_but_for_final_newline(one: str, other: str) -> bool:
    # Cutting copies a text, so that what tells them apart without comes first.
    return abs(len(one) - len(other)) <= 1 and one.removesuffix("\n") == other.removesuffix("\n")


def _with_plain_line_ends(base: str, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits, moved to where they are in the plain text."""
    if "\r" not in base:
        return tuple(TextEdit(edit.start, edit.end, plain_line_ends(edit.new_text)) for edit in edits)
    moved: list[TextEdit] = []
    at = plain_at = 0
    for edit in edits:
        plain_at += _plain_length(base, at, edit.start)
        start = plain_at
        plain_at += _plain_length(base, edit.start, edit.end)
        at = edit.end
        moved.append(TextEdit(start, plain_at, plain_line_ends(edit.new_text)))
    return tuple(moved)


def _plain_length(base: str, start: int, end: int) -> int:
    return end - start - base.count("\r\n", start, end)
