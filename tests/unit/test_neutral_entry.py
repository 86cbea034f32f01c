"""Importing the neutral entries touches no host (T9)."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = (
    *("anyio", "asyncio", "fcntl", "http", "httpx", "lsprotocol", "multiprocessing", "pygls"),
    *("socket", "sqlite3", "ssl", "subprocess", "urllib.request"),
)


@pytest.mark.contract("T9")
@pytest.mark.parametrize("entry", ["openbuffer.tools", "openbuffer.editor_access", "openbuffer.sandbox"])
def test_a_neutral_entry_imports_with_every_host_module_blocked(entry: str) -> None:
    script = f"import sys; sys.modules.update(dict.fromkeys({BLOCKED!r})); import {entry}; print('imported')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "imported"), done.stderr


@pytest.mark.contract("T9", "T1")
def test_a_custom_tool_is_built_and_run_without_the_host_entry() -> None:
    script = """
import sys, openbuffer.tools as t
tool = t.create_function_tool("w", "W.", {"type": "object", "properties": {}}, lambda a: 7)
step = tool.execute({}).send
try:
    step(None)
except StopIteration as end:
    print(end.value.data, any(m.startswith("openbuffer.tools.builtin") for m in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "7 False"), done.stderr
