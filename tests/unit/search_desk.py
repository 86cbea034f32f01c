"""Providers of searches on the loopback: what they document to answer, and what WebSearch makes of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from openbuffer.tools.adapters.brave_search import BraveSearch
from openbuffer.tools.adapters.searxng_search import SearxngSearch
from openbuffer.tools.builtin.web_search import create_web_search_tool

from .web_desk import Server, answer

if TYPE_CHECKING:
    import anyio.abc
    from openbuffer.tools.contract import InvocationResult, ToolContext
    from openbuffer.tools.search_provider import SearchProvider

KEY = "BSA-f00dfeed1234567890"


class SearchServer(Server):
    """Answers every request of the path with what was given last, and keeps the parameters."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self.given = b""

    def give(self, data: Any, status: str = "200 OK", **headers: str) -> None:
        """From now on answer this: JSON, or bytes as they are."""
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.given = answer(body, status, **{"content_type": "application/json", **headers})

    async def handle(self, stream: anyio.abc.ByteStream) -> None:
        self.answers = _Same(self._path, self)
        await super().handle(stream)

    @property
    def parameters(self) -> dict[str, str]:
        """Those of the last request."""
        return dict(parse_qsl(urlsplit(self.requests[-1].split()[1]).query))


class _Same(dict[str, Any]):
    def __init__(self, path: str, server: SearchServer) -> None:
        super().__init__()
        self._path = path
        self._server = server

    def get(self, url: str, default: Any = None) -> Any:
        return self._server.given if urlsplit(url).path == self._path else default


def brave_server() -> SearchServer:
    return SearchServer("/res/v1/web/search")


def searxng_server() -> SearchServer:
    return SearchServer("/search")


def brave(server: Server, *, api_key: str = KEY, **options: Any) -> BraveSearch:
    return BraveSearch(api_key=api_key, base_url=f"http://127.0.0.1:{server.port}/res/v1", **options)


def searxng(server: Server, **options: Any) -> SearxngSearch:
    return SearxngSearch(f"http://127.0.0.1:{server.port}/", **options)


async def searched(
    provider: SearchProvider | None, query: str = "unsaved buffers", *, context: ToolContext | None = None, **more: Any
) -> InvocationResult:
    result = await create_web_search_tool(provider=provider).execute({"query": query, **more}, context)
    assert result.invocation is not None
    assert result.success == result.invocation.success
    return result.invocation


async def failure(provider: SearchProvider | None, query: str = "unsaved buffers", **more: Any) -> str:
    result = await searched(provider, query, **more)
    assert not result.success
    assert result.error
    assert not result.output
    return result.error


def found(result: InvocationResult) -> list[dict[str, str]]:
    """The results, as whoever reads the lines understands them."""
    assert result.success, result.error
    return [json.loads(line) for line in result.output.split("\n") if line.startswith("{")]


def told(result: InvocationResult) -> list[str]:
    """What the tool says itself."""
    assert result.success, result.error
    return [line for line in result.output.split("\n") if not line.startswith("{")]


def brave_answer(*results: dict[str, Any], **query: Any) -> dict[str, Any]:
    """As the API documents it."""
    return {
        "type": "search",
        "query": {"original": "unsaved buffers", "more_results_available": False, **query},
        "web": {"type": "search", "results": list(results), "family_friendly": True},
    }


def brave_result(number: int = 1, **members: Any) -> dict[str, Any]:
    return {
        "title": f"Buffers {number}",
        "url": f"https://docs.example/{number}",
        "description": f"About <strong>buffer</strong> {number} &amp; more",
        "page_age": "2024-05-01T00:00:00",
        "age": "May 1, 2024",
        "language": "en",
        "family_friendly": True,
        "profile": {"name": "Docs", "url": "https://docs.example", "img": "https://imgs.example/x.png"},
        "meta_url": {"scheme": "https", "hostname": "docs.example"},
        "extra_snippets": ["another part"],
        **members,
    }


def brave_error(status: int, code: str, detail: str, **meta: Any) -> dict[str, Any]:
    error = {"id": "1f", "status": status, "code": code, "detail": detail, "meta": meta}
    return {"type": "ErrorResponse", "error": error, "time": 1663072993}


def searxng_answer(*results: dict[str, Any], **more: Any) -> dict[str, Any]:
    """As an instance gives it."""
    return {
        "query": "unsaved buffers",
        "number_of_results": 0,
        "results": list(results),
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
        **more,
    }


def searxng_result(number: int = 1, **members: Any) -> dict[str, Any]:
    return {
        "url": f"https://wiki.example/{number}",
        "title": f"Page {number}",
        "content": f"Content of page {number}",
        "publishedDate": "2024-05-01T00:00:00",
        "thumbnail": "",
        "engine": "wikipedia",
        "template": "default.html",
        "parsed_url": ["https", "wiki.example", f"/{number}", "", "", ""],
        "engines": ["wikipedia", "duckduckgo"],
        "positions": [1, 2],
        "score": 2.0,
        "category": "general",
        **members,
    }
