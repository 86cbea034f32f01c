"""What open documents mean for a deletion: whose text forbids it, and what an editor shows afterwards (E2, E11).

No editor can be asked to close a document. So a clean one stays open with its text, and saving it there would bring
the file back: the result says so.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from openbuffer.editor_access.errors import EditorAccessError
from openbuffer.editor_access.uri import path_from_uri

from ..contract import Capability, FileTarget
from ..errors import PermissionDeniedError, PlanOutdatedError, ToolFailure
from .blocking import run_blocking
from .paths import printable
from .standing import flushed, standing_of, why_no_change
from .text_place import FoundPath, editor_trouble, in_its_words

if TYPE_CHECKING:
    from openbuffer.editor_access.port import Document, EditorFileAccess, UnsavedDocument

    from ..contract import ToolContext
    from .located import Located
    from .standing import Standing

_MOST_NAMED: Final = 5


class FoundEntry(FoundPath):
    """A name that was resolved without following a link under it."""

    __slots__ = ()

    def locate(self) -> Located:
        """What has the name now."""
        return self.roots.locate_entry(self.file_path)


class OpenDocumentOf:
    """The document that an editor has open of a file (or of what has its name) that is to be deleted, if any."""

    def __init__(self, found: FoundPath, standing: Standing | None) -> None:
        self._found = found
        self._standing = standing

    @classmethod
    async def look(cls, found: FoundPath, context: ToolContext) -> OpenDocumentOf:
        """Compare it with the disk.

        Raises:
            ToolFailure: it has text that is nowhere else, or nobody knows whether it has.
            PlanOutdatedError: it kept changing meanwhile.
        """
        standing = await standing_of(found, context.cancellation, flush=True)
        if standing is not None and (reason := _why_not(found.shown, standing)):
            raise ToolFailure(reason)
        return cls(found, standing)

    async def refresh(self) -> None:
        """Have the editor tell all it shows, and look again; raises as :meth:`look_again` does."""
        if self._standing is not None:
            await flushed(self._found)
        self.look_again()

    def look_again(self) -> None:
        """On the event loop.

        Raises:
            PlanOutdatedError: it was opened, changed or closed since the call began.
            ToolFailure: the editor went away, or cannot tell its text any more.
        """
        editor, document = self._found.open_document()
        if self._standing is None and document is not None:
            raise PlanOutdatedError(f"{self._found.shown}: was opened in the editor since the call began.")
        if self._standing is None:
            return
        if editor is None:
            raise ToolFailure(
                f"{self._found.shown}: the editor that has it open went away during the call; nothing was deleted, and "
                "what it showed cannot be seen any more. Call again to work on the file on disk."
            )
        if document != self._standing.document:
            raise PlanOutdatedError(f"{self._found.shown}: was changed or closed in the editor since the call began.")

    def remarks(self) -> tuple[str, ...]:
        """What the result says of it."""
        standing = self._standing
        if standing is None:
            return ()
        text = "its text" if standing.verdict.truth == "one_text" else "older text than the file had"
        shown = (
            f"it is open in the editor, which still shows {text} and cannot be asked to close it; saving the document "
            "there would bring the file back"
        )
        if not standing.unassured or not standing.editor.abilities.flushes:
            return (shown,)
        why = in_its_words(standing.unassured).rstrip(".")
        return shown, f"whether the editor has changes in it that it has not told is not known ({why})"


async def words_of_missing(found: FoundPath, context: ToolContext) -> str:
    """What an editor shows of a file that is not there; "" for nothing."""
    standing = await standing_of(found, context.cancellation, flush=True)
    if standing is None:
        return ""
    if standing.verdict.truth == "disk":
        return " It is deleted already; the open document still shows its old text, which the user can save or close."
    return " Only an open document in the editor has text for it, unsaved; the user can save it, or close it unsaved."


async def opened_through(link: FoundPath, context: ToolContext) -> tuple[str, ...]:
    """Remarks about documents that were opened through a link: of its file, or, unsaved ones, in its directory.

    They are open still when it is gone, under a name that leads nowhere then.
    """
    editor = link.editor() if link.editor is not None else None
    if editor is None or not editor.has_stable_path_authority:
        return ()
    try:
        target = await run_blocking(context.cancellation, lambda: _target(link))
        await context.admit((FileTarget(path=target.path, access=Capability.FILE_READ),))
    except (ToolFailure, PermissionDeniedError):
        return ()  # what it leads to is out of bounds, and so is any word about it
    names = [path for document in _documents_of(editor, target) if (path := path_from_uri(document.uri)) is not None]
    through = await run_blocking(
        context.cancellation, lambda: [name for name in names if _leads_through(name, link.located.path)]
    )
    if not through:
        return ()
    remark = (
        f"opened through this link in the editor, and open there still: {_named(through)}; saving such a document "
        "would make a new file in place of the link, or fail; the user can open it by its own path instead"
    )
    return (remark,)


def refuse_unsaved_below(directory: FoundPath) -> None:
    """An empty directory may be where the user is about to save something; on the event loop.

    Raises:
        ToolFailure: unsaved documents are open below it, or the editor cannot tell.
    """
    editor = directory.editor() if directory.editor is not None else None
    if editor is None or not editor.has_stable_path_authority:
        return
    with editor_trouble(directory.shown):
        unsaved = editor.unsaved_under(directory.located.path)
    if unsaved:
        raise ToolFailure(
            f"{directory.shown}: is empty on disk, and documents are open in the editor that are to be saved in it: "
            f"{_named([document.path for document in unsaved])}. Nothing was deleted. Ask the user to save or close "
            "them first."
        )


def _why_not(path: str, standing: Standing) -> str:
    if not standing.verdict.is_open_to_change:
        return why_no_change(path, standing)
    if standing.verdict.truth != "editor":
        return ""
    whose = {"agent": "unsaved edits of the agent", "user": "unsaved changes of the user", "nobody": "unsaved changes"}
    return (
        f"{path}: the open document has {whose[standing.author]}, which are nowhere on disk. Nothing was deleted. Ask "
        "the user to save the document, or to revert it to the file on disk, or to close it; then try again."
    )


def _target(link: FoundPath) -> Located:
    with link.roots.locate(link.file_path) as target:
        return target


def _documents_of(editor: EditorFileAccess, target: Located) -> list[Document]:
    found: list[Document] = []
    below: tuple[UnsavedDocument, ...] = ()
    with suppress(EditorAccessError):
        below = editor.unsaved_under(target.path) if target.kind == "directory" else ()
    for path in (target.path, *(document.path for document in below)):
        with suppress(EditorAccessError):  # one that cannot be told has its own refusal when it is used
            document = editor.document(path)
            if document is not None:
                found.append(document)
    return found


def _leads_through(opened: str, link: str) -> bool:
    """Whether a path, as an editor spells it, goes through this link."""
    directory, name = os.path.split(link)
    while opened != (above := os.path.dirname(opened)):
        if os.path.basename(opened) == name and os.path.realpath(above) == directory:
            return True
        opened = above
    return False


def _named(paths: list[str]) -> str:
    shown = ", ".join(printable(path) for path in paths[:_MOST_NAMED])
    return shown if len(paths) <= _MOST_NAMED else f"{shown} and {len(paths) - _MOST_NAMED} more"
