"""``textDocument/didOpen``: the editor shows a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..document_params import read_did_open
from .did_change import lose_track, report

if TYPE_CHECKING:
    from ..session import Session


def did_open(session: Session, params: object) -> None:
    """Hand the text to the document store."""
    assert session.editor is not None
    with lose_track(session.editor, params):
        report(session.editor.did_open(read_did_open(params)))
