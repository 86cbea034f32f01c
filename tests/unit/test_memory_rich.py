"""The in-memory client's answers to the requests beyond LSP: right ones, and each ill one."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from openbuffer.editor_access import client_requests as wire
from openbuffer.editor_access.client_requests import RichCapabilities, disk_hash, text_hash
from openbuffer.editor_access.errors import EditorLostError
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import EditorHabits, MemoryEditor
from openbuffer.editor_access.memory_lsp import (
    RICH,
    RICH_TEMPERAMENTS,
    MemoryLanguageClient,
    RichTemperament,
    Temperament,
)
from openbuffer.editor_access.port import TextEdit

if TYPE_CHECKING:
    from collections.abc import Awaitable

TEXT = "one\ntwo\n"
LATE = Temperament(tells_typing="when_flushed", tells_edit="when_flushed")


class Heard:
    """Writes down the notifications that it gets."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.params: list[object] = []

    def did_open(self, params: object) -> None:
        self._hear("open", params)

    def did_change(self, params: object) -> None:
        self._hear("change", params)

    def did_save(self, params: object) -> None:
        self._hear("save", params)

    def did_close(self, params: object) -> None:
        self._hear("close", params)

    def _hear(self, name: str, params: object) -> None:
        self.names.append(name)
        self.params.append(params)


class Desk:
    """A rich client that tells late, with one open file."""

    def __init__(
        self,
        root: Path,
        rich_temperament: RichTemperament | None = None,
        *,
        rich: RichCapabilities = RICH,
        habits: EditorHabits | None = None,
    ) -> None:
        self.file = Path(os.path.realpath(root / "a.txt"))
        self.path = str(self.file)
        self.file.write_text(TEXT)
        self.editor = MemoryEditor(habits or EditorHabits())
        self.client = MemoryLanguageClient(
            self.editor, encoding="utf-16", temperament=LATE, rich=rich, rich_temperament=rich_temperament
        )
        self.server = Heard()
        self.client.connect(self.server)
        self.uri = self.editor.open(self.path).uri
        self.server.names.clear()

    @property
    def text(self) -> str:
        return self.editor.buffer(self.path).text

    @property
    def state(self) -> dict[str, Any]:
        buffer = self.editor.buffer(self.path)
        return {"version": buffer.version, "textHash": text_hash(buffer.text), "dirty": buffer.is_dirty}

    def read(self, **more: object) -> Awaitable[Any]:
        return self.client.ask(wire.READ_DOCUMENT, {"textDocument": {"uri": self.uri}, **more})

    def action(self, method: str, **other: object) -> Awaitable[Any]:
        """A request for the state that the editor is in now, with these fields changed."""
        buffer = self.editor.buffer(self.path)
        span = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}}
        params: dict[str, Any] = {
            "textDocument": {"uri": self.uri, "version": buffer.version},
            "textHash": text_hash(buffer.text),
            "dialogId": "d1",
        }
        if method == wire.APPLY_EDIT:
            params |= {"edits": [{"range": span, "newText": "TWO"}], "label": "Edit"}
        else:
            params["diskHash"] = disk_hash(self.file.read_bytes())
        return self.client.ask(method, {**params, **other})


ACTIONS = [wire.APPLY_EDIT, wire.SAVE_DOCUMENT, wire.RELOAD_DOCUMENT]


# --- right answers ---------------------------------------------------------------------------------------------------


