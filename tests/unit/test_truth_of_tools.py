"""Which text Read, Edit, Write and Delete take for the truth on the way between the rows of the table."""

from __future__ import annotations

import os
import threading
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access import Document, FileOutcome
from openbuffer.editor_access.lsp import LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_habits import EditorHabits
from openbuffer.editor_access.memory_lsp import RICH, MemoryLanguageClient, Temperament
from openbuffer.tools import FunctionTool, PlanOutdatedError, ToolContext
from openbuffer.tools.host import create_delete_tool, create_edit_tool, create_read_tool, create_write_tool
from openbuffer.tools.support.disk_text import RootedDiskText

from .truth_desk import (
    ADAPTERS,
    ALL,
    BASE,
    COMMAND,
    CONFLICTS,
    NEW,
    NOTHING,
    PATIENT,
    REFUSING,
    USER,
    Desk,
    Row,
    changed_and_same,
    desk_with,
    edited,
    over_lsp,
    same_and_changed,
    same_and_same,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openbuffer.editor_access.truth import Baseline

pytestmark = pytest.mark.contract("E11")


@pytest.fixture(params=ADAPTERS.values(), ids=list(ADAPTERS))
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    yield from desk_with(request.param, tmp_path)


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


# --- between prepare and commit ------------------------------------------------------------------------------------


def command_writes(desk: Desk) -> None:
    desk.file.write_text(COMMAND)


def command_deletes(desk: Desk) -> None:
    desk.file.unlink()


def user_types(desk: Desk) -> None:
    desk.editor.type(desk.path, 0, "typed ")


def user_reloads(desk: Desk) -> None:
    desk.editor.reload(desk.path)


def user_saves(desk: Desk) -> None:
    desk.editor.save(desk.path)


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


@pytest.mark.contract("F11", "E2")
@pytest.mark.parametrize(
    ("row", "happening"),
    [
        (same_and_same, command_writes),
        (same_and_same, command_deletes),
        (same_and_same, user_types),
        (same_and_same, user_closes),
        (same_and_changed, user_types),
        (same_and_changed, user_saves),
        (same_and_changed, user_reloads),
        (same_and_changed, user_closes),
        (same_and_changed, command_deletes),
    ],
)
async def test_a_deletion_starts_over_when_document_or_disk_moved(
    desk: Desk, row: Row, happening: Callable[[Desk], None]
) -> None:
    await row(desk)
    tool = desk.tool(create_delete_tool)
    plan = await tool.prepare(tool.validate({"path": desk.path}), ToolContext())
    assert plan.settled is None
    happening(desk)
    before = desk.disk
    with pytest.raises(PlanOutdatedError):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert desk.disk == before


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


# --- deletions -----------------------------------------------------------------------------------------------------


@pytest.mark.contract("F11")
@pytest.mark.parametrize("how", [MemoryEditor.save, MemoryEditor.revert])
@pytest.mark.parametrize("row", [*REFUSING, changed_and_same])
async def test_a_file_is_deleted_once_its_document_was_saved_or_reverted(
    desk: Desk, row: Row, how: Callable[[MemoryEditor, str], object]
) -> None:
    await row(desk)
    assert not (await desk.delete()).success
    how(desk.editor, desk.path)
    await desk.settle()
    deleted = await desk.delete()
    assert deleted.success, deleted.error
    assert desk.disk is None


@pytest.mark.contract("F11")
async def test_unsaved_edits_of_the_agent_keep_a_file_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    _never_saves(desk, monkeypatch)
    await desk.open()
    assert (await desk.edit()).success
    assert "the open document has unsaved edits of the agent" in str((await desk.delete()).error)
    assert (desk.shown, desk.disk) == (edited(BASE), BASE)


@pytest.mark.contract("F11")
async def test_saving_the_document_of_a_deleted_file_brings_it_back_as_was_told(desk: Desk) -> None:
    await desk.open()
    assert "saving the document there would bring the file back" in (await desk.delete()).output
    assert "the open document still shows its old text" in str((await desk.call_read()).error)
    assert "It is deleted already" in str((await desk.delete()).error)
    desk.editor.save(desk.path)
    assert desk.disk == BASE
    assert "nothing unsaved" in await desk.read()


@pytest.mark.contract("F11", "E10")
async def test_a_deletion_says_when_an_editor_that_can_tell_its_text_did_not(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(_document: Document) -> str:
        return "it did not answer in time"

    await desk.open()
    monkeypatch.setattr(desk.access, "flush", silent)
    deleted = await desk.delete()
    assert ("has not told is not known (it did not answer in time)" in deleted.output) is desk.is_rich


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


@pytest.mark.contract("E9")
@pytest.mark.parametrize(
    ("before", "content"),
    [
        (b"a\nb", "a\nb\n"),
        (b"a\nb\n", "a\nb"),
        (b"a\r\nb\n", "a\nb\n"),
        (b"a\nb\n", "a\r\nb\r\n"),
    ],
    ids=["final newline", "without it", "line ends", "CRLF"],
)
async def test_a_change_of_what_editors_normalise_is_saved_and_no_other_words_are_made_of_it(
    desk: Desk, before: bytes, content: str
) -> None:
    desk.file.write_bytes(before)
    await desk.open()
    written = await desk.write(content)
    assert written.success, written.error
    assert desk.shown == content
    assert ("and saved to disk." in written.output) is desk.is_rich
    assert desk.file.read_bytes() == (content.encode() if desk.is_rich else before)


@pytest.mark.contract("E9")
async def test_a_final_line_end_that_saving_adds_untold_is_told(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))  # noqa: ASYNC240  # a temporary directory of the test
    editor = MemoryEditor(habits=EditorHabits(final_newline="added_untold"))
    client = MemoryLanguageClient(editor, encoding="utf-16", temperament=Temperament(), rich=ALL)
    access = LspEditor(client, encoding="utf-16", timeouts=PATIENT, disk=RootedDiskText(root), rich=ALL)
    client.connect(access)
    desk = Desk(root, editor, access)
    desk.file.write_text("base\nsame")
    await desk.open()
    assert "saving put a line end at the end of the file" in (await desk.edit()).output
    assert "nothing unsaved" in await desk.read()
    access.connection_lost()


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


@pytest.mark.contract("E9")
async def test_a_client_that_formats_on_save_has_that_told_and_the_next_edit_matches_what_came_of_it(
    tmp_path: Path,
) -> None:
    root = Path(os.path.realpath(tmp_path))  # noqa: ASYNC240  # a temporary directory of the test
    (root / "f.txt").write_text(BASE)
    editor = MemoryEditor(EditorHabits(format_on_save=lambda text: text.replace("edited", "    edited")))
    client = MemoryLanguageClient(editor, encoding="utf-16", rich=RICH)
    access = LspEditor(client, encoding="utf-16", timeouts=PATIENT, disk=RootedDiskText(root), rich=RICH)
    client.connect(access)
    desk = Desk(root, editor, access)
    await desk.open()
    edited = await desk.edit()
    assert "saved to disk. Note: saving changed the text further, in 1 place from line 2 on" in edited.output
    assert "read it before the next Edit" in edited.output
    assert desk.shown == desk.file.read_text() == "base\n    edited\n"
    assert "     2\t    edited" in await desk.read()
    assert (await desk.edit("    edited", "    again")).success
    assert desk.shown == desk.file.read_text() == "base\n    again\n"
    access.connection_lost()


@pytest.mark.contract("E5", "E11")
async def test_a_document_that_was_opened_different_counts_as_unsaved(desk: Desk) -> None:
    desk.editor.open(desk.path, USER)
    await desk.settle()
    assert [(d.path, d.author) for d in desk.access.unsaved_under(str(desk.root))] == [(desk.path, "user")]
    desk.editor.save(desk.path)
    await desk.settle()
    assert desk.access.unsaved_under(str(desk.root)) == ()
