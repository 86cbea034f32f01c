"""What the answers of a rich client prove, and what becomes of a call when they do not come or make no sense."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.editor_access import Document, DocumentMovedError, EditorAbilities, TextEdit
from openbuffer.editor_access.client_requests import (
    APPLY_EDIT,
    READ_DOCUMENT,
    RELOAD_DOCUMENT,
    SAVE_DOCUMENT,
    WITHDRAW_DIALOG,
    RichCapabilities,
    disk_hash,
    text_hash,
)
from openbuffer.editor_access.errors import EditorLostError
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.editor_access.port import FileOutcome

PATIENT = EditTimeouts(reply_s=600, text_s=600, grace_s=600, promised_s=600, flush_s=600)
HASTY = EditTimeouts(reply_s=0.02, text_s=0.02, grace_s=0.02, promised_s=0.02, flush_s=0.02)
ALL = RichCapabilities(
    read_document=True, apply_edit=True, save_document=True, reload_document=True, withdraw_dialog=True
)
BASE = "one\ntwo\n"
EDIT = [TextEdit(0, 3, "ONE")]

Answer = Callable[[Mapping[str, Any]], Any]


class ScriptedClient(MemoryLanguageClient):
    """A rich client whose answers a test can replace, by method."""

    def __init__(self, editor: MemoryEditor) -> None:
        super().__init__(editor, encoding="utf-16", rich=ALL)
        self.answers: dict[str, Answer] = {}
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self.withdrawn = anyio.Event()

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        if method not in self.answers:
            return await super().ask(method, params)
        self.asked.append((method, params))
        answer = self.answers[method](params)
        return await answer if isinstance(answer, Awaited) else answer

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        self.told.append((method, params))
        self.withdrawn.set()
        super().tell(method, params)


@dataclass
class Awaited:
    """An answer that comes when a test says so."""

    result: Any = None
    ready: anyio.Event = field(default_factory=anyio.Event)

    def __await__(self) -> Any:
        yield from self.ready.wait().__await__()
        return self.result


class Session:
    """A user with one document, a rich client, and the tools' access."""

    def __init__(self, tmp_path: Path, timeouts: EditTimeouts = PATIENT, can: RichCapabilities = ALL) -> None:
        self.path = os.path.realpath(tmp_path / "f.txt")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(BASE)
        self.editor = MemoryEditor()
        self.client = ScriptedClient(self.editor)
        self.access = LspEditor(self.client, encoding="utf-16", timeouts=timeouts, rich=can)
        self.client.connect(self.access)
        self.editor.open(self.path)

    @property
    def document(self) -> Document:
        found = self.access.document(self.path)
        assert found is not None
        return found

    @property
    def shown(self) -> str:
        return self.editor.buffer(self.path).text

    @property
    def state(self) -> dict[str, Any]:
        buffer = self.editor.buffer(self.path)
        return {"version": buffer.version, "textHash": text_hash(buffer.text), "dirty": buffer.is_dirty}

    async def save(self) -> FileOutcome:
        return await self.access.save(self.document, disk_hash=disk_hash(BASE.encode()))

    async def reload(self) -> FileOutcome:
        return await self.access.reload(self.document, disk_hash=disk_hash(BASE.encode()))


def raising(error: Exception) -> Answer:
    def answer(_: Mapping[str, Any]) -> Any:
        raise error

    return answer


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.contract("E9", "E10")
def test_abilities_are_what_was_announced_each_for_itself(tmp_path: Path) -> None:
    assert Session(tmp_path).access.abilities == EditorAbilities(flushes=True, saves=True, reloads=True)
    only_saves = Session(tmp_path, can=RichCapabilities(save_document=True))
    assert only_saves.access.abilities == EditorAbilities(saves=True)


@pytest.mark.contract("E9", "E10")
async def test_a_plain_client_is_never_asked_anything_beyond_lsp(tmp_path: Path) -> None:
    session = Session(tmp_path, can=RichCapabilities())
    assert "cannot be asked" in await session.access.flush(session.document)
    assert (await session.save()).kind == (await session.reload()).kind == "not_done"
    assert (await session.access.apply(session.document, EDIT, label="x")).kind == "done"
    assert session.client.asked == session.client.told == []


# --- flush ---------------------------------------------------------------------------------------------------------


