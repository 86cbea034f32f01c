"""``exit``: leave; with 0 only after ``shutdown``, as LSP says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..life.lifetime import Lifetime


def leave(lifetime: Lifetime, _params: object) -> None:
    """End the session in good order."""
    lifetime.end("exit")
