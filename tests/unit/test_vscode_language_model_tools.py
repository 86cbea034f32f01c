"""``contributes.languageModelTools`` of the VS Code extension is what the server lists (B4)."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

CLIENT = Path(__file__).parents[2] / "vscode-client"
PACKAGE: dict[str, Any] = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
CONTRIBUTED: list[dict[str, Any]] = PACKAGE["contributes"]["languageModelTools"]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "language_model_tools", CLIENT / "scripts" / "language_model_tools.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.contract("B4", "T3")
def test_the_contributed_tools_are_those_of_the_server_with_their_schemas() -> None:
    made = script()
    tools = made.tools_of_server()
    by_name = {tool["name"]: tool for tool in tools}
    assert [tool["name"] for tool in CONTRIBUTED] == [f"openbuffer_{name}" for name in by_name]
    for tool in CONTRIBUTED:
        assert tool["inputSchema"] == by_name[tool["name"].removeprefix("openbuffer_")]["inputSchema"]
    # All the rest too; `python vscode-client/scripts/language_model_tools.py` puts it right.
    assert made.contributions(tools) == CONTRIBUTED


@pytest.mark.parametrize("tool", CONTRIBUTED, ids=lambda tool: tool["name"])
def test_a_contributed_tool_is_offered_to_agents_and_says_nothing_of_this_machine(tool: dict[str, Any]) -> None:
    assert tool["canBeReferencedInPrompt"] is True
    assert re.fullmatch(r"[A-Za-z]+", tool["toolReferenceName"])
    assert re.fullmatch(r"\$\([a-z-]+\)", tool["icon"])
    assert {"displayName", "userDescription", "modelDescription", "tags"} <= set(tool)
    assert not re.search(r"(?<![A-Za-z])/(usr|bin|home|tmp)/", tool["modelDescription"])


def test_what_is_declared_as_a_command_is_registered() -> None:
    declared = {command["command"] for command in PACKAGE["contributes"]["commands"]}
    sources = "\n".join(file.read_text(encoding="utf-8") for file in (CLIENT / "src").rglob("*.ts"))
    used = set(re.findall(r'"(openbuffer\.[A-Za-z.]+)"', sources))
    for command in declared:
        assert command in used or f'command("{command.rsplit(".", 1)[1]}"' in sources, command
    menus = [entry["command"] for menu in PACKAGE["contributes"]["menus"].values() for entry in menu]
    keys = [entry["command"] for entry in PACKAGE["contributes"]["keybindings"]]
    assert set(menus) | set(keys) <= declared


def test_whatever_the_package_shows_is_there() -> None:
    contributes = PACKAGE["contributes"]
    shown = [PACKAGE["icon"], *(each["icon"] for each in contributes["viewsContainers"]["activitybar"])]
    shown += [grammar["path"] for grammar in contributes["grammars"]]
    for walkthrough in contributes["walkthroughs"]:
        shown += [step["media"]["markdown"] for step in walkthrough["steps"]]
        for step in walkthrough["steps"]:
            commands = re.findall(r"\(command:(openbuffer\.[A-Za-z.]+)", step["description"])
            declared = {command["command"] for command in contributes["commands"]} | {"openbuffer.calls.focus"}
            assert set(commands) <= declared
    assert [path for path in shown if not (CLIENT / path).is_file()] == []