@pytest.mark.contract("E10")
async def test_a_document_that_drifted_is_taken_anew_with_its_whole_text(tmp_path: Path) -> None:
    session = Session(tmp_path)
    buffer = session.editor.buffer(session.path)
    buffer.text = "nobody told\n"
    assert await session.access.flush(session.document) == ""
    assert session.document.text == "nobody told\n"
    assert [params.get("includeText", False) for _, params in session.client.asked] == [False, True]
    assert (await session.access.apply(session.document, [TextEdit(0, 6, "somebody")], label="x")).kind == "done"
    assert session.shown == session.document.text == "somebody told\n"


@pytest.mark.contract("E10")
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda _: {"version": 0, "textHash": "0" * 64, "dirty": False}, "does not fit together"),
        (
            lambda _: {"version": 7, "textHash": text_hash(BASE), "dirty": False},
            "a newer version than any that it sent",
        ),
        (lambda _: {"version": 0, "textHash": "0" * 64, "text": "other"}, "does not fit together"),
        (lambda _: {"version": -1, "textHash": text_hash(BASE), "dirty": False}, "does not fit together"),
        (lambda _: {"version": True, "textHash": text_hash(BASE)}, "does not tell the state"),
        (lambda _: None, "does not tell the state"),
        (lambda _: "nonsense", "does not tell the state"),
        (raising(RuntimeError("no such method")), "refused to tell: no such method"),
    ],
)
async def test_what_makes_no_sense_assures_nothing_and_changes_nothing(
    tmp_path: Path, answer: Answer, says: str
) -> None:
    session = Session(tmp_path, replace(PATIENT, flush_s=0.1))
    session.client.answers[READ_DOCUMENT] = answer
    before = session.document
    assert says in await session.access.flush(before)
    assert session.document == before


@pytest.mark.contract("E10")
async def test_a_client_that_does_not_answer_is_waited_for_a_bounded_time(tmp_path: Path) -> None:
    session = Session(tmp_path, HASTY)
    session.client.answers[READ_DOCUMENT] = lambda _: Awaited()
    assert "did not answer within 0.02 s" in await session.access.flush(session.document)


@pytest.mark.contract("E10")
async def test_what_is_typed_after_the_answer_was_written_is_no_drift(tmp_path: Path) -> None:
    session = Session(tmp_path)

    def tell_then_type(_: Mapping[str, Any]) -> Any:
        state = session.state
        session.editor.type(session.path, 0, "typed ")
        return state

    session.client.answers[READ_DOCUMENT] = tell_then_type
    assert await session.access.flush(session.document) == ""
    assert session.document.text == "typed " + BASE
    assert len(session.client.asked) == 1


@pytest.mark.contract("E10", "E2")
@pytest.mark.parametrize("how", [MemoryEditor.close, MemoryEditor.reload])
async def test_a_document_that_closes_while_it_is_asked_about_is_for_the_caller_to_see(
    tmp_path: Path, how: Callable[[MemoryEditor, str], object]
) -> None:
    session = Session(tmp_path)
    before = session.document

    def closing(_: Mapping[str, Any]) -> Any:
        how(session.editor, session.path)
        return {"version": 99, "textHash": "0" * 64, "dirty": False}

    session.client.answers[READ_DOCUMENT] = closing
    assert await session.access.flush(before) == ""
    assert session.access.document(session.path) != before


@pytest.mark.contract("E2")
async def test_losing_the_editor_ends_a_flush(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.client.answers[READ_DOCUMENT] = raising(EditorLostError("gone"))
    with pytest.raises(EditorLostError):
        await session.access.flush(session.document)
    session.access.connection_lost()
    with pytest.raises(EditorLostError):
        await session.access.flush(Document(path=session.path, uri="file:///x", version=0, generation=1, text=""))


# --- apply ---------------------------------------------------------------------------------------------------------


@pytest.mark.contract("E7", "E8")
async def test_an_edit_names_version_and_hash_and_its_outcome_needs_no_waiting(tmp_path: Path) -> None:
    session = Session(tmp_path)
    outcome = await session.access.apply(session.document, EDIT, label="Edit")
    assert (outcome.kind, outcome.document) == ("done", session.document)
    ((method, params),) = session.client.asked
    assert method == APPLY_EDIT
    assert (params["textHash"], params["label"]) == (text_hash(BASE), "Edit")
    assert session.client.requests == []
    session.editor.undo(session.path)
    assert session.shown == BASE


@pytest.mark.contract("E7")
async def test_a_stale_edit_is_refused_at_once_and_nothing_was_changed(tmp_path: Path) -> None:
    session = Session(tmp_path)
    before = session.document

    def type_first(_: Mapping[str, Any]) -> Any:
        session.editor.type(session.path, 0, "typed ")
        return {"done": False, "reason": "it is at another version", "document": session.state}

    session.client.answers[APPLY_EDIT] = type_first
    outcome = await session.access.apply(before, EDIT, label="x")
    assert (outcome.kind, outcome.nothing_changed) == ("not_done", True)
    assert "it is at another version" in outcome.reason
    assert session.document.text == "typed " + BASE


@pytest.mark.contract("E7")
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("says done and did not", "unknown"),
        ("did and says not", "done"),
        ("did and says nonsense", "done"),
        ("did and fails", "done"),
        ("nonsense", "unknown"),
        ("fails", "not_done"),
    ],
)
async def test_the_text_decides_whatever_the_client_says(tmp_path: Path, answer: str, kind: str) -> None:
    session = Session(tmp_path, replace(PATIENT, text_s=0.02, grace_s=0.02))

    def act(_: Mapping[str, Any]) -> Any:
        if answer.startswith("did"):
            session.editor.replace(session.path, 0, 3, "ONE")
        if answer.endswith("fails"):
            raise RuntimeError("out of memory")
        if answer.endswith("nonsense"):
            return {"applied": True}
        return {"done": answer == "says done and did not", "document": session.state}

    session.client.answers[APPLY_EDIT] = act
    outcome = await session.access.apply(session.document, EDIT, label="x")
    assert outcome.kind == kind, outcome.reason
    assert (session.shown != BASE) is answer.startswith("did")


