"""Which text Read, Edit and Write take for the truth, in every row of the table and on the way between rows."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access import Document, EditorAbilities, FileOutcome
from openbuffer.editor_access.client_requests import RichCapabilities
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import ALL_ABILITIES, MemoryEditorAccess
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient, Temperament
from openbuffer.tools import FunctionTool, InvocationResult, PlanOutdatedError, ToolContext
from openbuffer.tools.host import create_edit_tool, create_read_tool, create_write_tool
from openbuffer.tools.support.disk_text import RootedDiskText

if TYPE_CHECKING:
    from openbuffer.editor_access.port import EditorFileAccess
    from openbuffer.editor_access.truth import Baseline

pytestmark = pytest.mark.contract("E11")

PATIENT = EditTimeouts(reply_s=600, text_s=600, grace_s=600, promised_s=600)
BASE = "base\nsame\n"
USER = "user\nsame\n"
COMMAND = "command\nsame\n"
NEW = "new\n"


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

    async def read(self) -> str:
        result = await self.call(create_read_tool)
        assert result.success, result.error
        return result.output

    async def edit(self, old: str = "same", new: str = "edited") -> InvocationResult:
        return await self.call(create_edit_tool, oldString=old, newString=new)

    async def write(self, content: str = NEW) -> InvocationResult:
        return await self.call(create_write_tool, content=content)


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


@pytest.fixture(params=ADAPTERS.values(), ids=list(ADAPTERS))
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    root = Path(os.path.realpath(tmp_path))
    (root / "f.txt").write_text(BASE)
    desk = request.param(root)
    yield desk
    if isinstance(desk.access, LspEditor):
        desk.access.connection_lost()


# --- the table: what leads to a row, and what each tool makes of it -----------------------------------------------


async def same_and_same(desk: Desk) -> None:
    await desk.open()


async def same_and_changed(desk: Desk) -> None:
    await desk.open()
    desk.file.write_text(COMMAND)


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


async def opened_already_different(desk: Desk) -> None:
    desk.editor.open(desk.path, USER)


CONFLICTS = [changed_and_changed, changed_and_changed_the_other_way_round]
REFUSING = [*CONFLICTS, opened_already_different]
Row = Callable[[Desk], Any]


@pytest.mark.parametrize(
    ("row", "text", "says"),
    [
        (same_and_same, BASE, "in the open document, nothing unsaved"),
        (same_and_changed, COMMAND, "on disk, changed there; the open document still shows older text"),
        (changed_and_same, USER, "in the open document, unsaved changes of the user"),
        *((row, USER, "in conflict with the disk: the file was changed as well") for row in CONFLICTS),
        (opened_already_different, USER, "in the open document, which was opened with other text than is on disk"),
    ],
)
async def test_read_gives_the_truth_and_says_where_it_is(desk: Desk, row: Row, text: str, says: str) -> None:
    await row(desk)
    header, first, _ = (await desk.read()).split("\n", 2)
    assert says in header
    assert ("as last sent by the editor" in header) is not desk.is_rich
    assert first == f"     1\t{text.splitlines()[0]}"


@pytest.mark.parametrize("row", [same_and_same, changed_and_same])
async def test_changes_go_to_the_document_where_the_disk_is_as_it_was(desk: Desk, row: Row) -> None:
    await row(desk)
    before = desk.shown
    edited = await desk.edit()
    assert edited.success, edited.error
    is_saved = desk.is_rich and row is same_and_same
    where = ", and saved to disk." if is_saved else "nothing was saved to disk"
    assert f"It is in the open document{where}" in edited.output if is_saved else where in edited.output
    assert ("beside unsaved changes of the user" in edited.output) is (desk.is_rich and row is changed_and_same)
    assert ("cannot be asked" in edited.output) is not desk.is_rich
    assert (desk.shown, desk.file.read_text()) == (before.replace("same", "edited"), desk.shown if is_saved else BASE)
    assert (await desk.write()).success
    assert (desk.shown, desk.file.read_text()) == (NEW, NEW if is_saved else BASE)


async def test_changes_go_to_what_the_disk_holds_where_only_that_changed_and_old_text_is_never_put_back(
    desk: Desk,
) -> None:
    await same_and_changed(desk)
    edited = await desk.edit()
    assert edited.success, edited.error
    assert desk.file.read_text() == "command\nedited\n"
    if desk.is_rich:
        assert "It is in the open document, and saved to disk." in edited.output
        assert desk.shown == "command\nedited\n"
    else:
        assert "Written to disk." in edited.output
        assert "the open document still shows older text until the editor reloads it" in edited.output
        assert "this editor cannot be asked to reload it" in edited.output
        assert desk.shown == BASE
    desk.file.write_text(COMMAND)
    written = await desk.write()
    assert ("still shows older text" in written.output) is not desk.is_rich
    assert (desk.shown, desk.file.read_text()) == (NEW if desk.is_rich else BASE, NEW)
    assert ("nothing unsaved" if desk.is_rich else "on disk, changed there") in await desk.read()


@pytest.mark.parametrize("row", REFUSING)
async def test_changes_are_refused_where_there_are_two_texts_and_both_stay(desk: Desk, row: Row) -> None:
    await row(desk)
    disk = desk.file.read_text()
    for result in (await desk.edit(), await desk.write()):
        assert not result.success
        assert "Nothing was changed" in str(result.error)
        assert "Ask the user to save the document" in str(result.error)
    assert (desk.shown, desk.file.read_text()) == (USER, disk)


@pytest.mark.parametrize("row", REFUSING)
async def test_saving_resolves_it_in_favour_of_the_document(desk: Desk, row: Row) -> None:
    await row(desk)
    desk.editor.save(desk.path)
    assert "nothing unsaved" in await desk.read()
    assert (await desk.edit("user", "agent")).success
    assert (desk.shown, desk.file.read_text()) == ("agent\nsame\n", "agent\nsame\n" if desk.is_rich else USER)


@pytest.mark.parametrize("how", [MemoryEditor.revert, MemoryEditor.reload])
@pytest.mark.parametrize("row", [*REFUSING, same_and_changed])
async def test_reverting_or_reloading_resolves_it_in_favour_of_the_disk(
    desk: Desk, row: Row, how: Callable[[MemoryEditor, str], object]
) -> None:
    await row(desk)
    disk = desk.file.read_text()
    how(desk.editor, desk.path)
    await desk.settle()
    if how is MemoryEditor.revert and row in CONFLICTS:
        # A plain client tells this as one change among others, so that somebody has to look before the next one.
        assert "nothing unsaved" in await desk.read()
    # In all other cases the moment at which both were the same is known without a call.
    desk.editor.type(desk.path, 0, "typed ")
    assert "unsaved changes of the user" in await desk.read()
    assert (await desk.edit()).success
    assert (desk.shown, desk.file.read_text()) == ("typed " + disk.replace("same", "edited"), disk)


@pytest.mark.parametrize("row", CONFLICTS)
async def test_undoing_either_side_resolves_it(desk: Desk, row: Row) -> None:
    await row(desk)
    desk.editor.undo(desk.path)
    assert "on disk, changed there" in await desk.read()
    desk.type_over(USER)
    desk.file.write_text(BASE)
    assert "unsaved changes of the user" in await desk.read()
    assert (await desk.edit()).success


# --- what is no change ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "disk",
    [b"base\r\nsame\r\n", b"\xef\xbb\xbfbase\nsame\n", b"base\nsame", "\ufeffbase\nsame\n".encode("utf-16-le")],
    ids=["line ends", "byte-order mark", "final newline", "encoding"],
)
async def test_what_editors_normalise_is_no_change_of_the_disk(desk: Desk, disk: bytes) -> None:
    await desk.open()
    desk.file.write_bytes(disk)
    assert "nothing unsaved" in await desk.read()
    desk.type_over(USER)
    assert "unsaved changes of the user" in await desk.read()


async def test_one_byte_with_the_same_size_and_time_is_a_change_and_a_touch_is_none(desk: Desk) -> None:
    await desk.open()
    status = desk.file.stat()
    os.utime(desk.file)
    assert "nothing unsaved" in await desk.read()
    desk.file.write_text(BASE.replace("b", "B"))
    os.utime(desk.file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "     1\tBase" in await desk.read()


# --- files that are not there, or cannot be compared ---------------------------------------------------------------


async def test_a_document_of_a_new_file_is_the_editors_until_the_file_appears(desk: Desk) -> None:
    desk.file.unlink()
    desk.editor.open(desk.path, USER)
    await desk.settle()
    assert "unsaved: there is no file on disk" in await desk.read()
    assert (await desk.edit()).success
    assert desk.shown == "user\nedited\n"
    desk.file.write_text(COMMAND)
    assert "in conflict with the disk" in await desk.read()
    assert not (await desk.edit("edited", "again")).success
    assert desk.file.read_text() == COMMAND


async def test_a_clean_document_whose_file_was_deleted_is_no_file_any_more(desk: Desk) -> None:
    await desk.open()
    desk.file.unlink()
    for result in (await desk.call(create_read_tool), await desk.edit()):
        assert "no such file" in str(result.error)
        assert "the open document still shows its old text" in str(result.error)
    written = await desk.write()
    assert written.success, written.error
    assert ("still shows older text" in written.output) is not desk.is_rich
    assert (desk.shown, desk.file.read_text()) == (NEW if desk.is_rich else BASE, NEW)


async def test_an_unsaved_document_whose_file_was_deleted_is_a_conflict(desk: Desk) -> None:
    await desk.open()
    desk.type_over(USER)
    await desk.settle()
    desk.file.unlink()
    assert "the file was deleted as well" in await desk.read()
    refused = await desk.edit()
    assert "was deleted as well" in str(refused.error)
    assert not desk.file.exists()
    desk.editor.save(desk.path)
    assert (await desk.edit()).success


async def test_what_cannot_be_compared_is_read_and_not_changed(desk: Desk) -> None:
    await desk.open()
    desk.file.unlink()
    desk.file.mkdir()
    assert "cannot be compared with the file on disk" in await desk.read()
    refused = await desk.edit()
    assert "cannot be compared" in str(refused.error)
    assert "is a directory" in str(refused.error)
    assert desk.shown == BASE


async def test_a_document_in_a_wrong_encoding_is_refused_with_that_reason(desk: Desk) -> None:
    desk.file.write_bytes(b"na\xefve\n")
    desk.editor.open(desk.path, "na\ufffdve\n")
    assert "opened it in a wrong encoding" in str((await desk.edit("na", "NA")).error)
    assert desk.file.read_bytes() == b"na\xefve\n"


# --- between prepare and commit ------------------------------------------------------------------------------------


def command_writes(desk: Desk) -> None:
    desk.file.write_text(COMMAND)


def command_deletes(desk: Desk) -> None:
    desk.file.unlink()


def user_types(desk: Desk) -> None:
    desk.editor.type(desk.path, 0, "typed ")


def user_reloads(desk: Desk) -> None:
    desk.editor.reload(desk.path)


def user_closes(desk: Desk) -> None:
    desk.editor.close(desk.path)


CHANGES = [
    pytest.param(create_edit_tool, {"oldString": "same", "newString": "edited"}, id="Edit"),
    pytest.param(create_write_tool, {"content": NEW}, id="Write"),
]


@pytest.mark.parametrize(("factory", "arguments"), CHANGES)
@pytest.mark.parametrize(
    ("row", "happening"),
    [
        (same_and_same, command_writes),
        (same_and_same, command_deletes),
        (changed_and_same, command_writes),
        (same_and_changed, user_types),
        (same_and_changed, user_reloads),
        (same_and_changed, user_closes),
        (same_and_changed, command_deletes),
    ],
)
async def test_a_commit_in_another_row_starts_over_with_nothing_changed(
    desk: Desk, row: Row, happening: Callable[[Desk], None], factory: Callable[..., FunctionTool], arguments: Any
) -> None:
    await row(desk)
    tool = desk.tool(factory)
    plan = await tool.prepare(tool.validate({"filePath": desk.path, **arguments}), ToolContext())
    assert plan.settled is None
    happening(desk)
    before = [buffer.text for buffer in desk.editor.buffers()], desk.file.exists() and desk.file.read_text()
    with pytest.raises(PlanOutdatedError):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert ([b.text for b in desk.editor.buffers()], desk.file.exists() and desk.file.read_text()) == before


async def test_a_read_that_finds_another_row_at_its_commit_starts_over(desk: Desk) -> None:
    await same_and_same(desk)
    tool = desk.tool(create_read_tool)
    plan = await tool.prepare(tool.validate({"filePath": desk.path}), ToolContext())
    desk.file.write_text(COMMAND)
    with pytest.raises(PlanOutdatedError):
        await tool.commit(plan, ToolContext())
    plan.close()


async def test_a_save_between_prepare_and_commit_leaves_the_edit_where_it_was_meant(desk: Desk) -> None:
    await changed_and_same(desk)
    tool = desk.tool(create_edit_tool)
    arguments = {"filePath": desk.path, "oldString": "same", "newString": "edited"}
    plan = await tool.prepare(tool.validate(arguments), ToolContext())
    desk.editor.save(desk.path)
    assert (await tool.commit(plan, ToolContext())).success
    plan.close()
    # Saved again where that can be asked for, since nothing of the user's is unsaved any more.
    assert (desk.shown, desk.file.read_text()) == ("user\nedited\n", desk.shown if desk.is_rich else USER)


# --- whose the unsaved text is -------------------------------------------------------------------------------------


async def test_unsaved_text_that_is_only_the_agents_is_known_as_such(desk: Desk, monkeypatch: Any) -> None:
    _never_saves(desk, monkeypatch)
    await desk.open()
    assert desk.access.unsaved_under(str(desk.root)) == ()
    assert (await desk.edit("base", "agent")).success
    assert (await desk.edit("same", "too")).success
    assert "in the open document, unsaved: the agent's own edits" in await desk.read()
    assert [(d.path, d.author) for d in desk.access.unsaved_under(str(desk.root))] == [(desk.path, "agent")]
    desk.editor.type(desk.path, 0, "typed ")
    assert "in the open document, unsaved changes of the user" in await desk.read()
    assert [d.author for d in desk.access.unsaved_under(str(desk.root))] == ["user"]
    assert (await desk.edit("too", "three")).success
    assert "unsaved changes of the user" in await desk.read()
    desk.editor.save(desk.path)
    assert "nothing unsaved" in await desk.read()
    assert (await desk.edit("three", "four")).success
    assert "the agent's own edits" in await desk.read()


async def test_what_the_user_typed_and_undid_is_not_there_any_more(desk: Desk, monkeypatch: Any) -> None:
    _never_saves(desk, monkeypatch)
    await desk.open()
    assert (await desk.edit("base", "agent")).success
    desk.editor.type(desk.path, 0, "typed ")
    desk.editor.undo(desk.path)
    assert "the agent's own edits" in await desk.read()


def _never_saves(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The editor refuses, or cannot be asked: then the agent's own edits stay unsaved."""

    async def refuse(*_: object, **__: object) -> FileOutcome:
        return FileOutcome(kind="not_done", reason="the disk is full")

    monkeypatch.setattr(desk.access, "save", refuse)


