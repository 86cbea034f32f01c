"""What every editor adapter must do alike, run over each of them.

An editor that by its nature does not make an edit, or says nothing about it, is held to exactly that.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.editor_access import DocumentMovedError, EditorLostError, TextEdit
from openbuffer.editor_access.errors import DocumentAmbiguousError, DocumentOutOfSyncError
from openbuffer.editor_access.text import apply_edits, minimal_edits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openbuffer.editor_access import EditOutcome
    from openbuffer.editor_access.port import UnsavedDocument

    from .attached import Attached


def write(path: str, text: str) -> None:
    Path(path).write_bytes(text.encode())


def on_disk(path: str) -> str:
    return Path(path).read_bytes().decode()


def paths_of(unsaved: Sequence[UnsavedDocument]) -> list[str]:
    return [document.path for document in unsaved]


async def opened(attached: Attached, path: str, text: str | None = None) -> str:
    """Open a file with this text; what the editor shows of it, which the tools see as well."""
    if text is not None:
        write(path, text)
    await attached.open(path)
    await attached.settle()
    shown = await attached.shown(path)
    assert attached.nature.shows_as(attached.document(path).text, shown)
    return shown


async def wanted(attached: Attached, path: str, edits: Sequence[TextEdit], label: str = "Edit") -> EditOutcome:
    """Ask for an edit of the text as it is; both sides have settled afterwards."""
    outcome = await attached.access.apply(attached.document(path), edits, label=label)
    await attached.settle()
    return outcome


async def is_held_to_its_nature(attached: Attached, outcome: EditOutcome, path: str, before: str, after: str) -> None:
    """An edit of the newest text ended as this editor's edits do, and the text is what the outcome says."""
    nature = attached.nature
    shown = await attached.shown(path)
    if nature.miscounts(before + after) and outcome.kind == "unknown":
        return  # with columns that mean different places to the two sides nothing more can be known
    assert outcome.kind == nature.edit, outcome.reason
    assert nature.shows_as(attached.document(path).text, shown)
    assert nature.shows_as(shown, nature.makes(before, after) if nature.makes_edits else before)
    if outcome.kind == "done":
        assert outcome.document is not None
        assert nature.shows_as(outcome.document.text, nature.makes(before, after))
    else:
        assert path in outcome.reason
        assert not outcome.nothing_changed or not nature.makes_edits


@pytest.mark.contract("E1", "E6")
async def test_only_open_documents_are_carried_and_read_as_the_editor_shows_them(attached: Attached, path: str) -> None:
    assert attached.access.has_stable_path_authority
    assert attached.access.document(path) is None
    await opened(attached, path)
    await attached.type(path, 5, "-user")
    await attached.settle()
    assert attached.nature.shows_as(attached.document(path).text, "a\nb\nc-user")
    assert attached.document(path).path == path
    await attached.close(path)
    await attached.settle()
    assert attached.access.document(path) is None


@pytest.mark.contract("E3", "E7", "E8")
async def test_an_edit_lands_unsaved_beside_the_users_own_text_as_one_undo_step(attached: Attached, path: str) -> None:
    await opened(attached, path)
    await attached.type(path, 5, "-user")
    await attached.settle()
    before = attached.document(path).text
    edits = [TextEdit(0, 1, "A"), TextEdit(2, 3, "B\nB")]
    outcome = await wanted(attached, path, edits)
    await is_held_to_its_nature(attached, outcome, path, before, apply_edits(before, edits))
    assert await attached.is_dirty(path)
    if attached.nature.makes_edits:
        await attached.undo(path)
        await attached.settle()
        assert attached.nature.shows_as(attached.document(path).text, "a\nb\nc-user")
    assert on_disk(path) == "a\nb\nc"


TEXTS = {
    "appending after a final newline": ("a\nb\n", "a\nb\nc\n"),
    "appending without a final newline": ("a\nb", "a\nb\nc"),
    "adding the final newline": ("a\nb", "a\nb\n"),
    "deleting the last line": ("a\nb\n", "a\n"),
    "deleting everything": ("a\nb\n", ""),
    "filling an empty document": ("", "x\ny\n"),
    "filling one empty line": ("\n", "x\ny\n"),
    "a CRLF document": ("a\r\nb\r\n", "a\r\nB\r\nc\r\n"),
    "joining CRLF lines": ("a\r\nb\r\n", "ab\r\n"),
    "beyond the BMP": ("😋a😋b\n😋c\n", "😋A😋B\n😋C\n"),
    "beyond the BMP in the last line": ("x\n😋a😋b", "x\n😋a😋B!"),
    "combining marks": ("e\u0301a\n", "e\u0301A\n"),
    "line separators that are none": ("a\u2028b\u0085c\x0cd\n", "a\u2028B\u0085C\x0cD\n"),
    "a long text": ("x\n" * 20_000, "x\n" * 10_000 + "y\n" + "x\n" * 10_000),
}


