"""An editor in memory: documents that a user types into, with undo, dirty state and files on disk.

It is an editor in its own right, for headless sessions, the demo and tests. In the same process tools use it as
it is; ``memory_lsp`` makes it a language client. Everything it does is done at once: nothing here waits.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio.lowlevel

from .baselines import BaselineKeeper
from .document_identity import canonical, is_below, same_file, still_leads_to
from .errors import DocumentAmbiguousError, DocumentMovedError, DocumentOutOfSyncError, EditorLostError
from .lsp_edits import effective_edits
from .port import Author, Document, EditOutcome, TextEdit, UnsavedDocument
from .text import apply_edits, minimal_edits
from .truth import Baseline, baseline_of
from .uri import uri_from_path

if TYPE_CHECKING:
    from collections.abc import Sequence

_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class MemoryBuffer:
    """One open document. ``path`` is as it was opened; None for an unnamed buffer. ``version`` counts its changes."""

    uri: str
    path: str | None
    canonical_path: str
    generation: int
    version: int
    text: str
    saved_text: str
    disk: BaselineKeeper
    has_bom: bool = False
    undo_steps: list[tuple[TextEdit, ...]] = field(default_factory=list[tuple[TextEdit, ...]])

    @property
    def is_dirty(self) -> bool:
        """Whether the text differs from what was opened or saved."""
        return self.text != self.saved_text


class EditorListener(Protocol):
    """Hears what happens to documents, right after it happened."""

    def opened(self, buffer: MemoryBuffer) -> None:
        """A document is shown."""
        ...

    def changed(self, buffer: MemoryBuffer, before: str, edits: Sequence[TextEdit]) -> None:
        """Its text was ``before``; ``edits``, ascending, led to what it is now."""
        ...

    def saved(self, buffer: MemoryBuffer) -> None:
        """Its text is on disk."""
        ...

    def closed(self, buffer: MemoryBuffer) -> None:
        """It is not shown any more."""
        ...


class MemoryEditor:
    """The editor. Its user's actions come first; what follows them is ``EditorFileAccess``.

    A document is named by the path or URI that it was opened with. Every action on one that is not open raises
    KeyError.
    """

    has_stable_path_authority = True

    def __init__(self) -> None:
        self._buffers: dict[str, MemoryBuffer] = {}
        self._listeners: list[EditorListener] = []
        self._generations = itertools.count(1)
        self._has_quit = False

    def open(self, path: str, text: str | None = None, *, version: int = 0) -> MemoryBuffer:
        """Show a file: with this text, or with what is on disk.

        Raises:
            OSError: there is no text and the file cannot be read.
            UnicodeDecodeError: there is no text and the file is not UTF-8.
        """
        shown, has_bom = _from_disk(path) if text is None else (text, False)
        buffer = MemoryBuffer(
            uri=uri_from_path(path),
            path=path,
            canonical_path=canonical(path),
            generation=next(self._generations),
            version=version,
            text=shown,
            saved_text=shown,
            disk=BaselineKeeper(path, None),
            has_bom=has_bom,
        )
        _compare_with_disk(buffer)
        return self._show(buffer)

    def open_unnamed(self, uri: str, text: str = "") -> MemoryBuffer:
        """Show a buffer that has no file, under a URI such as ``untitled:1``."""
        generation = next(self._generations)
        disk = BaselineKeeper("", None)
        return self._show(MemoryBuffer(uri, None, "", generation, version=0, text=text, saved_text=text, disk=disk))

    def buffer(self, name: str) -> MemoryBuffer:
        """The open document of this path or URI."""
        return self._buffers[name]

    def buffers(self) -> tuple[MemoryBuffer, ...]:
        """All open documents, in the order of opening."""
        return tuple(self._buffers.values())

    def type(self, name: str, offset: int, text: str) -> None:
        """Insert text at a string offset, as one undo step."""
        self.change(name, [TextEdit(offset, offset, text)])

    def replace(self, name: str, start: int, end: int, text: str) -> None:
        """Replace a stretch of the text, as one undo step."""
        self.change(name, [TextEdit(start, end, text)])

    def change(self, name: str, edits: Sequence[TextEdit]) -> None:
        """Make edits (ascending, not overlapping) as one undo step."""
        buffer = self._buffers[name]
        buffer.undo_steps.append(_inverse(buffer.text, edits))
        self._change(buffer, edits)

    def undo(self, name: str) -> None:
        """Take the newest undo step back; nothing happens when there is none."""
        buffer = self._buffers[name]
        if buffer.undo_steps:
            self._change(buffer, buffer.undo_steps.pop())

    def save(self, name: str) -> None:
        """Write the text to its file; an unnamed buffer has none, and stays as it is."""
        buffer = self._buffers[name]
        if buffer.path is None:
            return
        Path(buffer.path).write_bytes((_BOM if buffer.has_bom else b"") + buffer.text.encode("utf-8"))
        buffer.saved_text = buffer.text
        _compare_with_disk(buffer)
        for listener in self._listeners:
            listener.saved(buffer)

    def revert(self, name: str) -> None:
        """Take the text from disk again, as one undo step."""
        buffer = self._buffers[name]
        if buffer.path is None:
            return
        text, buffer.has_bom = _from_disk(buffer.path)
        edits = minimal_edits(buffer.text, text)
        buffer.saved_text = text
        if edits:
            self.change(name, edits)
        _compare_with_disk(buffer)

    def reload(self, name: str) -> MemoryBuffer:
        """Close and open again from disk: a new generation, whose versions start over."""
        path = self._buffers[name].path
        self.close(name)
        return self.open(path or name)

    def close(self, name: str) -> None:
        """Stop showing it; unsaved text is gone."""
        buffer = self._buffers.pop(name)
        for listener in self._listeners:
            listener.closed(buffer)

    def quit(self) -> None:
        """End the editor: nothing can be asked of it any more."""
        self._has_quit = True

    def listen(self, listener: EditorListener) -> None:
        """Tell this listener from now on."""
        self._listeners.append(listener)

    # EditorFileAccess

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

    async def apply(self, document: Document, edits: Sequence[TextEdit], *, label: str) -> EditOutcome:  # noqa: ARG002  # an editor with a list of undo steps would show the label there
        """Apply the edits as one undo step; the outcome is known at once.

        Raises:
            DocumentMovedError, DocumentOutOfSyncError, DocumentAmbiguousError: nothing was changed.
            EditorLostError: the editor has quit.
            ValueError: the edits overlap, are not ascending or lie outside of the document's text.
        """
        await anyio.lowlevel.checkpoint()
        self._require_running(document.path)
        found = self._all_of(document.path)
        if len(found) > 1:
            raise DocumentAmbiguousError(_ambiguous(document.path, found))
        if self.document(document.path) != document:
            raise DocumentMovedError(f"{document.path} was changed or closed in the editor; read it again")
        wanted = effective_edits(document.text, edits)
        if not wanted:
            return EditOutcome(kind="done", reason="the document held that text already", document=document)
        buffer = found[0]
        self.change(_name(buffer), wanted)
        buffer.disk.edited_by_agent(document.text, buffer.text)
        return EditOutcome(kind="done", document=_snapshot(buffer, document.path))

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

    def unsaved_under(self, directory: str) -> tuple[UnsavedDocument, ...]:
        """The dirty documents below ``directory``."""
        dirty = {canonical(b.path): b for b in self._buffers.values() if b.path is not None and b.is_dirty}
        return tuple(
            UnsavedDocument(path, "agent" if dirty[path].disk.author_of(dirty[path].text) == "agent" else "user")
            for path in sorted(dirty)
            if is_below(path, directory)
        )

    def _same_opening(self, document: Document) -> MemoryBuffer | None:
        found = (buffer for buffer in self._buffers.values() if buffer.uri == document.uri)
        return next((buffer for buffer in found if buffer.generation == document.generation), None)

    def _show(self, buffer: MemoryBuffer) -> MemoryBuffer:
        self._buffers[_name(buffer)] = buffer
        for listener in self._listeners:
            listener.opened(buffer)
        return buffer

    def _change(self, buffer: MemoryBuffer, edits: Sequence[TextEdit]) -> None:
        before = buffer.text
        buffer.text = apply_edits(before, edits)
        buffer.version += 1
        for listener in self._listeners:
            listener.changed(buffer, before, edits)

    def _all_of(self, path: str) -> list[MemoryBuffer]:
        return [b for b in self._buffers.values() if b.path is not None and same_file(b.path, path)]

    def _require_running(self, path: str) -> None:
        if self._has_quit:
            raise EditorLostError(f"{path}: the editor has ended")


def _name(buffer: MemoryBuffer) -> str:
    return buffer.uri if buffer.path is None else buffer.path


def _snapshot(buffer: MemoryBuffer, path: str) -> Document:
    return Document(path=path, uri=buffer.uri, version=buffer.version, generation=buffer.generation, text=buffer.text)


def _ambiguous(path: str, found: Sequence[MemoryBuffer]) -> str:
    names = " and ".join(buffer.uri for buffer in found)
    return f"{path} is open in the editor under several names, {names}. Close all but one, then try again."


def _compare_with_disk(buffer: MemoryBuffer) -> None:
    if buffer.path is None:
        return
    try:
        data: bytes | None = Path(buffer.path).read_bytes()
    except FileNotFoundError:
        data = None
    except (OSError, ValueError):
        return
    if baseline := baseline_of(buffer.text, data):
        buffer.disk.seen(baseline)


def _from_disk(path: str) -> tuple[str, bool]:
    data = Path(path).read_bytes()
    return data.removeprefix(_BOM).decode("utf-8"), data.startswith(_BOM)


def _inverse(text: str, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits that lead back from the changed text."""
    back: list[TextEdit] = []
    shift = 0
    for edit in edits:
        start = edit.start + shift
        back.append(TextEdit(start, start + len(edit.new_text), text[edit.start : edit.end]))
        shift += len(edit.new_text) - (edit.end - edit.start)
    return tuple(back)
