"""Deferred tools and tasks as the client of a bridge has them (W4, W7, B1)."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.client import ToolAnswer
from openbuffer.bridge.client_facts import ClientFacts
from openbuffer.bridge.handlers.list_tools import list_tools
from openbuffer.bridge.protocol import ToolCall
from openbuffer.bridge.session import Session, ToolExecutor
from openbuffer.bridge.wiring import create_builtin_executor
from openbuffer.tools import create_function_tool
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import create_tool_executor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def begun(create_executor: Callable[[tuple[str, ...], Any], ToolExecutor], root: str) -> Session:
    session = Session(create_executor=create_executor, create_client=lambda _facts: None, send_progress=print)  # type: ignore[arg-type, return-value]
    session.begin(ClientFacts(roots=(root,)))
    return session


def with_deferred(roots: tuple[str, ...], _editor: object) -> ToolExecutor:
    own = create_function_tool(
        "weather", "Tells the weather.", {"type": "object", "properties": {}}, lambda _given: "sun", deferred=True
    )
    return create_tool_executor(ToolConfig(roots=roots, writes=False, commands=False, tools=(own,)))


async def listed(session: Session) -> list[str]:
    return [tool["name"] for tool in (await list_tools(session, None))["tools"]]


@pytest.mark.contract("W4", "B1")
async def test_a_client_sees_a_deferred_tool_once_it_is_loaded_and_is_told_so_in_that_answer(tmp_path: Path) -> None:
    session = begun(with_deferred, str(tmp_path))
    assert await listed(session) == ["Read", "ListDir", "Glob", "Grep", "ToolSearch"]
    refused = await session.call(ToolCall("weather", {}))
    assert refused["isError"]
    assert refused.get("error", {}).get("reason") == "deferred"  # type: ignore[union-attr]
    assert "toolsChanged" not in refused
    loaded = await session.call(ToolCall("ToolSearch", {"query": "weather"}))
    assert loaded["isError"] is False
    assert loaded.get("toolsChanged") is True
    assert ToolAnswer.from_json(loaded).tools_changed
    assert await listed(session) == ["Read", "ListDir", "Glob", "Grep", "weather", "ToolSearch"]
    again = await session.call(ToolCall("ToolSearch", {"names": ["weather"]}))
    assert "toolsChanged" not in again
    assert not ToolAnswer.from_json(again).tools_changed
    assert (await session.call(ToolCall("weather", {}))) == {"name": "weather", "isError": False, "data": "sun"}


@pytest.mark.contract("W4")
async def test_another_session_begins_with_nothing_loaded(tmp_path: Path) -> None:
    session = begun(with_deferred, str(tmp_path))
    await session.call(ToolCall("ToolSearch", {"names": ["weather"]}))
    session.begin(ClientFacts(roots=(str(tmp_path),)))
    assert "weather" not in await listed(session)


@pytest.mark.contract("W7")
async def test_a_session_of_an_editor_has_tasks_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME"):
        (tmp_path / name).mkdir(mode=0o700)
        monkeypatch.setenv(name, str(tmp_path / name))
    root = tmp_path / "workspace"
    root.mkdir()
    with ExitStack() as ending:

        def create(roots: tuple[str, ...], editor: Any) -> ToolExecutor:
            return create_builtin_executor(roots, editor, ending=ending)

        session, other = begun(create, str(root)), begun(create, str(root))
        created = await session.call(ToolCall("TaskCreate", {"title": "Mend it"}))
        assert json.loads(created["data"]["output"])["id"] == 1  # type: ignore[typeddict-item]
        assert "Mend it" in (await session.call(ToolCall("TaskList", {})))["data"]["output"]  # type: ignore[typeddict-item]
        assert (await other.call(ToolCall("TaskList", {})))["data"]["output"] == "The session has no tasks."  # type: ignore[typeddict-item]
        assert "ToolSearch" not in await listed(session)
