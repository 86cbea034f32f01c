"""What is no text never becomes the text of a document."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp
from openbuffer.bridge import document_params as read
from openbuffer.bridge.protocol import MalformedParamsError

ITEM = {"uri": "file:///a", "languageId": "text", "version": 1, "text": "a"}
AT = {"start": {"line": 0, "character": 1}, "end": {"line": 2, "character": 3}}


def test_sound_params_are_read() -> None:
    opened = read.read_did_open({"textDocument": ITEM})
    assert opened.text_document == lsp.TextDocumentItem("file:///a", "text", 1, "a")
    changes = [{"range": AT, "rangeLength": 5, "text": "x"}, {"text": "whole"}, {"range": None, "text": "too"}]
    changed = read.read_did_change({"textDocument": {"uri": "u", "version": 0}, "contentChanges": changes})
    assert changed.text_document == lsp.VersionedTextDocumentIdentifier(uri="u", version=0)
    assert changed.content_changes == [
        lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(0, 1), lsp.Position(2, 3)), "x"),
        lsp.TextDocumentContentChangeWholeDocument("whole"),
        lsp.TextDocumentContentChangeWholeDocument("too"),
    ]
    assert read.read_did_save({"textDocument": {"uri": "u"}, "text": "t"}).text == "t"
    assert read.read_did_save({"textDocument": {"uri": "u"}}).text is None
    assert read.read_did_close({"textDocument": {"uri": "u"}}).text_document.uri == "u"


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "params",
    [
        None, [], {}, {"textDocument": None}, {"textDocument": {**ITEM, "text": None}},
        {"textDocument": {**ITEM, "text": 5}},
        {"textDocument": {**ITEM, "uri": None}}, {"textDocument": {**ITEM, "version": "1"}},
        {"textDocument": {**ITEM, "version": None}}, {"textDocument": {**ITEM, "version": True}},
    ],
)  # fmt: skip
def test_malformed_openings_are_refused(params: Any) -> None:
    with pytest.raises(MalformedParamsError):
        read.read_did_open(params)


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "changes",
    [
        None, {}, [None], ["x"], [{}], [{"text": None}], [{"text": "x", "range": 5}], [{"text": "x", "range": {}}],
        [{"text": "x", "range": {**AT, "end": None}}], [{"text": "x", "range": {**AT, "start": {"line": 1}}}],
        [{"text": "x", "range": {**AT, "start": {"line": 1.0, "character": 0}}}], [{"text": "fine"}, {"text": 1}],
    ],
)  # fmt: skip
def test_malformed_changes_are_refused_and_still_name_their_document(changes: Any) -> None:
    params = {"textDocument": {"uri": "file:///a", "version": 1}, "contentChanges": changes}
    with pytest.raises(MalformedParamsError):
        read.read_did_change(params)
    assert read.named_document(params) == "file:///a"


def test_a_change_of_nothing_known_names_nothing() -> None:
    assert read.named_document({"textDocument": {"uri": None}}) is None


_KEYS = st.sampled_from(["textDocument", "uri", "version", "text", "contentChanges", "range", "start", "line"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5),
)


@given(_JSON)
def test_any_json_is_read_or_malformed(params: Any) -> None:
    for reader in (read.read_did_open, read.read_did_change, read.read_did_save, read.read_did_close):
        try:
            uri = reader(params).text_document.uri
        except MalformedParamsError:
            uri = "malformed"
        assert isinstance(uri, str)
