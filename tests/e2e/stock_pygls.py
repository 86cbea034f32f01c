"""A server as pygls makes it, with the handlers of tool_server.py: the other side of every test of a wire trap.

Nothing of ours is in it: what is observed here is what the bridge would do if it used pygls as it comes.

python stock_pygls.py [streams]

``streams`` reads by asyncio streams, as pygls does for TCP, instead of in a thread.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from asyncio.subprocess import DEVNULL
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.io_ import StdoutWriter, run_async
from pygls.lsp.server import LanguageServer

THREADS = 6
"""pygls' own number on two cores, so that the tests do not depend on the machine."""

server = LanguageServer("stock", "1", max_workers=THREADS)


class Handlers:
    """One per tool; ``arguments`` are what pygls makes of an object."""

    def __init__(self) -> None:
        self._log: list[str] = []
        self._gate = asyncio.Event()

    async def echo(self, _ls: LanguageServer, arguments: Any) -> Any:
        return plain(arguments)

    async def kinds(self, _ls: LanguageServer, arguments: Any) -> Any:
        return len({type(item) for item in arguments.items})

    async def text(self, ls: LanguageServer, arguments: Any) -> Any:
        document = ls.workspace.get_text_document(Path(arguments.path).as_uri())
        if arguments.hold:
            await self._gate.wait()
        return {"version": document.version, "text": document.source}

    async def hold(self, _ls: LanguageServer, arguments: Any) -> Any:
        try:
            await self._gate.wait()
        finally:
            self._log.append(f"stopped {plain(arguments).get('tag')}")
        return "released"

    async def let_go(self, _ls: LanguageServer, _arguments: Any) -> Any:
        self._gate.set()
        self._gate = asyncio.Event()

    async def told(self, _ls: LanguageServer, _arguments: Any) -> Any:
        return list(self._log)

    async def raises(self, _ls: LanguageServer, arguments: Any) -> Any:
        raise {"error": ValueError, "base": BaseException}[arguments.what]("on purpose")

    async def not_json(self, _ls: LanguageServer, _arguments: Any) -> Any:
        return {"object": _Slotted()}

    async def big(self, _ls: LanguageServer, arguments: Any) -> Any:
        return "x" * arguments.bytes

    async def child(self, _ls: LanguageServer, arguments: Any) -> Any:
        child = await asyncio.create_subprocess_exec("sleep", "60", stdout=DEVNULL, stderr=DEVNULL)
        try:
            _write(arguments.started, str(child.pid))
            await self._gate.wait()
        finally:
            child.kill()

    async def prints(self, _ls: LanguageServer, _arguments: Any) -> Any:
        return {"0": _stdin_of_a_child()}

    async def progress(self, ls: LanguageServer, arguments: Any) -> Any:
        token = plain(arguments).get("workDoneToken")
        if token is None:
            return "no progress wanted"
        ls.work_done_progress.begin(token, types.WorkDoneProgressBegin(title="progress"))
        ls.work_done_progress.end(token, types.WorkDoneProgressEnd())
        return "reported"

    async def touch(self, _ls: LanguageServer, arguments: Any) -> Any:
        _write(arguments.path, "")

    async def Edit(  # noqa: N802  the tool's name
        self, ls: LanguageServer, _arguments: Any
    ) -> Any:
        await ls.workspace_apply_edit_async(EDIT)

    async def hang_in_thread(self, ls: LanguageServer, _arguments: Any) -> Any:
        """By the pool of threads that pygls gives to its servers."""
        ls.thread_pool.submit(threading.Event().wait)


class _Slotted:
    __slots__ = ()


def _write(path: str, text: str) -> None:
    Path(path + "~").write_text(text)
    Path(path + "~").rename(path)


def _stdin_of_a_child() -> str:
    return subprocess.check_output(["readlink", "/proc/self/fd/0"], text=True).strip()


EDIT = types.ApplyWorkspaceEditParams(edit=types.WorkspaceEdit(changes={}))
HANDLERS = Handlers()


@server.feature("openbuffer/listTools")
async def list_tools(_params: Any) -> Any:
    return {"tools": []}


@server.feature("openbuffer/callTool")
async def call_tool(ls: LanguageServer, params: Any) -> Any:
    return {"data": await getattr(HANDLERS, params.name)(ls, params.arguments)}


@server.command("openbuffer.callTool")
async def call_by_command(ls: LanguageServer, *arguments: Any) -> Any:
    return {"data": await getattr(HANDLERS, arguments[0]["name"])(ls, arguments[0]["arguments"])}


@server.feature("stock/sync")
def in_sync(ls: LanguageServer, params: Any) -> Any:
    """Handlers that are no coroutines."""
    if params.name == "Edit":
        return {"data": ls.workspace_apply_edit(EDIT).result().applied}
    raise {"exit": SystemExit, "base": BaseException}[params.arguments.what]("on purpose")


@server.feature("stock/thread")
@server.thread()
def in_thread(_ls: LanguageServer, params: Any) -> Any:
    """Handlers in pygls' own pool of threads."""
    if params.name == "big":
        return {"data": "x" * params.arguments.bytes}
    Path(params.arguments.started).touch()
    while not Path(params.arguments.may_stop).exists():
        time.sleep(0.005)
    return {"data": None}


def plain(value: Any) -> Any:
    """What pygls made of an object, with the keys that it has now."""
    if hasattr(value, "_asdict"):
        return {key: plain(item) for key, item in value._asdict().items()}
    return value


def serve_streams() -> None:
    """What ``start_tcp`` does for a connection, over the pipes."""

    async def serve() -> None:
        reader = asyncio.StreamReader(limit=1 << 20)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
        server.protocol.set_writer(StdoutWriter(sys.stdout.buffer))
        await run_async(threading.Event(), reader, server.protocol)

    asyncio.run(serve())


if __name__ == "__main__":
    if sys.argv[1:] == ["streams"]:
        serve_streams()
    else:
        server.start_io()
