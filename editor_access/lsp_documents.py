"""The documents that a language client has open, as far as it told.

Bad input never raises: a document whose messages do not fit together is marked out of sync, and stays so until
the client opens it again. Documents without a file of this machine (``untitled:``, ``output:``, the unnamed
buffers that all call themselves ``file://``) are not tracked at all.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import anyio

from .baselines import BaselineKeeper, DiskReader
from .document_identity import LastLook, WantedFile, canonical, is_below, still_leads_to
from .document_store import TextBuffer
from .errors import DocumentAmbiguousError, DocumentOutOfSyncError
from .lsp_edits import has_lone_return
from .port import Author, Document, UnsavedDocument
from .text import Position, PositionEncoding, Range
from .uri import path_from_uri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsprotocol import types as lsp

    from .truth import DiskText


class TextObserver(Protocol):
    """Sees every state of a document while an edit is on its way."""

    def observe(self, opened: OpenDocument | None) -> None:
        """The document is in this state now; None: it was closed."""
        ...

    def glimpse(self, opened: OpenDocument) -> None:
        """The document was in this state before the next change of the same message."""
        ...


@dataclass(slots=True)
class OpenDocument:
    """One opening of a document. ``opened_path`` is its URI's path, ``canonical_path`` what that led to then.

    ``told_text`` is what the client opened or saved last; ``disk`` knows what that was on disk.
    ``returns_are_text``: it holds lone carriage returns, and its client may not count them as line ends.
    ``known_hash``: a text of it, and that text's hash.
    """

    uri: str
    opened_path: str
    canonical_path: str
    generation: int
    version: int
    buffer: TextBuffer
    told_text: str | None
    disk: BaselineKeeper
    out_of_sync: str | None = None
    returns_are_text: bool = False
    known_hash: tuple[str, str] | None = None
    last_look: LastLook = field(default_factory=LastLook)
    autosave: str = ""

    def snapshot(self, path: str) -> Document:
        """The state now, under the canonical path it was asked for by."""
        return Document(
            path=path,
            uri=self.uri,
            version=self.version,
            generation=self.generation,
            text=self.buffer.text,
            autosave=self.autosave,
        )


class Pulse:
    """Wakes whoever waits for the next event; costs nothing while nobody does."""

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def fire(self) -> None:
        """Wake all who wait now."""
        if self._event is not None:
            self._event.set()
            self._event = None

    async def wait(self) -> None:
        """Until the next ``fire``."""
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()


@dataclass(slots=True)
class DocumentSlot:
    """The place of one document over its openings; ``revision`` counts every change of its state."""

    open: OpenDocument | None = None
    revision: int = 0
    users: int = 0
    unsettled_until: tuple[int, float] | None = None
    observer: TextObserver | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    pulse: Pulse = field(default_factory=Pulse)

    def moved(self) -> None:
        """Tell that the state changed."""
        self.revision += 1
        if self.observer is not None:
            self.observer.observe(self.open)
        self.pulse.fire()


class LspDocuments:
    """Follows didOpen, didChange, didSave and didClose; each returns what was wrong, for a log, or None."""

    def __init__(
        self, encoding: PositionEncoding, *, counts_returns: bool = True, disk: DiskText | None = None
    ) -> None:
        """``counts_returns``: to the client a lone carriage return ends a line, as LSP has it."""
        self._reader = None if disk is None else DiskReader(disk)
        self._encoding: PositionEncoding = encoding
        self._counts_returns = counts_returns
        self._slots: dict[str, DocumentSlot] = {}
        self._generations = itertools.count(1)

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> str | None:
        """A text is shown; a second opening replaces the first, as a reload does."""
        item = params.text_document
        path = path_from_uri(item.uri)
        if path is None:
            return None
        slot = self._slots.setdefault(path, DocumentSlot())
        again = slot.open is not None and slot.open.out_of_sync is None
        if slot.open is not None:
            slot.open.disk.closed()
        slot.open = self._opened(item.uri, path, item.version, item.text)
        slot.open.disk.opened(slot.open.buffer.text)
        slot.moved()
        return f"didOpen for {item.uri}, which is open already; taken as a reload" if again else None

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> str | None:
        """The text changed. What cannot be followed makes the document out of sync."""
        uri, version = params.text_document.uri, params.text_document.version
        path = path_from_uri(uri)
        if path is None:
            return None
        slot = self._slots.setdefault(path, DocumentSlot())
        if slot.open is None:
            return f"didChange for {uri}: {self.lose_track(uri, 'it changed without having been opened')}"
        if slot.open.out_of_sync is not None:
            return None
        problem = self._change(slot.open, version, params, slot.observer)
        if problem is not None:
            slot.open.out_of_sync = problem
        elif slot.open.disk.wants_to_know_change:
            slot.open.disk.changed(slot.open.buffer.text)
        slot.moved()
        return None if problem is None else f"didChange for {uri}: {problem}"

    def lose_track(self, uri: str, why: str) -> str:
        """The text of this document is not known until it is opened again, if it has one at all; gives ``why`` back."""
        path = path_from_uri(uri)
        if path is not None:
            slot = self._slots.setdefault(path, DocumentSlot())
            if slot.open is None:
                slot.open = self._opened(uri, path, 0, "")
                slot.open.told_text = None
            slot.open.out_of_sync = slot.open.out_of_sync or why
            slot.moved()
        return why

    def adopt(self, slot: DocumentSlot, version: int, text: str) -> None:
        """Take a document's whole text from its client, after the two had drifted apart."""
        assert slot.open is not None
        slot.open.buffer.change(None, text)
        slot.open.version = version
        slot.open.out_of_sync = None
        slot.open.returns_are_text = not self._counts_returns and has_lone_return(text)
        slot.moved()

    def did_save(self, params: lsp.DidSaveTextDocumentParams) -> str | None:
        """The text is on disk now. A text that comes along is a chance to notice a drift."""
        uri = params.text_document.uri
        slot = self.slot_of(uri)
        if slot is None or slot.open is None:
            return None if path_from_uri(uri) is None else f"didSave for {uri}, which is not open"
        opened = slot.open
        if opened.out_of_sync is not None:
            return None
        if params.text is not None and params.text != opened.buffer.text:
            if not _differ_by_line_ends_only(params.text, opened.buffer.text):
                opened.out_of_sync = "the text that was saved is not the text that was synchronised"
                slot.moved()
                return f"didSave for {uri}: {opened.out_of_sync}"
            opened.buffer.change(None, params.text)
            slot.moved()
        opened.told_text = opened.buffer.text
        opened.disk.saved(opened.buffer.text)
        return None

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> str | None:
        """The text is not shown any more; the disk is the truth."""
        uri = params.text_document.uri
        slot = self.slot_of(uri)
        if slot is None or slot.open is None:
            return None if path_from_uri(uri) is None else f"didClose for {uri}, which is not open"
        slot.open.disk.closed()
        slot.open = None
        slot.moved()
        self.release(uri)
        return None

    def find(self, path: str) -> OpenDocument | None:
        """The document of this canonical path, judged now.

        Raises:
            DocumentOutOfSyncError: it is open, but its text is not known.
            DocumentAmbiguousError: several documents with different texts stand for this file.
        """
        return _the_one(self._all_of(path), path)

    def find_only(self, path: str) -> OpenDocument | None:
        """Like ``find``, but equal texts under two names are refused as well: an edit would part them."""
        found = self._all_of(path)
        if len(found) > 1:
            raise DocumentAmbiguousError(_ambiguous(path, found, "and an edit would reach only one of them"))
        return _the_one(found, path)

    def slot_of(self, uri: str) -> DocumentSlot | None:
        """The slot of a URI, whatever its percent-encoding; None when it is not tracked."""
        path = path_from_uri(uri)
        return None if path is None else self._slots.get(path)

    def release(self, uri: str) -> None:
        """Forget a closed document that no edit is waiting for."""
        path = path_from_uri(uri)
        slot = None if path is None else self._slots.get(path)
        if path is not None and slot is not None and slot.open is None and not slot.users:
            del self._slots[path]

    def wake_all(self) -> None:
        """Wake every edit that waits for a document."""
        for slot in self._slots.values():
            slot.pulse.fire()

    def stop(self) -> None:
        """Read nothing from disk any more, and wake every edit that waits for a document."""
        if self._reader is not None:
            self._reader.stop()
        self.wake_all()

    def open_under(self, directory: str) -> tuple[Document, ...]:
        """Documents below ``directory``, but those that ``find`` refuses."""
        by_path: dict[str, list[OpenDocument]] = {}
        for opened in self._open():
            path = canonical(opened.opened_path)
            if is_below(path, directory):
                by_path.setdefault(path, []).append(opened)
        documents: list[Document] = []
        for path in sorted(by_path):
            with suppress(DocumentOutOfSyncError, DocumentAmbiguousError):
                if (opened := _the_one(by_path[path], path)) is not None:
                    documents.append(opened.snapshot(path))
        return tuple(documents)

    def unsaved_under(self, directory: str) -> tuple[UnsavedDocument, ...]:
        """Documents below ``directory`` whose text is not known to equal what was opened or saved."""
        unsaved: dict[str, Author] = {}
        for opened in self._open():
            if _is_saved(opened):  # told at once for most; where a document is takes several looks at the disk
                continue
            path = canonical(opened.opened_path)
            if is_below(path, directory):
                author = "user" if opened.out_of_sync is not None else opened.disk.author_of(opened.buffer.text)
                unsaved[path] = "user" if author == "nobody" else author
        return tuple(UnsavedDocument(path, unsaved[path]) for path in sorted(unsaved))

    def _opened(self, uri: str, path: str, version: int, text: str) -> OpenDocument:
        buffer = TextBuffer(text, self._encoding)
        canonical_path = canonical(path)
        return OpenDocument(
            uri=uri,
            opened_path=path,
            canonical_path=canonical_path,
            generation=next(self._generations),
            version=version,
            buffer=buffer,
            told_text=text,
            disk=BaselineKeeper(canonical_path, self._reader),
            returns_are_text=not self._counts_returns and buffer.has_lone_return,
        )

    def _change(
        self,
        opened: OpenDocument,
        version: int,
        params: lsp.DidChangeTextDocumentParams,
        observer: TextObserver | None,
    ) -> str | None:
        if version < opened.version:
            return f"its version went back from {opened.version} to {version}"
        opened.version = version
        for number, change in enumerate(params.content_changes):
            if number and observer is not None:
                observer.glimpse(opened)
            wire = getattr(change, "range", None)
            if wire is not None and opened.returns_are_text:
                return "it holds lone carriage returns, which this editor does not count as line ends"
            problem = _apply(opened.buffer, wire, change.text)
            if problem is not None:
                return problem
            opened.returns_are_text = not self._counts_returns and _brings_lone_return(opened, change.text)
        return None

    def _open(self) -> Iterator[OpenDocument]:
        return (slot.open for slot in self._slots.values() if slot.open is not None)

    def _all_of(self, path: str) -> list[OpenDocument]:
        wanted = WantedFile(path)
        return [opened for opened in self._open() if wanted.is_opened_as(opened.opened_path, opened.last_look)]


