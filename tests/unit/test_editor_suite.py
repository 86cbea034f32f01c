"""What every editor adapter must do alike; run over each of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.editor_access import (
    Document,
    DocumentMovedError,
    EditorFileAccess,
    EditorLostError,
    TextEdit,
)
from openbuffer.editor_access.errors import DocumentAmbiguousError, DocumentOutOfSyncError
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient, Temperament
from openbuffer.editor_access.text import apply_edits, minimal_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openbuffer.editor_access.port import UnsavedDocument
    from openbuffer.editor_access.text import PositionEncoding

PATIENT = EditTimeouts(reply_s=600, text_s=600, grace_s=600, promised_s=600)


def paths_of(unsaved: Sequence[UnsavedDocument]) -> list[str]:
    return [document.path for document in unsaved]


@dataclass
class Attached:
    """An editor with a user, and the tools' access to it."""

    editor: MemoryEditor
    access: EditorFileAccess
    lose: Callable[[], None]

    def document(self, path: str) -> Document:
        found = self.access.document(path)
        assert found is not None
        return found


def in_process() -> Attached:
    editor = MemoryEditor()
    return Attached(editor, MemoryEditorAccess(editor), editor.quit)


def language_client(encoding: PositionEncoding, temperament: Temperament) -> Callable[[], Attached]:
    def attach() -> Attached:
        editor = MemoryEditor()
        client = MemoryLanguageClient(editor, encoding=encoding, temperament=temperament)
        access = LspEditor(client, encoding=encoding, timeouts=PATIENT)
        client.connect(access)
        return Attached(editor, access, access.connection_lost)

    return attach


ADAPTERS = {
    "memory": in_process,
    "lsp utf-8": language_client("utf-8", Temperament(tells_edit="before_reply")),
    "lsp utf-16": language_client("utf-16", Temperament()),
    "lsp utf-32": language_client("utf-32", Temperament()),
    "lsp that counts code points": language_client("utf-16", Temperament(counts="code_points", sync="full")),
}


@pytest.fixture(params=ADAPTERS.values(), ids=ADAPTERS.keys())
def attached(request: pytest.FixtureRequest) -> Attached:
    return request.param()


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "a.txt"
    file.write_text("a\nb\nc")
    return os.path.realpath(file)


@pytest.mark.contract("E1", "E6")
def test_only_open_documents_are_carried_and_read_as_the_editor_shows_them(attached: Attached, path: str) -> None:
    assert attached.access.has_stable_path_authority
    assert attached.access.document(path) is None
    attached.editor.open(path)
    attached.editor.type(path, 5, "-user")
    assert attached.document(path).text == "a\nb\nc-user"
    assert attached.document(path).path == path
    attached.editor.close(path)
    assert attached.access.document(path) is None


@pytest.mark.contract("E3", "E7", "E8")
async def test_an_edit_lands_unsaved_beside_the_users_own_text_as_one_undo_step(attached: Attached, path: str) -> None:
    attached.editor.open(path)
    attached.editor.type(path, 5, "-user")
    outcome = await attached.access.apply(
        attached.document(path), [TextEdit(0, 1, "A"), TextEdit(2, 3, "B\nB")], label="Edit"
    )
    assert (outcome.kind, outcome.document) == ("done", attached.document(path))
    assert attached.editor.buffer(path).text == attached.document(path).text == "A\nB\nB\nc-user"
    assert attached.editor.buffer(path).is_dirty
    attached.editor.undo(path)
    assert attached.document(path).text == "a\nb\nc-user"
    with open(path, "rb") as file:  # noqa: ASYNC230  # a few bytes
        assert file.read() == b"a\nb\nc"


