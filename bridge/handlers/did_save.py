"""``textDocument/didSave``: the text that the editor shows is on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..document_params import read_did_save
from .did_change import report

if TYPE_CHECKING:
    from ..session import Session


def did_save(session: Session, params: object) -> None:
    """Tell the document store, and whoever else wants to know."""
    assert session.editor is not None
    read = read_did_save(params)
    report(session.editor.did_save(read))
    session.saved(read.text_document.uri)