def _brings_lone_return(opened: OpenDocument, new_text: str) -> bool:
    return has_lone_return(new_text) and opened.buffer.has_lone_return


def _apply(buffer: TextBuffer, wire: lsp.Range | None, text: str) -> str | None:
    """Apply one content change; the reason where it cannot be followed."""
    if wire is None:
        buffer.change(None, text)
        return None
    start = Position(wire.start.line, wire.start.character)
    end = Position(wire.end.line, wire.end.character)
    # The line after the last one is how editors spell the end; anything further shows that the two texts differ.
    if min(start.line, start.character, end.line, end.character) < 0 or end.line > buffer.line_count:
        return f"a change at {start.line}:{start.character}-{end.line}:{end.character} is outside of its text"
    try:
        buffer.change(Range(start, end), text)
    except ValueError as error:
        return f"a change does not fit its text: {error}"
    return None


def _the_one(found: list[OpenDocument], path: str) -> OpenDocument | None:
    for opened in found:
        _require_known(opened, path)
    if any(opened.buffer.text != found[0].buffer.text for opened in found[1:]):
        raise DocumentAmbiguousError(_ambiguous(path, found, "and their texts differ"))
    return found[-1] if found else None


def _require_known(opened: OpenDocument, path: str) -> None:
    problem = opened.out_of_sync
    if problem is None and not still_leads_to(opened.canonical_path, path):
        problem = f"it was opened as {opened.canonical_path}, and its name leads here only since then"
    if problem is not None:
        raise DocumentOutOfSyncError(
            f"{path} is open in the editor, but its text is not known reliably: {problem}. "
            "Close and reopen it in the editor, then try again."
        )


def _ambiguous(path: str, found: list[OpenDocument], why: str) -> str:
    names = " and ".join(opened.uri for opened in found)
    return f"{path} is open in the editor under several names, {names}, {why}. Close all but one, then try again."


def _is_saved(opened: OpenDocument) -> bool:
    if opened.out_of_sync is not None:
        return False
    text = opened.buffer.text
    return opened.disk.author_of(text) == "nobody" or (opened.disk.is_undecided and text == opened.told_text)


def _differ_by_line_ends_only(one: str, other: str) -> bool:
    """By one final line end too, which Neovim may have said or not; the text before it can end with blank lines."""
    one, other = _plain(one), _plain(other)
    return one in {other, other + "\n"} or other == one + "\n"


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
