"""Write `contributes.languageModelTools` of package.json from the list of the server itself; `--check` only compares.

The list is that of a server on this machine with every optional part: what a description says of the machine is
replaced by what holds on all of them. Run it in the environment of the tests, and `npm run format` after it.
"""
# ruff: noqa: INP001  a script that is started by its path

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from openbuffer.bridge.client import BridgeClient

PACKAGE: Final = Path(__file__).parent.parent / "package.json"

LOOKS: Final[dict[str, tuple[str, str, str]]] = {
    "Read": ("Read (live)", "book", "Read a file as the editor shows it, saved or not"),
    "Write": ("Write (live)", "new-file", "Write a whole file, in the editor where it is open"),
    "Edit": ("Edit (live)", "edit", "Replace a text in a file, in the editor where it is open"),
    "Delete": ("Delete", "trash", "Delete a file, a link or an empty directory"),
    "ListDir": ("List Directory", "list-tree", "List what is in a directory"),
    "Glob": ("Find Files", "file-symlink-file", "Find files by a pattern of their paths"),
    "Grep": ("Search Text", "search", "Search files for a regular expression; names documents that are not saved"),
    "CodebaseRetrieval": ("Map of the Code", "type-hierarchy", "List the definitions that matter most for a question"),
    "Shell": ("Shell", "terminal", "Run a command, in the sandbox where it is switched on"),
    "Bash": ("Bash", "terminal-bash", "Run a command, in the sandbox where it is switched on"),
    "WebFetch": ("Fetch Page", "globe", "Fetch a page of the public internet as Markdown"),
    "WebSearch": ("Search the Web", "search-fuzzy", "Search the web with the provider of the settings"),
    "AskUserQuestion": ("Ask the User", "comment-discussion", "Ask you a question, with choices or for a text"),
    "TaskCreate": ("Add Task", "add", "Add a task to the list of the session"),
    "TaskUpdate": ("Change Task", "tasklist", "Change a task of the session"),
    "TaskList": ("List Tasks", "checklist", "List the tasks of the session"),
}
"""Of each tool the name for people, a codicon, and what it does in a few words; one without an entry fails."""

OPTIONAL: Final = frozenset({"CodebaseRetrieval", "WebSearch"})
"""Tools that a server may not have: they are offered once it has listed them."""

OF_THE_MACHINE: Final = (
    (re.compile(r"with \w+ on [A-Za-z0-9 ]+ \([^)]*\)"), "with the shell of the user's machine"),
    (re.compile(r" The provider is [^.]+\."), ""),
)


def contributions(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries for tools as the server lists them."""
    return [_contribution(tool) for tool in tools]


def _contribution(tool: dict[str, Any]) -> dict[str, Any]:
    name: str = tool["name"]
    display_name, icon, user_description = LOOKS[name]
    return {
        "name": f"openbuffer_{name}",
        "toolReferenceName": f"openbuffer{name}",
        "displayName": display_name,
        "userDescription": user_description,
        "modelDescription": description_everywhere(tool["description"]),
        "icon": f"$({icon})",
        "canBeReferencedInPrompt": True,
        "when": f"openbuffer.withTool.{name}" if name in OPTIONAL else f"!openbuffer.withoutTool.{name}",
        "tags": ["openbuffer", *(f"openbuffer:{capability}" for capability in sorted(tool["capabilities"]))],
        "inputSchema": tool["inputSchema"],
    }


def description_everywhere(description: str) -> str:
    """A description without what it says of this machine."""
    for pattern, instead in OF_THE_MACHINE:
        description = pattern.sub(instead, description)
    return description


def tools_of_server() -> list[dict[str, Any]]:
    """The list of a server that has every optional part, and whose configuration says nothing."""
    with tempfile.TemporaryDirectory(prefix="openbuffer-tools-") as directory:
        homes = {"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"}
        workspace = Path(directory, "workspace")
        workspace.mkdir()
        Path(directory, "run").mkdir(mode=0o700)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBUFFER_")}
        environment |= {name: str(Path(directory, each)) for name, each in homes.items()}
        # Not a key: that there is one is what the list depends on.
        environment["BRAVE_API_KEY"] = "none-that-is-used"
        return asyncio.run(_listed(workspace, environment))


async def _listed(workspace: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    async with BridgeClient(workspace, environment=environment) as client:
        return [dict(tool) for tool in await client.list_tools()]


def main() -> int:
    """Write, or compare; the exit code is 1 where they differ."""
    package = json.loads(PACKAGE.read_text(encoding="utf-8"))
    made = contributions(tools_of_server())
    if "--check" in sys.argv[1:]:
        is_same = package["contributes"].get("languageModelTools") == made
        if not is_same:
            sys.stderr.write("package.json is not in step: run this script without --check\n")
        return 0 if is_same else 1
    package["contributes"]["languageModelTools"] = made
    PACKAGE.write_text(json.dumps(package, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
