"""What editors do that can be asked for more than edits: flush, save, reload; and what the others say instead.

Run over every adapter: one that cannot be asked refuses, with nothing done.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.editor_access import DocumentMovedError, EditorLostError, TextEdit
from openbuffer.editor_access.client_requests import disk_hash
from openbuffer.editor_access.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openbuffer.editor_access.port import FileOutcome

    from .attached import Attached

OTHER = "other\ntext\n"


def hash_of(path: str) -> str | None:
    try:
        return disk_hash(Path(path).read_bytes())
    except FileNotFoundError:
        return None


def on_disk(path: str) -> str:
    return Path(path).read_bytes().decode()


def remove(path: str) -> None:
    Path(path).unlink()


def write(path: str, text: str) -> None:
    Path(path).write_bytes(text.encode())


def but_for_the_final_newline(text: str) -> str:
    return text.removesuffix("\n")


async def opened(attached: Attached, path: str) -> None:
    await attached.open(path)
    await attached.settle()
    await attached.access.baseline(attached.document(path))  # the disk was looked at before a test changes it


async def typed(attached: Attached, path: str, offset: int, text: str) -> None:
    await attached.type(path, offset, text)
    await attached.settle()


async def outcome_of(work: Awaitable[FileOutcome]) -> str:
    """The kind of outcome; a document that moved was not acted on either."""
    try:
        return (await work).kind
    except DocumentMovedError:
        return "not_done"


@pytest.mark.contract("E10")
async def test_a_flush_brings_what_was_typed_and_not_told_yet(attached: Attached, path: str) -> None:
    await opened(attached, path)
    before = attached.document(path)
    await attached.type(path, 1, "-user")
    why = await attached.access.flush(before)
    if attached.nature.flushes:
        assert why == ""
        assert attached.document(path).text == await attached.shown(path)
        assert attached.nature.shows_as(attached.document(path).text, "a-user\nb\nc")
    else:
        assert why != ""


@pytest.mark.contract("E7", "E10")
async def test_an_edit_right_after_a_flush_lands_beside_what_was_just_typed(attached: Attached, path: str) -> None:
    await opened(attached, path)
    await attached.type(path, 0, "user ")
    if await attached.access.flush(attached.document(path)):
        await attached.settle()
    document = attached.document(path)
    edit = TextEdit(document.text.index("c"), document.text.index("c") + 1, "C")
    outcome = await attached.access.apply(document, [edit], label="Edit")
    await attached.settle()
    nature = attached.nature
    assert outcome.kind == nature.edit, outcome.reason
    wanted = apply_edits(document.text, [edit]) if nature.makes_edits else document.text
    assert nature.shows_as(await attached.shown(path), nature.makes(document.text, wanted))


@pytest.mark.contract("E10")
@pytest.mark.parametrize("again", [False, True], ids=["closed", "opened again"])
async def test_a_flush_of_a_document_that_was_closed_tells_that(attached: Attached, path: str, again: bool) -> None:
    await opened(attached, path)
    before = attached.document(path)
    await attached.close(path)
    if again:
        await attached.open(path)
    why = await attached.access.flush(before)
    assert (why == "") == attached.nature.flushes
    await attached.settle()
    now = attached.access.document(path)
    assert (now is None) != again
    assert now != before


@pytest.mark.contract("E9")
async def test_a_save_puts_the_text_on_disk_as_this_editor_saves_it(attached: Attached, path: str) -> None:
    await opened(attached, path)
    await typed(attached, path, 1, "-user  ")
    before = attached.document(path)
    outcome = await attached.access.save(before, disk_hash=hash_of(path))
    shown = await attached.shown(path)
    if not attached.nature.saves:
        assert (outcome.kind, outcome.document) == ("not_done", None)
        assert outcome.reason
        assert on_disk(path) == "a\nb\nc"
        assert await attached.is_dirty(path)
        return
    assert outcome.kind == "done", outcome.reason
    assert but_for_the_final_newline(shown) == but_for_the_final_newline(attached.nature.formats(before.text))
    assert but_for_the_final_newline(on_disk(path)) == but_for_the_final_newline(shown)
    assert not await attached.is_dirty(path)
    assert outcome.document == attached.document(path)
    assert attached.document(path).text == shown
    assert attached.access.unsaved_under(str(Path(path).parent)) == ()


@pytest.mark.contract("E9")
async def test_a_document_whose_file_is_gone_is_saved_where_it_was(attached: Attached, path: str) -> None:
    await opened(attached, path)
    await typed(attached, path, 1, "-user")
    remove(path)
    outcome = await attached.access.save(attached.document(path), disk_hash=None)
    assert outcome.kind == ("done" if attached.nature.saves else "not_done"), outcome.reason
    assert (hash_of(path) is not None) == attached.nature.saves


@pytest.mark.contract("E9")
async def test_a_save_over_a_file_that_somebody_changed_is_refused(attached: Attached, path: str) -> None:
    await opened(attached, path)
    await typed(attached, path, 1, "-user")
    before = hash_of(path)
    write(path, OTHER)
    outcome = await attached.access.save(attached.document(path), disk_hash=before)
    assert outcome.kind == "not_done"
    assert outcome.reason
    assert on_disk(path) == OTHER
    assert await attached.is_dirty(path)
    assert attached.nature.shows_as(await attached.shown(path), "a-user\nb\nc")


@pytest.mark.contract("E9")
async def test_a_text_that_was_typed_into_since_is_not_saved(attached: Attached, path: str) -> None:
    await opened(attached, path)
    await typed(attached, path, 1, "-user")
    document = attached.document(path)
    await attached.type_when_asked(path, 0, "more ")
    assert await outcome_of(attached.access.save(document, disk_hash=hash_of(path))) == "not_done"
    assert on_disk(path) == "a\nb\nc"
    assert "-user" in await attached.shown(path)
    await attached.settle()
    if attached.nature.saves:
        assert "more a-user" in attached.document(path).text


@pytest.mark.contract("E11")
async def test_a_reload_of_a_clean_document_shows_what_is_on_disk(attached: Attached, path: str) -> None:
    await opened(attached, path)
    before = await attached.shown(path)
    write(path, OTHER)
    outcome = await attached.access.reload(attached.document(path), disk_hash=hash_of(path))
    shown = await attached.shown(path)
    assert on_disk(path) == OTHER
    assert attached.document(path).text == shown
    assert not await attached.is_dirty(path)
    assert attached.access.unsaved_under(str(Path(path).parent)) == ()
    if attached.nature.reloads:
        assert (outcome.kind, outcome.document) == ("done", attached.document(path))
        assert shown == OTHER
    else:
        assert (outcome.kind, outcome.document) == ("not_done", None)
        assert shown == before


@pytest.mark.contract("E11")
async def test_a_document_that_was_typed_into_since_is_not_reloaded(attached: Attached, path: str) -> None:
    await opened(attached, path)
    before = await attached.shown(path)
    document = attached.document(path)
    write(path, OTHER)
    await attached.type_when_asked(path, 0, "user ")
    assert await outcome_of(attached.access.reload(document, disk_hash=hash_of(path))) == "not_done"
    await attached.settle()
    if attached.nature.reloads:
        assert attached.document(path).text == "user " + before
    assert before in await attached.shown(path)


@pytest.mark.contract("E11")
async def test_a_file_that_changes_once_more_is_not_taken_for_what_was_asked_for(attached: Attached, path: str) -> None:
    await opened(attached, path)
    before = await attached.shown(path)
    asked_for = hash_of(path)
    write(path, OTHER)
    outcome = await attached.access.reload(attached.document(path), disk_hash=asked_for)
    assert outcome.kind == "not_done"
    assert await attached.shown(path) == attached.document(path).text == before


@pytest.mark.contract("E2", "E9", "E11")
@pytest.mark.parametrize("what", ["save", "reload"])
async def test_a_document_that_moved_since_it_was_read_is_neither_saved_nor_reloaded(
    what: str, attached: Attached, path: str
) -> None:
    await opened(attached, path)
    before = attached.document(path)
    await typed(attached, path, 1, "-user")
    ask: Callable[..., Awaitable[FileOutcome]] = getattr(attached.access, what)
    if attached.nature.saves:
        with pytest.raises(DocumentMovedError):
            await ask(before, disk_hash=hash_of(path))
    else:
        assert (await ask(before, disk_hash=hash_of(path))).kind == "not_done"
    assert on_disk(path) == "a\nb\nc"
    assert "-user" in await attached.shown(path)


@pytest.mark.contract("E2")
async def test_a_lost_editor_is_told_whatever_is_asked_of_it(attached: Attached, path: str) -> None:
    await opened(attached, path)
    document = attached.document(path)
    await attached.lose()
    with pytest.raises(EditorLostError):
        await attached.access.flush(document)
    for ask in (attached.access.save, attached.access.reload):
        if attached.nature.saves:
            with pytest.raises(EditorLostError):
                await ask(document, disk_hash=hash_of(path))
        else:
            assert (await ask(document, disk_hash=hash_of(path))).kind == "not_done"
    assert on_disk(path) == "a\nb\nc"


@pytest.mark.contract("T6")
async def test_a_save_or_a_reload_cancelled_before_it_began_does_nothing(attached: Attached, path: str) -> None:
    await opened(attached, path)
    document = attached.document(path)
    for ask in (attached.access.save, attached.access.reload):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await ask(document, disk_hash=hash_of(path))
    await attached.settle()
    assert attached.document(path) == document
    assert on_disk(path) == "a\nb\nc"
