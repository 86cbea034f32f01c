"""``openbuffer/didChangeUnsynchronizedDocuments``: which documents have unsaved changes that no message tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..protocol import MalformedParamsError, json_kind

if TYPE_CHECKING:
    from ..session import Session


def did_change_unsynchronized_documents(session: Session, params: object) -> None:
    """Tell the editor's adapter, which refuses them from now on.

    Raises:
        MalformedParamsError: there is no list of documents; what was told before holds.
    """
    documents = cast("dict[str, Any]", params).get("documents") if isinstance(params, dict) else None
    if not isinstance(documents, list):
        raise MalformedParamsError(f"params.documents must be an array, not {json_kind(documents)}")
    assert session.editor is not None
    session.editor.did_change_unsynchronized([_read(document) for document in cast("list[Any]", documents)])


def _read(document: object) -> tuple[str, str]:
    fields = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    uri, reason = fields.get("uri"), fields.get("reason")
    if not isinstance(uri, str) or not isinstance(reason, str):
        raise MalformedParamsError("each of params.documents must have a uri and a reason, which are strings")
    return uri, reason
