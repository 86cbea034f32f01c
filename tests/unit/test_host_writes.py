"""What the sandbox is told of the tools' own changes is what the files then hold, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.host_writes import ToldEventLog
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.executor import create_tool_executor

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.tools.events import Event

Told = list[tuple[str, bytes]]


async def told_by(root: Path, name: str, **arguments: Any) -> Told:
    """What is told of one call."""
    told: Told = []
    log = ToldEventLog(InMemoryEventLog(), lambda path, content: told.append((path, content)))
    await create_tool_executor(ToolConfig(roots=(root,)), log=log).call(name, arguments)
    return told


@pytest.mark.contract("S9")
@pytest.mark.parametrize("text", ["", "one line", "é\r\n\r\n😋", "\n\n", "a\rb\n"])
async def test_a_new_file_is_told_before_and_after_it_is_made(tmp_path: Path, text: str) -> None:
    told = await told_by(tmp_path, "Write", filePath=".vscode/settings.json", content=text)
    file = tmp_path / ".vscode" / "settings.json"
    assert told == [(str(file), file.read_bytes())] * 2


@pytest.mark.contract("S9")
@pytest.mark.parametrize(
    ("before", "old", "new"),
    [
        (b"a\nb\nc\nb\n", "b", "B\nB"),
        (b"b", "b", "c\n"),
        (b"a\r\nb\r\n\r\nb", "b\n", ""),
        (b"b\n" * 3 + b"x" * 9 + b"\nb", "b", "\u00e9"),
        (b"b\nc", "b\nc", ""),
    ],
)
async def test_a_changed_file_is_told_as_it_is_after_the_change(
    tmp_path: Path, before: bytes, old: str, new: str
) -> None:
    file = tmp_path / ".mcp.json"
    file.write_bytes(before)
    told = await told_by(tmp_path, "Edit", filePath=".mcp.json", oldString=old, newString=new, replaceAll=True)
    assert file.read_bytes() != before
    assert told == [(str(file), file.read_bytes())] * 2


@pytest.mark.contract("S9")
@pytest.mark.parametrize("before", [b"\xef\xbb\xbfb\n", "é b".encode("utf-16"), "größer b\n".encode("latin-1")])
async def test_of_another_encoding_nothing_wrong_is_told(tmp_path: Path, before: bytes) -> None:
    file = tmp_path / ".envrc"
    file.write_bytes(before)
    told = await told_by(tmp_path, "Edit", filePath=".envrc", oldString="b", newString="c")
    assert all(content == file.read_bytes() for _, content in told)


@pytest.mark.contract("S9")
async def test_nothing_is_told_of_other_files_and_of_what_is_not_done(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("x")
    assert await told_by(tmp_path, "Write", filePath="src/a.json", content="x") == []
    assert await told_by(tmp_path, "Edit", filePath=".npmrc", oldString="absent", newString="y") == []
    assert await told_by(tmp_path, "Delete", path=".npmrc") == []


@pytest.mark.contract("S9", "X2")
async def test_what_cannot_be_recorded_is_not_told(tmp_path: Path) -> None:
    class Full:
        async def append(self, event: Event) -> None:
            raise OSError(f"no room for {event.call_id}")

    told: Told = []
    log = ToldEventLog(Full(), lambda path, content: told.append((path, content)))
    with pytest.raises(Exception, match="could not be written"):
        await create_tool_executor(ToolConfig(roots=(tmp_path,)), log=log).call(
            "Write", {"filePath": ".npmrc", "content": "x"}
        )
    assert told == []
    assert not (tmp_path / ".npmrc").exists()
