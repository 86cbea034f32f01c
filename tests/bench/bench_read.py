"""Read 2,000 lines: 1 MB and 100 MB in the middle, 1 GB at the end. See README.md.

The floor reads all bytes of the file and does nothing with them: whoever tells the total number of lines cannot do
with less, unless it remembers. Our rows are cold: the file's time stamp is new at each run, so that nothing that was
remembered of it counts. The file is in the page cache, except in the last table, where it comes from the disk.
"""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from measure import Goal, NotMeasuredError, Row, interleave, parse_options, print_table, scratch_folder, sync
from openbuffer.tools.builtin.read import create_read_tool
from peers import Peers
from sample_text import MB, lines_of_source, write_repeated
from without_threads import without_threads

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LINES = 2_000
BUDGET = 2_000 * MB
FLOOR, SED = "read floor", "sed -n (a process)"
OURS, OURS_ALONE = "openbuffer Read", "openbuffer Read, without threads"
DEEPAGENTS, NUMBERED = "deepagents backend.read", "deepagents read + numbers"
OPENHANDS, GEMINI, MCP = "openhands view (clipped)", "gemini-cli read_file", "MCP read_text_file"


async def main() -> None:
    """Three sizes, each with the memory, and the biggest once more from the disk."""
    options = parse_options(__doc__)
    lines = lines_of_source(MB)
    with scratch_folder() as folder, Peers(options.peers, folder) as peers:
        small = Slice(folder / "one.txt", lines, times=1, first=len(lines) // 2)
        rows = rows_for(small, peers)
        await interleave(rows, options.rounds(20), burst=5)
        goals = [Goal(OURS, 1.0), Goal(OURS, 0.5, DEEPAGENTS), Goal(OURS, 0.5, NUMBERED)]
        print_table("Read 2,000 lines in the middle of 1 MB", rows, base=FLOOR, goals=goals)
        print_memory(small)

        middle = Slice(folder / "hundred.txt", lines, times=100, first=len(lines) * 50)
        rows = rows_for(middle, peers)
        await interleave(rows, options.rounds(7))
        print_table("Read 2,000 lines in the middle of 100 MB", rows, base=FLOOR)
        print_memory(middle)

        end = Slice(folder / "thousand.txt", lines, times=1_000, first=len(lines) * 1_000 - LINES + 1)
        rows = [row for row in rows_for(end, peers) if row.name not in {DEEPAGENTS, NUMBERED}]
        await interleave(rows, options.rounds(7))
        print_table(
            "Read the last 2,000 lines of 1 GB, budget raised", rows, base=FLOOR, goals=[Goal(OURS, 2.5, FLOOR)]
        )
        print("deepagents: not asked at this size; it holds the whole text and its lines in memory")
        print_memory(end)

        rows = [
            Row(row.name, from_disk(end, row.once)) for row in rows_for(end, peers) if row.name in {FLOOR, OURS, SED}
        ]
        await interleave(rows, options.rounds(3))
        print_table("The same, not in the page cache", rows, base=FLOOR, goals=[Goal(OURS, 2.5, FLOOR)])


class Slice:
    """A file and the lines of it that are read."""

    def __init__(self, path: Path, lines: list[bytes], *, times: int, first: int) -> None:
        write_repeated(path, lines, times)
        self.path, self.first, self.last = path, first, first + LINES - 1
        self.total = len(lines) * times
        self.expect_first, self.expect = (lines[(n - 1) % len(lines)].decode().rstrip("\n") for n in (first, self.last))


def rows_for(what: Slice, peers: Peers) -> list[Row]:
    """Every contender, on the same lines of the same file."""
    path, first, last = str(what.path), what.first, what.last
    order = {"op": "read", "path": path, "first": first, "last": last, "expect": what.expect, "numbered": False}
    if what.total - last < LINES:
        mcp, asked = f"{MCP}, tail", {"path": path, "tail": LINES}
    elif what.path.stat().st_size > 10 * MB:
        mcp, asked = f"{MCP}, head up to there", {"path": path, "head": last}
    else:
        mcp, asked = f"{MCP}, whole", {"path": path}
    return [
        Row(FLOOR, sync(functools.partial(read_all, path))),
        Row(OURS, our_read(what)),
        Row(OURS_ALONE, alone(our_read(what))),
        Row(SED, functools.partial(sed, path, first, last)),
        Row(DEEPAGENTS, functools.partial(peers.python, "deepagents", order)),
        Row(NUMBERED, functools.partial(peers.python, "deepagents", {**order, "numbered": True})),
        # It clips its answer, so the last line is not in it; the work before that is the same.
        Row(OPENHANDS, functools.partial(peers.python, "openhands", {**order, "expect": what.expect_first})),
        Row(GEMINI, functools.partial(peers.gemini, order)),
        Row(mcp, functools.partial(peers.mcp, "read_text_file", asked, what.expect)),
    ]


_BUFFER = bytearray(MB)


def read_all(path: str) -> None:
    """The floor: every byte into one buffer."""
    with open(path, "rb", buffering=0) as file:
        while file.readinto(_BUFFER):
            pass


def our_read(what: Slice) -> Callable[[], Awaitable[float]]:
    """The tool as a library user calls it: validation, containment, the read, the result."""
    tool = create_read_tool(cwd=what.path.parent, max_bytes=BUDGET)
    arguments = {"filePath": str(what.path), "offset": what.first, "limit": LINES}

    async def once() -> float:
        os.utime(what.path)
        start = time.perf_counter()
        result = await tool.execute(arguments)
        seconds = time.perf_counter() - start
        if not result.success or what.expect not in result.value["output"]:
            raise NotMeasuredError(f"failed: {result.value}"[:100])
        return seconds

    return once


def alone(once: Callable[[], Awaitable[float]]) -> Callable[[], Awaitable[float]]:
    """The same, with the work on the spot."""

    async def patched() -> float:
        with without_threads():
            return await once()

    return patched


def from_disk(what: Slice, once: Callable[[], Awaitable[float]]) -> Callable[[], Awaitable[float]]:
    """The same, after the system was asked to drop the file from its cache."""

    async def dropped() -> float:
        descriptor = os.open(what.path, os.O_RDONLY)
        os.fsync(descriptor)  # only clean pages can be dropped
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
        return await once()

    return dropped


async def sed(path: str, first: int, last: int) -> float:
    """What a shell user does; the process is part of it."""
    start = time.perf_counter()
    subprocess.run(["sed", "-n", f"{first},{last}p;{last}q", path], stdout=subprocess.DEVNULL, check=True)  # noqa: ASYNC221  nothing else runs here
    return time.perf_counter() - start


def print_memory(what: Slice) -> None:
    """Peak memory of our Read in a fresh process, above what it had after reading a small file."""
    probe = Path(__file__).with_name("read_memory.py")
    command = [sys.executable, str(probe), str(what.path), str(what.first), str(LINES), str(BUDGET)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        print(f"memory: not measured ({answer.stderr.strip().splitlines()[-1]})")
        return
    extra, output = map(int, answer.stdout.split())
    over = extra - output
    verdict = "met" if over <= MB else "MISSED"
    print(
        f"memory of {OURS}: peak {extra / MB:.2f} MB for {output / MB:.2f} MB of output"
        f"  | goal <= 1 MB over the output: {over / MB:.2f} {verdict}"
    )


if __name__ == "__main__":
    asyncio.run(main())
