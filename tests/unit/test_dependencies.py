"""What the library needs: declared, well-kept, and no vendor's SDK (T11)."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("bridge", "editor_access", "sandbox", "tools")
EXTRAS = {"re2"}
IMPORTED_AS = {"bs4": "beautifulsoup4", "yaml": "pyyaml"}
VENDORS = {"anthropic", "openai", "google", "mistralai", "cohere", "e2b", "langchain", "litellm", "boto3", "playwright"}


def imported() -> set[str]:
    """Top-level names that our packages import from elsewhere."""
    names: set[str] = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names.update(alias.name.partition(".")[0] for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"openbuffer"}


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = (re.match(r"[A-Za-z0-9_.-]+", requirement) for requirement in project["dependencies"])
    return {name.group().replace("-", "_") for name in names if name}


@pytest.mark.contract("T11")
def test_no_vendor_sdk_is_imported_or_required() -> None:
    assert (imported() | declared()) & VENDORS == set()


@pytest.mark.contract("T11")
def test_what_is_imported_is_what_is_declared() -> None:
    assert {IMPORTED_AS.get(name, name) for name in imported()} - {"cattrs"} - EXTRAS == declared(), (
        "cattrs comes with pygls, whose converter it is"
    )


@pytest.mark.contract("T11")
def test_an_extra_is_imported_in_one_place_that_can_do_without() -> None:
    paths = (ROOT / "tools").rglob("*.py")
    assert [path.name for path in paths if re.search(r"\bimport re2\b", path.read_text())] == ["matcher.py"]
