"""The tasks of a session: created, changed, listed, and kept in the event log (W7)."""

from __future__ import annotations

import dataclasses
import json
import random
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools import Capability, EventLogError, ToolArgumentError, ToolResult
from openbuffer.tools.adapters.task_memory import InMemoryTaskStore, recorded_tasks
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import Event, ToolFinished
from openbuffer.tools.executor import SandboxedToolExecutor, create_tool_executor
from openbuffer.tools.host import create_task_create_tool, create_task_list_tool, create_task_update_tool
from openbuffer.tools.limits import (
    TASK_LIST_MAX_BYTES,
    TASK_NOTE_MAX_CHARS,
    TASK_NOTE_SHOWN_CHARS,
    TASK_ORDER_MAX,
    TASK_TITLE_MAX_CHARS,
    TASKS_MAX,
)
from openbuffer.tools.ports import Task
from openbuffer.tools.rules.places import RulePlaces
from openbuffer.tools.rules.policy import RulePolicy

from .log_desk import Desk

if TYPE_CHECKING:
    from pathlib import Path


class SlowLog(InMemoryEventLog):
    """Takes turns of the loop to write, so that calls get between the steps of others."""

    async def append(self, event: Event) -> None:
        for _ in range(random.randrange(4)):
            await anyio.lowlevel.checkpoint()
        await super().append(event)


class Full(InMemoryEventLog):
    async def append(self, event: Event) -> None:
        raise OSError(f"disk full before {type(event).__name__}")


class Session:
    """An executor with the task tools, and short ways to call them."""

    def __init__(self, log: Any = None, *tasks: Task) -> None:
        self.store = InMemoryTaskStore(tasks)
        self.log = InMemoryEventLog() if log is None else log
        config = ToolConfig(roots=("/w",), writes=False, commands=False, tasks=self.store)
        self.executor: SandboxedToolExecutor = create_tool_executor(config, log=self.log)

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        return await self.executor.call(name, arguments)

    async def create(self, title: str = "t", **more: Any) -> dict[str, Any]:
        return self._task(await self.call("TaskCreate", title=title, **more))

    async def update(self, task: int, **more: Any) -> dict[str, Any]:
        return self._task(await self.call("TaskUpdate", id=task, **more))

    async def list(self, **more: Any) -> str:
        result = await self.call("TaskList", **more)
        assert result.success, result.value
        return result.value["output"]

    @staticmethod
    def _task(result: ToolResult) -> dict[str, Any]:
        assert result.success, result.value
        return json.loads(result.value["output"])


@pytest.mark.contract("W7")
async def test_tasks_are_created_changed_and_listed_in_their_order() -> None:
    session = Session()
    assert await session.list() == "The session has no tasks."
    assert await session.create("Find the cause") == {
        "id": 1,
        "title": "Find the cause",
        "note": "",
        "order": 1,
        "state": "open",
    }
    await session.create("Mend it", note="With a test first.\nThen the fix.", state="active")
    await session.create("Ask for the logs", order=-5)
    assert (await session.create("Write it down"))["order"] == 3
    assert await session.update(1, state="done") == {
        "id": 1,
        "title": "Find the cause",
        "note": "",
        "order": 1,
        "state": "done",
    }
    assert (await session.list()).splitlines() == [
        "4 tasks: 2 open, 1 active, 1 done.",
        '{"id": 3, "title": "Ask for the logs", "note": "", "order": -5, "state": "open"}',
        '{"id": 1, "title": "Find the cause", "note": "", "order": 1, "state": "done"}',
        '{"id": 2, "title": "Mend it", "note": "With a test first.\\nThen the fix.", "order": 2, "state": "active"}',
        '{"id": 4, "title": "Write it down", "note": "", "order": 3, "state": "open"}',
    ]
    assert (await session.list(state="dropped")).splitlines() == ["4 tasks: 2 open, 1 active, 1 done."]
    assert [json.loads(line)["id"] for line in (await session.list(state="open")).splitlines()[1:]] == [3, 4]


@pytest.mark.contract("W7")
async def test_what_is_not_given_stays_and_what_is_given_is_changed() -> None:
    session = Session()
    task = await session.create("One", note="A note.", order=7)
    assert await session.update(1, title="Another") == {**task, "title": "Another"}
    assert await session.update(1, note="") == {**task, "title": "Another", "note": ""}
    assert await session.update(1, order=0, state="dropped", title=None) == {
        **task,
        "title": "Another",
        "note": "",
        "order": 0,
        "state": "dropped",
    }


@pytest.mark.contract("W7")
async def test_an_id_that_there_is_not_is_told_with_those_that_there_are() -> None:
    session = Session()
    for name, more in (("TaskUpdate", {"state": "done"}), ("TaskList", {})):
        result = await session.call(name, id=1, **more)
        assert not result.success
        assert result.value["error"] == "no task has the id 1; there is no task yet."
    await session.create()
    assert (await session.call("TaskList", id=9)).value["error"] == "no task has the id 9; the ids are 1."
    await session.create()
    assert (await session.call("TaskList", id=9)).value["error"] == "no task has the id 9; the ids are 1 to 2."


