"""Calls that meet at one file all get through."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.editor_access.lsp import LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.turns import Turns

if TYPE_CHECKING:
    from openbuffer.tools import ToolResult

CALLS = 20
TEXT = "".join(f"line {number:02}\n" for number in range(CALLS))


async def test_turns_of_one_name_are_taken_in_the_order_of_asking_and_others_do_not_wait() -> None:
    turns, order = Turns(), list[str]()
    go = anyio.Event()

    async def take(who: str, names: tuple[str, ...]) -> None:
        async with turns.of(names):
            order.append(who)
            if who == "first":
                await go.wait()

    async with anyio.create_task_group() as group:
        for who, names in (("first", ("a", "b")), ("second", ("b", "a")), ("third", ("a",)), ("other", ("c",))):
            group.start_soon(take, who, names)
            await anyio.wait_all_tasks_blocked()
        assert order == ["first", "other"]
        go.set()
    assert order == ["first", "other", "second", "third"]
    assert turns._turns == {}


async def test_a_turn_that_is_given_up_is_passed_on() -> None:
    turns = Turns()
    async with anyio.create_task_group() as group:
        async with turns.of(("a",)):
            scope = anyio.CancelScope()

            async def wait() -> None:
                with scope:
                    async with turns.of(("a", "b")):
                        raise AssertionError("it was not its turn")

            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
        async with turns.of(("a", "b")):
            pass
    assert turns._turns == {}


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = Path(os.path.realpath(tmp_path), "a.txt")
    path.write_text(TEXT)
    return str(path)


@pytest.mark.contract("E12")
@pytest.mark.parametrize("place", ["disk", "document"])
async def test_twenty_edits_of_one_file_at_the_same_time_all_land(path: str, place: str) -> None:
    editor = MemoryEditor()
    client = MemoryLanguageClient(editor, encoding="utf-16")
    access = LspEditor(client, encoding="utf-16")
    client.connect(access)
    if place == "document":
        editor.open(path)
    executor = create_tool_executor(ToolConfig(roots=(os.path.dirname(path),), editor=lambda: access))
    results: list[ToolResult] = []

    async def edit(number: int) -> None:
        arguments = {"filePath": path, "oldString": f"line {number:02}", "newString": f"LINE {number:02}"}
        results.append(await executor.call("Edit", arguments))

    async with anyio.create_task_group() as group:
        for number in range(CALLS):
            group.start_soon(edit, number)
    assert [result.value for result in results if not result.success] == []
    shown = editor.buffer(path).text if place == "document" else await anyio.Path(path).read_text()
    assert shown == TEXT.upper()
