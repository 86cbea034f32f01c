"""A file, an editor of some kind, an agent's tools; and what leads to each row of the table of truth (E11)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openbuffer.editor_access import EditorAbilities
from openbuffer.editor_access.client_requests import RichCapabilities
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import ALL_ABILITIES, MemoryEditorAccess
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient, Temperament
from openbuffer.tools.host import create_delete_tool, create_edit_tool, create_read_tool, create_write_tool
from openbuffer.tools.support.disk_text import RootedDiskText

if TYPE_CHECKING:
    from openbuffer.editor_access.port import EditorFileAccess
    from openbuffer.tools import FunctionTool, InvocationResult

PATIENT = EditTimeouts(reply_s=600, text_s=600, grace_s=600, promised_s=600)
BASE = "base\nsame\n"
USER = "user\nsame\n"
COMMAND = "command\nsame\n"
NEW = "new\n"
LATIN = "naïve\nsame\n"


@dataclass
class Desk:
    """A file, a user with an editor, and an agent with tools."""

    root: Path
    editor: MemoryEditor
    access: EditorFileAccess

    @property
    def file(self) -> Path:
        return self.root / "f.txt"

    @property
    def path(self) -> str:
        return str(self.file)

    @property
    def is_rich(self) -> bool:
        """Whether the editor can be asked to tell, to save and to reload."""
        return self.access.abilities == ALL_ABILITIES

    @property
    def shown(self) -> str:
        return self.editor.buffer(self.path).text

    @property
    def disk(self) -> str | None:
        """What the file holds; None where there is none."""
        if self.file.is_dir():
            return "a directory"
        return self.file.read_bytes().decode("latin-1") if self.file.exists() else None

    async def open(self) -> None:
        self.editor.open(self.path)
        await self.settle()

    async def settle(self) -> None:
        """Until the adapter knows what was on disk at the last thing that the user did."""
        document = self.access.document(self.path)
        assert document is not None
        await self.access.flush(document)
        document = self.access.document(self.path)
        assert document is not None
        await self.access.baseline(document)

    def type_over(self, text: str) -> None:
        self.editor.replace(self.path, 0, len(self.shown), text)

    def tool(self, factory: Callable[..., FunctionTool]) -> FunctionTool:
        return factory(cwd=self.root, editor=lambda: self.access)

    async def call(self, factory: Callable[..., FunctionTool], **arguments: Any) -> InvocationResult:
        result = await self.tool(factory).execute({"filePath": self.path, **arguments})
        assert result.invocation is not None
        return result.invocation

    async def call_read(self) -> InvocationResult:
        return await self.call(create_read_tool)

    async def read(self) -> str:
        result = await self.call_read()
        assert result.success, result.error
        return result.output

    async def edit(self, old: str = "same", new: str = "edited") -> InvocationResult:
        return await self.call(create_edit_tool, oldString=old, newString=new)

    async def write(self, content: str = NEW) -> InvocationResult:
        return await self.call(create_write_tool, content=content)

    async def delete(self) -> InvocationResult:
        result = await self.tool(create_delete_tool).execute({"path": self.path})
        assert result.invocation is not None
        return result.invocation


def in_process(abilities: EditorAbilities) -> Callable[[Path], Desk]:
    def attach(root: Path) -> Desk:
        editor = MemoryEditor()
        return Desk(root, editor, MemoryEditorAccess(editor, abilities=abilities))

    return attach


def over_lsp(temperament: Temperament, rich: RichCapabilities) -> Callable[[Path], Desk]:
    def attach(root: Path) -> Desk:
        editor = MemoryEditor()
        client = MemoryLanguageClient(editor, encoding="utf-16", temperament=temperament, rich=rich)
        access = LspEditor(client, encoding="utf-16", timeouts=PATIENT, disk=RootedDiskText(root), rich=rich)
        client.connect(access)
        return Desk(root, editor, access)

    return attach


NOTHING = RichCapabilities()
ALL = RichCapabilities(
    read_document=True, apply_edit=True, save_document=True, reload_document=True, withdraw_dialog=True
)
ADAPTERS = {
    "plain, memory": in_process(EditorAbilities()),
    "plain, lsp": over_lsp(Temperament(), NOTHING),
    "plain, lsp with whole documents": over_lsp(Temperament(sync="full", tells_edit="before_reply"), NOTHING),
    "rich, memory": in_process(ALL_ABILITIES),
    "rich, lsp": over_lsp(Temperament(), ALL),
    "rich, lsp that tells when asked": over_lsp(Temperament(tells_typing="when_flushed"), ALL),
    "rich, lsp that applies plainly": over_lsp(Temperament(), replace(ALL, apply_edit=False)),
}


def desk_with(attach: Callable[[Path], Desk], directory: Path) -> Iterator[Desk]:
    """The body of a fixture: a desk with one file, until the test is over."""
    root = Path(os.path.realpath(directory))
    (root / "f.txt").write_text(BASE)
    desk = attach(root)
    yield desk
    if isinstance(desk.access, LspEditor):
        desk.access.connection_lost()


def edited(text: str) -> str:
    return text.replace("same", "edited")


# --- the rows ----------------------------------------------------------------------------------


async def same_and_same(desk: Desk) -> None:
    await desk.open()


async def same_and_changed(desk: Desk) -> None:
    await desk.open()
    desk.file.write_text(COMMAND)


async def same_and_deleted(desk: Desk) -> None:
    await desk.open()
    desk.file.unlink()


async def changed_and_same(desk: Desk) -> None:
    await desk.open()
    desk.type_over(USER)


async def changed_and_changed(desk: Desk) -> None:
    await desk.open()
    desk.type_over(USER)
    await desk.settle()
    desk.file.write_text(COMMAND)


async def changed_and_changed_the_other_way_round(desk: Desk) -> None:
    await desk.open()
    desk.file.write_text(COMMAND)
    desk.type_over(USER)


async def changed_and_deleted(desk: Desk) -> None:
    await desk.open()
    desk.type_over(USER)
    await desk.settle()
    desk.file.unlink()


async def opened_already_different(desk: Desk) -> None:
    desk.editor.open(desk.path, USER)


async def opened_without_a_file(desk: Desk) -> None:
    desk.file.unlink()
    desk.editor.open(desk.path, USER)
    await desk.settle()


async def opened_in_a_wrong_encoding(desk: Desk) -> None:
    desk.file.write_bytes(LATIN.encode("latin-1"))
    desk.editor.open(desk.path, LATIN.replace("ï", "\ufffd"))


async def replaced_by_a_directory(desk: Desk) -> None:
    await desk.open()
    desk.file.unlink()
    desk.file.mkdir()


CONFLICTS = [changed_and_changed, changed_and_changed_the_other_way_round]
REFUSING = [*CONFLICTS, opened_already_different]
Row = Callable[[Desk], Any]
