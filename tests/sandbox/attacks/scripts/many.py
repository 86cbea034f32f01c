"""As many processes or threads as it can get, up to a number, held: ``many.py processes|threads NUMBER``."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

from kernel import hold

how, number = sys.argv[1], int(sys.argv[2])
threading.stack_size(64 * 1024)
with contextlib.suppress(OSError, RuntimeError):
    for _ in range(number):
        if how == "threads":
            threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        elif os.fork() == 0:
            time.sleep(20)
            os._exit(0)
hold()
os._exit(0)
