"""Opens a file outside by its number: ``handles.py INODE``. The handle of the own directory is the pattern."""

from __future__ import annotations

import ctypes
import os
import struct
import sys

from kernel import call

inode = int(sys.argv[1])
handle = ctypes.create_string_buffer(8 + 128)
struct.pack_into("<I", handle, 0, 128)
mount = ctypes.c_int()
call("name_to_handle_at", -100, ctypes.c_char_p(b"."), ctypes.byref(handle), ctypes.byref(mount), 0)
struct.pack_into("<II", handle, 8, inode, 0)  # a generation of 0 is taken for any
directory = os.open(".", os.O_RDONLY)
print(os.read(call("open_by_handle_at", directory, ctypes.byref(handle), os.O_RDONLY), 100).decode())
