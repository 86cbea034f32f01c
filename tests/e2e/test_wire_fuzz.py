"""Ten thousand messages of every kind, or a million with --slow: alive, no answer missing, none twice, memory bounded.

Long mode in parts, for its figures::

    python -m pytest tests/e2e/test_wire_fuzz.py --slow -s -k million
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .raw_client import SERVER
from .wire_fuzz import Figures, Fuzz

if TYPE_CHECKING:
    from .wire_messages import Messages

TOOLS = (sys.executable, "-P", str(Path(__file__).with_name("tool_server.py")))
MEMORY_MAX_MIB = 250.0
GROWTH_MAX_MIB = 80.0


def misdeeds(messages: Messages) -> tuple[str, Any]:
    """Calls of tools that do anything."""
    name = messages.rng.choice(["echo", "echo", "text", "progress", "raises", "not_json", "told", "none", "", 5])
    arguments = {
        "text": {"path": "/nowhere/0.txt"},
        "progress": {"reports": 3},
        "raises": {"what": messages.rng.choice(["error", "exit", "interrupt", "memory", "base"])},
        "not_json": {"what": messages.rng.choice(["object", "nan", "loop", "set", "half"])},
    }.get(str(name), messages.value())
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if messages.rng.random() < 0.2:
        params["workDoneToken"] = messages.rng.choice([1, "1", "", 1.5, None, [], f"{messages.count}"])
    return "openbuffer/callTool", params


def builtins(messages: Messages) -> tuple[str, Any]:
    """Calls of the real tools on documents that come and go, from a client that answers nonsense."""
    path = f"{messages.rng.randrange(25)}.txt"
    name, arguments = messages.rng.choice(
        [
            ("Read", {"filePath": path}),
            ("Read", messages.value()),
            ("ListDir", {"path": "."}),
            ("Glob", {"pattern": "*.txt"}),
            ("Edit", {"filePath": path, "oldString": "a", "newString": "b"}),
            ("Edit", {"filePath": path, "oldString": "", "newString": messages.value(0)}),
            ("Delete", {"path": f"{path}.none"}),
            ("hold", {}),
        ]
    )
    return "openbuffer/callTool", {"name": name, "arguments": arguments}


def judge(figures: Figures, messages: int) -> None:
    print(f"\n{figures}")
    assert figures.problems == []
    assert figures.messages >= messages
    assert figures.answers > messages / 4
    assert figures.peak < MEMORY_MAX_MIB
    assert figures.peak - figures.early < GROWTH_MAX_MIB


@pytest.mark.contract("B3")
@pytest.mark.timeout(300)
async def test_no_message_goes_without_its_answer_and_none_ends_the_server(tmp_path: Path) -> None:
    judge(await Fuzz(TOOLS, tmp_path, misdeeds, seed=1).run(8_000), 8_000)


@pytest.mark.contract("B3", "E7")
@pytest.mark.timeout(300)
async def test_nor_with_the_real_tools_and_a_client_that_answers_nonsense(tmp_path: Path) -> None:
    for number in range(0, 20, 2):
        (tmp_path / f"{number}.txt").write_text("a\n" * number)
    judge(await Fuzz(SERVER, tmp_path, builtins, seed=2, per_session=2_000).run(2_000), 2_000)


@pytest.mark.slow
@pytest.mark.contract("B3")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 110))
async def test_a_million_messages_of_tools_that_misbehave(tmp_path: Path, seed: int) -> None:
    judge(await Fuzz(TOOLS, tmp_path, misdeeds, seed=seed, per_session=25_000).run(95_000), 95_000)


@pytest.mark.slow
@pytest.mark.contract("B3", "E7")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(200, 205))
async def test_a_million_messages_of_the_real_tools(tmp_path: Path, seed: int) -> None:
    for number in range(0, 20, 2):
        (tmp_path / f"{number}.txt").write_text("a\n" * number)
    judge(await Fuzz(SERVER, tmp_path, builtins, seed=seed, per_session=10_000).run(10_000), 10_000)
