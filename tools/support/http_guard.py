"""The transport of httpx that connects to checked addresses and to no others, at every hop (W1).

For each connection the host's name is looked up once, every answer is checked, and the connection goes to one of these
very addresses: a name that changes its mind in between changes nothing. Nothing of the environment is used, no proxy,
no credentials file, no key log.

Imported when the first page is fetched: httpx costs more than a start may.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import anyio
import anyio.to_thread
import certifi
import httpcore
import httpx

from ..errors import ToolDefinitionError
from ..limits import WEB_CONNECT_TIMEOUT_S
from .http_guard_errors import ConnectFailedError, NameNotFoundError, TlsFailedError, WebTooLargeError
from .http_guard_settings import Allowances
from .http_guard_urls import address_of, blocked
from .located import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable

    from ..contract import UrlTarget
    from .http_guard_addresses import Address
    from .http_guard_settings import WebSettings

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host, as text; raises OSError where there are none."""

LOCATION: Final = "location"
"""The extension of a response that has its header of this name."""

_ADDRESSES_TRIED: Final = 4
_LOOK_UPS_AT_ONCE: Final = 8


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """Look the name up as this system does. A look-up that hangs is left behind when the caller gives up."""

    def look_up() -> list[str]:
        return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]

    return await anyio.to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=_look_ups)


_look_ups: Final = anyio.CapacityLimiter(_LOOK_UPS_AT_ONCE)
"""Look-ups that hang would otherwise take the threads that all other work shares."""


def tls_context(settings: WebSettings) -> ssl.SSLContext:
    """What is trusted; blocks. Made by hand, since the ready-made one writes its keys where the environment says.

    Raises:
        ToolDefinitionError: the file of further authorities cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(certifi.where())
    if settings.authorities is not None:
        try:
            context.load_verify_locations(settings.authorities)
        except (OSError, ssl.SSLError) as error:
            raise ToolDefinitionError(
                f"{printable(settings.authorities)}: the authorities of the web cannot be read ({error})"
            ) from error
    return context


class Received:
    """Counts what one fetch receives on the network, and ends it where that is too much."""

    def __init__(self) -> None:
        self._left = 0
        self._what = ""

    def expect(self, most: int, what: str) -> None:
        """From now on, up to so many bytes; ``what`` is the failure's text."""
        self._left, self._what = most, what

    def take(self, size: int) -> None:
        """Count them; raises WebTooLargeError."""
        self._left -= size
        if self._left < 0:
            raise WebTooLargeError(self._what)


