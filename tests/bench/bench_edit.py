"""Edit one place in the middle of 1 MB and 10 MB. See README.md.

The floor writes bytes that are already in memory to a temporary file and renames it over the target: an edit that can
never leave half a file cannot do with less. Every contender has a file of its own and swaps two words there and back;
after each run the bench looks whether the word is really there.
"""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import time
from typing import TYPE_CHECKING

from measure import Goal, NotMeasuredError, Row, interleave, parse_options, print_table, scratch_folder
from openbuffer.tools.builtin.edit import create_edit_tool
from peers import Peers
from sample_text import MB, lines_of_source
from without_threads import without_threads

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

ONE, OTHER = "the_word_to_replace", "what_it_is_replaced_by"
FLOOR, JOIN = "floor: temp + rename", "bytes find + join, temp + rename"
OURS, OURS_ALONE = "openbuffer Edit", "openbuffer Edit, without threads"


async def main() -> None:
    """Two sizes."""
    options = parse_options(__doc__)
    with scratch_folder() as folder, Peers(options.peers, folder) as peers:
        for size, rounds, limit in ((1, 40, 1.5), (10, 15, 2.0)):
            lines = lines_of_source(size * MB)
            place = len(lines) // 2
            text = b"".join([*lines[:place], f"    {ONE} = 1\n".encode(), *lines[place:]])
            rows = rows_for(folder, text, peers)
            await interleave(rows, options.rounds(rounds))
            goals = [Goal(OURS, limit, FLOOR)]
            print_table(f"Edit one place in the middle of {size} MB", rows, base=FLOOR, goals=goals)


def rows_for(folder: Path, text: bytes, peers: Peers) -> list[Row]:
    """Every contender with a file of its own."""

    def row(name: str, swap: Callable[[Path, str, str], Awaitable[float]]) -> Row:
        path = folder / f"{len(list(folder.iterdir()))}-{len(text)}.txt"
        path.write_bytes(text)
        return Row(name, Swapping(path, swap).once)

    return [
        row(FLOOR, functools.partial(floor, text)),
        row(OURS, our_edit(folder)),
        row(OURS_ALONE, alone(our_edit(folder))),
        row(JOIN, find_and_join),
        row("sed -i (a process)", sed),
        row("deepagents backend.edit (in place)", functools.partial(python_peer, peers, "deepagents")),
        row("openhands str_replace", functools.partial(python_peer, peers, "openhands")),
        row("gemini-cli edit", functools.partial(gemini, peers)),
        row("MCP edit_file", functools.partial(mcp, peers)),
    ]


class Swapping:
    """Replaces one word by the other and back again, and checks every time."""

    def __init__(self, path: Path, swap: Callable[[Path, str, str], Awaitable[float]]) -> None:
        self._path = path
        self._swap = swap
        self._words = (ONE, OTHER)

    async def once(self) -> float:
        """Seconds of one edit."""
        old, new = self._words
        seconds = await self._swap(self._path, old, new)
        if new.encode() not in self._path.read_bytes():
            raise NotMeasuredError("did not make the edit")
        self._words = (new, old)
        return seconds


async def floor(text: bytes, path: Path, _old: str, new: str) -> float:
    """The bytes are known beforehand."""
    data = text.replace(ONE.encode(), new.encode())
    start = time.perf_counter()
    replace_file(str(path), data)
    return time.perf_counter() - start


def replace_file(path: str, *parts: bytes) -> None:
    """Write a temporary file in the same folder and rename it."""
    temporary = f"{path}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    for part in parts:
        os.write(descriptor, part)
    os.close(descriptor)
    os.replace(temporary, path)


async def find_and_join(path: Path, old: str, new: str) -> float:
    """The least that reads, searches and counts in Python; no check of anything."""
    start = time.perf_counter()
    with path.open("rb", buffering=0) as file:
        data = file.readall()
    before, after = old.encode(), new.encode()
    at = data.find(before)
    if data.find(before, at + 1) != -1:
        raise NotMeasuredError("the word is there twice")
    replace_file(str(path), b"".join((data[:at], after, data[at + len(before) :])))
    return time.perf_counter() - start


def our_edit(folder: Path) -> Callable[[Path, str, str], Awaitable[float]]:
    """The tool as a library user calls it: validation, containment, lock, check, atomic write, result."""
    tool = create_edit_tool(cwd=folder)

    async def swap(path: Path, old: str, new: str) -> float:
        start = time.perf_counter()
        result = await tool.execute({"filePath": str(path), "oldString": old, "newString": new})
        seconds = time.perf_counter() - start
        if not result.success:
            raise NotMeasuredError(f"failed: {result.value}"[:100])
        return seconds

    return swap


def alone(swap: Callable[[Path, str, str], Awaitable[float]]) -> Callable[[Path, str, str], Awaitable[float]]:
    """The same, with the work on the spot."""

    async def patched(path: Path, old: str, new: str) -> float:
        with without_threads():
            return await swap(path, old, new)

    return patched


async def sed(path: Path, old: str, new: str) -> float:
    """What a shell user does; the process is part of it."""
    start = time.perf_counter()
    subprocess.run(["sed", "-i", f"s/{old}/{new}/", str(path)], check=True)  # noqa: ASYNC221  nothing else runs here
    return time.perf_counter() - start


async def python_peer(peers: Peers, peer: str, path: Path, old: str, new: str) -> float:
    """A Python peer in its own process."""
    return await peers.python(peer, {"op": "edit", "path": str(path), "old": old, "new": new})


async def gemini(peers: Peers, path: Path, old: str, new: str) -> float:
    """gemini-cli's tool in its own process."""
    return await peers.gemini({"op": "edit", "path": str(path), "old": old, "new": new})


async def mcp(peers: Peers, path: Path, old: str, new: str) -> float:
    """The round trip to the MCP filesystem server."""
    return await peers.mcp("edit_file", {"path": str(path), "edits": [{"oldText": old, "newText": new}]})


if __name__ == "__main__":
    asyncio.run(main())
