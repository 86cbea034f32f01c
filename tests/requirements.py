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

OPEN: dict[str, str] = {
    "T5": SEARCH,
    "T7": WEB,
    "T8": PIPELINE,
    "T12": PIPELINE,
    "P1": COMMANDS,
    "P2": PIPELINE,
    "P4": SEARCH,
    "F7": SEARCH,
    "F8": SEARCH,
    "F9": SEARCH,
    "F10": SEARCH,
    "F11": SEARCH,
    "E2": TRUTH,
    "E3": TRUTH,
    "E4": SANDBOXES,
    "E5": SEARCH,
    "E6": TRUTH,
    "E7": TRUTH,
    "E8": TRUTH,
    "E9": TRUTH,
    "E10": TRUTH,
    "E11": TRUTH,
    "E12": TRUTH,
    "S1": COMMANDS,
    "S2": COMMANDS,
    "S3": COMMANDS,
    "S4": SANDBOXES,
    "S5": SANDBOXES,
    "S6": SANDBOXES,
    "S7": COMMANDS,
    "S8": COMMANDS,
    "S9": COMMANDS,
    "S10": COMMANDS,
    "S11": SANDBOXES,
    "W1": WEB,
    "W2": WEB,
    "W3": WEB,
    "W4": PIPELINE,
    "W5": RETRIEVAL,
    "W6": RETRIEVAL,
    "W7": PIPELINE,
    "X1": PIPELINE,
    "X2": PIPELINE,
    "X3": WEB,
    "X4": PIPELINE,
    "X5": PIPELINE,
    "X6": PIPELINE,
    "X7": PIPELINE,
    "X8": LATER,
    "B1": BRIDGE,
    "B2": BRIDGE,
    "B3": BRIDGE,
    "B4": VSCODE,
    "B5": LATER,
    "B6": LATER,
    "B7": PIPELINE,
}
"""Lines that are not built, or not in full (they may have tests already), with the issue that completes them.

The list only shrinks.
"""

