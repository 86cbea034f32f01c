"""The requests that a client answers beyond LSP (``client_requests``), and what their answers prove.

An answer tells the state that the document is in after everything was told. That is held against the synchronised
text by version and hash. Where the two differ they have drifted apart: then the client is asked for its whole text.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import anyio
import anyio.to_thread

from . import client_requests as wire
from .errors import DocumentMovedError, EditorLostError
from .lsp_flight import wait_until
from .port import FileOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .lsp import LspClient
    from .lsp_documents import DocumentSlot, LspDocuments, OpenDocument
    from .lsp_flight import EditTimeouts
    from .port import Document

_REASON_MAX_CHARS = 500
_LARGE_CHARS = 500_000
_AUTOSAVE = {
    "afterDelay": "after a moment",
    "onFocusChange": "when its user goes to another editor",
    "onWindowChange": "when its user goes to another window",
}
_LOOKS = 3  # at a document that changes while its state is compared

FileAction: TypeAlias = Literal["openbuffer/saveDocument", "openbuffer/reloadDocument"]


@dataclass(frozen=True, slots=True)
class EditAnswer:
    """What a client answered to an edit; ``told_version``: everything up to it had been told before the answer."""

    applied: bool
    reason: str = ""
    told_version: int | None = None


class RichClient:
    """Asks for what was announced. The slot of the document is held by the caller while a request is on its way."""

    def __init__(
        self,
        client: LspClient,
        capabilities: wire.RichCapabilities,
        documents: LspDocuments,
        timeouts: EditTimeouts,
    ) -> None:
        self.can = capabilities
        self._client = client
        self._documents = documents
        self._timeouts = timeouts
        self._numbers = itertools.count(1)

    async def flush(self, slot: DocumentSlot, opened: OpenDocument) -> str:
        """Have everything told; why that is not assured, or "".

        Raises:
            EditorLostError: the connection ended.
        """
        try:
            with anyio.fail_after(self._timeouts.flush_s):
                return await self._flushed(slot, opened)
        except TimeoutError:
            return f"it did not answer within {self._timeouts.flush_s:g} s"
        except EditorLostError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever a client answers with an error is a refusal
            return f"it refused to tell: {_in_short(error)}"

    async def apply(
        self, opened: OpenDocument, edits: list[dict[str, Any]], label: str, dialog_id: str
    ) -> EditAnswer | None:
        """Ask for edits of the newest state; None where the answer cannot be read.

        Raises:
            EditorLostError: the connection ended.
            Exception: the client answered with an error.
        """
        params: wire.ApplyEditParams = {
            "textDocument": {"uri": opened.uri, "version": opened.version},
            "textHash": hash_of(opened),
            "edits": edits,
            "label": label,
            "dialogId": dialog_id,
        }
        answer = _result(await self._client.ask(wire.APPLY_EDIT, cast("Mapping[str, Any]", params)))
        if answer is None:
            return None
        state = _state(answer.get("document"))
        return EditAnswer(answer["done"], _reason(answer), None if state is None else state["version"])

    async def act(
        self, action: FileAction, slot: DocumentSlot, document: Document, disk_hash: str | None, dialog_id: str
    ) -> FileOutcome:
        """Ask for a save or a reload of exactly this state, and take the answer for what it says.

        Raises:
            DocumentMovedError: the document is in another state by now; nothing was sent.
        """
        opened = slot.open
        if opened is None or opened.snapshot(document.path) != document:
            # Since the check of the caller this task had to wait for its turn.
            raise DocumentMovedError(f"{document.path} was changed or closed in the editor; nothing was sent")
        params: wire.SaveDocumentParams = {
            "textDocument": {"uri": opened.uri, "version": opened.version},
            "textHash": hash_of(opened),
            "diskHash": disk_hash,
            "dialogId": dialog_id,
        }
        answer = None
        try:
            with anyio.move_on_after(self._timeouts.reply_s):
                answer = await self._client.ask(action, cast("Mapping[str, Any]", params))
        except EditorLostError:
            return FileOutcome(kind="unknown", reason="the connection to the editor ended")
        except Exception as error:  # noqa: BLE001  # whatever a client answers with an error is a refusal
            return FileOutcome(kind="not_done", reason=_in_short(error))
        result = _result(answer)
        if result is None:
            self.withdraw(dialog_id)
            return FileOutcome(kind="unknown", reason="the editor gave no answer that could be read")
        if not result["done"]:
            return FileOutcome(kind="not_done", reason=_in_short(_reason(result) or "it gave no reason"))
        return await self._acted(slot, document, _state(result.get("document")))

    def dialog_id(self) -> str:
        """A new name for the dialog that a request may open."""
        return f"openbuffer-dialog-{next(self._numbers)}"

    def withdraw(self, dialog_id: str) -> None:
        """Have a dialog closed, where the client can; its request is answered as declined then."""
        if self.can.withdraw_dialog:
            params: wire.WithdrawDialogParams = {"dialogId": dialog_id}
            self._client.tell(wire.WITHDRAW_DIALOG, cast("Mapping[str, Any]", params))

    async def _flushed(self, slot: DocumentSlot, opened: OpenDocument) -> str:
        with_text = False
        for _ in range(_LOOKS):
            sent_version = opened.version
            answer = await self._read(opened.uri, with_text=with_text)
            state = _state(answer)
            now = slot.open
            if now is not opened:
                return ""  # it was closed or opened anew; whoever asks for the document sees that
            if state is None:
                return "it does not tell the state of this document"
            opened.autosave = _AUTOSAVE.get(state.get("autosave", ""), "")
            if not await self._is_told(slot, opened, state["version"]):
                return "it tells of a newer version than any that it sent"
            # Older than what it had sent before it was asked, it is no state of this document.
            if state["version"] >= sent_version and await _agrees(opened, state):
                return ""
            text = await _text(answer, state) if with_text else None
            with_text = True
            if text is not None and slot.open is opened and opened.version == state["version"]:
                self._documents.adopt(slot, state["version"], text)
                return ""
        return "what it tells of this document does not fit together"

    async def _is_told(self, slot: DocumentSlot, opened: OpenDocument, version: int) -> bool:
        """Wait for the changes of a client that answers before it sends them.

        Its text cannot be taken from the answer, for then they would be made in it a second time.
        """

        def is_told() -> bool:
            return slot.open is not opened or opened.version >= version

        return await wait_until(slot, is_told, self._timeouts.flush_s / 4)

    async def _read(self, uri: str, *, with_text: bool) -> object:
        params: wire.ReadDocumentParams = {"textDocument": {"uri": uri}}
        if with_text:
            params["includeText"] = True
        return await self._client.ask(wire.READ_DOCUMENT, cast("Mapping[str, Any]", params))

    async def _acted(self, slot: DocumentSlot, document: Document, state: wire.DocumentState | None) -> FileOutcome:
        opened = slot.open
        if opened is None:
            return FileOutcome(kind="done", reason="it was closed at the same time")
        if state is not None and not await _agrees(opened, state) and self.can.read_document:
            await self.flush(slot, opened)
        if slot.open is None or slot.open.out_of_sync is not None:
            return FileOutcome(kind="done", reason="its text is not known any more")
        opened = slot.open
        is_that = state is not None and opened.version == state["version"] and await _agrees(opened, state)
        if state is not None and is_that and not state["dirty"]:
            # Told as a change of the text, as some editors reload, it would count as unsaved from here on.
            opened.told_text = opened.buffer.text
        return FileOutcome(kind="done", document=slot.open.snapshot(document.path))


def hash_of(opened: OpenDocument) -> str:
    """The hash of a document's text; kept, since it is asked for again and again."""
    text = opened.buffer.text
    if opened.known_hash is None or opened.known_hash[0] is not text:
        opened.known_hash = (text, wire.text_hash(text))
    return opened.known_hash[1]


