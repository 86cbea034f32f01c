"""Patterns of hosts: ``docs.python.org``, ``*.example.org`` (any host below it), ``*``."""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST: Final = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_ADDRESS: Final = re.compile(r"\[[0-9a-f:.]+\]")


class DomainPatternError(ValueError):
    """The text is no pattern of hosts; it says what is expected."""


class DomainPattern:
    """One pattern; case does not count, nor a dot at the end.

    Raises:
        DomainPatternError: it is none.
    """

    def __init__(self, text: str) -> None:
        plain = _plain(text)
        self._below = plain.startswith("*.")
        self._any = plain == "*"
        self._host = plain.removeprefix("*.")
        if not (self._any or _HOST.fullmatch(self._host) or (not self._below and _ADDRESS.fullmatch(self._host))):
            raise DomainPatternError(
                "expected is a host such as docs.python.org, *.example.org, or [::1]; no URL, no port"
            )

    def matches(self, host: str) -> bool:
        """Whether it means this host; ``*.example.org`` does not mean example.org itself."""
        plain = _plain(host)
        return self._any or (plain.endswith(f".{self._host}") if self._below else plain == self._host)

    def denies(self, host: str) -> bool:
        """The same for a rule that restricts: what is below a host is meant with it."""
        plain = _plain(host)
        return self._any or plain == self._host or plain.endswith(f".{self._host}")


def _plain(text: str) -> str:
    text = text.strip().rstrip(".").lower()
    if not text.isascii():
        try:
            prefix = "*." if text.startswith("*.") else ""
            return prefix + text.removeprefix("*.").encode("idna").decode("ascii")
        except UnicodeError:
            return text
    return text
