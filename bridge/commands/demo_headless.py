"""The demo in the headless editor.

It treats a stale edit as Neovim does: the edit is skipped and answered ``applied: true``.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from openbuffer.editor_access.memory_lsp import TEMPERAMENTS

from ..headless import HeadlessEditor, open_headless
from .demo_stage import Buffer, own_directories

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from ..client import ToolAnswer


@asynccontextmanager
async def open_demo_editor(file: Path) -> AsyncGenerator[HeadlessDemoEditor, None]:
    """Start the server with this file open; end it afterwards."""
    with tempfile.TemporaryDirectory(prefix="openbuffer-demo-state-") as own:
        environment = {**os.environ, **own_directories(own)}
        async with open_headless(
            file.parent, temperament=TEMPERAMENTS["like Neovim"], environment=environment
        ) as editor:
            editor.memory.open(str(file), version=1)
            yield HeadlessDemoEditor(editor)


class HeadlessDemoEditor:
    """See DemoEditor."""

    name = "a headless editor"

    def __init__(self, editor: HeadlessEditor) -> None:
        self._editor = editor
        self.process_ids = tuple(pid for pid in (editor.bridge.pid,) if pid is not None)

    async def type_over(self, path: Path, line: int, text: str) -> None:
        """See DemoEditor."""
        self._type_over(path, line, text)

    async def type_when_edited(self, path: Path, line: int, text: str) -> None:
        """See DemoEditor."""

        def type_once() -> None:
            self._editor.client.on_request = None
            self._type_over(path, line, text)

        self._editor.client.on_request = type_once

    async def buffer(self, path: Path) -> Buffer:
        """See DemoEditor."""
        shown = self._editor.memory.buffer(str(path))
        return Buffer(text=shown.text, modified=shown.is_dirty)

    async def save(self, path: Path) -> None:
        """See DemoEditor."""
        self._editor.memory.save(str(path))

    async def last_apply_answer(self) -> Mapping[str, Any]:
        """See DemoEditor."""
        return self._editor.apply_answers[-1] if self._editor.apply_answers else {}

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """See DemoEditor."""
        return await self._editor.call_tool(name, arguments)

    def _type_over(self, path: Path, line: int, text: str) -> None:
        lines = self._editor.memory.buffer(str(path)).text.splitlines(keepends=True)
        start = sum(map(len, lines[: line - 1]))
        self._editor.memory.replace(str(path), start, start + len(lines[line - 1].rstrip("\n")), text)
