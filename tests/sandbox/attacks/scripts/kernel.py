"""What the attack scripts share: system calls by their numbers, and staying alive while somebody looks from outside.

Runs inside, on whatever Python 3 the system has, with its standard library alone.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

NUMBERS = {
    "x86_64": {
        "msgget": 68, "msgsnd": 69, "ptrace": 101, "unshare": 272, "chroot": 161, "add_key": 248, "keyctl": 250,
        "perf_event_open": 298, "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "bpf": 321, "userfaultfd": 323,
        "io_uring_setup": 425, "io_uring_enter": 426, "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438,
        "shmget": 29, "shmat": 30, "mq_open": 240, "mq_timedsend": 242, "clone": 56,
    },
    "aarch64": {
        "msgget": 186, "msgsnd": 189, "ptrace": 117, "unshare": 97, "chroot": 51, "add_key": 217, "keyctl": 219,
        "perf_event_open": 241, "name_to_handle_at": 264, "open_by_handle_at": 265, "setns": 268,
        "process_vm_readv": 270, "process_vm_writev": 271, "bpf": 280, "userfaultfd": 282,
        "io_uring_setup": 425, "io_uring_enter": 426, "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438,
        "shmget": 194, "shmat": 196, "mq_open": 180, "mq_timedsend": 182, "clone": 220,
    },
}[platform.machine()]  # fmt: skip


def call(name: str, *arguments: object) -> int:
    """The result of a system call; an error is raised."""
    result = LIBC.syscall(ctypes.c_long(NUMBERS[name]), *(_wide(each) for each in arguments))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _wide(argument: object) -> object:
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def hold(what: object = "") -> None:
    """Say that there is something to see, and stay until it was seen."""
    print("holds", what, flush=True)
    open("held", "w").close()
    for _ in range(2_000):
        if os.path.exists("release"):
            return
        time.sleep(0.005)


def absent(reason: object) -> None:
    """This host does not have what the attack needs; that is decided where nothing confines it."""
    print(f"absent: {reason}", flush=True)
    sys.exit()


def unix_address(path: str) -> bytes:
    """As the kernel takes it; ``@`` begins an abstract name."""
    name = path.encode()
    return struct.pack("=H", 1) + (b"\0" + name[1:] if name.startswith(b"@") else name + b"\0")
