"""Rules in the configuration, as they hold in ``call`` and in ``serve``: for every tool, whoever wrote the files."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from .test_bridge_commands import COMMAND, Place, confining

if TYPE_CHECKING:
    from pathlib import Path

DENIES = '[permissions]\ndeny = ["Read(secret/**)", "Read(*.key)", "Edit(fixed.txt)", "Bash(rm *)"]\n'


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path.resolve())
    place.config.write_text(DENIES)
    (place.root / "secret").mkdir()
    (place.root / "secret" / "plan.txt").write_text("hush\n")
    (place.root / "host.key").write_text("hush\n")
    (place.root / "open.txt").write_text("hush, said nobody\n")
    (place.root / "fixed.txt").write_text("one\n")
    return place


def call(place: Place, name: str, arguments: dict[str, Any], *options: str) -> dict[str, Any]:
    """The answer object of ``openbuffer call``."""
    done = subprocess.run(
        [COMMAND, "call", "--json", *options, name, json.dumps(arguments)],
        cwd=place.root,
        env={**os.environ, **place.variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


async def serve(place: Place, calls: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The answers of a server to these calls."""
    async with place.server() as client:
        return [
            (await client.request("openbuffer/callTool", {"name": name, "arguments": arguments}))["result"]
            for name, arguments in calls
        ]


def reason(answer: dict[str, Any]) -> str:
    return answer["error"]["reason"] if "error" in answer else ""


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"filePath": "secret/plan.txt"}),
    ("Read", {"filePath": "host.key"}),
    ("Read", {"filePath": "secret/not there"}),
    ("Edit", {"filePath": "host.key", "oldString": "hush", "newString": "x"}),
    ("Edit", {"filePath": "fixed.txt", "oldString": "one", "newString": "x"}),
    ("Write", {"filePath": "fixed.txt", "content": "x"}),
    ("Grep", {"pattern": "hush", "path": "secret"}),
    ("Glob", {"pattern": "*", "path": "secret"}),
    ("ListDir", {"path": "secret"}),
    ("Bash", {"command": "true && rm open.txt"}),
    ("Shell", {"command": "env X=1 rm open.txt"}),
]


@pytest.mark.contract("X4", "B1")
@pytest.mark.parametrize("face", ["call", "serve"])
async def test_what_is_denied_is_denied_to_every_tool(place: Place, face: str) -> None:
    if face == "serve":
        answers = await serve(place, REFUSED)
    else:
        answers = [call(place, name, arguments) for name, arguments in REFUSED]
    assert [reason(answer) for answer in answers] == ["deny"] * len(REFUSED)
    assert (place.root / "fixed.txt").read_text() == "one\n"
    assert (place.root / "open.txt").exists()
    assert "hush" not in json.dumps(answers)


@pytest.mark.contract("X4", "F8", "F9")
async def test_what_searches_from_above_leaves_out_what_may_not_be_read(place: Place) -> None:
    found = await serve(
        place,
        [
            ("Grep", {"pattern": "hush", "outputMode": "files_with_matches"}),
            ("Glob", {"pattern": "**/*"}),
            ("ListDir", {"path": "."}),
        ],
    )
    for answer in found:
        assert answer["isError"] is False
        assert "open.txt" in answer["data"]["output"]
        assert "plan.txt" not in json.dumps(answer)
        assert "host.key" not in json.dumps(answer)


@confining
@pytest.mark.contract("X4", "S10")
def test_what_may_not_be_read_is_hidden_from_confined_commands(place: Place) -> None:
    place.config.write_text(f"[sandbox]\nenabled = true\n{DENIES}")
    answer = call(place, "Bash", {"command": "cat secret/plan.txt host.key; cat open.txt"})
    assert "hush, said nobody" in answer["data"]["output"]
    assert "hush\n" not in answer["data"]["output"]


