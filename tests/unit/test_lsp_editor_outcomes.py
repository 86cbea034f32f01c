"""The three outcomes of an edit (E7), with clients of every temperament and a user who types in between."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import anyio
import pytest
from openbuffer.editor_access import (
    Document,
    DocumentMovedError,
    EditorAccessError,
    EditorLostError,
    EditOutcome,
    TextEdit,
)
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient, Temperament

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.editor_access.text import PositionEncoding

pytestmark = pytest.mark.contract("E7")

PATIENT = EditTimeouts(reply_s=600, text_s=600, grace_s=600, promised_s=600)
"""For outcomes that an event brings about; running into one of these would end the test's time."""

BRIEF = EditTimeouts(reply_s=0.05, text_s=0.05, grace_s=0.02, promised_s=0.02)
"""For outcomes that come when nothing happens any more."""

TEXT = "one\ntwo\nthree\n"
TO_UPPER = [TextEdit(4, 7, "TWO")]
ELSEWHERE, OVER_IT = 3, 5


@dataclass
class Session:
    path: str
    editor: MemoryEditor
    client: MemoryLanguageClient
    access: LspEditor

    @property
    def document(self) -> Document:
        found = self.access.document(self.path)
        assert found is not None
        return found

    @property
    def shown(self) -> str:
        return self.editor.buffer(self.path).text

    def user_types(self, offset: int) -> None:
        self.editor.type(self.path, offset, "+")

    async def edit(self, document: Document | None = None, edits: list[TextEdit] | None = None) -> EditOutcome:
        return await self.access.apply(document or self.document, edits or TO_UPPER, label="test")


def start(
    directory: Path,
    temperament: Temperament | None = None,
    *,
    timeouts: EditTimeouts = BRIEF,
    text: str = TEXT,
    version: int = 1,
    encoding: PositionEncoding = "utf-16",
) -> Session:
    path = os.path.realpath(directory / "a.txt")
    editor = MemoryEditor()
    editor.open(path, text, version=version)
    client = MemoryLanguageClient(editor, encoding=encoding, temperament=temperament)
    access = LspEditor(client, encoding=encoding, timeouts=timeouts)
    client.connect(access)
    return Session(path, editor, client, access)


def after_the_reply(client: MemoryLanguageClient) -> None:
    """Have the client tell what it knows a moment after its reply was read, as Neovim does."""
    loop = asyncio.get_running_loop()
    client.on_handled = lambda: loop.call_soon(loop.call_soon, client.flush)


RIGHT = Temperament()
TELLS_FIRST = Temperament(tells_edit="before_reply")
TELLS_LATE = Temperament(tells_edit="when_flushed")
LYING = Temperament(stale="skipped", unchecked_versions=frozenset({None, 0}), tells_edit="when_flushed")
NEVER_CHECKING = Temperament(stale="applied")
CHECKS_WHAT_IT_SENT = Temperament(checks="last_sent")
REFUSING = Temperament(applies=False)
SAYS_FALSE = Temperament(answer="false")
THROWING = Temperament(answer="error", applies=False)
THROWS_AFTERWARDS = Temperament(answer="error")
SILENT = Temperament(answer="never", applies=False)
SILENT_BUT_APPLYING = Temperament(answer="never", tells_edit="before_reply")
SAYS_TRUE = Temperament(answer="true", applies=False)
NONSENSE = Temperament(answer="nonsense")
NONSENSE_ONLY = Temperament(answer="nonsense", applies=False)
CODE_POINTS = Temperament(counts="code_points")

TEMPERAMENTS = {name: value for name, value in globals().items() if isinstance(value, Temperament)}

DONE, UNKNOWN = ("done", False), ("unknown", False)
UNCHANGED, AT_THE_SAME_PLACE = ("not_done", True), ("not_done", False)

