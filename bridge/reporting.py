"""Which call reports under which token, and how the user's cancelling at a progress bar finds its call."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio

from .progress import LateProgress, WorkDoneProgress

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from openbuffer.tools.ports import ProgressPort

    from .protocol import ProgressToken

CREATE_PROGRESS: Final = "window/workDoneProgress/create"


class Reporting:
    """The progress of a session's calls.

    ``send`` takes the params of ``$/progress``. ``create`` asks the client to take a token of ours; None for a client
    that takes none: there only calls that come with a token report.
    """

    def __init__(
        self, send: Callable[[dict[str, Any]], None], create: Callable[[str], Awaitable[object]] | None = None
    ) -> None:
        self._send = send
        self._create = create
        self._scopes: dict[ProgressToken, anyio.CancelScope] = {}
        self._numbers = itertools.count(1)

    def cancel(self, token: ProgressToken) -> None:
        """Cancel the call that reports under this token; unknown ones are of no concern."""
        scope = self._scopes.get(token)
        if scope is not None:
            scope.cancel()

    @contextmanager
    def of(self, title: str, token: ProgressToken | None) -> Generator[ProgressPort | None]:
        """Where a call reports; None where it does not. What the user cancels there ends as ``cancelled_here``.

        A token that is in use reports for its first call only.
        """
        if token is not None and token not in self._scopes:
            progress = WorkDoneProgress(token, self._send)
            progress.begin(title)
        elif token is None and self._create is not None:
            token = self._own_token()
            progress = LateProgress(token, title, self._send, self._create)
        else:
            yield None
            return
        try:
            with anyio.CancelScope() as scope:
                self._scopes[token] = scope
                yield progress
        finally:
            del self._scopes[token]
            progress.end()

    def _own_token(self) -> str:
        while (token := f"openbuffer-{next(self._numbers)}") in self._scopes:
            pass  # a client has given its own call this name
        return token
