"""What a client says of itself is read leniently: nothing in it can keep a session from beginning."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.client_facts import ClientFacts, read_client_facts
from openbuffer.bridge.protocol import MalformedParamsError
from openbuffer.editor_access.client_requests import RichCapabilities


@pytest.mark.contract("B1")
@pytest.mark.parametrize(
    ("params", "roots"),
    [
        ({}, ()),
        ({"workspaceFolders": None, "rootUri": None, "rootPath": None}, ()),
        ({"workspaceFolders": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///b%20c"}]}, ("/a", "/b c")),
        ({"workspaceFolders": [{"uri": "file:///a"}], "rootUri": "file:///z"}, ("/a",)),
        ({"workspaceFolders": [{"uri": "file:///a"}, {"uri": "file:///a"}]}, ("/a",)),
        ({"workspaceFolders": [{"uri": "vscode-remote://x/a"}, {"uri": "untitled:a"}, {"uri": "file://host/a"}]}, ()),
        ({"workspaceFolders": [5, {}, {"uri": 5}, {"uri": "file:///a"}]}, ("/a",)),
        ({"workspaceFolders": [], "rootUri": "file:///z"}, ("/z",)),
        ({"rootUri": "file:///z", "rootPath": "/y"}, ("/z",)),
        ({"rootUri": None, "rootPath": "/y"}, ("/y",)),
        ({"rootPath": "relative"}, ()),
        ({"rootUri": {}, "rootPath": []}, ()),
    ],
)
def test_roots_are_the_folders_else_the_root_uri_else_the_root_path(params: Any, roots: tuple[str, ...]) -> None:
    assert read_client_facts(params).roots == roots


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, "utf-16"), ([], "utf-16"), (["utf-8"], "utf-8"), (["utf-32", "utf-8"], "utf-32"),
        (["utf-7", "utf-8"], "utf-8"), (["utf-7"], "utf-16"), ([5, None, {}, "utf-8"], "utf-8"), ("utf-8", "utf-16"),
    ],
)  # fmt: skip
def test_the_first_known_position_encoding_is_taken(offered: Any, chosen: str) -> None:
    facts = read_client_facts({"capabilities": {"general": {"positionEncodings": offered}}})
    assert facts.position_encoding == chosen


@pytest.mark.parametrize("value", [None, 0, -1, True, "12", 2**40, 1.5, {}, []])
def test_what_is_no_process_id_counts_as_none(value: Any) -> None:
    assert read_client_facts({"processId": value}).process_id is None


def test_a_process_id_and_the_ability_to_apply_edits_are_taken() -> None:
    facts = read_client_facts({"processId": 12, "capabilities": {"workspace": {"applyEdit": True}}})
    assert facts == ClientFacts(process_id=12, applies_edits=True)


@pytest.mark.parametrize("params", [None, [], "x", 5])
def test_params_that_are_no_object_are_malformed(params: Any) -> None:
    with pytest.raises(MalformedParamsError):
        read_client_facts(params)


_KEYS = st.sampled_from(
    ["processId", "capabilities", "general", "positionEncodings", "workspace", "applyEdit", "workspaceFolders", "uri",
     "rootUri", "rootPath"]
)  # fmt: skip
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.just("file:///a"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS | st.text(), inner, max_size=6),
)


@given(st.dictionaries(_KEYS, _JSON))
def test_no_json_object_is_too_strange_to_begin_with(params: Any) -> None:
    assert isinstance(read_client_facts(params), ClientFacts)


@pytest.mark.contract("E9", "E10")
@pytest.mark.parametrize(
    ("announced", "rich", "foreign"),
    [
        (None, RichCapabilities(), ""),
        ({"protocolVersion": 1}, RichCapabilities(), ""),
        ({"protocolVersion": 1, "saveDocument": True}, RichCapabilities(save_document=True), ""),
        ({"protocolVersion": 1, "readDocument": 1, "applyEdit": "yes", "reloadDocument": None}, RichCapabilities(), ""),
        (
            {
                "protocolVersion": 1,
                "readDocument": True,
                "applyEdit": True,
                "saveDocument": True,
                "reloadDocument": True,
                "withdrawDialog": True,
                "more": True,
            },
            RichCapabilities(
                read_document=True, apply_edit=True, save_document=True, reload_document=True, withdraw_dialog=True
            ),
            "",
        ),
        ({"protocolVersion": 2, "saveDocument": True}, RichCapabilities(), "2"),
        ({"protocolVersion": True, "saveDocument": True}, RichCapabilities(), "True"),
        ({"saveDocument": True}, RichCapabilities(), "None"),
        ("nonsense", RichCapabilities(), "None"),
    ],
)
def test_what_a_client_announces_beyond_lsp_counts_if_it_speaks_this_version(
    announced: Any, rich: RichCapabilities, foreign: str
) -> None:
    facts = read_client_facts({"capabilities": {"experimental": {"openbuffer": announced}}})
    assert (facts.rich, facts.foreign_protocol_version) == (rich, foreign)


@pytest.mark.contract("B7")
@pytest.mark.parametrize(
    ("options", "trusted", "settings"),
    [
        (None, None, None),
        ({"openbuffer": {}}, None, None),
        ({"openbuffer": []}, None, None),
        ({"openbuffer": {"workspaceTrusted": True, "settings": {"log": {}}}}, True, {"log": {}}),
        ({"openbuffer": {"workspaceTrusted": False, "settings": "x"}}, False, "x"),
        ({"openbuffer": {"workspaceTrusted": 1}}, None, None),
        ({"openbuffer": {"workspaceTrusted": "true"}}, None, None),
        ({"workspaceTrusted": True}, None, None),
    ],
)
def test_a_workspace_is_trusted_where_the_client_says_so_and_nowhere_else(
    options: Any, trusted: bool | None, settings: Any
) -> None:
    facts = read_client_facts({"initializationOptions": options})
    assert facts.workspace_trusted is trusted
    assert facts.settings == settings
