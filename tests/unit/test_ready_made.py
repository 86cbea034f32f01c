"""Which tools stand ready-made, and that everything else is built where it is known what it may touch (T7)."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.tools import FunctionTool, ToolDefinitionError, adapters, builtin
from openbuffer.tools import host as host_entry

if TYPE_CHECKING:
    from types import ModuleType

pytestmark = pytest.mark.contract("T7")

READY_MADE = {"WebFetch", "WebSearch", "AskUserQuestion"}


def modules() -> list[ModuleType]:
    """The host entry, and every module that builds tools or fulfils their ports."""
    names = [
        f"{each.__name__}.{found.name}" for each in (builtin, adapters) for found in pkgutil.iter_modules(each.__path__)
    ]
    return [host_entry, *map(importlib.import_module, names)]


def test_the_three_that_touch_no_files_and_no_processes_are_ready_made_and_no_other() -> None:
    instances = [value for each in modules() for value in vars(each).values() if isinstance(value, FunctionTool)]
    assert {tool.name for tool in instances} == READY_MADE
    at_the_entry = [value for value in vars(host_entry).values() if isinstance(value, FunctionTool)]
    assert sorted(tool.name for tool in at_the_entry) == sorted(READY_MADE)


def test_every_factory_of_a_tool_on_files_or_processes_wants_its_root() -> None:
    on_the_host: list[str] = []
    for name in host_entry.__all__:
        factory: Any = getattr(host_entry, name)
        if not inspect.isfunction(factory) or "cwd" not in inspect.signature(factory).parameters:
            continue
        on_the_host.append(name)
        cwd = inspect.signature(factory).parameters["cwd"]
        assert (cwd.kind, cwd.default) == (cwd.KEYWORD_ONLY, cwd.empty), name
        with pytest.raises(ToolDefinitionError, match="cwd"):
            factory(cwd="")
    assert {"create_read_tool", "create_write_tool", "create_shell_tool", "create_grep_tool"} <= set(on_the_host)


def test_they_are_imported_without_a_look_at_the_environment_files_or_the_network() -> None:
    script = """
import os, sys
seen = []
def hook(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.system")):
        seen.append(event)
sys.addaudithook(hook)
class Watched(dict):
    def get(self, name, default=None):
        seen.append(name)
        return default
    def __getitem__(self, name):
        seen.append(name)
        raise KeyError(name)
import pydantic, anyio
os.environ = Watched()
import openbuffer.tools.host as host
print(host.web_fetch.name, host.web_search.name, host.ask_user_question.name)
print([name for name in seen if "KEY" in name or "." in name])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "WebFetch WebSearch AskUserQuestion\n[]"), done.stderr