@pytest.mark.contract("E8")
@pytest.mark.parametrize(("text", "after"), TEXTS.values(), ids=TEXTS.keys())
async def test_the_intended_text_is_what_the_editor_shows(text: str, after: str, attached: Attached, path: str) -> None:
    before = await opened(attached, path, text)
    outcome = await wanted(attached, path, minimal_edits(before, after), "Write")
    await is_held_to_its_nature(attached, outcome, path, before, after)


@pytest.mark.contract("E7", "E8")
@pytest.mark.parametrize(
    ("text", "after"), [("a\nb\n", "a\nb"), ("a\r\nb\r\n", "a\nb\n")], ids=["the final newline", "CRLF to LF"]
)
async def test_a_change_that_this_editor_cannot_make_is_never_reported_as_made(
    text: str, after: str, attached: Attached, path: str
) -> None:
    before = await opened(attached, path, text)
    nature = attached.nature
    if nature.makes(before, after) != before:
        outcome = await wanted(attached, path, minimal_edits(before, after))
        await is_held_to_its_nature(attached, outcome, path, before, after)
        return
    outcome = await wanted(attached, path, minimal_edits(before, after))
    assert await attached.shown(path) == attached.document(path).text == before
    if before == after:
        assert outcome.kind == "done"
    else:
        assert outcome.kind in {"not_done", "unknown"}
        assert outcome.kind == "not_done" or nature.edit == "unknown"


@pytest.mark.contract("E8")
async def test_an_edit_in_the_middle_of_a_line_end_is_made(attached: Attached, path: str) -> None:
    before = await opened(attached, path, "a\r\nb")
    at = before.index("\n")
    edit = TextEdit(at, at, "x\r" if at == 2 else "x")
    outcome = await wanted(attached, path, [edit])
    await is_held_to_its_nature(attached, outcome, path, before, apply_edits(before, [edit]))


@pytest.mark.contract("E8")
@pytest.mark.parametrize("text", ["a\rb\nc\n", "a\rb\rc"])
async def test_lone_carriage_returns_are_edited_in_the_right_line_or_refused(
    text: str, attached: Attached, path: str
) -> None:
    before = await opened(attached, path, text)
    outcome = await wanted(attached, path, [TextEdit(2, 3, "B")])
    if "lone carriage returns" in outcome.reason:
        assert (outcome.kind, outcome.nothing_changed) == ("not_done", True)
        assert attached.document(path).text == await attached.shown(path) == before
    else:
        await is_held_to_its_nature(attached, outcome, path, before, before.replace("b", "B"))


@pytest.mark.contract("F6")
async def test_a_byte_order_mark_is_never_put_into_the_text(attached: Attached, path: str) -> None:
    before = await opened(attached, path, "a\n")
    outcome = await wanted(attached, path, [TextEdit(0, 1, "\ufeffA")])
    await is_held_to_its_nature(attached, outcome, path, before, "A\n")


async def test_an_edit_without_effect_is_done_and_makes_no_undo_step(attached: Attached, path: str) -> None:
    await opened(attached, path, "a\n")
    await attached.type(path, 1, "-user")
    await attached.settle()
    before = attached.document(path)
    outcome = await wanted(attached, path, [TextEdit(0, 1, "a"), TextEdit(2, 2, "")])
    assert (outcome.kind, outcome.document) == ("done", before)
    assert attached.document(path) == before
    await attached.undo(path)
    assert await attached.shown(path) == "a\n"


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
    shown = await opened(attached, path)
    before = attached.document(path)
    with pytest.raises(ValueError, match=r"overlaps|surrogate"):
        await attached.access.apply(before, edits, label="x")
    await attached.settle()
    assert attached.document(path) == before
    assert await attached.shown(path) == shown


@pytest.mark.contract("E2", "E7")
async def test_a_document_that_moved_since_it_was_read_is_not_edited(attached: Attached, path: str) -> None:
    await opened(attached, path)
    before = attached.document(path)
    await attached.type(path, 0, "user")
    await attached.settle()
    with pytest.raises(DocumentMovedError, match="was changed"):
        await attached.access.apply(before, [TextEdit(0, 1, "A")], label="x")
    assert attached.nature.shows_as(await attached.shown(path), "usera\nb\nc")


@pytest.mark.contract("E2", "E7")
async def test_what_is_typed_while_an_edit_is_on_its_way_stays_and_the_outcome_is_what_happened(
    attached: Attached, path: str
) -> None:
    await opened(attached, path)
    nature = attached.nature
    document = attached.document(path)
    await attached.type_when_asked(path, 0, "user ")
    try:
        outcome = await attached.access.apply(document, [TextEdit(4, 5, "C")], label="x")
    except DocumentMovedError:
        kind, nothing_changed = "not_done", True
    else:
        kind, nothing_changed = outcome.kind, outcome.nothing_changed
    await attached.settle()
    made = nature.makes_stale_edits
    assert nature.shows_as(await attached.shown(path), nature.makes("", "user a\nb\nC") if made else "user a\nb\nc")
    assert nature.shows_as(attached.document(path).text, await attached.shown(path))
    assert kind == nature.stale_edit
    assert nothing_changed == (kind == "not_done")


