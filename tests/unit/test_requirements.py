"""The requirements map is true both ways."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def _load() -> ModuleType:
    path = Path(__file__).resolve().parent.parent / "requirements.py"
    spec = importlib.util.spec_from_file_location("openbuffer_requirements", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


requirements = _load()


def test_every_contract_line_is_proven_or_open() -> None:
    lines = requirements.contract_lines()
    assert len(lines) == len(set(lines)) > 60
    assert [line for line in lines if line not in requirements.PROVEN_BY and line not in requirements.OPEN] == []


def test_no_unknown_line_is_named() -> None:
    known = set(requirements.contract_lines())
    named = set(requirements.PROVEN_BY) | set(requirements.OPEN) | set(requirements.marked_lines())
    assert sorted(named - known) == []


def test_the_map_and_the_marks_agree() -> None:
    mapped = {line: sorted(files) for line, files in requirements.PROVEN_BY.items()}
    marked = {line: sorted(files) for line, files in requirements.marked_lines().items()}
    assert mapped == marked


def test_every_case_names_a_test_that_exists() -> None:
    names = requirements.test_names()
    missing = {case: test for case, tests in requirements.CASES.items() for test in tests if test not in names}
    assert missing == {}


def test_a_case_is_proven_or_open() -> None:
    assert len(requirements.CASES) > 30
    assert all(requirements.CASES.values())
    assert set(requirements.CASES) & set(requirements.OPEN_CASES) == set()
