"""A server like ``openbuffer serve``, whose tools do what no built-in tool should; for the tests of the bridge.

python tool_server.py [listen=ADDRESS] [token_file=PATH] [outgoing_max_bytes=N] [outgoing_stall_s=X.X]
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
import time
from asyncio.subprocess import DEVNULL
from pathlib import Path
from typing import Any

import anyio.to_thread
from openbuffer.bridge.server import serve_socket, serve_stdio
from openbuffer.tools.contract import FunctionTool, ToolContext, ToolResult, create_function_tool
from openbuffer.tools.support.blocking import run_blocking

Arguments = dict[str, Any]

_CHILD = """
import json, os, sys
print("from a child", sys.stdin.read())
links = {}
for number in os.listdir("/proc/self/fd"):
    try:
        links[number] = os.readlink("/proc/self/fd/" + number)
    except FileNotFoundError:
        pass
json.dump(links, sys.stderr)
"""


class PlainExecutor:
    """Finds the tool and runs it; the pipeline has tests of its own."""

    def __init__(self, tools: tuple[FunctionTool, ...]) -> None:
        self.tools = tools

    async def call(self, name: str, arguments: object, context: ToolContext) -> ToolResult:
        tool = next(tool for tool in self.tools if tool.name == name)
        return await tool.execute(arguments, context)


class Misdeeds:
    """One tool per public method."""

    def __init__(self, editor: Any) -> None:
        self._editor = editor
        self._log: list[str] = []
        self._running = self._most = 0
        self._gate = asyncio.Event()

    async def echo(self, arguments: Arguments) -> Any:
        return arguments

    async def kinds(self, arguments: Arguments) -> Any:
        return len({type(item) for item in arguments["items"]})

    async def text(self, arguments: Arguments) -> Any:
        """The document as it was when the call came, told after others had their turn."""
        before = self._editor().document(arguments["path"])
        if arguments.get("hold"):
            await self._gate.wait()
        else:
            await anyio.to_thread.run_sync(time.sleep, 0)
        return None if before is None else {"version": before.version, "text": before.text}

    async def hold(self, arguments: Arguments) -> Any:
        gate = self._gate
        self._running += 1
        self._most = max(self._most, self._running)
        try:
            await gate.wait()
        finally:
            self._running -= 1
            self._log.append(f"stopped {arguments.get('tag')}")
        return "released"

    async def let_go(self, _arguments: Arguments) -> Any:
        self._gate.set()
        self._gate = asyncio.Event()
        reached, self._most = self._most, 0
        return {"most": reached}

    async def slow_to_stop(self, arguments: Arguments, context: ToolContext) -> Any:
        """Work in a thread that stops, once cancelled, only when a file says so."""

        def work() -> None:
            Path(arguments["started"]).touch()
            while not Path(arguments["may_stop"]).exists():
                time.sleep(0.005)
            self._log.append("thread stopped")

        await run_blocking(context.cancellation, work)

    async def told(self, _arguments: Arguments) -> Any:
        return list(self._log)

    async def hang_in_thread(self, arguments: Arguments) -> Any:
        threading.Thread(target=threading.Event().wait, daemon=False).start()
        return arguments

    async def hang_loop(self, arguments: Arguments) -> Any:
        """As a look at a disk would that does not answer."""
        Path(arguments["started"]).touch()  # noqa: ASYNC240  see above
        threading.Event().wait()

    async def hang_uncancellable(self, arguments: Arguments) -> Any:
        await anyio.Path(arguments["started"]).touch()
        with anyio.CancelScope(shield=True):
            await anyio.sleep_forever()

    async def raises(self, arguments: Arguments) -> Any:
        kinds = {"exit": SystemExit, "interrupt": KeyboardInterrupt, "error": ValueError, "memory": MemoryError}
        raise {**kinds, "base": BaseException}[arguments["what"]]("on purpose")

    async def not_json(self, arguments: Arguments) -> Any:
        loop: list[Any] = []
        loop.append(loop)
        values = {"object": object(), "nan": float("nan"), "loop": loop, "set": {1}, "half": "a\ud800b"}
        return values[arguments["what"]]

    async def big(self, arguments: Arguments) -> Any:
        return "x" * arguments["bytes"]

    async def touch(self, arguments: Arguments) -> Any:
        Path(arguments["path"]).touch()  # noqa: ASYNC240  nothing else may run before it is done

    async def child(self, arguments: Arguments) -> Any:
        """A child that is ended with the call, however that ends."""
        child = await asyncio.create_subprocess_exec("sleep", "60", stdout=DEVNULL, stderr=DEVNULL)
        try:
            await anyio.Path(arguments["started"] + "~").write_text(str(child.pid))
            await anyio.Path(arguments["started"] + "~").rename(arguments["started"])
            await self._gate.wait()
        finally:
            child.kill()
            with anyio.CancelScope(shield=True):
                await child.wait()

    async def prints(self, _arguments: Arguments) -> Any:
        print("a stray print")
        os.write(1, b"a stray write\n")
        child = [sys.executable, "-I", "-c", _CHILD]
        done = await anyio.to_thread.run_sync(
            lambda: subprocess.run(child, check=True, stderr=subprocess.PIPE, close_fds=False)
        )
        return json.loads(done.stderr)

    async def progress(self, arguments: Arguments, context: ToolContext) -> Any:
        port = context.progress
        if port is None:
            return "no progress wanted"

        def work() -> None:
            for number in range(arguments["reports"]):
                port.report(f"step {number}", percentage=number)

        await anyio.to_thread.run_sync(work)
        if arguments.get("hold"):
            await self.hold(arguments)
        return "reported"

    async def logs(self, arguments: Arguments) -> Any:
        for number in range(arguments["lines"]):
            logging.getLogger("flood").error("line %d %s", number, "y" * 500)
        return "logged"


def executor(_roots: tuple[str, ...], editor: Any) -> PlainExecutor:
    """The misdeeds as tools."""
    misdeeds = Misdeeds(editor)
    names = [name for name in vars(Misdeeds) if not name.startswith("_")]
    made = (create_function_tool(name, "A tool.", {"type": "object"}, getattr(misdeeds, name)) for name in names)
    return PlainExecutor(tuple(made))


_TEXTS = {"listen": str, "token_file": Path}

if __name__ == "__main__":
    options: dict[str, Any] = {}
    for option in sys.argv[1:]:
        key, _, value = option.partition("=")
        options[key] = _TEXTS[key](value) if key in _TEXTS else float(value) if "." in value else int(value)
    address = options.pop("listen", None)
    sys.exit(serve_stdio(executor, **options) if address is None else serve_socket(address, executor, **options))
