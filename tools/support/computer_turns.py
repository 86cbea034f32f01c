"""Who has the computer: one action after the other, or a person (W6). What the drivers that ship have in common."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, TypeVar

import anyio

from ..computer import ComputerFailure, TakenOverError, Takeover
from ..limits import COMPUTER_HAPPENED_MAX, COMPUTER_HAPPENED_MAX_CHARS
from .located import printable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


class ComputerTurns:
    """Runs what a driver does, and stops it when a person takes over or when what is driven is gone."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._scope: anyio.CancelScope | None = None
        self._stopped_by: ComputerFailure | None = None
        self._takeover: Takeover | None = None
        self._handed_back = 0

    @property
    def takeover(self) -> Takeover | None:
        """Who has the computer; None where it is driven."""
        return self._takeover

    @property
    def handed_back(self) -> int:
        """How often a person has had it and handed it back."""
        return self._handed_back

    async def run(self, work: Callable[[], Awaitable[T]], *, is_picture: bool = False) -> T:
        """Do the work when it is its turn.

        What was done by the time that a person took over is done; a picture is not handed out then (``is_picture``).

        Raises:
            TakenOverError: a person has the computer, or took it meanwhile.
            ComputerFailure: whatever it was stopped by.
        """
        async with self._lock:
            self._refuse_taken_over()
            done: list[T] = []
            self._stopped_by = None
            with anyio.CancelScope() as scope:
                self._scope = scope
                try:
                    done.append(await work())
                finally:
                    self._scope = None
            if self._stopped_by is not None and not done:
                raise self._stopped_by
            if is_picture:
                self._refuse_taken_over()
            return done[0]

    def stop(self, failure: ComputerFailure) -> None:
        """Stop what is under way, if anything is; it fails with this."""
        if self._scope is not None:
            self._stopped_by = failure
            self._scope.cancel()

    async def begin_takeover(self, reason: str) -> None:
        """Give the computer to a person; returns once what was under way has stopped."""
        if self._takeover is not None:
            raise TakenOverError(f"A person has the computer already: {printable(self._takeover.reason)}.")
        self._takeover = Takeover(reason)
        self.stop(TakenOverError(f"{_TAKEN_MEANWHILE} ({printable(reason)})."))
        async with self._lock:
            pass

    def end_takeover(self) -> None:
        """They have handed it back; nothing where nobody has it."""
        if self._takeover is not None:
            self._takeover = None
            self._handed_back += 1

    def _refuse_taken_over(self) -> None:
        if self._takeover is not None:
            raise TakenOverError(f"A person has the computer ({printable(self._takeover.reason)}); nothing was done.")


_TAKEN_MEANWHILE: Final = (
    "A person took the computer while this was under way; it was stopped part way, and a part of it may have been done"
)


class Happened:
    """Sentences on what happened by itself, bounded in number and length; the newest are kept."""

    def __init__(self) -> None:
        self._kept: deque[str] = deque(maxlen=COMPUTER_HAPPENED_MAX)
        self._count = 0

    def tell(self, before: str, quoted: str = "", after: str = "") -> None:
        """Keep a sentence. ``quoted`` is text of others, of whatever length and content."""
        shown = printable(quoted[:COMPUTER_HAPPENED_MAX_CHARS])
        if len(quoted) > COMPUTER_HAPPENED_MAX_CHARS:
            shown += f"… ({len(quoted)} characters)"
        self._kept.append(f"{before}{shown}{after}")
        self._count += 1

    def take(self) -> tuple[str, ...]:
        """All of them, once."""
        kept, more = tuple(self._kept), self._count - len(self._kept)
        self._kept.clear()
        self._count = 0
        return (f"{more} more things happened before what follows.", *kept) if more else kept