# What must come out, by temperament: undisturbed; typing elsewhere before the edit is made, after it; typing over the
# hunk before, after. "before" is typing that the server does not know of, so that the edit is stale. "after" is told in
# one message with the edit, which is too short to be told from typing in between.
EXPECTED = {
    "RIGHT": (DONE, UNCHANGED, DONE, AT_THE_SAME_PLACE, UNKNOWN),
    "TELLS_FIRST": (DONE, UNCHANGED, DONE, AT_THE_SAME_PLACE, UNKNOWN),
    "TELLS_LATE": (DONE, UNCHANGED, DONE, AT_THE_SAME_PLACE, UNKNOWN),
    "LYING": (DONE, UNCHANGED, DONE, UNKNOWN, UNKNOWN),
    "NEVER_CHECKING": (DONE, DONE, DONE, UNKNOWN, UNKNOWN),
    "CHECKS_WHAT_IT_SENT": (DONE, DONE, DONE, UNKNOWN, UNKNOWN),
    "REFUSING": (UNCHANGED, UNCHANGED, UNCHANGED, AT_THE_SAME_PLACE, AT_THE_SAME_PLACE),
    "SAYS_FALSE": (DONE, UNCHANGED, DONE, AT_THE_SAME_PLACE, AT_THE_SAME_PLACE),
    "THROWING": (UNCHANGED, UNCHANGED, UNCHANGED, AT_THE_SAME_PLACE, AT_THE_SAME_PLACE),
    "THROWS_AFTERWARDS": (DONE, UNCHANGED, DONE, AT_THE_SAME_PLACE, AT_THE_SAME_PLACE),
    "SILENT": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "SILENT_BUT_APPLYING": (DONE, UNKNOWN, DONE, UNKNOWN, UNKNOWN),
    "SAYS_TRUE": (UNKNOWN, UNCHANGED, UNCHANGED, UNKNOWN, UNKNOWN),
    "NONSENSE": (DONE, UNCHANGED, DONE, UNKNOWN, UNKNOWN),
    "NONSENSE_ONLY": (UNKNOWN, UNCHANGED, UNCHANGED, UNKNOWN, UNKNOWN),
    "CODE_POINTS": (DONE, UNCHANGED, DONE, AT_THE_SAME_PLACE, UNKNOWN),
}
SITUATIONS = ("undisturbed", "elsewhere before", "elsewhere after", "over it before", "over it after")


def test_every_temperament_has_its_expectations() -> None:
    assert EXPECTED.keys() == TEMPERAMENTS.keys()


@pytest.mark.contract("E8")
@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", EXPECTED)
async def test_each_temperament_in_each_situation_ends_as_what_really_happened(
    name: str, situation: str, tmp_path: Path
) -> None:
    session = start(tmp_path, replace(TEMPERAMENTS[name], tells_typing="when_flushed"))
    client = session.client
    offset = OVER_IT if situation.startswith("over it") else ELSEWHERE
    after_the_reply(client)
    if situation.endswith("before"):
        session.user_types(offset)
    elif situation.endswith("after"):
        flush_later = client.on_handled
        assert flush_later is not None
        client.on_handled = lambda: (session.user_types(offset), flush_later())

    outcome = await session.edit()
    client.flush()

    assert (outcome.kind, outcome.nothing_changed) == EXPECTED[name][SITUATIONS.index(situation)], outcome.reason
    assert session.document.text == session.shown
    assert ("TWO" in session.shown.replace("+", "")) == _was_made(name, situation)
    if situation != "undisturbed":
        assert "+" in session.shown or outcome.kind == "unknown", "a character of the user's was lost unsaid"
    if outcome.kind == "done":
        assert outcome.document is not None
        assert "TWO" in outcome.document.text
    else:
        assert session.path in outcome.reason
        assert len(client.requests) == 1


def _was_made(name: str, situation: str) -> bool:
    """Whether the editor really made the edit; the truth that an outcome must not contradict."""
    temperament = TEMPERAMENTS[name]
    is_stale = situation.endswith("before") and temperament.stale != "applied" and temperament.checks == "newest"
    return temperament.applies and not is_stale


