"""The bridge as it is served, with one custom tool in place of the built-in ones: ``Echo`` returns its arguments.

It goes through everything that a call goes through (schema, gate, event log, result), does nothing itself, and so
shows what a call through the bridge costs.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import anyio
from openbuffer.bridge.life.process_streams import take_over_stdio
from openbuffer.bridge.wire.stdio import run_session
from openbuffer.tools.contract import create_function_tool
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.executor import DispatchingToolExecutor, SandboxedToolExecutor
from openbuffer.tools.permissions import AllowAll
from openbuffer.tools.registry import DefaultToolRegistry

if TYPE_CHECKING:
    from openbuffer.editor_access.port import EditorProvider

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def create_executor(_roots: tuple[str, ...], _editor: EditorProvider) -> SandboxedToolExecutor:
    """The pipeline with the one tool."""
    tool = create_function_tool("Echo", "Returns its arguments.", SCHEMA, _same)
    dispatcher = DispatchingToolExecutor(DefaultToolRegistry([tool]))
    return SandboxedToolExecutor(dispatcher, policy=AllowAll(), log=InMemoryEventLog())


def _same(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


if __name__ == "__main__":
    anyio.run(functools.partial(run_session, create_executor=create_executor), *take_over_stdio())
