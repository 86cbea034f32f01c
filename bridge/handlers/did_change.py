"""``textDocument/didChange``: the text that the editor shows has changed."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..document_params import named_document, read_did_change

if TYPE_CHECKING:
    from collections.abc import Generator

    from openbuffer.editor_access.lsp import LspEditor

    from ..session import Session

log = logging.getLogger(__name__)


def did_change(session: Session, params: object) -> None:
    """Hand the changes to the document store."""
    assert session.editor is not None
    with lose_track(session.editor, params):
        report(session.editor.did_change(read_did_change(params)))


@contextmanager
def lose_track(editor: LspEditor, params: object) -> Generator[None]:
    """Where a message about a text cannot be followed, that text is not known from then on; never a guess."""
    try:
        yield
    except Exception as error:
        uri = named_document(params)
        if uri is not None:
            editor.lose_track(uri, f"a message about it could not be understood ({str(error) or type(error).__name__})")
        raise


def report(problem: str | None) -> None:
    """Log what was wrong with a message that the store took in."""
    if problem is not None:
        log.warning("%s", problem)
