"""Connects to a Unix socket by another table of system calls: ``foreign_calls.py i386|x32 PATH TEXT``. x86-64 alone."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys

from kernel import LIBC, absent, unix_address

table, path, text = sys.argv[1], sys.argv[2], sys.argv[3].encode()
if platform.machine() != "x86_64":
    absent("this machine has one table of system calls")

MAP_32BIT = 0x40
LIBC.mmap.restype = ctypes.c_void_p
low = LIBC.mmap(None, ctypes.c_size_t(4096), 7, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_32BIT, -1, ctypes.c_long(0))
ADDRESS, DATA = low + 1024, low + 2048


def by_i386(number: int, one: int, two: int, three: int) -> int:
    return function(number, one, two, three)


def by_x32(number: int, one: int, two: int, three: int) -> int:
    result = LIBC.syscall(ctypes.c_long(0x40000000 | number), *(ctypes.c_long(each) for each in (one, two, three)))
    return -ctypes.get_errno() if result == -1 else result


# edi, esi, edx, ecx are the number and three arguments; the other table takes them in eax, ebx, ecx, edx.
# push rbx; mov eax, edi; mov ebx, esi; xchg ecx, edx; int 0x80; cdqe; pop rbx; ret
ctypes.memmove(low, bytes.fromhex("5389f889f387cacd8048985bc3"), 13)
function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)(low)
address = unix_address(path)
ctypes.memmove(ADDRESS, address, len(address))
ctypes.memmove(DATA, text, len(text))
SOCKET, CONNECT, WRITE = (359, 362, 4) if table == "i386" else (41, 42, 1)
run = by_i386 if table == "i386" else by_x32

child = os.fork()
if child == 0:
    # A kernel without the table ends the process; then it is the child that ends.
    os._exit(0 if run(20 if table == "i386" else 39, 0, 0, 0) > 0 else 3)
if os.waitpid(child, 0)[1] != 0:
    absent(f"this kernel has no calls of {table}")
client = run(SOCKET, 1, 1, 0)
print(client, run(CONNECT, client, ADDRESS, len(address)), run(WRITE, client, DATA, len(text)))
