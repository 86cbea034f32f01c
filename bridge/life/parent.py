"""Watching the client's process: the server must not outlive it, whatever holds its pipes open."""

from __future__ import annotations

import asyncio
import os

import anyio

from ..limits import PARENT_POLL_S


async def process_ended(process_id: int) -> None:
    """Return when this process has ended, at once if there is none."""
    try:
        descriptor = process_descriptor(process_id)
    except ProcessLookupError:
        return
    if descriptor is not None:
        await _readable(descriptor)
        return
    while _exists(process_id):  # noqa: ASYNC110  no event tells of another process's end here
        await anyio.sleep(PARENT_POLL_S)


def process_descriptor(process_id: int) -> int | None:
    """A descriptor that becomes readable with the end of this process; None where the system gives none.

    Raises:
        ProcessLookupError: there is no such process.
    """
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(process_id)
    except OverflowError:
        raise ProcessLookupError from None
    except ProcessLookupError:
        raise
    except OSError:  # an old kernel, or one that does not let us
        return None


async def _readable(descriptor: int) -> None:
    """A process descriptor becomes readable when its process ends, even before it is waited for."""
    loop = asyncio.get_running_loop()
    ended = anyio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _exists(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # it belongs to somebody else
    return True