@pytest.mark.contract("W7", "T3")
@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("TaskCreate", {}, "missing argument title"),
        ("TaskCreate", {"title": " \n "}, "title: is blank"),
        ("TaskCreate", {"title": "x" * (TASK_TITLE_MAX_CHARS + 1)}, "title: .*longer than"),
        ("TaskCreate", {"title": "x", "note": "x" * (TASK_NOTE_MAX_CHARS + 1)}, "note: .*longer than"),
        ("TaskCreate", {"title": "x", "order": TASK_ORDER_MAX + 1}, "order: .*"),
        ("TaskCreate", {"title": "x", "order": 1.5}, "order: .*"),
        ("TaskCreate", {"title": "x", "state": "blocked"}, "state: .*"),
        ("TaskCreate", {"title": "x", "id": 7}, r"unknown argument id \(known: title, note, order, state\)"),
        ("TaskUpdate", {"id": 1}, "arguments: nothing to change is given; give title, note, order or state"),
        ("TaskUpdate", {"id": 1, "title": None}, "arguments: nothing to change is given"),
        ("TaskUpdate", {"id": 1, "title": "\t"}, "title: is blank"),
        ("TaskUpdate", {"id": 0, "state": "done"}, "id: .*"),
        ("TaskUpdate", {"id": 10**30, "state": "done"}, "id: .*"),
        ("TaskList", {"state": "all"}, "state: .*"),
    ],
)
async def test_what_does_not_fit_is_refused_and_changes_nothing(name: str, arguments: Any, why: str) -> None:
    session = Session(None, Task(id=1, title="t", note="", order=1, state="open"))
    before = session.store.tasks()
    with pytest.raises(ToolArgumentError, match=f"^{name}: {why}"):
        await session.call(name, **arguments)
    assert session.store.tasks() == before


@pytest.mark.contract("W7", "T8")
async def test_numbers_and_sizes_are_bounded_as_told() -> None:
    full = [Task(id=n, title=f"{n} " + "界" * 190, note="注" * 4_000, order=n, state="open") for n in range(1, 501)]
    assert len(full) == TASKS_MAX
    session = Session(None, *full)
    tools = {tool.name: tool.description for tool in session.executor.tools}
    assert f"at most {TASKS_MAX} tasks" in tools["TaskCreate"]
    assert f"At most {TASK_LIST_MAX_BYTES} bytes" in tools["TaskList"]
    refused = await session.call("TaskCreate", title="one too many")
    assert not refused.success
    assert "the session has 500 tasks, and 500 are the most; none was added." in refused.value["error"]
    header, *lines = (await session.list()).splitlines()
    assert header == (
        f"500 tasks: 500 open. The first {len(lines)} of 500 are listed (at most {TASK_LIST_MAX_BYTES} bytes); `state` "
        "lists fewer, `id` shows one."
    )
    assert TASK_LIST_MAX_BYTES - 2_000 < sum(len(line.encode()) + 1 for line in lines) <= TASK_LIST_MAX_BYTES
    first = json.loads(lines[0])
    assert (first["note"], first["noteCharacters"]) == ("注" * TASK_NOTE_SHOWN_CHARS, 4_000)
    assert json.loads(await session.list(id=7))["note"] == "注" * 4_000
    assert await session.list(id=7, state="done") == "Task 7 is open, not done."


@pytest.mark.contract("W7")
async def test_the_last_place_is_never_over_the_bound_and_a_title_is_one_line() -> None:
    session = Session()
    await session.create("last", order=TASK_ORDER_MAX)
    task = await session.create(" two\r\nlines\u2028and\u00a0more ")
    assert (task["order"], task["title"]) == (TASK_ORDER_MAX, "two lines and more")
    hostile = await session.call("TaskCreate", title="a\x1b[31m\u202eb", note="\x9b2J")
    assert hostile.success
    assert "\x1b" not in hostile.value["output"]
    assert hostile.value["output"].isprintable()
    assert (await session.list()).replace("\n", "").isprintable()
    assert session.store.tasks()[-1].note == "\x9b2J"


@pytest.mark.contract("W7", "T12", "E12")
@pytest.mark.parametrize("seed", range(8))
async def test_calls_at_the_same_time_lose_nothing_and_never_share_an_id(seed: int) -> None:
    random.seed(seed)
    session = Session(SlowLog())
    made: list[int] = []

    async def create(number: int) -> None:
        made.append((await session.create(f"task {number}"))["id"])

    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(create, number)
    assert sorted(made) == list(range(1, 41))
    assert sorted(task.title for task in session.store.tasks()) == sorted(f"task {number}" for number in range(40))
    async with anyio.create_task_group() as group:
        for change in ({"title": "T"}, {"note": "N"}, {"order": 99}, {"state": "active"}):
            group.start_soon(lambda change: session.update(7, **change), change)
    assert session.store.tasks()[-1] == Task(id=7, title="T", note="N", order=99, state="active")
    assert recorded_tasks(session.log) == session.store.tasks()