@pytest.mark.contract("X4", "B1")
async def test_what_is_asked_about_is_refused_without_anybody_and_done_once_by_call(place: Place) -> None:
    place.config.write_text('[permissions]\nask = ["Edit"]\n')
    edit = {"filePath": "fixed.txt", "oldString": "one", "newString": "two"}
    (served,) = await serve(place, [("Edit", edit)])
    assert reason(served) == "unavailable"
    assert "(asked by the ask rule Edit" in served["error"]["message"]
    assert "and nobody could be asked" in served["error"]["message"]
    assert "the client does not answer window/showMessageRequest" in served["error"]["message"]
    refused = call(place, "Edit", edit)
    assert reason(refused) == "unavailable"
    assert "give --approve once" in refused["error"]["message"]
    assert (place.root / "fixed.txt").read_text() == "one\n"
    assert call(place, "Edit", edit, "--approve", "once")["isError"] is False
    assert (place.root / "fixed.txt").read_text() == "two\n"


@pytest.mark.contract("X4")
def test_an_approval_does_not_go_past_a_denial(place: Place) -> None:
    assert reason(call(place, "Read", {"filePath": "host.key"}, "--approve", "once")) == "deny"


@pytest.mark.contract("B7", "X4")
async def test_a_workspace_cannot_loosen_and_can_tighten(place: Place) -> None:
    (place.root / "openbuffer.toml").write_text(
        '[permissions]\nallow = ["Read(*.key)", "Edit", "Bash"]\ndefault = "allow"\ndeny = ["Read(open.txt)"]\n'
    )
    (place.root / "permissions").write_text("allow Read(*.key)\n")
    calls = [
        ("Read", {"filePath": "host.key"}),
        ("Edit", {"filePath": "fixed.txt", "oldString": "one", "newString": "x"}),
        ("Bash", {"command": "rm open.txt"}),
        ("Read", {"filePath": "open.txt"}),
    ]
    answers = await serve(place, calls)
    assert [reason(answer) for answer in answers] == ["deny"] * 4


@pytest.mark.contract("X4", "X7")
async def test_the_file_of_rules_is_out_of_reach_and_counts(place: Place) -> None:
    kept = place.config.parent / "permissions"
    place.config.write_text(f'roots = ["{place.home}"]\n[permissions]\ndefault = {{ FILE_WRITE = "ask" }}\n')
    kept.write_text(f"allow Write({place.root}/open.txt)\n")
    calls = [
        ("Write", {"filePath": str(kept), "content": "allow Bash\n"}),
        ("Write", {"filePath": "open.txt", "content": "new\n"}),
        ("Write", {"filePath": "fixed.txt", "content": "new\n"}),
    ]
    assert [reason(answer) for answer in await serve(place, calls)] == ["deny", "", "unavailable"]
    assert (place.root / "open.txt").read_text() == "new\n"


@pytest.mark.contract("X4", "X2")
def test_what_was_asked_and_answered_is_in_the_log(place: Place) -> None:
    place.config.write_text('[permissions]\nask = ["Edit"]\n')
    call(place, "Edit", {"filePath": "fixed.txt", "oldString": "one", "newString": "two"}, "--approve", "once")
    shown = subprocess.run(
        [COMMAND, "log", "show", "1"],
        env={**os.environ, **place.variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    steps = [line.split(" at ")[0] for line in shown.splitlines() if line.startswith(("Asked", "Ans", "Intent", "Out"))]
    assert steps == ["Asked", "Answered", "Intent", "Outcome"]
    assert "by the ask rule Edit" in shown
    assert shown.count("+two") == 2


@pytest.mark.contract("X4")
async def test_a_rule_that_is_added_counts_for_the_next_call_of_a_running_server(place: Place) -> None:
    place.config.write_text("")
    read = {"name": "Read", "arguments": {"filePath": "open.txt"}}
    async with place.server() as client:
        assert (await client.request("openbuffer/callTool", read))["result"]["isError"] is False
        place.config.write_text('[permissions]\ndeny = ["Read(open.txt)"]\n')
        assert reason((await client.request("openbuffer/callTool", read))["result"]) == "deny"
