"""The owner's side of processes that do work which must be killable: starting, asking, and ending them for good (T6).

A call has a process for itself while it lasts. One that is done waits for the next call; one that is cancelled, takes
too long or fails is ended with its whole group, and only when the last of the group is gone the error is raised.
``isolated_life`` is the other side.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..contract import CancellationToken

T = TypeVar("T")

LIMIT_EXIT: Final = 77
"""The exit code of a process that needed more memory than it may have."""

_WAITING_MAX: Final = 2
_LOOK_S: Final = 0.05
_GONE_S: Final = 10.0
_SENT_AT_ONCE: Final = 256 * 1024


class BrokenFrameError(Exception):
    """The other side has gone, or says what is no frame."""


class ProcessStoppedError(Exception):
    """The work did not come to its end; the process and what it started has been ended."""


class ProcessCancelledError(ProcessStoppedError):
    """The call was cancelled."""


class ProcessTimedOutError(ProcessStoppedError):
    """It took too long."""


class ProcessFailedError(ProcessStoppedError):
    """It could not be started, or has ended by itself; ``code`` is its exit code, None if it never ran."""

    def __init__(self, text: str, code: int | None) -> None:
        super().__init__(text)
        self.code = code

    @property
    def needed_memory(self) -> bool:
        """Whether it needed more memory than it may have."""
        return self.code == LIMIT_EXIT


class IsolatedProcesses:
    """Processes of one kind; nothing is started before the first call. May be used from several threads.

    ``start`` is what the interpreter runs: it serves as ``isolated_life`` says. ``kept`` are the variables of the
    environment that it gets, where they are set.
    """

    def __init__(self, start: str, kept: Iterable[str]) -> None:
        self._start = start
        self._kept = tuple(kept)
        self._waiting: list[IsolatedProcess] = []
        self._lock = threading.Lock()
        self._end = weakref.finalize(self, _end_all, self._waiting)

    def use(self, ask: Callable[[Exchange], T], token: CancellationToken, timeout_s: float) -> T:
        """Have a process answer; blocks. ``ask`` speaks to it.

        Raises:
            ProcessStoppedError: there is no answer; the process has ended by then, and so has what it started.
        """
        deadline = time.monotonic() + timeout_s
        process = self._waiting_one()
        if process is not None:
            try:
                return self._asked(process, ask, Exchange(process, token, deadline))
            except ProcessFailedError as failure:
                if failure.needed_memory:
                    raise
        # One that waited may have ended at this very moment, or be worn out.
        process = IsolatedProcess(self._start, self._kept)
        return self._asked(process, ask, Exchange(process, token, deadline))

    def close(self) -> None:
        """End the processes that wait for a call."""
        self._end()

    def _asked(self, process: IsolatedProcess, ask: Callable[[Exchange], T], exchange: Exchange) -> T:
        try:
            answer = ask(exchange)
        except (BrokenFrameError, OSError):
            process.end()
            code = process.exit_code
            raise ProcessFailedError(f"the process has ended (exit code {code})", code) from None
        except BaseException:
            process.end()
            raise
        with self._lock:
            if len(self._waiting) < _WAITING_MAX:
                self._waiting.append(process)
                return answer
        process.end()
        return answer

    def _waiting_one(self) -> IsolatedProcess | None:
        with self._lock:
            while self._waiting:
                process = self._waiting.pop()
                if process.is_ready():
                    return process
                process.end()
        return None


def _end_all(processes: list[IsolatedProcess]) -> None:
    while processes:
        processes.pop().end()


class Exchange:
    """One call's side of the talk with a process."""

    def __init__(self, process: IsolatedProcess, token: CancellationToken, deadline: float) -> None:
        self.socket = process.socket
        self._token = token
        self._deadline = deadline

    def allow(self, seconds: float) -> None:
        """Have the call end when so much time has gone from now on, in the place of what was said before."""
        self._deadline = time.monotonic() + seconds

    def receive(self, size: int) -> bytes:
        """Up to so many bytes, as soon as there are any; none at the end.

        Raises:
            ProcessStoppedError: the call is cancelled, or its time is over.
        """
        self._wait([self.socket], [])
        return self.socket.recv(size)

    def send(self, data: bytes) -> None:
        """Send all of it, however slowly it is taken; raises as ``receive``."""
        view = memoryview(data)
        while view:
            self._wait([], [self.socket])
            with suppress(BlockingIOError):
                view = view[self.socket.send(view[:_SENT_AT_ONCE], socket.MSG_DONTWAIT) :]

    def _wait(self, reading: list[socket.socket], writing: list[socket.socket]) -> None:
        while True:
            left = self._deadline - time.monotonic()
            if self._token.cancelled:
                raise ProcessCancelledError
            if left <= 0:
                raise ProcessTimedOutError
            if any(select.select(reading, writing, [], min(_LOOK_S, left))):
                return


class IsolatedProcess:
    """One process, with its group.

    Raises:
        ProcessFailedError: it cannot be started.
    """

    def __init__(self, start: str, kept: Iterable[str]) -> None:
        self._owner = os.getpid()
        self.socket, theirs = socket.socketpair()
        # Nothing is ever written to this pipe. When this process ends, the kernel closes it and tells the group.
        alive, self._alive = os.pipe()
        # The group holds this pipe open and never writes either: at its end, none of the group is left.
        self._gone, gone = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603  this interpreter, and words of ours
                [sys.executable, "-I", "-c", start, str(theirs.fileno()), str(gone)],
                stdin=alive,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), gone),
                start_new_session=True,
                cwd="/",
                env={name: os.environ[name] for name in kept if name in os.environ},
            )
        except BaseException as error:
            for fd in (self._alive, self._gone):
                os.close(fd)
            self.socket.close()
            if isinstance(error, OSError):
                raise ProcessFailedError(f"the process cannot be started ({error})", None) from error
            raise
        finally:
            theirs.close()
            os.close(alive)
            os.close(gone)

    @property
    def exit_code(self) -> int | None:
        """Its exit code, once it has ended."""
        return self._process.returncode

    def is_ready(self) -> bool:
        """Whether it still waits for orders, and belongs to this process and not to one that this was forked from."""
        if self._owner != os.getpid():
            return False
        readable, _, _ = select.select([self.socket], [], [], 0)
        return not readable and self._process.poll() is None

    def end(self) -> None:
        """End it and all of its group, and wait until none is left; safe to call twice."""
        if self._owner != os.getpid() or self._alive < 0:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._wait_for_group()
        self.socket.close()
        os.close(self._alive)
        os.close(self._gone)
        self._alive = -1

    def _wait_for_group(self) -> None:
        # The leader was waited for, so that its number may be given to another; the rest of the group was killed
        # with it and needs a moment.
        select.select([self._gone], [], [], _GONE_S)


def read_exactly(receive: Callable[[int], bytes], size: int) -> bytes:
    """So many bytes; raises BrokenFrameError where the other side ends before."""
    parts: list[bytes] = []
    while size:
        part = receive(min(size, 1024 * 1024))
        if not part:
            raise BrokenFrameError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
