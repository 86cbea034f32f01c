"""Writes through every descriptor that was left open: ``inherited.py TEXT``."""

from __future__ import annotations

import contextlib
import os
import sys

for number in range(3, 100):
    with contextlib.suppress(OSError):
        os.write(os.open("planted", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=number), sys.argv[1].encode())
    with contextlib.suppress(OSError):
        os.pwrite(number, sys.argv[1].encode(), 0)
