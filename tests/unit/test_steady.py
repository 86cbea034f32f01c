"""Tests that failed are run again: only what passes every time alone is let go, and that is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from .. import steady

TESTS = Path(__file__).resolve().parent.parent
TEST = """
import os
def test_it():
    there = os.path.exists({mark!r})
    open({mark!r}, "w").close()
    assert there
"""


def outcome(code: int, failed: list[str], alone: list[int]) -> tuple[int, list[str]]:
    """What comes of it when all tests end with this code and failures, and the further runs with those codes."""
    ran: list[str] = []

    def run(*arguments: str) -> int:
        ran.append(arguments[-1])
        if len(ran) > 1:
            return alone[len(ran) - 2]
        Path(arguments[-1].removeprefix("--failures=")).write_text("".join(f"{each}\n" for each in failed))
        return code

    with patch.object(steady, "_pytest", run):
        return steady.main(["-n", "2"]), ran[1:]


def test_what_fails_once_beside_others_and_never_alone_is_told_as_unsteady(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in ("steady.py", "conftest.py"):
        (tests / name).write_text((TESTS / name).read_text())
    (tests / "test_once.py").write_text(TEST.format(mark=str(tmp_path / "mark")))
    script = [sys.executable, str(tests / "steady.py"), "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "UNSTEADY, failed beside others and passed 5 times alone: tests/test_once.py::test_it" in done.stdout


def test_each_of_a_few_must_pass_every_time() -> None:
    assert outcome(1, ["a", "b"], [0] * 10) == (0, ["a"] * 5 + ["b"] * 5)
    assert outcome(1, ["a", "b"], [0] * 9 + [1]) == (1, ["a"] * 5 + ["b"] * 5)
    assert outcome(1, ["a"], [0, 1]) == (1, ["a"] * 2)


@pytest.mark.parametrize(
    ("code", "failed"), [(0, []), (1, ["a", "b", "c", "d"]), (1, []), (2, ["a"]), (3, ["a"]), (5, [])]
)
def test_what_passes_and_what_fails_otherwise_is_run_once(code: int, failed: list[str]) -> None:
    assert outcome(code, failed, []) == (code, [])
