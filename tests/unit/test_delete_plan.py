"""Delete between its plan and its commit, before the gate, and beside an editor."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import (
    CancellationToken,
    Capability,
    Hunk,
    PermissionDeniedError,
    PlanOutdatedError,
    Target,
    ToolCancelledError,
    ToolContext,
    limits,
)
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import ToolIntended
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.host import create_delete_tool, create_edit_tool
from openbuffer.tools.support.directory_lock import directory_lock

from .delete_desk import Gate, delete, planned, tree, workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.contract("F11")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return workspace(tmp_path)


# --- the plan ------------------------------------------------------------------------------------------------------


@pytest.mark.contract("T12")
async def test_the_plan_tells_the_state_before_and_has_no_effect(root: Path) -> None:
    (root / "bin").write_bytes(b"\0\1")
    (root / "latin").write_bytes("déjà vu à côté, naïve façade\n".encode("latin-1"))
    (root / "empty").write_bytes(b"")
    (root / "link").symlink_to("f.txt")
    (root / "dir").mkdir()
    before = tree_of_names(root)
    tool = create_delete_tool(cwd=root)
    for path, kind, size, hunks in [
        ("f.txt", "file", 5, (Hunk(1, "a\nb\nc", ""),)),
        ("latin", "file", 29, (Hunk(1, "déjà vu à côté, naïve façade\n", ""),)),
        ("bin", "file", 2, ()),
        ("empty", "file", 0, ()),
        ("link", "link", 5, (Hunk(1, "f.txt", ""),)),
        ("dir", "directory", 0, ()),
    ]:
        plan = await planned(tool, path)
        assert plan.change is not None
        assert (plan.change.kind, plan.change.before_bytes, plan.change.after_bytes) == (kind, size, None)
        assert plan.change.hunks == hunks
        (target,) = plan.targets
        assert (target.path, target.access, target.exists, target.place) == (
            f"{root}/{path}",
            Capability.FILE_WRITE,
            True,
            "disk",
        )
        plan.close()
    assert tree_of_names(root) == before


def tree_of_names(root: Path) -> dict[str, int]:
    return {path.name: path.lstat().st_ino for path in root.iterdir()}


def change_content(path: Path) -> None:
    path.write_bytes(b"a\nB-user\nc")


def change_one_byte_with_the_same_size_and_time(path: Path) -> None:
    status = path.stat()
    path.write_bytes(b"a\nX\nc")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_by_rename(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.rename(path)


def remove(path: Path) -> None:
    path.unlink()


def swap_for_a_link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def swap_for_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def lead_the_link_elsewhere(path: Path) -> None:
    path.unlink()
    path.symlink_to("elsewhere")


def fill(path: Path) -> None:
    (path / "new").write_text("new")


def replace_directory_by_a_file(path: Path) -> None:
    path.rmdir()
    path.write_text("file")


def move_its_directory(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


@pytest.mark.contract("T12", "E12")
@pytest.mark.parametrize(
    ("make", "happening"),
    [
        *[
            ("file", each)
            for each in (
                *(change_content, change_one_byte_with_the_same_size_and_time, replace_by_rename, remove),
                *(swap_for_a_link, swap_for_a_directory, move_its_directory),
            )
        ],
        *[("link", each) for each in (remove, lead_the_link_elsewhere, swap_for_a_directory, move_its_directory)],
        *[("directory", each) for each in (fill, replace_directory_by_a_file, move_its_directory)],
    ],
)
@pytest.mark.parametrize("checks_path", [True, False])
async def test_a_commit_after_something_changed_does_nothing_and_starts_over(
    root: Path, make: str, happening: Callable[[Path], None], checks_path: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look at the path is left out as well: what comes after it is no weaker."""
    path = root / "dir" / "it"
    path.parent.mkdir()
    if make == "file":
        path.write_bytes(b"a\nb\nc")
    elif make == "link":
        path.symlink_to("../f.txt")
    else:
        path.mkdir()
    tool = create_delete_tool(cwd=root)
    plan = await planned(tool, "dir/it")
    assert plan.settled is None
    if not checks_path:
        monkeypatch.setattr(type(plan.state.found), "check", lambda *_args, **_more: None)
    happening(path)
    before = tree(root)
    with pytest.raises(PlanOutdatedError, match="it"):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert tree(root) == before


