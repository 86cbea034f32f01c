"""The adapter to an editor that is a plain language client: synchronised text and ``workspace/applyEdit``.

Reads come from the text that the client sent; edits go to a document that is open, by one minimal versioned edit.
What became of an edit is judged by the text that comes back, never by the client's answer alone (E7). Everything
runs on one event loop, where the messages are fed in as they arrive.
"""

from __future__ import annotations

import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lsprotocol import types as lsp

from .client_requests import RELOAD_DOCUMENT, SAVE_DOCUMENT, RichCapabilities
from .errors import DocumentMovedError, EditorLostError
from .lsp_documents import DocumentSlot, LspDocuments, OpenDocument
from .lsp_edits import effective_edits, outgoing_edits
from .lsp_flight import EditFlight, EditTimeouts, finished, wait_until
from .lsp_outcome import IntendedEdit
from .lsp_rich import EditAnswer, FileAction, RichClient
from .port import Author, Document, EditorAbilities, EditOutcome, FileOutcome, TextEdit, UnsavedDocument
from .text import apply_edits
from .truth import same_text
from .unsynchronized import UnsynchronizedDocuments

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Generator, Iterable, Mapping, Sequence

    from .text import PositionEncoding
    from .truth import Baseline, DiskText

__all__ = ["EditTimeouts", "LspClient", "LspEditor"]


