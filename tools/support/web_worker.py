"""The process that turns pages into Markdown, and how the two sides speak: two lengths, JSON, and the page's bytes."""

from __future__ import annotations

import dataclasses
import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..limits import WEB_PAGE_IDLE_S, WEB_PAGE_MEMORY_MAX_BYTES
from .isolated_process import BrokenFrameError, read_exactly

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from .web_page import Window

START: Final = "from openbuffer.tools.support.web_worker import main; main()"

_HEAD: Final = struct.Struct("!II")
_ANSWER_MAX_BYTES: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOrder:
    """What is wanted of a page; ``limit`` is None for all of it."""

    url: str
    content_type: str
    is_whole_body: bool
    offset: int
    limit: int | None
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswer:
    """What became of it: ``window`` are the fields of a ``Window``, and the rest says how it was decoded."""

    window: dict[str, Any]
    charset: str
    how: str
    note: str


def order_frame(order: PageOrder, body: bytes) -> bytes:
    """An order, ready to be sent."""
    head = json.dumps(dataclasses.asdict(order)).encode()
    return b"".join((_HEAD.pack(len(head), len(body)), head, body))


def read_answer(receive: Callable[[int], bytes]) -> PageAnswer:
    """The answer; ``receive`` gives up to so many bytes, and none at the end.

    Raises:
        BrokenFrameError: it ends before the answer does.
    """
    size, _ = _HEAD.unpack(read_exactly(receive, _HEAD.size))
    if size > _ANSWER_MAX_BYTES:
        raise BrokenFrameError
    return PageAnswer(**json.loads(read_exactly(receive, size)))


def main() -> None:
    """Answer orders until there are no more, or none came for a while."""
    from .isolated_life import live  # noqa: PLC0415  the other side has no use for it
    from .web_charset import decode_body  # noqa: PLC0415
    from .web_page import read_page  # noqa: PLC0415

    def answer_next(owner: socket.socket) -> bytes | None:
        lengths = owner.recv(_HEAD.size)
        if not lengths:
            return None
        head, body = _HEAD.unpack(lengths)
        order = PageOrder(**json.loads(read_exactly(owner.recv, head)))
        decoded = decode_body(
            read_exactly(owner.recv, body), order.content_type, is_markup=True, is_whole=order.is_whole_body
        )
        window: Window = read_page(decoded.text, order.url, offset=order.offset, limit=order.limit, whole=order.whole)
        answer = PageAnswer(
            window=dataclasses.asdict(window), charset=decoded.charset, how=decoded.how, note=decoded.note
        )
        told = json.dumps(dataclasses.asdict(answer)).encode()
        return _HEAD.pack(len(told), 0) + told

    live(answer_next, idle_s=WEB_PAGE_IDLE_S, memory_max_bytes=WEB_PAGE_MEMORY_MAX_BYTES)
