"""A client that is killed: starts a server, calls a tool, and tells the server's process id.

python doomed_client.py ROOT CALL COMMAND..., where CALL is JSON: {name, arguments}.
"""

from __future__ import annotations

import asyncio
import json
import sys

from openbuffer.bridge.client import BridgeClient


async def main(root: str, call: str, command: list[str]) -> None:
    """Call it, and wait for ever."""
    wanted = json.loads(call)
    async with BridgeClient(root, command=command) as client:
        print(client.pid, flush=True)
        await client.call_tool(wanted["name"], wanted["arguments"], timeout_s=3_600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
