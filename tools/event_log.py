"""The event log port and its in-memory form.

The executor appends an intent before a call acts and an outcome before its result is returned (X2). An append
that fails must raise: the call then does not act.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol, cast

from .limits import MEMORY_LOG_MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .events import Event

_EVENT_BASE_BYTES = 256


class EventLog(Protocol):
    """Takes events in order."""

    async def append(self, event: Event) -> None:
        """Record the event for good before returning; raise any exception when that is not possible.

        Only the intent of a call that can change nothing may be recorded later, before or with the event after it.
        """
        ...


class InMemoryEventLog:
    """Keeps the newest events of this process within a byte budget; ``dropped`` counts those it let go."""

    def __init__(self, *, max_bytes: int = MEMORY_LOG_MAX_BYTES) -> None:
        self._events: deque[tuple[int, Event]] = deque()
        self._bytes = 0
        self._max_bytes = max_bytes
        self.dropped = 0

    async def append(self, event: Event) -> None:
        """Record the event; never fails, lets the oldest go when the budget is used up."""
        size = _size_of(event)
        self._events.append((size, event))
        self._bytes += size
        while self._bytes > self._max_bytes and len(self._events) > 1:
            oldest, _ = self._events.popleft()
            self._bytes -= oldest
            self.dropped += 1

    def __iter__(self) -> Iterator[Event]:
        return iter([event for _, event in self._events])

    def __len__(self) -> int:
        return len(self._events)


def _size_of(event: Event) -> int:
    """Roughly what the event keeps alive: the text in it. Depth is bounded where arguments are validated."""
    total = _EVENT_BASE_BYTES
    for name in ("arguments", "value", "error", "reason", "rules"):
        total += _text_bytes(getattr(event, name, None))
    for target in getattr(event, "targets", ()):
        total += sum(_text_bytes(getattr(target, name)) for name in target.__slots__)
    change = getattr(event, "change", None)
    if change is not None:
        total += sum(len(hunk.before) + len(hunk.after) for hunk in change.hunks)
    return total


def _text_bytes(value: object) -> int:
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, dict):
        entries = cast("Mapping[Any, object]", value)
        return sum(_text_bytes(key) + _text_bytes(child) for key, child in entries.items())
    if isinstance(value, (list, tuple)):
        return sum(_text_bytes(child) for child in cast("Sequence[object]", value))
    return 8
