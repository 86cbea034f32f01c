"""That an editor will write a document by itself is said of what a tool leaves unsaved."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access.client_requests import READ_DOCUMENT, RichCapabilities
from openbuffer.editor_access.lsp import LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient
from openbuffer.tools.host import create_edit_tool
from openbuffer.tools.support.disk_text import RootedDiskText

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RICH = RichCapabilities(read_document=True, apply_edit=True, save_document=True, reload_document=True)
EDIT = {"filePath": "f.txt", "oldString": "a", "newString": "A"}


class AutosavingClient(MemoryLanguageClient):
    """Says of every document when it will be written."""

    def __init__(self, editor: MemoryEditor, when: Any) -> None:
        super().__init__(editor, encoding="utf-16", rich=RICH)
        self.when = when

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        answer = await super().ask(method, params)
        return {**answer, "autosave": self.when} if method == READ_DOCUMENT and self.when is not None else answer


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path.resolve() / "f.txt"
    file.write_text("a\nb\n")
    return str(file)


@pytest.mark.contract("E9")
@pytest.mark.parametrize(
    ("when", "told"),
    [
        ("afterDelay", " yet; its editor does that by itself after a moment."),
        ("onFocusChange", " yet; its editor does that by itself when its user goes to another editor."),
        ("onWindowChange", " yet; its editor does that by itself when its user goes to another window."),
        (None, "."),
        ("off", "."),
        (["afterDelay"], "."),
    ],
)
async def test_it_is_told_beside_unsaved_changes_of_the_user(path: str, when: Any, told: str) -> None:
    editor = MemoryEditor()
    client = AutosavingClient(editor, when)
    access = LspEditor(client, encoding="utf-16", rich=RICH, disk=RootedDiskText(os.path.dirname(path)))
    client.connect(access)
    editor.open(path)
    editor.replace(path, 2, 3, "typed")
    tool = create_edit_tool(cwd=os.path.dirname(path), editor=lambda: access)
    result = (await tool.execute(EDIT)).invocation
    assert result is not None
    assert result.success
    assert result.output.endswith(f"beside unsaved changes of the user; nothing was saved to disk{told}")
