"""TaskCreate, TaskUpdate and TaskList: the tasks that a session keeps for itself (W7).

Each call that changes one answers with the whole task, so that the event log has what became of it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import PlanOutdatedError, ToolFailure
from ..limits import (
    TASK_LIST_MAX_BYTES,
    TASK_NOTE_MAX_CHARS,
    TASK_NOTE_SHOWN_CHARS,
    TASK_ORDER_MAX,
    TASK_TITLE_MAX_CHARS,
    TASKS_MAX,
)
from ..ports import Task, TaskState
from ..support.json_line import json_line
from ..support.left_out import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from ..ports import TaskStore

_OF_THE_SESSION: Final = frozenset({Capability.SESSION})
_ID_MAX: Final = 2**31 - 1
_ORDER: Final = "Its place: tasks are listed by ascending order, those of one order by id."


class TaskCreateInput(BaseModel):
    """Arguments of TaskCreate."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=TASK_TITLE_MAX_CHARS, description="What is to be done, on one line.")
    note: str = Field("", max_length=TASK_NOTE_MAX_CHARS, description="Anything further about it.")
    order: int | None = Field(
        None, ge=-TASK_ORDER_MAX, le=TASK_ORDER_MAX, description=f"{_ORDER} After all others if left out."
    )
    state: TaskState = Field("open", description="The state that it starts in.")

    @field_validator("title")
    @classmethod
    def _on_one_line(cls, title: str) -> str:
        return _one_line(title)


class TaskUpdateInput(BaseModel):
    """Arguments of TaskUpdate."""

    model_config = ConfigDict(extra="forbid")

    id: int = Field(ge=1, le=_ID_MAX, description="The id of the task.")
    title: str | None = Field(
        None, min_length=1, max_length=TASK_TITLE_MAX_CHARS, description="Another title, on one line."
    )
    note: str | None = Field(
        None, max_length=TASK_NOTE_MAX_CHARS, description="Another note, which takes the place of the one before."
    )
    order: int | None = Field(None, ge=-TASK_ORDER_MAX, le=TASK_ORDER_MAX, description=_ORDER)
    state: TaskState | None = Field(None, description="Another state; any can follow any.")

    @field_validator("title")
    @classmethod
    def _on_one_line(cls, title: str | None) -> str | None:
        return None if title is None else _one_line(title)

    @model_validator(mode="after")
    def _refuse_no_change(self) -> Self:
        if not self.changes():
            raise ValueError("nothing to change is given; give title, note, order or state")
        return self

    def changes(self) -> dict[str, Any]:
        """What is given besides the id."""
        return self.model_dump(exclude={"id"}, exclude_none=True)


class TaskListInput(BaseModel):
    """Arguments of TaskList."""

    model_config = ConfigDict(extra="forbid")

    state: TaskState | None = Field(None, description="List tasks in this state alone.")
    id: int | None = Field(None, ge=1, le=_ID_MAX, description="Show this task alone, with its whole note.")


def create_task_create_tool(*, store: TaskStore, description: str | None = None) -> FunctionTool:
    """Build the TaskCreate tool over the tasks of a session."""

    async def prepare(parsed: TaskCreateInput, _context: ToolContext) -> Plan:
        tasks = store.tasks()
        if len(tasks) >= TASKS_MAX:
            raise ToolFailure(
                f"the session has {len(tasks)} tasks, and {TASKS_MAX} are the most; none was added. Change one that is "
                "done or dropped instead."
            )
        last = max((task.order for task in tasks), default=0)
        task = Task(
            id=max((task.id for task in tasks), default=0) + 1,
            title=parsed.title,
            note=parsed.note,
            order=min(last + 1, TASK_ORDER_MAX) if parsed.order is None else parsed.order,
            state=parsed.state,
        )
        return Plan(state=_Put(store, task, None))

    return create_builtin_tool(
        name="TaskCreate",
        description=description if description is not None else _ABOUT_CREATE,
        model=TaskCreateInput,
        prepare=prepare,
        commit=_commit_put,
        capabilities=_OF_THE_SESSION,
    )


def create_task_update_tool(*, store: TaskStore, description: str | None = None) -> FunctionTool:
    """Build the TaskUpdate tool over the tasks of a session."""

    async def prepare(parsed: TaskUpdateInput, _context: ToolContext) -> Plan:
        before = _task(store.tasks(), parsed.id)
        task = dataclasses.replace(before, **parsed.changes())
        return Plan(state=_Put(store, task, before))

    return create_builtin_tool(
        name="TaskUpdate",
        description=description if description is not None else _ABOUT_UPDATE,
        model=TaskUpdateInput,
        prepare=prepare,
        commit=_commit_put,
        capabilities=_OF_THE_SESSION,
    )


