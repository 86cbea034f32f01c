"""Rich clients right and ill, and their dialogs: function to function and over real JSON-RPC."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.editor_access import TextEdit
from openbuffer.editor_access.client_requests import disk_hash
from openbuffer.editor_access.lsp import EditTimeouts
from openbuffer.editor_access.memory_lsp import PLAIN, RICH, RICH_TEMPERAMENTS, TEMPERAMENTS

from .attached import hosted
from .in_process import EVENTUALLY_S, AttachedClient, behind_lsp
from .over_wire import headless_over_wire

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager

    from openbuffer.editor_access import EditOutcome
    from openbuffer.editor_access.port import FileOutcome

    OpenWith = Callable[..., AbstractAsyncContextManager[AttachedClient]]

BRIEF = EditTimeouts(reply_s=0.3, text_s=0.3, grace_s=0.2, promised_s=0.2, flush_s=0.3)
"""For what ends because nothing happens any more."""

PATIENT = replace(BRIEF, reply_s=EVENTUALLY_S, text_s=EVENTUALLY_S)
"""For what an answer, or a text, brings about."""


@pytest.fixture(params=[behind_lsp, headless_over_wire], ids=["lsp", "bridge"])
def open_with(request: pytest.FixtureRequest, root: Path) -> OpenWith:
    """An open document in the editor of a client of this kind; it tells everything late that it may tell late."""

    @asynccontextmanager
    async def attached(name: str, *, plain: bool = False, **more: object) -> AsyncGenerator[AttachedClient, None]:
        temperament = TEMPERAMENTS[name if plain else "tells late"]
        rich_temperament = None if plain else RICH_TEMPERAMENTS[name]
        context = request.param(root, "utf-16", temperament, PLAIN if plain else RICH, rich_temperament, **more)
        async with hosted(context) as user:
            await user.open(str(root / "a.txt"))
            await user.settle()
            yield user

    return attached


def on_disk(path: str) -> bytes:
    return Path(path).read_bytes()


async def edit(user: AttachedClient, path: str) -> EditOutcome:
    return await user.access.apply(user.document(path), [TextEdit(4, 5, "C")], label="Edit")


EDITS = {
    "right": ("done", True),
    "prompting": ("done", True),
    "tells afterwards": ("done", True),
    "does not flush": ("done", True),
    "answers with errors": ("done", True),
    "answers nonsense": ("done", True),
    "answers with wrong hashes": ("done", True),
    "answers with wrong versions": ("done", True),
    "never answering": ("done", True),
    "says done and does not": ("unknown", False),
    "does and says not": ("done", True),
    "cannot": ("not_done", False),
    "ignores the disk": ("done", True),
    "ignores the document": ("done", True),
}
"""How an edit ends, and whether it was made."""


@pytest.mark.contract("E7")
@pytest.mark.parametrize("name", RICH_TEMPERAMENTS)
async def test_whatever_a_rich_client_answers_the_outcome_of_an_edit_is_what_happened(
    name: str, open_with: OpenWith, path: str
) -> None:
    async with open_with(name, timeouts=_timeouts(EDITS[name][0])) as user:
        outcome = await edit(user, path)
        await user.settle()
        made = await user.shown(path) == "a\nb\nC"
        assert (outcome.kind, made) == EDITS[name], outcome.reason
        assert outcome.nothing_changed == (outcome.kind == "not_done")
        assert user.document(path).text == await user.shown(path)


SAVES = {
    **dict.fromkeys(("right", "prompting", "tells afterwards", "does not flush"), ("done", True)),
    "answers with errors": ("not_done", True),
    "answers nonsense": ("unknown", True),
    "answers with wrong hashes": ("done", True),
    "answers with wrong versions": ("done", True),
    "never answering": ("unknown", True),
    "says done and does not": ("done", False),
    "does and says not": ("not_done", True),
    "cannot": ("not_done", False),
    "ignores the disk": ("done", True),
    "ignores the document": ("done", True),
}
"""What the editor's word on a save is, and what really was done: why whoever asked has to look at the disk."""


