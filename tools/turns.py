"""Turns: calls that got in each other's way go on one after the other, so that all of them get through (E12)."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable


@dataclass(slots=True)
class _Turn:
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    users: int = 0


class Turns:
    """First come, first served, per name; remembers only names that somebody holds or waits for."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}

    @asynccontextmanager
    async def of(self, names: Iterable[str]) -> AsyncGenerator[AsyncExitStack]:
        """Hold the turns of all these names; they are taken in one order, so that nobody waits in a circle.

        Who is given the stack can let go of them sooner, by closing it.
        """
        async with AsyncExitStack() as stack:
            for name in sorted(set(names)):
                await stack.enter_async_context(self._one(name))
            yield stack

    @asynccontextmanager
    async def _one(self, name: str) -> AsyncGenerator[None]:
        turn = self._turns.setdefault(name, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[name]
