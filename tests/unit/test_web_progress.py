"""How much of a page has come is reported while it comes, with a percentage where its server told the length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.tools import ToolContext

from .web_desk import Server, fetched, serving, web_fetch

if TYPE_CHECKING:
    from anyio.abc import ByteStream

pytestmark = pytest.mark.contract("B2", "W1")


class Progress:
    """Keeps what was reported; fulfils ``ProgressPort``."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int | None]] = []
        self.came = anyio.Event()

    def report(self, message: str, *, percentage: int | None = None) -> None:
        self.told.append((message, percentage))
        self.came.set()


@pytest.mark.parametrize("tells_length", [True, False])
async def test_what_has_come_of_a_page_is_reported(tells_length: bool) -> None:
    progress = Progress()

    async def slowly(stream: ByteStream) -> None:
        length = b"content-length: 200\r\n" if tells_length else b""
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n" + length + b"\r\n")
        await stream.send(b"a" * 50)
        await progress.came.wait()  # the second half comes when the first one was told
        await stream.send(b"b" * 150)
        await stream.aclose()

    server = Server({"/": slowly})
    async with serving(server):
        result = await fetched(web_fetch(), server.url(), context=ToolContext(progress=progress))
    assert result.success
    if tells_length:
        assert progress.told[0] == ("50 of 200 bytes have come", 25)
        assert progress.told[-1] == ("200 of 200 bytes have come", 100)
    else:
        assert progress.told[0] == ("50 bytes have come", None)
        assert progress.told[-1] == ("200 bytes have come", None)
