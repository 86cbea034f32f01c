"""The in-memory editor as a rich client: it answers the requests of ``client_requests``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from . import client_requests as wire
from .memory_access import hash_of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .client_requests import DocumentActionResult, DocumentState
    from .memory import MemoryBuffer, MemoryEditor


class Wire(Protocol):
    """The plain side of the client, as far as the rich one needs it."""

    def flush(self) -> None:
        """Tell the server every change that it does not know yet."""
        ...

    def make(self, buffer: MemoryBuffer, edits: list[Any]) -> None:
        """Make edits of the wire in a document, as one undo step."""
        ...


class RichAnswers:
    """Answers what the client announced; anything else is an error, as of a client that does not know the method."""

    def __init__(self, editor: MemoryEditor, plain: Wire, capabilities: wire.RichCapabilities) -> None:
        self._editor = editor
        self._plain = plain
        self.capabilities = capabilities

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of a request.

        Raises:
            RuntimeError: the client did not announce that.
        """
        plain = dict(params)
        if method == wire.READ_DOCUMENT and self.capabilities.read_document:
            return self._read(cast("wire.ReadDocumentParams", plain))
        if method == wire.APPLY_EDIT and self.capabilities.apply_edit:
            return self._apply(cast("wire.ApplyEditParams", plain))
        if method == wire.SAVE_DOCUMENT and self.capabilities.save_document:
            return self._with_file(cast("wire.SaveDocumentParams", plain), self._editor.save)
        if method == wire.RELOAD_DOCUMENT and self.capabilities.reload_document:
            return self._with_file(cast("wire.SaveDocumentParams", plain), self._editor.revert)
        raise RuntimeError(f"Unhandled method {method}")

    def _read(self, params: wire.ReadDocumentParams) -> DocumentState | None:
        self._plain.flush()
        buffer = self._buffer(params["textDocument"])
        if buffer is None:
            return None
        state = _state(buffer)
        if params.get("includeText", False):
            state["text"] = buffer.text
        return state

    def _apply(self, params: wire.ApplyEditParams) -> DocumentActionResult:
        self._plain.flush()
        buffer = self._buffer(params["textDocument"])
        if buffer is None:
            return _not_open()
        if reason := _moved(buffer, params["textDocument"], params["textHash"]):
            return {"done": False, "reason": reason, "document": _state(buffer)}
        self._plain.make(buffer, list(params["edits"]))
        self._plain.flush()
        return {"done": True, "document": _state(buffer)}

    def _with_file(self, params: wire.SaveDocumentParams, act: Callable[[str], object]) -> DocumentActionResult:
        self._plain.flush()
        buffer = self._buffer(params["textDocument"])
        if buffer is None:
            return _not_open()
        reason = _moved(buffer, params["textDocument"], params["textHash"])
        if not reason and hash_of_file(buffer.path) != params["diskHash"]:
            reason = "the file on disk holds something else by now"
        if reason:
            return {"done": False, "reason": reason, "document": _state(buffer)}
        act(buffer.name)
        self._plain.flush()
        shown = self._buffer(params["textDocument"])
        return {"done": True, "document": None if shown is None else _state(shown)}

    def _buffer(self, document: wire.WireDocument) -> MemoryBuffer | None:
        return next((buffer for buffer in self._editor.buffers() if buffer.uri == document["uri"]), None)


def _moved(buffer: MemoryBuffer, document: wire.WireDocument, text_hash: str) -> str:
    if document.get("version") != buffer.version:
        return f"the document is at version {buffer.version} by now"
    return "" if wire.text_hash(buffer.text) == text_hash else "the document holds another text"


def _state(buffer: MemoryBuffer) -> DocumentState:
    return {"version": buffer.version, "textHash": wire.text_hash(buffer.text), "dirty": buffer.is_dirty}


def _not_open() -> DocumentActionResult:
    return {"done": False, "reason": "the document is not open", "document": None}
