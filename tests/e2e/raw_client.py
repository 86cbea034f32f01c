"""A server process and raw frames: what a test needs to be a client that is slow, broken or lying.

    async with RawClient.start() as client:
        await client.initialize(root=tmp_path)
        client.send_bytes(b"anything")
        answer = await client.request("openbuffer/callTool", {"name": "Read", "arguments": {...}})

Every wait has a deadline. What was started is ended by its pid. Everything that comes is kept in ``received``.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

SERVER = (sys.executable, "-P", "-m", "openbuffer.bridge", "serve")
DEADLINE_S = 20.0
"""Any single answer; a deadline that passes is a failure, so it is generous for a busy machine."""

Message = dict[str, Any]

LATER: Any = object()
"""What a handler of ``on_request`` returns for a request that the test answers, or nobody."""


def frame(message: object) -> bytes:
    """One well-formed frame."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class RawClient:
    """The client's side of one server process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.received: list[Message] = []
        self.stderr = bytearray()
        self.on_request: dict[str, Callable[[Any], Any]] = {}
        """Answers to the server's requests, by method; a raised exception becomes an error answer.

        What has none here is left for the test to answer, but for dialogs, which this client then does not know.
        """
        self._ids = itertools.count(1)
        self._came = asyncio.Condition()
        self._reading = False
        self._tasks: list[asyncio.Task[None]] = []
        self.broken: BaseException | None = None
        """What was wrong with the server's output, if anything but frames came."""
        self.may_break = False
        """Whether that is no failure of the test."""

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        command: Sequence[str] = SERVER,
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        read: bool = True,
    ) -> AsyncIterator[RawClient]:
        """Start a server; ``read=False`` is a client that never looks at what the server writes."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        client = cls(process)
        client._tasks.append(asyncio.create_task(client._drain_stderr()))
        if read:
            client.start_reading()
        try:
            yield client
        finally:
            await client._end()

    def start_reading(self) -> None:
        """Read from now on."""
        self._reading = True
        self._tasks.append(asyncio.create_task(self._read()))

    # --- out ---------------------------------------------------------------------------------------------------

    def send_bytes(self, data: bytes) -> None:
        """Any bytes at all."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, message: object) -> None:
        """One frame."""
        self.send_bytes(frame(message))

    def notify(self, method: str, params: object = None) -> None:
        """A notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: object = None, **more: Any) -> int:
        """Send a request and do not wait; returns its id."""
        request_id = next(self._ids)
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params, **more}
        if params is None:
            del message["params"]
        self.send(message)
        return request_id

    def close_stdin(self) -> None:
        """End of input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    # --- in ----------------------------------------------------------------------------------------------------

    async def request(self, method: str, params: object = None) -> Message:
        """Send a request and return the whole answer."""
        return await self.answer(self.ask(method, params))

    async def answer(self, request_id: object) -> Message:
        """The answer of this id."""
        return await self.expect(lambda m: "method" not in m and m.get("id") == request_id and "id" in m)

    async def expect(self, wanted: Callable[[Message], bool], *, since: int = 0) -> Message:
        """The first wanted message, of those ``since`` that index of ``received`` or to come."""
        seen = since
        async with asyncio.timeout(DEADLINE_S), self._came:
            while True:
                for message in self.received[seen:]:
                    if wanted(message):
                        return message
                seen = len(self.received)
                if self._tasks[-1].done():
                    raise EOFError(f"the server's output ended; {self.broken!r}; stderr: {self.stderr.decode()}")
                await self._came.wait()

    def answers(self, request_id: object) -> list[Message]:
        """Every answer of this id so far."""
        return [m for m in self.received if "method" not in m and "id" in m and m["id"] == request_id]

    async def exit_code(self) -> int:
        """Wait for the server's end."""
        async with asyncio.timeout(DEADLINE_S):
            if not self._reading:
                await self._ended_unread()
            return await self.process.wait()

    async def drained(self) -> None:
        """Wait until the server has ended its output and all of it is in ``received``."""
        await asyncio.wait([self._tasks[-1]], timeout=DEADLINE_S)

    # --- whole conversations -----------------------------------------------------------------------------------

    async def initialize(
        self, root: str | Path | None = None, *, capabilities: object = None, **params: Any
    ) -> Message:
        """``initialize`` and ``initialized``; returns the result."""
        given = {
            "processId": None,
            "rootUri": None if root is None else Path(root).as_uri(),
            "capabilities": capabilities if capabilities is not None else {"workspace": {"applyEdit": True}},
            **params,
        }
        answer = await self.request("initialize", given)
        self.notify("initialized", {})
        return answer["result"]

    async def call(self, name: str, arguments: object = None, **params: Any) -> Message:
        """``openbuffer/callTool``; returns the result."""
        return (await self.request("openbuffer/callTool", {"name": name, "arguments": arguments or {}, **params}))[
            "result"
        ]

    async def alive(self) -> bool:
        """Whether the server still answers."""
        answer = await self.request("test/no-such-method")
        return answer["error"]["code"] in {-32601, -32002}

    async def leave(self) -> int:
        """``shutdown`` and ``exit``; returns the exit code."""
        assert (await self.request("shutdown"))["result"] is None
        self.notify("exit")
        return await self.exit_code()

    # --- inside ------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            while (message := await self._frame()) is not None:
                self.received.append(message)
                if "method" in message and "id" in message:
                    self._serve(message)
                async with self._came:
                    self._came.notify_all()
        except Exception as error:  # noqa: BLE001  kept, and raised when the test ends
            self.broken = error
        finally:
            asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(self._wake()))

    async def _wake(self) -> None:
        async with self._came:
            self._came.notify_all()

    async def _frame(self) -> Message | None:
        assert self.process.stdout is not None
        length = None
        while line := await self.process.stdout.readline():
            if line == b"\r\n":
                assert length is not None, "no Content-Length"
                return json.loads(await self.process.stdout.readexactly(length))
            name, _, value = line.partition(b":")
            assert name in {b"Content-Length", b"Content-Type"}, f"not a header: {line!r}"
            length = int(value) if name == b"Content-Length" else length
        return None

    def _serve(self, message: Message) -> None:
        handler = self.on_request.get(message["method"])
        if handler is None:
            if message["method"] == "window/showMessageRequest":
                error = {"code": -32601, "message": "unknown"}
                self.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            return
        try:
            result = handler(message.get("params"))
            if result is LATER:
                return
            reply: Message = {"result": result}
        except Exception as error:  # noqa: BLE001  whatever the test's handler raises is its answer
            reply = {"error": {"code": -32000, "message": str(error)}}
        self.send({"jsonrpc": "2.0", "id": message["id"], **reply})

    async def _ended_unread(self) -> None:
        """Wait for the end without reading; asyncio alone would wait until everything is read."""
        ended = asyncio.Event()
        descriptor = os.pidfd_open(self.process.pid)
        loop = asyncio.get_running_loop()
        loop.add_reader(descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        assert self.process.stdout is not None
        await self.process.stdout.read()

    async def _drain_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self.stderr += data

    async def _end(self) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
        transport: Any = self.process._transport  # asyncio has no public way to close the pipes
        if not self._reading or self.may_break:
            transport.get_pipe_transport(1).close()  # asyncio would wait until everything is read
        await self.process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert self.process.stdin is not None
        self.process.stdin.close()
        transport.close()
        assert self.broken is None or self.may_break, f"anything but frames came from the server: {self.broken!r}"
