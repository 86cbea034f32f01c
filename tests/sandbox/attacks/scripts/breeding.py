"""A process that is never caught: it forks and ends a few hundred times a second, for some seconds, in new sessions.

``breeding.py FILE``: each writes there.
"""

from __future__ import annotations

import os
import signal
import sys
import time

for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(each, signal.SIG_IGN)
end = time.monotonic() + 6
if os.fork() != 0:
    os._exit(0)
while time.monotonic() < end:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    with open(sys.argv[1], "w") as file:
        file.write(str(time.time_ns()))
    time.sleep(0.003)
