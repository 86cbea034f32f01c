"""Searches in processes that can be killed, and what becomes of one that does not come to its end (F8, T6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...errors import GrepIsolationError
from ..isolated_process import (
    IsolatedProcesses,
    ProcessCancelledError,
    ProcessFailedError,
    ProcessTimedOutError,
)
from ..located import printable
from .frames import read_answer, send_order

if TYPE_CHECKING:
    from ...contract import CancellationToken
    from ..isolated_process import Exchange
    from .order import Answer, Order

START: Final = "from openbuffer.tools.support.grep.worker import main; main()"

_KEPT: Final = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "LANG", "LC_ALL", "LC_CTYPE", "PYTHONUTF8", "TMPDIR")
"""What the search needs: where the user's git configuration is, and how names are encoded."""


class Searches:
    """Searches in processes of their own; nothing is started before the first. May be used from several threads."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._processes = IsolatedProcesses(START, _KEPT)

    def run(self, order: Order, descriptor: int, token: CancellationToken) -> Answer:
        """Search; blocks. ``descriptor`` is what is searched, and stays open here.

        Raises:
            GrepIsolationError: it was cancelled, took too long, needed too much memory, or its process failed; that
                has ended by then, and so has what it started.
        """

        def ask(exchange: Exchange) -> Answer:
            send_order(exchange.socket, order, descriptor)
            return read_answer(exchange.receive)

        shown = printable(order.path)
        try:
            return self._processes.use(ask, token, self._timeout_s)
        except ProcessCancelledError:
            raise GrepIsolationError(
                f"{shown}: the search was cancelled, and has stopped.", reason="cancelled"
            ) from None
        except ProcessTimedOutError:
            raise GrepIsolationError(
                f"{shown}: the search was ended after {self._timeout_s:g} seconds without a result. Search a smaller "
                "directory, name files by glob, or use a simpler pattern.",
                reason="timeout",
            ) from None
        except ProcessFailedError as failure:
            raise _failed(shown, failure) from None

    def close(self) -> None:
        """End the processes that wait for a call."""
        self._processes.close()


def _failed(shown: str, failure: ProcessFailedError) -> GrepIsolationError:
    if failure.needed_memory:
        return GrepIsolationError(
            f"{shown}: the search needs more memory than it may have, and has stopped. Search a smaller directory, "
            "or name files by glob.",
            reason="limit",
        )
    return GrepIsolationError(
        f"{shown}: {failure}. Try again; if it fails again, search a smaller directory.", reason="failed"
    )
