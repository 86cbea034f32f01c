"""A server that listens, and connections to it: what the tests of transports need."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .raw_client import DEADLINE_S, SERVER, frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

TOOLS = (sys.executable, "-P", str(Path(__file__).with_name("tool_server.py")))
TOKEN = "a token of the tests 0123456789"


@dataclass
class Listening:
    """A server process and what it announced."""

    process: asyncio.subprocess.Process
    announced: Mapping[str, Any]
    stderr: bytearray
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def address(self) -> str:
        return self.announced["listen"]

    @property
    def token(self) -> str:
        return self.announced.get("accessToken", TOKEN)

    @property
    def reached_by(self) -> dict[str, str]:
        """The arguments of a ``BridgeClient``."""
        return {"connect": self.address, "access_token": self.token}

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection; it is closed with the server, if not before."""
        reader, writer = await self._connected()
        self.writers.append(writer)
        return reader, writer

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.address.startswith("unix:"):
            return await asyncio.open_unix_connection(self.address.removeprefix("unix:"))
        host, _, port = self.address.rpartition(":")
        return await asyncio.open_connection(host.strip("[]"), int(port))

    async def exit_code(self) -> int:
        async with asyncio.timeout(DEADLINE_S):
            return await self.process.wait()


@asynccontextmanager
async def listening(
    address: str = "127.0.0.1:0",
    *more: str,
    command: Sequence[str] = SERVER,
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Listening]:
    """Start a server and wait until it has announced itself; it is ended by its pid."""
    arguments = ("--listen", address, *more) if command is SERVER else (f"listen={address}", *more)
    process = await asyncio.create_subprocess_exec(
        *command,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})},
        start_new_session=True,
    )
    stderr = bytearray()
    writers: list[asyncio.StreamWriter] = []
    draining = asyncio.create_task(_drain(process, stderr))
    try:
        assert process.stdout is not None
        async with asyncio.timeout(DEADLINE_S):
            line = await process.stdout.readline()
        assert line, stderr.decode()
        server = Listening(process, json.loads(line), stderr)
        writers = server.writers
        yield server
    finally:
        for writer in writers:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            await process.wait()
        await draining


async def _drain(process: asyncio.subprocess.Process, into: bytearray) -> None:
    assert process.stderr is not None
    while data := await process.stderr.read(65536):
        into += data


def initialize(root: Path, token: object = TOKEN, **more: Any) -> bytes:
    """The first frame of a connection."""
    params = {"rootUri": root.as_uri(), "capabilities": {}, "initializationOptions": _options(token), **more}
    return frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})


def _options(token: object) -> object:
    return None if token is None else {"openbuffer": {"accessToken": token}}


async def answer(reader: asyncio.StreamReader) -> dict[str, Any]:
    """The next message."""
    async with asyncio.timeout(DEADLINE_S):
        header = await reader.readuntil(b"\r\n\r\n")
        return json.loads(await reader.readexactly(int(header.split(b":")[1])))


async def is_closed(reader: asyncio.StreamReader) -> bool:
    """Whether nothing more comes: the connection has ended."""
    async with asyncio.timeout(DEADLINE_S):
        try:
            return await reader.read() == b""
        except ConnectionResetError:
            return True
