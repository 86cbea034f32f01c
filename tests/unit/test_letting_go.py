"""A commit lets go of files and texts in its own thread: freeing large ones would hold up the event loop."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.tools import PlanOutdatedError, ToolContext
from openbuffer.tools.host import create_edit_tool, create_read_tool, create_write_tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.tools import FunctionTool

SIZE = 2_000_000
DESCRIPTORS = Path("/proc/self/fd")
READ = {"filePath": "f.txt"}
EDIT = {"filePath": "f.txt", "oldString": "the only one", "newString": "changed"}

needs_proc = pytest.mark.skipif(not DESCRIPTORS.exists(), reason="this system does not tell a process's open files")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path))
    (real / "f.txt").write_text("a line\n" * (SIZE // 7) + "the only one\n")
    return real


def open_below(root: Path) -> list[str]:
    found = [os.readlink(entry) for entry in DESCRIPTORS.iterdir() if entry.is_symlink()]
    return [path for path in found if path.startswith(str(root))]


@needs_proc
@pytest.mark.contract("F4")
@pytest.mark.parametrize(
    ("factory", "arguments"),
    [(create_read_tool, READ), (create_edit_tool, EDIT), (create_write_tool, {"filePath": "f.txt", "content": "x"})],
)
@pytest.mark.parametrize("place", ["disk", "document"])
async def test_no_file_is_open_any_more_when_a_commit_is_done(
    root: Path, factory: Callable[..., FunctionTool], arguments: dict[str, Any], place: str
) -> None:
    editor = MemoryEditor()
    if place == "document":
        editor.open(str(root / "f.txt"), (root / "f.txt").read_text())
    tool = factory(cwd=root, editor=lambda: editor)
    plan = await tool.prepare(tool.validate(arguments), ToolContext())
    assert open_below(root) != []
    assert (await tool.commit(plan, ToolContext())).success
    assert open_below(root) == []
    plan.close()


@needs_proc
@pytest.mark.contract("F4")
async def test_no_file_is_open_any_more_when_a_commit_comes_too_late(root: Path) -> None:
    tool = create_edit_tool(cwd=root)
    plan = await tool.prepare(tool.validate(EDIT), ToolContext())
    (root / "other").write_bytes(b"replaced")
    (root / "other").rename(root / "f.txt")
    with pytest.raises(PlanOutdatedError):
        await tool.commit(plan, ToolContext())
    assert open_below(root) == []
    plan.close()


@pytest.mark.contract("F4")
@pytest.mark.parametrize("place", ["disk", "document"])
async def test_the_text_is_gone_when_an_edit_is_done(root: Path, place: str) -> None:
    editor = MemoryEditor()
    if place == "document":
        editor.open(str(root / "f.txt"), (root / "f.txt").read_text())
    tool = create_edit_tool(cwd=root, editor=lambda: editor)
    tracemalloc.start()
    try:
        plan = await tool.prepare(tool.validate(EDIT), ToolContext())
        prepared, _ = tracemalloc.get_traced_memory()
        assert (await tool.commit(plan, ToolContext())).success
        done, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    grown = SIZE if place == "document" else 0  # the editor's own new text
    assert prepared > SIZE
    assert done - grown < SIZE // 10
    plan.close()


@pytest.mark.contract("T12")
async def test_a_plan_is_carried_out_once(root: Path) -> None:
    tool = create_edit_tool(cwd=root)
    plan = await tool.prepare(tool.validate(EDIT), ToolContext())
    assert (await tool.commit(plan, ToolContext())).success
    after = (root / "f.txt").read_bytes()
    with pytest.raises(PlanOutdatedError):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert (root / "f.txt").read_bytes() == after
