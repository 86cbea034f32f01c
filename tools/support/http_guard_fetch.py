"""One fetch: hop by hop, each admitted and guarded, its body bounded before and after decompression, all in one time.

Imported when the first page is fetched, since it needs httpx.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol

import anyio
import anyio.lowlevel
import httpx

from ..errors import PermissionDeniedError
from ..limits import MIB, WEB_CONNECT_TIMEOUT_S, WEB_HEAD_MAX_BYTES
from .http_guard import LOCATION, GuardedTransport, Received, system_resolver
from .http_guard_errors import (
    BrokenAnswerError,
    ConnectFailedError,
    RedirectRefusedError,
    WebFailure,
    WebTimeoutError,
    WebTooLargeError,
)
from .http_guard_settings import Allowances
from .http_guard_urls import check_target, is_same_origin, redirected_target
from .located import printable

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from ..contract import Admission, Target, UrlTarget
    from ..ports import ProgressPort
    from .http_guard import Resolver
    from .http_guard_settings import WebSettings

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_FRAMING_BYTES: Final = 256 * 1024
_FAILURE_BODY_BYTES: Final = 256 * 1024
_PIECE_BYTES: Final = MIB
_ACCEPT: Final = "text/html, text/markdown, application/xhtml+xml, application/json, text/*;q=0.9, */*;q=0.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What came in the end. ``hops`` are all targets, the asked one first and the one that answered last.

    ``body`` is decompressed; ``is_whole`` is false where only its beginning was taken, or nothing (a type that nobody
    reads). ``dropped_headers`` tells that what the call set was not sent to the last hop.
    """

    hops: tuple[UrlTarget, ...]
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    is_whole: bool = True
    dropped_headers: bool = False

    @property
    def target(self) -> UrlTarget:
        """What answered."""
        return self.hops[-1]

    def answered_alone(self) -> Fetched:
        """The same as if its last hop had been asked at once."""
        return replace(self, hops=self.hops[-1:])

    @property
    def status_text(self) -> str:
        """Such as ``404 Not Found``."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)

    @property
    def content_type(self) -> str:
        """The media type, without its parameters; empty where none is told."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Fetching(Protocol):
    """``fetch``, for those who import it late."""

    async def __call__(
        self,
        target: UrlTarget,
        headers: Mapping[str, str],
        *,
        settings: WebSettings,
        tls: ssl.SSLContext,
        resolve: Resolver | None,
        admit: Admission,
        is_wanted: Callable[[str], bool],
        progress: ProgressPort | None = None,
    ) -> Fetched:
        """See there."""
        ...


async def fetch(
    target: UrlTarget,
    headers: Mapping[str, str],
    *,
    settings: WebSettings,
    tls: ssl.SSLContext,
    resolve: Resolver | None,
    admit: Admission,
    is_wanted: Callable[[str], bool],
    progress: ProgressPort | None = None,
) -> Fetched:
    """Fetch what has been admitted. ``is_wanted`` says by the media type whether a body is read at all.

    ``resolve`` looks names up, None as this system does.

    Raises:
        WebFailure: nothing came, or something that is not taken; which class says why.
        PermissionDeniedError: the gate said no to where a redirect leads.
    """
    with anyio.move_on_after(settings.timeout_s) as scope:

        async def admit_untimed(targets: Sequence[Target], /) -> None:
            left = scope.deadline - anyio.current_time()
            scope.deadline = float("inf")  # somebody may have to be asked, and takes the time that it takes
            await admit(targets)
            scope.deadline = anyio.current_time() + left

        received = Received()
        transport = GuardedTransport(settings, tls, resolve or system_resolver, received)
        timeout = httpx.Timeout(settings.timeout_s, connect=WEB_CONNECT_TIMEOUT_S)
        async with httpx.AsyncClient(transport=transport, trust_env=False, timeout=timeout) as client:
            walk = _Walk(client, transport, received, settings, admit_untimed, is_wanted, progress)
            return await walk.follow(target, dict(headers))
    raise WebTimeoutError(
        f"{printable(target.url)}: not done within {settings.timeout_s:g} seconds, and given up. Try again later, or "
        "fetch something smaller."
    )


