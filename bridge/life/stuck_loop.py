"""Leaving a process whose event loop hangs, once its client is gone: the loop cannot notice that, and nobody else does.

What hangs it is above all a look at a disk that does not answer, such as a network mount whose server is gone.
"""

from __future__ import annotations

import os
import select
import threading
import time
from typing import TYPE_CHECKING, Final

from ..limits import BUSY_LOOP_S, STUCK_LOOP_S
from .parent import process_descriptor

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_OTHER_SIDE_CLOSED: Final = getattr(select, "POLLRDHUP", 0)
_BETWEEN_LOOKS_S: Final = 1.0
_COMPUTES_S: Final = 0.005
"""Of the time that is waited; one that waits for a disk uses none at all."""


def leave_if_stuck(loop: asyncio.AbstractEventLoop, gone: Callable[[], None], code: int = 1) -> None:
    """Leave the process if the loop does not come to anything any more after ``gone`` has returned, in a thread.

    Nothing is said then: whatever holds the loop may hold the log as well.
    """
    used_s = _cpu_clock(threading.get_ident())

    def watch() -> None:
        gone()
        while True:
            came = threading.Event()
            try:
                loop.call_soon_threadsafe(came.set)
            except RuntimeError:
                return  # it is closed: the process is about to leave
            asked_at, used_before_s = time.monotonic(), used_s()
            while not came.wait(STUCK_LOOP_S):
                # What computes is not stuck: it may have much to do, on a machine that gives it little time.
                is_computing = used_s() - used_before_s > _COMPUTES_S
                if not is_computing or time.monotonic() - asked_at > BUSY_LOOP_S:
                    os._exit(code)
                used_before_s = used_s()
            time.sleep(_BETWEEN_LOOKS_S)

    threading.Thread(target=watch, name="openbuffer-stuck-loop", daemon=True).start()


def _cpu_clock(thread: int) -> Callable[[], float]:
    """Tells the seconds that this thread has computed; none where the system does not tell."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return lambda: 0.0
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def input_ended(descriptor: int) -> None:
    """Return when the other end of a pipe or socket was closed; what has no other end is waited for without end."""
    poll = select.poll()
    poll.register(descriptor, _OTHER_SIDE_CLOSED)
    poll.poll()


def process_gone(process_id: int) -> None:
    """Return when this process has ended; where the system cannot tell of that, nothing is waited for without end."""
    try:
        descriptor = process_descriptor(process_id)
    except ProcessLookupError:
        return
    if descriptor is None:
        threading.Event().wait()
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll()
    finally:
        os.close(descriptor)
