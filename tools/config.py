"""ToolConfig, the only configuration surface, and ``build_tools``, the one list of tools (X5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .builtin.delete import create_delete_tool
from .builtin.edit import create_edit_tool
from .builtin.glob import create_glob_tool
from .builtin.grep import create_grep_tool
from .builtin.list_dir import create_list_dir_tool
from .builtin.read import create_read_tool
from .builtin.write import create_write_tool
from .limits import FILE_MAX_BYTES, READ_OUTPUT_MAX_BYTES

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from openbuffer.editor_access.port import EditorProvider

    from .contract import FunctionTool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfig:
    """What a composition root decides about the tools. Sizes are bytes.

    ``roots`` is the boundary of the file tools; relative paths resolve against the first. ``descriptions``
    replaces a tool's text verbatim, by tool name (T8). Without ``writes`` no tool that changes files is assembled:
    no Write, no Edit, no Delete.
    """

    roots: tuple[str | os.PathLike[str], ...]
    editor: EditorProvider | None = None
    writes: bool = True
    file_max_bytes: int = FILE_MAX_BYTES
    read_output_max_bytes: int = READ_OUTPUT_MAX_BYTES
    descriptions: Mapping[str, str] = field(default_factory=dict[str, str])


def build_tools(config: ToolConfig) -> tuple[FunctionTool, ...]:
    """Assemble every tool that the configuration allows; new tools go here and nowhere else.

    Raises:
        ToolDefinitionError: no usable root.
    """
    read = create_read_tool(
        cwd=config.roots,
        editor=config.editor,
        max_bytes=config.file_max_bytes,
        max_output_bytes=config.read_output_max_bytes,
        description=config.descriptions.get("Read"),
    )
    changing = _changing_files(config) if config.writes else ()
    return (read, *changing, *_searching(config))


def _searching(config: ToolConfig) -> tuple[FunctionTool, ...]:
    cwd, editor, text = config.roots, config.editor, config.descriptions
    return (
        create_list_dir_tool(cwd=cwd, description=text.get("ListDir")),
        create_glob_tool(cwd=cwd, editor=editor, description=text.get("Glob")),
        create_grep_tool(cwd=cwd, editor=editor, description=text.get("Grep")),
    )


def _changing_files(config: ToolConfig) -> tuple[FunctionTool, ...]:
    cwd, editor, most, text = config.roots, config.editor, config.file_max_bytes, config.descriptions
    return (
        create_write_tool(cwd=cwd, editor=editor, max_bytes=most, description=text.get("Write")),
        create_edit_tool(cwd=cwd, editor=editor, max_bytes=most, description=text.get("Edit")),
        create_delete_tool(cwd=cwd, editor=editor, max_bytes=most, description=text.get("Delete")),
    )
