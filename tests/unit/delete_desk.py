"""A root with one file, and Delete called in it: what the tests of Delete have in common."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from openbuffer.tools import FunctionTool, InvocationResult, Plan, ToolContext
from openbuffer.tools.host import create_delete_tool
from openbuffer.tools.permissions import Decision, PermissionRequest

if TYPE_CHECKING:
    from pathlib import Path


def workspace(folder: Path) -> Path:
    """A root below this folder, by its real path, with ``f.txt`` in it."""
    root = folder.resolve() / "ws"
    root.mkdir()
    (root / "f.txt").write_bytes(b"a\nb\nc")
    return root


async def delete(root: Path, path: str = "f.txt", **options: Any) -> InvocationResult:
    result = await create_delete_tool(cwd=root, **options).execute({"path": path})
    assert result.invocation is not None
    assert result.success == result.invocation.success
    return result.invocation


async def planned(tool: FunctionTool, path: str = "f.txt", context: ToolContext | None = None) -> Plan:
    return await tool.prepare(tool.validate({"path": path}), context or ToolContext())


def tree(root: Path) -> dict[str, str]:
    """What is below a root, links and contents told."""
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = path.read_text() if path.is_file() else "dir" if path.is_dir() else "special"
    return found


class Gate:
    """Denies one directory, and keeps what it was asked."""

    def __init__(self, denied: Path, verdict: Any = "deny") -> None:
        self.denied = str(denied)
        self.verdict = verdict
        self.asked: list[tuple[str, str]] = []

    def decide(self, request: PermissionRequest) -> Decision:
        self.asked += [(request.stage, target.path) for target in request.targets]
        inside = any((target.path + "/").startswith(self.denied + "/") for target in request.targets)
        return Decision(self.verdict if inside else "allow")
