"""A file on disk, there or to be created, that no editor has open, or only with the text that it had before."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio.from_thread
from openbuffer.editor_access.client_requests import disk_hash
from openbuffer.editor_access.errors import EditorAccessError

from ..contract import BeforeState
from ..errors import PathRefusedError, PlanOutdatedError, ToolFailure
from . import atomic
from .blocking import run_blocking
from .disk_text import whole_content
from .encodings import UTF8
from .file_bytes import file_bytes, file_pieces
from .standing import compare, flushed, standing_of, whereabouts
from .text_files import TextFile, text_file
from .text_place import Change, FoundPath, Landed, in_its_words, refuse_cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openbuffer.editor_access.port import Document

    from ..contract import CancellationToken, ToolContext
    from .encodings import Pieces
    from .replacing import Replacement
    from .standing import Standing


class DiskPlace:
    """Implements ``TextPlace`` for the disk."""

    def __init__(self, found: FoundPath) -> None:
        self._found = found
        self._located = found.located
        self.path = found.shown
        self.exists = found.located.status is not None
        self.hides_mark = False
        self.targets = found.targets("disk", exists=self.exists)
        self.whereabouts = "on disk"

    def require_text(self) -> None:
        """Refuse what is no readable regular file."""
        self._located.require_file()

    def size(self) -> int | None:
        """The size when the file was opened."""
        return self._located.status.st_size if self._located.status else None

    def pieces(self, token: CancellationToken, max_bytes: int) -> Pieces:
        """The file's bytes, from the descriptor that was judged."""
        fd = self._located.require_file()
        return lambda: file_pieces(fd, self.path, token, max_bytes)

    def remark(self) -> str:
        """Whether the file changed under the reader."""
        status, now = self._located.status, os.fstat(self._located.require_file())
        if status is None or (now.st_size, now.st_mtime_ns) == (status.st_size, status.st_mtime_ns):
            return ""
        return "changed while it was being read, read it again for one consistent state"

    def load(self, max_bytes: int, token: CancellationToken) -> TextFile:
        """The whole file, from the descriptor that was judged."""
        if self._located.kind == "missing":
            return TextFile(path=self.path, raw=b"", utf8=b"", encoding=UTF8)
        return text_file(self.path, file_bytes(self._located.require_file(), self.path, max_bytes), token)

    def change(self, before: TextFile, replacements: Sequence[Replacement]) -> Change:
        """New bytes between views of what stays."""
        recorded = BeforeState(before.raw) if self.exists else None
        return Change(before=before, parts=before.spliced(replacements), recorded=recorded)

    async def refresh(self) -> None:
        """Start over when the file was opened in the editor."""
        self.look_at_editor()

    def look_at_editor(self) -> None:
        """The same, without waiting; on the event loop.

        Raises:
            PlanOutdatedError: the file was opened in the editor since the call began.
        """
        if self._found.open_document()[1] is not None:
            raise PlanOutdatedError(f"{self.path}: was opened in the editor since the call began.")

    def check_path(self) -> None:
        """Start over when the path leads to another file."""
        self._found.check(same_file=True)

    def release(self) -> None:
        """Close the descriptors; the file may be gone with them."""
        self._located.close()

    async def put(self, change: Change, context: ToolContext, *, label: str) -> Landed:  # noqa: ARG002  the label is for an editor's undo list
        """Replace or create the file in one step."""
        self.look_at_editor()
        written = await run_blocking(context.cancellation, lambda: self._write(change, context.cancellation))
        notes = (*written.notes, _AT_THE_SAME_MOMENT) if self._moved_in_editor() else written.notes
        return Landed("Written to disk.", notes)

    def _moved_in_editor(self) -> bool:
        """No lock keeps an editor from opening the file between the last look and the writing."""
        try:
            self.look_at_editor()
        except PlanOutdatedError:
            return True
        except ToolFailure:
            return False  # what it shows is not known, and whoever asks for the document next is told so
        return False

    def _write(self, change: Change, token: CancellationToken) -> atomic.Written:
        refuse_cancelled(self.path, token)
        located, last_look = self._located, self._last_look
        try:
            self.check_path()
            if not self.exists:
                return atomic.create_file(located, change.parts, token=token, last_look=last_look)
            before = change.before.raw
            return atomic.replace_file(located, change.parts, expected=before, token=token, last_look=last_look)
        finally:
            change.let_go()
            located.retire()

    def _last_look(self) -> None:
        """Waiting for another writer can take seconds, in which the file may have been opened in the editor."""
        if self._found.editor is not None:
            anyio.from_thread.run_sync(self.look_at_editor)


