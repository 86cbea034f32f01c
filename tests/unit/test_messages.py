"""JSON-RPC text, read strictly and written always."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.wire import messages


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "body",
    [
        b"", b"   ", b"{", b"{]", b"nothing", b"\xff\xfe{\x00}\x00", b'{"a": "\xc3"}', b'{"a": NaN}',
        b'{"a": -Infinity}', b"\xef\xbb\xbf{}", b'{"a": "\n"}',
        b"[" * 200_000, b'{"a":' * 200_000, b'{"n": ' + b"9" * 5_000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_json_is_one_kind_of_error(body: bytes) -> None:
    with pytest.raises(messages.UnreadableError):
        messages.loads(body)


def test_bytes_behind_the_value_are_given_back() -> None:
    assert messages.loads(b' {"a": 1} \r\nContent-Le') == ({"a": 1}, b"Content-Le")
    assert messages.loads(b"{}\r\n") == ({}, b"")


@pytest.mark.parametrize("value", [object(), {1, 2}, float("inf"), b"bytes", {"a": [object()]}])
def test_what_json_cannot_carry_is_one_kind_of_error(value: object) -> None:
    with pytest.raises(messages.NotJsonError):
        messages.dumps(value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_what_is_written_is_read_back(value: object) -> None:
    body = messages.frame(messages.dumps(value)).partition(b"\r\n\r\n")[2]
    assert messages.loads(body) == (value, b"")


@given(st.text(st.characters(categories=["Cs", "L", "Zl", "Cc"])))
def test_any_text_goes_out_as_valid_utf_8_on_one_line(text: str) -> None:
    head, _, body = messages.frame(messages.dumps(text)).partition(b"\r\n\r\n")
    assert head == b"Content-Length: %d" % len(body)
    expected = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert json.loads(body.decode("utf-8")) == expected
    assert b"\n" not in body


@pytest.mark.parametrize(
    ("start", "found"),
    [
        (b'{"jsonrpc":"2.0","id":5,"method":"x","params":[[[', 5),
        (b'{"method":"x","params":{"id":9,"text":"\\"id\\":8"},"id" : "abc"', "abc"),
        (b'\r\n{"id":-3,"method":"x"', -3),
        (b'{"id":5,"params":{}', None),
        (b'{"params":{"id":5,"method":"x"', None),
        (b'{"method":"id","x":{"id":1}', None),
        (b'{"method":"x","id":1.5,', None),
        (b'{"method":"x","id":null,', None),
        (b'{"method":"x","id":"half', None),
        (b'["id":5,"method"', None),
        ('{"method":"x","id":"é 😋","params":"é'.encode()[:-1], "é 😋"),
        (rb'{"method":"x","id":"\u00e9 \"1\" \\","params":{', 'é "1" \\'),
        (b'{"method":"x","id":"\xff","params":{', None),
        (rb'{"method":"x","id":"\x","params":{', None),
        (b"", None),
        (b"\xff\xfe\x00", None),
    ],
)
def test_the_id_of_a_request_is_found_in_what_cannot_be_read(start: bytes, found: object) -> None:
    assert messages.find_request_id(start) == found


@pytest.mark.contract("B3")
def test_a_message_of_values_without_number_is_refused_before_it_fills_the_memory() -> None:
    for bomb in (b"[" + b"[]," * 4_000_001 + b"0]", b"{" + b'"ab":0,' * 4_000_001 + b'"c":0}', b'"",' * 4_000_002):
        with pytest.raises(messages.UnreadableError, match="more than 4000000 values"):
            messages.loads(bomb)


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "text", [",[{" * 4_000_000, '",' * 4_000_000, '\\",' * 3_000_000], ids=["plain", "quotes", "both"]
)
def test_a_text_that_looks_like_many_values_is_one(text: str) -> None:
    assert messages.loads(json.dumps({"text": text}).encode()) == ({"text": text}, b"")


CHANGE = b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":'


@pytest.mark.contract("E6", "B3")
@pytest.mark.parametrize(
    ("start", "found"),
    [
        (CHANGE + b'{"textDocument":{"uri":"file:///a","version":2},"contentChanges":[[', "file:///a"),
        (CHANGE + b'{"textDocument": {"version":2, "uri" : "file:///a\\u00e9"}', "file:///aé"),
        (CHANGE.replace(b"Change", b"Open") + b'{"textDocument":{"uri":"file:///a","text":"', "file:///a"),
        (b'{"method" : "textDocument/didOpen","params":{"textDocument":{"uri":"file:///a"', "file:///a"),
        (CHANGE + b'{"textDocument":{"uri":"file:///a', None),
        (CHANGE + b'{"textDocument":{"uri":"\\x"}', None),
        (CHANGE + b'{"textDocument":{"uri":7}', None),
        (b'{"method":"textDocument/didSave","params":{"textDocument":{"uri":"file:///a"}', None),
        (b"", None),
    ],
)
def test_the_document_of_a_text_is_found_in_what_cannot_be_read(start: bytes, found: str | None) -> None:
    assert messages.find_document(start) == found
