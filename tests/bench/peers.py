"""The named peers, each in a process of its own, kept warm, and asked over pipes.

The Python and the Node.js peers take the time around their own call and tell it: the pipe is not counted. The MCP
server is what it is, a process behind a pipe, so for it the round trip counts; that is what its clients wait for.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from measure import NotMeasuredError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

HERE = Path(__file__).resolve().parent
GEMINI = Path("node_modules/@google/gemini-cli-core/dist/src")
MCP_FILES = Path("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")


class JsonLines:
    """A child process that answers one line of JSON with one line of JSON; ended with the bench."""

    def __init__(self, command: list[str]) -> None:
        # What a peer logs is not ours to read, and an unread pipe would block it.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send one line, wait for one line."""
        self.tell(message)
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise NotMeasuredError("ended without an answer")
        return json.loads(line)

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send one line."""
        stdin = _pipe(self._process.stdin)
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


class Peers:
    """Starts a peer when it is first asked for. Use as a context manager: it ends them all."""

    def __init__(self, folder: Path | None, workspace: Path) -> None:
        self._folder = folder
        self._workspace = workspace
        self._running: dict[str, JsonLines] = {}
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        """Nothing is started yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every peer that was started."""
        self._exits.close()

    async def python(self, peer: str, work: Mapping[str, Any]) -> float:
        """Seconds that a Python peer took for ``work``."""
        return self._told(self._worker(peer, self._python_command(peer)), work)

    async def gemini(self, work: Mapping[str, Any]) -> float:
        """Seconds that gemini-cli's own tool took for ``work``."""
        library = self._installed(GEMINI)
        command = ["node", str(HERE / "peer_gemini.mjs"), str(library), str(self._workspace)]
        return self._told(self._worker("gemini", command), work)

    async def mcp(self, tool: str, arguments: Mapping[str, Any], expect: str = "") -> float:
        """Seconds of one ``tools/call`` round trip to the MCP filesystem server."""
        server = self._installed(MCP_FILES)
        fresh = "mcp" not in self._running
        worker = self._worker("mcp", ["node", str(server), str(self._workspace)])
        if fresh:
            _mcp_handshake(worker)
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        start = time.perf_counter()
        answer = worker.ask(request)
        seconds = time.perf_counter() - start
        text = answer["result"]["content"][0]["text"] if "result" in answer else str(answer["error"])
        if "error" in answer or answer["result"].get("isError"):
            raise NotMeasuredError(f"refuses: {text[:100]}")
        if expect not in text:
            raise NotMeasuredError("answered something else")
        return seconds

    def _worker(self, name: str, command: list[str]) -> JsonLines:
        if name not in self._running:
            try:
                worker = JsonLines(command)
            except FileNotFoundError:
                raise NotMeasuredError(f"not installed ({command[0]} is missing)") from None
            self._exits.callback(worker.close)
            self._running[name] = worker
        return self._running[name]

    def _python_command(self, peer: str) -> list[str]:
        return [str(self._installed(Path("bin/python"))), str(HERE / "peer_worker.py"), peer, str(self._workspace)]

    def _installed(self, what: Path) -> Path:
        if self._folder is None or not (self._folder / what).exists():
            raise NotMeasuredError("not installed")
        return self._folder / what

    @staticmethod
    def _told(worker: JsonLines, work: Mapping[str, Any]) -> float:
        answer = worker.ask(work)
        if "seconds" not in answer:
            raise NotMeasuredError(answer["reason"])
        return answer["seconds"]


def _mcp_handshake(worker: JsonLines) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    worker.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    worker.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        sys.exit("the peer's process has no pipe")
    return stream
