"""The way from the headless client to its server and back: a process that it starts, or a stream to one that runs."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from anyio.abc import ByteReceiveStream, ByteStream, Process

STDERR_KEPT_BYTES: Final = 4_096
"""The tail of what the server wrote to stderr; it goes into the error when the server ends."""

_PORT_MAX: Final = 65_535
_CLOSED: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)


class ServerLink(Protocol):
    """An open connection. All of it is used by one client only."""

    @property
    def pid(self) -> int | None:
        """The process id of the server, where it is a process that this link started."""
        ...

    async def send(self, data: bytes) -> None:
        """Hand over bytes; raises anyio's BrokenResourceError or ClosedResourceError when the server takes none."""
        ...

    async def close_input(self) -> None:
        """Tell the server that nothing more comes."""
        ...

    def received(self) -> AsyncGenerator[bytes, None]:
        """What the server sends, until it ends; runs beside :meth:`watch`."""
        ...

    async def watch(self) -> None:
        """Take in what the server says beside the connection, while it lasts."""
        ...

    async def last_words(self, timeout_s: float) -> str:
        """How it ended, once nothing is received any more."""
        ...

    async def end(self, step_s: float) -> None:
        """Wait for the end, which was asked for, and bring it about where each step of that takes longer."""
        ...

    async def aclose(self) -> None:
        """Let go of what is left."""
        ...


class ServerProcess:
    """A server that runs as a process of ours and is ended with the link."""

    @classmethod
    async def start(cls, command: Sequence[str], cwd: Path | None, environment: Mapping[str, str] | None) -> Self:
        """Start it; raises OSError."""
        # Its own session: Ctrl-C on our terminal is ours to handle, and we end the server ourselves.
        return cls(await anyio.open_process(command, cwd=cwd, env=environment, start_new_session=True))

    def __init__(self, process: Process) -> None:
        self._process = process
        self._stderr = bytearray()
        self._stderr_read = anyio.Event()

    @property
    def pid(self) -> int | None:
        """Its process id."""
        return self._process.pid

    async def send(self, data: bytes) -> None:
        """See ServerLink."""
        assert self._process.stdin is not None
        await self._process.stdin.send(data)

    async def close_input(self) -> None:
        """See ServerLink."""
        assert self._process.stdin is not None
        with suppress(*_CLOSED):
            await self._process.stdin.aclose()

    def received(self) -> AsyncGenerator[bytes, None]:
        """See ServerLink."""
        assert self._process.stdout is not None
        return _chunks(self._process.stdout)

    async def watch(self) -> None:
        """Keep the tail of what it writes to stderr."""
        assert self._process.stderr is not None
        async for chunk in _chunks(self._process.stderr):
            self._stderr += chunk
            del self._stderr[:-STDERR_KEPT_BYTES]
        self._stderr_read.set()

    async def last_words(self, timeout_s: float) -> str:
        """Its exit code and what it wrote to stderr."""
        reason = "the server closed its output"
        with anyio.move_on_after(timeout_s):
            await self._stderr_read.wait()
            reason = f"the server ended with exit code {await self._process.wait()}"
        said = self._stderr.decode(errors="replace").strip()
        return f"{reason}; it said: {said}" if said else reason

    async def end(self, step_s: float) -> None:
        """Wait; then SIGTERM; then SIGKILL."""
        for push in (lambda: None, self._process.terminate, self._process.kill):
            with suppress(OSError):
                push()
            with anyio.move_on_after(step_s):
                await self._process.wait()
                break

    async def aclose(self) -> None:
        """See ServerLink."""
        await self._process.aclose()


class ServerStream:
    """A stream to a server that somebody else runs; it is closed with the link, and the server is left alone."""

    pid = None

    @classmethod
    async def connect(cls, address: str) -> Self:
        """Connect to ``HOST:PORT`` or ``unix:PATH``; raises OSError."""
        if address.startswith("unix:"):
            return cls(await anyio.connect_unix(address.removeprefix("unix:")))
        host, _, port = address.rpartition(":")
        if not (host and port.isascii() and port.isdigit() and int(port) <= _PORT_MAX):
            raise OSError(errno.EINVAL, "write HOST:PORT or unix:PATH")
        return cls(await anyio.connect_tcp(host.strip("[]"), int(port)))

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._ended = anyio.Event()

    async def send(self, data: bytes) -> None:
        """See ServerLink."""
        await self._stream.send(data)

    async def close_input(self) -> None:
        """See ServerLink."""
        with suppress(*_CLOSED, OSError):
            await self._stream.send_eof()

    async def received(self) -> AsyncGenerator[bytes, None]:
        """See ServerLink."""
        try:
            async for chunk in _chunks(self._stream):
                yield chunk
        finally:
            self._ended.set()

    async def watch(self) -> None:
        """There is nothing beside the stream."""

    async def last_words(self, timeout_s: float) -> str:  # noqa: ARG002  a stream has nothing to wait for
        """No more is known."""
        return "the server closed the connection"

    async def end(self, step_s: float) -> None:
        """Wait for the server to close its side."""
        with anyio.move_on_after(step_s):
            await self._ended.wait()

    async def aclose(self) -> None:
        """See ServerLink."""
        await self._stream.aclose()


async def _chunks(stream: ByteReceiveStream) -> AsyncGenerator[bytes, None]:
    with suppress(*_CLOSED):
        async for chunk in stream:
            yield chunk
