"""Both sides of a wire trap: the bridge, where it must not be, and stock pygls, where it must still be.

A test does the same to either side, and says what is seen on each::

    async def test_it(side: Side, tmp_path: Path) -> None:
        async with side.start(tmp_path) as client:
            ...
        side.shows(seen, bridge="answered", stock="silence")

When the stock half fails, upstream has mended the trap, and what the bridge does about it can go.
"""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from .raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CALL = "openbuffer/callTool"
COMMAND = "workspace/executeCommand"
HERE = Path(__file__).parent
PATIENCE_S = 1.0
"""How long nothing has to come from stock pygls until that counts as never. The bridge is waited for."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two servers with the same tools. ``sync`` and ``thread``: the methods of calls that run like that."""

    name: Literal["bridge", "stock"]
    script: str
    sync: str
    thread: str

    @asynccontextmanager
    async def start(self, root: Path, *arguments: str, script: str | None = None) -> AsyncIterator[RawClient]:
        """A server that has shaken hands."""
        async with self.start_raw(*arguments, script=script) as client:
            await client.initialize(root)
            yield client

    @asynccontextmanager
    async def start_raw(
        self, *arguments: str, script: str | None = None, read: bool = True
    ) -> AsyncIterator[RawClient]:
        """A server that nobody has spoken to; ``script`` is for the bridge."""
        path = HERE / (script if script and self is BRIDGE else self.script)
        async with RawClient.start((sys.executable, "-P", str(path), *arguments), read=read) as client:
            yield client

    def shows(self, seen: object, *, bridge: object, stock: object) -> None:
        """Fail where this side does not show what it should."""
        if self is BRIDGE:
            assert seen == bridge
        else:
            assert seen == stock, "stock pygls no longer has this trap: simplify the bridge"


BRIDGE = Side("bridge", "tool_server.py", CALL, CALL)
STOCK = Side("stock", "stock_pygls.py", "stock/sync", "stock/thread")
SIDES = (BRIDGE, STOCK)
BOTH = pytest.mark.parametrize("side", SIDES, ids=lambda side: side.name)


def command(name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    """The params of ``workspace/executeCommand`` for a call."""
    return {"command": "openbuffer.callTool", "arguments": [{"name": name, "arguments": arguments or {}}], **more}


def popups(client: RawClient) -> int:
    """How many messages the user was shown."""
    return sum(message.get("method") == "window/showMessage" for message in client.received)


async def to_the_end(client: RawClient) -> None:
    """Ask something, wait for the answer, close, read to the end: what has not come by now never comes."""
    await client.call("echo")
    client.close_stdin()
    await client.exit_code()
    await client.drained()