# --- saving and freshness ------------------------------------------------------------------------------------------


@pytest.mark.contract("E9")
async def test_a_save_that_fails_is_told_and_tried_again_with_the_next_edit(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.open()
    with monkeypatch.context() as patch:
        _never_saves(desk, patch)
        edited = await desk.edit("base", "agent")
        assert edited.success
        assert ("it was not saved to disk (the disk is full)" in edited.output) is desk.is_rich
        assert (desk.shown, desk.file.read_text()) == ("agent\nsame\n", BASE)
    assert (await desk.edit()).success
    assert (desk.shown, desk.file.read_text()) == ("agent\nedited\n", desk.shown if desk.is_rich else BASE)


@pytest.mark.contract("E9", "E1")
async def test_a_save_is_asked_for_with_what_the_disk_holds_and_compared_with_it_afterwards(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.open()
    asked: list[str | None] = []

    async def pretend(document: Document, *, disk_hash: str | None) -> FileOutcome:
        asked.append(disk_hash)
        return FileOutcome(kind="done", document=document)

    monkeypatch.setattr(desk.access, "save", pretend)
    edited = await desk.edit()
    assert edited.success
    assert asked == ([sha256(BASE.encode()).hexdigest()] if desk.is_rich else [])
    assert (
        "the editor says that it saved it, but the file on disk holds something else" in edited.output
    ) is desk.is_rich


@pytest.mark.contract("E9")
async def test_no_save_is_asked_for_over_a_file_that_changed_while_the_edit_was_made(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.open()
    apply = desk.access.apply

    async def apply_while_a_command_writes(*args: Any, **more: Any) -> Any:
        outcome = await apply(*args, **more)
        desk.file.write_text(COMMAND)
        return outcome

    monkeypatch.setattr(desk.access, "apply", apply_while_a_command_writes)
    edited = await desk.edit()
    assert edited.success
    assert ("it was not saved to disk (the file on disk was changed at the same time)" in edited.output) is desk.is_rich
    assert desk.file.read_text() == COMMAND
    assert "in conflict with the disk" in await desk.read()


@pytest.mark.contract("E10")
async def test_what_was_typed_and_not_told_is_read_where_the_editor_can_be_asked(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))  # noqa: ASYNC240  # a temporary directory of the test
    (root / "f.txt").write_text(BASE)
    for rich in (ALL, NOTHING):
        desk = over_lsp(Temperament(tells_typing="when_flushed"), rich)(root)
        await desk.open()
        desk.editor.type(desk.path, 0, "typed ")
        header, first, _ = (await desk.read()).split("\n", 2)
        assert first == f"     1\t{'typed ' if rich is ALL else ''}base"
        assert ("as last sent by the editor" in header) is (rich is NOTHING)
        assert (await desk.edit("base", "edited")).success  # a plain one refuses the first attempt, and tells then
        assert (desk.shown, desk.file.read_text()) == ("typed edited\nsame\n", BASE)
        assert isinstance(desk.access, LspEditor)
        desk.access.connection_lost()


# --- the adapter's own looks at the disk ---------------------------------------------------------------------------


class HeldDisk:
    """A disk that is read when a test says so."""

    def __init__(self, root: Path) -> None:
        self.go = threading.Event()
        self._disk = RootedDiskText(root)

    def baseline(self, path: str, text: str) -> Baseline | None:
        self.go.wait(30)
        return self._disk.baseline(path, text)


async def test_a_change_that_comes_before_the_disk_was_read_does_not_become_the_baseline(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))  # noqa: ASYNC240  # a temporary directory of the test
    (root / "f.txt").write_text(BASE)
    disk, editor = HeldDisk(root), MemoryEditor()
    client = MemoryLanguageClient(editor, encoding="utf-16")
    access = LspEditor(client, encoding="utf-16", disk=disk)
    client.connect(access)
    desk = Desk(root, editor, access)
    editor.open(desk.path)
    desk.file.write_text(COMMAND)
    disk.go.set()
    assert "opened with other text than is on disk" in await desk.read()
    assert not (await desk.edit()).success
    access.connection_lost()


async def test_a_document_that_was_opened_through_a_link_from_outside_has_its_baseline(desk: Desk) -> None:
    inside = desk.root / "inside"
    inside.mkdir()
    (inside / "g.txt").write_text(BASE)
    (desk.root / "alias").symlink_to(inside)
    opened = str(desk.root / "alias" / "g.txt")
    if isinstance(desk.access, LspEditor):
        # Below a root of which the opened name is no part.
        client = MemoryLanguageClient(desk.editor, encoding="utf-16")
        desk.access = LspEditor(client, encoding="utf-16", timeouts=PATIENT, disk=RootedDiskText(inside))
        client.connect(desk.access)
    desk.editor.open(opened)
    desk.editor.type(opened, 0, "typed ")
    tool = create_edit_tool(cwd=inside, editor=lambda: desk.access)
    result = await tool.execute({"filePath": "g.txt", "oldString": "same", "newString": "edited"})
    assert result.invocation is not None
    assert result.invocation.success, result.invocation.error
    assert desk.editor.buffer(opened).text == "typed base\nedited\n"


async def test_messages_after_the_end_of_the_connection_are_of_no_consequence(desk: Desk) -> None:
    if isinstance(desk.access, LspEditor):
        desk.access.connection_lost()
    desk.editor.open(desk.path)
    desk.editor.save(desk.path)
    assert desk.access.unsaved_under(str(desk.root)) == ()
