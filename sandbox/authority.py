"""Whose answers count while workers of a sandbox are replaced (S5): one worker at a time, and none during a restore.

A worker is leased for each call. When a restore begins the lease ends: calls that still wait are told so at once, and
what the worker answers afterwards reaches nobody. Only a restore that succeeds, and that no later one has superseded,
gives a new lease. All of it is used from one event loop: between two awaits nothing else runs, so there is no lock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

import anyio
import anyio.lowlevel

from .errors import RestoreError, WorkerWithdrawnError

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
        answers: list[T] = []
        failure: Exception | None = None
        with anyio.CancelScope() as scope:
            lease.waiting.add(scope)
            try:
                answers.append(await call(lease.worker))
            except Exception as error:  # noqa: BLE001  it is raised below, unless it is nobody's any more
                failure = error
            finally:
                lease.waiting.discard(scope)
        # A provider that turned a cancellation into an error or an answer of its own does not undo it.
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self._lease is not lease:
            raise _late() from failure
        if failure is not None:
            raise failure
        return answers[0]

    async def replace(self, make: Callable[[], Awaitable[W]], *, timeout_s: float) -> None:
        """Withdraw the worker at once, and lease out the one that ``make`` gives. A later call supersedes this one.

        Raises:
            RestoreError: there is no new worker; unless it was superseded, nothing is leased until one is made.
        """
        attempt = anyio.CancelScope(deadline=anyio.current_time() + timeout_s)
        self._withdraw(attempt)
        made: list[W] = []
        failure: Exception | None = None
        try:
            with attempt:
                try:
                    made.append(await make())
                except Exception as error:  # noqa: BLE001  it is raised below, as what it means for the restore
                    failure = error
            # What came although this call was cancelled opens nothing: nobody would know that it is open.
            await anyio.lowlevel.checkpoint_if_cancelled()
            if self._attempt is not attempt:
                raise _superseded() from failure
            if not made:
                raise _failed(failure, timeout_s) from failure
            self.last_worker = made[0]
            self._lease = _Lease(made[0])
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


def _failed(failure: Exception | None, timeout_s: float) -> RestoreError:
    if isinstance(failure, RestoreError):
        return failure
    closed = "the sandbox stays closed until a restore succeeds"
    if failure is None:
        return RestoreError(f"the restore took longer than {timeout_s:g} s; {closed}", reason="timeout")
    return RestoreError(f"the restore failed ({type(failure).__name__}: {failure}); {closed}", reason="failed")


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
