"""What the gate denies is not told by anything else either: not whether it is there, nor what it is or holds."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.tools import PermissionDeniedError
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.permissions import Decision, PermissionRequest

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS: list[Any] = [
    pytest.param("Read", {}, id="Read"),
    pytest.param("Write", {"content": "x"}, id="Write"),
    pytest.param("Edit", {"oldString": "SECRET", "newString": "x"}, id="Edit"),
    pytest.param("Edit", {"oldString": "SECRE", "newString": "SECRE"}, id="Edit without a change"),
]

KINDS: dict[str, Callable[[Path], object]] = {
    "file": lambda path: path.write_text("SECRET"),
    "unreadable file": lambda path: (path.write_text("SECRET"), path.chmod(0)),
    "binary file": lambda path: path.write_bytes(b"SECRET\0"),
    "directory": Path.mkdir,
    "fifo": os.mkfifo,
    "link out": lambda path: path.symlink_to("/etc"),
    "link loop": lambda path: path.symlink_to(path.name),
}

SPELLINGS = [
    "secret/x",
    "secret/x/",
    "secret/x/.",
    "secret/./x",
    "secret/x/y",
    "secret/x/y/z",
    "secret/x/y/../z",
    "secret/x/../x/../../secret/y",
    "secret/x/" + "n" * 300,
    "alias",
    "alias/y",
]


class Deny:
    """Denies one directory and what is in it; keeps what it was asked."""

    def __init__(self, directory: Path, verdict: Any = "deny") -> None:
        self.directory = str(directory)
        self.verdict = verdict

    def decide(self, request: PermissionRequest) -> Decision:
        inside = any((target.path + "/").startswith(self.directory + "/") for target in request.targets)
        return Decision(self.verdict if inside else "allow")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "ws"
    (root / "secret").mkdir(parents=True)
    (root / "alias").symlink_to("secret/x")
    return root


async def answer(root: Path, verdict: str, tool: str, arguments: dict[str, Any], spelling: str) -> str:
    log = InMemoryEventLog()
    executor = create_tool_executor(ToolConfig(roots=(str(root),)), policy=Deny(root / "secret", verdict), log=log)
    with pytest.raises(PermissionDeniedError) as denied:
        await executor.call(tool, {"filePath": spelling, **arguments})
    assert "SECRET" not in f"{denied.value}{[event for event in log if not hasattr(event, 'arguments')]}"
    return str(denied.value)


@pytest.mark.contract("X4", "P2")
@pytest.mark.parametrize("verdict", ["deny", "ask"])
@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling[:30])
@pytest.mark.parametrize(("tool", "arguments"), CALLS[:3])
async def test_the_answer_is_the_same_whatever_is_there(
    root: Path, verdict: str, spelling: str, tool: str, arguments: dict[str, Any]
) -> None:
    path = root / "secret" / "x"
    nothing = await answer(root, verdict, tool, arguments, spelling)
    for kind, make in KINDS.items():
        if kind == "directory" and ".." in spelling:
            continue  # the way through it leads on, and what is behind is judged
        make(path)
        assert await answer(root, verdict, tool, arguments, spelling) == nothing, kind
        shutil.rmtree(path) if kind == "directory" else path.unlink()


@pytest.mark.contract("X4")
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_nothing_of_the_content_shows(root: Path, tool: str, arguments: dict[str, Any]) -> None:
    (root / "secret" / "x").write_text("SECRET")
    executor = create_tool_executor(ToolConfig(roots=(str(root),)), policy=Deny(root / "secret"))
    try:
        told = str((await executor.call(tool, {"filePath": "secret/x", **arguments})).value)
    except PermissionDeniedError as error:
        told = str(error)
    assert "SECRET" not in told
    assert (root / "secret" / "x").read_text() == "SECRET"


@pytest.mark.contract("P1", "T4")
async def test_what_is_not_denied_is_told_as_before(root: Path) -> None:
    (root / "file").write_text("")
    executor = create_tool_executor(ToolConfig(roots=(str(root),)), policy=Deny(root / "secret"))
    result = await executor.call("Read", {"filePath": "file/y"})
    assert result.value["error"] == (
        f"file/y: {root}/file is not a directory, so nothing lies below it. Check the path."
    )
