"""Looks after what commands have left running in the background, until it ends or its owner does.

One thread per process, there only while there is something to look after. It reads and drops what they write, so that
none is killed or blocked for having nobody who listens, and tells the guard when nothing of a command is left.
"""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .guard import guard
from .spawning import resize

if TYPE_CHECKING:
    from .relatives import Relatives

_LOOK_EVERY_S: Final = 1.0
_READ_BYTES: Final = 64 * 1024
# One that writes without end is slowed to this pace, instead of keeping this process busy.
_PAUSE_AFTER_READING_S: Final = 0.01


@dataclass(slots=True, eq=False)
class Leftover:
    """What is left of a command. ``leader`` is its process id, and ``collected`` tells that its end was awaited.

    ``at_end``: nobody writes to the pipe any more.
    """

    leader: int
    relatives: Relatives
    pipe_fd: int
    pipe_inode: int
    collected: bool
    at_end: bool
    group_gone: bool = False


class Leftovers:
    """All of this process. Used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Leftover] = []
        self._thread: threading.Thread | None = None
        self._wake_fds: tuple[int, int] | None = None

    def adopt(self, leftover: Leftover) -> None:
        """Look after it from now on, and own its descriptor."""
        # Nobody waits for what it writes; a user may have few pages for pipes.
        resize(leftover.pipe_fd, _READ_BYTES)
        with self._lock:
            self._kept.append(leftover)
            if self._thread is not None:
                self._wake()
                return
            thread = threading.Thread(target=self._look_after, name="openbuffer-leftovers", daemon=True)
            # Where no thread can be had, the next command that leaves something tries again; until then a pipe fills.
            with suppress(RuntimeError):
                thread.start()
                self._thread = thread

    def after_fork_in_child(self) -> None:
        """They are the parent's; its thread is not here."""
        for leftover in self._kept:
            with suppress(OSError):
                os.close(leftover.pipe_fd)
        self.__init__()

    def _look_after(self) -> None:
        next_look = time.monotonic() + _LOOK_EVERY_S
        while True:
            readable = self._wait(max(0.0, next_look - time.monotonic()))
            for leftover in readable:
                _drop_output(leftover)
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + _LOOK_EVERY_S
                guard.check()
                if self._let_go_of_ended():
                    return
            elif readable:
                time.sleep(_PAUSE_AFTER_READING_S)

    def _wait(self, timeout_s: float) -> list[Leftover]:
        with self._lock:
            by_fd = {leftover.pipe_fd: leftover for leftover in self._kept if not leftover.at_end}
            wake_fd = self._wake_fd()
        poll = select.poll()
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        if wake_fd is not None:
            poll.register(wake_fd, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(timeout_s * 1_000)]
        if wake_fd in ready:
            with suppress(BlockingIOError):
                os.read(wake_fd, _READ_BYTES)
        return [by_fd[fd] for fd in ready if fd in by_fd]

    def _wake_fd(self) -> int | None:
        if self._wake_fds is None:
            # Without one, what is adopted is read from the next look on.
            with suppress(OSError):
                read_fd, write_fd = os.pipe()
                os.set_blocking(read_fd, False)
                os.set_blocking(write_fd, False)
                self._wake_fds = read_fd, write_fd
        return None if self._wake_fds is None else self._wake_fds[0]

    def _wake(self) -> None:
        if self._wake_fds is not None:
            with suppress(BlockingIOError):
                os.write(self._wake_fds[1], b"!")

    def _let_go_of_ended(self) -> bool:
        """Whether nothing is left; then the thread is to end."""
        with self._lock:
            kept = list(self._kept)
        ended = [leftover for leftover in kept if _has_ended(leftover)]
        for leftover in ended:
            guard.forget(leftover.pipe_inode)
            os.close(leftover.pipe_fd)
        with self._lock:
            self._kept = [leftover for leftover in self._kept if leftover not in ended]
            if self._kept:
                return False
            self._thread = None
            for fd in self._wake_fds or ():
                os.close(fd)
            self._wake_fds = None
            return True


def _drop_output(leftover: Leftover) -> None:
    leftover.at_end = not os.read(leftover.pipe_fd, _READ_BYTES)


def _has_ended(leftover: Leftover) -> bool:
    if not leftover.collected:
        try:
            leftover.collected = os.waitid(os.P_PID, leftover.leader, os.WEXITED | os.WNOHANG) is not None
        except ChildProcessError:
            leftover.collected = True
    if not leftover.collected:
        return False
    if not leftover.group_gone:
        leftover.group_gone = not leftover.relatives.group_exists()
        if leftover.group_gone and not leftover.at_end:
            # The number of a group that is gone can be given to another, which the guard must not kill.
            with suppress(OSError):
                guard.register(leftover.pipe_inode, None)
    if not leftover.at_end:
        return False
    # Where nobody collects orphans, a group of dead ones stays for ever.
    return leftover.group_gone or not leftover.relatives.any_alive()


leftovers: Final = Leftovers()
"""The ones of this process."""

os.register_at_fork(after_in_child=leftovers.after_fork_in_child)
