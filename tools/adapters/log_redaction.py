"""What an event log must not keep: the values of credentials, what looks like one, and what the user's patterns match.

A secret that is written otherwise (escaped, encoded, in two pieces) is not found: this keeps a log from collecting
credentials, and is no proof that it holds none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ..limits import LOG_REDACTION_TIMEOUT_S
from ..support.byte_search import find

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REDACTED: Final = "[redacted]"
TOOK_TOO_LONG: Final = "[redacted: a pattern took too long]"

SECRET_MIN_CHARS: Final = 8
"""A shorter value is part of other words too often to be replaced everywhere."""

_SHAPES: Final = (
    (("PRIVATE KEY-----",), r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_\w{20,255}"),
    (("github_pat_",), r"\bgithub_pat_\w{20,255}"),
    (("glpat-",), r"\bglpat-[\w-]{16,255}"),
    (("sk-",), r"\bsk-[\w-]{20,255}"),
    (("xox",), r"\bxox[abeoprs]-[\w-]{8,255}"),
    (("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    (("npm_",), r"\bnpm_[A-Za-z0-9]{36}"),
    (("pypi-",), r"\bpypi-[\w-]{40,255}"),
    (("AIza",), r"\bAIza[\w-]{35}"),
    (("eyJ",), r"\beyJ[\w-]{8,300}+\.eyJ[\w-]{8,8000}+(?:\.[\w-]{0,2000}+)?"),
    (("hf_",), r"\bhf_[A-Za-z0-9]{30,255}"),
)
"""Each with words of which a text that matches has at least one: looking for those is quick."""

_CREDENTIAL_NAMES: Final = frozenset(
    {
        *("authorization", "proxy-authorization", "cookie", "set-cookie", "api-key", "apikey", "x-api-key"),
        *("x-auth-token", "x-access-token", "x-csrf-token", "x-subscription-token", "private-token"),
    }
)


def names_credential(name: str) -> bool:
    """Whether what stands under this name is a credential, whatever it looks like: request headers for one."""
    return name.lower().replace("_", "-") in _CREDENTIAL_NAMES


class Redaction:
    """Replaces what must not be kept.

    ``secrets`` are values by the name of what holds them, which is told in their place.

    Raises:
        ValueError: a pattern is no regular expression.
    """

    def __init__(self, patterns: Iterable[str] = (), secrets: Mapping[str, str] | None = None) -> None:
        self._shapes = [([word.encode() for word in words], re.compile(shape, re.DOTALL)) for words, shape in _SHAPES]
        self._patterns = [_compiled(pattern) for pattern in patterns]
        told = {secret: name for name, secret in (secrets or {}).items() if len(secret) >= SECRET_MIN_CHARS}
        # The longest first: one may be part of another.
        self._secrets = [(secret, _bytes(secret), told[secret]) for secret in sorted(told, key=len, reverse=True)]

    def text(self, text: str) -> str:
        """The text as it may be kept; the same object where nothing in it has to go."""
        data = _bytes(text)
        for secret, needle, name in self._secrets:
            if find(data, needle) >= 0:
                text = text.replace(secret, f"[redacted: {name}]")
        for words, shape in self._shapes:
            if any(find(data, word) >= 0 for word in words):
                text = shape.sub(REDACTED, text)
        for pattern in self._patterns:
            try:
                text = pattern.sub(_unless_empty, text, timeout=LOG_REDACTION_TIMEOUT_S)
            except TimeoutError:
                return TOOK_TOO_LONG
        return text

    def is_needed_in(self, content: bytes) -> bool:
        """Whether a content that can only be kept whole has something that must not be."""
        needles = [needle for _, needle, _ in self._secrets] + [word for words, _ in self._shapes for word in words]
        if not self._patterns and all(find(content, needle) < 0 for needle in needles):
            return False
        text = content.decode("utf-8", "replace")
        return self.text(text) != text


def pattern_problem(pattern: str) -> str:
    """Why this is no pattern to redact by; "" where it is one."""
    try:
        compiled = _compiled(pattern)
    except ValueError as error:
        return f"is no regular expression ({error})"
    return "matches nothing at all" if compiled.pattern == "" else ""


def _bytes(text: str) -> bytes:
    """Bytes are searched many times as fast as text."""
    return text.encode("utf-8", "surrogatepass")


def _compiled(pattern: str) -> Any:
    import regex  # noqa: PLC0415  takes long to load, and most users have no pattern

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise ValueError(str(error)) from None


def _unless_empty(match: re.Match[str]) -> str:
    return REDACTED if match[0] else ""
