"""A document that the editor has open; its file on disk may differ or be missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openbuffer.editor_access.text import minimal_edits

from ..contract import BeforeState
from ..errors import PlanOutdatedError, TextRefusedError, ToolFailure
from .blocking import run_blocking
from .encodings import LATIN1
from .file_bytes import document_pieces, file_bytes, over_budget
from .fitting import Fitted
from .saving import save_after_edit
from .standing import SUBSTITUTE, compare, flushed, opened_in_wrong_encoding, whereabouts
from .text_files import TextFile, document_text, encode_or_refuse, text_file, text_of
from .text_place import Change, FoundPath, Landed, editor_trouble, in_its_words, refuse_cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openbuffer.editor_access.port import Document, EditorFileAccess, EditOutcome
    from openbuffer.editor_access.truth import Baseline

    from ..contract import CancellationToken, ToolContext
    from .encodings import Encoding, Pieces
    from .replacing import Replacement
    from .standing import Standing

_ATTEMPTS: Final = 5  # to be quicker than whoever types, before the whole call starts over


class DocumentPlace:
    """Implements ``TextPlace`` for an open document."""

    def __init__(self, found: FoundPath, standing: Standing) -> None:
        self._found = found
        self._standing = standing
        self._editor: EditorFileAccess = standing.editor
        self._document: Document = standing.document
        self._baseline: Baseline | None = None
        self.whereabouts = whereabouts(standing)
        self.path = found.shown
        self.exists = True
        self.hides_mark = True
        self.targets = found.targets("document", exists=True)

    def require_text(self) -> None:
        """Nothing to refuse: an open document is text."""

    def size(self) -> int | None:
        """Known without work for ASCII only."""
        return len(self._document.text) if self._document.text.isascii() else None

    def pieces(self, token: CancellationToken, max_bytes: int) -> Pieces:
        """The document's text as UTF-8."""
        text = self._document.text
        return lambda: document_pieces(text, self.path, token, max_bytes)

    def remark(self) -> str:
        """Nothing: a document's text is one snapshot."""
        return ""

    def load(self, max_bytes: int, token: CancellationToken) -> TextFile:  # noqa: ARG002  it is in memory, as text
        """The document's text as UTF-8, in one."""
        text = document_text(self.path, self._document.text)
        if len(text.raw) > max_bytes:
            raise ToolFailure(over_budget(self.path, len(text.raw), max_bytes))
        return text

    def change(self, before: TextFile, replacements: Sequence[Replacement]) -> Change:
        """The new text, and the smallest edits that lead to it."""
        self._refuse_what_saving_would_damage(replacements)
        parts = before.spliced(replacements)
        edits = minimal_edits(self._document.text, text_of(parts))
        recorded = BeforeState(before.raw, self._document.version)
        return Change(before=before, parts=parts, edits=edits, recorded=recorded)

    async def refresh(self) -> None:
        """Have the editor tell its newest text and take it; start over when it was closed or opened anew."""
        self._standing = replace(self._standing, unassured=await flushed(self._found))
        await self._look_again()

    async def _look_again(self) -> None:
        with editor_trouble(self.path):
            self._baseline = await self._editor.baseline(self._document)
        self._document = self._open_still()
        author = self._editor.author_of_unsaved(self._document)
        self._standing = replace(self._standing, document=self._document, author=author)

    def check_path(self) -> None:
        """Start over when the path leads somewhere else; an editor that saves may well put another inode there.

        Start over as well when the disk is the truth by now, or there is none. Comes after ``refresh``.
        """
        with self._found.located_again() as now:
            verdict = compare(now, self._document, self._baseline)
        if not verdict.allows_what(self._standing.verdict):
            raise PlanOutdatedError(f"{self.path}: was changed or saved since the call began.")
        self._standing = replace(self._standing, verdict=verdict)
        self.whereabouts = whereabouts(self._standing)

    def release(self) -> None:
        """Close the descriptors of the file on disk, which an editor that saves replaces."""
        self._found.located.close()

    async def put(self, change: Change, context: ToolContext, *, label: str) -> Landed:
        """Have the editor make the edits, and tell what became of them (E7)."""
        prepared = fitted = Fitted(self._document, change.edits)
        for attempts_left in reversed(range(_ATTEMPTS if change.can_move else 1)):
            refuse_cancelled(self.path, context.cancellation)
            fitted = await self._fit(fitted, change, context)
            try:
                made = await self._made(fitted, label)
            except PlanOutdatedError:
                if not attempts_left:
                    raise
            else:
                if change.recorded is not None:
                    change.recorded.version = fitted.document.version
                landed = await save_after_edit(
                    self._found,
                    self._editor,
                    made,
                    context,
                    before=fitted.document.text,
                    over_the_users=self._standing.author == "user" and not change.can_move,
                    holds_it=fitted.is_in,
                )
                if fitted.document.text is prepared.document.text:
                    return landed
                lines = await run_blocking(context.cancellation, lambda moved=fitted: prepared.lines_at(moved))
                return replace(landed, moved_lines=lines)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _fit(self, fitted: Fitted, change: Change, context: ToolContext) -> Fitted:
        """Compare with the disk once more, and move the edits to what the document is after that.

        Most of what changed is gone through in the thread of the comparison; what is typed meanwhile is little.
        """
        await self._look_again()
        if not change.can_move:
            fitted.moved_to(self._document, can_move=False)
        fitted = await run_blocking(context.cancellation, lambda: self._look_for_the_last_time(fitted, change))
        self._document = self._open_still()
        return fitted.moved_to(self._document, can_move=change.can_move)

    async def _made(self, fitted: Fitted, label: str) -> Document:
        """The document with the edits.

        Raises:
            PlanOutdatedError: it was changed before the editor made them; nothing else was done.
            ToolFailure: they were not made, or nobody knows.
        """
        with editor_trouble(self.path):
            outcome = await self._editor.apply(fitted.document, fitted.edits, label=label)
        if outcome.kind == "done":
            return outcome.document or fitted.document
        raise self._not_done(outcome)

    def _look_for_the_last_time(self, fitted: Fitted, change: Change) -> Fitted:
        try:
            self.check_path()
            return fitted.moved_to(self._document, can_move=change.can_move)
        finally:
            change.let_go()
            self.release()

    def _open_still(self) -> Document:
        editor, document = self._found.open_document()
        if editor is None:
            raise ToolFailure(
                f"{self.path}: the editor that has it open went away during the call; nothing was changed, and its "
                "unsaved text cannot be seen any more. Call again to work on the file on disk."
            )
        if document is None:
            raise PlanOutdatedError(f"{self.path}: was closed in the editor since the call began.")
        if document.generation != self._document.generation:
            raise PlanOutdatedError(f"{self.path}: was opened anew in the editor since the call began.")
        return document

    def _not_done(self, outcome: EditOutcome) -> ToolFailure | PlanOutdatedError:
        reason = in_its_words(outcome.reason).rstrip(".").removeprefix(f"{self.path}: ") or "no reason was given"
        if outcome.kind == "unknown":
            return ToolFailure(
                f"{self.path}: the outcome is unknown: the edit was sent to the editor, and whether it was made is not "
                f"known ({reason}). Read the file before you try again."
            )
        if not outcome.nothing_changed:
            return ToolFailure(
                f"{self.path}: the edit was not made in the open document as intended ({reason}). "
                "Read the file before you try again."
            )
        if self._open_still() != self._document:
            return PlanOutdatedError(f"{self.path}: was changed in the editor since the change was prepared.")
        return ToolFailure(
            f"{self.path}: the edit was not made in the open document ({reason}); nothing was changed. "
            "Find out why the editor refuses it before you try again."
        )

    def _refuse_what_saving_would_damage(self, replacements: Sequence[Replacement]) -> None:
        """An editor may have decoded the file wrongly, or may be unable to save the new text; it would not tell."""
        new = b"".join(replacement.new for replacement in replacements)
        damaged = SUBSTITUTE in self._document.text
        if self._found.located.fd is None or (new.isascii() and not damaged):
            return
        on_disk = self._on_disk()
        if damaged and (on_disk is None or SUBSTITUTE.encode() not in on_disk.utf8):
            raise TextRefusedError(opened_in_wrong_encoding(self.path))
        if on_disk is not None:
            encode_or_refuse(self.path, new.decode(), self._encoding_when_saved(on_disk.encoding))

    def _encoding_when_saved(self, on_disk: Encoding) -> Encoding:
        """The file's, as far as the editor agrees: where nothing states it, Latin-1 is what many take it for."""
        if not on_disk.guessed:
            return on_disk
        try:
            self._document.text.encode(LATIN1.codec)
        except UnicodeEncodeError:
            return on_disk
        return LATIN1

    def _on_disk(self) -> TextFile | None:
        located = self._found.located
        size = located.status.st_size if located.status else 0
        try:
            return text_file(self.path, file_bytes(located.require_file(), self.path, size))
        except ToolFailure:
            return None
