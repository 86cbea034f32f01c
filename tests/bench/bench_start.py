"""From the start of the process to its first answers: ``openbuffer serve`` beside a bare pygls server. See README.md.

Both run on this interpreter with the same switches. The first answer is the one to ``initialize``, sent as the
process starts. The second row pair goes on to the first tool call, against the first echo of the bare server.
"""

from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lsp_wire import Server
from measure import Goal, NotMeasuredError, Row, interleave, parse_options, print_table, scratch_folder, sync

if TYPE_CHECKING:
    from collections.abc import Sequence

BARE = [sys.executable, "-P", "-c", 'from pygls.lsp.server import LanguageServer; LanguageServer("x", "1").start_io()']
ECHO = [sys.executable, "-P", str(Path(__file__).with_name("bare_pygls.py"))]
OURS = [sys.executable, "-P", "-m", "openbuffer.bridge", "serve"]
PYGLS_FIRST, OUR_FIRST = "bare pygls: initialize", "openbuffer serve: initialize"
PYGLS_CALL, OUR_CALL = "bare pygls: initialize, first echo", "openbuffer serve: initialize, first callTool (Read)"


async def main() -> None:
    """One table."""
    options = parse_options(__doc__)
    with scratch_folder() as folder:
        path = folder / "small.txt"
        path.write_text("a line of text\n" * 6)
        call = {"name": "Read", "arguments": {"filePath": str(path)}}
        rows = [
            Row("python -P -c pass", sync(functools.partial(run_and_leave, ["-P", "-c", "pass"], folder))),
            Row(PYGLS_FIRST, functools.partial(answers, BARE, folder)),
            Row(OUR_FIRST, functools.partial(answers, OURS, folder)),
            Row(PYGLS_CALL, functools.partial(answers, ECHO, folder, ("bench/echo", {"text": "x"}))),
            Row(OUR_CALL, functools.partial(answers, OURS, folder, ("openbuffer/callTool", call))),
        ]
        await interleave(rows, options.rounds(25))
        goals = [Goal(OUR_FIRST, 1.2, PYGLS_FIRST)]
        print_table("Process start to first answer", rows, base=PYGLS_FIRST, goals=goals)


async def answers(command: Sequence[str], folder: Path, then: tuple[str, object] | None = None) -> float:
    """Seconds until ``initialize`` is answered, and one request more where one is named."""
    with Server(command, folder) as server:
        server.initialize()
        if then is not None:
            _, result = server.request(*then)
            if not isinstance(result, list) and result.get("isError"):  # pygls makes a list of the echo
                raise NotMeasuredError(f"failed: {result}"[:100])
        return time.perf_counter() - server.started


def run_and_leave(arguments: Sequence[str], folder: Path) -> None:
    """The interpreter alone."""
    subprocess.run([sys.executable, *arguments], cwd=folder, check=True)


if __name__ == "__main__":
    asyncio.run(main())