@pytest.mark.contract("E2")
async def test_a_document_opened_again_is_another_one_even_with_the_same_version_and_text(
    attached: Attached, path: str
) -> None:
    await opened(attached, path)
    before = attached.document(path)
    await attached.reload(path)
    await attached.settle()
    after = attached.document(path)
    assert (after.text, after.version) == (before.text, before.version)
    with pytest.raises(DocumentMovedError):
        await attached.access.apply(before, [TextEdit(0, 1, "A")], label="x")
    await attached.close(path)
    await attached.settle()
    with pytest.raises(DocumentMovedError):
        await attached.access.apply(after, [TextEdit(0, 1, "A")], label="x")


@pytest.mark.contract("E12")
async def test_of_two_edits_from_one_reading_one_lands_and_the_other_is_told(attached: Attached, path: str) -> None:
    shown = await opened(attached, path)
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
    await attached.settle()
    nature = attached.nature
    text = await attached.shown(path)
    assert nature.shows_as(attached.document(path).text, text)
    if nature.makes_edits:
        assert sorted(seen) == sorted([nature.edit, "moved"])
        assert any(nature.shows_as(text, nature.makes(shown, made)) for made in ("A\nb\nc", "a\nb\nC"))
    else:
        assert seen == [nature.edit, nature.edit]
        assert text == shown


@pytest.mark.contract("E1")
async def test_links_are_judged_anew_at_each_call(attached: Attached, path: str, root: Path) -> None:
    link, other = root / "link", root / "other"
    link.symlink_to(path)
    other.write_text("other")
    await attached.open(str(link))
    await attached.settle()
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
async def test_one_file_under_two_names_is_one_document_or_never_edited(
    attached: Attached, path: str, root: Path
) -> None:
    link = root / "link"
    link.symlink_to(path)
    before = await opened(attached, path)
    await attached.open(str(link))
    await attached.settle()
    if attached.nature.one_document_per_file:
        outcome = await wanted(attached, path, [TextEdit(0, 1, "A")])
        await is_held_to_its_nature(attached, outcome, path, before, "A" + before[1:])
        return
    with pytest.raises(DocumentAmbiguousError, match="Close all but one"):
        await attached.access.apply(attached.document(path), [TextEdit(0, 1, "A")], label="x")
    await attached.type(str(link), 0, "x")
    await attached.settle()
    with pytest.raises(DocumentAmbiguousError):
        attached.access.document(path)


@pytest.mark.contract("E5")
async def test_unsaved_documents_are_named_until_they_are_saved(attached: Attached, path: str) -> None:
    directory = os.path.dirname(path)
    await opened(attached, path)
    await attached.open_unnamed("y")
    await attached.settle()
    assert attached.access.unsaved_under(directory) == ()
    await attached.type(path, 0, "x")
    await attached.settle()
    assert paths_of(attached.access.unsaved_under(directory)) == [path]
    assert attached.access.unsaved_under(directory + "-evil") == ()
    await attached.save(path)
    await attached.settle()
    assert attached.access.unsaved_under(directory) == ()
    assert on_disk(path).removesuffix("\n") == "xa\nb\nc"


@pytest.mark.contract("E10")
async def test_open_documents_are_told_with_their_texts_until_they_are_closed(attached: Attached, path: str) -> None:
    directory = os.path.dirname(path)
    assert attached.access.open_under(directory) == ()
    await opened(attached, path)
    await attached.open_unnamed("y")
    await attached.settle()
    assert attached.access.open_under(directory) == (attached.document(path),)
    assert attached.access.open_under(directory + "-evil") == ()
    await attached.type(path, 0, "x")
    await attached.settle()
    assert attached.access.open_under(directory) == (attached.document(path),)
    await attached.close(path)
    await attached.settle()
    assert attached.access.open_under(directory) == ()


@pytest.mark.contract("E2")
async def test_a_lost_editor_is_a_clear_error_and_never_a_missing_document(attached: Attached, path: str) -> None:
    shown = await opened(attached, path)
    document = attached.document(path)
    await attached.lose()
    with pytest.raises(EditorLostError, match="ended"):
        attached.access.document(path)
    with pytest.raises(EditorLostError):
        await attached.access.apply(document, [TextEdit(0, 1, "A")], label="x")
    assert await attached.shown(path) == shown


@pytest.mark.contract("T6")
async def test_an_edit_cancelled_before_it_began_changes_nothing(attached: Attached, path: str) -> None:
    shown = await opened(attached, path)
    document = attached.document(path)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await attached.access.apply(document, [TextEdit(0, 1, "A")], label="x")
    assert scope.cancelled_caught
    await attached.settle()
    assert attached.document(path) == document
    assert await attached.shown(path) == shown