@pytest.mark.parametrize("name", ["RIGHT", "TELLS_FIRST", "LYING", "SAYS_FALSE", "THROWING"])
async def test_typing_that_arrives_while_the_request_is_on_its_way_is_kept(name: str, tmp_path: Path) -> None:
    session = start(tmp_path, TEMPERAMENTS[name])
    after_the_reply(session.client)
    session.client.on_request = lambda: session.user_types(ELSEWHERE)
    outcome = await session.edit()
    assert (outcome.kind, outcome.nothing_changed) == UNCHANGED
    assert session.shown == "one+\ntwo\nthree\n"
    again = await session.edit(edits=[TextEdit(5, 8, "TWO")]) if name != "THROWING" else outcome
    assert session.client.on_request is not None
    assert again.kind == "not_done"  # the user typed again
    session.client.on_request = None
    if name != "THROWING":
        assert (await session.edit(edits=[TextEdit(6, 9, "TWO")])).kind == "done"
        assert session.shown == "one++\nTWO\nthree\n"


async def test_the_text_counts_whether_it_comes_before_or_after_the_reply(tmp_path: Path) -> None:
    for number, tells in enumerate(("before_reply", "after_reply", "when_flushed")):
        directory = tmp_path / str(number)
        directory.mkdir()
        session = start(directory, Temperament(tells_edit=tells), timeouts=PATIENT)
        after_the_reply(session.client)
        outcome = await session.edit()
        assert (outcome.kind, outcome.document) == ("done", session.document)
        assert session.document.text == "one\nTWO\nthree\n"


async def test_typing_that_is_told_before_the_edit_is_not_taken_for_the_last_word(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(stale="applied", tells_edit="when_flushed"), timeouts=PATIENT)
    session.client.on_request = lambda: session.user_types(ELSEWHERE)
    outcomes: list[EditOutcome] = []

    async def edit() -> None:
        outcomes.append(await session.edit())

    async with anyio.create_task_group() as group:
        group.start_soon(edit)
        await anyio.wait_all_tasks_blocked()
        # The client has said "applied", and its newest text is the one with what was typed.
        assert session.document.text == "one+\ntwo\nthree\n"
        assert outcomes == []
        session.client.flush()
    assert [outcome.kind for outcome in outcomes] == ["done"]
    assert session.shown == "one+\nTWO\nthree\n"


async def test_what_is_typed_right_before_the_request_goes_out_keeps_it_from_going(tmp_path: Path) -> None:
    session = start(tmp_path, NEVER_CHECKING)
    build = session.access._outgoing

    def build_and_type(*args: object) -> object:
        asyncio.get_running_loop().call_soon(session.user_types, ELSEWHERE)
        return build(*args)  # type: ignore[arg-type]

    session.access._outgoing = build_and_type  # type: ignore[method-assign]
    with pytest.raises(DocumentMovedError):
        await session.edit()
    assert session.client.requests == []
    assert session.shown == "one+\ntwo\nthree\n"


async def test_an_edit_that_was_promised_is_waited_for_beyond_the_grace(tmp_path: Path) -> None:
    late = Temperament(stale="applied", tells_edit="when_flushed")
    session = start(tmp_path, late, timeouts=replace(PATIENT, grace_s=0.001))
    session.client.on_request = lambda: session.user_types(ELSEWHERE)

    async def tell_late() -> None:
        await anyio.wait_all_tasks_blocked()
        await anyio.sleep(0.02)  # twenty times the grace
        session.client.flush()

    async with anyio.create_task_group() as group:
        group.start_soon(tell_late)
        outcome = await session.edit()
    assert outcome.kind == "done"
    assert len(session.client.requests) == 1


async def test_a_stale_edit_that_an_editor_skips_saying_applied_is_not_reported_as_done(tmp_path: Path) -> None:
    session = start(tmp_path, replace(LYING, tells_typing="when_flushed"))
    after_the_reply(session.client)
    session.user_types(ELSEWHERE)
    outcome = await session.edit()
    assert (outcome.kind, outcome.nothing_changed) == UNCHANGED
    assert "the editor skipped it" in outcome.reason
    assert session.shown == "one+\ntwo\nthree\n"


