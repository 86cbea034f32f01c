"""The turn of one call, of which a session has so many: held while it works, given back while it waits for a person."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from types import TracebackType

    import anyio
    from openbuffer.tools.ports import ProgressPort


class CallTurn:
    """An async context manager that holds one of ``turns``; ``progress`` is told what the call waits for."""

    def __init__(self, turns: anyio.Semaphore, progress: ProgressPort | None = None) -> None:
        self._turns = turns
        self._progress = progress
        self._waits = 0
        self._held = False

    async def __aenter__(self) -> Self:
        """Take a turn; a free one is taken at once."""
        await self._turns.acquire()
        self._held = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self._give_back()

    @asynccontextmanager
    async def given_back(self, why: str) -> AsyncGenerator[None]:
        """Let others have it for as long as this lasts; a call that waits for several things has it after the last.

        Who leaves by an error, or is cancelled, goes on without one: its call is about to end.
        """
        if self._progress is not None:
            self._progress.report(why)
        self._waits += 1
        self._give_back()
        try:
            yield
        finally:
            self._waits -= 1
        if not self._waits and not self._held:
            await self._turns.acquire()
            self._held = True

    def _give_back(self) -> None:
        if self._held:
            self._held = False
            self._turns.release()
