"""The in-memory editor in the same process: as the tools' editor itself, and behind the LSP adapter."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient

from .attached import Attached, Nature

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from openbuffer.editor_access import EditorFileAccess
    from openbuffer.editor_access.client_requests import RichCapabilities
    from openbuffer.editor_access.memory_temperament import RichTemperament, Temperament
    from openbuffer.editor_access.text import PositionEncoding

EVENTUALLY_S = 600.0
"""For what an event brings about; a test that runs into it has failed long before."""

IN_VAIN_S = 0.1
"""For what ends because nothing happens any more."""

_MISCOUNTED = {"utf-8": 0x7F, "utf-16": 0xFFFF, "utf-32": None}
"""Beyond which character columns in code points differ from the negotiated ones."""


class AttachedMemory(Attached):
    """The user of an in-memory editor, whatever it is connected to."""

    def __init__(self, editor: MemoryEditor, access: EditorFileAccess, nature: Nature) -> None:
        self.editor = editor
        self.access = access
        self.nature = nature

    async def open(self, path: str) -> None:
        self.editor.open(path)

    async def open_unnamed(self, text: str) -> None:
        self.editor.open_unnamed("untitled:1")
        self.editor.type("untitled:1", 0, text)

    async def type(self, path: str, offset: int, text: str) -> None:
        self.editor.type(path, offset, text)

    async def undo(self, path: str) -> None:
        self.editor.undo(path)

    async def save(self, path: str) -> None:
        self.editor.save(path)

    async def reload(self, path: str) -> None:
        self.editor.reload(path)

    async def close(self, path: str) -> None:
        self.editor.close(path)

    async def type_when_asked(self, path: str, offset: int, text: str) -> None:
        # Nothing is ever on its way in the same process: the nearest thing is the turn in which it is asked.
        asyncio.get_running_loop().call_soon(self.editor.type, path, offset, text)

    async def shown(self, path: str) -> str:
        return self.editor.buffer(path).text

    async def is_dirty(self, path: str) -> bool:
        return self.editor.buffer(path).is_dirty

    async def settle(self) -> None:
        """There is nothing between."""

    async def lose(self) -> None:
        self.editor.quit()


class AttachedClient(AttachedMemory):
    """The same behind a language client, which tells late what it does not tell at once."""

    def __init__(self, client: MemoryLanguageClient, editor: MemoryEditor, access: LspEditor, nature: Nature) -> None:
        super().__init__(editor, access, nature)
        self.client = client
        # As a debounce does it, but in turns of the loop: an edit is told soon after it was made.
        loop = asyncio.get_running_loop()
        client.on_handled = lambda: loop.call_soon(loop.call_soon, client.flush)

    async def type_when_asked(self, path: str, offset: int, text: str) -> None:
        def type_once() -> None:
            self.client.on_request = None
            self.editor.type(path, offset, text)

        self.client.on_request = type_once

    async def settle(self) -> None:
        self.client.flush()

    async def lose(self) -> None:
        assert isinstance(self.access, LspEditor)
        self.client.disconnect()
        self.access.connection_lost()


@asynccontextmanager
async def in_memory(_root: Path) -> AsyncGenerator[Attached, None]:
    """The in-memory editor and its port."""
    editor = MemoryEditor()
    nature = Nature(flushes=True, saves=True, reloads=True)
    yield AttachedMemory(editor, MemoryEditorAccess(editor), nature)


@asynccontextmanager
async def behind_lsp(
    _root: Path,
    encoding: PositionEncoding,
    temperament: Temperament,
    rich: RichCapabilities,
    rich_temperament: RichTemperament | None = None,
    timeouts: EditTimeouts | None = None,
    user_says: bool | None = True,
) -> AsyncGenerator[Attached, None]:
    """The LSP adapter and the in-memory language client, function to function; None: the user does not answer."""
    nature = nature_of(temperament, rich, encoding)
    editor = MemoryEditor(temperament.habits)
    client = MemoryLanguageClient(
        editor, encoding=encoding, temperament=temperament, rich=rich, rich_temperament=rich_temperament
    )
    access = LspEditor(client, encoding=encoding, timeouts=timeouts or timeouts_for(nature), rich=rich)
    client.connect(access)
    attached = AttachedClient(client, editor, access, nature)
    user = asyncio.get_running_loop().create_task(answer_all(client, user_says))
    try:
        yield attached
    finally:
        user.cancel()
        access.connection_lost()
        client.disconnect()


async def answer_all(client: MemoryLanguageClient, user_says: bool | None) -> None:
    """The user says the same to whatever is asked, or nothing."""
    while user_says is not None:
        (await client.next_prompt()).answer(yes=user_says)


def nature_of(temperament: Temperament, rich: RichCapabilities, encoding: PositionEncoding) -> Nature:
    """What follows from a temperament."""
    applies = temperament.applies
    is_told_late = temperament.tells_typing == "when_flushed"
    checks_nothing = temperament.stale == "applied" or (temperament.checks == "last_sent" and is_told_late)
    version = temperament.habits.first_version
    passes_unchecked = version in temperament.unchecked_versions
    makes_stale = applies and (checks_nothing or passes_unchecked)
    if rich.apply_edit:
        applies, makes_stale = True, False
    speaks = temperament.answer != "never" or rich.apply_edit
    return Nature(
        edit="done" if applies else "unknown" if temperament.answer in {"true", "nonsense", "never"} else "not_done",
        makes_edits=applies,
        stale_edit="done" if makes_stale else "not_done" if speaks else "unknown",
        makes_stale_edits=makes_stale,
        tells_typing=temperament.tells_typing,
        miscounts_beyond=_MISCOUNTED[encoding] if temperament.counts == "code_points" else None,
        line_ends=temperament.line_ends,
        final_newline="always" if temperament.adds_final_newline else "optional",
        formats=temperament.habits.format_on_save or str,
        flushes=rich.read_document,
        saves=rich.save_document,
        reloads=rich.reload_document,
    )


def timeouts_for(nature: Nature, grace_s: float = IN_VAIN_S) -> EditTimeouts:
    """Patient where an event ends the wait by its nature, brief where nothing does."""
    waits_s = IN_VAIN_S if nature.edit == "unknown" or nature.stale_edit == "unknown" else EVENTUALLY_S
    return EditTimeouts(reply_s=waits_s, text_s=waits_s, grace_s=grace_s, promised_s=grace_s, flush_s=EVENTUALLY_S)
