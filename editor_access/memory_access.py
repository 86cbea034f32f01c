"""The in-memory editor as tools see it in the same process: ``EditorFileAccess`` without a wire between."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import anyio.lowlevel

from .document_identity import canonical, is_below, same_file, still_leads_to
from .errors import DocumentAmbiguousError, DocumentMovedError, DocumentOutOfSyncError, EditorLostError
from .lsp_edits import effective_edits
from .memory_disk import hash_on_disk
from .port import Author, Document, EditorAbilities, EditOutcome, FileOutcome, UnsavedDocument
from .text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .memory import MemoryBuffer, MemoryEditor
    from .port import TextEdit
    from .truth import Baseline

ALL_ABILITIES = EditorAbilities(flushes=True, saves=True, reloads=True)


class MemoryEditorAccess:
    """Implements ``EditorFileAccess``. It keeps nothing itself, so that several may stand for one editor."""

    has_stable_path_authority = True

    def __init__(self, editor: MemoryEditor, *, abilities: EditorAbilities = ALL_ABILITIES) -> None:
        """``abilities`` are those that the editor is to show; it has them all."""
        self._editor = editor
        self._abilities = abilities

    @property
    def abilities(self) -> EditorAbilities:
        """What it can be asked for beyond edits."""
        return self._abilities

    def document(self, path: str) -> Document | None:
        """The open document of this canonical path, judged again now; None when it is not open.

        Raises:
            EditorLostError: the editor has quit.
            DocumentOutOfSyncError: its name leads to another file than when it was opened.
            DocumentAmbiguousError: several documents with different texts stand for this file.
        """
        self._require_running(path)
        found = self._all_of(path)
        for buffer in found:
            if not still_leads_to(buffer.canonical_path, path):
                raise DocumentOutOfSyncError(
                    f"{path}: the editor opened it as {buffer.canonical_path}. Close and reopen it, then try again."
                )
        if len({buffer.text for buffer in found}) > 1:
            raise DocumentAmbiguousError(_ambiguous(path, found))
        return _snapshot(found[-1], path) if found else None

    async def flush(self, document: Document) -> str:
        """Nothing is ever untold in the same process; an editor that shows no such ability says so."""
        await anyio.lowlevel.checkpoint()
        self._require_running(document.path)
        return "" if self._abilities.flushes else "the editor cannot be asked for what it has not told yet"

    async def apply(self, document: Document, edits: Sequence[TextEdit], *, label: str) -> EditOutcome:  # noqa: ARG002  # an editor with a list of undo steps would show the label there
        """Apply the edits as one undo step; the outcome is known at once.

        Raises:
            DocumentMovedError, DocumentOutOfSyncError, DocumentAmbiguousError: nothing was changed.
            EditorLostError: the editor has quit.
            ValueError: the edits overlap, are not ascending or lie outside of the document's text.
        """
        await anyio.lowlevel.checkpoint()
        buffer = self._current(document)
        wanted = effective_edits(document.text, edits)
        if not wanted:
            return EditOutcome(kind="done", reason="the document held that text already", document=document)
        self._editor.change(buffer.name, wanted)
        # A listener may change the text further, which then is not the agent's doing.
        buffer.disk.edited_by_agent(document.text, apply_edits(document.text, wanted))
        return EditOutcome(kind="done", document=_snapshot(buffer, document.path))

    async def save(self, document: Document, *, disk_hash: str | None) -> FileOutcome:
        """Write the document to its file, unless that holds something else by now.

        Raises:
            DocumentMovedError, DocumentOutOfSyncError, DocumentAmbiguousError: nothing was written.
            EditorLostError: the editor has quit.
        """
        return await self._with_file(document, disk_hash, self._editor.write, can="saves")

    async def reload(self, document: Document, *, disk_hash: str | None) -> FileOutcome:
        """Take the document's text from its file, as is the editor's habit; the errors are those of ``save``."""
        return await self._with_file(document, disk_hash, self._editor.refresh, can="reloads")

    async def baseline(self, document: Document) -> Baseline | None:
        """A text of this opening that the disk held at the same time; None where none is known."""
        buffer = self._same_opening(document)
        return None if buffer is None else await buffer.disk.settled()

    def seen_equal(self, document: Document, baseline: Baseline) -> None:
        """Take note that the document was just found to be as on disk."""
        buffer = self._same_opening(document)
        if buffer is not None and buffer.text == document.text:
            buffer.disk.seen(baseline)

    def author_of_unsaved(self, document: Document) -> Author:
        """Whose the text is that the document has beyond its baseline."""
        buffer = self._same_opening(document)
        return "user" if buffer is None else buffer.disk.author_of(document.text)

    def open_under(self, directory: str) -> tuple[Document, ...]:
        """The documents below ``directory`` whose text is known; none once the editor has quit."""
        if self._editor.has_quit:
            return ()
        paths = {canonical(buffer.path) for buffer in self._editor.buffers() if buffer.path is not None}
        documents: list[Document] = []
        for path in sorted(path for path in paths if is_below(path, directory)):
            with suppress(DocumentOutOfSyncError, DocumentAmbiguousError):
                if (document := self.document(path)) is not None:
                    documents.append(document)
        return tuple(documents)

    def unsaved_under(self, directory: str) -> tuple[UnsavedDocument, ...]:
        """The documents below ``directory`` that are dirty, or were opened with other text than the disk had."""
        buffers = [b for b in self._editor.buffers() if b.path is not None]
        dirty = {canonical(b.path or ""): b for b in buffers if b.is_dirty or b.disk.author_of(b.text) != "nobody"}
        return tuple(
            UnsavedDocument(path, "agent" if dirty[path].disk.author_of(dirty[path].text) == "agent" else "user")
            for path in sorted(dirty)
            if is_below(path, directory)
        )

    async def _with_file(
        self, document: Document, disk_hash: str | None, act: Callable[[str], object], *, can: str
    ) -> FileOutcome:
        await anyio.lowlevel.checkpoint()
        buffer = self._current(document)
        if not getattr(self._abilities, can):
            return FileOutcome(kind="not_done", reason=f"{document.path}: the editor cannot be asked for that")
        try:
            if hash_on_disk(buffer.path) != disk_hash:
                reason = f"{document.path}: the file on disk holds something else by now"
                return FileOutcome(kind="not_done", reason=reason, document=document)
            act(buffer.name)
        except (OSError, ValueError) as error:
            reason = f"{document.path}: {error}"
            return FileOutcome(kind="not_done", reason=reason, document=self.document(document.path))
        return FileOutcome(kind="done", document=self.document(document.path))

    def _current(self, document: Document) -> MemoryBuffer:
        self._require_running(document.path)
        found = self._all_of(document.path)
        if len(found) > 1:
            raise DocumentAmbiguousError(_ambiguous(document.path, found))
        if self.document(document.path) != document:
            raise DocumentMovedError(f"{document.path} was changed or closed in the editor; read it again")
        return found[0]

    def _same_opening(self, document: Document) -> MemoryBuffer | None:
        found = (buffer for buffer in self._editor.buffers() if buffer.uri == document.uri)
        return next((buffer for buffer in found if buffer.generation == document.generation), None)

    def _all_of(self, path: str) -> list[MemoryBuffer]:
        return [b for b in self._editor.buffers() if b.path is not None and same_file(b.path, path)]

    def _require_running(self, path: str) -> None:
        if self._editor.has_quit:
            raise EditorLostError(f"{path}: the editor has ended")


def _snapshot(buffer: MemoryBuffer, path: str) -> Document:
    return Document(path=path, uri=buffer.uri, version=buffer.version, generation=buffer.generation, text=buffer.text)


def _ambiguous(path: str, found: Sequence[MemoryBuffer]) -> str:
    names = " and ".join(buffer.uri for buffer in found)
    return f"{path} is open in the editor under several names, {names}. Close all but one, then try again."
