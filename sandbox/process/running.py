"""One command that runs: its output read, its end awaited or brought about, and everything of it let go of."""

from __future__ import annotations

import os
import select
import signal
import time
from array import array
from fcntl import ioctl
from termios import FIONREAD
from typing import TYPE_CHECKING, Final, Literal

from .guard import guard
from .leftovers import Leftover, leftovers
from .relatives import Relatives
from .spawning import close_all, open_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from ..port import WrappedCommand
    from .result import How

_POLL_S: Final = 0.05
"""How long a cancellation can go unseen."""

_GRACE_S: Final = 2.0
_CANCELLED_GRACE_S: Final = 1.0
"""Shorter, because whoever cancels waits: all of it is to be gone and answered within two seconds."""

_KILL_PATIENCE_S: Final = 5.0
"""What a kill cannot end in this time, because another process traces it or the kernel holds it, is left and told."""

_LATE_WRITERS_S: Final = 0.1
"""How long the end of the output is waited for, once the leader has ended: ``>(tee log)`` writes a little longer."""

_GUARD_CHECK_S: Final = 1.0
_FIRST_READ_BYTES: Final = 16 * 1024
_READ_BYTES: Final = 256 * 1024
_LET_FILL_S: Final = 0.0003

# Without a descriptor for the process its end is looked for more and more seldom.
_FIRST_LOOK_S: Final = 0.0005
_LOOK_S: Final = 0.01


