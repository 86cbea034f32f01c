"""Many clients at one listening socket: a session for each that knows the access token, and none knows of another."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import anyio.to_thread

from ..life.garbage import CollectedInQuiet
from ..life.lifetime import Lifetime, ended_by_signals
from ..life.parent import process_ended
from ..life.stuck_loop import leave_if_stuck, process_gone
from ..limits import HANDSHAKE_LEAST_S, HANDSHAKES_MAX, SESSIONS_MAX, SESSIONS_THREADS_MAX
from .handshake import Admitted, RefusedError, admitted, turn_away
from .listening import peer_is_user
from .stdio import run_session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from .listening import Listener

log = logging.getLogger(__name__)

_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_WAIT_FOR_ROOM_S = 0.5


async def serve_connections(
    listener: Listener,
    token: str,
    *,
    client_process: int | None = None,
    sessions_max: int = SESSIONS_MAX,
    ready: Callable[[], None] = lambda: None,
    closed: Callable[[], None] = lambda: None,
    **session_options: Any,
) -> int:
    """Serve until a signal comes or ``client_process`` ends; returns the exit code.

    ``ready`` is called once connections are accepted, ``closed`` once they are no more. ``session_options`` are those
    of ``run_session``. Sessions that run then are ended in good order, those that cannot be ended are left to the end
    of the process.
    """
    # All sessions take their threads from one number, and one that hangs must not keep the others waiting.
    anyio.to_thread.current_default_thread_limiter().total_tokens = SESSIONS_THREADS_MAX
    lifetime = Lifetime(lambda: True)
    stopping = anyio.Event()
    code = 0
    serve = partial(run_session, owns_process=False, stopping=stopping, assembling=anyio.Lock(), **session_options)
    garbage = CollectedInQuiet()
    door = _Door(token, sessions_max, serve, garbage.ended)
    with ended_by_signals(asyncio.get_running_loop(), lifetime), garbage:
        async with anyio.create_task_group() as tasks:
            async with anyio.create_task_group() as accepting:
                accepting.start_soon(_accept, listener, tasks, door)
                accepting.start_soon(garbage.run)
                if client_process is not None:
                    accepting.start_soon(_end_with, client_process, lifetime)
                    leave_if_stuck(asyncio.get_running_loop(), partial(process_gone, client_process))
                ready()
                code = await lifetime.wait()
                accepting.cancel_scope.cancel()
            listener.close()
            closed()
            stopping.set()
            await door.is_empty()
            tasks.cancel_scope.cancel()
    return code


class _Door:
    """Lets clients in, and counts them."""

    def __init__(
        self, token: str, sessions_max: int, serve: Callable[..., Awaitable[int]], ended: Callable[[], None]
    ) -> None:
        self._token = token
        self._sessions_max = sessions_max
        self._serve = serve
        self._ended = ended
        self._waiting: dict[int, tuple[anyio.CancelScope, float]] = {}
        self._sessions = 0
        self._number = 0
        self._left: anyio.Event | None = None

    async def enter(self, connection: socket.socket) -> None:
        """Serve one connection to its end; never raises for what its client or its session does."""
        self._number += 1
        number = self._number
        with connection:
            client = await self._admit(connection, number)
            if client is None:
                return
            self._sessions += 1
            log.info("connection %d: a session begins; there are %d", number, self._sessions)
            try:
                descriptor = connection.fileno()
                code = await self._serve(descriptor, os.dup(descriptor), received=client.received)
                log.info("connection %d: the session ended with %d", number, code)
            except Exception:
                log.exception("connection %d: the session failed", number)
            finally:
                self._sessions -= 1
                self._ended()
                if self._left is not None:
                    self._left.set()

    async def has_room(self) -> None:
        """Wait until one more may show its token.

        Those that never say a word cannot keep others out: where there are too many, the one that has waited longest
        goes. But not before it could say one, or whoever connects fast enough would throw out everybody else.
        """
        while len(self._waiting) >= HANDSHAKES_MAX:
            number, (scope, since) = next(iter(self._waiting.items()))
            await anyio.sleep_until(since + HANDSHAKE_LEAST_S)
            if number in self._waiting:
                scope.cancel()
            await anyio.lowlevel.checkpoint()

    async def is_empty(self) -> None:
        """Wait until no session runs."""
        while self._sessions:
            self._left = anyio.Event()
            await self._left.wait()

    async def _admit(self, connection: socket.socket, number: int) -> Admitted | None:
        """A client that may come in, else None."""
        if not peer_is_user(connection):
            log.warning("connection %d was refused: it comes from another user", number)
            return None
        client = None
        with anyio.CancelScope() as scope:
            self._waiting[number] = scope, anyio.current_time()
            try:
                client = await admitted(connection, self._token)
            except RefusedError as error:
                log.warning("connection %d was refused: %s", number, error)
                await turn_away(connection, str(error), error.request_id)
        del self._waiting[number]
        if client is not None and self._sessions >= self._sessions_max:
            why = f"there are {self._sessions} sessions, and no more are taken; end one"
            log.warning("connection %d was refused: %s", number, why)
            await turn_away(connection, why, client.request_id)
            return None
        return client


async def _accept(listener: Listener, tasks: TaskGroup, door: _Door) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await door.has_room()
        try:
            connection, _ = await loop.sock_accept(listener.socket)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                log.warning("a connection was lost before it was accepted: %s", error.strerror)
            await anyio.sleep(_WAIT_FOR_ROOM_S)
            continue
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tasks.start_soon(door.enter, connection)
        # What waits to be accepted is accepted without giving way, and a flood of it never ends.
        await anyio.lowlevel.checkpoint()


async def _end_with(process_id: int, lifetime: Lifetime) -> None:
    await process_ended(process_id)
    lifetime.end(f"the client's process {process_id} has ended")
