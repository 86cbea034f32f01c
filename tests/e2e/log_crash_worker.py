"""Processes that record and are killed, for ``test_log_crash``.

``every-step DIRECTORY STRIDE``: for every (``STRIDE``-th) step of a few calls, a child that kills itself there; prints
how many steps there are.
``write DIRECTORY NAME``: writes numbers into a file by the tools, one after the other, and prints each that is done.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import anyio
from openbuffer.tools.adapters.sqlite_log import LogSession, SqliteEventLog
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import create_tool_executor

CALLS = (
    ("Edit", {"filePath": "a.txt", "oldString": "old", "newString": "new"}),
    ("Write", {"filePath": "b.txt", "content": "b\n" * 3_000}),
    ("Read", {"filePath": "b.txt"}),
    ("Delete", {"path": "a.txt"}),
)
_STEPS = {"open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.truncate", "os.chmod", "sqlite3.connect"}


class Doom:
    """Counts steps: what the system is asked to change or to open, and each statement of the database."""

    def __init__(self, last: int) -> None:
        self.taken = 0
        self._last = last
        self._lock = threading.Lock()
        self._is_armed = False

    def arm(self) -> None:
        sys.addaudithook(self._audit)
        self._is_armed = True

    def disarm(self) -> None:
        self._is_armed = False

    def step(self, *_: object) -> None:
        with self._lock:
            self.taken += 1
            if self.taken == self._last:
                os.kill(os.getpid(), signal.SIGKILL)

    def _audit(self, event: str, _arguments: object) -> None:
        if self._is_armed and event in _STEPS:
            self.step()


async def call_all(directory: Path, doom: Doom) -> None:
    log = SqliteEventLog(str(directory / "log"), LogSession(face="doomed"), tell=print)
    opened = log._database.connection

    def traced() -> object:
        connection = opened()
        connection.set_trace_callback(doom.step)
        return connection

    log._database.connection = traced  # type: ignore[method-assign]  # the one way to see its statements
    executor = create_tool_executor(ToolConfig(roots=(directory / "ws",)), log=log)
    doom.arm()
    for name, arguments in CALLS:
        result = await executor.call(name, arguments)
        assert result.success, result.value
    log.close()
    doom.disarm()


def every_step(directory: Path, stride: int) -> None:
    step = 1 - stride
    while True:
        step += stride
        place = directory / str(step)
        (place / "ws").mkdir(parents=True)
        (place / "ws" / "a.txt").write_text("old\n")
        child = os.fork()
        if child == 0:
            try:
                anyio.run(call_all, place, Doom(step))
                os._exit(0)
            finally:
                os._exit(3)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            print(step, os.waitstatus_to_exitcode(status), flush=True)
            return


async def write(directory: Path, name: str) -> None:
    log = SqliteEventLog(str(directory / "log"), LogSession(face=name), tell=print)
    executor = create_tool_executor(ToolConfig(roots=(directory / "ws",)), log=log)
    most = int(sys.argv[4]) if len(sys.argv) > 4 else 10_000
    for number in range(1, most + 1):
        result = await executor.call("Write", {"filePath": f"{name}.txt", "content": f"{number}\n"})
        assert result.success, result.value
        print(number, flush=True)
    log.close()


if __name__ == "__main__":
    if sys.argv[1] == "every-step":
        every_step(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        anyio.run(write, Path(sys.argv[2]), sys.argv[3])
