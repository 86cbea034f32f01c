"""The secret that a client of a listening server has to know: where it comes from, and how it is compared.

It is never an argument of a command, which every user of the machine can read.
"""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TOKEN_VARIABLE: Final = "OPENBUFFER_ACCESS_TOKEN"  # noqa: S105  the name of a variable
"""A token that the user has chosen; commands never get it."""

TOKEN_MIN_CHARS: Final = 16
TOKEN_MAX_CHARS: Final = 1_024


class AccessTokenError(Exception):
    """The token cannot be used; the text says why, and never shows it."""


def given_token(environment: Mapping[str, str]) -> str | None:
    """The token of the environment; None: one is to be made.

    Raises:
        AccessTokenError: it is too short to be a secret, or not printable ASCII.
    """
    token = environment.get(TOKEN_VARIABLE, "")
    if not token:
        return None
    if not TOKEN_MIN_CHARS <= len(token) <= TOKEN_MAX_CHARS or not (token.isascii() and token.isprintable()):
        raise AccessTokenError(
            f"{TOKEN_VARIABLE} must be {TOKEN_MIN_CHARS} to {TOKEN_MAX_CHARS} printable ASCII characters, for example "
            "the output of `openssl rand -hex 32`; unset it to have one made"
        )
    return token


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


def is_token(offered: object, token: str) -> bool:
    """Whether this is the token, in a time that does not depend on how much of it is right.

    The end of the line that it had in its file may still be on it.
    """
    if not isinstance(offered, str):
        return False
    return hmac.compare_digest(offered.rstrip("\r\n").encode("utf-8", "replace"), token.encode("utf-8"))


class TokenFile:
    """A file of mode 0600 that holds the token and nothing else, as long as the server runs."""

    def __init__(self, path: Path, token: str) -> None:
        """Write it, whole or not at all; one that is there is replaced.

        Raises:
            AccessTokenError: it cannot be written.
        """
        self._path = path.absolute()
        try:
            descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=self._path.parent)  # of mode 0600
            try:
                with os.fdopen(descriptor, "w", encoding="ascii") as file:
                    file.write(f"{token}\n")
                    status = os.fstat(file.fileno())
                os.replace(temporary, self._path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError as error:
            raise AccessTokenError(f"{path}: the access token cannot be written there ({error.strerror})") from None
        self._identity = status.st_dev, status.st_ino

    def remove(self) -> None:
        """Remove it, unless another server has put its own there by now."""
        with suppress(OSError):
            status = os.lstat(self._path)
            if (status.st_dev, status.st_ino) == self._identity:
                os.unlink(self._path)
