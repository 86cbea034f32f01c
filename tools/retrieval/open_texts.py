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
    from collections.abc import Callable

    from openbuffer.editor_access.port import Document, EditorFileAccess, EditorProvider

    from .port import RetrievalQuery

_FLUSHED_AT_ONCE: Final = 8
_FLUSHED_MAX: Final = 256
_FLUSHES_S: Final = 5.0
_NO_TIME: Final = "too many are open, or it answers too slowly"


@dataclass(frozen=True, slots=True)
class OpenTexts:
    """Documents with text that is not on disk, and what is to be said of those whose text could not be had."""

    documents: tuple[Document, ...] = ()
    notes: tuple[str, ...] = ()


async def open_texts(
    provider: EditorProvider | None, query: RetrievalQuery, is_source: Callable[[str], bool]
) -> OpenTexts:
    """Those below the query's roots, once the editor was asked for what it has not told yet of any open one (E10).

    ``is_source`` tells by a path whether a document can matter. On the event loop; ends within seconds.
    """
    editor = provider() if provider is not None else None
    if editor is None:
        return OpenTexts()
    if not editor.has_stable_path_authority:
        return OpenTexts(notes=("the attached editor cannot be asked for unsaved text, so that of the disk counts",))
    reading = _Reading(editor, query, is_source)
    await reading.flush()
    reading.read()
    return reading.result()


class _Reading:
    """What was had of an editor, and why the rest was not; one document's trouble is not that of the others."""

    def __init__(self, editor: EditorFileAccess, query: RetrievalQuery, is_source: Callable[[str], bool]) -> None:
        self._editor = editor
        self._query = query
        self._is_source = is_source
        self._found: dict[str, Document] = {}
        self._troubles: dict[str, str] = {}
        self._unassured: dict[str, str] = {}
        self._may_have_more = False

    async def flush(self) -> None:
        there = self._open()
        if not self._editor.abilities.flushes:
            self._may_have_more = bool(there)
            return
        self._unassured = dict.fromkeys(there, _NO_TIME)
        limiter = anyio.CapacityLimiter(_FLUSHED_AT_ONCE)
        with anyio.move_on_after(_FLUSHES_S):
            async with anyio.create_task_group() as group:
                for path in self._urgent_first(there)[:_FLUSHED_MAX]:
                    group.start_soon(self._flush_one, there[path], limiter)

    def _urgent_first(self, there: dict[str, Document]) -> list[str]:
        """Those that are unsaved, then those that are in view, by the paths that they have if no link leads there."""
        active = (os.path.normpath(os.path.join(self._query.roots[0], path)) for path in self._query.active_files)
        return [path for path in dict.fromkeys((*self._unsaved(), *active, *there)) if path in there]

    async def _flush_one(self, document: Document, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            try:
                why = await self._editor.flush(document)
            except EditorAccessError as error:
                why = str(error)
            if why:
                self._unassured[document.path] = why
            else:
                del self._unassured[document.path]

    def read(self) -> None:
        there = self._open()
        for path in self._unsaved():
            try:
                # What is not there is closed, or refused with a reason.
                document = there.get(path) or self._editor.document(path)
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
        if self._may_have_more:
            notes.append("what the editor has not sent yet of its unsaved text; it cannot be asked for that")
        return OpenTexts(tuple(self._found.values()), tuple(notes))

    def _open(self) -> dict[str, Document]:
        under = (document for root in self._query.roots for document in self._editor.open_under(root))
        return {document.path: document for document in under if self._matters(document.path)}

    def _unsaved(self) -> list[str]:
        try:
            under = [each.path for root in self._query.roots for each in self._editor.unsaved_under(root)]
        except EditorAccessError as error:
            self._troubles[""] = str(error)
            return []
        return [path for path in dict.fromkeys(under) if self._matters(path)]

    def _matters(self, path: str) -> bool:
        return self._is_source(path) and (self._query.unreadable is None or not self._query.unreadable(path))


def _told(what: str, troubles: dict[str, str]) -> str:
    path, why = next(iter(troubles.items()))
    named = f"{printable(path)}: " if path else ""
    more = f", and {len(troubles) - 1} more" if len(troubles) > 1 else ""
    return f"{counted(len(troubles), 'open document', 'open documents')} {what} ({named}{in_its_words(why)}{more})"
