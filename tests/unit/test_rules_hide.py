"""What rules keep from being read is told by no tool: its answer is the same whether it is there or not."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import PermissionDeniedError
from openbuffer.tools.builtin.grep import create_grep_tool
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.executor import DispatchingToolExecutor, SandboxedToolExecutor
from openbuffer.tools.registry import DefaultToolRegistry
from openbuffer.tools.rules.host_places import host_places
from openbuffer.tools.support.grep.ripgrep import find_ripgrep

from .rules_desk import policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FREE = ["a.txt", "src/b.txt", "src/deep/er/c.txt", "docs/only.txt", ".gitignore", "ignored/d.txt"]
HIDDEN = [
    "secret/x.txt", "secret/sub/y.txt", "src/.env", "src/deep/.env", "src/deep/z.key", "docs/.env", "secret/.gitignore",
    "src/deep/er/node_modules.key/m.txt", "ignored/.env", "src/big.key", "src/binary.key", ".env/node_modules/n.txt",
]  # fmt: skip
RULES = ["Read(secret/**)", "Read(.env)", "Read(*.key)"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "ws"
    for name in FREE:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("needle free\n")
    (root / ".gitignore").write_text("ignored/\n")
    (root / ".git").mkdir()
    for path in (*root.rglob("*"), root):
        os.utime(path, ns=(10**18, 10**18))
    return root


def hide(root: Path) -> None:
    """Put there what may not be read."""
    for name in HIDDEN:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("needle SECRET\n")
    (root / "src/binary.key").write_bytes(b"needle\0SECRET")
    (root / "src/fifo.key").unlink(missing_ok=True)
    os.mkfifo(root / "src/fifo.key")
    (root / "src/link.key").symlink_to("../secret")
    (root / "secret/unreadable").mkdir(mode=0)
    with (root / "src/big.key").open("wb") as file:
        file.truncate(65 * 1024 * 1024)


def executor(root: Path, *, engine: Any = None, editor: Any = None, **table: list[str]) -> SandboxedToolExecutor:
    tools = [tool for tool in build_tools(ToolConfig(roots=(root,), editor=editor)) if tool.name != "Grep"]
    tools.append(create_grep_tool(cwd=root, engine=engine, editor=editor))
    by = policy(places=host_places([str(root)]), without_rules="allow", **(table or {"deny": RULES}))
    return SandboxedToolExecutor(DispatchingToolExecutor(DefaultToolRegistry(tools)), policy=by, log=InMemoryEventLog())


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ListDir", {}),
    ("ListDir", {"path": "src"}),
    ("ListDir", {"path": "src/deep"}),
    ("ListDir", {"path": "docs"}),
    ("ListDir", {"recursive": True}),
    ("ListDir", {"recursive": True, "respectGitignore": False}),
    ("Glob", {"pattern": "**/*"}),
    ("Glob", {"pattern": "**/.e*"}),
    ("Glob", {"pattern": "secre?/**"}),
    ("Glob", {"pattern": "**/*.key"}),
    ("Glob", {"pattern": "**/*", "respectGitignore": False}),
    ("Glob", {"pattern": "*", "path": "src"}),
    ("Grep", {"pattern": "needle"}),
    ("Grep", {"pattern": "SECRET"}),
    ("Grep", {"pattern": "needle", "outputMode": "content"}),
    ("Grep", {"pattern": "needle", "outputMode": "count", "respectGitignore": False}),
    ("Grep", {"pattern": "needle", "outputMode": "content", "contextLines": 3, "path": "src/deep"}),
    ("Grep", {"pattern": "needle", "glob": "*.key"}),
    ("Grep", {"pattern": "needle.*\\n", "multiline": True, "outputMode": "content"}),
    ("Grep", {"pattern": "(n)ee\\1?dle", "outputMode": "count"}),
    ("Grep", {"pattern": "needle", "headLimit": 1}),
]


@pytest.mark.contract("X4")
@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=lambda each: str(each)[:60])
async def test_a_search_says_the_same_whether_there_is_something_hidden_or_not(
    root: Path, tool: str, arguments: dict[str, Any]
) -> None:
    engines = ["own", "ripgrep"] if tool == "Grep" and find_ripgrep([str(root)]) else [None]
    for engine in engines:
        calls = executor(root, engine=engine)
        before = (await calls.call(tool, arguments)).value
        hide(root)
        after = (await executor(root, engine=engine).call(tool, arguments)).value
        assert after["output"] == before["output"]
        assert "whatever permission rules keep from being read" in after["output"]
        again = (await calls.call(tool, arguments)).value  # with what the searching process has kept
        assert again["output"] == before["output"]
        unhide(root)


def unhide(root: Path) -> None:
    """Take away all that was hidden."""
    for name in ("secret", ".env", "src/deep/er/node_modules.key"):
        shutil.rmtree(root / name, ignore_errors=True)
    for name in HIDDEN:
        (root / name).unlink(missing_ok=True)
    (root / "src/fifo.key").unlink()
    (root / "src/link.key").unlink()
    for path in (*root.rglob("*"), root):
        os.utime(path, ns=(10**18, 10**18))


@pytest.mark.contract("X4")
async def test_without_rules_for_a_place_nothing_is_said_and_nothing_left_out(root: Path) -> None:
    calls = executor(root, deny=["Read(/elsewhere/**)"])
    every = {"ListDir": {"recursive": True}, "Glob": {"pattern": "**/*"}, "Grep": {"pattern": "needle"}}
    for tool, arguments in every.items():
        assert "permission rules" not in (await calls.call(tool, arguments)).value["output"]


@pytest.mark.contract("X4")
async def test_what_is_asked_about_is_left_out_of_a_search_from_above_and_asked_about_itself(root: Path) -> None:
    calls = executor(root, ask=["Read(src/**)"])
    found = (await calls.call("Grep", {"pattern": "needle"})).value["output"]
    assert "a.txt" in found
    assert "src" not in found
    with pytest.raises(PermissionDeniedError, match=r"needs an approval .* ask rule Read\(src/\*\*\)"):
        await calls.call("Grep", {"pattern": "needle", "path": "src"})


@pytest.mark.contract("X4", "F5")
@pytest.mark.parametrize("tool", ["Read", "Grep", "ListDir", "Glob", "Delete"])
async def test_a_hidden_name_is_not_proposed_for_a_mistyped_one(root: Path, tool: str) -> None:
    hide(root)
    arguments = {
        "Read": {"filePath": "src/.Env"},
        "Grep": {"pattern": "x", "path": "src/.Env"},
        "Glob": {"pattern": "*", "path": "src/.Env"},
    }
    told = (await executor(root).call(tool, arguments.get(tool, {"path": "src/.Env"}))).value
    assert told["success"] is False
    assert ".env" not in f"{told['error']}{told['output']}"


@pytest.mark.contract("X4", "E5")
async def test_a_hidden_document_is_not_named_while_an_editor_is_attached(root: Path) -> None:
    hide(root)
    editor = MemoryEditor()
    access = MemoryEditorAccess(editor)
    for name in ("secret/x.txt", "a.txt"):
        path = str(root / name)
        editor.open(path, (root / name).read_text())
        editor.replace(path, 0, 0, "typed")
    calls = executor(root, editor=lambda: access)
    for tool, arguments in (("Glob", {"pattern": "*"}), ("Grep", {"pattern": "needle"})):
        told = (await calls.call(tool, arguments)).value["output"]
        assert "1 document is open here with text that is not on disk" in told
        assert "secret" not in told


WAYS: list[tuple[str, Callable[[Path], object]]] = [
    ("secret/way/../../a.txt", lambda root: (root / "secret/way").mkdir(parents=True)),
    ("secret/way/deep/../../../a.txt", lambda root: (root / "secret/way/deep").mkdir(parents=True)),
    ("secret/../a.txt", lambda root: (root / "secret").mkdir()),
    ("secret/way", lambda root: ((root / "secret").mkdir(), (root / "secret/way").symlink_to("../a.txt"))),
    ("secret/way/b.txt", lambda root: ((root / "secret").mkdir(), (root / "secret/way").symlink_to(root / "src"))),
    ("secret/way/../a.txt", lambda root: ((root / "secret").mkdir(), (root / "secret/way").symlink_to("../src"))),
    ("secret/way/../../a.txt", lambda root: ((root / "secret").mkdir(), (root / "secret/way").write_text("file"))),
    ("src/../secret/way/../../a.txt", lambda root: (root / "secret/way").mkdir(parents=True)),
    ("secret/way/../../../../outside", lambda root: (root / "secret/way").mkdir(parents=True)),
]


@pytest.mark.contract("X4", "P2")
@pytest.mark.parametrize(("path", "make"), WAYS, ids=[f"{index} {path}" for index, (path, _) in enumerate(WAYS)])
@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "Delete", "ListDir", "Glob", "Grep"])
async def test_a_way_through_a_hidden_place_tells_nothing(
    root: Path, tool: str, path: str, make: Callable[[Path], object]
) -> None:
    rules = {"deny": ["Read(secret/**)", "Edit(secret/**)"]}
    arguments: dict[str, Any] = {
        "Read": {"filePath": path},
        "Edit": {"filePath": path, "oldString": "needle", "newString": "x"},
        "Write": {"filePath": path, "content": "x"},
        "Glob": {"pattern": "*", "path": path},
        "Grep": {"pattern": "x", "path": path},
    }
    answers: list[str] = []
    for is_there in (False, True):
        if is_there:
            make(root)
        with pytest.raises(PermissionDeniedError) as denied:
            await executor(root, **rules).call(tool, arguments.get(tool, {"path": path}))
        answers.append(str(denied.value))
    assert answers[0] == answers[1]
    assert (root / "a.txt").read_text() == "needle free\n"


@pytest.mark.contract("X4")
async def test_a_way_through_another_directory_is_as_before(root: Path) -> None:
    (root / "link").symlink_to("src")
    calls = executor(root)
    for path in ("src/deep/../../a.txt", "link/../a.txt", "link/b.txt"):
        assert "needle free" in (await calls.call("Read", {"filePath": path})).value["output"]