async def test_a_refusal_tells_the_editors_reason(tmp_path: Path) -> None:
    outcome = await start(tmp_path, REFUSING).edit()
    assert "the document cannot be changed" in outcome.reason


async def test_an_answer_that_is_neither_yes_nor_no_is_not_taken_for_a_refusal(tmp_path: Path) -> None:
    outcome = await start(tmp_path, Temperament(answer="nonsense", tells_edit="when_flushed")).edit()
    assert outcome.kind == "unknown"
    assert "neither yes nor no" in outcome.reason


async def test_a_reason_of_any_length_is_told_in_short(tmp_path: Path) -> None:
    session = start(tmp_path, REFUSING)
    session.client._apply = lambda _params: (False, "because " * 10_000)  # type: ignore[method-assign]
    outcome = await session.edit()
    assert (outcome.kind, outcome.nothing_changed) == UNCHANGED
    assert len(outcome.reason) < 1000


async def test_an_edit_that_an_editor_applies_by_position_over_newer_text_is_not_called_done(tmp_path: Path) -> None:
    session = start(tmp_path, replace(NEVER_CHECKING, tells_typing="when_flushed"))
    after_the_reply(session.client)
    session.editor.type(session.path, 0, "zero\n")
    outcome = await session.edit()
    assert session.shown == "zero\nTWO\ntwo\nthree\n"
    assert outcome.kind == "unknown"


@pytest.mark.parametrize("kind", ["inserted", "short", "replaced"])
@pytest.mark.parametrize("answer", ["truth", "false"])
async def test_an_edit_that_landed_in_a_wrong_place_is_not_taken_for_one_that_changed_nothing(
    answer: Literal["truth", "false"], kind: str, tmp_path: Path
) -> None:
    edit = {
        "inserted": TextEdit(8, 8, "half way\n"),
        "short": TextEdit(4, 4, "!"),
        "replaced": TextEdit(8, 13, "drei!"),
    }[kind]
    session = start(tmp_path, replace(NEVER_CHECKING, answer=answer, tells_typing="when_flushed"))
    after_the_reply(session.client)
    # A line moved down, or new ones above: either way the edit is made in a wrong line.
    moved_down = [TextEdit(0, 4, ""), TextEdit(14, 14, "one\n")]
    session.editor.change(session.path, moved_down if kind == "short" else [TextEdit(0, 0, "0\n00\n")])
    outcome = await session.edit(edits=[edit])
    assert edit.new_text in session.shown
    assert (outcome.kind, outcome.nothing_changed) == (UNKNOWN if answer == "truth" else AT_THE_SAME_PLACE)


@pytest.mark.parametrize("told", ["one by one", "in one message"])
@pytest.mark.parametrize("answer", ["truth", "false", "error", "nonsense"])
async def test_an_edit_in_a_wrong_place_that_the_user_takes_back_is_not_taken_for_one_that_changed_nothing(
    answer: Literal["truth", "false", "error", "nonsense"], told: str, tmp_path: Path
) -> None:
    session = start(tmp_path, replace(NEVER_CHECKING, answer=answer, tells_typing="when_flushed"))
    client = session.client

    def take_back() -> None:
        session.editor.replace(session.path, 5, 10, "one")
        client.flush()

    def tell_and_take_back() -> None:
        if told == "one by one":
            client.flush()
        take_back()

    client.on_handled = lambda: asyncio.get_running_loop().call_soon(tell_and_take_back)
    session.editor.type(session.path, 0, "zero\n")
    outcome = await session.edit(edits=[TextEdit(4, 7, "TWICE")])
    assert session.shown == session.document.text == "zero\none\ntwo\nthree\n"
    assert outcome.kind == ("unknown" if answer in {"truth", "nonsense"} else "not_done")
    assert not outcome.nothing_changed
    assert outcome.kind == "unknown" or "read it before you try again" in outcome.reason


