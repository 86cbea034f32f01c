"""A commit lets go of files and texts: freeing large ones is to hold up neither the event loop nor the result."""

from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import PlanOutdatedError, ToolContext
from openbuffer.tools.host import create_edit_tool, create_read_tool, create_write_tool
from openbuffer.tools.support import located

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.tools import FunctionTool

SIZE = 2_000_000
TEXT = "a line\n" * (SIZE // 7) + "the only one\n"
DESCRIPTORS = Path("/proc/self/fd")
READ = {"filePath": "f.txt"}
EDIT = {"filePath": "f.txt", "oldString": "the only one", "newString": "changed"}

needs_proc = pytest.mark.skipif(not DESCRIPTORS.exists(), reason="this system does not tell a process's open files")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path))
    (real / "f.txt").write_text(TEXT)
    return real


@pytest.fixture
def closing(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that close files."""
    started: list[threading.Thread] = []

    def start(function: Callable[..., object], args: tuple[Any, ...]) -> None:
        thread = threading.Thread(target=function, args=args)
        started.append(thread)
        thread.start()

    monkeypatch.setattr(located, "_thread", SimpleNamespace(start_new_thread=start))
    return started


def open_below(root: Path) -> list[str]:
    found = [os.readlink(entry) for entry in DESCRIPTORS.iterdir() if entry.is_symlink()]
    return [path for path in found if path.startswith(str(root))]


def has_text(root: Path, editor: MemoryEditor, place: str, text: str) -> None:
    (root / "f.txt").write_text(text)
    if place == "document":
        editor.open(str(root / "f.txt"), text)


@needs_proc
@pytest.mark.contract("F4")
@pytest.mark.parametrize("text", [TEXT, "the only one\n"], ids=["large", "small"])
@pytest.mark.parametrize(
    ("factory", "arguments"),
    [(create_read_tool, READ), (create_edit_tool, EDIT), (create_write_tool, {"filePath": "f.txt", "content": "x"})],
)
@pytest.mark.parametrize("place", ["disk", "document"])
async def test_the_thread_of_a_commit_closes_the_file_unless_it_was_large_and_replaced(
    root: Path,
    closing: list[threading.Thread],
    factory: Callable[..., FunctionTool],
    arguments: dict[str, Any],
    place: str,
    text: str,
) -> None:
    editor = MemoryEditor()
    has_text(root, editor, place, text)
    tool = factory(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    plan = await tool.prepare(tool.validate(arguments), ToolContext())
    assert open_below(root) != []
    assert (await tool.commit(plan, ToolContext())).success
    takes_long = place == "disk" and text == TEXT and factory is not create_read_tool
    assert bool(open_below(root)) == takes_long
    plan.close()
    assert len(closing) == takes_long
    for thread in closing:
        thread.join()
    assert open_below(root) == []


@needs_proc
@pytest.mark.contract("F4")
async def test_a_file_that_somebody_else_replaced_is_closed_aside_too(
    root: Path, closing: list[threading.Thread]
) -> None:
    tool = create_edit_tool(cwd=root)
    plan = await tool.prepare(tool.validate(EDIT), ToolContext())
    (root / "other").write_bytes(b"replaced")
    (root / "other").rename(root / "f.txt")
    with pytest.raises(PlanOutdatedError):
        await tool.commit(plan, ToolContext())
    plan.close()
    (thread,) = closing
    thread.join()
    assert open_below(root) == []


@needs_proc
@pytest.mark.contract("F4")
async def test_where_no_thread_is_to_be_had_the_file_is_closed_all_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(located, "_thread", SimpleNamespace(start_new_thread=none_left))
    assert (await create_edit_tool(cwd=root).execute(EDIT)).success
    assert open_below(root) == []


@pytest.mark.contract("F4")
@pytest.mark.parametrize("place", ["disk", "document"])
async def test_the_text_is_gone_when_an_edit_is_done(root: Path, place: str) -> None:
    editor = MemoryEditor()
    has_text(root, editor, place, TEXT)
    tool = create_edit_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    # What the first call of a process loads and keeps is not meant.
    (root / "other").write_text("the only one\n")
    assert (await tool.execute({**EDIT, "filePath": "other"})).success
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
