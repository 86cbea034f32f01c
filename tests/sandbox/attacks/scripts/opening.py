"""Opens what it may for reading or for writing, and holds it; writes nothing: ``opening.py r|w PATH ...``."""

from __future__ import annotations

import contextlib
import os
import sys

from kernel import hold

mode = os.O_RDONLY if sys.argv[1] == "r" else os.O_WRONLY
opened = []
for path in sys.argv[2:]:
    with contextlib.suppress(OSError):
        opened.append(os.open(path, mode | os.O_NONBLOCK | os.O_NOCTTY))
hold(len(opened))
