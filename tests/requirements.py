"""What has to be proven, and by which tests: every line of docs/contract.md, and the cases from the field.

Both ways: a test file listed here must mark a test with the line (``@pytest.mark.contract("F6")``), and a mark
must be listed here. ``tests/unit/test_requirements.py`` holds the two together.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
CONTRACT = TESTS.parent / "docs" / "contract.md"

TRUTH = "The truth between editor and disk"
SEARCH = "Search that tells the truth"
COMMANDS = "Commands and the OS sandbox"
SANDBOXES = "Other sandboxes and workspace manifests"
PIPELINE = "The pipeline in full"
WEB = "The web and the user's word"
RETRIEVAL = "Codebase retrieval and computer use"
BRIDGE = "A server to trust: the bridge complete"
NEOVIM = "Neovim integration"
VSCODE = "VS Code extension"
LATER = "no issue asks for it yet; the seam is left"

OPEN: dict[str, str] = {}
"""Lines that are not built, or not in full, with the issue that completes them. The list only shrinks."""

PROVEN_BY: dict[str, tuple[str, ...]] = {}
"""Line -> test files (below tests/) that hold a test marked with it."""


def contract_lines() -> list[str]:
    """The ids of docs/contract.md, in order."""
    return re.findall(r"^- ([TPFESWXB]\d+) ", CONTRACT.read_text(encoding="utf-8"), re.MULTILINE)


def marked_lines() -> dict[str, set[str]]:
    """Line -> test files whose tests carry its mark; read from the source, nothing is imported."""
    marked: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.contract":
                for argument in node.args:
                    marked.setdefault(ast.literal_eval(argument), set()).add(str(path.relative_to(TESTS)))
    return marked


def test_names() -> set[str]:
    """Every test as ``file::name``."""
    names: set[str] = set()
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                names.add(f"{path.relative_to(TESTS)}::{node.name}")
    return names
