"""Asks one service that the configuration names, over the guarded client: that host alone, and bounded answers.

No redirect is followed, since what is sent along is meant for this host and for no other. What the answer repeats of a
secret is taken out of it before anybody reads it.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from ..contract import CancellationToken, admit_all
from ..errors import ToolDefinitionError, ToolFailure
from .blocking import run_blocking
from .http_guard_errors import RedirectRefusedError, WebFailure, WebTooLargeError
from .http_guard_headers import check_headers
from .http_guard_settings import WebSettings
from .http_guard_urls import url_target
from .located import printable

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from ..contract import UrlTarget
    from .http_guard import Resolver
    from .http_guard_fetch import Fetched, Fetching

_SECRET_MIN_CHARS: Final = 6
"""A shorter one stands in other words, too."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAnswer:
    """What a service answered. ``data`` is what it says as JSON; with ``is_json`` False it is none."""

    status: int
    status_text: str
    headers: Mapping[str, str]
    is_json: bool
    data: Any = None


class ServiceClient:
    """Requests to one base URL, whose host is allowed by being named here, whatever addresses it has.

    A connection to a host of the configuration never goes through the proxy; with ``is_public`` it is one like any
    other of the public internet.

    Raises:
        ToolDefinitionError: no base URL that can be meant.
    """

    def __init__(
        self,
        base_url: str,
        *,
        what: str,
        max_bytes: int,
        timeout_s: float,
        settings: WebSettings | None = None,
        resolve: Resolver | None = None,
        is_public: bool = False,
    ) -> None:
        try:
            base = url_target(base_url)
        except ToolFailure as failure:
            raise ToolDefinitionError(f"the base URL of {what}: {failure}") from None
        if "?" in base_url or "#" in base_url:
            raise ToolDefinitionError(
                f"the base URL of {what} has a query or a fragment; leave out what follows ? or #"
            )
        settings = settings or WebSettings()
        self._base = base.url.rstrip("/")
        self._settings = dataclasses.replace(
            settings,
            allowed_hosts=() if is_public else (f"{base.host}:{base.port}",),
            allowed_ports=(*settings.allowed_ports, base.port),
            max_redirects=0,
            max_bytes=max_bytes,
            timeout_s=min(timeout_s, settings.timeout_s),
        )
        self._what = what
        self._resolve = resolve
        self._tls: ssl.SSLContext | None = None
        self._tls_lock = threading.Lock()

    def target(self, path: str, parameters: Mapping[str, str]) -> UrlTarget:
        """Where a request goes; no byte is sent.

        Raises:
            UrlRefusedError: it becomes too long.
        """
        return url_target(f"{self._base}{path}?{urlencode(parameters, quote_via=quote, errors='replace')}")

    async def get(
        self, target: UrlTarget, headers: Mapping[str, str], *, secrets: tuple[str, ...] = ()
    ) -> ServiceAnswer:
        """Ask by GET. ``headers`` are sent to this host alone; ``secrets`` are values in them that nobody may be told.

        Raises:
            WebFailure: no answer came, or one that is too large.
        """
        token = CancellationToken()
        fetch, tls = await run_blocking(token, self._prepared)
        checked = check_headers(headers)
        try:
            fetched = await fetch(
                target,
                {"accept": "application/json", **checked},
                settings=self._settings,
                tls=tls,
                resolve=self._resolve,
                admit=admit_all,
                is_wanted=lambda _content_type: True,
            )
        except RedirectRefusedError:
            raise RedirectRefusedError(
                f"{printable(target.url)}: {self._what} redirects to another place, which is not followed, since what "
                "is sent along is for this host alone. The user has to configure the URL where it really is."
            ) from None
        except WebTooLargeError:
            raise WebTooLargeError(
                f"{self._what} answered with more than {self._settings.max_bytes} bytes, which is the most that is "
                "taken. Search for something narrower."
            ) from None
        except WebFailure as failure:  # some show the line that they cannot read
            raise type(failure)(_without(secrets, str(failure))) from None
        return await run_blocking(token, lambda: _read(fetched, secrets))

    def _prepared(self) -> tuple[Fetching, ssl.SSLContext]:
        """Import what fetches, in a thread since that takes a while, and read whom to trust."""
        from .http_guard import tls_context  # noqa: PLC0415  the modules of the network are for those who use it
        from .http_guard_fetch import fetch  # noqa: PLC0415  see above

        with self._tls_lock:
            if self._tls is None:
                self._tls = tls_context(self._settings)
            return fetch, self._tls


def _read(fetched: Fetched, secrets: tuple[str, ...]) -> ServiceAnswer:
    headers = {name: _without(secrets, value) for name, value in fetched.headers.items()}
    data, is_json = _parsed(_without(secrets, fetched.body.decode("utf-8-sig", "replace")), secrets)
    return ServiceAnswer(
        status=fetched.status, status_text=fetched.status_text, headers=headers, is_json=is_json, data=data
    )


def _parsed(text: str, secrets: tuple[str, ...]) -> tuple[Any, bool]:
    try:
        data = json.loads(text)
        if "\\" in text:  # a secret may have been escaped
            escaped = tuple(json.dumps(secret)[1:-1] for secret in secrets)
            data = json.loads(_without(escaped, json.dumps(data, ensure_ascii=False)))
    except (ValueError, RecursionError):  # no JSON, a number of too many digits, nested too deeply
        return None, False
    return data, True


def _without(secrets: tuple[str, ...], text: str) -> str:
    for secret in secrets:
        if len(secret) >= _SECRET_MIN_CHARS:
            text = text.replace(secret, "…")
    return text
