"""The in-memory language client: each way of checking, answering and telling, as a server sees it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from lsprotocol import types as lsp
from openbuffer.editor_access.errors import EditorLostError
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import EditorHabits, MemoryEditor
from openbuffer.editor_access.memory_lsp import (
    RICH_TEMPERAMENTS,
    TEMPERAMENTS,
    MemoryLanguageClient,
    Temperament,
)
from openbuffer.editor_access.port import TextEdit

if TYPE_CHECKING:
    from collections.abc import Coroutine

LATE = Temperament(tells_typing="when_flushed", tells_edit="when_flushed")


@dataclass
class Server:
    """Writes down what it is told."""

    heard: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])

    def did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self.heard.append(("open", (params.text_document.version, params.text_document.text)))

    def did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        changes = [change.text for change in params.content_changes]
        self.heard.append(("change", (params.text_document.version, *changes)))

    def did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        self.heard.append(("save", params.text))

    def did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self.heard.append(("close", params.text_document.uri.rsplit("/", 1)[-1]))

    def take(self) -> list[tuple[str, Any]]:
        heard, self.heard = self.heard, []
        return heard


class Desk:
    """An editor with one open file, its client, and a server."""

    def __init__(self, root: Path, temperament: Temperament, text: str = "one\ntwo\n") -> None:
        self.path = os.path.realpath(root / "a.txt")
        Path(self.path).write_bytes(text.encode())
        self.server = Server()
        self.editor = MemoryEditor(temperament.habits)
        self.client = MemoryLanguageClient(self.editor, encoding="utf-16", temperament=temperament)
        self.client.connect(self.server)
        self.editor.open(self.path)
        self.server.take()

    @property
    def text(self) -> str:
        return self.editor.buffer(self.path).text

    def request(
        self, version: int | None, new_text: str = "TWO", *, line: int = 1, end: int = 3
    ) -> Coroutine[Any, Any, Any]:
        span = lsp.Range(start=lsp.Position(line=line, character=0), end=lsp.Position(line=line, character=end))
        document = lsp.OptionalVersionedTextDocumentIdentifier(uri=self.editor.buffer(self.path).uri, version=version)
        change = lsp.TextDocumentEdit(text_document=document, edits=[lsp.TextEdit(range=span, new_text=new_text)])
        return self.client.apply_edit(lsp.ApplyWorkspaceEditParams(edit=lsp.WorkspaceEdit(document_changes=[change])))

    async def apply(self, version: int | None, new_text: str = "TWO") -> tuple[bool, str | None]:
        result = await self.request(version, new_text)
        return result.applied, result.failure_reason


# --- versions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("temperament", "version", "applied", "made"),
    [
        ("strict", 1, True, True),
        ("strict", 0, False, False),
        ("strict", 2, False, False),
        ("strict", None, True, True),
        ("like Neovim", 1, True, True),
        ("like Neovim", 7, True, True),
        ("like Neovim", 0, True, True),
        ("like Neovim", -1, True, False),
        ("like VS Code", 1, False, False),
        ("like VS Code", 2, True, True),
        ("lying", 0, True, False),
        ("never checking", 0, True, True),
        ("checks what it sent", 0, True, True),
        ("checks what it sent", 1, False, False),
        ("version 0", 0, True, True),
        ("version 0", 7, True, False),
        ("cannot change", 1, False, False),
        ("says yes and does not", 1, True, False),
        ("says no and does", 1, False, True),
    ],
)
async def test_each_way_of_checking_versions(
    tmp_path: Path, temperament: str, version: int | None, applied: bool, made: bool
) -> None:
    desk = Desk(tmp_path, TEMPERAMENTS[temperament])
    desk.editor.type(desk.path, 0, "x")
    assert (await desk.apply(version))[0] == applied
    assert desk.text == ("xone\nTWO\n" if made else "xone\ntwo\n")


async def test_an_edit_that_nobody_checks_lands_wherever_its_place_is_by_then(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TEMPERAMENTS["never checking"])
    desk.editor.type(desk.path, 0, "new\n")
    assert await desk.apply(0) == (True, None)
    assert desk.text == "new\nTWO\ntwo\n"


async def test_refusals_have_a_reason_or_none(tmp_path: Path) -> None:
    assert await Desk(tmp_path, Temperament()).apply(5) == (False, "the document is at another version")
    assert await Desk(tmp_path, TEMPERAMENTS["like VS Code"]).apply(5) == (False, None)


async def test_only_edits_of_one_open_document_are_made(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Temperament())
    nothing = await desk.client.apply_edit(lsp.ApplyWorkspaceEditParams(edit=lsp.WorkspaceEdit()))
    assert nothing is not None
    assert not nothing.applied
    request = desk.request(0)
    desk.editor.close(desk.path)
    assert not (await request).applied


# --- what is told, and when ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tells", "at_the_answer", "soon"), [("before_reply", 1, 1), ("after_reply", 0, 1), ("when_flushed", 0, 0)]
)
async def test_an_edit_is_told_before_the_answer_after_it_or_when_flushed(
    tmp_path: Path, tells: Any, at_the_answer: int, soon: int
) -> None:
    desk = Desk(tmp_path, Temperament(tells_edit=tells))
    await desk.apply(0)
    assert len(desk.server.heard) == at_the_answer
    await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()
    assert len(desk.server.heard) == soon
    assert desk.client.has_untold == (not soon)
    desk.client.flush()
    assert desk.server.heard == [("change", (1, "TWO"))]


def test_typing_is_told_at_once_or_gathered_until_it_is_flushed_or_saved(tmp_path: Path) -> None:
    desk = Desk(tmp_path, LATE)
    desk.editor.type(desk.path, 0, "a")
    desk.editor.type(desk.path, 1, "b")
    assert desk.server.take() == []
    desk.client.flush()
    desk.client.flush()
    assert desk.server.take() == [("change", (2, "a", "b"))]
    desk.editor.type(desk.path, 0, "c")
    desk.editor.save(desk.path)
    assert desk.server.take() == [("change", (3, "c")), ("save", None)]
    at_once = Desk(tmp_path, Temperament())
    at_once.editor.type(at_once.path, 0, "a")
    assert at_once.server.take() == [("change", (1, "a"))]


def test_one_document_can_be_flushed_by_itself(tmp_path: Path) -> None:
    desk = Desk(tmp_path, LATE)
    other = desk.editor.open_unnamed("untitled:1")
    desk.editor.type(desk.path, 0, "a")
    desk.editor.type("untitled:1", 0, "b")
    desk.server.take()
    desk.client.flush(other.uri)
    assert desk.server.take() == [("change", (1, "b"))]
    assert desk.client.has_untold


def test_whole_documents_are_told_and_replaced(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TEMPERAMENTS["whole documents"])
    assert asyncio.run(desk.apply(0)) == (True, None)
    assert [len(step) for step in desk.editor.buffer(desk.path).undo_steps] == [1]
    assert desk.editor.buffer(desk.path).undo_steps[0][0] == TextEdit(0, 8, "one\ntwo\n")
    desk.client.flush()
    assert desk.server.take() == [("change", (1, "one\nTWO\n"))]


def test_formatting_on_save_is_told_before_the_save_and_an_untold_newline_never(tmp_path: Path) -> None:
    formatting = Temperament(habits=EditorHabits(format_on_save=str.upper), saves_with_text=True)
    desk = Desk(tmp_path, formatting)
    desk.editor.save(desk.path)
    assert desk.server.take() == [("change", (1, "ONE\nTWO")), ("save", "ONE\nTWO\n")]
    untold = Desk(tmp_path, Temperament(habits=EditorHabits(final_newline="added_untold")), text="one")
    untold.editor.save(untold.path)
    assert untold.server.take() == [("save", None)]
    assert Path(untold.path).read_text() == "one\n"


@pytest.mark.parametrize(
    ("reloads", "heard"),
    [("changed", [("change", (1, "THREE"))]), ("reopened", [("close", "a.txt"), ("open", (0, "THREE\ntwo\n"))])],
)
def test_a_reload_is_told_as_a_change_or_as_closing_and_opening(tmp_path: Path, reloads: Any, heard: object) -> None:
    desk = Desk(tmp_path, Temperament(habits=EditorHabits(reloads=reloads)))
    Path(desk.path).write_text("THREE\ntwo\n")
    desk.editor.check_disk()
    assert desk.server.take() == heard


def test_a_renamed_document_is_closed_and_opened_and_what_was_not_told_is_in_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, LATE)
    desk.editor.type(desk.path, 0, "x")
    desk.editor.rename(desk.path, os.path.join(os.path.dirname(desk.path), "b.txt"))
    desk.client.flush()
    assert desk.server.take() == [("close", "a.txt"), ("open", (0, "xone\ntwo\n"))]


def test_a_large_document_is_never_told_of(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Temperament(tells_up_to_chars=8), text="one\ntwo\n!")
    desk.editor.type(desk.path, 0, "x")
    desk.editor.save(desk.path)
    desk.editor.close(desk.path)
    assert desk.server.take() == []


def test_keystrokes_are_told_one_by_one(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TEMPERAMENTS["counts keystrokes"])
    desk.editor.type(desk.path, 3, "a\r\nb")
    assert desk.server.take() == [("change", (2, "a")), ("change", (3, "\r\n")), ("change", (4, "b"))]


def test_a_server_that_comes_later_is_told_what_is_there_then(tmp_path: Path) -> None:
    desk = Desk(tmp_path, LATE)
    desk.editor.type(desk.path, 0, "x")
    desk.client.disconnect()
    desk.editor.type(desk.path, 0, "y")
    later = Server()
    desk.client.connect(later)
    desk.client.flush()
    assert later.heard == [("open", (2, "yxone\ntwo\n"))]
    assert desk.server.heard == []


# --- columns and line ends -------------------------------------------------------------------------------------------


async def test_columns_are_those_negotiated_or_code_points_in_what_it_makes(tmp_path: Path) -> None:
    for temperament, made in (("strict", "one\nXwo\n"), ("code points", "one\nXo\n")):
        desk = Desk(tmp_path, TEMPERAMENTS[temperament], text="one\n😋two\n")
        await desk.request(0, "X", end=3)
        assert desk.text == made


async def test_line_ends_and_the_final_newline_may_be_the_editors_own(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Temperament(line_ends="of_document", adds_final_newline=True), text="one\r\ntwo")
    await desk.request(0, "a\nb")
    assert desk.text == "one\r\na\r\nb\n"


# --- answers ---------------------------------------------------------------------------------------------------------


async def test_answers_can_be_an_error_or_nonsense_whatever_was_done(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TEMPERAMENTS["answers nonsense"])
    assert await desk.request(0) is None
    failing = Desk(tmp_path, TEMPERAMENTS["answers with errors"])
    with pytest.raises(RuntimeError, match="applying"):
        await failing.request(0)
    assert desk.text == failing.text == "one\nTWO\n"


@pytest.mark.parametrize("temperament", ["prompting", "prompting, with errors"])
async def test_a_user_who_is_asked_decides(tmp_path: Path, temperament: str) -> None:
    desk = Desk(tmp_path, TEMPERAMENTS[temperament])
    asked = asyncio.ensure_future(desk.request(0))
    prompt = await desk.client.next_prompt()
    assert desk.client.prompts == (prompt,)
    prompt.answer(yes=True)
    assert (await asked).applied
    assert desk.client.prompts == ()
    asked = asyncio.ensure_future(desk.request(1, "no"))
    (await desk.client.next_prompt()).answer(yes=False)
    if temperament == "prompting":
        assert (await asked).failure_reason == "the user declined"
    else:
        with pytest.raises(RuntimeError, match="declined"):
            await asked
    assert desk.text == "one\nTWO\n"


@pytest.mark.parametrize(("holds", "before"), [("requests", "one\ntwo\n"), ("answers", "one\nTWO\n")])
async def test_requests_or_answers_wait_until_they_are_released(tmp_path: Path, holds: Any, before: str) -> None:
    desk = Desk(tmp_path, Temperament(holds=holds, tells_edit="before_reply"))
    asked = asyncio.ensure_future(desk.request(0))
    await anyio.wait_all_tasks_blocked()
    assert (desk.client.held, asked.done(), desk.text) == (1, False, before)
    assert desk.client.release()
    assert (await asked).applied
    assert desk.text == "one\nTWO\n"
    assert not desk.client.release()


@pytest.mark.parametrize(
    "temperament",
    [
        Temperament(answer="never"),
        Temperament(asks_user=True),
        Temperament(holds="requests"),
        Temperament(holds="answers"),
    ],
    ids=["never", "prompt", "request", "answer"],
)
async def test_whatever_waits_fails_when_the_connection_ends(tmp_path: Path, temperament: Temperament) -> None:
    desk = Desk(tmp_path, temperament)
    asked = asyncio.ensure_future(desk.request(0))
    await anyio.wait_all_tasks_blocked()
    assert not asked.done()
    desk.client.disconnect()
    with pytest.raises(EditorLostError):
        await asked
    with pytest.raises(EditorLostError):
        await desk.request(0)


# --- all of them -----------------------------------------------------------------------------------------------------


def test_every_named_temperament_says_what_it_stands_for_and_is_no_other() -> None:
    for named in (TEMPERAMENTS, RICH_TEMPERAMENTS):
        assert all(temperament.stands_for.endswith(".") for temperament in named.values())
        assert len(set(named.values())) == len(named)


@pytest.mark.contract("E7")
@pytest.mark.parametrize("temperament", TEMPERAMENTS.values(), ids=TEMPERAMENTS.keys())
async def test_the_adapter_never_takes_for_done_what_is_not_there(tmp_path: Path, temperament: Temperament) -> None:
    desk = Desk(tmp_path, temperament)
    client = desk.client
    brief = EditTimeouts(reply_s=0.2, text_s=0.2, grace_s=0.05, promised_s=0.05)
    access = LspEditor(client, encoding="utf-16", timeouts=brief)
    client.connect(access)
    loop = asyncio.get_running_loop()
    client.on_handled = lambda: loop.call_soon(loop.call_soon, client.flush)
    document = access.document(desk.path)
    assert document is not None
    applying = asyncio.ensure_future(access.apply(document, [TextEdit(4, 7, "TWO")], label="Edit"))
    if temperament.asks_user:
        (await client.next_prompt()).answer(yes=True)
    outcome = await applying
    shown = desk.text
    if outcome.kind == "done":
        assert "TWO" in shown
        assert outcome.document is not None
        assert outcome.document.text == shown
    elif outcome.nothing_changed:
        assert shown == "one\ntwo\n"
    # All of them tell what they made, so that it is known whatever they answer.
    assert (outcome.kind == "done") == temperament.applies
    access.connection_lost()
