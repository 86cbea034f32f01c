"""The default tier: what it is, that it is pure, and that nobody but a composition root has it (X6)."""

from __future__ import annotations

import ast
import builtins
import io
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import pytest
from openbuffer import tools as neutral
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.sandbox.memory_client import InMemorySandboxClient
from openbuffer.tools import FunctionTool, ToolContext, ToolDefinitionError
from openbuffer.tools import host as host_entry
from openbuffer.tools.adapters.asks import InMemoryAsks
from openbuffer.tools.defaults import create_default_tools

from .command_desk import Pretence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TIER = ("Shell", "Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "AskUserQuestion")
"""As docs/contract.md has it."""

COMPOSITION_ROOTS: set[str] = set()
"""The modules of ours that may import the tier. The bridge assembles its tools by ``ToolConfig``."""

ROOT = Path(__file__).resolve().parents[2]


def names(tools: tuple[FunctionTool, ...]) -> list[str]:
    return [tool.name for tool in tools]


def seen(tools: tuple[FunctionTool, ...]) -> list[Mapping[str, Any]]:
    """All that a model, the gate and the log can tell of the tools."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "schema": tool.input_schema,
            "capabilities": tool.capabilities,
            "deferred": tool.deferred,
        }
        for tool in tools
    ]


def asked() -> MemoryEditorAccess:
    return MemoryEditorAccess(MemoryEditor())


@pytest.mark.contract("X6")
def test_the_tier_is_that_of_the_contract_in_its_order() -> None:
    contract = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"is the default tier \(([^)]*)\)", contract)
    assert tuple(re.findall(r"\w+", listed)) == TIER
    assert names(create_default_tools(cwd="/w")) == list(TIER)


@pytest.mark.contract("X6", "S4", "E4")
def test_a_sandbox_with_files_of_its_own_has_no_searches_and_no_editor() -> None:
    def editor() -> NoReturn:
        raise AssertionError("the editor was asked, and its files are the host's")

    elsewhere = create_default_tools(cwd="/workspace", sandbox=InMemorySandboxClient(), editor=editor)
    assert names(elsewhere) == ["Shell", "Bash", "Read", "Write", "Edit", "WebFetch", "AskUserQuestion"]
    assert all("in the session's sandbox" in tool.description for tool in elsewhere[:5])
    assert not [tool.name for tool in elsewhere if "editor" in tool.description]
    here = create_default_tools(cwd="/w", sandbox=Pretence())
    assert names(here) == names(create_default_tools(cwd="/w"))

    async def scenario() -> None:
        tools = {tool.name: tool for tool in elsewhere}
        assert (await tools["Write"].execute({"filePath": "f", "content": "x\n"})).success
        assert "x" in (await tools["Shell"].execute({"command": "cat f"})).value["output"]

    anyio.run(scenario)


@pytest.mark.contract("X6", "E4")
def test_the_editor_reaches_file_tools_and_searches_and_never_the_commands() -> None:
    told = {tool.name: "attached editor" in tool.description for tool in create_default_tools(cwd="/w", editor=asked)}
    on_files = dict.fromkeys(("Read", "Write", "Edit", "Glob", "Grep"), True)
    assert told == {**dict.fromkeys(("Shell", "Bash", "WebFetch", "AskUserQuestion"), False), **on_files}


@pytest.mark.contract("X6")
def test_the_same_options_give_the_same_list_and_every_call_fresh_tools() -> None:
    for options in ({}, {"editor": asked}, {"sandbox": Pretence()}, {"sandbox": InMemorySandboxClient()}):
        given: Any = {"cwd": ("/w", "/v"), "environment": {"A": "b"}, **options}
        first, second = create_default_tools(**given), create_default_tools(**given)
        assert seen(first) == seen(second)
        assert not {id(tool) for tool in first} & {id(tool) for tool in second}
        assert not any(tool.deferred for tool in first)


@pytest.mark.contract("X6", "T7")
def test_it_throws_nothing_of_its_own_and_a_root_is_required_by_the_tools() -> None:
    for nowhere in ("", None, "relative", ()):
        with pytest.raises(ToolDefinitionError, match="cwd") as refused:
            create_default_tools(cwd=nowhere)  # type: ignore[arg-type]
        assert refused.traceback[-1].path.name == "paths.py"
    with pytest.raises(TypeError, match="cwd"):
        create_default_tools()  # type: ignore[call-arg]
    tier = ast.parse(module_file("tools/defaults.py").read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tier) if isinstance(node, (ast.Raise, ast.Try, ast.Assert))]


FORBIDDEN: list[tuple[Any, tuple[str, ...]]] = [
    (builtins, ("open",)),
    (io, ("open",)),
    (
        os,
        (
            *("open", "stat", "lstat", "access", "scandir", "listdir", "readlink", "getcwd", "getpid", "pipe", "fork"),
            *("read", "write", "mkdir", "unlink", "rename", "replace", "statvfs", "getenv", "urandom"),
        ),
    ),
    (os.path, ("exists", "isfile", "isdir", "realpath", "expanduser")),
    (socket, ("socket", "getaddrinfo")),
    (subprocess, ("Popen", "run")),
]


@pytest.mark.contract("X6")
@pytest.mark.parametrize("options", [{}, {"editor": asked}, {"sandbox": Pretence()}, {"sandbox": "elsewhere"}])
def test_building_it_looks_at_nothing_and_imports_nothing(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if options.get("sandbox") == "elsewhere":
        options = {"sandbox": InMemorySandboxClient()}
    create_default_tools(cwd="/w", **options)  # what is imported at first use is imported by now, if anything is
    modules = set(sys.modules)
    touched: list[str] = []

    def refusing(name: str) -> Callable[..., NoReturn]:
        def refuse(*_given: object, **_named: object) -> NoReturn:
            touched.append(name)
            raise AssertionError(f"{name} was called")

        return refuse

    with monkeypatch.context() as patched:
        for module, functions in FORBIDDEN:
            for function in functions:
                patched.setattr(module, function, refusing(f"{module.__name__}.{function}"))
        built = create_default_tools(cwd=("/no/such/root", "/another"), **options)
    assert touched == []
    assert set(sys.modules) == modules
    assert len(built) >= 5


@pytest.mark.contract("X6")
def test_building_it_in_a_fresh_process_causes_no_event_that_an_audit_sees() -> None:
    script = """
import sys
from openbuffer.tools.adapters.asks import InMemoryAsks
from openbuffer.tools.defaults import create_default_tools
seen = []
def hook(event, arguments):
    if not event.startswith(("object.", "code.", "sys._getframe", "compile", "exec")):
        seen.append(event)
sys.addaudithook(hook)
tools = create_default_tools(cwd="/no/such/root", environment={})
print(len(tools), seen)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, f"{len(TIER)} []"), done.stderr


