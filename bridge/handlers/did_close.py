"""``textDocument/didClose``: the editor shows the text no more; the disk is the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..document_params import read_did_close
from .did_change import report

if TYPE_CHECKING:
    from ..session import Session


def did_close(session: Session, params: object) -> None:
    """Tell the document store."""
    assert session.editor is not None
    report(session.editor.did_close(read_did_close(params)))
