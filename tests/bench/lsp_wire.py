"""The smallest LSP client that can measure: a process, two pipes, whole frames, nothing else.

It is the same for every server, and its own cost is kept small, because it is part of both sides of every ratio and
so would hide a difference: a frame is made before the clock starts, and the JSON of the answer is not parsed while it
runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

_CHUNK = 1 << 20


class Server:
    """A language server over stdio, ended by ``exit`` and, should that not help, by force."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._folder = folder
        self._number = 0
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.request("shutdown", None)
            self._write(frame({"jsonrpc": "2.0", "method": "exit"}))
            self._process.wait(5)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self._process.kill()
        self._process.communicate()

    def initialize(self) -> Any:
        """The handshake of a plain client with one workspace folder."""
        uri = self._folder.as_uri()
        params = {
            "processId": os.getpid(),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": "bench"}],
            "capabilities": {"workspace": {"applyEdit": True, "workspaceFolders": True}},
        }
        _, answer = self.request("initialize", params)
        self._write(frame({"jsonrpc": "2.0", "method": "initialized", "params": {}}))
        return answer

    def request(self, method: str, params: Any) -> tuple[float, Any]:
        """Seconds of the round trip, and the result."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method}
        if params is not None:
            message["params"] = params
        data = frame(message)
        start = time.perf_counter()
        self._write(data)
        body = self._read()
        seconds = time.perf_counter() - start
        answer = json.loads(body)
        while answer.get("id") != self._number or "method" in answer:
            # Something the server wanted of its own accord: answered, and the time goes on, since it waited for it.
            if "id" in answer:
                self._write(frame({"jsonrpc": "2.0", "id": answer["id"], "result": None}))
            answer = json.loads(self._read())
            seconds = time.perf_counter() - start
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return seconds, answer["result"]

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._in, view) :]

    def _read(self) -> bytes:
        data = bytearray(self._rest)
        while (end := data.find(b"\r\n\r\n")) == -1:
            data += self._more()
        header = bytes(data[:end]).lower()
        size = end + 4 + int(header.split(b"content-length:")[1].split(b"\r\n")[0])
        while len(data) < size:
            data += self._more()
        self._rest = bytes(data[size:])
        return bytes(data[end + 4 : size])

    def _more(self) -> bytes:
        chunk = os.read(self._out, _CHUNK)
        if not chunk:
            raise EOFError("the server ended")
        return chunk


def frame(message: Mapping[str, Any]) -> bytes:
    """One message as it goes over the wire."""
    body = json.dumps(message, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
