"""The tasks of a session in memory, and the tasks that an event log has on record (W7)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, cast

from pydantic import TypeAdapter

from ..events import ToolFinished
from ..ports import Task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..events import Event

_CHANGING: Final = frozenset({"TaskCreate", "TaskUpdate"})


class InMemoryTaskStore:
    """Implements ``TaskStore``; from any thread. ``tasks`` are those to begin with."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._by_id = {task.id: task for task in tasks}
        self._one_at_a_time = threading.Lock()

    def tasks(self) -> tuple[Task, ...]:
        """Every task, in the order in which they are listed."""
        with self._one_at_a_time:
            kept = list(self._by_id.values())
        return tuple(sorted(kept, key=lambda task: (task.order, task.id)))

    def put(self, task: Task, *, instead_of: Task | None) -> bool:
        """Keep the task unless what is kept under its id is something else by now."""
        with self._one_at_a_time:
            if self._by_id.get(task.id) != instead_of:
                return False
            self._by_id[task.id] = task
            return True


def recorded_tasks(events: Iterable[Event]) -> tuple[Task, ...]:
    """The tasks of a session as its events tell them, in the order in which they are listed.

    What a log does not keep, or has redacted into something else, is not told here either.
    """
    found: dict[int, Task] = {}
    for event in events:
        if isinstance(event, ToolFinished) and event.tool in _CHANGING and event.outcome == "succeeded":
            task = _task_of(event.value)
            if task is not None:
                found[task.id] = task
    return InMemoryTaskStore(found.values()).tasks()


def _task_of(value: object) -> Task | None:
    output = cast("dict[str, object]", value).get("output") if isinstance(value, dict) else None
    try:
        return _TASK.validate_json(output, strict=True) if isinstance(output, str) else None
    except ValueError:
        return None


_TASK: Final = TypeAdapter(Task)
