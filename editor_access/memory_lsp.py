"""The in-memory editor as a language client, with the habits of real ones.

It sends didOpen, didChange, didSave and didClose to a sink, and answers ``workspace/applyEdit``. How it does that is
its ``Temperament``: editors differ in what they check, what they answer, and when they tell. Time is driven by the
caller (``flush``, ``Prompt.answer``), never by a clock.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import anyio
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter

from .client_requests import RichCapabilities
from .document_store import TextBuffer
from .errors import EditorLostError
from .memory_rich import RichAnswers
from .port import TextEdit
from .text import Position, PositionEncoding, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .memory import MemoryBuffer, MemoryEditor

_PLAIN = RichCapabilities()


@dataclass(frozen=True, slots=True, kw_only=True)
class Temperament:
    """How a client behaves; the defaults are those of a client that does all things right.

    ``stale``: what becomes of an edit for another version. ``checks``: which version it is compared with.
    ``unchecked_versions``: versions that pass every check. ``asks_user``: each edit waits for ``Prompt.answer``.
    ``applies``: whether an edit that passed is made. ``answer``: the truth, a fixed answer, an error, what cannot be
    read, or none.
    ``tells_typing`` and ``tells_edit``: when didChange goes out; ``sync``: what it holds. ``counts``: the
    columns it means, both ways.
    ``line_ends``: of the text it was sent. ``adds_final_newline``: cannot have a text without one.
    """

    stale: Literal["refused", "skipped", "applied"] = "refused"
    checks: Literal["newest", "last_sent"] = "newest"
    unchecked_versions: frozenset[int | None] = frozenset({None})
    asks_user: bool = False
    applies: bool = True
    answer: Literal["truth", "true", "false", "error", "nonsense", "never"] = "truth"
    tells_typing: Literal["at_once", "when_flushed"] = "at_once"
    tells_edit: Literal["before_reply", "after_reply", "when_flushed"] = "after_reply"
    sync: Literal["incremental", "full"] = "incremental"
    counts: Literal["as_negotiated", "code_points"] = "as_negotiated"
    line_ends: Literal["as_sent", "of_document"] = "as_sent"
    adds_final_newline: bool = False


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


class Prompt:
    """A question to the user of the editor: may this edit be made?"""

    def __init__(self, params: lsp.ApplyWorkspaceEditParams) -> None:
        self.params = params
        self._answered = anyio.Event()
        self._yes = False

    def answer(self, *, yes: bool) -> None:
        """Click."""
        self._yes = yes
        self._answered.set()

    async def wait(self) -> bool:
        """Until the user has answered."""
        await self._answered.wait()
        return self._yes


@dataclass(slots=True)
class _Pending:
    """Changes of one document that the server does not know yet."""

    buffer: MemoryBuffer
    version: int
    changes: list[lsp.TextDocumentContentChangePartial] = field(
        default_factory=list[lsp.TextDocumentContentChangePartial]
    )


class MemoryLanguageClient:
    """Implements ``LspClient`` and ``EditorListener``. ``requests`` keeps every edit that it was asked to make.

    ``on_request`` and ``on_handled`` are called when a request has come, and when it was made or not, before anything
    is told: there a user can get in between.
    """

    def __init__(
        self,
        editor: MemoryEditor,
        *,
        encoding: PositionEncoding,
        temperament: Temperament | None = None,
        rich: RichCapabilities = _PLAIN,
    ) -> None:
        """``encoding`` is the negotiated one; a client that counts otherwise says so in its temperament.

        ``rich`` is what the client announced beyond LSP: nothing, as a plain one.
        """
        self.temperament = temperament or Temperament()
        self.requests: list[lsp.ApplyWorkspaceEditParams] = []
        self.on_request: Callable[[], object] | None = None
        self.on_handled: Callable[[], object] | None = None
        self._editor = editor
        self._encoding: PositionEncoding = "utf-32" if self.temperament.counts == "code_points" else encoding
        self._sink: LanguageServerSink | None = None
        self._pending: dict[str, _Pending] = {}
        self._sent_versions: dict[str, int] = {}
        self._prompts: list[Prompt] = []
        self._asked = anyio.Event()
        self._gone = anyio.Event()
        self._is_applying = False
        self._converter = get_converter()
        self._rich = RichAnswers(editor, self, rich)
        editor.listen(self)

    def connect(self, sink: LanguageServerSink) -> None:
        """Tell this server about all documents, and about what happens from now on."""
        self._sink = sink
        for buffer in self._editor.buffers():
            self.opened(buffer)

    def disconnect(self) -> None:
        """Lose the connection: nothing is told any more, and requests on their way fail."""
        self._sink = None
        self._gone.set()

    def flush(self) -> None:
        """Tell the server every change that it does not know yet."""
        pending, self._pending = self._pending, {}
        for change in pending.values():
            self._send(change)

    async def next_prompt(self) -> Prompt:
        """Wait until the user is asked, and take that question."""
        while not self._prompts:
            await self._asked.wait()
        if len(self._prompts) == 1:
            self._asked = anyio.Event()
        return self._prompts.pop(0)

    async def apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult | None:
        """Answer ``workspace/applyEdit`` as the temperament has it.

        Raises:
            EditorLostError: the connection is gone.
            RuntimeError: the temperament answers with errors.
        """
        self.requests.append(params)
        self._require_connection()
        if self.on_request is not None:
            self.on_request()
        if self.temperament.asks_user and not await self._user_agrees(params):
            return lsp.ApplyWorkspaceEditResult(applied=False, failure_reason="the user declined")
        applied, reason = self._apply(params)
        if self.on_handled is not None:
            self.on_handled()
        if self.temperament.tells_edit == "before_reply":
            self.flush()
        elif self.temperament.tells_edit == "after_reply":
            asyncio.get_running_loop().call_soon(self.flush)
        return await self._answer(applied=applied, reason=reason)

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answer a request of ``client_requests``, of those that were announced.

        Raises:
            EditorLostError: the connection is gone.
            RuntimeError: the client answers with an error.
        """
        self._require_connection()
        return await self._rich.answer(method, params)

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Take in a notification of ``client_requests``; one that means nothing to it is ignored."""

    def make(self, buffer: MemoryBuffer, edits: Sequence[Any]) -> None:
        """Make edits of the wire, as JSON, in a document: one undo step."""
        self._make(buffer, [self._converter.structure(edit, lsp.TextEdit) for edit in edits])

    def opened(self, buffer: MemoryBuffer) -> None:
        """A document is shown."""
        if self._sink is None:
            return
        self._sent_versions[buffer.uri] = buffer.version
        item = lsp.TextDocumentItem(uri=buffer.uri, language_id="plaintext", version=buffer.version, text=buffer.text)
        self._sink.did_open(lsp.DidOpenTextDocumentParams(text_document=item))

    def changed(self, buffer: MemoryBuffer, before: str, edits: Sequence[TextEdit]) -> None:
        """Its text changed; the server hears of it now or later."""
        if self._sink is None:
            return
        pending = self._pending.setdefault(buffer.uri, _Pending(buffer, buffer.version))
        pending.version = buffer.version
        positions = TextBuffer(before, self._encoding)
        # From the last to the first, so that each range is right in the text that the ones before it leave behind.
        for edit in reversed(edits):
            wire = lsp.Range(start=_wire(positions, edit.start), end=_wire(positions, edit.end))
            pending.changes.append(lsp.TextDocumentContentChangePartial(range=wire, text=edit.new_text))
        if self.temperament.tells_typing == "at_once" and not self._is_applying:
            self.flush()

    def saved(self, buffer: MemoryBuffer) -> None:
        """It is on disk; what the server does not know yet goes out first."""
        self.flush()
        if self._sink is not None:
            identifier = lsp.TextDocumentIdentifier(uri=buffer.uri)
            self._sink.did_save(lsp.DidSaveTextDocumentParams(text_document=identifier))

    def closed(self, buffer: MemoryBuffer) -> None:
        """It is not shown any more."""
        self._pending.pop(buffer.uri, None)
        if self._sink is not None:
            identifier = lsp.TextDocumentIdentifier(uri=buffer.uri)
            self._sink.did_close(lsp.DidCloseTextDocumentParams(text_document=identifier))

    def _send(self, pending: _Pending) -> None:
        self._sent_versions[pending.buffer.uri] = pending.version
        if self._sink is not None:
            identifier = lsp.VersionedTextDocumentIdentifier(uri=pending.buffer.uri, version=pending.version)
            whole = lsp.TextDocumentContentChangeWholeDocument(text=pending.buffer.text)
            changes = [whole] if self.temperament.sync == "full" else pending.changes
            self._sink.did_change(lsp.DidChangeTextDocumentParams(text_document=identifier, content_changes=changes))

    async def _user_agrees(self, params: lsp.ApplyWorkspaceEditParams) -> bool:
        prompt = Prompt(params)
        self._prompts.append(prompt)
        self._asked.set()
        agreed = False
        async with anyio.create_task_group() as group:
            group.start_soon(self._close_when_gone, prompt)
            agreed = await prompt.wait()
            group.cancel_scope.cancel()
        self._require_connection()
        return agreed

    async def _close_when_gone(self, prompt: Prompt) -> None:
        await self._gone.wait()
        prompt.answer(yes=False)

    def _apply(self, params: lsp.ApplyWorkspaceEditParams) -> tuple[bool, str]:
        """Make the edit if it passes the checks; whether that is said to have been done, and why not."""
        change = next(iter(params.edit.document_changes or ()), None)
        if not isinstance(change, lsp.TextDocumentEdit):
            return False, "only edits of one document are made"
        buffer = next((b for b in self._editor.buffers() if b.uri == change.text_document.uri), None)
        if buffer is None:
            return False, "the document is not open"
        if self._is_stale(buffer, change.text_document.version) and self.temperament.stale != "applied":
            return self.temperament.stale == "skipped", ""
        if not self.temperament.applies:
            return False, "the document cannot be changed"
        self._make(buffer, change.edits)
        return True, ""

    def _is_stale(self, buffer: MemoryBuffer, version: int | None) -> bool:
        if version in self.temperament.unchecked_versions:
            return False
        newest = self.temperament.checks == "newest"
        return version != (buffer.version if newest else self._sent_versions.get(buffer.uri))

    def _make(self, buffer: MemoryBuffer, wanted: Sequence[object]) -> None:
        positions = TextBuffer(buffer.text, self._encoding)
        edits = sorted((_from_wire(positions, edit) for edit in wanted), key=lambda edit: (edit.start, edit.end))
        if self.temperament.line_ends == "of_document":
            line_end = "\r\n" if "\r\n" in buffer.text else "\n"
            edits = [TextEdit(e.start, e.end, _with_line_ends(e.new_text, line_end)) for e in edits]
        if self.temperament.adds_final_newline and not apply_edits(buffer.text, edits).endswith("\n"):
            edits = _and_final_newline(buffer.text, edits)
        self._is_applying = True
        try:
            self._editor.change(buffer.name, edits)
        finally:
            self._is_applying = False

    async def _answer(self, *, applied: bool, reason: str) -> lsp.ApplyWorkspaceEditResult | None:
        how = self.temperament.answer
        if how == "never":
            await self._gone.wait()
            self._require_connection()
        if how == "error":
            raise RuntimeError("applying the edit failed")
        if how == "nonsense":
            return None
        said = applied if how == "truth" else how == "true"
        return lsp.ApplyWorkspaceEditResult(applied=said, failure_reason=None if said else reason or None)

    def _require_connection(self) -> None:
        if self._gone.is_set():
            raise EditorLostError("the connection to the editor ended")


def _wire(positions: TextBuffer, offset: int) -> lsp.Position:
    found = positions.position_at(offset)
    return lsp.Position(line=found.line, character=found.character)


def _from_wire(positions: TextBuffer, edit: object) -> TextEdit:
    assert isinstance(edit, lsp.TextEdit), "annotated and snippet edits are not announced"
    start = positions.offset_at(Position(edit.range.start.line, edit.range.start.character))
    end = positions.offset_at(Position(edit.range.end.line, edit.range.end.character))
    return TextEdit(start, end, edit.new_text)


def _with_line_ends(text: str, line_end: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", line_end)


def _and_final_newline(text: str, edits: list[TextEdit]) -> list[TextEdit]:
    if edits and edits[-1].end == len(text):
        last = edits.pop()
        return [*edits, TextEdit(last.start, last.end, last.new_text + "\n")]
    return [*edits, TextEdit(len(text), len(text), "\n")]
