"""What the LSP adapter knows of a client's documents: reading, identity, drift."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types as lsp
from openbuffer.editor_access import DocumentMovedError, EditorLostError, TextEdit
from openbuffer.editor_access.errors import DocumentAmbiguousError, DocumentOutOfSyncError
from openbuffer.editor_access.lsp import LspEditor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openbuffer.editor_access.port import UnsavedDocument
    from openbuffer.editor_access.text import PositionEncoding


def paths_of(unsaved: Sequence[UnsavedDocument]) -> list[str]:
    return [document.path for document in unsaved]


class UnusedClient:
    def __init__(self) -> None:
        self.asked: list[lsp.ApplyWorkspaceEditParams] = []

    async def apply_edit(self, params: lsp.ApplyWorkspaceEditParams) -> lsp.ApplyWorkspaceEditResult:
        self.asked.append(params)
        return lsp.ApplyWorkspaceEditResult(applied=False)


class Feed:
    """Speaks to an editor as a client would; returns what the adapter says was wrong."""

    def __init__(self, encoding: PositionEncoding = "utf-16") -> None:
        self.client = UnusedClient()
        self.editor = LspEditor(self.client, encoding=encoding)

    def open(self, uri: str, text: str, version: int = 1) -> str | None:
        item = lsp.TextDocumentItem(uri=uri, language_id="x", version=version, text=text)
        return self.editor.did_open(lsp.DidOpenTextDocumentParams(text_document=item))

    def change(self, uri: str, version: int, *changes: lsp.TextDocumentContentChangeEvent) -> str | None:
        identifier = lsp.VersionedTextDocumentIdentifier(uri=uri, version=version)
        return self.editor.did_change(
            lsp.DidChangeTextDocumentParams(text_document=identifier, content_changes=list(changes))
        )

    def save(self, uri: str, text: str | None = None) -> str | None:
        return self.editor.did_save(
            lsp.DidSaveTextDocumentParams(text_document=lsp.TextDocumentIdentifier(uri=uri), text=text)
        )

    def close(self, uri: str) -> str | None:
        return self.editor.did_close(lsp.DidCloseTextDocumentParams(text_document=lsp.TextDocumentIdentifier(uri=uri)))

    def text(self, path: Path | str) -> str | None:
        document = self.editor.document(str(path))
        return None if document is None else document.text


def part(start: tuple[int, int], end: tuple[int, int], text: str) -> lsp.TextDocumentContentChangePartial:
    where = lsp.Range(start=lsp.Position(*start), end=lsp.Position(*end))
    return lsp.TextDocumentContentChangePartial(range=where, text=text)


def whole(text: str) -> lsp.TextDocumentContentChangeWholeDocument:
    return lsp.TextDocumentContentChangeWholeDocument(text=text)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path))
    (real / "a.txt").write_text("disk\n")
    return real


@pytest.mark.contract("E6")
def test_the_synchronised_text_is_read_and_not_the_disk(place: Path) -> None:
    feed, path = Feed(), place / "a.txt"
    assert feed.text(path) is None
    feed.open(path.as_uri(), "a\nb\nc")
    feed.change(path.as_uri(), 2, part((2, 0), (2, 1), "C"), part((2, 1), (2, 1), "-user"))
    assert feed.text(path) == "a\nb\nC-user"
    feed.close(path.as_uri())
    assert feed.text(path) is None


@pytest.mark.contract("E6")
def test_a_snapshot_does_not_move_with_the_document(place: Path) -> None:
    feed, path = Feed(), place / "a.txt"
    feed.open(path.as_uri(), "one", version=0)
    before = feed.editor.document(str(path))
    feed.change(path.as_uri(), 7, whole("two"))
    after = feed.editor.document(str(path))
    assert before is not None
    assert after is not None
    assert (before.text, before.version) == ("one", 0)
    assert (after.text, after.version, after.generation) == ("two", 7, before.generation)


@pytest.mark.contract("E6")
@pytest.mark.parametrize(("encoding", "column_of_b"), [("utf-8", 8), ("utf-16", 4), ("utf-32", 3)])
def test_columns_count_in_the_negotiated_encoding(encoding: PositionEncoding, column_of_b: int, place: Path) -> None:
    feed, path = Feed(encoding), place / "a.txt"
    feed.open(path.as_uri(), "a😋\u2028b\r\nx")
    assert feed.change(path.as_uri(), 2, part((0, column_of_b), (0, column_of_b + 1), "B")) is None
    assert feed.text(path) == "a😋\u2028B\r\nx"


@pytest.mark.contract("E6")
@pytest.mark.parametrize("name", ["a b.txt", "a#b.txt", "100%25.txt", "é.txt", "e\u0301.txt", "😋.txt", "a?b.txt"])
def test_a_document_is_found_by_its_decoded_name_however_it_is_escaped(name: str, place: Path) -> None:
    path = place / name
    path.write_text("disk")
    feed = Feed()
    uri = path.as_uri()
    feed.open(uri, "one")
    lower_hex = re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), uri)
    assert feed.change(lower_hex, 2, whole("two")) is None
    assert feed.text(path) == "two"
    assert feed.editor.document(str(path)).uri == uri  # type: ignore[union-attr]


@pytest.mark.contract("E6")
@pytest.mark.parametrize("uri", ["file://", "untitled:Untitled-1", "output:log", "file://elsewhere/a"])
def test_a_buffer_without_a_file_is_tolerated_and_never_carried(uri: str, place: Path) -> None:
    feed = Feed()
    said = [feed.open(uri, "x"), feed.change(uri, 2, whole("y")), feed.save(uri), feed.close(uri), feed.close(uri)]
    assert said == [None] * 5
    assert feed.editor.unsaved_under("/") == ()
    assert feed.text(place / "a.txt") is None


@pytest.mark.contract("E1")
def test_a_document_opened_through_a_link_is_found_by_its_canonical_path_alone(place: Path) -> None:
    (place / "link").symlink_to(place, target_is_directory=True)
    feed = Feed()
    feed.open((place / "link" / "a.txt").as_uri(), "shown")
    assert feed.text(place / "a.txt") == "shown"
    assert feed.text(place / "link" / "a.txt") is None


@pytest.mark.contract("E1")
def test_a_document_whose_link_was_retargeted_is_refused_and_never_read_as_the_new_file(place: Path) -> None:
    (place / "b.txt").write_text("other\n")
    (place / "link").symlink_to(place / "a.txt")
    feed = Feed()
    feed.open((place / "link").as_uri(), "text of a")
    (place / "link").unlink()
    (place / "link").symlink_to(place / "b.txt")
    assert feed.text(place / "a.txt") is None
    with pytest.raises(DocumentOutOfSyncError, match="leads here only since then"):
        feed.text(place / "b.txt")


@pytest.mark.contract("E1")
def test_a_file_that_became_a_link_after_opening_is_refused(place: Path) -> None:
    (place / "b.txt").write_text("other\n")
    feed = Feed()
    feed.open((place / "a.txt").as_uri(), "text of a")
    (place / "a.txt").unlink()
    (place / "a.txt").symlink_to(place / "b.txt")
    with pytest.raises(DocumentOutOfSyncError, match="Close and reopen"):
        feed.text(place / "b.txt")


@pytest.mark.contract("E1")
async def test_an_edit_is_refused_when_the_path_leads_elsewhere_by_then(place: Path) -> None:
    (place / "dir").mkdir()
    (place / "dir" / "x").write_text("1")
    feed, path = Feed(), place / "dir" / "x"
    feed.open(path.as_uri(), "1")
    document = feed.editor.document(str(path))
    assert document is not None
    (place / "dir").rename(place / "moved")
    (place / "dir").symlink_to(place / "moved")
    with pytest.raises(DocumentMovedError):
        await feed.editor.apply(document, [TextEdit(0, 1, "2")], label="x")
    assert feed.client.asked == []


@pytest.mark.contract("E6")
def test_a_document_whose_file_does_not_exist_yet_is_carried(place: Path) -> None:
    feed = Feed()
    feed.open((place / "new.txt").as_uri(), "draft")
    assert feed.text(place / "new.txt") == "draft"


@pytest.mark.contract("E1")
def test_a_new_file_in_a_linked_folder_is_found_by_its_canonical_path(place: Path) -> None:
    (place / "link").symlink_to(place, target_is_directory=True)
    feed = Feed()
    feed.open((place / "link" / "new.txt").as_uri(), "draft")
    assert feed.text(place / "new.txt") == "draft"
    assert feed.text(place / "other.txt") is None


def test_two_hard_links_are_two_files(place: Path) -> None:
    os.link(place / "a.txt", place / "hard.txt")
    feed = Feed()
    feed.open((place / "a.txt").as_uri(), "shown")
    assert feed.text(place / "hard.txt") is None
    assert feed.text(place / "a.txt") == "shown"


@pytest.mark.contract("E2")
async def test_one_file_open_under_two_names_is_readable_while_they_agree_and_never_edited(place: Path) -> None:
    (place / "link").symlink_to(place / "a.txt")
    feed, path = Feed(), place / "a.txt"
    feed.open(path.as_uri(), "same")
    feed.open((place / "link").as_uri(), "same")
    document = feed.editor.document(str(path))
    assert document is not None
    assert document.text == "same"
    with pytest.raises(DocumentAmbiguousError, match="only one of them"):
        await feed.editor.apply(document, [TextEdit(0, 0, "x")], label="x")
    feed.change((place / "link").as_uri(), 2, whole("other"))
    with pytest.raises(DocumentAmbiguousError, match="texts differ"):
        feed.text(path)
    feed.close((place / "link").as_uri())
    assert feed.text(path) == "same"
    assert feed.client.asked == []


BROKEN = {
    "negative range": part((0, 0), (9, 0), "x"),
    "reversed range": part((1, 1), (0, 1), "x"),
}


@pytest.mark.contract("E6", "B3")
@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
async def test_a_change_that_does_not_fit_makes_the_document_unknown_until_it_is_opened_again(
    change: lsp.TextDocumentContentChangePartial, place: Path
) -> None:
    feed, path = Feed(), place / "a.txt"
    feed.open(path.as_uri(), "one\ntwo\n")
    document = feed.editor.document(str(path))
    assert document is not None
    assert "didChange" in (feed.change(path.as_uri(), 2, change) or "")
    feed.change(path.as_uri(), 3, part((0, 0), (0, 0), "later"))
    with pytest.raises(DocumentOutOfSyncError, match="Close and reopen it"):
        feed.text(path)
    with pytest.raises(DocumentOutOfSyncError):
        await feed.editor.apply(document, [TextEdit(0, 0, "x")], label="x")
    assert feed.client.asked == []
    assert paths_of(feed.editor.unsaved_under(str(place))) == [str(path)]
    feed.open(path.as_uri(), "fresh", version=4)
    assert feed.text(path) == "fresh"


@pytest.mark.contract("E6", "B3")
def test_the_line_after_the_last_one_is_the_end_and_no_drift(place: Path) -> None:
    feed, path = Feed(), place / "a.txt"
    feed.open(path.as_uri(), "one\n")
    assert feed.change(path.as_uri(), 2, part((0, 0), (2, 0), "new\n")) is None
    assert feed.text(path) == "new\n"


@pytest.mark.contract("B3")
def test_a_version_that_goes_back_within_one_opening_is_a_drift_but_a_new_opening_may_start_anywhere(
    place: Path,
) -> None:
    feed, path = Feed(), place / "a.txt"
    feed.open(path.as_uri(), "x", version=9)
    assert feed.change(path.as_uri(), 9, whole("same version")) is None
    assert feed.text(path) == "same version"
    assert "went back" in (feed.change(path.as_uri(), 8, whole("older")) or "")
    with pytest.raises(DocumentOutOfSyncError, match="went back from 9 to 8"):
        feed.text(path)
    feed.close(path.as_uri())
    assert feed.text(path) is None
    assert feed.open(path.as_uri(), "again", version=0) is None
    assert feed.text(path) == "again"


@pytest.mark.contract("B3")
def test_a_change_of_a_document_never_opened_is_not_taken_for_a_file_on_disk(place: Path) -> None:
    feed, path = Feed(), place / "a.txt"
    assert "without having been opened" in (feed.change(path.as_uri(), 3, part((0, 0), (0, 0), "x")) or "")
    with pytest.raises(DocumentOutOfSyncError):
        feed.text(path)
    assert paths_of(feed.editor.unsaved_under(str(place))) == [str(path)]
    feed.close(path.as_uri())
    assert feed.text(path) is None


@pytest.mark.contract("B3")
@pytest.mark.parametrize("is_open", [True, False])
def test_a_lost_track_is_told_with_its_reason_until_the_document_is_opened_again(place: Path, is_open: bool) -> None:
    feed, path = Feed(), place / "a.txt"
    if is_open:
        feed.open(path.as_uri(), "one")
    feed.editor.lose_track(path.as_uri(), "a message made no sense")
    feed.editor.lose_track("untitled:1", "there is no such file")
    with pytest.raises(DocumentOutOfSyncError, match="a message made no sense"):
        feed.text(path)
    assert paths_of(feed.editor.unsaved_under(str(place))) == [str(path)]
    feed.open(path.as_uri(), "fresh", version=4)
    assert feed.text(path) == "fresh"


@pytest.mark.contract("B3")
def test_closing_or_saving_twice_or_what_is_not_open_is_told_and_tolerated(place: Path) -> None:
    feed, uri = Feed(), (place / "a.txt").as_uri()
    assert "not open" in (feed.close(uri) or "")
    assert "not open" in (feed.save(uri) or "")
    feed.open(uri, "x")
    assert feed.close(uri) is None
    assert "not open" in (feed.close(uri) or "")


@pytest.mark.contract("E6")
def test_opening_again_is_a_reload_with_a_new_generation(place: Path) -> None:
    feed, path = Feed(), place / "a.txt"
    feed.open(path.as_uri(), "one", version=5)
    first = feed.editor.document(str(path))
    assert "reload" in (feed.open(path.as_uri(), "two", version=0) or "")
    second = feed.editor.document(str(path))
    assert first is not None
    assert second is not None
    assert (second.text, second.version) == ("two", 0)
    assert second.generation > first.generation


@pytest.mark.contract("E6")
def test_a_saved_text_that_differs_shows_a_drift(place: Path) -> None:
    feed, path = Feed(), place / "a.txt"
    feed.open(path.as_uri(), "one\n")
    assert "not the text" in (feed.save(path.as_uri(), "two\n") or "")
    with pytest.raises(DocumentOutOfSyncError, match="saved is not the text"):
        feed.text(path)


@pytest.mark.contract("E6")
@pytest.mark.parametrize("saved", ["one\ntwo\n", "one\r\ntwo", "one\r\ntwo\r\n"])
def test_a_saved_text_that_differs_by_line_ends_or_final_newline_is_taken_over(saved: str, place: Path) -> None:
    feed, path = Feed(), place / "a.txt"
    feed.open(path.as_uri(), "one\ntwo")
    assert feed.save(path.as_uri(), saved) is None
    assert feed.text(path) == saved
    assert feed.editor.unsaved_under(str(place)) == ()


@pytest.mark.contract("E5")
def test_unsaved_documents_are_those_whose_text_differs_from_what_was_opened_or_saved(place: Path) -> None:
    (place / "sub").mkdir()
    (place / "sub-evil").mkdir()
    feed = Feed()
    uris = {name: (place / name).as_uri() for name in ("sub/x", "sub/y", "sub-evil/z")}
    for uri in uris.values():
        feed.open(uri, "1")
        feed.change(uri, 2, whole("2"))
    assert paths_of(feed.editor.unsaved_under(str(place / "sub"))) == [str(place / "sub/x"), str(place / "sub/y")]
    feed.save(uris["sub/x"])
    feed.change(uris["sub/y"], 3, whole("1"))
    assert paths_of(feed.editor.unsaved_under(str(place))) == [str(place / "sub-evil/z")]
    assert paths_of(feed.editor.unsaved_under("/")) == [str(place / "sub-evil/z")]


@pytest.mark.contract("E5")
def test_where_a_document_is_gets_asked_of_the_disk_only_if_it_is_unsaved(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = Feed()
    for number in range(50):
        feed.open((place / f"{number}.txt").as_uri(), "text")
    feed.change((place / "7.txt").as_uri(), 2, whole("typed"))
    asked: list[str] = []

    def realpath(path: str) -> str:
        asked.append(path)
        return path

    monkeypatch.setattr("openbuffer.editor_access.lsp_documents.canonical", realpath)
    assert paths_of(feed.editor.unsaved_under(str(place))) == asked == [str(place / "7.txt")]


@pytest.mark.contract("E1", "E10")
def test_of_the_open_documents_those_that_would_be_refused_are_not_among_those_that_are_told(place: Path) -> None:
    for name in ("b.txt", "lost.txt", "twice.txt", "moved.txt"):
        (place / name).write_text("disk\n")
    (place / "link.txt").symlink_to(place / "twice.txt")
    feed = Feed()
    for name in ("b.txt", "a.txt", "lost.txt", "twice.txt", "link.txt", "moved.txt"):
        feed.open((place / name).as_uri(), name)
    feed.change((place / "lost.txt").as_uri(), 2, part((90, 0), (90, 1), "x"))
    (place / "moved.txt").unlink()
    (place / "moved.txt").symlink_to(place / "b.txt")
    assert [document.path for document in feed.editor.open_under(str(place))] == [str(place / "a.txt")]
    feed.close((place / "link.txt").as_uri())
    feed.close((place / "moved.txt").as_uri())
    told = feed.editor.open_under(str(place))
    assert [(Path(each.path).name, each.text) for each in told] == [
        (name, name) for name in ("a.txt", "b.txt", "twice.txt")
    ]
    feed.editor.did_change_unsynchronized([(document.uri, "it is too large") for document in told[1:]])
    assert feed.editor.open_under(str(place)) == told[:1]
    feed.editor.connection_lost()
    assert feed.editor.open_under(str(place)) == ()


@pytest.mark.contract("E2")
async def test_after_the_connection_is_lost_nothing_is_read_or_sent(place: Path) -> None:
    feed, path = Feed(), place / "a.txt"
    feed.open(path.as_uri(), "x")
    document = feed.editor.document(str(path))
    assert document is not None
    feed.editor.connection_lost()
    with pytest.raises(EditorLostError, match="not known"):
        feed.editor.document(str(path))
    with pytest.raises(EditorLostError):
        await feed.editor.apply(document, [TextEdit(0, 0, "y")], label="x")
    assert feed.client.asked == []


@pytest.mark.contract("B3")
def test_closed_documents_leave_nothing_behind(place: Path) -> None:
    feed = Feed()
    for number in range(300):
        uri = (place / f"{number}.txt").as_uri()
        feed.open(uri, "x")
        feed.change(uri, 2, whole("y"))
        feed.close(uri)
    assert feed.editor._documents._slots == {}


@pytest.mark.contract("E1", "E6")
def test_a_document_of_a_file_that_is_not_there_is_found_under_each_spelling_of_its_name(place: Path) -> None:
    (place / "alias").symlink_to("gone.txt")
    (place / "folder").symlink_to(".")
    for spelling in ("gone.txt", "alias", "folder/gone.txt", "nowhere/../gone.txt", "folder/alias"):
        feed = Feed()
        feed.open(f"file://{place}/{spelling}", "text")
        assert feed.text(place / "gone.txt") == "text", spelling
        assert feed.text(place / "other.txt") is None