@pytest.mark.contract("E9")
@pytest.mark.parametrize("name", RICH_TEMPERAMENTS)
async def test_a_save_is_told_as_the_editor_tells_it_and_always_ends(name: str, open_with: OpenWith, path: str) -> None:
    kind, written = SAVES[name]
    async with open_with(name, timeouts=_timeouts(kind)) as user:
        await user.type(path, 0, "user ")
        await user.settle()
        outcome = await user.access.save(user.document(path), disk_hash=disk_hash(b"a\nb\nc"))
        assert outcome.kind == kind, outcome.reason
        assert on_disk(path) == (b"user a\nb\nc" if written else b"a\nb\nc")
        assert await user.shown(path) == user.document(path).text == "user a\nb\nc"
        assert outcome.kind == "done" or outcome.reason


@pytest.mark.contract("E10")
@pytest.mark.parametrize("name", RICH_TEMPERAMENTS)
async def test_a_flush_that_says_nothing_against_it_has_brought_the_shown_text(
    name: str, open_with: OpenWith, path: str
) -> None:
    is_right = RICH_TEMPERAMENTS[name].tells == "before_answer" and RICH_TEMPERAMENTS[name].answer == "as_said"
    async with open_with(name, timeouts=replace(BRIEF, flush_s=EVENTUALLY_S) if is_right else BRIEF) as user:
        await user.type(path, 0, "user ")
        why = await user.access.flush(user.document(path))
        assert why == "" or not is_right
        if not why:
            assert user.document(path).text == await user.shown(path)


@pytest.mark.contract("E7", "E9", "E11")
@pytest.mark.parametrize("what", ["apply", "save", "reload"])
async def test_a_user_who_says_no_is_told_and_nothing_was_done(what: str, open_with: OpenWith, path: str) -> None:
    async with open_with("prompting", timeouts=PATIENT, user_says=False) as user:
        outcome = await ask(user, path, what)
        assert outcome.kind == "not_done"
        assert "declined" in outcome.reason
        assert (await user.shown(path), on_disk(path)) == ("a\nb\nc", b"a\nb\nc")


@pytest.mark.contract("E7")
@pytest.mark.parametrize("name", ["prompting", "prompting, with errors"])
async def test_a_plain_clients_user_who_says_no_is_told_as_well(name: str, open_with: OpenWith, path: str) -> None:
    async with open_with(name, plain=True, timeouts=PATIENT, user_says=False) as user:
        outcome = await edit(user, path)
        assert (outcome.kind, outcome.nothing_changed) == ("not_done", True)
        assert await user.shown(path) == "a\nb\nc"


@pytest.mark.contract("T6", "E7", "E9", "E11")
@pytest.mark.parametrize("what", ["apply", "save", "reload"])
async def test_a_cancelled_request_takes_its_dialog_along_and_does_nothing(
    what: str, open_with: OpenWith, path: str
) -> None:
    async with open_with("prompting", timeouts=PATIENT, user_says=None) as user:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, user, path, what)
            prompt = await user.client.next_prompt()
            assert prompt.reply is None
            tasks.cancel_scope.cancel()
        await user.settle()
        assert prompt.reply == "withdrawn"
        assert user.client.prompts == ()
        assert (await user.shown(path), on_disk(path)) == ("a\nb\nc", b"a\nb\nc")


@pytest.mark.contract("E7", "E9", "E11")
@pytest.mark.parametrize("what", ["apply", "save", "reload"])
async def test_a_dialog_that_nobody_answers_is_closed_when_the_time_is_over(
    what: str, open_with: OpenWith, path: str
) -> None:
    async with open_with("prompting", timeouts=BRIEF, user_says=None) as user:
        outcome = await ask(user, path, what)
        await user.settle()
        assert user.client.prompts == ()
        assert outcome.kind != "done"
        assert (await user.shown(path), on_disk(path)) == ("a\nb\nc", b"a\nb\nc")


def _timeouts(kind: str) -> EditTimeouts:
    return BRIEF if kind == "unknown" else PATIENT


async def ask(user: AttachedClient, path: str, what: str) -> EditOutcome | FileOutcome:
    """Ask for one thing that changes the document or the disk, or would."""
    if what == "apply":
        return await edit(user, path)
    do = user.access.save if what == "save" else user.access.reload
    return await do(user.document(path), disk_hash=disk_hash(on_disk(path)))
