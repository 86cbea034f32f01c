"""A command in the form of a confined one, where nothing has to be done around it: it is not confined, or confined by
its invocation alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..port import Invocation


class Unconfined:
    """Starts the invocation as it is. Fulfils ``WrappedCommand``."""

    def __init__(self, invocation: Invocation, pass_fds: tuple[int, ...] = ()) -> None:
        self.invocation = invocation
        self.pass_fds = pass_fds
        self.notes: tuple[str, ...] = ()

    def started(self, process_id: int) -> None:
        """There is nothing to be set up."""

    @property
    def has_failed(self) -> bool:
        """Nothing is set up that could fail."""
        return False

    def terminate(self) -> bool:
        """Signals to its group reach it."""
        return False

    def wait_until_empty(self) -> None:
        """Nothing stands between it and the host."""
