"""A headless Chromium on a thread of its own: tests are plain functions, with no event loop of theirs."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
DEADLINE_S = 60.0


class Browser:
    """Every function of Playwright runs on the browser's thread, by ``run``."""

    def __init__(self, program: str, flags: tuple[str, ...]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="browser")
        self._thread.start()
        try:
            self.run(lambda: self._start(program, flags))
        except BaseException:
            self._end_thread()
            raise

    def run(self, action: Callable[[], Awaitable[T]], timeout_s: float = DEADLINE_S) -> T:
        """Await what ``action`` makes, on the browser's thread."""

        async def bounded() -> T:
            async with asyncio.timeout(timeout_s):
                return await action()

        return asyncio.run_coroutine_threadsafe(bounded(), self._loop).result(timeout_s + 10)

    def new_page(self, **options: Any) -> Any:
        """A page in a profile of its own."""

        async def make() -> Any:
            context = await self._browser.new_context(viewport={"width": 1280, "height": 800}, **options)
            await context.grant_permissions(["clipboard-read", "clipboard-write"])
            return await context.new_page()

        return self.run(make)

    def close(self) -> None:
        try:
            self.run(self._stop)
        finally:
            self._end_thread()

    async def _start(self, program: str, flags: tuple[str, ...]) -> None:
        from playwright.async_api import async_playwright

        self._playwright = await async_playwright().start()
        self._browser = await self._playwright.chromium.launch(executable_path=program, args=list(flags))

    async def _stop(self) -> None:
        await self._browser.close()
        await self._playwright.stop()

    def _end_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        self._loop.close()