async def test_an_edit_that_was_made_over_what_was_typed_meanwhile_is_no_plain_success(tmp_path: Path) -> None:
    session = start(tmp_path, replace(NEVER_CHECKING, tells_edit="before_reply"))
    session.client.on_request = lambda: session.user_types(7)
    outcome = await session.edit(edits=[TextEdit(4, 8, "TWO\n")])
    assert session.shown == "one\nTWO\nthree\n"
    assert (outcome.kind, outcome.nothing_changed) == AT_THE_SAME_PLACE
    assert "may be gone" in outcome.reason
    session.client.on_request = lambda: session.user_types(3)
    assert (await session.edit(edits=[TextEdit(8, 14, "drei\n")])).kind == "done"
    assert session.shown == "one+\nTWO\ndrei\n"


async def test_the_user_is_asked_and_may_agree_late(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(asks_user=True), timeouts=PATIENT)
    async with asyncio.TaskGroup() as group:
        edit = group.create_task(session.edit())
        (await session.client.next_prompt()).answer(yes=True)
    assert edit.result().kind == "done"


async def test_a_no_of_the_user_is_not_done_and_changes_nothing(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(asks_user=True))
    async with asyncio.TaskGroup() as group:
        edit = group.create_task(session.edit())
        (await session.client.next_prompt()).answer(yes=False)
    assert (edit.result().kind, edit.result().nothing_changed) == UNCHANGED
    assert "the user declined" in edit.result().reason


async def test_after_an_unknown_outcome_the_next_edit_works_from_the_text_that_came(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(tells_edit="when_flushed"), timeouts=replace(BRIEF, text_s=0.01))
    stale = session.document
    first = await session.edit()
    assert first.kind == "unknown"
    assert "sent no changed text" in first.reason
    session.client.flush()
    with pytest.raises(DocumentMovedError):
        await session.edit(stale)
    assert len(session.client.requests) == 1
    after_the_reply(session.client)
    second = await session.edit(edits=[TextEdit(0, 3, "ONE")])
    assert second.kind == "done"
    assert session.shown == "ONE\nTWO\nthree\n"


async def test_after_an_unknown_outcome_the_next_edit_waits_for_text_before_it_goes_out(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(tells_edit="when_flushed"), timeouts=replace(PATIENT, text_s=0.01))
    assert (await session.edit()).kind == "unknown"
    slot = session.access._documents.slot_of(session.document.uri)
    assert slot is not None
    assert slot.unsettled_until is not None
    slot.unsettled_until = (slot.unsettled_until[0], slot.unsettled_until[1] + 1000)
    async with asyncio.TaskGroup() as group:
        second = group.create_task(_error_of(session.edit()))
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(session.client.requests) == 1
        session.client.flush()
    assert isinstance(second.result(), DocumentMovedError)
    assert len(session.client.requests) == 1


async def test_a_silent_editor_does_not_stop_later_edits_for_ever(tmp_path: Path) -> None:
    session = start(tmp_path, SILENT)
    assert (await session.edit()).kind == "unknown"
    session.client.temperament = RIGHT
    assert (await session.edit()).kind == "done"


async def _error_of(work: object) -> BaseException | None:
    try:
        await work  # type: ignore[misc]
    except EditorAccessError as error:
        return error
    return None


