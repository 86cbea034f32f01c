"""Making a change in a sandbox: one at a time, after a last look, with an outcome that is known or said not to be.

The client has no lock and no transaction, and only it knows which paths lead to one file. So the changes of this
process go through a client one after the other, whatever their paths are. What a command changes in the sandbox
between the last look and the writing is not noticed.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
from anyio.lowlevel import RunVar
from openbuffer.sandbox.errors import (
    OperationAbsentError,
    SandboxError,
    SandboxFileNotFoundError,
    SandboxFileTooLargeError,
    SandboxIsDirectoryError,
    SandboxNotDirectoryError,
    SandboxNotEmptyError,
    SandboxNotTextError,
    SandboxPathError,
    SandboxPermissionError,
)

from ..errors import ToolFailure
from ..limits import SANDBOX_CANCEL_GRACE_S, SANDBOX_TURN_TIMEOUT_S
from ..turns import Turns
from .sandbox_files import is_unavailable, unavailable
from .text_place import in_its_words, refuse_cancelled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from openbuffer.sandbox.port import SandboxClient

    from ..contract import CancellationToken

_turns: Final[RunVar[Turns]] = RunVar("openbuffer.tools.sandbox_changes")


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxChange:
    """A change of the file that messages call ``shown``.

    ``look`` compares with the before-state, and raises where it no longer holds. ``send`` asks the client for the
    change, right after it: nothing else runs between the two, no restore of the sandbox either.
    """

    client: SandboxClient
    shown: str
    look: Callable[[], Awaitable[None]]
    send: Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Progress:
    sent: bool = False
    done: bool = False
    failure: Exception | None = None


async def make_change(change: SandboxChange, token: CancellationToken) -> None:
    """Make it. A cancelled call waits for a short time for what became of a change that was sent.

    Raises:
        PlanOutdatedError: the before-state does not hold; nothing was changed.
        ToolFailure: it was not made, or nobody knows; the text says which.
        ToolCancelledError: cancelled through its token before anything was sent.
    """
    progress = _Progress()
    scope = anyio.CancelScope(shield=True)
    ended = anyio.Event()

    async def work() -> None:
        try:
            with scope:
                await _make(change, token, progress)
        except Exception as error:  # noqa: BLE001  it is raised below, not in a group
            progress.failure = error
        finally:
            ended.set()

    try:
        # In a task of its own, for no shield protects from asyncio's own ways to cancel.
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            try:
                await ended.wait()
            except anyio.get_cancelled_exc_class():
                token.cancel()
                if progress.sent:
                    scope.deadline = anyio.current_time() + SANDBOX_CANCEL_GRACE_S
                else:
                    scope.cancel()
                raise
    except anyio.get_cancelled_exc_class() as cancelled:
        if note := _note(change.shown, progress):
            cancelled.add_note(note)
        raise
    if progress.failure is not None:
        raise _told(change.shown, progress)
    if not progress.done:
        raise ToolFailure(_unknown(change.shown, "its client was cancelled by itself"))


@asynccontextmanager
async def turn_at(client: SandboxClient, shown: str) -> AsyncGenerator[None]:
    """While nothing of this process changes a file of the client's, which may be seen half written.

    Raises:
        ToolFailure: the changes of others take too long.
    """
    turns = _turns.get(None)
    if turns is None:
        turns = Turns()
        _turns.set(turns)
    async with AsyncExitStack() as stack:
        with anyio.move_on_after(SANDBOX_TURN_TIMEOUT_S) as waiting:
            # The client lives as long as a call that uses it, so its number is nobody else's.
            await stack.enter_async_context(turns.of((str(id(client)),)))
        if waiting.cancelled_caught:
            raise ToolFailure(
                f"{shown}: other changes in the sandbox have taken longer than {SANDBOX_TURN_TIMEOUT_S:g} s; "
                "nothing was changed. Try again later."
            )
        yield


async def _make(change: SandboxChange, token: CancellationToken, progress: _Progress) -> None:
    async with turn_at(change.client, change.shown):
        refuse_cancelled(change.shown, token)
        await change.look()
        refuse_cancelled(change.shown, token)
        progress.sent = True
        await change.send()
        progress.done = True


def _told(shown: str, progress: _Progress) -> Exception:
    error = progress.failure
    assert error is not None
    if not isinstance(error, SandboxError):
        return error
    failure = _not_made(shown, error) if progress.sent else unavailable(shown, error)
    failure.__cause__ = error
    return failure


def _note(shown: str, progress: _Progress) -> str:
    """What a cancelled call has to say of its change; nothing where it was made."""
    if progress.done:
        return ""
    if not progress.sent:
        return f"{shown}: nothing was changed"
    if progress.failure is not None:
        return str(_told(shown, progress))
    return _unknown(shown, f"the call was cancelled, and there was no answer for another {SANDBOX_CANCEL_GRACE_S:g} s")


def _not_made(shown: str, error: SandboxError) -> ToolFailure:
    why = in_its_words(str(error)).rstrip(".")
    if is_unavailable(error):
        return unavailable(shown, error)
    if isinstance(error, SandboxNotEmptyError):
        return ToolFailure(
            f"{shown}: is a directory that is not empty, and only an empty one is deleted. Nothing was deleted. Delete "
            "what is in it first, one by one."
        )
    if isinstance(error, _REFUSALS):
        return ToolFailure(f"{shown}: the sandbox refused the change ({why}); this file was not changed.")
    return ToolFailure(_unknown(shown, why))


_REFUSALS: Final = (
    OperationAbsentError,
    SandboxFileNotFoundError,
    SandboxFileTooLargeError,
    SandboxIsDirectoryError,
    SandboxNotDirectoryError,
    SandboxNotTextError,
    SandboxPathError,
    SandboxPermissionError,
)
"""Reasons that are found before a byte is written. Every other one may come in the middle, a full disk for example."""


def _unknown(shown: str, why: str) -> str:
    return (
        f"{shown}: the outcome is unknown: the change was sent to the sandbox, and whether it was made is not known "
        f"({why}). Read the file before you try again."
    )