class _Walk:
    def __init__(
        self,
        client: httpx.AsyncClient,
        transport: GuardedTransport,
        received: Received,
        settings: WebSettings,
        admit: Admission,
        is_wanted: Callable[[str], bool],
        progress: ProgressPort | None,
    ) -> None:
        self._progress = progress
        self._client = client
        self._transport = transport
        self._received = received
        self._settings = settings
        self._admit = admit
        self._is_wanted = is_wanted
        self._allowances = Allowances(settings)

    async def follow(self, target: UrlTarget, headers: dict[str, str]) -> Fetched:
        hops = [target]
        had_headers = bool(headers)
        while True:
            target = hops[-1]
            check_target(target, self._settings, self._allowances)
            answer = await self._one(target, headers)
            if isinstance(answer, _Answer):
                return Fetched(
                    hops=tuple(hops),
                    status=answer.status,
                    headers=answer.headers,
                    body=bytes(answer.body),
                    is_whole=answer.is_whole,
                    dropped_headers=had_headers and not headers,
                )
            onward = self._onward(hops, answer)
            if not _may_share_headers(target, onward):
                headers = {}
            if (onward.host, onward.port) not in {(hop.host, hop.port) for hop in hops} and not _is_upgrade(
                target, onward
            ):
                await self._admitted(target, onward)
            hops.append(onward)

    def _onward(self, hops: list[UrlTarget], location: str) -> UrlTarget:
        source = printable(hops[-1].url)
        try:
            onward = redirected_target(hops[-1], location)
        except WebFailure as error:
            raise RedirectRefusedError(
                f"{source}: it redirects to what is not fetched. {error} Where it led has not been asked."
            ) from None
        if hops[-1].url.startswith("https:") and not onward.url.startswith("https:"):
            raise RedirectRefusedError(
                f"{source}: it redirects from https to {printable(onward.url)}, which would not be secure, and is not "
                "followed. If that page is wanted all the same, fetch it by its own URL."
            )
        if len(hops) > self._settings.max_redirects:
            raise RedirectRefusedError(
                f"{printable(hops[0].url)}: it redirects more than {self._settings.max_redirects} times, the last time "
                f"from {source} to {printable(onward.url)}. Fetch another URL."
            )
        return onward

    async def _admitted(self, source: UrlTarget, onward: UrlTarget) -> None:
        try:
            await self._admit((onward,))
        except PermissionDeniedError as error:
            raise PermissionDeniedError(
                f"{printable(source.url)} redirects to {printable(onward.url)}, which was not asked. {error}",
                reason=error.reason,
            ) from error

    async def _one(self, target: UrlTarget, headers: Mapping[str, str]) -> _Answer | str:
        """The answer of one hop, or where it redirects to."""
        self._transport.about(target)
        shown = printable(target.url)
        self._received.expect(
            WEB_HEAD_MAX_BYTES + _FRAMING_BYTES,
            f"{shown}: what the server sends before the page is over {WEB_HEAD_MAX_BYTES} bytes. Fetch another URL.",
        )
        own = {"user-agent": self._settings.user_agent, "accept": _ACCEPT}
        request = self._client.build_request(
            target.method, target.url, headers={**own, **headers, "accept-encoding": "gzip, identity"}
        )
        try:
            response = await self._client.send(request, stream=True, follow_redirects=False)
            try:
                location = response.extensions[LOCATION]
                if response.status_code in _REDIRECTS and location:
                    return location
                return await self._read(target, response)
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            raise _failure(shown, error) from error

    async def _read(self, target: UrlTarget, response: httpx.Response) -> _Answer:
        answer = _Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()})
        failed = answer.status >= HTTPStatus.MULTIPLE_CHOICES
        told = answer.headers.get("content-type", "").rpartition(",")[2].strip()  # where there are several, the last
        answer.headers["content-type"] = told
        if not self._is_wanted(told.partition(";")[0].strip().lower()):
            answer.is_whole = False
            return answer
        most = min(_FAILURE_BODY_BYTES, self._settings.max_bytes) if failed else self._settings.max_bytes
        shown = printable(target.url)
        too_large = WebTooLargeError(
            f"{shown}: the page has more than {most} bytes, which is the most that is taken. Fetch a smaller part of "
            "it, if the site has such a thing."
        )
        size = answer.headers.get("content-length", "")
        if not failed and size.isascii() and size.isdigit() and int(size[:20]) > most:
            raise too_large
        self._received.expect(self._settings.max_bytes + _FRAMING_BYTES, str(too_large))
        try:
            async for piece in _decompressed(shown, response):
                answer.body += piece
                self._tell(response.num_bytes_downloaded, size)
                if len(answer.body) > most:
                    if not failed:
                        raise too_large
                    del answer.body[most:]
                    answer.is_whole = False
                    break
        except BrokenAnswerError:
            if not failed:
                raise
            answer.is_whole = False  # the status says more than its page could
        return answer

    def _tell(self, came: int, size: str) -> None:
        """Report how much of a body has come; ``size`` is the header that may tell how much there is."""
        if self._progress is None:
            return
        whole = int(size[:20]) if size.isascii() and size.isdigit() else 0
        if whole:
            self._progress.report(f"{came} of {whole} bytes have come", percentage=min(100, came * 100 // whole))
        else:
            self._progress.report(f"{came} bytes have come")


@dataclass(slots=True)
class _Answer:
    status: int
    headers: dict[str, str]
    body: bytearray = field(default_factory=bytearray)
    is_whole: bool = True


async def _decompressed(shown: str, response: httpx.Response) -> AsyncIterator[bytes]:
    """The body in pieces of a bounded size, however much a compressed one would become."""
    told = response.headers.get("content-encoding", "").lower().split(",")
    coding = ", ".join(each.strip() for each in told if each.strip() not in {"", "identity"})
    if not coding:
        async for part in response.aiter_raw():
            yield part
        return
    if coding not in {"gzip", "x-gzip"}:
        raise BrokenAnswerError(
            f"{shown}: the answer is compressed as {printable(coding[:100])}, which was not asked for and cannot be "
            "read. Fetch another URL."
        )
    inflating, anything = zlib.decompressobj(31), False
    try:
        async for part in response.aiter_raw():
            while part:
                anything = True
                if inflating.eof:
                    if not part.startswith(b"\x1f"):
                        break  # padding behind the end, which readers of gzip pass over
                    inflating = zlib.decompressobj(31)
                yield inflating.decompress(part, _PIECE_BYTES)
                part = inflating.unused_data if inflating.eof else inflating.unconsumed_tail  # noqa: PLW2901  the rest
                await anyio.lowlevel.checkpoint()  # a small part may become a large one, and others want to go on
        yield inflating.flush()
    except zlib.error as error:
        raise BrokenAnswerError(f"{shown}: the answer is damaged; it is no gzip ({error}). Try again.") from error
    if anything and not inflating.eof:
        raise BrokenAnswerError(f"{shown}: the compressed answer was cut off before its end. Try again.")


def _may_share_headers(source: UrlTarget, onward: UrlTarget) -> bool:
    return is_same_origin(source, onward) or _is_upgrade(source, onward)


def _is_upgrade(source: UrlTarget, onward: UrlTarget) -> bool:
    """From http to https at the same host, which asks for nothing new and gives less away."""
    return source.host == onward.host and (source.port, onward.port) == (80, 443) and onward.url.startswith("https:")


def _failure(shown: str, error: httpx.HTTPError) -> WebFailure:
    if isinstance(error, httpx.TimeoutException):
        return WebTimeoutError(f"{shown}: the server has not answered in time. Try again later.")
    if isinstance(error, httpx.ProxyError):
        return ConnectFailedError(f"{shown}: the proxy of the web did not connect ({printable(str(error))}).")
    if isinstance(error, httpx.NetworkError):
        return ConnectFailedError(f"{shown}: the connection broke before the answer was whole. Try again.")
    return BrokenAnswerError(
        f"{shown}: what came is no whole answer in HTTP ({printable(str(error)[:200])}). Check host and port; if they "
        "are right, try again."
    )