def create_task_list_tool(*, store: TaskStore, description: str | None = None) -> FunctionTool:
    """Build the TaskList tool over the tasks of a session."""

    async def prepare(parsed: TaskListInput, _context: ToolContext) -> Plan:
        return Plan(state=parsed)

    async def commit(plan: Plan, _context: ToolContext) -> InvocationResult:
        return InvocationResult(success=True, output=_told(store.tasks(), plan.state))

    return create_builtin_tool(
        name="TaskList",
        description=description if description is not None else _ABOUT_LIST,
        model=TaskListInput,
        prepare=prepare,
        commit=commit,
        capabilities=_OF_THE_SESSION,
    )


_ABOUT_CREATE: Final = (
    "Adds a task to the list that this session keeps, and returns it as JSON: id, title, note, order, state. Ids count "
    "from 1, and no two tasks have the same. Line breaks in the title become spaces. A session has at most "
    f"{TASKS_MAX} tasks, and none is removed."
)
_ABOUT_UPDATE: Final = (
    "Changes what is given of one task of this session and leaves the rest of it as it is; returns the whole task as "
    "JSON: id, title, note, order, state. Line breaks in the title become spaces. An id that no task has fails the "
    "call."
)
_ABOUT_LIST: Final = (
    "Lists the tasks of this session, by ascending order and then by id: a line with how many there are in each state, "
    f"then one line of JSON for each. Of a note over {TASK_NOTE_SHOWN_CHARS} characters the beginning is shown, and "
    f"how long it is. At most {TASK_LIST_MAX_BYTES} bytes of tasks are listed; how many are not is told."
)


# --- changing ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class _Put:
    """What a plan holds: a task as it is to be, and as it is now."""

    store: TaskStore
    task: Task
    before: Task | None


async def _commit_put(plan: Plan, _context: ToolContext) -> InvocationResult:
    put: _Put = plan.state
    if not put.store.put(put.task, instead_of=put.before):
        raise PlanOutdatedError(f"task {put.task.id} was changed by another call at the same time.")
    return InvocationResult(success=True, output=_json(put.task))


def _task(tasks: Sequence[Task], wanted: int) -> Task:
    for task in tasks:
        if task.id == wanted:
            return task
    there = f"the ids are {_ids_of(tasks)}" if tasks else "there is no task yet"
    raise ToolFailure(f"no task has the id {wanted}; {there}.")


def _ids_of(tasks: Sequence[Task]) -> str:
    ids = sorted(task.id for task in tasks)
    return str(ids[0]) if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"


def _one_line(title: str) -> str:
    title = " ".join(title.split())
    if not title:
        raise ValueError("is blank")
    return title


# --- listing -------------------------------------------------------------------------------------------------------


def _told(tasks: Sequence[Task], asked: TaskListInput) -> str:
    if asked.id is not None:
        tasks = [_task(tasks, asked.id)]
        if asked.state is not None and tasks[0].state != asked.state:
            return f"Task {asked.id} is {tasks[0].state}, not {asked.state}."
        return _json(tasks[0])
    states = Counter(task.state for task in tasks)
    each = ", ".join(f"{states[state]} {state}" for state in get_args(TaskState) if states[state])
    header = f"{counted(len(tasks), 'task', 'tasks')}: {each}." if tasks else "The session has no tasks."
    wanted = [task for task in tasks if asked.state in {None, task.state}]
    lines = _lines(wanted)
    if len(lines) < len(wanted):
        header += (
            f" The first {len(lines)} of {len(wanted)} are listed (at most {TASK_LIST_MAX_BYTES} bytes); `state` lists "
            "fewer, `id` shows one."
        )
    return "\n".join([header, *lines])


def _lines(tasks: Sequence[Task]) -> list[str]:
    lines: list[str] = []
    left = TASK_LIST_MAX_BYTES
    for task in tasks:
        shown = dataclasses.replace(task, note=task.note[:TASK_NOTE_SHOWN_CHARS])
        cut = {"noteCharacters": len(task.note)} if shown.note != task.note else {}
        line = _json(shown, **cut)
        left -= len(line.encode()) + 1
        if left < 0:
            break
        lines.append(line)
    return lines


def _json(task: Task, **more: int) -> str:
    return json_line({**dataclasses.asdict(task), **more})