@pytest.mark.contract("E10")
async def test_reading_tells_what_was_not_told_and_then_answers_the_state(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.editor.type(desk.path, 0, "x")
    assert await desk.read() == {"version": 1, "textHash": text_hash("xone\ntwo\n"), "dirty": True}
    assert desk.server.names == ["change"]
    assert (await desk.read(includeText=True))["text"] == "xone\ntwo\n"
    desk.editor.close(desk.path)
    assert await desk.read() is None


async def test_an_edit_is_made_as_one_undo_step_and_told_before_the_answer(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    answer = await desk.action(wire.APPLY_EDIT)
    assert (desk.text, answer) == ("one\nTWO\n", {"done": True, "document": desk.state})
    assert desk.server.names == ["change"]
    desk.editor.undo(desk.path)
    assert desk.text == TEXT


@pytest.mark.contract("E9")
async def test_a_save_is_answered_with_what_formatting_made_of_the_text(tmp_path: Path) -> None:
    desk = Desk(tmp_path, habits=EditorHabits(format_on_save=str.upper))
    desk.editor.type(desk.path, 0, "x")
    answer = await desk.action(wire.SAVE_DOCUMENT)
    assert (desk.file.read_text(), desk.text) == ("XONE\nTWO\n", "XONE\nTWO\n")
    assert answer == {"done": True, "document": desk.state}
    assert (answer["document"]["dirty"], desk.server.names) == (False, ["change", "change", "save"])


@pytest.mark.parametrize(("reloads", "told"), [("changed", ["change"]), ("reopened", ["close", "open"])])
async def test_a_reload_takes_the_disk_the_way_that_is_the_editors(
    tmp_path: Path, reloads: Any, told: list[str]
) -> None:
    desk = Desk(tmp_path, habits=EditorHabits(reloads=reloads))
    desk.file.write_text("three\n")
    answer = await desk.action(wire.RELOAD_DOCUMENT)
    assert (desk.text, desk.server.names, answer) == ("three\n", told, {"done": True, "document": desk.state})


@pytest.mark.parametrize("method", ACTIONS)
async def test_nothing_is_done_to_another_state_than_the_one_named(tmp_path: Path, method: str) -> None:
    desk = Desk(tmp_path)
    desk.editor.type(desk.path, 0, "x")
    stale = {"uri": desk.uri, "version": 0}
    for other in ({"textDocument": stale}, {"textHash": text_hash(TEXT)}):
        answer = await desk.action(method, **other)
        assert (answer["done"], answer["document"]) == (False, desk.state)
        assert answer["reason"]
    assert (desk.text, desk.file.read_text()) == ("xone\ntwo\n", TEXT)
    assert desk.server.names == ["change"]
    gone = await desk.action(method, textDocument={"uri": "file:///nowhere", "version": 1})
    assert gone == {"done": False, "reason": "the document is not open", "document": None}


@pytest.mark.parametrize("method", ACTIONS[1:])
@pytest.mark.parametrize("disk", ["theirs\n", None])
async def test_nothing_is_saved_over_or_taken_from_another_disk(tmp_path: Path, method: str, disk: str | None) -> None:
    desk = Desk(tmp_path)
    known = disk_hash(desk.file.read_bytes())
    desk.file.unlink()
    if disk is not None:
        desk.file.write_text(disk)
    answer = await desk.action(method, diskHash=known) if disk is not None else await _without_file(desk, method, known)
    assert (answer["done"], desk.text) == (False, TEXT)
    assert desk.file.exists() == (disk is not None)


async def _without_file(desk: Desk, method: str, known: str | None) -> Any:
    params = {"textDocument": {"uri": desk.uri, "version": 0}, "textHash": text_hash(TEXT), "dialogId": "d"}
    return await desk.client.ask(method, {**params, "diskHash": known})


async def test_a_file_that_is_not_there_can_be_saved_and_not_reloaded(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.file.unlink()
    assert not (await _without_file(desk, wire.RELOAD_DOCUMENT, None))["done"]
    assert (await _without_file(desk, wire.SAVE_DOCUMENT, None))["done"]
    assert desk.file.read_text() == TEXT


async def test_a_save_that_fails_is_not_done_and_says_why(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.editor.type(desk.path, 0, "\ud800")
    answer = await desk.action(wire.SAVE_DOCUMENT)
    assert (answer["done"], "surrogates not allowed" in answer["reason"]) == (False, True)
    assert desk.file.read_text() == TEXT


async def test_what_was_typed_before_the_answer_is_in_the_state_and_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.client.on_handled = lambda: desk.editor.type(desk.path, 0, "x")
    answer = await desk.action(wire.APPLY_EDIT)
    assert (desk.text, answer) == ("xone\nTWO\n", {"done": True, "document": desk.state})
    assert not desk.client.has_untold


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        (wire.READ_DOCUMENT, "read_document"),
        (wire.APPLY_EDIT, "apply_edit"),
        (wire.SAVE_DOCUMENT, "save_document"),
        (wire.RELOAD_DOCUMENT, "reload_document"),
    ],
)
async def test_each_request_is_answered_only_where_it_was_announced(
    tmp_path: Path, method: str, capability: str
) -> None:
    desk = Desk(tmp_path, rich=RichCapabilities(**{capability: True}))
    for asked in (wire.READ_DOCUMENT, *ACTIONS):
        if asked == method:
            assert await (desk.read() if method == wire.READ_DOCUMENT else desk.action(method)) is not None
        else:
            with pytest.raises(RuntimeError, match="Unhandled method"):
                await desk.action(asked)
    with pytest.raises(RuntimeError, match="Unhandled method"):
        await desk.client.ask("openbuffer/other", {})


# --- dialogs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ACTIONS)
@pytest.mark.parametrize("how", ["yes", "no", "withdrawn"])
async def test_a_user_is_asked_and_the_dialog_can_be_withdrawn(tmp_path: Path, method: str, how: str) -> None:
    desk = Desk(tmp_path, RICH_TEMPERAMENTS["prompting"])
    asked = asyncio.ensure_future(desk.action(method))
    prompt = await desk.client.next_prompt()
    desk.client.tell(wire.WITHDRAW_DIALOG, {"dialogId": "unknown"})
    assert desk.client.prompts == (prompt,)
    if how == "withdrawn":
        desk.client.tell(wire.WITHDRAW_DIALOG, {"dialogId": "d1"})
    else:
        prompt.answer(yes=how == "yes")
    answer = await asked
    assert (answer["done"], answer["document"]) == (how == "yes", desk.state)
    assert desk.client.prompts == ()
    desk.client.tell(wire.WITHDRAW_DIALOG, {"dialogId": "d1"})
    assert (await desk.read()) == desk.state


async def test_what_is_typed_while_the_user_is_asked_makes_the_edit_stale(tmp_path: Path) -> None:
    desk = Desk(tmp_path, RICH_TEMPERAMENTS["prompting"])
    asked = asyncio.ensure_future(desk.action(wire.APPLY_EDIT))
    prompt = await desk.client.next_prompt()
    desk.editor.type(desk.path, 0, "x")
    prompt.answer(yes=True)
    assert not (await asked)["done"]
    assert desk.text == "xone\ntwo\n"


async def test_a_request_that_waits_is_withdrawn_before_anybody_is_asked(tmp_path: Path) -> None:
    desk = Desk(tmp_path, RichTemperament(holds="requests", asks_user=True))
    asked = asyncio.ensure_future(desk.action(wire.APPLY_EDIT))
    await anyio.wait_all_tasks_blocked()
    desk.client.tell(wire.WITHDRAW_DIALOG, {"dialogId": "d1"})
    assert desk.client.release()
    assert (await asked)["reason"] == "the dialog was withdrawn"
    assert desk.text == TEXT


async def test_a_client_without_that_ability_keeps_its_dialog(tmp_path: Path) -> None:
    desk = Desk(tmp_path, RICH_TEMPERAMENTS["prompting"], rich=RichCapabilities(apply_edit=True))
    asked = asyncio.ensure_future(desk.action(wire.APPLY_EDIT))
    prompt = await desk.client.next_prompt()
    desk.client.tell(wire.WITHDRAW_DIALOG, {"dialogId": "d1"})
    assert desk.client.prompts == (prompt,)
    prompt.answer(yes=True)
    assert (await asked)["done"]


# --- ill answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("temperament", "done", "text", "disk"),
    [
        ("right", True, "one\nTWO\n", TEXT),
        ("says done and does not", True, TEXT, TEXT),
        ("does and says not", False, "one\nTWO\n", TEXT),
        ("cannot", False, TEXT, TEXT),
        ("answers with wrong hashes", True, "one\nTWO\n", TEXT),
    ],
)
async def test_an_answer_is_the_truth_or_not(
    tmp_path: Path, temperament: str, done: bool, text: str, disk: str
) -> None:
    desk = Desk(tmp_path, RICH_TEMPERAMENTS[temperament])
    answer = await desk.action(wire.APPLY_EDIT)
    assert (answer["done"], desk.text, desk.file.read_text()) == (done, text, disk)
    assert (answer["document"]["textHash"] == text_hash(desk.text)) == (temperament != "answers with wrong hashes")


async def test_answers_can_be_errors_nonsense_or_of_versions_that_never_were(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="failed"):
        await Desk(tmp_path, RICH_TEMPERAMENTS["answers with errors"]).read()
    assert await Desk(tmp_path, RICH_TEMPERAMENTS["answers nonsense"]).read() == ["done"]
    assert (await Desk(tmp_path, RICH_TEMPERAMENTS["answers with wrong versions"]).read())["version"] == 1000


async def test_checks_can_be_left_out(tmp_path: Path) -> None:
    desk = Desk(tmp_path, RICH_TEMPERAMENTS["ignores the document"])
    assert (await desk.action(wire.APPLY_EDIT, textHash="", textDocument={"uri": desk.uri, "version": 7}))["done"]
    careless = Desk(tmp_path, RICH_TEMPERAMENTS["ignores the disk"])
    careless.file.write_text("theirs\n")
    assert (await careless.action(wire.SAVE_DOCUMENT, diskHash=disk_hash(b"")))["done"]
    assert careless.file.read_text() == TEXT


async def test_what_is_told_may_come_after_the_answer_or_by_itself(tmp_path: Path) -> None:
    for name, told in (("tells afterwards", ["change"]), ("does not flush", [])):
        desk = Desk(tmp_path, RICH_TEMPERAMENTS[name])
        desk.editor.type(desk.path, 0, "x")
        await desk.read()
        assert desk.server.names == []
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        assert desk.server.names == told


@pytest.mark.parametrize("holds", ["requests", "answers"])
async def test_requests_or_answers_wait_until_they_are_released(tmp_path: Path, holds: Any) -> None:
    desk = Desk(tmp_path, RichTemperament(holds=holds))
    asked = asyncio.ensure_future(desk.action(wire.APPLY_EDIT))
    await anyio.wait_all_tasks_blocked()
    assert (desk.client.held, asked.done()) == (1, False)
    assert (desk.text == TEXT) == (holds == "requests")
    desk.client.release()
    assert (await asked)["done"]


@pytest.mark.parametrize(
    "temperament",
    [RichTemperament(answer="never"), RichTemperament(asks_user=True), RichTemperament(holds="requests")],
    ids=["never", "prompt", "held"],
)
async def test_whatever_waits_fails_when_the_connection_ends(tmp_path: Path, temperament: RichTemperament) -> None:
    desk = Desk(tmp_path, temperament)
    asked = asyncio.ensure_future(desk.action(wire.APPLY_EDIT))
    await anyio.wait_all_tasks_blocked()
    assert not asked.done()
    desk.client.disconnect()
    with pytest.raises(EditorLostError):
        await asked
    with pytest.raises(EditorLostError):
        await desk.read()


# --- the adapter over it ---------------------------------------------------------------------------------------------


@pytest.mark.contract("E7", "E9")
@pytest.mark.parametrize("temperament", RICH_TEMPERAMENTS.values(), ids=RICH_TEMPERAMENTS.keys())
async def test_the_adapter_never_takes_for_done_what_is_not_there(tmp_path: Path, temperament: RichTemperament) -> None:
    desk = Desk(tmp_path, temperament)
    brief = EditTimeouts(reply_s=0.2, text_s=0.2, grace_s=0.05, promised_s=0.05)
    access = LspEditor(desk.client, encoding="utf-16", timeouts=brief, rich=RICH)
    desk.client.connect(access)
    loop = asyncio.get_running_loop()
    desk.client.on_handled = lambda: loop.call_soon(loop.call_soon, desk.client.flush)
    async with anyio.create_task_group() as group:
        group.start_soon(_click_on_everything, desk.client)
        document = access.document(desk.path)
        assert document is not None
        outcome = await access.apply(document, [TextEdit(4, 7, "TWO")], label="Edit")
        assert (outcome.kind == "done") <= (desk.text == "one\nTWO\n")
        if outcome.nothing_changed:
            assert desk.text == TEXT
        await anyio.wait_all_tasks_blocked()
        document = access.document(desk.path)
        assert document is not None
        saved = await access.save(document, disk_hash=disk_hash(TEXT.encode()))
        if saved.kind == "done" and temperament.acts:
            assert desk.file.read_text() == document.text
        group.cancel_scope.cancel()
    access.connection_lost()


async def _click_on_everything(client: MemoryLanguageClient) -> None:
    while True:
        (await client.next_prompt()).answer(yes=True)
