"""A real Chromium, one for all tests of a process, and pages of our own from the loopback."""

from __future__ import annotations

import shutil
import threading
from contextlib import AsyncExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from ..chromium import FLAGS
from .computer_stages import PAGE, SIZE, MemoryStage, PageStage, Stage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator


class Site:
    """Pages by path, served on the loopback."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {"/": PAGE}
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = site.pages.get(self.path.partition("?")[0])
                self.send_response(200 if body is not None else 404)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write((body or "").encode())

            def log_message(self, *_arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(scope="session")
def site() -> Generator[Site]:
    site = Site()
    yield site
    site.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncGenerator[Callable[[], Awaitable[Any]]]:
    """Starts the browser when it is first asked for; tests without it do not need it."""
    async with AsyncExitStack() as stack:
        started: list[Any] = []

        async def start() -> Any:
            if not started:
                program = shutil.which("chromium")
                if program is None:
                    pytest.skip("there is no Chromium here: apt-get install chromium")
                api = pytest.importorskip("playwright.async_api", reason="playwright is missing; the test extra has it")
                playwright = await stack.enter_async_context(api.async_playwright())
                browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
                stack.push_async_callback(browser.close)
                started.append(browser)
            return started[0]

        yield start


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Any, site: Site) -> AsyncGenerator[Callable[..., Awaitable[PageStage]]]:
    """Open a page of the site: by its content, else the stage; ``options`` are the driver's."""
    contexts: list[Any] = []

    async def open_page(
        content: str = "", *, scale: float = 1, size: tuple[int, int] | None = SIZE, **options: Any
    ) -> PageStage:
        viewport: dict[str, Any] = {"no_viewport": True} if size is None else {}
        if size is not None:
            viewport = {"viewport": {"width": size[0], "height": size[1]}, "device_scale_factor": scale}
        context = await (await browser()).new_context(**viewport)
        contexts.append(context)
        page = await context.new_page()
        path = "/"
        if content:
            path = f"/{len(site.pages)}"
            site.pages[path] = content
        await page.goto(site.url(path))
        return PageStage(page, **options)

    yield open_page
    for context in contexts:
        await context.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def stage_page(browser: Any, site: Site) -> AsyncGenerator[Callable[[], Awaitable[Any]]]:
    """One page for all stages, loaded anew for each: to open one takes longer than most that is done with it."""
    pages: list[Any] = []

    async def stage_page() -> Any:
        if not pages:
            viewport = {"width": SIZE[0], "height": SIZE[1]}
            context = await (await browser()).new_context(viewport=viewport, device_scale_factor=2)
            pages.append(await context.new_page())
        await pages[0].goto(site.url())
        return pages[0]

    yield stage_page
    for page in pages:
        await page.context.close()


@pytest_asyncio.fixture(
    loop_scope="session", params=["memory", "memory, scale 2", "page, scale 2", "page, scale 2, device pixels"]
)
async def stage(request: pytest.FixtureRequest, stage_page: Callable[[], Awaitable[Any]]) -> AsyncGenerator[Stage]:
    """The stage before each driver."""
    kind: str = request.param
    if kind.startswith("memory"):
        yield MemoryStage(2 if "scale 2" in kind else 1)
        return
    stage = PageStage(await stage_page(), pictures="device" if "device" in kind else "css")
    yield stage
    stage.driver.detach()
