"""What the model is told about the file tools is mechanism, enforced, and about this tool alone (T8)."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from openbuffer import tools
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import Capability, FunctionTool
from openbuffer.tools.host import (
    create_delete_tool,
    create_edit_tool,
    create_glob_tool,
    create_grep_tool,
    create_list_dir_tool,
    create_read_tool,
    create_write_tool,
)

FACTORIES = [
    create_read_tool,
    create_write_tool,
    create_edit_tool,
    create_delete_tool,
    create_glob_tool,
    create_grep_tool,
]
ALL_TOOLS = [
    *("Read", "Write", "Edit", "Delete", "ListDir", "Glob", "Grep", "Shell", "Bash", "WebFetch", "WebSearch"),
    *("AskUserQuestion", "ToolSearch", "CodebaseRetrieval", "Computer", "ComputerView"),
]


def texts(tool: FunctionTool) -> str:
    properties: dict[str, Any] = tool.input_schema["properties"]
    return " ".join([tool.description, *(str(each["description"]) for each in properties.values())])


@pytest.mark.contract("T8")
@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("editor", [None, lambda: MemoryEditorAccess(MemoryEditor())])
def test_no_sibling_tool_is_named_and_no_workflow_is_told(factory: Any, editor: Any) -> None:
    tool = factory(cwd="/w", editor=editor)
    for name in ALL_TOOLS:
        assert not re.search(rf"\b{name}\b", texts(tool)), name
    for policy in ("always", "never use", "prefer", "must", "should", "before you", "important", "you "):
        assert policy not in texts(tool).lower(), policy


@pytest.mark.contract("T8")
def test_an_answer_names_another_tool_only_with_the_word_that_it_may_not_be_there() -> None:
    others = rf"\b({'|'.join(set(ALL_TOOLS) - {'Read', 'Write', 'Edit', 'Delete', 'Computer'})})\b"
    named = 0
    for package in ("support", "builtin"):
        for path in (Path(tools.__file__).parent / package).glob("*.py"):
            several = {"shell": {"shell", "bash"}, "computer": {"computer", "computerview"}}
            own_names = several.get(path.stem, {path.stem.replace("_", "")})
            for text in answers(ast.parse(path.read_text(encoding="utf-8"))):
                if any(name.lower() not in own_names for name in re.findall(others, text)):
                    named += 1
                    assert "where that tool is offered" in text, f"{path.name}: {text}"
    assert named >= 3


def answers(module: ast.Module) -> list[str]:
    """The texts in a module that are no docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(module)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    constants = [node for node in ast.walk(module) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in constants if isinstance(node.value, str)]


@pytest.mark.contract("T8")
@pytest.mark.parametrize("factory", FACTORIES)
def test_the_open_document_is_promised_only_where_an_editor_can_be_attached(factory: Any) -> None:
    assert "document" not in factory(cwd="/w").description
    assert "attached editor" in factory(cwd="/w", editor=lambda: None).description


@pytest.mark.contract("T8")
def test_the_numbers_told_are_the_numbers_enforced() -> None:
    read = create_read_tool(cwd="/w", max_bytes=12_345, max_output_bytes=6_789).description
    assert "12345 bytes" in read
    assert "6789 bytes" in read
    assert "54321 bytes" in create_edit_tool(cwd="/w", max_bytes=54_321).description
    assert "54321 bytes" in create_write_tool(cwd="/w", max_bytes=54_321).description
    assert f"{256 * 1024 * 1024} bytes" in create_write_tool(cwd="/w").description
    assert "4321 bytes" in create_glob_tool(cwd="/w", max_output_bytes=4_321).description
    assert "4321 bytes" in create_list_dir_tool(cwd="/w", max_output_bytes=4_321).description


@pytest.mark.contract("T8")
@pytest.mark.parametrize("factory", [*FACTORIES, create_list_dir_tool])
def test_a_description_of_ones_own_is_used_verbatim(factory: Any) -> None:
    assert factory(cwd="/w", description=" Mine, with Grep. ").description == " Mine, with Grep. "


@pytest.mark.contract("T3", "T10")
@pytest.mark.parametrize(
    ("factory", "name", "required", "capabilities"),
    [
        (create_read_tool, "Read", ["filePath"], {Capability.FILE_READ}),
        (create_write_tool, "Write", ["filePath", "content"], {Capability.FILE_WRITE}),
        (
            create_edit_tool,
            "Edit",
            ["filePath", "oldString", "newString"],
            {Capability.FILE_READ, Capability.FILE_WRITE},
        ),
        (create_delete_tool, "Delete", ["path"], {Capability.FILE_WRITE}),
        (create_glob_tool, "Glob", ["pattern"], {Capability.FILE_READ}),
        (create_grep_tool, "Grep", ["pattern"], {Capability.FILE_READ}),
        (create_list_dir_tool, "ListDir", [], {Capability.FILE_READ}),
    ],
)
def test_name_schema_and_capabilities(factory: Any, name: str, required: list[str], capabilities: set[Any]) -> None:
    tool = factory(cwd="/w")
    assert tool.name == name
    assert tool.capabilities == capabilities
    assert tool.declares_invocation
    assert tool.input_schema["type"] == "object"
    assert tool.input_schema["additionalProperties"] is False
    assert tool.input_schema.get("required", []) == required
    properties = tool.input_schema["properties"]
    path = properties["filePath"] if "filePath" in properties else properties["path"]
    assert "Absolute path" in path["description"]
