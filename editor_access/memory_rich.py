"""The in-memory client's answers to the requests beyond LSP (``client_requests``), right or ill by temperament."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from . import client_requests as wire
from .memory_disk import hash_on_disk
from .memory_requests import OpenRequests, Prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .client_requests import DocumentActionResult, DocumentState, RichCapabilities
    from .memory import MemoryEditor
    from .memory_buffer import MemoryBuffer
    from .memory_telling import Telling
    from .memory_temperament import RichTemperament


class RichAnswers:
    """Answers what was announced; anything else is an error, as of a client that does not know the method."""

    def __init__(
        self,
        editor: MemoryEditor,
        telling: Telling,
        requests: OpenRequests,
        *,
        capabilities: RichCapabilities,
        temperament: RichTemperament,
        make: Callable[[MemoryBuffer, list[Any]], None],
        on_handled: Callable[[], None],
    ) -> None:
        """``make`` makes edits of the wire, as JSON; ``on_handled`` is called when that, or whatever else, is done."""
        self._editor = editor
        self._telling = telling
        self._requests = requests
        self._capabilities = capabilities
        self._temperament = temperament
        self._make = make
        self._on_handled = on_handled
        self._dialogs: dict[str, Prompt] = {}

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of a request, as plain JSON.

        Raises:
            RuntimeError: the client did not announce that, or answers with an error.
            EditorLostError: the connection is gone.
        """
        self._require_announced(method)
        dialog_id = params.get("dialogId")
        prompt = Prompt(params)
        if dialog_id is not None:
            self._dialogs[dialog_id] = prompt
        try:
            if self._temperament.holds == "requests":
                await self._requests.hold()
            declined = "" if method == wire.READ_DOCUMENT else await self._declined(prompt)
        finally:
            self._dialogs.pop(dialog_id or "", None)
        result = self._handled(method, params, declined)
        if self._temperament.holds == "answers":
            await self._requests.hold()
        if self._temperament.tells == "after_answer":
            asyncio.get_running_loop().call_soon(self._telling.flush)
        return await self._said(method, result)

    def withdraw(self, dialog_id: str) -> None:
        """Close the dialog of the request that came with this; unknown ones are ignored."""
        if self._capabilities.withdraw_dialog and (prompt := self._dialogs.get(dialog_id)):
            prompt.withdraw()

    def _require_announced(self, method: str) -> None:
        announced = {
            wire.READ_DOCUMENT: self._capabilities.read_document,
            wire.APPLY_EDIT: self._capabilities.apply_edit,
            wire.SAVE_DOCUMENT: self._capabilities.save_document,
            wire.RELOAD_DOCUMENT: self._capabilities.reload_document,
        }
        if not announced.get(method, False):
            raise RuntimeError(f"Unhandled method {method}")

    async def _declined(self, prompt: Prompt) -> str:
        """Why the user, or whoever asked, does not want it; "" where nothing speaks against it."""
        if self._temperament.asks_user and prompt.reply is None:
            await self._requests.asked(prompt)
        return {"no": "the user declined", "withdrawn": "the dialog was withdrawn"}.get(prompt.reply or "", "")

    def _handled(self, method: str, params: Mapping[str, Any], declined: str) -> Any:
        """Do it, in one go, and tell the state afterwards."""
        uri = params["textDocument"]["uri"]
        self._flush(uri)
        buffer = self._buffer(uri)
        if method == wire.READ_DOCUMENT:
            return None if buffer is None else _state(buffer, with_text=params.get("includeText") is True)
        if buffer is None:
            reason = "the document is not open"
        else:
            reason = declined or self._objection(buffer, method, params) or self._act(buffer, method, params)
        self._on_handled()
        self._flush(uri)
        return self._result(uri, reason)

    def _objection(self, buffer: MemoryBuffer, method: str, params: Mapping[str, Any]) -> str:
        if self._temperament.checks_document:
            if params["textDocument"].get("version") != buffer.version:
                return f"the document is at version {buffer.version} by now"
            if wire.text_hash(buffer.text) != params["textHash"]:
                return "the document holds another text"
        if method != wire.APPLY_EDIT and buffer.path is None:
            return "the document has no file"
        if method != wire.APPLY_EDIT and self._temperament.checks_disk:
            try:
                found = hash_on_disk(buffer.path)
            except OSError as error:
                return str(error)
            if found != params["diskHash"]:
                return "the file on disk holds something else by now"
        return ""

    def _act(self, buffer: MemoryBuffer, method: str, params: Mapping[str, Any]) -> str:
        """Do it; why that failed, or ""."""
        if not self._temperament.acts:
            return "the editor cannot do that now"
        try:
            if method == wire.APPLY_EDIT:
                self._make(buffer, list(params["edits"]))
            elif method == wire.SAVE_DOCUMENT:
                with self._telling.kept_back():
                    self._editor.write(buffer.name)
            else:
                with self._telling.kept_back():
                    self._editor.refresh(buffer.name)
        except (OSError, UnicodeError) as error:
            return str(error)
        return ""

    def _result(self, uri: str, reason: str) -> DocumentActionResult:
        buffer = self._buffer(uri)
        state = None if buffer is None else _state(buffer)
        says = self._temperament.says
        if says == "done" or (says == "truth" and not reason):
            return {"done": True, "document": state}
        return {"done": False, "reason": reason or "the editor reported a failure", "document": state}

    async def _said(self, method: str, result: Any) -> Any:
        how = self._temperament.answer
        if how == "never":
            await self._requests.lost()
        if how == "error":
            raise RuntimeError("the request failed")
        if how == "nonsense":
            return ["done"]
        state = cast("DocumentState | None", result if method == wire.READ_DOCUMENT else result["document"])
        if state is not None and how == "wrong_hash":
            state["textHash"] = wire.text_hash(state["textHash"])
        if state is not None and how == "wrong_version":
            state["version"] += 1000
        return result

    def _flush(self, uri: str) -> None:
        if self._temperament.tells == "before_answer":
            self._telling.flush(uri)

    def _buffer(self, uri: str) -> MemoryBuffer | None:
        return next((buffer for buffer in self._editor.buffers() if buffer.uri == uri), None)


def _state(buffer: MemoryBuffer, *, with_text: bool = False) -> DocumentState:
    state: DocumentState = {
        "version": buffer.version,
        "textHash": wire.text_hash(buffer.text),
        "dirty": buffer.is_dirty,
    }
    if with_text:
        state["text"] = buffer.text
    return state
