"""The round trip of a tool call through the bridge, beside the echo of a stock pygls server. See README.md.

One minimal client for all of them, one round trip at a time. Two kinds of call stand for "a tool call": ``Echo``, a
custom tool that does nothing, is the bridge and the pipeline alone and carries the very payload of the echo; ``Read``
of a small file is the lightest call of the assembled tools and includes its work on the file. No built-in tool
takes 1 MB and returns 1 MB, so at that size they are compared one way: Read with what only gives, Write with what
only takes.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsp_wire import Server
from measure import Goal, NotMeasuredError, Row, interleave, parse_options, print_table, scratch_folder
from peers import Peers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

HERE = Path(__file__).resolve().parent
BARE = [sys.executable, "-P", str(HERE / "bare_pygls.py")]
ECHO_BRIDGE = [sys.executable, "-P", str(HERE / "echo_bridge.py")]
SERVE = [sys.executable, "-P", "-m", "openbuffer.bridge", "serve"]

ECHO, ECHO_COMMAND = "pygls echo, custom request", "pygls echo, executeCommand"
OUR_ECHO, OUR_ECHO_COMMAND = "callTool Echo", "executeCommand callTool Echo"
READ, MCP = "callTool Read of 100 bytes", "MCP server, read_text_file of 100 bytes"
GIVE, BIG_READ = "pygls gives 1 MB", "callTool Read of 1 MB"
TAKE, BIG_WRITE = "pygls takes 1 MB", "callTool Write of 1 MB"
FACTOR = 1.5
CALL = "openbuffer/callTool"
SHELL_COMMAND = "workspace/executeCommand"
LINE = "x" * 490 + "\n"


async def main() -> None:
    """A table for each size, and one for each way of the big one."""
    options = parse_options(__doc__)
    with scratch_folder() as folder, ExitStack() as servers, Peers(options.peers, folder) as peers:
        pygls, echo, ours = (servers.enter_context(started(command, folder)) for command in (BARE, ECHO_BRIDGE, SERVE))

        small = folder / "small.txt"
        small.write_text("a line of text that is read\n" * 3 + "and the last one\n")
        text = "x" * 100
        read = {"name": "Read", "arguments": {"filePath": str(small)}}
        rows = [
            Row(ECHO, trip(pygls, "bench/echo", {"text": text})),
            Row(ECHO_COMMAND, trip(pygls, SHELL_COMMAND, {"command": "bench.echo", "arguments": [{"text": text}]})),
            *our_echoes(echo, text),
            Row(READ, trip(ours, CALL, read)),
            Row(MCP, functools.partial(peers.mcp, "read_text_file", {"path": str(small)}, "the last one")),
        ]
        await interleave(rows, options.rounds(40), burst=20)
        goals = [Goal(OUR_ECHO, FACTOR, ECHO), Goal(OUR_ECHO_COMMAND, FACTOR, ECHO_COMMAND), Goal(READ, FACTOR, ECHO)]
        print_table("Round trip of 100 bytes", rows, base=ECHO, goals=goals)

        text = LINE * 2_036
        rows = [
            Row(ECHO, trip(pygls, "bench/echo", {"text": text})),
            Row(ECHO_COMMAND, trip(pygls, SHELL_COMMAND, {"command": "bench.echo", "arguments": [{"text": text}]})),
            *our_echoes(echo, text),
        ]
        await interleave(rows, options.rounds(40), burst=3)
        print_table("Round trip of 1 MB, both ways", rows, base=ECHO, goals=goals[:2])

        big, target = folder / "big.txt", folder / "target.txt"
        big.write_text(text)
        whole = {"name": "Read", "arguments": {"filePath": str(big), "limit": 3_000}}
        rows = [Row(GIVE, trip(pygls, "bench/give", {"length": len(text)})), Row(BIG_READ, trip(ours, CALL, whole))]
        await interleave(rows, options.rounds(40), burst=3)
        print_table("1 MB from the server", rows, base=GIVE, goals=[Goal(BIG_READ, FACTOR, GIVE)])

        write = {"name": "Write", "arguments": {"filePath": str(target), "content": text}}
        rows = [Row(TAKE, trip(pygls, "bench/take", {"text": text})), Row(BIG_WRITE, trip(ours, CALL, write))]
        await interleave(rows, options.rounds(40), burst=3)
        print_table("1 MB to the server", rows, base=TAKE, goals=[Goal(BIG_WRITE, FACTOR, TAKE)])


def started(command: Sequence[str], folder: Path) -> Server:
    """A server that has shaken hands."""
    server = Server(command, folder)
    server.initialize()
    return server


def our_echoes(server: Server, text: str) -> list[Row]:
    """The same call by both doors."""
    call = {"name": "Echo", "arguments": {"text": text}}
    command = {"command": "openbuffer.callTool", "arguments": [call]}
    return [
        Row(OUR_ECHO, trip(server, CALL, call)),
        Row(OUR_ECHO_COMMAND, trip(server, SHELL_COMMAND, command)),
    ]


def trip(server: Server, method: str, params: dict[str, Any]) -> Callable[[], Awaitable[float]]:
    """One request, one answer that is no failure."""

    async def once() -> float:
        seconds, result = server.request(method, params)
        if not isinstance(result, list) and result.get("isError"):  # pygls makes lists of some echoes
            raise NotMeasuredError(f"failed: {result}"[:100])
        return seconds

    return once


if __name__ == "__main__":
    asyncio.run(main())
