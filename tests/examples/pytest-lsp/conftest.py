"""A server for each test, and an editor in front of it that has no screen."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator  # noqa: TC003  pytest-lsp evaluates the annotations
from pathlib import Path  # noqa: TC003  likewise
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features

SERVER_COMMAND = ["openbuffer", "serve"]


class Editor(LanguageClient):
    """Open documents, by URI; their text is what its user would see."""

    texts: dict[str, str]
    versions: dict[str, int]

    def open(self, path: Path) -> str:
        """Show a file; returns the URI that names the document from now on."""
        uri = path.as_uri()
        self.texts[uri], self.versions[uri] = path.read_text(encoding="utf-8"), 1
        item = types.TextDocumentItem(uri=uri, language_id="plaintext", version=1, text=self.texts[uri])
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def type(self, uri: str, text: str) -> None:
        """Have this text in the document, without saving it."""
        self.texts[uri] = text
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def call_tool(self, name: str, **arguments: Any) -> Any:
        """Call a tool and return its answer, ``{name, isError, data or error}``."""
        call = {"name": name, "arguments": arguments}
        params = types.ExecuteCommandParams("openbuffer.callTool", [call])
        return await self.workspace_execute_command_async(params)

    def apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        """Make the server's edits, which are for one document and in one version of it."""
        (change,) = params.edit.document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        uri = change.text_document.uri
        if change.text_document.version != self.versions[uri]:
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason="the text has changed")
        text = self.texts[uri]
        for edit in reversed(change.edits):  # from the end, so that the places of the others stay right
            assert isinstance(edit, types.TextEdit)
            start, end = _offset(text, edit.range.start), _offset(text, edit.range.end)
            text = text[:start] + edit.new_text + text[end:]
        self.type(uri, text)
        return types.ApplyWorkspaceEditResult(applied=True)


def _offset(text: str, position: types.Position) -> int:
    """Where a position is in the text; its column counts UTF-16 units, as the fixture below has it."""
    lines = re.split(r"(?<=\n)", text)
    before = lines[position.line].encode("utf-16-le")[: position.character * 2].decode("utf-16-le")
    return sum(map(len, lines[: position.line])) + len(before)


def _editor() -> Editor:
    client = Editor(converter_factory=default_converter)
    client.texts, client.versions = {}, {}
    register_lsp_features(client)

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        return client.apply(params)

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(_params: types.RegistrationParams) -> None:
        """Agree: the server wants to hear of changes that its client tells in any case."""

    return client


@pytest.fixture(autouse=True)
def state_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tools do is recorded, and not in the directory of whoever runs the tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest_lsp.fixture(config=ClientServerConfig(server_command=SERVER_COMMAND, client_factory=_editor))
async def editor(lsp_client: Editor, tmp_path: Path) -> AsyncIterator[None]:
    """An editor whose workspace folder is ``tmp_path``."""
    capabilities = client_capabilities("visual-studio-code")
    folder = types.WorkspaceFolder(uri=tmp_path.as_uri(), name=tmp_path.name)
    params = types.InitializeParams(capabilities=capabilities, workspace_folders=[folder])
    await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()
