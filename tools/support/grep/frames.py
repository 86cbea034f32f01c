"""How the two processes speak: a length, then as many bytes of JSON, over a socket that carries descriptors too."""

from __future__ import annotations

import dataclasses
import json
import socket
import struct
from typing import TYPE_CHECKING, Any, Final

from ..isolated_process import BrokenFrameError, read_exactly
from .order import Answer, Order

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME_MAX_BYTES: Final = 64 * 1024 * 1024
_HEAD: Final = struct.Struct("!I")


def send_order(to: socket.socket, order: Order, descriptor: int) -> None:
    """Send an order with the descriptor of what is to be searched; raises OSError where the other side is gone."""
    body = json.dumps(dataclasses.asdict(order)).encode()
    socket.send_fds(to, [_HEAD.pack(len(body))], [descriptor])
    to.sendall(body)


def receive_order(source: socket.socket) -> tuple[Order, int] | None:
    """The next order and its descriptor; None where no more will come."""
    head, descriptors, _, _ = socket.recv_fds(source, _HEAD.size, 1)
    if not head:
        return None
    body = read_exactly(source.recv, _HEAD.unpack(head)[0])
    fields: dict[str, Any] = json.loads(body)
    fields["named"] = tuple(fields["named"])
    return Order(**fields), descriptors[0]


def answer_frame(answer: Answer) -> bytes:
    """An answer, ready to be sent."""
    body = json.dumps(dataclasses.asdict(answer)).encode()
    return _HEAD.pack(len(body)) + body


def read_answer(receive: Callable[[int], bytes]) -> Answer:
    """The answer; ``receive`` gives up to so many bytes, and none at the end.

    Raises:
        BrokenFrameError: it ends before the answer does.
    """
    size = _HEAD.unpack(read_exactly(receive, _HEAD.size))[0]
    if size > FRAME_MAX_BYTES:
        raise BrokenFrameError
    return Answer(**json.loads(read_exactly(receive, size)))