class RunningCommand:
    """A started command, from its first moment; leaving its context lets go of it, and kills what should not be left.

    ``take`` gets every byte of the output: so many of a buffer that is used again.
    """

    def __init__(
        self,
        leader: int,
        pipe_fd: int,
        pipe_inode: int,
        *,
        since_ticks: int,
        take: Callable[[bytearray, int], None],
        wrapped: WrappedCommand | None,
    ) -> None:
        self._leader = leader
        self._pipe_fd = pipe_fd
        self._pipe_inode = pipe_inode
        self._take = take
        self._wrapped = wrapped
        self._relatives = Relatives(leader, pipe_inode, since_ticks)
        self._process_fd: int | None = None
        self._poll = select.poll()
        self._poll.register(pipe_fd, select.POLLIN)
        self._buffer = bytearray(_FIRST_READ_BYTES)
        self._at_end = False
        self._collected = False
        self._look_s = _FIRST_LOOK_S
        self._next_guard_check = time.monotonic() + _GUARD_CHECK_S
        self.exit_code: int | None = None
        """128 + n for an end by signal n; None while it runs, and when its end was collected by somebody else."""
        self.signal: int | None = None
        self.left_running: tuple[int, ...] = ()

    def __enter__(self) -> None:
        try:
            guard.register(self._pipe_inode, self._leader)
            if self._wrapped is not None:
                self._wrapped.started(self._leader)
        except BaseException:
            self._give_up()
            raise
        self._process_fd = open_process(self._leader)
        if self._process_fd is not None:
            self._poll.register(self._process_fd, select.POLLIN)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._let_go()
        else:
            self._give_up()

    def until_it_ends(self, deadline: float, is_cancelled: Callable[[], bool]) -> How:
        """Read what it writes until its leader has ended, or has to (``deadline`` by the monotonic clock)."""
        while True:
            self._look(min(_POLL_S, max(0.0, deadline - time.monotonic())))
            if self._collected:
                return "exited"
            if is_cancelled():
                return "cancelled"
            now = time.monotonic()
            if now >= deadline:
                return "timed_out"
            if now >= self._next_guard_check:
                self._next_guard_check = now + _GUARD_CHECK_S
                guard.check()

    def settle(self) -> None:
        """Read what is left to read when the leader has ended, and find out who goes on in the background."""
        if self._wrapped is not None:
            self._wrapped.wait_until_empty()
        self._read_present()
        until = time.monotonic() + _LATE_WRITERS_S
        while not self._at_end and (remaining := until - time.monotonic()) > 0:
            self._look(remaining)
        if not self._is_over():
            self.left_running = self._alive()

    def end(self, why: Literal["timed_out", "cancelled"]) -> None:
        """Ask it to end, and kill it when it does not; gives up only on what a kill does not end."""
        grace_s = _CANCELLED_GRACE_S if why == "cancelled" else _GRACE_S
        # A signal to what stands around the command would take the command's time to end from it.
        if self._wrapped is None or not self._wrapped.terminate():
            # One that is stopped sees the signal only when it goes on.
            self._relatives.send(signal.SIGTERM, signal.SIGCONT)
        if not self._gone_within(grace_s):
            self._kill()
        self._read_present()
        if self._wrapped is not None:
            self._wrapped.wait_until_empty()
        self.left_running = self._alive()

    def _look(self, timeout_s: float) -> None:
        """Wait for output or the leader's end, and take either; no longer than the time given."""
        if self._process_fd is None and not self._collected:
            timeout_s = min(timeout_s, self._look_s)
            self._look_s = min(2 * self._look_s, _LOOK_S)
        ready = [fd for fd, _ in self._poll.poll(timeout_s * 1_000)]
        if self._pipe_fd in ready and 0 < self._read() < _READ_BYTES // 2 and len(self._buffer) == _READ_BYTES:
            # A flood that comes in drops would wake this thread for each.
            time.sleep(_LET_FILL_S)
        if not self._collected and (self._process_fd is None or self._process_fd in ready):
            self._collect()

    def _read(self, most: int = _READ_BYTES) -> int:
        # One buffer for all, because memory that is new each time costs more than what is done with it.
        size = os.readv(self._pipe_fd, [memoryview(self._buffer)[:most]])
        if size:
            self._take(self._buffer, size)
            if size == len(self._buffer) < _READ_BYTES:
                self._buffer = bytearray(_READ_BYTES)
        else:
            self._at_end = True
            self._poll.unregister(self._pipe_fd)
        return size

    def _read_present(self) -> None:
        """Read what is in the pipe now, but not what is written meanwhile: that may never stop."""
        present = array("i", [0])
        ioctl(self._pipe_fd, FIONREAD, present)
        remaining = present[0]
        while remaining > 0 and not self._at_end:
            remaining -= self._read(remaining)
        if not self._at_end:
            self._look(0)

    def _collect(self) -> None:
        try:
            ended = os.waitid(os.P_PID, self._leader, os.WEXITED | os.WNOHANG)
        except ChildProcessError:
            self._collected = True
        else:
            if ended is not None:
                self._collected = True
                was_signal = ended.si_code != os.CLD_EXITED
                self.signal = ended.si_status if was_signal else None
                self.exit_code = 128 + ended.si_status if was_signal else ended.si_status
        # It is readable and nothing can be collected while somebody else traces a dead leader.
        self._close_process_fd()

    def _gone_within(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not self._is_gone():
            remaining = until - time.monotonic()
            if remaining <= 0:
                return False
            self._look(min(_POLL_S, remaining))
        return True

    def _is_gone(self) -> bool:
        return self._collected and not self._relatives.alive()

    def _is_over(self) -> bool:
        """Whether nothing is left, by what costs little."""
        return self._collected and self._at_end and not self._relatives.group_exists()

    def _alive(self) -> tuple[int, ...]:
        return tuple(sorted(process.pid for process in self._relatives.alive()))

    def _kill(self) -> None:
        until = time.monotonic() + _KILL_PATIENCE_S
        while time.monotonic() < until:
            # Again and again, because one that was just being started may not have been found.
            self._relatives.send(signal.SIGKILL)
            if self._gone_within(_POLL_S):
                return

    def _give_up(self) -> None:
        """End it at once and look at nothing any more."""
        self._take = _drop
        try:
            self._kill()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._close_process_fd()
        self._poll = select.poll()
        if self._is_over() or (self._collected and not self.left_running and self._is_gone()):
            guard.forget(self._pipe_inode)
            close_all(self._pipe_fd)
            return
        leftovers.adopt(
            Leftover(
                leader=self._leader,
                relatives=self._relatives,
                pipe_fd=self._pipe_fd,
                pipe_inode=self._pipe_inode,
                collected=self._collected,
                at_end=self._at_end,
            )
        )

    def _close_process_fd(self) -> None:
        if self._process_fd is not None:
            self._poll.unregister(self._process_fd)
            close_all(self._process_fd)
            self._process_fd = None


def _drop(data: bytearray, size: int) -> None:
    del data, size
