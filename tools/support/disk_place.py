"""A file on disk, there or to be created, that no editor has open, or only with the text that it had before."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import anyio.from_thread

from ..errors import PathRefusedError, PlanOutdatedError
from . import atomic
from .blocking import run_blocking
from .encodings import UTF8
from .file_bytes import file_bytes, file_pieces
from .standing import whereabouts
from .text_files import TextFile, text_file
from .text_place import Change, FoundPath, Landed, refuse_cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        return Change(before=before, parts=before.spliced(replacements))

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
        return Landed("Written to disk.", written.notes)

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

    A plain client cannot be made to reload, so that the change is made on disk, and said to be.
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
                "the user can save there, or which Write replaces on disk."
            ) from None

    def look_at_editor(self) -> None:
        """Start over when the document moved: what the user did there may make it the truth."""
        if self._found.open_document()[1] != self._standing.document:
            raise PlanOutdatedError(f"{self.path}: was changed, closed or reloaded in the editor since the call began.")

    async def put(self, change: Change, context: ToolContext, *, label: str) -> Landed:
        """Replace or create the file, and say that the editor does not show it yet."""
        landed = await super().put(change, context, label=label)
        return Landed(landed.where, (*landed.notes, _STILL_OLD))


_STILL_OLD = (
    "the file had been changed on disk since the editor loaded it, so the change was made on disk; the open document "
    "still shows older text until the editor reloads it"
)
