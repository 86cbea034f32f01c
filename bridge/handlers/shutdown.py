"""``shutdown``: running work was cancelled when it arrived; it is answered once that has stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ..limits import STOP_GRACE_S

if TYPE_CHECKING:
    from ..wire.jsonrpc import BridgeProtocol


async def shutdown(protocol: BridgeProtocol, _params: object) -> None:
    """Wait for the other requests to end, but not for ever: a client that shuts down wants to go."""
    with anyio.move_on_after(STOP_GRACE_S):
        await protocol.wait_idle(others=1)
