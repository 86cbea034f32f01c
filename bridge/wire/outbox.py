"""Bytes to a client that may not read them: never blocks the event loop, never grows without end."""

from __future__ import annotations

import asyncio
import os
import select
import socket
import stat
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from ..limits import OUTGOING_MAX_BYTES, OUTGOING_STALL_S

if TYPE_CHECKING:
    from collections.abc import Callable


class Outbox:
    """Writes to a pipe or socket as fast as its reader takes it; in order. Plain files are written at once.

    ``lost`` is called once, with the reason, when the reader is gone or does not read; from then on everything
    is dropped. Takes over the descriptor.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        lost: Callable[[str], None],
        max_bytes: int = OUTGOING_MAX_BYTES,
        stall_s: float = OUTGOING_STALL_S,
    ) -> None:
        self._fd = descriptor
        self._lost = lost
        self._max_bytes = max_bytes
        self._stall_s = stall_s
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[memoryview] = deque()
        self._waiting_bytes = 0
        self._taken_bytes = 0
        self._stall: asyncio.TimerHandle | None = None
        self._empty: anyio.Event | None = None
        self._open = True
        mode = os.fstat(descriptor).st_mode
        self._is_socket = stat.S_ISSOCK(mode)
        self._polled = stat.S_ISFIFO(mode) or self._is_socket
        self._was_blocking = os.get_blocking(descriptor)
        if self._polled:
            os.set_blocking(descriptor, False)
        self._watched = stat.S_ISFIFO(mode)
        if self._watched:
            # The writing end of a pipe is reported as readable when, and only when, the last reader has closed.
            self._loop.add_reader(descriptor, self._reader_closed)

    def write(self, data: bytes) -> None:
        """Send, or keep to send. Never raises and never blocks."""
        if not self._open:
            return
        self._waiting.append(memoryview(data))
        self._waiting_bytes += len(data)
        if len(self._waiting) == 1:
            self._drain()
        if self._waiting_bytes > self._max_bytes:
            self._lose(f"the client does not read: {self._waiting_bytes} bytes wait for it")

    @property
    def waiting_bytes(self) -> int:
        """What the client has not taken yet."""
        return self._waiting_bytes

    async def flush(self) -> None:
        """Wait until everything is sent or dropped."""
        while self._waiting:
            self._empty = self._empty or anyio.Event()
            await self._empty.wait()

    def close(self) -> None:
        """Drop what waits and close the descriptor; the other end of a socket is told, whoever else has it open."""
        if self._fd >= 0:
            self._shut()
            if self._is_socket:
                _shut_down(self._fd)
            if self._polled:
                os.set_blocking(self._fd, self._was_blocking)  # others may share what is behind the descriptor
            os.close(self._fd)
            self._fd = -1

    def _drain(self) -> None:
        try:
            while self._waiting:
                sent = os.write(self._fd, self._waiting[0])
                self._waiting_bytes -= sent
                self._taken_bytes += sent
                if sent < len(self._waiting[0]):
                    self._waiting[0] = self._waiting[0][sent:]
                else:
                    self._waiting.popleft()
        except BlockingIOError:
            self._loop.add_writer(self._fd, self._drain)
            if self._stall is None:
                self._watch_stall()
        except OSError as error:
            self._lose(f"the client closed its side: {error}")
        else:
            self._emptied()

    def _emptied(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
            self._loop.remove_writer(self._fd)
        if self._empty is not None:
            self._empty.set()
            self._empty = None

    def _watch_stall(self) -> None:
        self._stall = self._loop.call_later(self._stall_s, self._judge_stall, self._taken_bytes)

    def _judge_stall(self, taken_before: int) -> None:
        if self._taken_bytes == taken_before:
            self._lose(f"the client has read nothing for {self._stall_s:g} s")
        else:
            self._watch_stall()

    def _reader_closed(self) -> None:
        poll = select.poll()
        poll.register(self._fd, 0)
        if poll.poll(0):
            self._lose("the client closed its side")

    def _lose(self, why: str) -> None:
        if self._open:
            self._shut()
            self._lost(why)

    def _shut(self) -> None:
        self._open = False
        self._waiting.clear()
        self._waiting_bytes = 0
        if self._watched:
            self._loop.remove_reader(self._fd)
        self._emptied()


def _shut_down(descriptor: int) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as connection:
        connection.shutdown(socket.SHUT_WR)
