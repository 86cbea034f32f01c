"""What a document that came back says about an edit (E7); pure.

Editors change more than they were asked to: some normalise line ends of inserted text, some cannot have a text
without a final newline. Both are overlooked, unless the edit was about nothing else.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from .alignment import common_prefix, common_suffix
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
        self._edits = tuple(edits)
        self._evidence = EditEvidence(base, edits)
        new_texts = [plain_line_ends(edit.new_text) for edit in edits]
        self._longest_new = max(new_texts, key=len, default="")
        self._longest_line = max(self._longest_new.split("\n"), key=len)
        old_texts = (plain_line_ends(base[edit.start : edit.end]) for edit in edits)
        self._growth = sum(map(len, new_texts)) - sum(map(len, old_texts))

    @property
    def expected(self) -> str:
        """The text with the edit and nothing else."""
        return self._evidence.expected

    @property
    def longest_line(self) -> str:
        """Without this in one of its lines ``judge`` would certainly not say of a text that it holds the edit."""
        return self._longest_line

    @property
    def is_distinctive(self) -> bool:
        """Whether it brings a text that hardly anybody types by chance at the same time."""
        return len(self._longest_new) >= _DISTINCTIVE

    def spares(self, before: str, after: str) -> bool:
        """Whether what had changed by ``before`` is still in ``after``, the text that holds the edit."""
        before, after = plain_line_ends(before), plain_line_ends(after)
        base = self._plain.base
        return holds_edits(base, minimal_edits(base, before), after)

    def may_have_come_between(self, before: str, after: str) -> bool:
        """Whether what two states differ by may be the edit, in a wrong place; for the base, ``judge`` asks this.

        What was typed before tells nothing then: a short text is known by how much longer the text got.
        """
        old, new = self._between(before, after)
        if not self.is_distinctive and (not self._longest_new or len(new) - len(old) != self._growth):
            return False
        return new.count(self._longest_new) > old.count(self._longest_new)

    def judge(self, text: str) -> Verdict:
        """Whether ``text`` holds every hunk, provably lacks them, or was changed in a way that may be the edit."""
        if text == self._base:
            return "lacks"
        if self._evidence.holds(text):
            return "holds"
        if self._evidence.is_far_from(text):
            return "unclear" if self._turned_up_elsewhere(text) else "lacks"
        plain_edit = self._plain
        if plain_edit.only_line_ends:
            return "lacks" if self._evidence.lacks(text) else "unclear"
        plain = plain_line_ends(text)
        if plain_edit.evidence.holds(plain) or plain_edit.holds_but_for_final_newline(plain):
            return "holds"
        if self._turned_up_elsewhere(text) or not plain_edit.evidence.lacks(plain):
            return "unclear"
        return "lacks"

    @cached_property
    def _plain(self) -> _PlainEdit:
        """Made when it is needed, for it copies the text; mostly it is not."""
        return _PlainEdit(self._base, self._edits, self._evidence)

    def _turned_up_elsewhere(self, text: str) -> bool:
        """Some editors apply by position to what is newer by then: the new text is there, in a wrong place.

        A short one says little, for anybody types a letter, unless the text got exactly as long as it should.
        """
        return self.may_have_come_between(self._base, text)

    def _between(self, before: str, after: str) -> tuple[str, str]:
        """The two, both without what they begin and end with alike and is too far from the rest."""
        around = 2 * len(self._longest_new) + 2
        start = common_prefix(before, after)
        tail = common_suffix(before, after, limit=min(len(before), len(after)) - start)
        start, tail = max(start - around, 0), max(tail - around, 0)
        old, new = before[start : len(before) - tail], after[start : len(after) - tail]
        return plain_line_ends(old), plain_line_ends(new)


class _PlainEdit:
    r"""The edit with ``\n`` for every line end, in its texts and in the base."""

    def __init__(self, base: str, edits: tuple[TextEdit, ...], evidence: EditEvidence) -> None:
        self.base = plain_line_ends(base)
        plain_edits = _with_plain_line_ends(base, edits)
        is_plain = self.base == base and plain_edits == edits
        self.evidence = evidence if is_plain else EditEvidence(self.base, plain_edits)
        intended = self.evidence.expected
        self._ends_with_newline = intended.endswith("\n")
        self._only_final_newline = _same_but_for_final_newline(intended, self.base)
        self.only_line_ends = intended == self.base

    def holds_but_for_final_newline(self, plain: str) -> bool:
        """Whether the text would hold the edit if it had a final newline, or had none."""
        if self._only_final_newline or plain.endswith("\n") == self._ends_with_newline:
            return False
        other = plain + "\n" if self._ends_with_newline else plain.removesuffix("\n")
        return self.evidence.holds(other)


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
