"""Bytes from the client, as they come."""

from __future__ import annotations

import asyncio
import os
import stat
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_CHUNK_BYTES = 256 * 1024


async def incoming(descriptor: int) -> AsyncGenerator[bytes]:
    """Chunks until the end of input. Takes over the descriptor.

    Pipes and sockets are polled. Anything else (a file, a terminal) is read in a thread, which may hang at the
    end of the session and is left behind then.
    """
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        while chunk := await anyio.to_thread.run_sync(os.read, descriptor, _CHUNK_BYTES, abandon_on_cancel=True):
            yield chunk
        return
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_CHUNK_BYTES, loop=loop)
    was_blocking = os.get_blocking(descriptor)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader, loop=loop), os.fdopen(descriptor, "rb", buffering=0, closefd=False)
    )
    try:
        while chunk := await reader.read(_CHUNK_BYTES):
            yield chunk
    except OSError:
        return  # a reset is an end as well
    finally:
        transport.close()
        os.set_blocking(descriptor, was_blocking)
