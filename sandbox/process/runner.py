"""Runs one invocation in the calling thread: bounded output, a time-out, cancellation, and the whole group ended (S2).

The call ends with the leader. What the leader left in the background goes on, and is told; see ``leftovers``. When
this process dies, all of it ends; see ``guard``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..errors import CommandStartError, SandboxError
from .capture import OutputCapture
from .guard import guard
from .result import Captured, CaptureLimits, Ended, How
from .running import RunningCommand
from .spawning import boot_ticks, close_all, open_output_pipe, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..port import Invocation, WrappedCommand

__all__ = ["CaptureLimits", "Captured", "Ended", "How", "run_invocation"]


def run_invocation(
    invocation: Invocation,
    *,
    timeout_s: float,
    is_cancelled: Callable[[], bool],
    limits: CaptureLimits,
    sink: Callable[[bytes], None] | None = None,
    wrapped: WrappedCommand | None = None,
) -> Ended:
    """Start the invocation in a session of its own and wait for its leader to end; blocks.

    ``is_cancelled`` is polled at least each 50 ms. A command that has to end is asked to, has two seconds for it (one
    if it is cancelled), and is killed then; the call returns when it is gone. Every raw byte goes to ``sink``, in
    order, from this thread.

    With ``wrapped``, its ``invocation`` is what is passed here; the descriptors, ``started``, ``terminate`` and
    ``wait_until_empty`` are taken from it.

    Raises:
        CommandStartError: it could not be started; nothing ran.
        SandboxError: it ran, but how it ended is not known.
    """
    if is_cancelled():
        return Ended(
            how="cancelled", exit_code=None, signal=None, output=Captured(head=""), left_running=(), seconds=0.0
        )
    began = time.monotonic()
    capture = OutputCapture(limits)
    running = _started(invocation, _taker(capture, sink), wrapped)
    with running:
        how = running.until_it_ends(began + timeout_s, is_cancelled)
        if how == "exited":
            running.settle()
        else:
            running.end(how)
    if how == "exited" and running.exit_code is None:
        raise SandboxError(
            "the command has ended, but not how is known: something in this process collects the children of others "
            "(SIGCHLD is ignored, or os.wait is called); correct that"
        )
    return Ended(
        how=how,
        exit_code=running.exit_code,
        signal=running.signal,
        output=capture.captured(),
        left_running=running.left_running,
        seconds=time.monotonic() - began,
    )


def _started(
    invocation: Invocation, take: Callable[[bytearray, int], None], wrapped: WrappedCommand | None
) -> RunningCommand:
    pipe = open_output_pipe()
    since = boot_ticks()
    known = False
    try:
        try:
            guard.expect(pipe.inode, since)
        except OSError as error:
            raise CommandStartError(
                "nothing could be set up that ends commands when this process dies, so none is run "
                f"({error.strerror or error}); end some processes, then try again"
            ) from error
        known = True
        leader = start(invocation, pipe.write_fd, () if wrapped is None else wrapped.pass_fds)
    except BaseException:
        if known:
            guard.forget(pipe.inode)
        close_all(pipe.read_fd, pipe.write_fd)
        raise
    close_all(pipe.write_fd)
    return RunningCommand(leader, pipe.read_fd, pipe.inode, since_ticks=since, take=take, wrapped=wrapped)


def _taker(capture: OutputCapture, sink: Callable[[bytes], None] | None) -> Callable[[bytearray, int], None]:
    if sink is None:
        return capture.feed

    def take(data: bytearray, size: int) -> None:
        capture.feed(data, size)
        sink(bytes(memoryview(data)[:size]))

    return take
