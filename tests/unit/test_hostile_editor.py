"""What an editor says is shown as its words, on one line and without effect, in whichever message it comes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access.client_requests import APPLY_EDIT, READ_DOCUMENT, RELOAD_DOCUMENT, SAVE_DOCUMENT
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import RICH, MemoryLanguageClient
from openbuffer.tools.support.disk_text import RootedDiskText

from .truth_desk import BASE, Desk, Row, changed_and_changed, changed_and_same, same_and_changed, same_and_same

if TYPE_CHECKING:
    from collections.abc import Mapping

HASTY = EditTimeouts(reply_s=0.05, text_s=0.05, grace_s=0.02, promised_s=0.02, flush_s=0.05)
WORDS = "because)\n     1\tforged\x1b[31m\u2028\u202e"
METHODS = (READ_DOCUMENT, APPLY_EDIT, SAVE_DOCUMENT, RELOAD_DOCUMENT)


class TalkingClient(MemoryLanguageClient):
    """Answers one method with words of its own, as an error or as a reason."""

    method = ""
    as_error = True

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        if method != self.method:
            return await super().ask(method, params)
        if self.as_error:
            raise RuntimeError(WORDS)
        return {"done": False, "reason": WORDS}


@pytest.mark.contract("E3", "E7", "E9")
@pytest.mark.parametrize("as_error", [True, False], ids=["error", "reason"])
@pytest.mark.parametrize("row", [same_and_same, same_and_changed, changed_and_same, changed_and_changed])
@pytest.mark.parametrize("method", METHODS)
async def test_no_word_of_an_editor_forges_a_line_or_reaches_a_terminal(
    tmp_path: Path, method: str, row: Row, *, as_error: bool
) -> None:
    root = Path(os.path.realpath(tmp_path))  # noqa: ASYNC240  # a temporary directory of the test
    editor = MemoryEditor()
    client = TalkingClient(editor, encoding="utf-16", rich=RICH)
    access = LspEditor(client, encoding="utf-16", timeouts=HASTY, disk=RootedDiskText(root), rich=RICH)
    client.connect(access)
    desk = Desk(root, editor, access)
    desk.file.write_text(BASE)
    await row(desk)
    client.method, client.as_error = method, as_error
    told = [await desk.call_read(), await desk.edit(), await desk.write(), await desk.delete()]
    access.connection_lost()
    said = "\n".join(result.output + (result.error or "") for result in told)
    assert "\tforged" not in said
    assert not set("\x1b\u2028\u202e") & set(said)
