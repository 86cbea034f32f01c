"""Patterns of hosts: ``docs.python.org``, ``*.example.org`` (any host below it), ``*``."""

from __future__ import annotations

import re
from typing import Final

from ..support.http_guard_errors import UrlRefusedError


class DomainPatternError(ValueError):
    """The text is no pattern of hosts; it says what is expected."""


class DomainPattern:
    """One pattern; case does not count, nor a dot at the end.

    Raises:
        DomainPatternError: it is none.
    """

    def __init__(self, text: str) -> None:
        text = text.strip()
        self._any = text == "*"
        self._below = text.startswith("*.")
        self._host = "" if self._any else _host_of(text.removeprefix("*."))
        if self._below and self._host.startswith("["):
            raise DomainPatternError(_EXPECTED)

    def matches(self, host: str) -> bool:
        """Whether it means this host; ``*.example.org`` does not mean example.org itself."""
        plain = _plain(host)
        return self._any or (plain.endswith(f".{self._host}") if self._below else plain == self._host)

    def denies(self, host: str) -> bool:
        """The same for a rule that restricts: what is below a host is meant with it."""
        plain = _plain(host)
        return self._any or plain == self._host or plain.endswith(f".{self._host}")


_EXPECTED: Final = "expected is a host such as docs.python.org, *.example.org, or [::1]; no URL, no port"


def _host_of(text: str) -> str:
    """The host in the spelling that targets have.

    Raises:
        DomainPatternError: it is none.
    """
    from ..support.http_guard_urls import url_target  # noqa: PLC0415  most rules name no host

    try:
        target = url_target(f"http://{text.rstrip('.')}/")
    except UrlRefusedError:
        raise DomainPatternError(_EXPECTED) from None
    if target.url != f"http://{target.host}/" or re.search(r":\d*$|[/?#@\s]", text.rpartition("]")[2]):
        raise DomainPatternError(_EXPECTED)  # there is more to it than a host
    return target.host


def _plain(host: str) -> str:
    host = host.strip().rstrip(".").lower()
    try:
        return host if host.isascii() else _host_of(host)
    except DomainPatternError:
        return host