class LspClient(Protocol):
    """What the adapter asks of the connection to the client; ``ask`` and ``tell`` only what the client announced."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request of ``client_requests``, and wait for its result as plain JSON.

        Raises:
            EditorLostError: the connection ended.
            Exception: the client answered with an error; taken as a refusal.
        """
        ...

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification of ``client_requests``."""
        ...

    async def apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult | None:
        """Send ``workspace/applyEdit`` and wait for the answer; None for one that is neither yes nor no.

        Raises:
            EditorLostError: the connection ended.
            Exception: the client answered with an error; taken as a refusal.
        """
        ...


@dataclass(slots=True)
class _Ready:
    """An edit that may be sent: the opening it is for, and the edits to look for afterwards."""

    opened: OpenDocument
    edits: list[TextEdit]


class LspEditor:
    """Implements ``EditorFileAccess``. The ``did_*`` methods never raise; they return what was wrong, for a log."""

    has_stable_path_authority = True

    def __init__(
        self,
        client: LspClient,
        *,
        encoding: PositionEncoding,
        timeouts: EditTimeouts | None = None,
        is_neovim: bool = False,
        disk: DiskText | None = None,
        rich: RichCapabilities | None = None,
    ) -> None:
        r"""``encoding`` is the negotiated one. Without ``disk`` no document has a baseline.

        ``rich``: what the client can do beyond LSP.

        ``is_neovim``: the client opens documents at version 0 and applies an edit for version 0 to whatever is there
        by then, so such an edit names version 1, which is skipped once anything was typed; a lone ``\r`` ends no
        line for it, or each line (in old Mac files), which the text does not tell; it keeps the final line end to
        itself; and its columns are right.
        """
        self._client = client
        self._encoding: PositionEncoding = encoding
        self._timeouts = timeouts or EditTimeouts()
        self._is_neovim = is_neovim
        self._documents = LspDocuments(encoding, counts_returns=not is_neovim, disk=disk)
        self._rich = RichClient(client, rich or RichCapabilities(), self._documents, self._timeouts)
        self._unsynchronized = UnsynchronizedDocuments()
        self._lost = False

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> str | None:
        """Take in ``textDocument/didOpen``."""
        return self._documents.did_open(params)

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> str | None:
        """Take in ``textDocument/didChange``."""
        return self._documents.did_change(params)

    def did_save(self, params: lsp.DidSaveTextDocumentParams) -> str | None:
        """Take in ``textDocument/didSave``."""
        return self._documents.did_save(params)

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> str | None:
        """Take in ``textDocument/didClose``."""
        return self._documents.did_close(params)

    def did_change_unsynchronized(self, documents: Iterable[tuple[str, str]]) -> None:
        """Take in which documents have unsaved changes that are not synchronised: all there are, by URI, with why."""
        self._unsynchronized.replace(documents)

    def lose_track(self, uri: str, why: str) -> None:
        """A message about this document made no sense, so that its text is not known until it is opened again."""
        self._documents.lose_track(uri, why)

    def connection_lost(self) -> None:
        """The client is gone for good; edits on their way end as unknown, unless their text came already."""
        self._lost = True
        self._documents.stop()

    @property
    def abilities(self) -> EditorAbilities:
        """What the client announced."""
        can = self._rich.can
        return EditorAbilities(flushes=can.read_document, saves=can.save_document, reloads=can.reload_document)

    def document(self, path: str) -> Document | None:
        """The open document of this canonical path, judged again now; None when it is not open.

        Raises:
            EditorLostError: the connection ended, so that nobody knows what the editor shows.
            DocumentOutOfSyncError: it is open, but its text is not known.
            DocumentAmbiguousError: several documents with different texts stand for this file.
        """
        self._require_connection(path)
        self._unsynchronized.require_none(path)
        opened = self._documents.find(path)
        return None if opened is None else opened.snapshot(path)

    def text_of(self, uri: str) -> str | None:
        """The text of this document as the client told it, without a look at the disk; None where it is not known."""
        slot = self._documents.slot_of(uri)
        opened = None if slot is None else slot.open
        return None if opened is None or opened.out_of_sync is not None else opened.buffer.text

    async def baseline(self, document: Document) -> Baseline | None:
        """A text of this opening that the disk held at the same time; None where none is known."""
        opened = self._same_opening(document)
        return None if opened is None else await opened.disk.settled()

    def seen_equal(self, document: Document, baseline: Baseline) -> None:
        """Take note that the document was just found to be as on disk."""
        opened = self._same_opening(document)
        if opened is not None and opened.version == document.version and opened.buffer.text == document.text:
            opened.disk.seen(baseline)

    def author_of_unsaved(self, document: Document) -> Author:
        """Whose the text is that the document has beyond its baseline."""
        opened = self._same_opening(document)
        return "user" if opened is None else opened.disk.author_of(document.text)

    def open_under(self, directory: str) -> tuple[Document, ...]:
        """The open documents below ``directory`` whose text is known; none once the client is gone."""
        if self._lost:
            return ()
        untold = set(self._unsynchronized.under(directory))
        return tuple(document for document in self._documents.open_under(directory) if document.path not in untold)

    def unsaved_under(self, directory: str) -> tuple[UnsavedDocument, ...]:
        """The documents below ``directory`` whose text is not known to be on disk; none once the client is gone."""
        if self._lost:
            return ()
        found = {document.path: document for document in self._documents.unsaved_under(directory)}
        found |= {path: UnsavedDocument(path, "user") for path in self._unsynchronized.under(directory)}
        return tuple(found[path] for path in sorted(found))

    async def flush(self, document: Document) -> str:
        """Have the client tell what it has not told yet; why that is not assured, or ""."""
        self._require_connection(document.path)
        if not self._rich.can.read_document:
            return "it cannot be asked for what it has not told yet"
        slot = self._documents.slot_of(document.uri)
        if slot is None or slot.open is None or slot.open.generation != document.generation:
            return ""
        with self._kept(slot, document):
            return await self._rich.flush(slot, slot.open)

    async def apply(self, document: Document, edits: Sequence[TextEdit], *, label: str) -> EditOutcome:
        """Apply edits to the document as it was in ``document``, and wait for what becomes of them.

        One edit of a document at a time: a second one waits until the outcome of the first is known.

        Raises:
            DocumentMovedError, DocumentOutOfSyncError, DocumentAmbiguousError: nothing was sent.
            EditorLostError: the connection was gone before anything was sent.
            ValueError: the edits overlap, are not ascending or lie outside of the document's text.
        """
        async with self._turn(document) as slot:
            return await self._apply_alone(slot, document, edits, label)

    async def save(self, document: Document, *, disk_hash: str | None) -> FileOutcome:
        """Have the client write this state of the document to its file, where it can.

        Raises:
            DocumentMovedError, DocumentOutOfSyncError, DocumentAmbiguousError: nothing was sent.
            EditorLostError: the connection was gone before anything was sent.
        """
        if not self._rich.can.save_document:
            return FileOutcome(kind="not_done", reason="this editor cannot be asked to save")
        return await self._act(SAVE_DOCUMENT, document, disk_hash)

    async def reload(self, document: Document, *, disk_hash: str | None) -> FileOutcome:
        """Have the client take this document's text from its file, where it can; raises what :meth:`save` does."""
        if not self._rich.can.reload_document:
            return FileOutcome(kind="not_done", reason="this editor cannot be asked to reload")
        return await self._act(RELOAD_DOCUMENT, document, disk_hash)

    async def _act(self, action: FileAction, document: Document, disk_hash: str | None) -> FileOutcome:
        async with self._turn(document) as slot:
            self._current(document)
            dialog_id = self._rich.dialog_id()
            work = self._rich.act(action, slot, document, disk_hash, dialog_id)
            return await finished(work, lambda: self._rich.withdraw(dialog_id))

    @asynccontextmanager
    async def _turn(self, document: Document) -> AsyncGenerator[DocumentSlot]:
        """The document's slot, alone."""
        self._require_connection(document.path)
        slot = self._documents.slot_of(document.uri)
        if slot is None:
            raise DocumentMovedError(_moved(document, "was closed"))
        with self._kept(slot, document):
            async with slot.lock:
                await self._settle(slot)
                yield slot

    @contextmanager
    def _kept(self, slot: DocumentSlot, document: Document) -> Generator[None]:
        """Keep the slot while it is used, also of a document that is closed meanwhile."""
        slot.users += 1
        try:
            yield
        finally:
            slot.users -= 1
            self._documents.release(document.uri)

    async def _settle(self, slot: DocumentSlot) -> None:
        """After an edit of unknown outcome: wait for a new text, or as long as one could still be expected."""
        if slot.unsettled_until is None:
            return
        revision, deadline = slot.unsettled_until
        await wait_until(slot, lambda: self._lost or slot.revision != revision, deadline - time.monotonic())
        slot.unsettled_until = None

    async def _apply_alone(
        self, slot: DocumentSlot, document: Document, edits: Sequence[TextEdit], label: str
    ) -> EditOutcome:
        opened = self._current(document)
        wanted = effective_edits(document.text, edits)
        if not wanted or (self._is_neovim and _only_takes_the_final_line_end(document.text, wanted)):
            return EditOutcome(kind="done", reason="the document held that text already", document=document)
        if opened.buffer.has_lone_return and (self._is_neovim or "\n" in document.text):
            return EditOutcome(kind="not_done", reason=_LONE_RETURNS.format(path=document.path), nothing_changed=True)
        is_rich = self._rich.can.apply_edit
        dialog_id = self._rich.dialog_id()
        withdraw = (lambda: self._rich.withdraw(dialog_id)) if is_rich else None
        intended = IntendedEdit(document.text, wanted)
        flight = EditFlight(
            slot=slot,
            path=document.path,
            intended=intended,
            timeouts=self._timeouts,
            is_lost=lambda: self._lost,
            checks_versions=self._is_neovim or is_rich,
            withdraw=withdraw,
        )
        outgoing = self._outgoing(opened, wanted)

        def send() -> Awaitable[EditAnswer | None]:
            if is_rich:
                return self._rich.apply(opened, [_as_json(edit) for edit in outgoing], label, dialog_id)
            return self._apply_plainly(opened, outgoing, label)

        outcome = await finished(flight.carry_out(send), withdraw)
        if outcome is None:
            raise DocumentMovedError(_moved(document, "was changed"))
        if outcome.document is not None and same_text(outcome.document.text, intended.expected):
            opened.disk.edited_by_agent(document.text, outcome.document.text)
        return outcome

    def _same_opening(self, document: Document) -> OpenDocument | None:
        slot = self._documents.slot_of(document.uri)
        opened = None if slot is None else slot.open
        return opened if opened is not None and opened.generation == document.generation else None

    def _current(self, document: Document) -> OpenDocument:
        self._require_connection(document.path)
        opened = self._documents.find_only(document.path)
        if opened is None or opened.uri != document.uri:
            raise DocumentMovedError(_moved(document, "is not open under that name any more"))
        if opened.generation != document.generation:
            raise DocumentMovedError(_moved(document, "was closed or reloaded"))
        if opened.version != document.version or opened.buffer.text != document.text:
            raise DocumentMovedError(_moved(document, "was changed"))
        return opened

    def _outgoing(self, opened: OpenDocument, wanted: Sequence[TextEdit]) -> list[lsp.TextEdit]:
        avoid = self._encoding != "utf-32" and not self._is_neovim and not self._rich.can.apply_edit
        outgoing = outgoing_edits(
            opened.buffer.text, wanted, avoid_columns_beyond_bmp=avoid, counts_bytes=self._encoding == "utf-8"
        )
        return [_on_the_wire(opened, edit) for edit in outgoing]

    async def _apply_plainly(self, opened: OpenDocument, edits: list[lsp.TextEdit], label: str) -> EditAnswer | None:
        version = max(opened.version, 1) if self._is_neovim else opened.version
        change = lsp.TextDocumentEdit(
            text_document=lsp.OptionalVersionedTextDocumentIdentifier(uri=opened.uri, version=version),
            edits=[*edits],
        )
        edit = lsp.WorkspaceEdit(document_changes=[change])
        answer = await self._client.apply_edit(lsp.ApplyWorkspaceEditParams(edit=edit, label=label))
        return None if answer is None else EditAnswer(answer.applied, answer.failure_reason or "")

    def _require_connection(self, path: str) -> None:
        if self._lost:
            raise EditorLostError(f"{path}: the connection to the editor ended, so what it shows is not known")