TEXTS = {
    "appending after a final newline": ("a\nb\n", "a\nb\nc\n"),
    "appending without a final newline": ("a\nb", "a\nb\nc"),
    "adding the final newline": ("a\nb", "a\nb\n"),
    "taking the final newline away": ("a\nb\n", "a\nb"),
    "deleting the last line": ("a\nb\n", "a\n"),
    "deleting everything": ("a\nb\n", ""),
    "filling an empty document": ("", "x\ny\n"),
    "filling Neovim's empty document": ("\n", "x\ny\n"),
    "a CRLF document": ("a\r\nb\r\n", "a\r\nB\r\nc\r\n"),
    "joining CRLF lines": ("a\r\nb\r\n", "ab\r\n"),
    "CRLF to LF": ("a\r\nb\r\n", "a\nb\n"),
    "beyond the BMP": ("😋a😋b\n😋c\n", "😋A😋B\n😋C\n"),
    "beyond the BMP in the last line": ("x\n😋a😋b", "x\n😋a😋B!"),
    "combining marks": ("e\u0301a\n", "e\u0301A\n"),
    "line separators that are none": ("a\u2028b\u0085c\x0cd\n", "a\u2028B\u0085C\x0cD\n"),
    "a long text": ("x\n" * 20_000, "x\n" * 10_000 + "y\n" + "x\n" * 10_000),
}


@pytest.mark.contract("E8")
@pytest.mark.parametrize(("before", "after"), TEXTS.values(), ids=TEXTS.keys())
async def test_the_intended_text_is_what_the_editor_shows(
    before: str, after: str, attached: Attached, path: str
) -> None:
    attached.editor.open(path, before)
    outcome = await attached.access.apply(attached.document(path), minimal_edits(before, after), label="Write")
    assert outcome.kind == "done", outcome.reason
    assert attached.editor.buffer(path).text == after
    assert attached.document(path).text == after


@pytest.mark.contract("E8")
async def test_an_edit_in_the_middle_of_a_line_end_is_made(attached: Attached, path: str) -> None:
    attached.editor.open(path, "a\r\nb")
    outcome = await attached.access.apply(attached.document(path), [TextEdit(2, 2, "x\r")], label="x")
    assert outcome.kind == "done"
    assert attached.document(path).text == apply_edits("a\r\nb", [TextEdit(2, 2, "x\r")])


@pytest.mark.contract("E8")
@pytest.mark.parametrize("text", ["a\rb\nc\n", "a\rb\rc"])
async def test_lone_carriage_returns_are_edited_in_the_right_line_or_refused(
    text: str, attached: Attached, path: str
) -> None:
    attached.editor.open(path, text)
    outcome = await attached.access.apply(attached.document(path), [TextEdit(2, 3, "B")], label="x")
    if outcome.kind == "done":
        assert attached.document(path).text == text.replace("b", "B")
    else:
        assert (outcome.kind, outcome.nothing_changed) == ("not_done", True)
        assert "lone carriage returns" in outcome.reason
        assert attached.document(path).text == attached.editor.buffer(path).text == text


@pytest.mark.contract("F6")
async def test_a_byte_order_mark_is_never_put_into_the_text(attached: Attached, path: str) -> None:
    attached.editor.open(path, "a\n")
    outcome = await attached.access.apply(attached.document(path), [TextEdit(0, 1, "\ufeffA")], label="x")
    assert outcome.kind == "done"
    assert attached.document(path).text == "A\n"


async def test_an_edit_without_effect_is_done_and_makes_no_undo_step(attached: Attached, path: str) -> None:
    attached.editor.open(path, "a\n")
    before = attached.document(path)
    outcome = await attached.access.apply(before, [TextEdit(0, 1, "a"), TextEdit(2, 2, "")], label="x")
    assert (outcome.kind, outcome.document) == ("done", before)
    assert attached.document(path) == before
    assert attached.editor.buffer(path).undo_steps == []


@pytest.mark.parametrize(
    "edits",
    [
        [TextEdit(0, 3, "x"), TextEdit(2, 4, "y")],
        [TextEdit(3, 4, "x"), TextEdit(0, 1, "y")],
        [TextEdit(2, 1, "x")],
        [TextEdit(0, 99, "x")],
        [TextEdit(-1, 0, "x")],
        [TextEdit(0, 0, "\ud83d")],
    ],
    ids=["overlapping", "descending", "reversed", "outside", "negative", "half a character"],
)
async def test_edits_that_cannot_be_made_are_refused_before_anything_happens(
    edits: list[TextEdit], attached: Attached, path: str
) -> None:
    attached.editor.open(path)
    before = attached.document(path)
    with pytest.raises(ValueError, match=r"overlaps|surrogate"):
        await attached.access.apply(before, edits, label="x")
    assert attached.document(path) == before


