"""Delete beside an editor: what is opened, typed or lost while a deletion is under way."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access.errors import EditorLostError
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import ALL_ABILITIES, MemoryEditorAccess
from openbuffer.tools import (
    PlanOutdatedError,
    ToolContext,
)
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.host import create_delete_tool
from openbuffer.tools.support import deleting

from .delete_desk import Gate, delete, planned, tree, workspace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.contract("F11")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return workspace(tmp_path)


@pytest.mark.contract("E2")
@pytest.mark.parametrize("kind", ["file", "directory"])
async def test_what_is_opened_after_the_plan_was_made_outdates_it(root: Path, kind: str) -> None:
    editor = MemoryEditor()
    tool = create_delete_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    (root / "dir").mkdir()
    plan = await planned(tool, "f.txt" if kind == "file" else "dir")
    if kind == "file":
        editor.open(str(root / "f.txt"))
        with pytest.raises(PlanOutdatedError, match="was opened in the editor"):
            await tool.commit(plan, ToolContext())
    else:
        editor.open(str(root / "dir" / "new"), "")
        editor.type(str(root / "dir" / "new"), 0, "typed")
        result = await tool.commit(plan, ToolContext())
        assert f"documents are open in the editor that are to be saved in it: {root}/dir/new" in result.value["error"]
    plan.close()
    assert tree(root) == {"dir": "dir", "f.txt": "a\nb\nc"}


@pytest.mark.contract("E2", "E12")
async def test_what_is_opened_while_a_deletion_waits_for_the_lock_outdates_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = MemoryEditor()
    tool = create_delete_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    plan = await planned(tool)
    real = deleting.open_current

    def opened_meanwhile(located: Any) -> Any:
        editor.open(str(root / "f.txt"))
        return real(located)

    monkeypatch.setattr(deleting, "open_current", opened_meanwhile)
    with pytest.raises(PlanOutdatedError, match="was opened in the editor"):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert (root / "f.txt").exists()


@pytest.mark.contract("E2")
@pytest.mark.parametrize("gone", ["detached", "quit"])
async def test_an_editor_that_goes_away_during_the_call_ends_it(root: Path, gone: str) -> None:
    editor = MemoryEditor()
    editor.open(str(root / "f.txt"))
    attached: list[MemoryEditorAccess | None] = [MemoryEditorAccess(editor)]
    tool = create_delete_tool(cwd=root, editor=lambda: attached[0])
    plan = await planned(tool)
    if gone == "detached":
        attached[0] = None
    else:
        editor.quit()
    result = await tool.commit(plan, ToolContext())
    plan.close()
    assert not result.success
    assert ("went away" if gone == "detached" else "cannot carry this file now") in result.value["error"]
    assert (root / "f.txt").exists()


@pytest.mark.contract("E1")
async def test_a_document_whose_text_is_not_known_keeps_its_file(root: Path) -> None:
    class Lost(MemoryEditorAccess):
        def document(self, path: str) -> Any:
            raise EditorLostError(f"{path}: out of sync")

    error = str((await delete(root, editor=lambda: Lost(MemoryEditor()))).error)
    assert "the file on disk is left alone" in error
    (root / "g.txt").write_text("g")
    (root / "alias").symlink_to(".")
    editor = MemoryEditor()
    for name, text in (("g.txt", "one"), ("alias/g.txt", "two")):
        editor.open(str(root / name), text)
    error = str((await delete(root, "g.txt", editor=lambda: MemoryEditorAccess(editor))).error)
    assert "the file on disk is left alone" in error
    assert (root / "f.txt").exists()
    assert (root / "g.txt").exists()


@pytest.mark.contract("E11")
@pytest.mark.parametrize("dirty", [False, True])
async def test_a_link_is_deleted_and_documents_that_were_opened_through_it_are_told(root: Path, dirty: bool) -> None:
    (root / "dir").mkdir()
    (root / "dir" / "g").write_text("g")
    (root / "file link").symlink_to("dir/g")
    (root / "dir link").symlink_to("dir")
    editor = MemoryEditor()
    access = MemoryEditorAccess(editor, abilities=ALL_ABILITIES)
    for opened in ("file link", "dir link/g"):
        path = str(root / opened)
        editor.open(path)
        if dirty:
            editor.type(path, 0, "typed ")
        told = (await delete(root, opened.split("/", 1)[0], editor=lambda: access)).output
        # Of a directory's clean documents nobody has a list; nothing of them is at stake.
        is_told = dirty or opened == "file link"
        assert (f"opened through this link in the editor, and open there still: {path}" in told) is is_told, told
        editor.close(path)
    assert tree(root) == {"dir": "dir", "dir/g": "g", "f.txt": "a\nb\nc"}


@pytest.mark.contract("E11", "X4")
async def test_nothing_is_said_of_documents_that_were_opened_otherwise_or_are_out_of_bounds(root: Path) -> None:
    (root.parent / "outside").write_text("outside")
    editor = MemoryEditor()
    access = MemoryEditorAccess(editor)
    for target, opened in (("f.txt", root / "f.txt"), ("../outside", root.parent / "outside")):
        (root / "link").symlink_to(target)
        editor.open(str(opened))
        told = (await delete(root, "link", editor=lambda: access)).output
        assert "opened through" not in told
    (root / "link").symlink_to("f.txt")
    editor.close(str(root / "f.txt"))
    editor.open(str(root / "link"))
    executor = create_tool_executor(ToolConfig(roots=(root,), editor=lambda: access), policy=Gate(root / "f.txt"))
    result = await executor.call("Delete", {"path": "link"})
    assert result.success
    assert "opened through" not in result.value["output"]


@pytest.mark.contract("E11")
async def test_a_directory_in_the_place_of_an_open_document_stays(root: Path) -> None:
    editor = MemoryEditor()
    editor.open(str(root / "f.txt"))
    (root / "f.txt").unlink()
    (root / "f.txt").mkdir()
    error = str((await delete(root, editor=lambda: MemoryEditorAccess(editor))).error)
    assert "cannot be compared" in error
    assert stat.S_ISDIR((root / "f.txt").stat().st_mode)
