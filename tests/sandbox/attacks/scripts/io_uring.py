"""Connects to a Unix socket and sends a text by io_uring alone, which no filter of socket calls sees.

``io_uring.py PATH TEXT``.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys

from kernel import absent, call, unix_address

path, text = sys.argv[1], sys.argv[2].encode()
SOCKET, CONNECT, SEND = 45, 16, 26

parameters = bytearray(120)
in_memory = (ctypes.c_char * 120).from_buffer(parameters)
try:
    ring = call("io_uring_setup", 8, in_memory)
except OSError as error:
    absent(error)
# Offsets in the two rings: head, tail, mask, entries, flags, dropped, array; head, tail, mask, entries, overflow, cqes.
submission = struct.unpack_from("<7I", parameters, 40)
completion = struct.unpack_from("<6I", parameters, 80)
rings = mmap.mmap(ring, 4096, flags=mmap.MAP_SHARED, offset=0)
completions = mmap.mmap(ring, 4096, flags=mmap.MAP_SHARED, offset=0x8000000)
entries = mmap.mmap(ring, 4096, flags=mmap.MAP_SHARED, offset=0x10000000)


def word(memory: mmap.mmap, at: int) -> int:
    return struct.unpack_from("<I", memory, at)[0]


def submit(operation: int, descriptor: int, address: int, length: int, offset: int) -> int:
    tail = word(rings, submission[1])
    slot = tail & word(rings, submission[2])
    entry = struct.pack("<BBHiQQI", operation, 0, 0, descriptor, offset, address, length).ljust(64, b"\0")
    entries[slot * 64 : slot * 64 + 64] = entry
    struct.pack_into("<I", rings, submission[6] + 4 * slot, slot)
    struct.pack_into("<I", rings, submission[1], tail + 1)
    call("io_uring_enter", ring, 1, 1, 1, 0, 0)
    head = word(completions, completion[0])
    at = completion[5] + 16 * (head & word(completions, completion[2]))
    struct.pack_into("<I", completions, completion[0], head + 1)
    (result,) = struct.unpack_from("<i", completions, at + 8)
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


address = ctypes.create_string_buffer(unix_address(path))
data = ctypes.create_string_buffer(text)
client = submit(SOCKET, 1, 0, 0, 1)
submit(CONNECT, client, ctypes.addressof(address), 0, len(unix_address(path)))
submit(SEND, client, ctypes.addressof(data), len(text), 0)