@pytest.mark.contract("E7")
@pytest.mark.parametrize("version", [-1, 0])
async def test_an_edit_that_is_said_to_be_made_without_a_new_version_is_waited_for(
    tmp_path: Path, version: int
) -> None:
    session = Session(tmp_path)
    assert session.document.version == 0

    def make_it_later(_: Mapping[str, Any]) -> Any:
        session.editor.type(session.path, 4, "typed ")
        asyncio.get_running_loop().call_later(0.01, session.editor.replace, session.path, 0, 3, "ONE")
        return {"done": True, "document": {**session.state, "version": version}}

    session.client.answers[APPLY_EDIT] = make_it_later
    outcome = await session.access.apply(session.document, EDIT, label="x")
    assert outcome.kind == "done", outcome.reason
    assert session.document.text == session.shown == "ONE\ntyped two\n"


@pytest.mark.contract("E7")
@pytest.mark.parametrize("reason", [nested(100_000), {"why": 1}, 7, True], ids=["deep", "object", "number", "true"])
async def test_a_reason_that_is_no_text_is_none(tmp_path: Path, reason: object) -> None:
    session = Session(tmp_path, HASTY)
    session.client.answers[APPLY_EDIT] = lambda _: {"done": False, "reason": reason}
    outcome = await session.access.apply(session.document, EDIT, label="x")
    assert outcome.kind == "not_done"
    assert "refused the edit: without a reason" in outcome.reason


@pytest.mark.contract("E7")
async def test_a_state_that_was_not_told_before_the_answer_is_waited_for(tmp_path: Path) -> None:
    session = Session(tmp_path, replace(PATIENT, text_s=600))
    session.client.answers[APPLY_EDIT] = lambda _: {
        "done": True,
        "document": {"version": session.document.version + 1, "textHash": text_hash("ONE\ntwo\n"), "dirty": True},
    }
    outcomes: list[Any] = []

    async def edit() -> None:
        outcomes.append(await session.access.apply(session.document, EDIT, label="x"))

    async with anyio.create_task_group() as group:
        group.start_soon(edit)
        await anyio.wait_all_tasks_blocked()
        assert outcomes == []
        session.editor.replace(session.path, 0, 3, "ONE")
    assert [outcome.kind for outcome in outcomes] == ["done"]


@pytest.mark.contract("E7", "B2")
@pytest.mark.parametrize("yes", [False, True])
async def test_cancelling_withdraws_the_dialog_and_waits_for_the_outcome(tmp_path: Path, yes: bool) -> None:
    session = Session(tmp_path)
    answer = Awaited()
    session.client.answers[APPLY_EDIT] = lambda _: answer
    ended: list[str] = []

    async def edit() -> None:
        try:
            await session.access.apply(session.document, EDIT, label="x")
        finally:
            ended.append(session.shown)

    async with anyio.create_task_group() as group:
        group.start_soon(edit)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await session.client.withdrawn.wait()
            ((method, params),) = session.client.told
            assert (method, params) == (WITHDRAW_DIALOG, {"dialogId": session.client.asked[0][1]["dialogId"]})
            assert ended == []
            if yes:  # the user was quicker
                session.editor.replace(session.path, 0, 3, "ONE")
            answer.result = {"done": yes, "document": session.state}
            answer.ready.set()
    assert ended == ["ONE\ntwo\n" if yes else BASE]