@pytest.mark.contract("X6")
def test_a_module_of_ours_imports_it_only_where_tools_are_put_together_and_none_exports_it() -> None:
    importing = {
        str(path.relative_to(ROOT))
        for package in ("bridge", "editor_access", "sandbox", "tools")
        for path in (ROOT / package).rglob("*.py")
        if imports_the_tier(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert importing == COMPOSITION_ROOTS
    assert not hasattr(neutral, "create_default_tools")
    assert not hasattr(host_entry, "create_default_tools")


def imports_the_tier(module: ast.Module) -> bool:
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom):
            given = [f"{node.module or ''}.{alias.name}" for alias in node.names]
            if any(name.endswith("defaults") or ".defaults." in f".{name}" for name in [node.module or "", *given]):
                return True
        elif isinstance(node, ast.Import) and any(alias.name.endswith(".defaults") for alias in node.names):
            return True
    return False


def module_file(name: str) -> Path:
    return ROOT / name


@pytest.mark.contract("X6", "S1")
def test_the_shell_is_looked_for_when_it_is_needed_and_both_names_tell_it() -> None:
    tools = {tool.name: tool for tool in create_default_tools(cwd="/w")}
    for name in ("Shell", "Bash"):
        assert re.match(r"Runs a command line with \S+ on \S+ \(/\S+\)", tools[name].description)
    assert "Bash is the same tool by another name." in tools["Shell"].description
    assert "Shell is the same tool by another name." in tools["Bash"].description


@pytest.mark.contract("X6", "T7")
async def test_the_tools_of_the_tier_work(tmp_path: Path) -> None:
    tools = {tool.name: tool for tool in create_default_tools(cwd=tmp_path, environment={"OWN": "given"})}
    assert (await tools["Write"].execute({"filePath": "a.txt", "content": "one\n"})).success
    assert (await tools["Edit"].execute({"filePath": "a.txt", "oldString": "one", "newString": "two"})).success
    for name, arguments, expected in (
        ("Read", {"filePath": "a.txt"}, "two"),
        ("Glob", {"pattern": "*.txt"}, "a.txt"),
        ("Grep", {"pattern": "two"}, "a.txt"),
        ("Shell", {"command": "echo $OWN"}, "given"),
        ("Bash", {"command": "cat a.txt"}, "two"),
    ):
        result = await tools[name].execute(arguments)
        assert result.success, result.value
        assert expected in result.value["output"]
    assert "not fetched" in (await tools["WebFetch"].execute({"url": "file:///etc/passwd"})).value["error"]
    unasked = await tools["AskUserQuestion"].execute({"questions": [{"question": "Which?"}]})
    assert '"outcome": "unavailable"' in unasked.value["output"]
    port = InMemoryAsks("this one")
    answered = await tools["AskUserQuestion"].execute({"questions": [{"question": "Which?"}]}, ToolContext(ask=port))
    assert "this one" in answered.value["output"]
