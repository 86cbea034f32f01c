"""Leaves a key in the user's keyring, or looks for it: ``keyring.py add|find NAME TEXT``."""

from __future__ import annotations

import ctypes
import sys

from kernel import call

how, name, text = sys.argv[1], sys.argv[2].encode(), sys.argv[3].encode()
USER_KEYRING, SEARCH, READ = -4, 10, 11
kind, description = ctypes.c_char_p(b"user"), ctypes.c_char_p(name)
if how == "add":
    call("add_key", kind, description, ctypes.c_char_p(text), len(text), USER_KEYRING)
else:
    key = call("keyctl", SEARCH, USER_KEYRING, kind, description, 0)
    found = ctypes.create_string_buffer(200)
    call("keyctl", READ, key, ctypes.byref(found), 200, 0)
    print(found.value.decode())
