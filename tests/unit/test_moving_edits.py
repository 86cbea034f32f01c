"""An Edit of a document that somebody types into lands where its lines are by then; a Write starts over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access import EditOutcome
from openbuffer.editor_access.errors import DocumentMovedError
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import FunctionTool, InvocationResult, Plan, PlanOutdatedError, ToolContext
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import ToolFinished, ToolIntended
from openbuffer.tools.executor import DispatchingToolExecutor, SandboxedToolExecutor
from openbuffer.tools.host import create_edit_tool, create_write_tool
from openbuffer.tools.permissions import AllowAll
from openbuffer.tools.registry import DefaultToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openbuffer.editor_access import Document, TextEdit
    from openbuffer.tools.events import Event

pytestmark = pytest.mark.contract("T12", "E7")

LINES = [f"line {number}: {'abcdefghij'[number]}\n" for number in range(10)]
EDIT = {"filePath": "f.txt", "oldString": "line 5: f", "newString": "changed"}
NOTHING_DONE = EditOutcome(kind="not_done", reason="stale", nothing_changed=True)


class BusyAccess(MemoryEditorAccess):
    """Somebody acts each time when an edit is about to be applied; then it is applied, or answered as scripted."""

    def __init__(self, editor: MemoryEditor) -> None:
        super().__init__(editor)
        self.acts: list[Callable[[], None]] = []
        self.answers: list[EditOutcome] = []
        self.tried = 0

    async def apply(self, document: Document, edits: Sequence[TextEdit], *, label: str) -> EditOutcome:
        self.tried += 1
        if self.acts:
            self.acts.pop(0)()
        if self.answers:
            return self.answers.pop(0)
        return await super().apply(document, edits, label=label)


class Desk:
    def __init__(self, root: Path) -> None:
        self.file = root / "f.txt"
        self.file.write_text("".join(LINES))
        self.editor = MemoryEditor()
        self.path = str(self.file)
        self.editor.open(self.path)
        self.access = BusyAccess(self.editor)
        self.edit = create_edit_tool(cwd=root, editor=lambda: self.access)
        self.write = create_write_tool(cwd=root, editor=lambda: self.access)

    @property
    def text(self) -> str:
        return self.editor.buffer(self.path).text

    def type(self, before: str, typed: str) -> None:
        self.editor.type(self.path, self.text.index(before), typed)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(Path(os.path.realpath(tmp_path)))


async def prepared(tool: FunctionTool, arguments: dict[str, Any]) -> Plan:
    return await tool.prepare(tool.validate(arguments), ToolContext())


async def committed(tool: FunctionTool, plan: Plan) -> InvocationResult:
    try:
        result = await tool.commit(plan, ToolContext())
    finally:
        plan.close()
    assert result.invocation is not None
    return result.invocation


async def test_what_was_typed_elsewhere_stays_and_the_edit_tells_the_line_where_it_is_now(desk: Desk) -> None:
    plan = await prepared(desk.edit, EDIT)
    desk.type("line 1", "one more\nand another\n")
    desk.type(": i", " typed")
    result = await committed(desk.edit, plan)
    assert result.success
    assert (result.start_line, desk.access.tried) == (8, 1)
    assert "in line 8" in result.output
    expected = "".join(LINES).replace("line 1", "one more\nand another\nline 1").replace(": i", " typed: i")
    assert desk.text == expected.replace("line 5: f", "changed")


@pytest.mark.contract("X2", "X7")
@pytest.mark.parametrize("late", [False, True])
async def test_the_record_tells_the_version_that_an_edit_was_made_on_where_it_moved_along(
    desk: Desk, late: bool
) -> None:
    def typed() -> None:
        desk.type("line 1", "one more\n")
        made_on.append(desk.editor.buffer(desk.path).version)

    class Log(InMemoryEventLog):
        async def append(self, event: Event) -> None:
            await super().append(event)
            if isinstance(event, ToolIntended) and not late and not made_on:
                typed()

    made_on: list[int] = []
    desk.access.acts = [typed] if late else []
    log = Log()
    registry = DefaultToolRegistry([desk.edit])
    executor = SandboxedToolExecutor(DispatchingToolExecutor(registry), policy=AllowAll(), log=log)
    for arguments in (EDIT, {**EDIT, "oldString": "line 7", "newString": "line VII"}):
        assert (await executor.call("Edit", arguments)).success
    ends = [(event.outcome, event.made_on) for event in log if isinstance(event, ToolFinished)]
    assert ends == [("succeeded", made_on[0]), ("succeeded", None)]


@pytest.mark.parametrize("before", ["line 5", ": f", "\nline 6"])
async def test_an_edit_whose_line_was_typed_into_starts_over(desk: Desk, before: str) -> None:
    plan = await prepared(desk.edit, EDIT)
    desk.type(before, "x")
    typed = desk.text
    with pytest.raises(PlanOutdatedError, match="was changed in the editor"):
        await committed(desk.edit, plan)
    assert (desk.text, desk.access.tried) == (typed, 0)


async def test_a_write_starts_over_whatever_was_typed(desk: Desk) -> None:
    plan = await prepared(desk.write, {"filePath": "f.txt", "content": "all new\n"})
    desk.type("line 1", "x")
    typed = desk.text
    with pytest.raises(PlanOutdatedError, match="was changed in the editor"):
        await committed(desk.write, plan)
    assert (desk.text, desk.access.tried) == (typed, 0)


async def test_each_place_of_a_replace_all_is_told_by_the_line_where_it_is_now(desk: Desk) -> None:
    desk.type("line 2", "here is old text\n")
    desk.type("line 7", "and here is old text, too\n")
    many = {"filePath": "f.txt", "oldString": "old text", "newString": "new text", "replaceAll": True}
    plan = await prepared(desk.edit, many)
    desk.type("line 1", "one\n")
    desk.type("line 5", "longer\nthan that\n")
    result = await committed(desk.edit, plan)
    assert result.success
    assert [number for number, line in enumerate(desk.text.splitlines(), 1) if "new text" in line] == [4, 12]
    assert result.start_line == 4
    assert "lines 4 and 12" in result.output


async def test_a_replace_all_of_which_one_place_was_typed_into_starts_over_as_a_whole(desk: Desk) -> None:
    desk.type("line 2", "here is old text\n")
    desk.type("line 7", "and here is old text, too\n")
    many = {"filePath": "f.txt", "oldString": "old text", "newString": "new text", "replaceAll": True}
    plan = await prepared(desk.edit, many)
    desk.type(", too", " indeed")
    with pytest.raises(PlanOutdatedError, match="was changed in the editor"):
        await committed(desk.edit, plan)


async def test_somebody_who_is_quicker_four_times_does_not_hold_up_the_edit(desk: Desk) -> None:
    desk.access.acts = [lambda: desk.type(": b", "x")] * 4
    result = await committed(desk.edit, await prepared(desk.edit, EDIT))
    assert result.success
    assert desk.access.tried == 5
    assert desk.text == "".join(LINES).replace(": b", "xxxx: b").replace("line 5: f", "changed")


async def test_somebody_who_is_always_quicker_makes_the_call_start_over(desk: Desk) -> None:
    desk.access.acts = [lambda: desk.type(": b", "x")] * 9
    with pytest.raises(PlanOutdatedError, match="was changed"):
        await committed(desk.edit, await prepared(desk.edit, EDIT))
    assert desk.access.tried == 5
    assert "changed" not in desk.text


async def test_an_edit_that_the_editor_refused_as_stale_is_sent_again_for_the_newer_text(desk: Desk) -> None:
    desk.access.acts = [lambda: desk.type(": b", "x")]
    desk.access.answers = [NOTHING_DONE]
    result = await committed(desk.edit, await prepared(desk.edit, EDIT))
    assert result.success
    assert desk.access.tried == 2
    assert desk.text.count("changed") == 1


@pytest.mark.parametrize(
    ("outcome", "typed"),
    [
        (NOTHING_DONE, False),
        (EditOutcome(kind="not_done", reason="hm"), True),
        (EditOutcome(kind="unknown", reason="hm"), True),
    ],
)
async def test_an_edit_that_may_have_been_made_or_was_refused_for_another_reason_is_not_sent_again(
    desk: Desk, outcome: EditOutcome, typed: bool
) -> None:
    desk.access.acts = [lambda: desk.type(": b", "x")] if typed else []
    desk.access.answers = [outcome]
    result = await committed(desk.edit, await prepared(desk.edit, EDIT))
    assert not result.success
    assert desk.access.tried == 1


async def test_a_file_that_changes_between_two_attempts_is_seen(desk: Desk) -> None:
    def act() -> None:
        desk.type(": b", "x")
        desk.file.write_text("of somebody else\n")

    desk.access.acts = [act]
    with pytest.raises(PlanOutdatedError, match="was changed or saved"):
        await committed(desk.edit, await prepared(desk.edit, EDIT))
    assert desk.access.tried == 1


async def test_a_document_that_closes_between_two_attempts_makes_the_call_start_over(desk: Desk) -> None:
    def act() -> None:
        desk.editor.close(desk.path)
        raise DocumentMovedError("closed")

    desk.access.acts = [act]
    with pytest.raises(PlanOutdatedError, match="was closed in the editor"):
        await committed(desk.edit, await prepared(desk.edit, EDIT))
    assert desk.access.tried == 1
