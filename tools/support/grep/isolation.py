"""The owner's side of the processes that search: starting, asking, and ending them for good (F8, T6).

A call has a process for itself while it lasts. One that is done waits for the next call; one that is cancelled, takes
too long or fails is ended with its whole group, and only when the last of the group is gone the error is raised.
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
from typing import TYPE_CHECKING, Final

from ...errors import GrepIsolationError
from ..located import printable
from .frames import LIMIT_EXIT, BrokenFrameError, read_answer, send_order

if TYPE_CHECKING:
    from ...contract import CancellationToken
    from .order import Answer, Order

START: Final = "from openbuffer.tools.support.grep.worker import main; main()"
_WAITING_MAX: Final = 2
_LOOK_S: Final = 0.05
_GONE_S: Final = 10.0


class Searches:
    """Searches in processes of their own; nothing is started before the first. May be used from several threads."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._waiting: list[_Process] = []
        self._lock = threading.Lock()
        self._end = weakref.finalize(self, _end_all, self._waiting)

    def run(self, order: Order, descriptor: int, token: CancellationToken) -> Answer:
        """Search; blocks. ``descriptor`` is what is searched, and stays open here.

        Raises:
            GrepIsolationError: it was cancelled, took too long, needed too much memory, or its process failed; that
                has ended by then, and so has what it started.
        """
        deadline = time.monotonic() + self._timeout_s
        process = self._waiting_one()
        if process is not None:
            try:
                return self._asked(process, order, descriptor, token, deadline)
            except GrepIsolationError as error:
                if error.reason != "failed":
                    raise
        # One that waited may have ended at this very moment, or be worn out.
        return self._asked(_Process(), order, descriptor, token, deadline)

    def close(self) -> None:
        """End the processes that wait for a call."""
        self._end()

    def _asked(
        self, process: _Process, order: Order, descriptor: int, token: CancellationToken, deadline: float
    ) -> Answer:
        try:
            answer = process.ask(order, descriptor, token, deadline, self._timeout_s)
        except BaseException:
            process.end()
            raise
        with self._lock:
            if len(self._waiting) < _WAITING_MAX:
                self._waiting.append(process)
                return answer
        process.end()
        return answer

    def _waiting_one(self) -> _Process | None:
        with self._lock:
            while self._waiting:
                process = self._waiting.pop()
                if process.is_ready():
                    return process
                process.end()
        return None


def _end_all(processes: list[_Process]) -> None:
    while processes:
        processes.pop().end()


class _Process:
    """One process that searches, with its group."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._socket, theirs = socket.socketpair()
        # Nothing is ever written to this pipe. When this process ends, the kernel closes it and tells the group.
        alive, self._alive = os.pipe()
        # The group holds this pipe open and never writes either: at its end, none of the group is left.
        self._gone, gone = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603  this interpreter, and words of ours
                [sys.executable, "-I", "-c", START, str(theirs.fileno()), str(gone)],
                stdin=alive,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), gone),
                start_new_session=True,
                cwd="/",
                env=_environment(),
            )
        except BaseException as error:
            for fd in (self._alive, self._gone):
                os.close(fd)
            self._socket.close()
            if isinstance(error, OSError):
                raise GrepIsolationError(
                    f"the process that searches cannot be started ({error}).", reason="failed"
                ) from error
            raise
        finally:
            theirs.close()
            os.close(alive)
            os.close(gone)

    def is_ready(self) -> bool:
        """Whether it still waits for orders, and belongs to this process and not to one that this was forked from."""
        if self._owner != os.getpid():
            return False
        readable, _, _ = select.select([self._socket], [], [], 0)
        return not readable and self._process.poll() is None

    def ask(self, order: Order, descriptor: int, token: CancellationToken, deadline: float, timeout_s: float) -> Answer:
        """Send an order and wait for the answer; raises as ``Searches.run``. Whoever gets an error ends the process."""
        shown = printable(order.path)

        def receive(size: int) -> bytes:
            while True:
                left = deadline - time.monotonic()
                if token.cancelled:
                    self.end()
                    raise GrepIsolationError(f"{shown}: the search was cancelled, and has stopped.", reason="cancelled")
                if left <= 0:
                    self.end()
                    raise GrepIsolationError(
                        f"{shown}: the search was ended after {timeout_s:g} seconds without a result. Search a smaller "
                        "directory, name files by glob, or use a simpler pattern.",
                        reason="timeout",
                    )
                if select.select([self._socket], [], [], min(_LOOK_S, left))[0]:
                    return self._socket.recv(size)

        try:
            send_order(self._socket, order, descriptor)
            return read_answer(receive)
        except (BrokenFrameError, OSError):
            raise self._failure(shown) from None

    def end(self) -> None:
        """End it and all of its group, and wait until none is left; safe to call twice."""
        if self._owner != os.getpid() or self._alive < 0:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._wait_for_group()
        self._socket.close()
        os.close(self._alive)
        os.close(self._gone)
        self._alive = -1

    def _wait_for_group(self) -> None:
        # The leader was waited for, so that its number may be given to another; the rest of the group was killed
        # with it and needs a moment.
        select.select([self._gone], [], [], _GONE_S)

    def _failure(self, shown: str) -> GrepIsolationError:
        self.end()
        code = self._process.returncode
        if code == LIMIT_EXIT:
            return GrepIsolationError(
                f"{shown}: the search needs more memory than it may have, and has stopped. Search a smaller directory, "
                "or name files by glob.",
                reason="limit",
            )
        return GrepIsolationError(
            f"{shown}: the process that searches has ended (exit code {code}). Try again; if it fails again, search a "
            "smaller directory.",
            reason="failed",
        )


def _environment() -> dict[str, str]:
    """What the search needs: where the user's git configuration is, and how names are encoded."""
    kept = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "LANG", "LC_ALL", "LC_CTYPE", "PYTHONUTF8", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ}