@pytest.mark.contract("E12")
async def test_a_file_that_was_too_large_to_be_loaded_is_compared_by_its_times(root: Path) -> None:
    tool = create_delete_tool(cwd=root, max_bytes=3)
    plan = await planned(tool)
    assert plan.change is not None
    assert plan.change.hunks == ()
    status = (root / "f.txt").stat()
    (root / "f.txt").write_bytes(b"a\nB\nc")
    os.utime(root / "f.txt", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(PlanOutdatedError):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert (await delete(root, max_bytes=3)).success


@pytest.mark.contract("P2", "P5")
@pytest.mark.usefixtures("way")
async def test_a_directory_above_that_leads_out_by_now_is_not_followed(root: Path) -> None:
    outside = root.parent / "outside"
    for directory in (outside, root / "dir"):
        directory.mkdir()
        (directory / "f").write_text("f")
    tool = create_delete_tool(cwd=root)
    plan = await planned(tool, "dir/f")
    (root / "dir").rename(root / "real")
    (root / "dir").symlink_to(outside)
    result = await tool.commit(plan, ToolContext())
    plan.close()
    assert "outside the workspace" in result.value["error"]
    assert (outside / "f").exists()
    assert (root / "real" / "f").exists()


@pytest.mark.contract("T6")
async def test_a_token_cancelled_before_the_commit_means_no_effect(root: Path) -> None:
    tool = create_delete_tool(cwd=root)
    context = ToolContext(cancellation=CancellationToken())
    plan = await planned(tool, context=context)
    context.cancellation.cancel()
    with pytest.raises(ToolCancelledError, match="cancelled; nothing was changed"):
        await tool.commit(plan, context)
    plan.close()
    assert (root / "f.txt").exists()


@pytest.mark.contract("E12")
async def test_while_another_changes_something_in_the_directory_nothing_is_deleted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FILE_LOCK_TIMEOUT_S", 0.05)
    (root / "link").symlink_to("f.txt")
    (root / "dir").mkdir()
    before = tree(root)
    fd = os.open(root, os.O_RDONLY)
    try:
        with directory_lock(fd, str(root)):
            for path in ("f.txt", "link", "dir"):
                assert "another process is changing a file" in str((await delete(root, path)).error)
    finally:
        os.close(fd)
    assert tree(root) == before


@pytest.mark.contract("E12")
async def test_a_deletion_and_an_edit_at_once_end_as_if_one_came_after_the_other(root: Path) -> None:
    edit, tool = create_edit_tool(cwd=root), create_delete_tool(cwd=root)
    for _ in range(30):
        (root / "f.txt").write_bytes(b"a\nb\nc")
        edited, deleted = await asyncio.gather(
            edit.execute({"filePath": "f.txt", "oldString": "b", "newString": "B"}), tool.execute({"path": "f.txt"})
        )
        assert deleted.success, deleted.value
        assert edited.success or "no such file" in edited.value["error"], edited.value
        assert os.listdir(root) == []


async def test_a_file_of_a_directory_without_a_lock_is_deleted_and_that_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def unsupported(*_args: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    assert "no lock could be taken" in (await delete(root)).output
    assert os.listdir(root) == []


# --- the gate ------------------------------------------------------------------------------------------------------


KINDS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "file": lambda path: path.write_text("SECRET"),
    "directory": lambda path: path.mkdir(),
    "fifo": os.mkfifo,
    "link out": lambda path: path.symlink_to("/etc"),
    "link loop": lambda path: path.symlink_to(path.name),
}


@pytest.mark.contract("X4", "P2")
@pytest.mark.parametrize("verdict", ["deny", "ask"])
@pytest.mark.parametrize("spelling", ["secret/x", "secret/x/", "secret/./x", "secret/x/y", "alias/x", "alias/x/y"])
async def test_the_answer_to_a_denied_call_is_the_same_whatever_is_there(
    root: Path, verdict: str, spelling: str
) -> None:
    (root / "secret").mkdir()
    (root / "alias").symlink_to("secret")
    told: set[str] = set()
    for kind, make in KINDS.items():
        path = root / "secret" / "x"
        make(path)
        before = tree(root)
        executor = create_tool_executor(ToolConfig(roots=(root,)), policy=Gate(root / "secret", verdict))
        with pytest.raises(PermissionDeniedError) as denied:
            await executor.call("Delete", {"path": spelling})
        told.add(str(denied.value))
        assert tree(root) == before, kind
        if kind != "nothing":
            path.rmdir() if kind == "directory" else path.unlink()
    assert len(told) == 1


@pytest.mark.contract("X4")
async def test_names_that_the_gate_denies_are_not_offered(root: Path) -> None:
    (root / "SECRET.md").write_text("")
    executor = create_tool_executor(ToolConfig(roots=(root,)), policy=Gate(root / "SECRET.md"))
    error = (await executor.call("Delete", {"path": "secret.md"})).value["error"]
    assert "no such file" in error
    assert "SECRET.md" not in error


@pytest.mark.contract("X1", "T12")
async def test_what_is_recorded_is_the_link_itself_and_where_it_led(root: Path) -> None:
    (root / "link").symlink_to("f.txt")
    log, gate = InMemoryEventLog(), Gate(root / "none")
    executor = create_tool_executor(ToolConfig(roots=(root,)), policy=gate, log=log)
    assert (await executor.call("Delete", {"path": "link"})).success
    assert gate.asked == [("targets", f"{root}/link"), ("plan", f"{root}/link")]
    (intent,) = [event for event in log if isinstance(event, ToolIntended)]
    assert intent.change is not None
    assert intent.change.hunks == (Hunk(1, "f.txt", ""),)


@pytest.mark.contract("E2")
async def test_nothing_is_looked_at_before_the_gate_admits(root: Path) -> None:
    class Watched(MemoryEditorAccess):
        def document(self, path: str) -> Any:
            raise AssertionError(path)

    async def deny(targets: Sequence[Target], /) -> None:
        assert [target.place for target in targets] == ["undecided"]
        raise PermissionDeniedError("no")

    (root / "dir").mkdir()
    tool = create_delete_tool(cwd=root, editor=lambda: Watched(MemoryEditor()))
    for path in ("f.txt", "dir", "missing"):
        with pytest.raises(PermissionDeniedError, match=r"^no$"):
            await planned(tool, path, ToolContext(admit=deny))


def test_without_writes_no_tool_that_changes_files_is_there(root: Path) -> None:
    names = {on: [tool.name for tool in build_tools(ToolConfig(roots=(root,), writes=on))] for on in (True, False)}
    assert names == {
        True: ["Read", "Write", "Edit", "Delete", "ListDir", "Glob", "Grep", "Shell", "Bash"],
        False: ["Read", "ListDir", "Glob", "Grep", "Shell", "Bash"],
    }
    for tool in build_tools(ToolConfig(roots=(root,), writes=False)):
        assert Capability.FILE_WRITE not in tool.capabilities
