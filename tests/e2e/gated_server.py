"""``openbuffer serve`` in which every tool hangs at one point of its call; for tests of what becomes of that.

python gated_server.py POINT WAY REACHED

POINT is "prepare" (before anything was looked at), "commit" (the intent is on record, nothing is done) or "done" (all
is done, and not yet on record). WAY is "waits" (and can be cancelled), "sticks" (and cannot) or "thread" (a worker
thread that never comes back). REACHED is made when a call hangs.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import anyio
from openbuffer.bridge.server import serve_stdio
from openbuffer.tools.contract import CancellationToken, FunctionTool
from openbuffer.tools.support.blocking import run_blocking


async def hang(way: str, reached: Path) -> None:
    """For ever, or until it is cancelled where it can be."""

    def work() -> None:
        reached.touch()  # not before there is a thread: until then the call can be cancelled
        threading.Event().wait()

    if way == "thread":
        await run_blocking(CancellationToken(), work)
    reached.touch()  # noqa: ASYNC240  nothing else may run before it is done
    with anyio.CancelScope(shield=way == "sticks"):
        await anyio.sleep_forever()


def gate(point: str, way: str, reached: Path) -> None:
    """Put it into every tool."""
    prepare, commit = FunctionTool.prepare, FunctionTool.commit

    async def gated_prepare(tool: FunctionTool, parsed: Any, context: Any) -> Any:
        if point == "prepare":
            await hang(way, reached)
        return await prepare(tool, parsed, context)

    async def gated_commit(tool: FunctionTool, plan: Any, context: Any) -> Any:
        if point == "commit":
            await hang(way, reached)
        result = await commit(tool, plan, context)
        if point == "done":
            await hang(way, reached)
        return result

    FunctionTool.prepare, FunctionTool.commit = gated_prepare, gated_commit  # type: ignore[method-assign]


if __name__ == "__main__":
    gate(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    sys.exit(serve_stdio())
