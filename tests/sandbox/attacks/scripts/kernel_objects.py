"""Makes one object of the kernel and holds its descriptor: ``kernel_objects.py KIND``."""

from __future__ import annotations

import ctypes
import os
import sys

from kernel import call, hold

kind = sys.argv[1]
if kind == "bpf":
    # type array, a key of 4 bytes, a value of 8, one entry
    attributes = (ctypes.c_uint32 * 32)(2, 4, 8, 1)
    call("bpf", 0, ctypes.byref(attributes), ctypes.sizeof(attributes))
elif kind == "perf":
    attributes = (ctypes.c_uint64 * 16)()
    attributes[0] = 1 | 128 << 32  # a software event
    attributes[1] = 1  # the clock of a task
    attributes[5] = 1 << 5 | 1 << 6  # not of the kernel, nor of a hypervisor
    call("perf_event_open", ctypes.byref(attributes), 0, -1, -1, 0)
elif kind == "userfaultfd":
    call("userfaultfd", os.O_CLOEXEC | 1)
elif kind == "io_uring":
    call("io_uring_setup", 4, ctypes.create_string_buffer(120))
hold()
