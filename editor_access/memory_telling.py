"""What the in-memory client tells its server, in which shape and when."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from lsprotocol import types as lsp

from .document_store import TextBuffer

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from .memory_buffer import MemoryBuffer
    from .memory_temperament import Temperament
    from .port import TextEdit
    from .text import PositionEncoding


class LanguageServerSink(Protocol):
    """Takes a client's notifications, in their order."""

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> object:
        """A document is shown."""
        ...

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> object:
        """Its text changed."""
        ...

    def did_save(self, params: lsp.DidSaveTextDocumentParams) -> object:
        """It was written to disk."""
        ...

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> object:
        """It is not shown any more."""
        ...


@dataclass(slots=True)
class _Pending:
    """Changes of one document that the server does not know yet."""

    buffer: MemoryBuffer
    version: int
    changes: list[lsp.TextDocumentContentChangePartial] = field(
        default_factory=list[lsp.TextDocumentContentChangePartial]
    )


class Telling:
    """Implements ``EditorListener``: turns what happens in the editor into notifications, now or when flushed."""

    def __init__(self, temperament: Temperament, encoding: PositionEncoding) -> None:
        self._temperament = temperament
        self._encoding: PositionEncoding = encoding
        self._sink: LanguageServerSink | None = None
        self._told: dict[str, int] = {}
        self._pending: dict[str, _Pending] = {}
        self._keeps_back = False

    def start(self, sink: LanguageServerSink, buffers: Sequence[MemoryBuffer]) -> None:
        """Tell this server of these documents, and of what happens from now on."""
        self._sink = sink
        self._told.clear()
        self._pending.clear()
        for buffer in buffers:
            self.opened(buffer)

    def stop(self) -> None:
        """Tell nothing any more."""
        self._sink = None

    def told_version(self, uri: str) -> int | None:
        """The version that the server knows of; None where it was not told of the document."""
        return self._told.get(uri)

    @property
    def has_untold(self) -> bool:
        """Whether there is a change that the server does not know of."""
        return bool(self._pending)

    def flush(self, uri: str | None = None) -> None:
        """Tell every change that the server does not know yet; ``uri``: only those of this document."""
        for name in [uri] if uri is not None else list(self._pending):
            if pending := self._pending.pop(name, None):
                self._send(pending)

    @contextmanager
    def kept_back(self) -> Generator[None]:
        """Changes that are made meanwhile are told when flushed, whatever the temperament."""
        before, self._keeps_back = self._keeps_back, True
        try:
            yield
        finally:
            self._keeps_back = before

    def opened(self, buffer: MemoryBuffer) -> None:
        """A document is shown."""
        limit = self._temperament.tells_up_to_chars
        if self._sink is None or (limit is not None and len(buffer.text) > limit):
            return
        self._told[buffer.uri] = buffer.version
        item = lsp.TextDocumentItem(uri=buffer.uri, language_id="plaintext", version=buffer.version, text=buffer.text)
        self._sink.did_open(lsp.DidOpenTextDocumentParams(text_document=item))

    def changed(self, buffer: MemoryBuffer, before: str, edits: Sequence[TextEdit]) -> None:
        """Its text changed; the server hears of it now or later."""
        if self._sink is None or buffer.uri not in self._told:
            return
        pending = self._pending.setdefault(buffer.uri, _Pending(buffer, buffer.version))
        pending.version = buffer.version
        positions = TextBuffer(before, self._encoding)
        # From the last to the first, so that each range is right in the text that the ones before it leave behind.
        for edit in reversed(edits):
            start, end = positions.position_at(edit.start), positions.position_at(edit.end)
            wire = lsp.Range(
                start=lsp.Position(line=start.line, character=start.character),
                end=lsp.Position(line=end.line, character=end.character),
            )
            pending.changes.append(lsp.TextDocumentContentChangePartial(range=wire, text=edit.new_text))
        if self._temperament.tells_typing == "at_once" and not self._keeps_back:
            self.flush()

    def saved(self, buffer: MemoryBuffer) -> None:
        """It is on disk; what the server does not know of it yet goes out first."""
        self.flush(buffer.uri)
        if self._sink is not None and buffer.uri in self._told:
            identifier = lsp.TextDocumentIdentifier(uri=buffer.uri)
            text = buffer.text if self._temperament.saves_with_text else None
            self._sink.did_save(lsp.DidSaveTextDocumentParams(text_document=identifier, text=text))

    def closed(self, buffer: MemoryBuffer) -> None:
        """It is not shown any more."""
        self._pending.pop(buffer.uri, None)
        if self._told.pop(buffer.uri, None) is not None and self._sink is not None:
            identifier = lsp.TextDocumentIdentifier(uri=buffer.uri)
            self._sink.did_close(lsp.DidCloseTextDocumentParams(text_document=identifier))

    def _send(self, pending: _Pending) -> None:
        self._told[pending.buffer.uri] = pending.version
        if self._sink is not None:
            identifier = lsp.VersionedTextDocumentIdentifier(uri=pending.buffer.uri, version=pending.version)
            whole = lsp.TextDocumentContentChangeWholeDocument(text=pending.buffer.text)
            changes = [whole] if self._temperament.sync == "full" else pending.changes
            self._sink.did_change(lsp.DidChangeTextDocumentParams(text_document=identifier, content_changes=changes))
