"""The LSP adapter and the ways of Neovim, without Neovim; the real one is in tests/e2e."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from lsprotocol import types as lsp
from openbuffer.editor_access import EditOutcome, TextEdit
from openbuffer.editor_access.errors import DocumentOutOfSyncError
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.uri import uri_from_path

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.editor_access import Document


class Client:
    """Records what it is asked and refuses it, so that nothing has to be waited for."""

    def __init__(self) -> None:
        self.asked: list[lsp.TextDocumentEdit] = []

    async def apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
        (change,) = params.edit.document_changes or ()
        assert isinstance(change, lsp.TextDocumentEdit)
        self.asked.append(change)
        return lsp.ApplyWorkspaceEditResult(applied=False)


class Desk:
    """One document, opened at version 0."""

    def __init__(self, file: Path, text: str, *, is_neovim: bool, client: Client | None = None) -> None:
        file.touch()
        self.path, self.uri, self.client = str(file), uri_from_path(str(file)), client or Client()
        timeouts = EditTimeouts(reply_s=0.05, text_s=0.05, grace_s=0.01, promised_s=0.01)
        self.editor = LspEditor(self.client, encoding="utf-8", timeouts=timeouts, is_neovim=is_neovim)
        item = lsp.TextDocumentItem(uri=self.uri, language_id="", version=0, text=text)
        assert self.editor.did_open(lsp.DidOpenTextDocumentParams(text_document=item)) is None

    @property
    def document(self) -> Document:
        found = self.editor.document(self.path)
        assert found is not None
        return found

    async def replace(self, old: str, new: str) -> EditOutcome:
        start = self.document.text.index(old)
        return await self.editor.apply(self.document, [TextEdit(start, start + len(old), new)], label="test")

    def reopen(self, text: str) -> None:
        document = lsp.TextDocumentIdentifier(uri=self.uri)
        assert self.editor.did_close(lsp.DidCloseTextDocumentParams(text_document=document)) is None
        item = lsp.TextDocumentItem(uri=self.uri, language_id="", version=0, text=text)
        assert self.editor.did_open(lsp.DidOpenTextDocumentParams(text_document=item)) is None

    def change(self, version: int, line: int, text: str) -> str | None:
        at = lsp.Position(line=line, character=0)
        part = lsp.TextDocumentContentChangePartial(range=lsp.Range(start=at, end=at), text=text)
        document = lsp.VersionedTextDocumentIdentifier(uri=self.uri, version=version)
        return self.editor.did_change(lsp.DidChangeTextDocumentParams(text_document=document, content_changes=[part]))

    def save(self, text: str) -> str | None:
        document = lsp.TextDocumentIdentifier(uri=self.uri)
        return self.editor.did_save(lsp.DidSaveTextDocumentParams(text_document=document, text=text))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "a.txt"


@pytest.mark.contract("E7")
@pytest.mark.parametrize(("is_neovim", "opened", "sent"), [(True, 0, 1), (True, 4, 4), (False, 0, 0), (False, 4, 4)])
async def test_an_edit_names_a_version_that_the_client_checks(
    file: Path, is_neovim: bool, opened: int, sent: int
) -> None:
    desk = Desk(file, "a\n", is_neovim=is_neovim)
    if opened:
        assert desk.change(opened, 0, "x") is None
    await desk.replace("a", "b")
    assert desk.client.asked[0].text_document.version == sent


@pytest.mark.contract("E8")
@pytest.mark.parametrize(
    ("text", "old", "new", "end"),
    [
        ("one\ntwo", "two", "two\nthree\n", (2, 0)),
        ("one\ntwo", "two", "TWO", (1, 3)),
        ("one\ntwo", "one", "1\n", (0, 3)),
        ("one\ntwo\n", "two\n", "two\nthree\n", (1, 3)),
        ("one\ntwo", "two", "", (2, 0)),
        ("one\r\ntwo", "two", "", (2, 0)),
        ("one\ntwo", "one\ntwo", "", (1, 3)),
        ("", "", "one\n", (1, 0)),
        ("", "", "one", (0, 0)),
    ],
)
async def test_a_text_that_gets_its_final_newline_is_replaced_to_beyond_its_last_line(
    file: Path, text: str, old: str, new: str, end: tuple[int, int]
) -> None:
    desk = Desk(file, text, is_neovim=True)
    await desk.replace(old, new)
    (edit,) = desk.client.asked[0].edits
    assert isinstance(edit, lsp.TextEdit)
    assert (edit.range.end.line, edit.range.end.character) == end


class Tells(Client):
    """Says that it made the edit, and tells these texts: several messages, or several changes of one."""

    def __init__(self, *messages: tuple[str, ...], reopened: str | None = None) -> None:
        super().__init__()
        self.messages = messages
        self.reopened = reopened
        self.desk: Desk | None = None

    async def apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
        await super().apply_edit(params)
        assert self.desk is not None
        if self.reopened is not None:
            self.desk.reopen(self.reopened)
        for version, texts in enumerate(self.messages, 9):
            document = lsp.VersionedTextDocumentIdentifier(uri=self.desk.uri, version=version)
            changes = [lsp.TextDocumentContentChangeWholeDocument(text=text) for text in texts]
            told = lsp.DidChangeTextDocumentParams(text_document=document, content_changes=changes)
            assert self.desk.editor.did_change(told) is None
        return lsp.ApplyWorkspaceEditResult(applied=True)


async def told(
    file: Path, text: str, edit: tuple[str, str], *messages: tuple[str, ...], reopened: str | None = None
) -> EditOutcome:
    """What becomes of an edit about which the client tells this, perhaps after it opened the document anew."""
    client = Tells(*messages, reopened=reopened)
    client.desk = desk = Desk(file, text, is_neovim=True, client=client)
    return await desk.replace(*edit)


@pytest.mark.contract("E7")
@pytest.mark.parametrize("now", ["a\n", "\n", "typed over\n"])
async def test_an_edit_that_the_user_undid_before_it_was_told_was_made(file: Path, now: str) -> None:
    outcome = await told(file, "a\n", ("a", "edited"), ("edited\n", now))
    assert outcome.kind == "done"
    assert outcome.document is not None
    assert (outcome.document.text, outcome.document.version) == ("edited\n", 9)


@pytest.mark.contract("E7")
@pytest.mark.parametrize("edit", [("word", ""), ("word", "w"), ("word", "wo")])
async def test_what_the_users_typing_over_a_word_passes_through_is_not_taken_for_a_short_edit(
    file: Path, edit: tuple[str, str]
) -> None:
    outcome = await told(file, "word\n", edit, ("\n", "w\n", "wo\n", "won\n"))
    assert outcome.kind == "unknown"


@pytest.mark.contract("E7")
@pytest.mark.parametrize(
    ("reopened", "shown", "kind"),
    [
        ("a\nb\nc\n", "a\nedited\nc\n", "done"),
        ("a\nedited\nc\n", None, "done"),
        ("a\nb\n", "a\nedited\n", "unknown"),
        ("a\nb\nc\n", "a\nedited\nc\ntyped\n", "unknown"),
    ],
)
async def test_an_edit_that_meets_a_document_opened_anew_was_made_only_if_that_is_all(
    file: Path, reopened: str, shown: str | None, kind: str
) -> None:
    # Nothing tells for which of the two openings the edit was made: Neovim checks no version of the new one.
    messages = [] if shown is None else [(shown,)]
    outcome = await told(file, "a\nb\nc\n", ("b", "edited"), *messages, reopened=reopened)
    assert outcome.kind == kind, outcome


@pytest.mark.contract("E7")
async def test_an_edit_that_is_told_in_several_messages_was_made_over_nothing(file: Path) -> None:
    # Neovim first has a blank line too many where the text gets its final newline, and then takes it away.
    outcome = await told(file, "x\ny", ("x\ny", "a\n\n"), ("a\n\n\n",), ("a\n\n",))
    assert outcome.kind == "done", outcome


@pytest.mark.contract("E8")
@pytest.mark.parametrize("text", ["a\rb\nc\n", "a\rb\rc\r"])
async def test_lone_carriage_returns_are_not_edited_where_they_may_be_no_line_ends(file: Path, text: str) -> None:
    desk = Desk(file, text, is_neovim=True)
    outcome = await desk.replace("c", "C")
    assert (outcome.kind, outcome.nothing_changed) == ("not_done", True)
    assert "carriage return" in outcome.reason
    assert desk.client.asked == []


@pytest.mark.contract("E6")
@pytest.mark.parametrize(("text", "first"), [("a\rb\nc\n", None), ("a\nb\n", "x\ry")])
def test_changes_after_a_lone_carriage_return_make_the_text_unknown(file: Path, text: str, first: str | None) -> None:
    desk = Desk(file, text, is_neovim=True)
    if first is not None:
        assert desk.change(3, 1, first) is None
        assert desk.document.text == "a\nx\ryb\n"
    assert "carriage return" in (desk.change(4, 1, "typed") or "")
    with pytest.raises(DocumentOutOfSyncError, match="carriage return"):
        _ = desk.document


@pytest.mark.contract("E6")
def test_changes_to_a_document_with_crlf_are_followed(file: Path) -> None:
    desk = Desk(file, "a\r\nb\r\n", is_neovim=True)
    assert desk.change(3, 1, "x\r\ny\r\n") is None
    assert desk.change(4, 3, "z\r\n") is None
    assert desk.document.text == "a\r\nx\r\ny\r\nz\r\nb\r\n"


@pytest.mark.contract("E7")
@pytest.mark.parametrize(("old", "new"), [("\n", ""), ("\r\n", ""), ("a\nb\n", "a\nb"), ("a\r\n", "a"), ("\n\n", "\n")])
async def test_the_final_line_end_is_the_editors_own(file: Path, old: str, new: str) -> None:
    desk = Desk(file, old, is_neovim=True)
    assert (await desk.replace(old, new)).kind == "done"
    assert desk.client.asked == []


@pytest.mark.contract("E7")
@pytest.mark.parametrize(("old", "new"), [("a\nb\n", "a"), ("a\nb\n", "a\nB"), ("a\n\n", ""), ("a\n", "")])
async def test_what_changes_more_than_the_final_line_end_is_sent(file: Path, old: str, new: str) -> None:
    desk = Desk(file, old, is_neovim=True)
    assert (await desk.replace(old, new)).kind == "not_done"
    assert len(desk.client.asked) == 1


@pytest.mark.contract("E6")
@pytest.mark.parametrize(("shown", "saved"), [("a", "a\n"), ("a\n\n", "a\n"), ("a\n", "a\n\n"), ("a\nb", "a\r\nb\r\n")])
def test_a_saved_text_with_one_final_line_end_more_or_less_is_taken_over(file: Path, shown: str, saved: str) -> None:
    desk = Desk(file, shown, is_neovim=True)
    assert desk.save(saved) is None
    assert desk.document.text == saved


@pytest.mark.contract("E6")
@pytest.mark.parametrize(("shown", "saved"), [("a\n\n\n", "a\n"), ("a", "a\n\n"), ("a\nb\n", "a\nc\n")])
def test_any_other_difference_of_the_saved_text_is_a_drift(file: Path, shown: str, saved: str) -> None:
    desk = Desk(file, shown, is_neovim=True)
    assert desk.save(saved) is not None
    with pytest.raises(DocumentOutOfSyncError):
        _ = desk.document
