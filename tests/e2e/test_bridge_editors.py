"""Sessions as VS Code, Neovim and Emacs begin them, with pytest-lsp and a small editor in memory."""

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

from .raw_client import SERVER

TEXT = "first 😋 line\r\nsecond e\u0301 line\u2028still second\r\nthird 😋 end"


class Editor(LanguageClient):
    """Holds documents and applies edits to them, in the encoding that was agreed on."""

    texts: dict[str, str]
    versions: dict[str, int]
    encoding: str
    root: Path

    def open(self, path: Path, text: str) -> str:
        uri = path.as_uri()
        self.texts[uri], self.versions[uri] = text, 1
        item = types.TextDocumentItem(uri=uri, language_id="text", version=1, text=text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def type_over(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=self.versions[uri])
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        (change,) = params.edit.document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        uri = change.text_document.uri
        if change.text_document.version != self.versions[uri]:
            return types.ApplyWorkspaceEditResult(applied=False)
        for edit in reversed(change.edits):
            assert isinstance(edit, types.TextEdit)
            start, end = (self._offset(uri, position) for position in (edit.range.start, edit.range.end))
            self.texts[uri] = self.texts[uri][:start] + edit.new_text + self.texts[uri][end:]
        self.type_over(uri, self.texts[uri])
        return types.ApplyWorkspaceEditResult(applied=True)

    def _offset(self, uri: str, position: types.Position) -> int:
        lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", self.texts[uri])
        codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[self.encoding]
        unit = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[self.encoding]
        before = lines[position.line].encode(codec)[: position.character * unit].decode(codec)
        return sum(map(len, lines[: position.line])) + len(before)


def editor() -> Editor:
    client = Editor(converter_factory=default_converter)
    client.texts, client.versions = {}, {}
    register_lsp_features(client)

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        return client.apply(params)

    return client


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=list(SERVER), client_factory=editor),
    params=["visual-studio-code", "neovim@v0.11.0", "emacs"],
)
async def client(request: pytest.FixtureRequest, tmp_path: Path, lsp_client: LanguageClient) -> AsyncIterator[None]:
    assert isinstance(lsp_client, Editor)
    result = await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities(request.param),
            workspace_folders=[types.WorkspaceFolder(uri=tmp_path.as_uri(), name="root")],
        )
    )
    lsp_client.encoding = str(result.capabilities.position_encoding)
    lsp_client.root = tmp_path
    yield
    await lsp_client.shutdown_session()


async def call(client: Editor, name: str, arguments: dict[str, Any]) -> Any:
    """By the command, which is all that some clients have."""
    params = types.ExecuteCommandParams("openbuffer.callTool", [{"name": name, "arguments": arguments}])
    return await client.workspace_execute_command_async(params)


@pytest.mark.contract("B1", "B4")
async def test_the_tools_are_there(client: Editor) -> None:
    listed = await client.workspace_execute_command_async(types.ExecuteCommandParams("openbuffer.listTools", []))
    assert {tool["name"] for tool in listed["tools"]} >= {"Read", "Write", "Edit", "Delete"}
    answer = await client.protocol.send_request_async("openbuffer/listTools", {})
    assert [tool.name for tool in answer.tools] == [tool["name"] for tool in listed["tools"]]


@pytest.mark.contract("B4", "E8")
async def test_an_unsaved_text_is_read_and_edited_in_the_clients_own_encoding(client: Editor) -> None:
    path = client.root / "ä b.txt"
    path.write_bytes(b"on disk\n")
    uri = client.open(path, "on disk\n")
    client.type_over(uri, TEXT)
    assert "first 😋 line" in (await call(client, "Read", {"filePath": "ä b.txt"}))["data"]["output"]
    expected = TEXT
    for old, new in (("line\r\nsecond", "LINE\r\n2nd"), ("e\u0301", "é"), ("😋 end", "🦑 END\r\nmore")):
        edited = await call(client, "Edit", {"filePath": str(path), "oldString": old, "newString": new})
        assert edited["data"]["success"] is True, edited
        expected = expected.replace(old, new)
        assert client.texts[uri] == expected
    assert path.read_bytes() == b"on disk\n"


@pytest.mark.contract("B4")
async def test_a_call_reports_progress_under_the_clients_token(client: Editor) -> None:
    (client.root / "a.txt").write_text("a\n")
    client.progress_reports["mine"] = []
    call = {"name": "Read", "arguments": {"filePath": "a.txt"}, "workDoneToken": "mine"}
    answer = await client.workspace_execute_command_async(types.ExecuteCommandParams("openbuffer.callTool", [call]))
    assert answer["isError"] is False
    assert [value.kind for value in client.progress_reports["mine"]] == ["begin", "end"]
    assert client.messages == []
