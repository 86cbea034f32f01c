"""PROTOCOL.md says what protocol.py does."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, get_origin, get_type_hints

import pytest
from lsprotocol import types
from lsprotocol.converters import get_converter
from openbuffer.bridge import protocol
from openbuffer.bridge.editor_settings import EditorSettings
from openbuffer.bridge.handlers.initialize import initialize
from openbuffer.bridge.session import Session
from openbuffer.bridge.settings_pull import SettingsPull
from openbuffer.bridge.version import VERSION
from openbuffer.bridge.wire import messages
from openbuffer.editor_access import client_requests

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENT = (Path(protocol.__file__).parent / "PROTOCOL.md").read_text(encoding="utf-8")
MODELS: dict[str, Mapping[str, Any]] = {
    name: get_type_hints(value, include_extras=True)
    for module in (protocol, client_requests)
    for name, value in vars(module).items()
    if isinstance(value, type) and hasattr(value, "__required_keys__")
}


def rows(heading: str) -> dict[str, str]:
    """First column, without its quotes, to second column of the table below a heading."""
    section = re.split(r"^#+ ", DOCUMENT.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    cells = re.findall(r"^\| `([^`]+)` \| (.*?) \|", section, re.MULTILINE)
    return dict(cells)


def test_every_model_has_a_heading_and_every_such_heading_a_model() -> None:
    headings = re.findall(r"^### (\w+)$", DOCUMENT, re.MULTILINE)
    assert sorted(headings) == sorted(MODELS)


@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_models_members_are_those_of_its_table(model: str) -> None:
    members = {name: get_origin(hint) is NotRequired for name, hint in MODELS[model].items()}
    assert {name: kind.endswith(", optional") for name, kind in rows(model).items()} == members


def test_methods_and_commands_are_those_of_the_tables() -> None:
    methods = {
        value
        for name, value in vars(protocol).items()
        if name.startswith(("LIST_", "CALL_")) and isinstance(value, str)
    }
    assert {method for method in rows("Requests") if method.startswith("openbuffer")} == methods


def test_what_is_asked_of_a_client_is_in_its_table() -> None:
    methods = {value for value in vars(client_requests).values() if isinstance(value, str) and "/" in value[:20]}
    methods = {method for method in methods if method.startswith("openbuffer/")}
    assert set(rows("The requests that it then gets")) == methods
    announced = {name for name in MODELS["ClientCapabilities"] if name != "protocolVersion"}
    assert announced == {method.removeprefix("openbuffer/") for method in methods}


def test_the_protocol_version_is_the_documents() -> None:
    assert f"Protocol version: **{protocol.PROTOCOL_VERSION}**" in DOCUMENT


def test_the_error_codes_are_those_of_the_table() -> None:
    codes = {value for value in vars(messages).values() if isinstance(value, int) and value < 0}
    table = {int(code) for code in re.findall(r"^\| (-32\d+) \|", DOCUMENT, re.MULTILINE)}
    assert table == codes


def test_the_version_is_the_distributions() -> None:
    assert version("openbuffer") == VERSION


@pytest.mark.contract("B1")
async def test_the_answer_to_initialize_is_what_lsp_has_for_it() -> None:
    def unused(*_: Any) -> Any:
        return None

    session = Session(create_executor=unused, create_client=unused, send_progress=unused)
    settings = EditorSettings()
    pull = SettingsPull(settings, unused, unused)
    answer = await initialize(
        session, unused, settings, pull, {"capabilities": {"general": {"positionEncodings": ["utf-8"]}}}
    )
    result = get_converter().structure(answer, types.InitializeResult)
    assert result.capabilities.position_encoding == "utf-8"
    assert isinstance(result.capabilities.text_document_sync, types.TextDocumentSyncOptions)
    assert result.capabilities.text_document_sync.save == types.SaveOptions(include_text=True)
    assert result.capabilities.workspace is not None
    assert result.capabilities.workspace.workspace_folders == types.WorkspaceFoldersServerCapabilities(
        supported=True, change_notifications=True
    )
    assert result.capabilities.experimental == {"openbuffer": {"protocolVersion": protocol.PROTOCOL_VERSION}}
    assert result.server_info == types.ServerInfo("openbuffer", VERSION)