async def _agrees(opened: OpenDocument, state: wire.DocumentState) -> bool:
    """Whether the synchronised text is the told state, or a later one."""
    if opened.version > state["version"]:
        return True
    if opened.version < state["version"]:
        return False
    text = opened.buffer.text
    if len(text) >= _LARGE_CHARS and (opened.known_hash is None or opened.known_hash[0] is not text):
        known = await anyio.to_thread.run_sync(wire.text_hash, text)
        if opened.version != state["version"]:
            return True  # it moved on meanwhile
        opened.known_hash = (text, known)
    return hash_of(opened) == state["textHash"]


def _state(value: object) -> wire.DocumentState | None:
    """A state as a client tells it, without its text; None for whatever is none."""
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    version, text_hash = fields.get("version"), fields.get("textHash")
    if not isinstance(version, int) or isinstance(version, bool) or not isinstance(text_hash, str):
        return None
    state: wire.DocumentState = {"version": version, "textHash": text_hash, "dirty": fields.get("dirty") is True}
    autosave = fields.get("autosave")
    if isinstance(autosave, str):
        state["autosave"] = autosave
    return state


async def _text(answer: object, state: wire.DocumentState) -> str | None:
    """The text that came with a state, if it is that state's."""
    text = cast("dict[str, Any]", answer).get("text")
    if not isinstance(text, str):
        return None
    found = await anyio.to_thread.run_sync(wire.text_hash, text) if len(text) >= _LARGE_CHARS else wire.text_hash(text)
    return text if found == state["textHash"] else None


def _result(value: object) -> dict[str, Any] | None:
    """A ``DocumentActionResult``; None for whatever is none."""
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return fields if isinstance(fields.get("done"), bool) else None


def _reason(result: Mapping[str, Any]) -> str:
    """What a client gives as its reason; anything but a text is none."""
    reason = result.get("reason")
    return reason if isinstance(reason, str) else ""


def _in_short(why: object) -> str:
    text = str(why) or type(why).__name__
    return text if len(text) <= _REASON_MAX_CHARS else text[:_REASON_MAX_CHARS] + "…"