@pytest.mark.contract("E2", "E7")
async def test_a_document_that_moved_since_it_was_read_is_not_edited(attached: Attached, path: str) -> None:
    attached.editor.open(path, version=1)
    before = attached.document(path)
    attached.editor.type(path, 0, "user")
    with pytest.raises(DocumentMovedError, match="was changed"):
        await attached.access.apply(before, [TextEdit(0, 1, "A")], label="x")
    assert attached.document(path).text == "usera\nb\nc"


@pytest.mark.contract("E2")
async def test_a_document_opened_again_is_another_one_even_with_the_same_version_and_text(
    attached: Attached, path: str
) -> None:
    attached.editor.open(path)
    before = attached.document(path)
    attached.editor.reload(path)
    after = attached.document(path)
    assert (after.text, after.version) == (before.text, before.version)
    with pytest.raises(DocumentMovedError):
        await attached.access.apply(before, [TextEdit(0, 1, "A")], label="x")
    attached.editor.close(path)
    with pytest.raises(DocumentMovedError):
        await attached.access.apply(after, [TextEdit(0, 1, "A")], label="x")


@pytest.mark.contract("E12")
async def test_of_two_edits_from_one_reading_one_lands_and_the_other_is_told(attached: Attached, path: str) -> None:
    attached.editor.open(path)
    before = attached.document(path)
    seen: list[str] = []

    async def edit(text_edit: TextEdit) -> None:
        try:
            seen.append((await attached.access.apply(before, [text_edit], label="x")).kind)
        except DocumentMovedError:
            seen.append("moved")

    async with anyio.create_task_group() as group:
        group.start_soon(edit, TextEdit(0, 1, "A"))
        group.start_soon(edit, TextEdit(4, 5, "C"))
    assert sorted(seen) == ["done", "moved"]
    assert attached.document(path).text in {"A\nb\nc", "a\nb\nC"}


@pytest.mark.contract("E1")
async def test_links_are_judged_anew_at_each_call(attached: Attached, path: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    other = Path(path).with_name("other")
    other.write_text("other")
    attached.editor.open(str(link))
    document = attached.document(path)
    assert attached.access.document(str(link)) is None
    link.unlink()
    link.symlink_to(other)
    assert attached.access.document(path) is None
    with pytest.raises(DocumentOutOfSyncError):
        attached.access.document(str(other))
    with pytest.raises(DocumentMovedError):
        await attached.access.apply(document, [TextEdit(0, 1, "A")], label="x")


@pytest.mark.contract("E2")
async def test_one_file_under_two_names_is_never_edited(attached: Attached, path: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    attached.editor.open(path)
    attached.editor.open(str(link))
    document = attached.document(path)
    with pytest.raises(DocumentAmbiguousError, match="Close all but one"):
        await attached.access.apply(document, [TextEdit(0, 1, "A")], label="x")
    attached.editor.type(str(link), 0, "x")
    with pytest.raises(DocumentAmbiguousError):
        attached.access.document(path)


@pytest.mark.contract("E5")
def test_unsaved_documents_are_named_until_they_are_saved(attached: Attached, path: str) -> None:
    directory = os.path.dirname(path)
    attached.editor.open(path)
    attached.editor.open_unnamed("untitled:1", "x")
    attached.editor.type("untitled:1", 0, "y")
    assert attached.access.unsaved_under(directory) == ()
    attached.editor.type(path, 0, "x")
    assert paths_of(attached.access.unsaved_under(directory)) == [path]
    assert attached.access.unsaved_under(directory + "-evil") == ()
    attached.editor.save(path)
    assert attached.access.unsaved_under(directory) == ()


@pytest.mark.contract("E2")
async def test_a_lost_editor_is_a_clear_error_and_never_a_missing_document(attached: Attached, path: str) -> None:
    attached.editor.open(path)
    document = attached.document(path)
    attached.lose()
    with pytest.raises(EditorLostError, match="ended"):
        attached.access.document(path)
    with pytest.raises(EditorLostError):
        await attached.access.apply(document, [TextEdit(0, 1, "A")], label="x")
    assert attached.editor.buffer(path).text == "a\nb\nc"


@pytest.mark.contract("T6")
async def test_an_edit_cancelled_before_it_began_changes_nothing(attached: Attached, path: str) -> None:
    attached.editor.open(path)
    document = attached.document(path)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await attached.access.apply(document, [TextEdit(0, 1, "A")], label="x")
    assert scope.cancelled_caught
    assert attached.document(path) == document
