"""Reaches a terminal of the host: ``terminal.py HOW PATH TEXT``."""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios

from kernel import absent

how, path, text = sys.argv[1:4]
terminal = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
if how == "write":
    os.write(terminal, text.encode())
elif how == "read":
    select.select([terminal], [], [], 5)
    print(os.read(terminal, 100).decode())
else:
    try:
        for character in text:
            fcntl.ioctl(terminal, termios.TIOCSTI, character.encode())
    except OSError as error:
        absent(error)
