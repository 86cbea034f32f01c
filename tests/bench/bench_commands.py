"""Run a command, and drain 32 MiB of its output. See README.md.

``sh -c through asyncio`` is what a tool would otherwise do: ``create_subprocess_exec`` with pipes, in a session of its
own, and ``communicate``. The Shell tool is called as a host calls it: arguments are validated, the directory is judged
twice, and the result is put into words. Its engine alone runs in a worker thread as well. Both register with the guard
that ends commands when their owner dies.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from typing import TYPE_CHECKING

import anyio.to_thread
from measure import Goal, Row, interleave, parse_options, print_table, scratch_folder, sync
from openbuffer.sandbox import Invocation
from openbuffer.sandbox.process.runner import CaptureLimits, run_invocation
from openbuffer.tools.host import create_shell_tool
from openbuffer.tools.support.shells import Shell

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MIB = 1024 * 1024
DRAINED = 32 * MIB
LIMITS = CaptureLimits(head_bytes=16 * 1024, tail_bytes=16 * 1024)
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
TOOL, OURS, OURS_ALONE = "the Shell tool", "its engine in a thread", "its engine alone"
ASYNCIO, RUN = "sh -c through asyncio", "subprocess.run"

CONTENTS = {
    "zeros": b"\0",
    "lines": b"a line of an ordinary length, as a build would print it\n",
    "lines of one letter": b"y\n",
    "progress by carriage returns": b"downloading 12% of 345 MB, 6 s left\r",
}


async def main() -> None:
    """A command that does nothing, one that says something, and floods of four kinds."""
    options = parse_options(__doc__)
    for line in ("true", "echo hi"):
        rows = [
            Row(ASYNCIO, through_asyncio(line)),
            Row(TOOL, through_the_tool(line)),
            Row(OURS, in_a_thread(line)),
            Row(OURS_ALONE, sync(lambda line=line: ours(line))),
            Row(RUN, sync(lambda line=line: through_run(line))),
        ]
        await interleave(rows, options.rounds(40), burst=10)
        print_table(f"sh -c '{line}'", rows, base=ASYNCIO, goals=[Goal(TOOL, 1.5, ASYNCIO)])
    with scratch_folder() as folder:
        for name, content in CONTENTS.items():
            # A writer that costs little, so that reading is what is measured.
            (folder / "output").write_bytes((content * (DRAINED // len(content) + 1))[:DRAINED])
            await drain(name, f"cat {folder}/output", options.rounds(20))


async def drain(name: str, line: str, rounds: int) -> None:
    """One flood."""
    rows = [
        Row(RUN, sync(lambda: through_run(line))),
        Row(TOOL, through_the_tool(line)),
        Row(OURS, in_a_thread(line)),
        Row(ASYNCIO, through_asyncio(line)),
    ]
    await interleave(rows, rounds)
    print_table(f"32 MiB of {name}", rows, base=RUN, goals=[Goal(TOOL, 0.6, RUN)])


def through_the_tool(line: str) -> Callable[[], Awaitable[float]]:
    """The whole tool, of a session that was set up before, as each of its calls finds it."""
    shell = Shell(name="sh", program="/bin/sh", system="Linux")
    tool = create_shell_tool(cwd="/", environment=ENVIRONMENT, shell=shell)

    async def once() -> float:
        start = time.perf_counter()
        result = await tool.execute({"command": line})
        taken = time.perf_counter() - start
        assert result.success
        return taken

    return once


def ours(line: str) -> None:
    """Head and tail are kept."""
    run_invocation(
        Invocation(argv=("/bin/sh", "-c", line), cwd="/", environment=ENVIRONMENT),
        timeout_s=60,
        is_cancelled=lambda: False,
        limits=LIMITS,
    )


def in_a_thread(line: str) -> Callable[[], Awaitable[float]]:
    """As a tool calls it."""

    async def once() -> float:
        start = time.perf_counter()
        await anyio.to_thread.run_sync(ours, line)
        return time.perf_counter() - start

    return once


def through_run(line: str) -> None:
    """All output is kept."""
    subprocess.run(
        ["/bin/sh", "-c", line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=ENVIRONMENT,
        start_new_session=True,
        check=False,
    )


def through_asyncio(line: str) -> Callable[[], Awaitable[float]]:
    """All output is kept."""

    async def once() -> float:
        start = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            line,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=ENVIRONMENT,
            start_new_session=True,
        )
        await process.communicate()
        return time.perf_counter() - start

    return once


if __name__ == "__main__":
    asyncio.run(main())
