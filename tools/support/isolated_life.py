"""The life of a process that ``isolated_process`` starts: it answers orders one by one, and ends with its owner.

Started as ``python -I -c ... SOCKET HELD``, numbers of descriptors, in a process group of its own. Nobody writes to its
standard input, which is a pipe: when the owner ends, in whatever way, the kernel signals the whole group, children
included. Nobody writes to HELD either, which each of the group holds open: at its end, none of them is left.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import socket
import sys
from typing import TYPE_CHECKING, Final

from .isolated_process import LIMIT_EXIT, BrokenFrameError

if TYPE_CHECKING:
    from collections.abc import Callable

_OWNER_PIPE: Final = 0


def held_descriptor() -> int:
    """The descriptor that children are to hold open as well."""
    return int(sys.argv[2])


def live(answer_next: Callable[[socket.socket], bytes | None], *, idle_s: float, memory_max_bytes: int) -> None:
    """Answer until nothing more comes, or none came for a while.

    ``answer_next`` receives one order and gives the bytes of its answer, or None where there are no more orders.
    """
    _end_with_owner()
    _bound_memory(memory_max_bytes)
    owner = socket.socket(fileno=int(sys.argv[1]))
    try:
        while True:
            owner.settimeout(idle_s)
            answer = answer_next(owner)
            if answer is None:
                return
            owner.settimeout(None)
            owner.sendall(answer)
    except (TimeoutError, BrokenFrameError, ConnectionError):
        pass
    except MemoryError:
        os._exit(LIMIT_EXIT)


def _end_with_owner() -> None:
    """Have every process of the group end when the other end of the pipe is closed, even one that is in C code."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(_OWNER_PIPE, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(_OWNER_PIPE, fcntl.F_SETFL, fcntl.fcntl(_OWNER_PIPE, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    try:
        if os.read(_OWNER_PIPE, 1) == b"":
            os._exit(0)  # it has ended already
    except BlockingIOError:
        pass


def _bound_memory(memory_max_bytes: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    bound = memory_max_bytes if most < 0 else min(memory_max_bytes, most)
    resource.setrlimit(resource.RLIMIT_AS, (bound, most))
