"""The whole tool set in a sandbox with files of its own, as ``ToolConfig(sandbox=...)`` gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import create_tool_executor

if TYPE_CHECKING:
    from openbuffer.sandbox import SandboxClient

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("Write", {"filePath": "d/f", "content": "old\n"}, "Written in the sandbox"),
    ("Read", {"filePath": "d/f"}, "1\told"),
    ("Edit", {"filePath": "d/f", "oldString": "old", "newString": "new"}, "1 place"),
    ("Shell", {"command": "cat d/f"}, "new\n"),
    ("Bash", {"command": "cat f", "workingDirectory": "d"}, "new\n"),
    ("Delete", {"path": "d/f"}, "Deleted"),
    ("Delete", {"path": "d"}, "an empty directory"),
    ("Shell", {"command": "ls"}, ""),
]


async def require_tools_work(client: SandboxClient, root: str) -> None:
    """Write, read, edit, show by a command and delete a file, all of it in there."""
    executor = create_tool_executor(ToolConfig(roots=(root,), editor=_editor, sandbox=client))
    assert {tool.name for tool in executor.tools} >= {"Read", "Write", "Edit", "Delete", "Shell", "Bash"}
    for name, arguments, told in CALLS:
        result = await executor.call(name, arguments)
        assert result.success, (name, result.value)
        assert told in result.value["output"], (name, result.value)
    missing = await executor.call("Read", {"filePath": "d/f"})
    assert not missing.success
    assert "no such file" in missing.value["error"]


def _editor() -> NoReturn:
    raise AssertionError("the editor was asked, and its files are the host's")
