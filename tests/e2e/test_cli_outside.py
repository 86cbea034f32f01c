"""Tools that reach the web and the user, from the command line: what they say where nobody and nothing is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMAND = str(Path(sys.executable).with_name("openbuffer"))


def call(
    workspace: Path, tool: str, arguments: dict[str, Any], *options: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "BRAVE_API_KEY"}
    return subprocess.run(
        [COMMAND, "call", *options, tool, json.dumps(arguments)],
        cwd=workspace,
        env={**environment, "HOME": str(workspace.parent), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    return root


@pytest.mark.contract("W3", "B1")
def test_a_question_is_unavailable_with_the_reason_and_the_call_fails(workspace: Path) -> None:
    done = call(workspace, "AskUserQuestion", {"questions": [{"question": "Which?", "options": ["a", "b"]}]})
    assert done.returncode == 1
    assert "The user could not be asked question 1 (questions go to the editor" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.contract("W2", "X4")
def test_a_search_is_there_with_its_key_and_judged_by_where_it_goes(workspace: Path) -> None:
    without = call(workspace, "WebSearch", {"query": "x"})
    assert without.returncode != 0
    assert "no tool is named 'WebSearch'" in without.stderr
    assert "WebSearch is there with BRAVE_API_KEY in the environment, or with search.provider" in without.stderr
    config = workspace.parent / "mine.toml"
    config.write_text('[permissions]\ndeny = ["NETWORK(domain:*.brave.com)"]\n')
    key = "BSA-0123456789abcdef"
    denied = call(workspace, "WebSearch", {"query": "x"}, "--config", str(config), BRAVE_API_KEY=key)
    assert denied.returncode != 0
    assert "https://api.search.brave.com/res/v1/web/search?q=x" in denied.stderr
    assert "is not permitted" in denied.stderr
    assert key not in denied.stdout + denied.stderr
