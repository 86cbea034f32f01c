"""Searching a large tree (95,000 files) and a small one (1,920), beside ripgrep and the peers. See README.md.

Everything is in the page cache. ripgrep is asked for what the tool answers: paths, counts or lines. "without rg" is our
own engine in two forms: with RE2, and as it is when nothing is installed. Peers do not look for the same: deepagents
searches for the literal text and gives up after a while, gemini-cli stops at a number of matches.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from typing import TYPE_CHECKING, Any

from bench_glob import ripgrep
from big_tree import big_tree, small_tree
from measure import Goal, NotMeasuredError, Row, interleave, parse_options, print_table
from openbuffer.tools.builtin.grep import create_grep_tool
from openbuffer.tools.support.grep import isolation
from peers import Peers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from openbuffer.tools.support.grep.order import EngineName

RG, OURS, OWN, PLAIN = "rg", "openbuffer Grep", "openbuffer Grep without rg", "openbuffer Grep without rg and RE2"
MODES = {"files_with_matches": "--files-with-matches", "count": "--count", "content": "--line-number"}
WITHOUT_RE2 = "import sys; sys.modules['re2'] = None; "
BIG_PATTERNS = (
    ("a rare word", "CONF_ENTITY_NAMESPACE", "files_with_matches"),
    ("a common word", "return", "files_with_matches"),
    ("a common word, lines", "return", "content"),
    ("a common word, counted", "return", "count"),
    ("an alternation", "(async_setup|entry_point|deprecated)_[a-z]+", "files_with_matches"),
    ("a class before a word", r"\w+NotFoundException\b", "files_with_matches"),
    ("in either case", "(?i)connectionreset", "files_with_matches"),
)


async def main() -> None:
    """The small tree, warm; then the large one."""
    options = parse_options(__doc__)
    for what, pattern, mode in BIG_PATTERNS[:5]:
        await table("small tree", small_tree(), what, pattern, mode, options.peers, options.rounds(25))
    for what, pattern, mode in BIG_PATTERNS:
        await table("large tree", big_tree(), what, pattern, mode, options.peers, options.rounds(7))


async def table(name: str, tree: Path, what: str, pattern: str, mode: str, folder: Path | None, rounds: int) -> None:
    """One pattern in one tree."""
    order = {"op": "grep", "pattern": pattern, "expect": ""}
    with Peers(folder, tree) as peers:
        rows = [
            Row(RG, rg(tree, pattern, mode)),
            Row(OURS, tool(tree, pattern, mode, None)),
            Row(OWN, tool(tree, pattern, mode, "own")),
            Row(PLAIN, tool(tree, pattern, mode, "own", start=WITHOUT_RE2)),
            Row("gemini-cli grep", lambda: peers.gemini(order), max_samples=3),
            Row("deepagents grep", lambda: peers.python("deepagents", order), max_samples=3),
        ]
        await interleave(rows, rounds)
    without = 2.5 if "alternation" in what else 1.5
    goals = [Goal(OURS, 0.4, RG)] if name == "small tree" else [Goal(OURS, 1.1, RG), Goal(OWN, without, RG)]
    print_table(f"{what}: {pattern} ({mode}), {name}", rows, base=RG, goals=goals)


def tool(
    tree: Path, pattern: str, mode: str, engine: EngineName | None, *, start: str = ""
) -> Callable[[], Awaitable[float]]:
    """The Grep tool, called on its own; ``start`` is run first by the process that searches."""
    usual = isolation.START
    isolation.START = start + usual  # type: ignore[misc]  for this tool alone
    try:
        grep = create_grep_tool(cwd=tree, engine=engine)
    finally:
        isolation.START = usual  # type: ignore[misc]  as it was

    async def once() -> float:
        begin = time.perf_counter()
        arguments: dict[str, Any] = {"pattern": pattern, "outputMode": mode}
        result = await grep.execute(arguments)
        seconds = time.perf_counter() - begin
        if not result.success:
            raise NotMeasuredError(str(result.data)[:100])
        return seconds

    return once


def rg(tree: Path, pattern: str, mode: str) -> Callable[[], Awaitable[float]]:
    """The process, start to end, with its output read."""

    async def once() -> float:
        command = [ripgrep(), "--no-config", "--hidden", "--glob=!.git", MODES[mode], "-e", pattern, "--", "."]
        start = time.perf_counter()
        subprocess.run(command, cwd=tree, capture_output=True, stdin=subprocess.DEVNULL, check=False)  # noqa: ASYNC221  nothing else runs here
        return time.perf_counter() - start

    return once


if __name__ == "__main__":
    asyncio.run(main())