@pytest.mark.contract("E12")
async def test_two_edits_of_one_snapshot_never_both_go_out(tmp_path: Path) -> None:
    session = start(tmp_path, timeouts=PATIENT)
    document = session.document
    results = await asyncio.gather(
        session.edit(document), session.edit(document, [TextEdit(0, 3, "ONE")]), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["DocumentMovedError", "EditOutcome"]
    assert len(session.client.requests) == 1


@pytest.mark.contract("E12")
async def test_fifty_rounds_of_two_edits_at_once_lose_nothing(tmp_path: Path) -> None:
    lines = [str(number) for number in range(1, 101)]
    session = start(tmp_path, timeouts=PATIENT, text="\n".join(lines) + "\n")

    async def until_done(line: int, text: str) -> None:
        while True:
            document = session.document
            at = sum(len(shown) + 1 for shown in document.text.split("\n")[: line - 1])
            end = document.text.index("\n", at)
            try:
                outcome = await session.edit(document, [TextEdit(at, end, text)])
            except DocumentMovedError:
                continue
            assert outcome.kind == "done"
            return

    for number in range(50):
        async with asyncio.TaskGroup() as group:
            group.create_task(until_done(50, f"fifty-{number}"))
            group.create_task(until_done(75, f"seventy-five-{number}"))
        shown = session.shown.split("\n")
        assert (shown[49], shown[74]) == (f"fifty-{number}", f"seventy-five-{number}")
    assert len(session.client.requests) == 100


async def test_cancelling_before_anything_was_sent_sends_nothing(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(asks_user=True), timeouts=PATIENT)
    first = asyncio.create_task(session.edit())
    prompt = await session.client.next_prompt()
    second = asyncio.create_task(session.edit())
    for _ in range(5):
        await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    prompt.answer(yes=True)
    assert (await first).kind == "done"
    assert len(session.client.requests) == 1


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.contract("T6")
async def test_cancelling_after_the_request_was_sent_waits_for_the_outcome_and_then_goes_on(
    times: int, tmp_path: Path
) -> None:
    session = start(tmp_path, Temperament(asks_user=True), timeouts=PATIENT)
    edit = asyncio.create_task(session.edit())
    prompt = await session.client.next_prompt()
    for _ in range(times):
        edit.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    assert not edit.done()
    prompt.answer(yes=True)
    with pytest.raises(asyncio.CancelledError):
        await edit
    assert session.document.text == "one\nTWO\nthree\n"
    assert (await asyncio.gather(_next_edit(session, prompt)))[0].kind == "done"


async def _next_edit(session: Session, answered: object) -> EditOutcome:
    """The lock of the document is free again."""
    edit = asyncio.create_task(session.edit(edits=[TextEdit(0, 3, "ONE")]))
    prompt = await session.client.next_prompt()
    assert prompt is not answered
    prompt.answer(yes=True)
    return await edit


@pytest.mark.contract("T6")
async def test_a_cancel_scope_around_the_edit_waits_for_the_outcome_as_well(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(asks_user=True), timeouts=PATIENT)
    reached: list[str] = []

    async def cancelled(scope: anyio.CancelScope) -> None:
        with scope:
            await session.edit()
            reached.append("went on as if nothing had been cancelled")
        reached.append("cancelled")

    scope = anyio.CancelScope()
    async with anyio.create_task_group() as group:
        group.start_soon(cancelled, scope)
        prompt = await session.client.next_prompt()
        scope.cancel()
        await anyio.lowlevel.checkpoint()
        assert reached == []
        prompt.answer(yes=True)
    assert reached == ["cancelled"]
    assert session.document.text == "one\nTWO\nthree\n"


@pytest.mark.contract("E2")
async def test_losing_the_connection_before_sending_is_an_error_and_after_it_an_unknown_outcome(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(asks_user=True), timeouts=PATIENT)
    document = session.document
    edit = asyncio.create_task(session.edit(document))
    await session.client.next_prompt()
    waiting = asyncio.create_task(session.edit(document))
    await asyncio.sleep(0)
    session.access.connection_lost()
    outcome = await edit
    assert outcome.kind == "unknown"
    assert "the connection to the editor ended" in outcome.reason
    with pytest.raises(EditorLostError):
        await waiting
    assert len(session.client.requests) == 1


@pytest.mark.contract("E2")
async def test_a_request_that_fails_for_a_lost_connection_is_unknown(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(asks_user=True), timeouts=PATIENT)
    edit = asyncio.create_task(session.edit())
    await session.client.next_prompt()
    session.client.disconnect()
    assert (await edit).kind == "unknown"


async def test_a_text_that_came_before_the_connection_was_lost_counts(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(answer="never", tells_edit="before_reply"), timeouts=PATIENT)
    session.client.on_handled = lambda: asyncio.get_running_loop().call_soon(session.access.connection_lost)
    assert (await session.edit()).kind == "done"


async def test_a_document_that_closes_while_the_edit_is_on_its_way_is_unknown(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(tells_edit="when_flushed"))
    session.client.on_handled = lambda: session.editor.close(session.path)
    outcome = await session.edit(session.document)
    assert outcome.kind == "unknown"
    assert "was closed" in outcome.reason
    assert session.access._documents._slots == {}


async def test_a_reload_that_shows_the_edit_is_done_and_one_without_it_is_not(tmp_path: Path) -> None:
    for number, (text, kind) in enumerate({"one\nTWO\nthree\n": "done", "one\ntwo\nthree, four\n": "not_done"}.items()):
        directory = tmp_path / str(number)
        directory.mkdir()
        session = start(directory, Temperament(tells_edit="when_flushed"))
        (directory / "a.txt").write_text(text)
        session.client.on_handled = lambda session=session: session.editor.reload(session.path)
        assert (await session.edit()).kind == kind


async def test_an_edit_that_the_user_undoes_at_once_was_done(tmp_path: Path) -> None:
    session = start(tmp_path, Temperament(tells_edit="before_reply"))
    loop = asyncio.get_running_loop()
    session.client.on_handled = lambda: ((session.client.flush(), loop.call_soon(session.editor.undo, session.path)))
    outcome = await session.edit()
    assert outcome.kind == "done"
    assert outcome.document is not None
    assert outcome.document.text == "one\nTWO\nthree\n"


async def test_a_drift_noticed_while_the_edit_is_on_its_way_is_unknown(tmp_path: Path) -> None:
    from lsprotocol import types as lsp

    session = start(tmp_path, Temperament(tells_edit="when_flushed"))
    identifier = lsp.TextDocumentIdentifier(uri=session.document.uri)
    drifted = lsp.DidSaveTextDocumentParams(text_document=identifier, text="something else")
    session.client.on_handled = lambda: session.access.did_save(drifted)
    outcome = await session.edit()
    assert outcome.kind == "unknown"
    assert "not known any more" in outcome.reason


async def test_nothing_is_left_running_after_an_outcome(tmp_path: Path) -> None:
    for number, temperament in enumerate((RIGHT, SILENT, SILENT_BUT_APPLYING)):
        directory = tmp_path / str(number)
        directory.mkdir()
        before = asyncio.all_tasks()
        await start(directory, temperament).edit()
        assert asyncio.all_tasks() == before


@pytest.mark.contract("E8", "F6")
@pytest.mark.parametrize(
    ("text", "edit", "shown"),
    [
        ("\n", TextEdit(0, 1, "x"), "x\n"),
        ("a\nb\n", TextEdit(2, 4, "B"), "a\nB\n"),
        ("a\r\nb\r\n", TextEdit(3, 3, "x\ny\n"), "a\r\nx\r\ny\r\nb\r\n"),
        ("a\nb\n", TextEdit(2, 2, "x\r\n"), "a\nx\nb\n"),
    ],
)
async def test_an_editor_that_normalises_what_it_is_sent_has_still_done_it(
    text: str, edit: TextEdit, shown: str, tmp_path: Path
) -> None:
    normalising = Temperament(adds_final_newline=True, line_ends="of_document")
    session = start(tmp_path, normalising, text=text, timeouts=PATIENT)
    outcome = await session.edit(edits=[edit])
    assert outcome.kind == "done"
    assert outcome.document is not None
    assert outcome.document.text == session.shown == shown


async def test_an_editor_that_does_not_have_the_document_refuses(tmp_path: Path) -> None:
    session = start(tmp_path)
    document = session.document
    session.client.on_request = session.client._editor._buffers.clear
    outcome = await session.edit(document)
    assert (outcome.kind, outcome.nothing_changed) == UNCHANGED
    assert "not open" in outcome.reason
