"""Whose answers count while workers of a sandbox are replaced (S5): one worker at a time, and none during a restore.

A worker is leased for each call. When a restore begins the lease ends: calls that still wait are told so at once, and
what the worker answers afterwards reaches nobody. Only a restore that succeeds, and that no later one has superseded,
gives a new lease. All of it is used from one event loop: between two awaits nothing else runs, so there is no lock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar

import anyio
import anyio.lowlevel

from .errors import RestoreError, SandboxError, WorkerWithdrawnError, in_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

W = TypeVar("W")
T = TypeVar("T")

AuthorityState: TypeAlias = Literal["open", "restoring", "restore_failed"]


@dataclass(eq=False)
class _Lease(Generic[W]):
    """The authority of one worker, and who waits for its answers."""

    worker: W
    waiting: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])


class _Outcome(Generic[T]):
    """What became of one call of a provider's."""

    def __init__(self) -> None:
        self.answers: list[T] = []
        self.failure: Exception | None = None

    async def come(self, call: Callable[[], Awaitable[T]]) -> None:
        """Call it in a task of its own: a cancellation of its own making is not taken for one of the caller's there."""

        async def work() -> None:
            try:
                self.answers.append(await call())
            except Exception as error:  # noqa: BLE001  it is raised below, unless it is nobody's any more
                self.failure = error

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)

    def answer(self) -> T:
        """What it answered; raises what it raised."""
        if self.failure is not None:
            raise self.failure
        if not self.answers:
            raise SandboxError(
                "the sandbox's provider cancelled the call by itself; what was asked for may have been done or not"
            )
        return self.answers[0]


class Authority(Generic[W]):
    """Leads calls to the worker that is in use. ``last_worker`` is that one, or the one that was in use last."""

    def __init__(self, worker: W) -> None:
        self.last_worker = worker
        self._lease: _Lease[W] | None = _Lease(worker)
        self._attempt: anyio.CancelScope | None = None

    @property
    def state(self) -> AuthorityState:
        """Whether the worker may be asked, and if not, why."""
        if self._lease is not None:
            return "open"
        return "restore_failed" if self._attempt is None else "restoring"

    async def ask(self, call: Callable[[W], Awaitable[T]]) -> T:
        """What the worker answers, or raises, if it is still the one in use by then.

        Raises:
            WorkerWithdrawnError: it may not be asked now, or was replaced meanwhile.
        """
        lease = self._lease
        if lease is None:
            raise _withdrawn(self.state)
        outcome: _Outcome[T] = _Outcome()
        with anyio.CancelScope() as scope:
            lease.waiting.add(scope)
            try:
                await outcome.come(lambda: call(lease.worker))
            finally:
                lease.waiting.discard(scope)
        # A provider that turned a cancellation into an error or an answer of its own does not undo it.
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self._lease is not lease:
            raise _late() from outcome.failure
        return outcome.answer()

    async def replace(self, make: Callable[[], Awaitable[W]], *, timeout_s: float) -> None:
        """Withdraw the worker at once, and lease out the one that ``make`` gives. A later call supersedes this one.

        Raises:
            RestoreError: there is no new worker; unless it was superseded, nothing is leased until one is made.
        """
        attempt = anyio.CancelScope(deadline=anyio.current_time() + timeout_s)
        self._withdraw(attempt)
        outcome: _Outcome[W] = _Outcome()
        try:
            with attempt:
                await outcome.come(make)
            # What came although this call was cancelled opens nothing: nobody would know that it is open.
            await anyio.lowlevel.checkpoint_if_cancelled()
            if self._attempt is not attempt:
                raise _superseded() from outcome.failure
            if not outcome.answers and attempt.cancelled_caught and outcome.failure is None:
                raise _too_slow(timeout_s)
            try:
                made = outcome.answer()
            except Exception as failure:
                raise _failed(failure) from failure
            self.last_worker = made
            self._lease = _Lease(made)
        finally:
            if self._attempt is attempt:
                self._attempt = None

    def _withdraw(self, attempt: anyio.CancelScope) -> None:
        superseded, self._attempt = self._attempt, attempt
        lease, self._lease = self._lease, None
        if superseded is not None:
            superseded.cancel()
        for scope in tuple(lease.waiting) if lease is not None else ():
            scope.cancel()


def _superseded() -> RestoreError:
    return RestoreError(
        "a later restore began before this one had ended; what it would have given is not used", reason="superseded"
    )


def _too_slow(timeout_s: float) -> RestoreError:
    return RestoreError(f"the restore took longer than {timeout_s:g} s; {_CLOSED}", reason="timeout")


def _failed(failure: Exception) -> RestoreError:
    if isinstance(failure, RestoreError):
        return failure
    return RestoreError(f"the restore failed ({in_words(failure)}); {_CLOSED}", reason="failed")


def _withdrawn(state: AuthorityState) -> WorkerWithdrawnError:
    if state == "restoring":
        return WorkerWithdrawnError(
            "the sandbox is being restored, and nothing was asked of it; try again when that has succeeded",
            reason="restoring",
        )
    return WorkerWithdrawnError(
        "the last restore of the sandbox failed, and nothing was asked of it; restore it anew", reason="restore_failed"
    )


def _late() -> WorkerWithdrawnError:
    return WorkerWithdrawnError(
        "a restore took the sandbox away before it had answered, and a later answer does not count. What it was asked "
        "to do may have been done in the state that is not in use any more; look at the state that is before doing it "
        "again",
        reason="late",
    )


_CLOSED: Final = "the sandbox stays closed until a restore succeeds"
