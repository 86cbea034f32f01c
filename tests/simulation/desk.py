"""A user's editor in a simulated world, and the wire between it and the tools of one process."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from openbuffer.editor_access.errors import EditorAccessError
from openbuffer.editor_access.lsp import LspEditor
from openbuffer.editor_access.memory import MemoryBuffer, MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient
from openbuffer.editor_access.uri import uri_from_path

from .marks import is_formatting, plain
from .wire import Wire

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from openbuffer.editor_access.port import EditorFileAccess, TextEdit

    from .setting import Setting
    from .world import World


class Desk:
    """Implements ``EditorListener`` and ``LanguageServerSink``, to see everything before the tools do."""

    def __init__(self, world: World, number: int, setting: Setting) -> None:
        self.number = number
        self.setting = setting
        self._world = world
        self._oracle = world.oracle
        self._is_acting = False
        self._opened_at: dict[str, int] = {}
        self._lsp: LspEditor | None = None
        self.attach()

    def attach(self) -> None:
        """Start an editor, and connect it."""
        setting = self.setting
        self.is_running = True
        for path in self._world.paths:
            self._oracle.unknown.discard((self.number, path))
        self.editor = MemoryEditor(setting.editor_habits)
        self.editor.listen(self)
        self.client = None
        if setting.in_process:
            self.access: EditorFileAccess | None = MemoryEditorAccess(self.editor, abilities=setting.abilities)
            return
        self.client = MemoryLanguageClient(
            self.editor,
            encoding=setting.encoding,
            temperament=setting.temperament,
            rich=setting.rich,
            rich_temperament=setting.rich_temperament,
        )
        self._wire = Wire(self.client, self._world.wire_latency)
        self.access = self._lsp = LspEditor(
            self._wire,
            encoding=setting.encoding,
            is_neovim=setting.is_neovim,
            disk=self._world.disk_text,
            rich=setting.rich,
        )
        self.client.connect(self)

    def die(self, *, is_noticed: bool) -> None:
        """The editor is gone, with all that was unsaved. ``is_noticed``: the tools have none from now on."""
        self.is_running = False
        if self.client is not None:
            self.client.disconnect()
            self._wire.cut()
        if self._lsp is not None:
            self._lsp.connection_lost()
        self.editor.quit()
        for buffer in self.editor.buffers():
            self._record("shown", buffer, None, "the editor's end")
        for path in self._world.paths:
            self._oracle.record(("told", self.number, path), None, "the editor's end")
            if not is_noticed:
                self._oracle.unknown.add((self.number, path))
            else:
                self._oracle.unknown.discard((self.number, path))
        if is_noticed:
            self.access = None
        self._lsp = None

    def hang_up(self) -> None:
        """End what still waits for the editor; nothing is looked at any more."""
        if self.client is not None:
            self.client.disconnect()

    def garble(self, path: str) -> None:
        """A message about a document makes no sense to the tools, so that its text is not known any more."""
        if self._lsp is not None and self._oracle.text(("told", self.number, path)) is not None:
            self._oracle.unknown.add((self.number, path))
            self._lsp.lose_track(uri_from_path(path), "a message made no sense")

    @contextmanager
    def acting(self) -> Generator[None]:
        """What happens now is the user's doing."""
        self._world.look_at_disk()
        self._is_acting = True
        # An editor may say that there is no such file, or no text in it; then nothing happens.
        try:
            with suppress(OSError, UnicodeDecodeError):
                yield
        finally:
            self._world.look_at_disk(cause=f"the user of editor {self.number}")
            self._is_acting = False

    def settle(self, *, yes: bool) -> None:
        """Answer all dialogs, and tell everything."""
        if self.client is None or not self.is_running:
            return
        self.answer(yes=yes)
        while self.client.release():
            pass
        self.client.flush()

    def answer(self, *, yes: bool) -> None:
        """Click in all dialogs that are open."""
        for prompt in () if self.client is None else self.client.prompts:
            prompt.answer(yes=yes)

    def answer_editor(self, choice: int) -> None:
        """Answer what the editor itself asks, as whether to save over a file that was changed."""
        for question in self.editor.questions()[:1]:  # an answer can settle the others
            choices = sorted(question.answers)
            with self.acting():
                self.editor.answer(question, choices[choice % len(choices)])

    def judge(self) -> None:
        """What the tools hold for the documents' texts is what the editor shows."""
        if self.access is None or not self.is_running:
            return
        for buffer in self.editor.buffers():
            try:
                document = self.access.document(buffer.canonical_path)
            except EditorAccessError:
                continue  # that it is not known is no untruth
            if document is None or document.text != buffer.text:
                self._oracle.fault(f"the tools take {document} for {buffer.text!r}")

    # --- EditorListener ----------------------------------------------------------------------------------------

    def opened(self, buffer: MemoryBuffer) -> None:
        self._record("shown", buffer, buffer.text, "its user" if self._is_acting else "opening")
        self._opened_at[buffer.canonical_path] = self._oracle.now
        if self.client is None:
            self._oracle.opened(self.number, buffer.canonical_path)
            self._tell(buffer)

    def changed(self, buffer: MemoryBuffer, before: str, edits: Sequence[TextEdit]) -> None:  # noqa: ARG002  # of the protocol
        path = buffer.canonical_path
        if self._is_acting:
            self._record("shown", buffer, buffer.text, "its user")
        elif is_formatting(before, buffer.text):
            self._record("shown", buffer, buffer.text, "formatting")
        elif self._reloads(buffer):
            exactly = self.setting.handles_files_exactly
            self._oracle.reloaded_by_tool(self.number, path, buffer.text, exactly=exactly)
        else:
            exactly = self.setting.applies_exactly
            # Where versions start over, an edit of a text before this opening can name a version of this one by chance:
            # no plain client can tell. Ours compare hashes as well.
            since = 0 if self.setting.compares_texts else self._opened_at.get(path, 0)
            self._oracle.changed_by_tool(("shown", self.number, path), buffer.text, exactly=exactly, since=since)
        if self.client is None:
            self._tell(buffer)
        elif self.setting.tells_late:
            asyncio.get_running_loop().call_later(self._world.telling_delay(), self.client.flush)

    def saved(self, buffer: MemoryBuffer) -> None:
        if self._is_acting:
            self._world.look_at_disk(cause=f"the user of editor {self.number}")
        else:
            text = self._world.disk(buffer.canonical_path)
            exactly = self.setting.handles_files_exactly
            self._oracle.saved_by_tool(buffer.canonical_path, text, exactly=exactly)

    def closed(self, buffer: MemoryBuffer) -> None:
        self._record("shown", buffer, None, "its user" if self._is_acting else "closing")
        if self.client is None:
            self._record("told", buffer, None, "closing")

    # --- LanguageServerSink ------------------------------------------------------------------------------------

    def did_open(self, params: Any) -> None:
        path = self._path_of(params)

        def arrive() -> None:
            self._oracle.unknown.discard((self.number, path))
            self._oracle.opened(self.number, path)
            self._oracle.record(("told", self.number, path), params.text_document.text, "telling")
            if self._lsp is not None:
                self._lsp.did_open(params)

        self._wire.send(arrive)

    def did_change(self, params: Any) -> None:
        path = self._path_of(params)
        text = self.editor.buffer(path).text

        def arrive() -> None:
            self._oracle.record(("told", self.number, path), text, "telling")
            if self._lsp is not None:
                self._lsp.did_change(params)

        self._wire.send(arrive)

    def did_save(self, params: Any) -> None:
        self._wire.send(lambda: self._lsp.did_save(params) if self._lsp is not None else None)

    def did_close(self, params: Any) -> None:
        path = self._path_of(params)

        def arrive() -> None:
            self._oracle.unknown.discard((self.number, path))
            self._oracle.record(("told", self.number, path), None, "telling")
            if self._lsp is not None:
                self._lsp.did_close(params)

        self._wire.send(arrive)

    def _path_of(self, params: Any) -> str:
        return next(path for path in self._world.paths if params.text_document.uri == uri_from_path(path))

    def _tell(self, buffer: MemoryBuffer) -> None:
        self._record("told", buffer, buffer.text, "telling")

    def _record(self, what: Any, buffer: MemoryBuffer, text: str | None, cause: str) -> None:
        self._oracle.record((what, self.number, buffer.canonical_path), text, cause)

    def _reloads(self, buffer: MemoryBuffer) -> bool:
        on_disk = self._oracle.text(("disk", 0, buffer.canonical_path))
        return on_disk is not None and plain(on_disk) == plain(buffer.text)