class OutdatedDocumentPlace(DiskPlace):
    """The file of an open document that still shows what the file held before; that text is never written back.

    An editor that can reload does so, and the call starts over with a document that is up to date. Else the change is
    made on disk, and said to be.
    """

    def __init__(self, found: FoundPath, standing: Standing) -> None:
        super().__init__(found)
        self._standing = standing
        self.whereabouts = whereabouts(standing)

    def require_text(self) -> None:
        """Refuse what is no file any more."""
        try:
            super().require_text()
        except PathRefusedError as refusal:
            raise PathRefusedError(
                f"{refusal} It was there when the editor loaded it: the open document still shows its old text, which "
                "the user can save there. A new file can be written on disk (Write, where that tool is offered)."
            ) from None

    async def refresh(self) -> None:
        """Have the editor tell its newest text; start over when the document moved."""
        self._standing = replace(self._standing, unassured=await flushed(self._found))
        self.whereabouts = whereabouts(self._standing)
        self.look_at_editor()

    def check_path(self) -> None:
        """Start over as well when the file holds what the document shows: the user saved it since the call began."""
        super().check_path()
        if self.exists and compare(self._located, self._standing.document, None).truth == "one_text":
            raise PlanOutdatedError(f"{self.path}: was saved in the editor since the call began.")

    def look_at_editor(self) -> None:
        """Start over when the document moved: what the user did there may make it the truth."""
        if self._found.open_document()[1] != self._standing.document:
            raise PlanOutdatedError(f"{self.path}: was changed, closed or reloaded in the editor since the call began.")

    async def put(self, change: Change, context: ToolContext, *, label: str) -> Landed:
        """Have the document reloaded and start over; else replace or create the file, and say what the editor shows."""
        self.look_at_editor()
        refuse_cancelled(self.path, context.cancellation)
        why = _CANNOT_RELOAD
        if self._standing.editor.abilities.reloads and self.exists:
            why = await self._reload(context)
        landed = await super().put(change, context, label=label)
        if self._standing.editor.abilities.reloads and not self.exists:
            why = await self._show_what_was_created(context)
        return Landed(landed.where, (*landed.notes, _STILL_OLD.format(why=why)) if why else landed.notes)

    async def _reload(self, context: ToolContext) -> str:
        """Why the document could not be reloaded.

        Raises:
            PlanOutdatedError: it was; the change is to be made there now.
        """
        why = await self._reloaded(context)
        standing = await standing_of(self._found, context.cancellation, flush=False)
        if standing is None or standing.verdict.truth != "disk":
            raise PlanOutdatedError(f"{self.path}: the open document showed older text and was reloaded from disk.")
        self._standing = standing  # it may have been loaded anew, and still shows what the disk does not hold
        return why or _SHOWS_OTHER_TEXT

    async def _show_what_was_created(self, context: ToolContext) -> str:
        """Why the document does not show the file that was created, or ""; never fails, for the change was made."""
        why = await self._reloaded(context)
        try:
            document = self._found.open_document()[1]
            is_shown = document is None or await run_blocking(context.cancellation, lambda: self._is_on_disk(document))
        except (ToolFailure, PlanOutdatedError, OSError) as error:
            return in_its_words(str(error)).rstrip(".")
        return "" if is_shown else why or _SHOWS_OTHER_TEXT

    async def _reloaded(self, context: ToolContext) -> str:
        """Ask for it; why it was not done, or ""."""
        try:
            disk = await run_blocking(context.cancellation, self._disk_hash)
            outcome = await self._standing.editor.reload(self._standing.document, disk_hash=disk)
        except (EditorAccessError, ToolFailure, OSError) as error:
            return in_its_words(str(error)).rstrip(".")
        return "" if outcome.kind == "done" else in_its_words(outcome.reason).rstrip(".")

    def _is_on_disk(self, document: Document) -> bool:
        with self._found.roots.locate(self._found.file_path) as now:
            return compare(now, document, None).truth == "one_text"

    def _disk_hash(self) -> str | None:
        with self._found.roots.locate(self._found.file_path) as now:
            return disk_hash(whole_content(now))


_AT_THE_SAME_MOMENT = (
    "the file was opened, closed or changed in the editor at the same moment; a document of it that is open may show "
    "older text"
)
_SHOWS_OTHER_TEXT = "the editor says that it reloaded it, and still shows other text"
_CANNOT_RELOAD = "this editor cannot be asked to reload it"
_STILL_OLD = (
    "the file had been changed on disk since the editor loaded it, so the change was made on disk; the open document "
    "still shows older text until the editor reloads it ({why})"
)
