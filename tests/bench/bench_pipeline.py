"""What the pipeline adds to a call: the tool alone, without a log, with the one in memory, with the one in a database.

The pipeline without a log judges and records into nothing. The goals are the whole pipeline's: at most 2 ms in the
median on a call, and at most 15 % on a Grep in a small repository. On a machine with other work each step of a call may
wait for a processor, and what is added looks larger than it is; so the processor time of this process is told as well.
See README.md.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import TYPE_CHECKING, Any

from measure import Goal, Row, interleave, parse_options, print_table, scratch_folder
from openbuffer.tools.adapters.sqlite_log import LogSession, SqliteEventLog
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.executor import create_tool_executor
from sample_text import MB, lines_of_source

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from openbuffer.tools.events import Event

ALONE, UNRECORDED, MEMORY, DATABASE = "the tool alone", "pipeline, no log", "pipeline, in memory", "pipeline, database"
SMALL_REPOSITORY_FILES = 1_920
"""As many as the small tree of the benches that search, and about as large."""


async def main() -> None:
    """A read, an edit, a command and a search."""
    options = parse_options(__doc__)
    with scratch_folder() as folder:
        workspace = folder / "workspace"
        make_workspace(workspace)
        log = SqliteEventLog(str(folder / "log"), LogSession(face="bench"), tell=print)
        try:
            for title, name, arguments, goal in (
                ("Read 200 lines", "Read", {"filePath": "some.py", "limit": 200}, None),
                ("Read 2,000 lines", "Read", {"filePath": "some.py"}, None),
                ("Edit one place in 100 KB", "Edit", None, None),
                ("Shell: true", "Shell", {"command": "true"}, None),
                ("Grep in a small repository", "Grep", {"pattern": r"def \w+_bytes"}, Goal(DATABASE, 1.15, ALONE)),
            ):
                rows = rows_for(workspace, name, arguments, log)
                await interleave(rows, options.rounds(15), burst=10)
                print_table(title, rows, base=ALONE, goals=[goal] if goal else [])
                print_added(rows)
                await print_processor_time(rows)
            await print_together(workspace, log)
        finally:
            log.close()


def make_workspace(workspace: Path) -> None:
    """A small repository of source, and one file to read and to edit."""
    lines = lines_of_source(MB)
    for number in range(SMALL_REPOSITORY_FILES):
        directory = workspace / f"package{number % 20}"
        directory.mkdir(parents=True, exist_ok=True)
        start = number * 60 % len(lines)
        (directory / f"module{number}.py").write_bytes(b"".join(lines[start : start + 150]))
    (workspace / "some.py").write_bytes(b"".join(lines[:2_500]))
    (workspace / "edited.txt").write_bytes(b"x = 0\n" + b"a line of some text\n" * 5_000)


class NoLog:
    """Forgets at once."""

    async def append(self, event: Event) -> None:
        """Do nothing."""


def rows_for(workspace: Path, name: str, arguments: dict[str, Any] | None, log: SqliteEventLog) -> list[Row]:
    """The same call through each of them; without arguments it is an edit that is undone by the next."""
    config = ToolConfig(roots=(workspace,))
    tool = next(tool for tool in build_tools(config) if tool.name == name)
    rows = [Row(ALONE, timed(tool.execute, arguments))]
    for title, kept in ((UNRECORDED, NoLog()), (MEMORY, InMemoryEventLog()), (DATABASE, log)):
        executor = create_tool_executor(config, log=kept)
        rows.append(Row(title, timed(lambda given, to=executor: to.call(name, given), arguments)))
    return rows


def timed(call: Callable[[Any], Awaitable[Any]], arguments: dict[str, Any] | None) -> Callable[[], Awaitable[float]]:
    """The seconds that a call takes."""
    state = 0

    async def once() -> float:
        nonlocal state
        given = arguments
        if given is None:
            given = {"filePath": "edited.txt", "oldString": f"x = {state}\n", "newString": f"x = {1 - state}\n"}
        start = time.perf_counter()
        result = await call(given)
        seconds = time.perf_counter() - start
        if not result.success and arguments is None:  # another row has left it in the other state
            state = 1 - state
            return await once()
        assert result.success, result.value
        state = 1 - state
        return seconds

    return once


def print_added(rows: list[Row]) -> None:
    """The difference to the tool alone."""
    alone, database = rows[0], rows[-1]
    added = statistics.median(database.samples) - statistics.median(alone.samples)
    verdict = "met" if added <= 0.002 else "MISSED"
    print(f"the whole pipeline adds {added * 1e3:.2f} ms in the median | goal <= 2 ms: {verdict}")


async def print_processor_time(rows: list[Row], calls: int = 60) -> None:
    """What the pipeline adds to the time that this process computes, in all of its threads."""
    took: list[float] = []
    for row in (rows[0], rows[-1]):
        samples: list[float] = []
        for _ in range(calls):
            start = time.process_time()
            await row.once()
            samples.append(time.process_time() - start)
        took.append(statistics.median(samples))
    alone, database = took
    print(f"processor time: {alone * 1e3:.2f} ms alone, {database * 1e3:.2f} ms with the pipeline and the database")


async def print_together(workspace: Path, log: SqliteEventLog) -> None:
    """Reads that run at once share the transactions of the log."""
    calls = 64
    for title, kept in ((MEMORY, InMemoryEventLog()), (DATABASE, log)):
        executor = create_tool_executor(ToolConfig(roots=(workspace,)), log=kept)
        took: list[float] = []
        for _ in range(5):
            start = time.perf_counter()
            await asyncio.gather(*(executor.call("Read", {"filePath": "some.py", "limit": 20}) for _ in range(calls)))
            took.append((time.perf_counter() - start) / calls)
        print(f"{calls} reads at once, {title}: {statistics.median(took) * 1e3:.3f} ms each")


if __name__ == "__main__":
    asyncio.run(main())