_LONE_RETURNS = (
    "{path} holds lone carriage returns among its line ends, which editors number differently; an edit could land "
    "in the wrong line. Nothing was sent. Have its line ends made uniform in the editor first"
)


def _only_takes_the_final_line_end(text: str, wanted: Sequence[TextEdit]) -> bool:
    """Neovim keeps the final line end itself, in an empty buffer too: the edit would change nothing, unsaid."""
    if len(wanted) > 1 or wanted[-1].end < len(text) or not text.endswith("\n"):
        return False
    return apply_edits(text, wanted) in {text[:-1], text.removesuffix("\r\n")}


def _on_the_wire(opened: OpenDocument, edit: TextEdit) -> lsp.TextEdit:
    found = opened.buffer.range_of(edit.start, edit.end)
    start = lsp.Position(line=found.start.line, character=found.start.character)
    end = lsp.Position(line=found.end.line, character=found.end.character)
    if _gives_a_final_newline(opened.buffer.text, edit):
        # Neovim, which has a final newline of its own on saving, takes the one that the text lacked for a further,
        # blank line unless the edit reaches over the last one; others stop at the end.
        end = lsp.Position(line=found.end.line + 1, character=0)
    return lsp.TextEdit(range=lsp.Range(start=start, end=end), new_text=edit.new_text)


def _gives_a_final_newline(text: str, edit: TextEdit) -> bool:
    """Whether the text ends with a newline only after the edit, be it one of the text's that then comes last."""
    if edit.end < len(text) or text.endswith(("\n", "\r")):
        return False
    return edit.new_text.endswith("\n") or (not edit.new_text and text.endswith("\n", 0, edit.start))


def _as_json(edit: lsp.TextEdit) -> dict[str, Any]:
    start, end = edit.range.start, edit.range.end
    return {
        "range": {
            "start": {"line": start.line, "character": start.character},
            "end": {"line": end.line, "character": end.character},
        },
        "newText": edit.new_text,
    }


def _moved(document: Document, how: str) -> str:
    return f"{document.path} {how} in the editor since it was read; nothing was sent. Read it again"
