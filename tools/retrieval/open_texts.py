"""The documents of the editor whose text is not on disk: it counts in the place of what the disk has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
from openbuffer.editor_access.errors import EditorAccessError

from ..support.left_out import counted
from ..support.located import printable
from ..support.text_place import in_its_words

if TYPE_CHECKING:
    from openbuffer.editor_access.port import Document, EditorFileAccess, EditorProvider

    from .port import RetrievalQuery

_FLUSHED_AT_ONCE: Final = 8
_FLUSHED_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class OpenTexts:
    """Documents with text that is not on disk, and what is to be said of those whose text could not be had."""

    documents: tuple[Document, ...] = ()
    notes: tuple[str, ...] = ()


async def open_texts(provider: EditorProvider | None, query: RetrievalQuery) -> OpenTexts:
    """Those below the query's roots, once the editor was asked for what it has not told yet (E10).

    It is asked about documents that are known to be unsaved, and about open ones among the active files; the port tells
    of no others. On the event loop; ends within seconds for each few documents.
    """
    editor = provider() if provider is not None else None
    if editor is None:
        return OpenTexts()
    if not editor.has_stable_path_authority:
        return OpenTexts(notes=("the attached editor cannot be asked for unsaved text, so that of the disk counts",))
    reading = _Reading(editor, query)
    await reading.flush()
    reading.read()
    return reading.result()


class _Reading:
    """What was had of an editor, and why the rest was not; one document's trouble is not that of the others."""

    def __init__(self, editor: EditorFileAccess, query: RetrievalQuery) -> None:
        self._editor = editor
        self._query = query
        self._found: dict[str, Document] = {}
        self._troubles: dict[str, str] = {}
        self._unassured: dict[str, str] = {}

    async def flush(self) -> None:
        if not self._editor.abilities.flushes:
            return
        first = [*self._unsaved(), *self._active()][:_FLUSHED_MAX]
        limiter = anyio.CapacityLimiter(_FLUSHED_AT_ONCE)
        async with anyio.create_task_group() as group:
            for path in dict.fromkeys(first):
                group.start_soon(self._flush_one, path, limiter)

    async def _flush_one(self, path: str, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            try:
                document = self._editor.document(path)
                if document is not None and (why := await self._editor.flush(document)):
                    self._unassured[path] = why
            except EditorAccessError:
                return  # reading it says so

    def read(self) -> None:
        for path in self._unsaved():
            try:
                document = self._editor.document(path)
            except EditorAccessError as error:
                self._troubles[path] = str(error)
                continue
            if document is not None:
                self._found[path] = document

    def result(self) -> OpenTexts:
        notes: list[str] = []
        if self._troubles:
            notes.append(
                _told("of which the unsaved text could not be had, so that of the disk counts", self._troubles)
            )
        if self._unassured:
            notes.append(_told("known only as last sent by the editor", self._unassured))
        elif self._found and not self._editor.abilities.flushes:
            notes.append("what the editor has not sent yet of its unsaved text; it cannot be asked for that")
        return OpenTexts(tuple(self._found.values()), tuple(notes))

    def _unsaved(self) -> list[str]:
        try:
            under = [each.path for root in self._query.roots for each in self._editor.unsaved_under(root)]
        except EditorAccessError as error:
            self._troubles[""] = str(error)
            return []
        return [path for path in dict.fromkeys(under) if self._may_be_read(path)]

    def _active(self) -> list[str]:
        """Active files below the roots, by the paths that they would have if no link led to them."""
        paths = [os.path.normpath(os.path.join(self._query.roots[0], path)) for path in self._query.active_files]
        roots = tuple(f"{root.rstrip('/')}/" for root in self._query.roots)
        return [path for path in paths if path.startswith(roots) and self._may_be_read(path)]

    def _may_be_read(self, path: str) -> bool:
        return self._query.unreadable is None or not self._query.unreadable(path)


def _told(what: str, troubles: dict[str, str]) -> str:
    path, why = next(iter(troubles.items()))
    named = f"{printable(path)}: " if path else ""
    more = f", and {len(troubles) - 1} more" if len(troubles) > 1 else ""
    return f"{counted(len(troubles), 'open document', 'open documents')} {what} ({named}{in_its_words(why)}{more})"