@pytest.mark.contract("E7")
@pytest.mark.parametrize("can", [ALL, replace(ALL, withdraw_dialog=False)])
async def test_an_edit_without_an_answer_is_unknown_and_its_dialog_withdrawn_where_that_can_be(
    tmp_path: Path, can: RichCapabilities
) -> None:
    session = Session(tmp_path, HASTY, can)
    session.client.answers[APPLY_EDIT] = lambda _: Awaited()
    outcome = await session.access.apply(session.document, EDIT, label="x")
    assert outcome.kind == "unknown"
    assert [method for method, _ in session.client.told] == ([WITHDRAW_DIALOG] if can is ALL else [])


async def test_an_edit_that_is_declined_after_its_dialog_was_withdrawn_is_not_done(tmp_path: Path) -> None:
    session = Session(tmp_path, replace(PATIENT, reply_s=0.02))
    answer = Awaited({"done": False, "reason": "withdrawn", "document": session.state})
    session.client.answers[APPLY_EDIT] = lambda _: answer
    tell = session.client.tell

    def tell_and_close(method: str, params: Mapping[str, Any]) -> None:
        tell(method, params)
        answer.ready.set()

    session.client.tell = tell_and_close  # type: ignore[method-assign]
    outcome = await session.access.apply(session.document, EDIT, label="x")
    assert (outcome.kind, outcome.nothing_changed) == ("not_done", True)


# --- save and reload -----------------------------------------------------------------------------------------------


@pytest.mark.contract("E9")
async def test_a_save_and_a_reload_name_version_text_and_disk(tmp_path: Path) -> None:
    session = Session(tmp_path)
    assert (await session.save()).document == session.document
    assert (await session.reload()).document == session.document
    assert [method for method, _ in session.client.asked] == [SAVE_DOCUMENT, RELOAD_DOCUMENT]
    for _, params in session.client.asked:
        assert params["textHash"] == text_hash(BASE)
        assert params["diskHash"] == disk_hash(BASE.encode())


@pytest.mark.contract("E9")
@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (lambda _: {"done": False, "reason": "the disk is full"}, "not_done", "the disk is full"),
        (lambda _: {"done": False}, "not_done", "it gave no reason"),
        (lambda _: {"done": False, "reason": nested(100_000)}, "not_done", "it gave no reason"),
        (lambda _: {"done": "yes"}, "unknown", "no answer that could be read"),
        (lambda _: None, "unknown", "no answer that could be read"),
        (raising(RuntimeError("x" * 9_999)), "not_done", "xxx"),
        (raising(EditorLostError("gone")), "unknown", "connection"),
        (lambda _: Awaited(), "unknown", "no answer that could be read"),
    ],
)
@pytest.mark.parametrize("method", [SAVE_DOCUMENT, RELOAD_DOCUMENT])
async def test_what_is_said_of_a_save_or_reload_is_told_in_short(
    tmp_path: Path, method: str, answer: Answer, kind: str, says: str
) -> None:
    session = Session(tmp_path, HASTY)
    session.client.answers[method] = answer
    outcome = await (session.save() if method == SAVE_DOCUMENT else session.reload())
    assert (outcome.kind, outcome.document) == (kind, None)
    assert says in outcome.reason
    assert len(outcome.reason) < 1_000
    assert session.shown == BASE


@pytest.mark.contract("E2", "E9")
@pytest.mark.parametrize("happening", [MemoryEditor.close, MemoryEditor.reload, lambda e, p: e.type(p, 0, "x")])
async def test_a_document_that_moved_is_neither_saved_nor_reloaded(
    tmp_path: Path, happening: Callable[[MemoryEditor, str], object]
) -> None:
    session = Session(tmp_path)
    before = session.document
    happening(session.editor, session.path)
    for act in (session.access.save, session.access.reload):
        with pytest.raises(DocumentMovedError):
            await act(before, disk_hash=disk_hash(BASE.encode()))
    assert session.client.asked == []


@pytest.mark.contract("E9")
async def test_a_document_that_is_closed_by_the_save_has_no_state_afterwards(tmp_path: Path) -> None:
    session = Session(tmp_path)

    def save_and_close(_: Mapping[str, Any]) -> Any:
        session.editor.close(session.path)
        return {"done": True, "document": None}

    session.client.answers[SAVE_DOCUMENT] = save_and_close
    outcome = await session.save()
    assert (outcome.kind, outcome.document) == ("done", None)
