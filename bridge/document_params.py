"""The params of text synchronisation, read strictly: what is no text must never become the text of a document.

The generic conversion would turn ``null`` into the text "None"; it is also slower than what a keystroke deserves.
"""

from __future__ import annotations

from typing import Any, cast

from lsprotocol import types as lsp

from .protocol import MalformedParamsError, json_kind


def read_did_open(params: object) -> lsp.DidOpenTextDocumentParams:
    """Params of ``textDocument/didOpen``.

    Raises:
        MalformedParamsError: they are something else.
    """
    item = _object(_params(params), "textDocument")
    language = item.get("languageId")
    return lsp.DidOpenTextDocumentParams(
        text_document=lsp.TextDocumentItem(
            uri=_string(item, "uri"),
            language_id=language if isinstance(language, str) else "",
            version=_integer(item, "version"),
            text=_string(item, "text"),
        )
    )


def read_did_change(params: object) -> lsp.DidChangeTextDocumentParams:
    """Params of ``textDocument/didChange``.

    Raises:
        MalformedParamsError: they are something else.
    """
    fields = _params(params)
    document = _object(fields, "textDocument")
    changes = fields.get("contentChanges")
    if not isinstance(changes, list):
        raise MalformedParamsError(f"contentChanges must be an array, not {json_kind(changes)}")
    return lsp.DidChangeTextDocumentParams(
        text_document=lsp.VersionedTextDocumentIdentifier(
            uri=_string(document, "uri"), version=_integer(document, "version")
        ),
        content_changes=[_change(change) for change in cast("list[Any]", changes)],
    )


def read_did_save(params: object) -> lsp.DidSaveTextDocumentParams:
    """Params of ``textDocument/didSave``.

    Raises:
        MalformedParamsError: they are something else.
    """
    fields = _params(params)
    return lsp.DidSaveTextDocumentParams(
        text_document=lsp.TextDocumentIdentifier(uri=_string(_object(fields, "textDocument"), "uri")),
        text=None if fields.get("text") is None else _string(fields, "text"),
    )


def read_did_close(params: object) -> lsp.DidCloseTextDocumentParams:
    """Params of ``textDocument/didClose``.

    Raises:
        MalformedParamsError: they are something else.
    """
    uri = _string(_object(_params(params), "textDocument"), "uri")
    return lsp.DidCloseTextDocumentParams(text_document=lsp.TextDocumentIdentifier(uri=uri))


def named_document(params: object) -> str | None:
    """The URI that a malformed message still names its document by; None where it does not."""
    try:
        return _string(_object(_params(params), "textDocument"), "uri")
    except MalformedParamsError:
        return None


def _change(
    change: object,
) -> lsp.TextDocumentContentChangePartial | lsp.TextDocumentContentChangeWholeDocument:
    if not isinstance(change, dict):
        raise MalformedParamsError(f"a content change must be an object, not {json_kind(change)}")
    fields = cast("dict[str, Any]", change)
    text = _string(fields, "text")
    if fields.get("range") is None:
        return lsp.TextDocumentContentChangeWholeDocument(text=text)
    span = _object(fields, "range")
    return lsp.TextDocumentContentChangePartial(
        range=lsp.Range(start=_position(span, "start"), end=_position(span, "end")), text=text
    )


def _position(fields: dict[str, Any], key: str) -> lsp.Position:
    position = _object(fields, key)
    return lsp.Position(line=_integer(position, "line"), character=_integer(position, "character"))


def _params(params: object) -> dict[str, Any]:
    if not isinstance(params, dict):
        raise MalformedParamsError(f"params must be an object, not {json_kind(params)}")
    return cast("dict[str, Any]", params)


def _object(fields: dict[str, Any], key: str) -> dict[str, Any]:
    value = fields.get(key)
    if not isinstance(value, dict):
        raise MalformedParamsError(f"{key} must be an object, not {json_kind(value)}")
    return cast("dict[str, Any]", value)


def _string(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str):
        raise MalformedParamsError(f"{key} must be a string, not {json_kind(value)}")
    return value


def _integer(fields: dict[str, Any], key: str) -> int:
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedParamsError(f"{key} must be an integer, not {json_kind(value)}")
    return value
