"""Reaches into another process by its number: ``other_process.py HOW PID ADDRESS TEXT``. A zero byte ends a text."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

from kernel import call, hold

how, pid, address, text = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode()


class Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def read_by_vm() -> None:
    local = ctypes.create_string_buffer(64)
    mine, theirs = Vector(ctypes.addressof(local), 64), Vector(address, 64)
    call("process_vm_readv", pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
    print(local.value.decode())


def write_by_vm() -> None:
    local = ctypes.create_string_buffer(text, 64)
    mine, theirs = Vector(ctypes.addressof(local), 64), Vector(address, 64)
    call("process_vm_writev", pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)


def read_by_file() -> None:
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        print(os.pread(memory.fileno(), 64, address).split(b"\0")[0].decode())


def write_by_file() -> None:
    with open(f"/proc/{pid}/mem", "r+b", 0) as memory:
        os.pwrite(memory.fileno(), text + b"\0", address)


def trace() -> None:
    attach = 16
    call("ptrace", attach, pid, 0, 0)
    hold()


def steal_descriptors() -> None:
    process = call("pidfd_open", pid, 0)
    for number in range(3, 12):
        with contextlib.suppress(OSError):
            stolen = call("pidfd_getfd", process, number, 0)
            with contextlib.suppress(OSError):
                print(os.pread(stolen, 100, 0).decode())
            with contextlib.suppress(OSError):
                os.pwrite(stolen, text, 0)


def enter() -> None:
    """Everything of its namespaces."""
    process = call("pidfd_open", pid, 0)
    call("setns", process, 0x00020000)
    with open(sys.argv[5], "wb") as file:
        file.write(text)


def disturb() -> None:
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, 15)
    with contextlib.suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w") as file:
        file.write("999")
    os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


{
    "read_by_vm": read_by_vm,
    "write_by_vm": write_by_vm,
    "read_by_file": read_by_file,
    "write_by_file": write_by_file,
    "trace": trace,
    "steal": steal_descriptors,
    "enter": enter,
    "disturb": disturb,
    "kill": lambda: os.kill(pid, signal.SIGKILL),
}[how]()
