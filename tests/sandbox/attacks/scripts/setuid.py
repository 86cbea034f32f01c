"""Tries by every call that there is to leave a program in the working directory that runs as its owner or its group."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys

from kernel import LIBC

X86 = platform.machine() == "x86_64"
AT_CWD = ctypes.c_long(-100)
WRITE_CREATE = os.O_WRONLY | os.O_CREAT


def plain(name: str) -> ctypes.c_char_p:
    """A file to change, for this call alone."""
    open(name, "w").close()
    return ctypes.c_char_p(name.encode())


def call(number: int, *arguments: object) -> None:
    LIBC.syscall(ctypes.c_long(number), *(ctypes.c_long(each) if isinstance(each, int) else each for each in arguments))


def name_of(text: str) -> ctypes.c_char_p:
    return ctypes.c_char_p(text.encode())


for mode in (0o4755, 0o2755, 0o6755):
    if X86:
        call(90, plain(f"chmod-{mode}"), mode)
        call(85, name_of(f"creat-{mode}"), mode)
        call(2, name_of(f"open-{mode}"), WRITE_CREATE, mode)
        call(133, name_of(f"mknod-{mode}"), 0o100000 | mode, 0)
        call(83, name_of(f"mkdir-{mode}"), mode)
    call(268 if X86 else 53, AT_CWD, plain(f"fchmodat-{mode}"), mode)
    call(452, AT_CWD, plain(f"fchmodat2-{mode}"), mode, 0)
    call(257 if X86 else 56, AT_CWD, name_of(f"openat-{mode}"), WRITE_CREATE, mode)
    call(257 if X86 else 56, AT_CWD, name_of(f"openat-excl-{mode}"), WRITE_CREATE | os.O_EXCL, 1 << 32 | mode)
    how = ctypes.create_string_buffer(struct.pack("<QQQ", WRITE_CREATE, mode, 0))
    call(437, AT_CWD, name_of(f"openat2-{mode}"), how, 24)
    call(259 if X86 else 33, AT_CWD, name_of(f"mknodat-{mode}"), 0o100000 | mode, 0)
    call(258 if X86 else 34, AT_CWD, name_of(f"mkdirat-{mode}"), mode)
    with open(f"fchmod-{mode}", "w") as file:
        call(91 if X86 else 52, file.fileno(), mode)
        call(91 if X86 else 52, file.fileno(), 1 << 40 | mode)
    with contextlib.suppress(OSError):
        # A file without a name, which gets one when its mode is set.
        unnamed = os.open(".", os.O_TMPFILE | os.O_RDWR, mode)
        os.link(f"/proc/self/fd/{unnamed}", f"unnamed-{mode}", follow_symlinks=True)
    with contextlib.suppress(OSError):
        # An access list can carry no such bit, but some file systems take a mode from it.
        os.setxattr(plain(f"list-{mode}").value, "system.posix_acl_access", b"\2\0\0\0" + b"\1\0\7\0\xff\xff\xff\xff")
    with contextlib.suppress(OSError):
        os.setxattr(plain(f"caps-{mode}").value, "security.capability", struct.pack("<5I", 0x02000001, 1 << 7, 0, 0, 0))

if len(sys.argv) > 1:
    with contextlib.suppress(OSError):
        os.link(sys.argv[1], "linked")
    with contextlib.suppress(OSError):
        os.rename(sys.argv[1], "moved")
