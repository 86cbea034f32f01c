"""The in-memory editor as a language client, with the habits of real ones.

It sends didOpen, didChange, didSave and didClose to a sink, and answers ``workspace/applyEdit`` and, where it announced
them, the requests of ``client_requests``. How it does that is its ``Temperament`` and its ``RichTemperament``: editors
differ in what they check, what they answer, and when they tell. Time is driven by the caller (``flush``, ``release``,
``Prompt.answer``), never by a clock.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

from .client_requests import WITHDRAW_DIALOG, RichCapabilities
from .memory_dialogs import Dialogs
from .memory_making import edits_to_make
from .memory_requests import OpenRequests, Prompt
from .memory_rich import RichAnswers
from .memory_telling import LanguageServerSink, Telling
from .memory_temperament import RICH_TEMPERAMENTS, TEMPERAMENTS, RichTemperament, Temperament

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .memory import MemoryBuffer, MemoryEditor
    from .text import PositionEncoding

__all__ = [
    "PLAIN",
    "RICH",
    "RICH_TEMPERAMENTS",
    "TEMPERAMENTS",
    "LanguageServerSink",
    "MemoryLanguageClient",
    "Prompt",
    "RichTemperament",
    "Temperament",
]

PLAIN = RichCapabilities()
"""What a plain language client announces beyond LSP: nothing."""

RICH = RichCapabilities(
    read_document=True,
    apply_edit=True,
    save_document=True,
    reload_document=True,
    withdraw_dialog=True,
    request_permission=True,
    ask_user=True,
)
"""Everything that a client can announce beyond LSP."""


class MemoryLanguageClient:
    """Implements ``LspClient``. ``requests`` keeps every edit that it was asked to make, ``asked`` whatever else.

    ``on_request`` and ``on_handled`` are called when a request has come, and when it was carried out or not, before
    anything is told: there a user can get in between.
    """

    def __init__(
        self,
        editor: MemoryEditor,
        *,
        encoding: PositionEncoding,
        temperament: Temperament | None = None,
        rich: RichCapabilities = PLAIN,
        rich_temperament: RichTemperament | None = None,
    ) -> None:
        """``encoding`` is the negotiated one; a client that counts otherwise says so in its temperament.

        ``rich`` is what the client announced beyond LSP. The habits of a temperament are the editor's, which is made
        with them: ``MemoryEditor(temperament.habits)``.
        """
        self.temperament = temperament or Temperament()
        self.requests: list[lsp.ApplyWorkspaceEditParams] = []
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.on_request: Callable[[], object] | None = None
        self.on_handled: Callable[[], object] | None = None
        self._editor = editor
        self._encoding: PositionEncoding = "utf-32" if self.temperament.counts == "code_points" else encoding
        self._telling = Telling(self.temperament, self._encoding)
        self._open_requests = OpenRequests()
        self._rich = RichAnswers(
            editor,
            self._telling,
            self._open_requests,
            capabilities=rich,
            temperament=rich_temperament or RichTemperament(),
            make=self._make_json,
            on_handled=self._handled,
        )
        self._dialogs = Dialogs(self._open_requests, capabilities=rich)
        editor.listen(self._telling)

    def connect(self, sink: LanguageServerSink) -> None:
        """Tell this server about all documents, and about what happens from now on."""
        self._telling.start(sink, self._editor.buffers())

    def disconnect(self) -> None:
        """Lose the connection: nothing is told any more, and requests on their way fail."""
        self._telling.stop()
        self._open_requests.lose()

    def flush(self, uri: str | None = None) -> None:
        """Tell the server every change that it does not know yet; ``uri``: only those of this document."""
        self._telling.flush(uri)

    @property
    def has_untold(self) -> bool:
        """Whether there is a change that the server was not told of."""
        return self._telling.has_untold

    @property
    def held(self) -> int:
        """How many requests or answers wait for ``release``."""
        return self._open_requests.held

    def release(self) -> bool:
        """Let the request, or the answer, go on that has waited longest; False where none waits."""
        return self._open_requests.release()

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """What the user was asked and has not answered yet, in the order of asking."""
        return self._open_requests.prompts

    async def next_prompt(self) -> Prompt:
        """Wait until the user is asked, and take that question."""
        return await self._open_requests.next_prompt()

    async def apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult | None:
        """Answer ``workspace/applyEdit`` as the temperament has it.

        Raises:
            EditorLostError: the connection is gone.
            RuntimeError: the temperament answers with errors.
        """
        self.requests.append(params)
        await self._arrived(holds=self.temperament.holds == "requests")
        if self.temperament.asks_user and await self._open_requests.asked(Prompt(params)) != "yes":
            return self._declined()
        applied, reason = self._apply(params)
        self._handled()
        if self.temperament.tells_edit == "before_reply":
            self.flush()
        if self.temperament.holds == "answers":
            await self._open_requests.hold()
        if self.temperament.tells_edit == "after_reply":
            asyncio.get_running_loop().call_soon(self.flush)
        return await self._answer(applied=applied, reason=reason)

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer a request of ``client_requests``, of those that were announced, or ``window/showMessageRequest``.

        Raises:
            EditorLostError: the connection is gone.
            RuntimeError: the client answers with an error.
        """
        self.asked.append((method, params))
        await self._arrived(holds=False)  # its own temperament says whether it does
        if self._dialogs.takes(method):
            return await self._dialogs.answer(method, params)
        return await self._rich.answer(method, params)

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Take in a notification of ``client_requests``; one that means nothing to it is ignored."""
        self.asked.append((method, params))
        if method == WITHDRAW_DIALOG:
            self._rich.withdraw(params["dialogId"])
            self._dialogs.withdraw(params["dialogId"])

    async def _arrived(self, *, holds: bool) -> None:
        self._open_requests.require_connection()
        if holds:
            await self._open_requests.hold()
        if self.on_request is not None:
            self.on_request()

    def _handled(self) -> None:
        if self.on_handled is not None:
            self.on_handled()

    def _apply(self, params: lsp.ApplyWorkspaceEditParams) -> tuple[bool, str]:
        """Make the edit if it passes the checks; whether that is said to have been done, and why not."""
        change = next(iter(params.edit.document_changes or ()), None)
        if not isinstance(change, lsp.TextDocumentEdit):
            return False, "only edits of one document are made"
        buffer = next((b for b in self._editor.buffers() if b.uri == change.text_document.uri), None)
        if buffer is None:
            return False, "the document is not open"
        if self._is_stale(buffer, change.text_document.version) and self.temperament.stale != "applied":
            return self.temperament.stale == "skipped", "the document is at another version"
        if not self.temperament.applies:
            return False, "the document cannot be changed"
        self._make(buffer, change.edits)
        return True, ""

    def _is_stale(self, buffer: MemoryBuffer, version: int | None) -> bool:
        if version in self.temperament.unchecked_versions:
            return False
        if version is None:
            return True
        if self.temperament.checks == "not_older":
            return version < buffer.version
        newest = self.temperament.checks == "newest"
        return version != (buffer.version if newest else self._telling.told_version(buffer.uri))

    def _make_json(self, buffer: MemoryBuffer, edits: Sequence[Any]) -> None:
        self._make(buffer, [_converter().structure(edit, lsp.TextEdit) for edit in edits])

    def _make(self, buffer: MemoryBuffer, wanted: Sequence[object]) -> None:
        with self._telling.kept_back():
            self._editor.change(buffer.name, edits_to_make(buffer.text, wanted, self.temperament, self._encoding))

    def _declined(self) -> lsp.ApplyWorkspaceEditResult:
        if self.temperament.declines == "error":
            raise RuntimeError("the user declined")
        reason = "the user declined" if self.temperament.gives_reasons else None
        return lsp.ApplyWorkspaceEditResult(applied=False, failure_reason=reason)

    async def _answer(self, *, applied: bool, reason: str) -> lsp.ApplyWorkspaceEditResult | None:
        how = self.temperament.answer
        if how == "never":
            await self._open_requests.lost()
        if how == "error":
            raise RuntimeError("applying the edit failed")
        if how == "nonsense":
            return None
        said = applied if how == "truth" else how == "true"
        tells_why = reason and not said and self.temperament.gives_reasons
        return lsp.ApplyWorkspaceEditResult(applied=said, failure_reason=reason if tells_why else None)


_converter = cache(get_converter)  # making one takes longer than making all the rest of a client
