"""A web of one's own on the loopback: servers that count connections and keep what they were sent, and a WebFetch."""

from __future__ import annotations

import contextlib
import functools
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
from anyio.streams.tls import TLSStream
from openbuffer.tools.builtin.web_fetch import create_web_fetch_tool
from openbuffer.tools.support.http_guard_settings import WebSettings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from openbuffer.tools.contract import FunctionTool, InvocationResult, ToolContext

SITE = "site.example"
OTHER = "other.example"


def answer(body: bytes | str = b"", status: str = "200 OK", /, **headers: str) -> bytes:
    """A whole answer; ``content_type`` becomes ``content-type``."""
    data = body.encode() if isinstance(body, str) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("content-length", str(len(data)))
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in named.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + data


def page(body: str, **headers: str) -> bytes:
    return answer(f"<!doctype html><title>T</title>{body}", content_type="text/html; charset=utf-8", **headers)


def moved(location: str, status: str = "302 Found") -> bytes:
    return answer(b"", status, location=location)


@dataclass
class Server:
    """Answers by path; a callable gets the stream and writes what it likes."""

    answers: dict[str, bytes | Callable[[anyio.abc.ByteStream], Awaitable[None]]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    connections: int = 0
    closed: anyio.Event = field(default_factory=anyio.Event)
    port: int = 0

    def url(self, path: str = "/", host: str = SITE, scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def handle(self, stream: anyio.abc.ByteStream) -> None:
        self.connections += 1
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError):
            async with stream:
                while True:
                    request = b""
                    while b"\r\n\r\n" not in request:
                        request += await stream.receive()
                    self.requests.append(request.decode("latin-1"))
                    given = self.answers.get(request.split()[1].decode(), answer("nothing", "404 Not Found"))
                    if isinstance(given, bytes):
                        await stream.send(given)
                    else:
                        await given(stream)
                        return
        self.closed.set()


@contextlib.asynccontextmanager
async def serving(*servers: Server, tls: ssl.SSLContext | None = None) -> AsyncGenerator[None]:
    async with contextlib.AsyncExitStack() as listeners, anyio.create_task_group() as tasks:
        for server in servers:
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
            listeners.push_async_callback(listener.aclose)
            server.port = listener.extra(anyio.abc.SocketAttribute.local_port)
            tasks.start_soon(listener.serve, functools.partial(_handle, server, tls))
        yield
        for _ in range(10):  # a connection that is just being accepted would be lost with its socket
            await anyio.sleep(0.002)
        tasks.cancel_scope.cancel()
    for _ in range(3):  # a transport that was closed lets go of its socket one turn later
        await anyio.lowlevel.checkpoint()


async def _handle(server: Server, tls: ssl.SSLContext | None, stream: anyio.abc.SocketStream) -> None:
    async with stream:
        if tls is None:
            await server.handle(stream)
            return
        try:
            wrapped = await TLSStream.wrap(stream, server_side=True, ssl_context=tls, standard_compatible=False)
        except (ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream):
            server.connections += 1
        else:
            await server.handle(wrapped)


def resolving(**hosts: str | Sequence[str]) -> Callable[[str, int], Awaitable[Sequence[str]]]:
    """A resolver that knows the two sites, and others by their name with ``_`` for each dot."""
    known: dict[str, Sequence[str]] = {SITE: ("127.0.0.1",), OTHER: ("127.0.0.1",)}
    for name, given in hosts.items():
        known[name.replace("_", ".")] = (given,) if isinstance(given, str) else given

    async def resolve(host: str, _port: int) -> Sequence[str]:
        await anyio.lowlevel.checkpoint()
        if host not in known:
            raise OSError(-2, "Name or service not known")
        return known[host]

    return resolve


def web_fetch(*, allowed: tuple[str, ...] = (SITE, OTHER), resolve: Any = None, **settings: Any) -> FunctionTool:
    return create_web_fetch_tool(
        settings=WebSettings(allowed_hosts=allowed, **settings), resolve=resolve or resolving()
    )


async def fetched(
    tool: FunctionTool, url: str, *, context: ToolContext | None = None, **arguments: Any
) -> InvocationResult:
    result = await tool.execute({"url": url, **arguments}, context)
    assert result.invocation is not None
    return result.invocation


async def failure(tool: FunctionTool, url: str, **arguments: Any) -> str:
    result = await fetched(tool, url, **arguments)
    assert not result.success
    assert result.error is not None
    return result.error


def body_of(result: InvocationResult) -> str:
    """What follows the head."""
    assert result.success, result.error
    return result.output.partition("\n\n")[2]


def header_of(request: str, name: str) -> str | None:
    headers: Mapping[str, str] = dict(line.split(": ", 1) for line in request.split("\r\n")[1:] if ": " in line)
    return {key.lower(): value for key, value in headers.items()}.get(name)
