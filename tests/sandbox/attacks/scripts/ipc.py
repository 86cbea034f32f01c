"""Leaves a text in System V and POSIX message queues and shared memory: ``ipc.py HOW KEY TEXT``."""

from __future__ import annotations

import ctypes
import os
import sys

from kernel import call

how, key, text = sys.argv[1], sys.argv[2], sys.argv[3].encode()

if how == "shm":
    segment = call("shmget", int(key), 4096, 0)
    place = call("shmat", segment, None, 0)
    ctypes.memmove(place, text, len(text))
elif how == "msg":
    queue = call("msgget", int(key), 0)
    call("msgsnd", queue, ctypes.create_string_buffer((1).to_bytes(8, sys.byteorder) + text), len(text), 0)
elif how == "mq":
    queue = call("mq_open", ctypes.create_string_buffer(key.encode()), os.O_WRONLY)
    call("mq_timedsend", queue, ctypes.create_string_buffer(text), len(text), 0, None)
