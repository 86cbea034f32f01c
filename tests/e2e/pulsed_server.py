"""``openbuffer serve --listen`` with a pulse on its event loop: how late the loop comes to it is measured inside.

python pulsed_server.py FIGURES

The figures are written at the end.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import anyio
from openbuffer.bridge.server import serve_socket
from openbuffer.bridge.wire import sockets

BEAT_S = 0.005


class Pulse:
    """Counts beats, and what lay between two of them: by the clock, and of it what this thread itself computed."""

    def __init__(self) -> None:
        self.beats = 0
        self.late: list[tuple[float, float, float]] = []
        self.longest_s = self.longest_busy_s = 0.0

    async def run(self) -> None:
        began = time.monotonic()
        while True:
            at, busy = time.monotonic(), time.thread_time()
            await asyncio.sleep(BEAT_S)
            lag_s, busy_s = time.monotonic() - at - BEAT_S, time.thread_time() - busy
            self.beats += 1
            self.longest_s, self.longest_busy_s = max(self.longest_s, lag_s), max(self.longest_busy_s, busy_s)
            if lag_s > 0.05:
                self.late.append((round(at - began, 3), round(lag_s, 3), round(busy_s, 3)))


def put_pulse_in(figures: Path) -> None:
    """Have the pulse beat as long as connections are served."""
    serve = sockets.serve_connections

    async def pulsed(*arguments: Any, **options: Any) -> int:
        pulse = Pulse()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pulse.run)
            code = await serve(*arguments, **options)
            tasks.cancel_scope.cancel()
        figures.write_text(json.dumps(vars(pulse)))  # noqa: ASYNC240  nothing else runs any more
        return code

    sockets.serve_connections = pulsed


if __name__ == "__main__":
    put_pulse_in(Path(sys.argv[1]))
    sys.exit(serve_socket("127.0.0.1:0"))