class GuardedTransport(httpx.AsyncBaseTransport):
    """The transport of one fetch, for one target after the other; ``about`` says which is under way."""

    def __init__(self, settings: WebSettings, tls: ssl.SSLContext, resolve: Resolver, received: Received) -> None:
        self._settings = settings
        self._allowances = Allowances(settings)
        self._tls = tls
        self._guard = _GuardedBackend(self._allowances, resolve, received)
        self._direct: httpcore.AsyncConnectionPool | None = None
        self._proxied: httpcore.AsyncConnectionPool | None = None

    def about(self, target: UrlTarget) -> None:
        """The target of the requests that follow."""
        self._guard.target = target

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it over a connection that the guard has made."""
        target = self._guard.target
        assert target is not None
        assert isinstance(request.stream, httpx.AsyncByteStream)
        # The gate, the guard and the wire must mean one host.
        assert request.url.raw_host.decode("ascii") == target.host.removeprefix("[").removesuffix("]")
        passed = httpcore.Request(
            method=request.method,
            url=httpcore.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        pool = await self._pool(target)
        with _as_httpx():
            response = await pool.handle_async_request(passed)
        # httpx would read where it redirects to even where it does not follow, and fail on what it cannot read.
        location = [value for name, value in response.headers if name.lower() == b"location"]
        return httpx.Response(
            status_code=response.status,
            headers=[(name, value) for name, value in response.headers if name.lower() != b"location"],
            stream=_Body(response),
            extensions={**cast("Any", response).extensions, LOCATION: _text(location[0]) if location else ""},
        )

    async def aclose(self) -> None:
        """Close every connection."""
        for pool in (self._direct, self._proxied):
            if pool is not None:
                await pool.aclose()

    async def _pool(self, target: UrlTarget) -> httpcore.AsyncConnectionPool:
        if self._settings.proxy is None or self._allowances.names_host(target.host, target.port):
            if self._direct is None:
                self._direct = httpcore.AsyncConnectionPool(ssl_context=self._tls, network_backend=self._guard)
            return self._direct
        await self._guard.check_where_it_resolves(target)
        if self._proxied is None:
            self._proxied = _proxy_pool(self._settings.proxy, self._tls, self._guard)
        return self._proxied


def _proxy_pool(proxy: str, tls: ssl.SSLContext, guard: _GuardedBackend) -> httpcore.AsyncConnectionPool:
    url = httpx.URL(proxy)
    bare = url.copy_with(username=None, password=None)
    return httpcore.AsyncHTTPProxy(
        proxy_url=str(bare),
        proxy_auth=(url.username, url.password) if url.username or url.password else None,
        ssl_context=tls,
        proxy_ssl_context=tls if url.scheme == "https" else None,
        network_backend=_ProxyBackend(guard),
    )


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Makes connections to checked addresses."""

    def __init__(self, allowances: Allowances, resolve: Resolver, received: Received) -> None:
        self._allowances = allowances
        self._resolve = resolve
        self._received = received
        # Its stub is what is there without anyio.
        self._network = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())
        self.target: UrlTarget | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002  the port's signature
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002  the port's signature
    ) -> httpcore.AsyncNetworkStream:
        """Look the host up, check all answers, and connect to the first that takes the connection."""
        target = self.target
        assert target is not None
        assert (host, port) == (target.host.removeprefix("[").removesuffix("]"), target.port)
        addresses = await self._checked(target)
        return await self.connect_to(addresses[:_ADDRESSES_TRIED], port, timeout)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Refused; nobody asks for it."""
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)

    async def check_where_it_resolves(self, target: UrlTarget) -> None:
        """Check a host that somebody else will look up; one that has no address here is left to them."""
        try:
            await self._checked(target)
        except NameNotFoundError:
            if address_of(target.host) is not None:
                raise

    async def connect_to(
        self, addresses: Sequence[str], port: int, timeout: float | None
    ) -> httpcore.AsyncNetworkStream:
        """Connect to one of these; the time is shared among them."""
        assert self.target is not None
        each_s = (timeout or WEB_CONNECT_TIMEOUT_S) / len(addresses)
        reasons: dict[str, None] = {}
        for address in addresses:
            try:
                stream = await self._network.connect_tcp(address, port, timeout=each_s)
            except httpcore.ConnectTimeout:
                reasons[f"no answer within {each_s:g} seconds"] = None
            except httpcore.ConnectError as error:
                reasons[_reason(error)] = None
            else:
                return _Stream(stream, self.target, self._received)
        raise ConnectFailedError(
            f"{printable(self.target.url)}: no connection to port {port} ({'; '.join(reasons)}). Check host and port; "
            "if they are right, the server is down or does not take connections from here."
        )

    async def _checked(self, target: UrlTarget) -> list[str]:
        literal = address_of(target.host)
        found = [str(literal)] if literal is not None else await self._looked_up(target)
        addresses: list[str] = []
        for text in found:
            address = _read_address(text)
            why = "an address that cannot be read" if address is None else ""
            if address is not None:
                why = self._allowances.why_blocked(target.host, target.port, address)
            if why:
                about = target.host if literal is not None else f"{target.host} resolves to {text}, which"
                raise blocked(target, f"{about} is {why}")
            addresses.append(str(address))
        return list(dict.fromkeys(addresses))

    async def _looked_up(self, target: UrlTarget) -> Sequence[str]:
        try:
            found = await self._resolve(target.host, target.port)
        except (OSError, UnicodeError) as error:
            found, why = (), str(getattr(error, "strerror", None) or error)
        else:
            why = "no answer has an address"
        if not found:
            raise NameNotFoundError(
                f"{printable(target.url)}: the name {target.host} was not found ({why}). Check its spelling; if it is "
                "right, there is no network or no DNS here."
            )
        return found


class _ProxyBackend(httpcore.AsyncNetworkBackend):
    """Connects to the proxy, which the configuration names, wherever that is."""

    def __init__(self, guard: _GuardedBackend) -> None:
        self._guard = guard

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002  the port's signature
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002  the port's signature
    ) -> httpcore.AsyncNetworkStream:
        """Connect to it."""
        try:
            addresses = await system_resolver(host, port)
        except OSError:
            raise ConnectFailedError(
                "the proxy of the web was not found by its name; the user has to correct it"
            ) from None
        try:
            return await self._guard.connect_to(addresses[:_ADDRESSES_TRIED], port, timeout)
        except ConnectFailedError as error:
            raise ConnectFailedError(f"the proxy of the web: {error}") from None

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that counts what it receives, and tells a failed handshake apart from other failures."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, target: UrlTarget, received: Received) -> None:
        self._stream = stream
        self._target = target
        self._received = received

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read, and count it."""
        try:
            data = await self._stream.read(max_bytes, timeout)
        except ssl.SSLError as error:  # httpcore knows those of the handshake alone
            raise httpcore.ReadError(_tls_reason(error)) from error
        self._received.take(len(data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of it."""
        try:
            await self._stream.write(buffer, timeout)
        except ssl.SSLError as error:
            raise httpcore.WriteError(_tls_reason(error)) from error

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Have the host prove who it is."""
        url = printable(self._target.url)
        try:
            stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except httpcore.ConnectTimeout:
            raise TlsFailedError(f"{url}: no answer to the TLS handshake. Try again later.") from None
        except httpcore.ConnectError as error:
            raise TlsFailedError(f"{url}: no secure connection ({_tls_reason(error)}). {_TLS_NEXT}") from None
        return _Stream(stream, self._target, self._received)

    def get_extra_info(self, info: str) -> Any:
        """What is known about the connection."""
        return self._stream.get_extra_info(info)


_TLS_NEXT: Final = (
    "Check the host's name; a certificate of an authority of one's own has to be trusted by the configuration "
    "(authorities), and a fetch without a valid certificate is not possible."
)


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        stream: AsyncIterable[bytes] = self._response.aiter_stream()
        with _as_httpx():
            async for part in stream:
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()


class _as_httpx:  # noqa: N801  reads as the verb that it is
    """What httpcore raises, as httpx names it."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if error is None:
            return
        for theirs, name in _HTTPX_NAMES:
            if isinstance(error, theirs):
                raise name(str(error)) from error


_HTTPX_NAMES: Final[tuple[tuple[type[Exception], type[httpx.TransportError]], ...]] = (
    (httpcore.TimeoutException, httpx.TimeoutException),
    (httpcore.NetworkError, httpx.NetworkError),
    (httpcore.RemoteProtocolError, httpx.RemoteProtocolError),
    (httpcore.LocalProtocolError, httpx.LocalProtocolError),
    (httpcore.ProtocolError, httpx.ProtocolError),
    (httpcore.ProxyError, httpx.ProxyError),
    (httpcore.UnsupportedProtocol, httpx.UnsupportedProtocol),
)


def _text(header: bytes) -> str:
    try:
        return header.decode()
    except UnicodeDecodeError:
        return header.decode("latin-1")


def _read_address(text: str) -> Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _causes(error: BaseException | None) -> Iterable[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> str:
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.strerror:
            # Some give the whole call in their text; what the system says of the number is enough.
            return "refused" if isinstance(cause, ConnectionRefusedError) else cause.strerror
    return str(error) or "it was closed"


def _tls_reason(error: BaseException) -> str:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not valid: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return cause.reason or str(cause)
    return "the connection was closed during the TLS handshake"