@pytest.mark.contract("W7")
@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["open", "done", "dropped"]), st.text(max_size=4))))
def test_the_same_calls_give_the_same_tasks_and_the_log_has_them_all(steps: list[tuple[int, str, str]]) -> None:
    async def run() -> Session:
        session = Session()
        for task, state, note in steps:
            if task == 0:
                await session.create("t", note=note, state=state)
            else:
                await session.call("TaskUpdate", id=task, state=state, note=note)
        return session

    first, second = anyio.run(run), anyio.run(run)
    assert first.store.tasks() == second.store.tasks()
    assert recorded_tasks(first.log) == first.store.tasks()


@pytest.mark.contract("W7", "X2")
async def test_the_log_on_disk_has_the_tasks_of_the_session_and_another_can_go_on_with_them(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    log = desk.log()
    session = Session(log)
    await session.create("One", note="ä 🦑")
    await session.create("Two")
    await session.update(1, state="active")
    await session.call("TaskUpdate", id=99, state="done")
    log.close()
    logged = sorted((event for call in desk.calls() for event in call.events), key=lambda event: event.sequence)
    again = Session(None, *recorded_tasks(event.event for event in logged if event.event is not None))
    assert again.store.tasks() == session.store.tasks()
    assert (await again.create())["id"] == 3


@pytest.mark.contract("W7", "X2")
async def test_what_cannot_be_recorded_is_not_done() -> None:
    session = Session(Full())
    with pytest.raises(EventLogError, match="nothing was done"):
        await session.call("TaskCreate", title="t")
    assert session.store.tasks() == ()


@pytest.mark.contract("W7")
def test_a_record_that_is_no_task_is_passed_over() -> None:
    good = {"id": 1, "title": "t", "note": "", "order": 1, "state": "open"}
    outputs: list[Any] = [
        *("", "[]", "null", "{", "[" * 100_000, json.dumps({**good, "id": "1"}), json.dumps({**good, "state": "x"})),
        *(json.dumps({key: value for key, value in good.items() if key != "note"}), 7, None),
    ]
    values: list[Any] = [{"success": True, "output": output} for output in outputs]
    values += [None, "text", [], {"success": True}]

    def finished(value: Any, *, tool: str = "TaskCreate", outcome: Any = "succeeded") -> ToolFinished:
        return ToolFinished(call_id="c", attempt=1, tool=tool, outcome=outcome, value=value)

    as_task = {"success": True, "output": json.dumps(good)}
    events = [*map(finished, values), finished(as_task, tool="Read"), finished(as_task, outcome="failed")]
    assert recorded_tasks(events) == ()
    assert recorded_tasks([*events, finished(as_task)]) == (Task(**good),)  # type: ignore[arg-type]


@pytest.mark.contract("W7", "X5", "T10")
async def test_without_a_store_there_are_no_task_tools_and_without_rules_they_run() -> None:
    session = Session()
    tools = [tool for tool in session.executor.tools if tool.name.startswith("Task")]
    assert [tool.name for tool in tools] == ["TaskCreate", "TaskUpdate", "TaskList"]
    assert {tool.capabilities for tool in tools} == {frozenset({Capability.SESSION})}
    assert all(tool.declares_invocation for tool in tools)
    without = create_tool_executor(ToolConfig(roots=("/w",)))
    assert not [tool.name for tool in without.tools if tool.name.startswith("Task")]
    config = ToolConfig(roots=("/w",), tasks=InMemoryTaskStore())
    ruled = create_tool_executor(config, policy=RulePolicy([], RulePlaces(roots=("/w",), home="/home/u")))
    assert (await ruled.call("TaskCreate", {"title": "t"})).success


@pytest.mark.contract("T8")
def test_a_description_of_ones_own_is_used_verbatim_by_each_of_the_three() -> None:
    for factory in (create_task_create_tool, create_task_update_tool, create_task_list_tool):
        assert factory(store=InMemoryTaskStore(), description=" Mine. ").description == " Mine. "


@pytest.mark.contract("W7")
def test_a_store_keeps_a_task_only_in_place_of_what_the_caller_knew() -> None:
    store = InMemoryTaskStore()
    task = Task(id=1, title="t", note="", order=1, state="open")
    done = dataclasses.replace(task, state="done")
    assert store.put(task, instead_of=None)
    assert not store.put(done, instead_of=None)
    assert store.put(done, instead_of=task)
    assert not store.put(task, instead_of=task)
    assert store.tasks() == (done,)
