"""The shipped client opens and closes folders, has settings, and says whether its user trusts the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openbuffer.bridge.client import BridgeClient
from openbuffer.bridge.headless import open_headless

from .test_workspace_folders import Place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    place = Place(tmp_path.resolve())
    for name, value in place.variables.items():
        monkeypatch.setenv(name, value)
    return place


@pytest.mark.contract("B2", "B7")
async def test_a_client_in_python_changes_folders_settings_and_trust(place: Place) -> None:
    one, two = place.folder("one"), place.folder("two")
    denies = {"permissions": {"deny": ["Read(a.txt)"]}}
    async with BridgeClient([one], settings=denies, workspace_trusted=False) as client:
        assert "Write" not in [tool["name"] for tool in await client.list_tools()]
        assert (await client.call_tool("Read", {"filePath": "a.txt"})).is_error
        client.change_settings(None)
        assert "text of one" in (await client.call_tool("Read", {"filePath": "a.txt"})).output
        client.change_trust(trusted=True)
        assert "Write" in [tool["name"] for tool in await client.list_tools()]
        client.change_folders(added=[str(two)], removed=[one])
        assert "text of two" in (await client.call_tool("Read", {"filePath": "a.txt"})).output


@pytest.mark.contract("B2", "E5", "E11")
async def test_documents_of_a_folder_that_is_opened_later_are_the_editor_s(place: Place) -> None:
    one, two = place.folder("one"), place.folder("two")
    async with open_headless([one]) as editor:
        opened = str(two / "a.txt")
        editor.memory.open(opened)
        assert (await editor.call_tool("Read", {"filePath": opened})).is_error
        editor.bridge.change_folders(added=[two])
        assert "in the open document" in (await editor.call_tool("Read", {"filePath": opened})).output
        edit = {"filePath": opened, "oldString": "text", "newString": "word"}
        answer = await editor.call_tool("Edit", edit)
        assert not answer.is_error, answer.output
        assert editor.memory.buffer(opened).text == "word of two\n"
        editor.bridge.change_folders(removed=[two])
        assert (await editor.call_tool("Edit", {**edit, "oldString": "word"})).is_error
        assert editor.memory.buffer(opened).text == "word of two\n"
