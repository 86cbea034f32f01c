"""Tries to get capabilities in a user namespace of its own: ``namespaces.py unshare|clone|clone3``."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from kernel import call, hold

NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
how = sys.argv[1]
if how == "unshare":
    call("unshare", NEW_USER | NEW_MOUNTS)
    hold()
else:
    if how == "clone":
        child = call("clone", NEW_USER | NEW_MOUNTS | signal.SIGCHLD, 0, 0, 0, 0)
    else:
        arguments = (ctypes.c_uint64 * 11)()
        arguments[0] = NEW_USER | NEW_MOUNTS
        arguments[4] = signal.SIGCHLD
        child = call("clone3", ctypes.byref(arguments), ctypes.sizeof(arguments))
    if child == 0:
        hold()
        os._exit(0)
    os.waitpid(child, 0)
