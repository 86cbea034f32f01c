"""Looking at descriptors of another process by taking a copy of them."""

from __future__ import annotations

import ctypes
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIBC = ctypes.CDLL(None, use_errno=True)
_PIDFD_GETFD = 438
_SO_TYPE, _SO_DOMAIN = 3, 39


def families_held(pids: Iterable[int]) -> set[tuple[int, int]]:
    """Family and type of all sockets that these processes have open."""
    found: set[tuple[int, int]] = set()
    for pid in pids:
        with suppress(OSError):
            process = os.pidfd_open(pid)
            try:
                for number in os.listdir(f"/proc/{pid}/fd"):
                    with suppress(OSError):
                        found |= _family(process, int(number), f"/proc/{pid}/fd/{number}")
            finally:
                os.close(process)
    return found


def _family(process: int, number: int, link: str) -> set[tuple[int, int]]:
    if not os.readlink(link).startswith("socket:"):
        return set()
    copy = _LIBC.syscall(_PIDFD_GETFD, process, number, 0)
    assert copy >= 0, f"a socket cannot be looked at: {os.strerror(ctypes.get_errno())}"
    with socket.socket(fileno=copy) as held:
        return {(held.getsockopt(socket.SOL_SOCKET, _SO_DOMAIN), held.getsockopt(socket.SOL_SOCKET, _SO_TYPE))}
