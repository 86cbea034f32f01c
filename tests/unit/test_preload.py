"""A server that listens imports what calls need before it lets anybody in."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

CODE = """
import asyncio, json, sys
from contextlib import ExitStack
import openbuffer.bridge.wire.sockets
from openbuffer.bridge.preload import import_tools
from openbuffer.bridge.wiring import create_builtin_executor
from openbuffer.tools.contract import ToolContext

async def main(root):
    import_tools()
    before = set(sys.modules)
    with ExitStack() as ending:
        executor = create_builtin_executor((root,), lambda: None, ending=ending)
        for name, arguments in {
            "Read": {"filePath": "a"},
            "Edit": {"filePath": "a", "oldString": "a", "newString": "b"},
            "Glob": {"pattern": "*"},
            "Shell": {"command": "true"},
            "Grep": {"pattern": "b"},
        }.items():
            result = await executor.call(name, arguments, ToolContext())
            assert result.success, result
    print(json.dumps(sorted(name for name in set(sys.modules) - before if name.startswith("openbuffer"))))

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.contract("B3")
def test_no_call_of_a_tool_imports_anything_of_ours_any_more(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n")
    command = [sys.executable, "-P", "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=50)
    assert json.loads(done.stdout) == [], "name them in bridge/preload.py, or what imports them"