PROVEN_BY: dict[str, tuple[str, ...]] = {
    "T1": (
        "unit/test_function_tool.py",
        "unit/test_neutral_entry.py",
    ),
    "T2": ("unit/test_function_tool.py",),
    "T3": (
        "unit/test_file_pipeline.py",
        "unit/test_file_tool_descriptions.py",
        "unit/test_function_tool.py",
        "unit/test_read_tool.py",
    ),
    "T4": (
        "unit/test_edit_tool.py",
        "unit/test_function_tool.py",
        "unit/test_read_tool.py",
        "unit/test_write_tool.py",
    ),
    "T5": (
        "e2e/test_bridge_documents.py",
        "e2e/test_cli_call.py",
        "unit/test_read_tool.py",
    ),
    "T6": (
        "e2e/test_bridge_cancel.py",
        "e2e/test_cli_call.py",
        "unit/test_atomic_lock.py",
        "unit/test_blocking.py",
        "unit/test_editor_suite.py",
        "unit/test_executor.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_read_tool.py",
        "unit/test_text_places.py",
    ),
    "T7": (
        "unit/test_paths.py",
        "unit/test_read_tool.py",
    ),
    "T8": ("unit/test_file_tool_descriptions.py",),
    "T9": ("unit/test_neutral_entry.py",),
    "T10": (
        "unit/test_file_tool_descriptions.py",
        "unit/test_function_tool.py",
    ),
    "T11": ("unit/test_dependencies.py",),
    "T12": (
        "unit/test_atomic.py",
        "unit/test_edit_tool.py",
        "unit/test_executor.py",
        "unit/test_file_pipeline.py",
        "unit/test_function_tool.py",
        "unit/test_replacing.py",
        "unit/test_text_places.py",
        "unit/test_write_tool.py",
    ),
    "P1": (
        "e2e/test_cli_call.py",
        "e2e/test_neovim_reading.py",
        "unit/test_file_pipeline.py",
        "unit/test_paths.py",
        "unit/test_paths_properties.py",
        "unit/test_paths_refused.py",
    ),
    "P2": (
        "e2e/test_cli_call.py",
        "e2e/test_neovim_reading.py",
        "unit/test_atomic.py",
        "unit/test_file_pipeline.py",
        "unit/test_paths.py",
        "unit/test_paths_refused.py",
        "unit/test_text_places.py",
    ),
    "P3": (
        "unit/test_paths_properties.py",
        "unit/test_paths_refused.py",
        "unit/test_swap_race.py",
        "unit/test_text_places.py",
    ),
    "P5": (
        "unit/test_atomic.py",
        "unit/test_paths.py",
        "unit/test_paths_refused.py",
        "unit/test_swap_race.py",
    ),
    "P6": (
        "e2e/test_bridge_files.py",
        "unit/test_atomic_disasters.py",
        "unit/test_paths.py",
        "unit/test_paths_properties.py",
        "unit/test_paths_refused.py",
    ),
    "F1": (
        "e2e/test_bridge_files.py",
        "e2e/test_cli_call.py",
        "unit/test_edit_tool.py",
        "unit/test_line_window.py",
        "unit/test_paths_refused.py",
        "unit/test_read_tool.py",
        "unit/test_text_files.py",
    ),
    "F2": (
        "e2e/test_bridge_files.py",
        "unit/test_file_pipeline.py",
        "unit/test_line_window.py",
        "unit/test_read_tool.py",
    ),
    "F3": (
        "e2e/test_cli_call.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_stale.py",
        "unit/test_atomic.py",
        "unit/test_file_pipeline.py",
        "unit/test_paths.py",
        "unit/test_write_tool.py",
    ),
    "F4": (
        "e2e/test_neovim_editing.py",
        "unit/test_atomic.py",
        "unit/test_atomic_disasters.py",
        "unit/test_atomic_kept.py",
        "unit/test_file_pipeline.py",
        "unit/test_paths.py",
        "unit/test_text_places.py",
        "unit/test_write_tool.py",
    ),
    "F5": (
        "e2e/test_bridge_files.py",
        "e2e/test_cli_call.py",
        "e2e/test_neovim_editing.py",
        "unit/test_edit_tool.py",
        "unit/test_file_pipeline.py",
        "unit/test_replacing.py",
        "unit/test_text_places.py",
    ),
    "F6": (
        "e2e/test_neovim_bytes.py",
        "unit/test_edit_tool.py",
        "unit/test_editor_suite.py",
        "unit/test_file_pipeline.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_memory_editor.py",
        "unit/test_replacing.py",
        "unit/test_text_files.py",
        "unit/test_text_places.py",
        "unit/test_write_tool.py",
    ),
    "E1": (
        "e2e/test_demo.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_random.py",
        "e2e/test_neovim_reading.py",
        "unit/test_editor_suite.py",
        "unit/test_file_pipeline.py",
        "unit/test_lsp_editor_documents.py",
        "unit/test_text_places.py",
    ),
    "E2": (
        "e2e/test_bridge_documents.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_reading.py",
        "e2e/test_neovim_stale.py",
        "unit/test_bridge_protocol.py",
        "unit/test_editor_suite.py",
        "unit/test_executor.py",
        "unit/test_file_pipeline.py",
        "unit/test_function_tool.py",
        "unit/test_lsp_editor_documents.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_text_places.py",
    ),
    "E3": (
        "unit/test_editor_suite.py",
        "unit/test_file_pipeline.py",
        "unit/test_read_tool.py",
        "unit/test_text_places.py",
    ),
    "E5": (
        "unit/test_editor_suite.py",
        "unit/test_lsp_editor_documents.py",
    ),
    "E6": (
        "e2e/test_bridge_documents.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_reading.py",
        "unit/test_document_store.py",
        "unit/test_document_uri.py",
        "unit/test_editor_suite.py",
        "unit/test_file_pipeline.py",
        "unit/test_lsp_editor_documents.py",
        "unit/test_lsp_editor_interleavings.py",
        "unit/test_lsp_editor_neovim.py",
    ),
    "E7": (
        "e2e/test_bridge_cancel.py",
        "e2e/test_bridge_documents.py",
        "e2e/test_demo.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_random.py",
        "e2e/test_neovim_stale.py",
        "unit/test_bridge_protocol.py",
        "unit/test_edit_evidence.py",
        "unit/test_editor_suite.py",
        "unit/test_lsp_editor_edits.py",
        "unit/test_lsp_editor_interleavings.py",
        "unit/test_lsp_editor_neovim.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_text_places.py",
    ),
    "E8": (
        "e2e/test_bridge_editors.py",
        "e2e/test_neovim_bytes.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_random.py",
        "unit/test_document_store.py",
        "unit/test_editor_suite.py",
        "unit/test_lsp_editor_edits.py",
        "unit/test_lsp_editor_interleavings.py",
        "unit/test_lsp_editor_neovim.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_minimal_edits.py",
        "unit/test_text_places.py",
        "unit/test_text_positions.py",
    ),
    "E12": (
        "e2e/test_bridge_files.py",
        "e2e/test_neovim_stale.py",
        "unit/test_atomic.py",
        "unit/test_atomic_disasters.py",
        "unit/test_atomic_lock.py",
        "unit/test_editor_suite.py",
        "unit/test_lsp_editor_interleavings.py",
        "unit/test_lsp_editor_outcomes.py",
        "unit/test_text_places.py",
    ),
    "X1": (
        "unit/test_executor.py",
        "unit/test_file_pipeline.py",
    ),
    "X2": ("unit/test_executor.py",),
    "X4": (
        "unit/test_executor.py",
        "unit/test_file_pipeline.py",
    ),
    "X6": ("unit/test_paths.py",),
    "B1": (
        "e2e/test_bridge_documents.py",
        "e2e/test_bridge_editors.py",
        "e2e/test_bridge_requests.py",
        "e2e/test_cli_call.py",
        "e2e/test_neovim_reading.py",
        "unit/test_client_facts.py",
        "unit/test_protocol_document.py",
    ),
    "B2": (
        "e2e/test_bridge_cancel.py",
        "unit/test_bridge_protocol.py",
        "unit/test_progress.py",
    ),
    "B3": (
        "e2e/test_bridge_cancel.py",
        "e2e/test_bridge_documents.py",
        "e2e/test_bridge_files.py",
        "e2e/test_bridge_hostile_workspace.py",
        "e2e/test_bridge_input.py",
        "e2e/test_bridge_life.py",
        "e2e/test_bridge_requests.py",
        "e2e/test_cli_call.py",
        "e2e/test_neovim_life.py",
        "e2e/test_neovim_reading.py",
        "unit/test_bridge_protocol.py",
        "unit/test_document_params.py",
        "unit/test_framing.py",
        "unit/test_lsp_editor_documents.py",
        "unit/test_messages.py",
        "unit/test_parent_process.py",
    ),
    "B4": (
        "e2e/test_bridge_editors.py",
        "e2e/test_demo.py",
        "e2e/test_neovim_bytes.py",
        "e2e/test_neovim_editing.py",
        "e2e/test_neovim_life.py",
        "e2e/test_neovim_random.py",
        "e2e/test_neovim_reading.py",
        "e2e/test_neovim_stale.py",
    ),
}
"""Line -> test files (below tests/) that hold a test marked with it."""


CASES: dict[str, tuple[str, ...]] = {}
"""Cases from the field, by a short name -> tests as ``file::name``."""


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
