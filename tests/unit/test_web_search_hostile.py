"""Whatever JSON a provider sends, with whatever status: results on lines of their own come of it, or one sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools.adapters.brave_search import BraveSearch
from openbuffer.tools.adapters.searxng_search import SearxngSearch
from openbuffer.tools.builtin.web_search import create_web_search_tool
from openbuffer.tools.support.service_client import ServiceAnswer, ServiceClient

if TYPE_CHECKING:
    from openbuffer.tools import InvocationResult
    from openbuffer.tools.search_provider import SearchProvider

pytestmark = pytest.mark.contract("W2")

NAMES = st.sampled_from(
    (
        *(
            "web",
            "results",
            "query",
            "type",
            "title",
            "url",
            "description",
            "content",
            "age",
            "page_age",
            "error",
            "code",
        ),
        *("detail", "meta", "errors", "loc", "msg", "altered", "more_results_available", "unresponsive_engines"),
        *("corrections", "publishedDate"),
    )
)
TEXTS = st.text(max_size=40) | st.sampled_from(
    ("https://a.example/", "javascript:x", "search", "\n{}", "\u202e<b>", "TOKEN", "x-subscription-token", "\ud800")
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | TEXTS, inner, max_size=6),
    max_leaves=30,
)
RESULTS = st.lists(st.dictionaries(NAMES, TEXTS | JSON, max_size=6), max_size=6)
BRAVE = JSON | st.fixed_dictionaries({"web": st.fixed_dictionaries({"results": RESULTS}), "query": JSON})
SEARXNG = JSON | st.fixed_dictionaries({"results": RESULTS, "unresponsive_engines": JSON, "corrections": JSON})
HEADERS = st.dictionaries(
    st.sampled_from(("retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")),
    st.text(max_size=20) | st.from_regex(r"[0-9]{1,20}(, [0-9]{1,20})?", fullmatch=True),
)
STATUSES = st.sampled_from((200, 400, 401, 402, 403, 404, 418, 422, 429, 500, 503))


def searched(provider: SearchProvider, answer: ServiceAnswer) -> InvocationResult:
    async def get(*_given: object, **_named: object) -> ServiceAnswer:
        await anyio.lowlevel.checkpoint()
        return answer

    async def call() -> InvocationResult:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(ServiceClient, "get", get)
            result = await create_web_search_tool(provider=provider).execute({"query": "q", "count": 20})
        assert result.invocation is not None
        return result.invocation

    return anyio.run(call)


def check(result: InvocationResult, name: str) -> None:
    """Each line is what the tool says, or a result with a URL that can be fetched, and no result is more than one."""
    json.dumps(result.to_json(), ensure_ascii=False).encode()
    if not result.success:
        assert result.error is not None
        assert len(result.error.splitlines()) == 1
        assert "unexpectedly" not in result.error
        return
    head, *lines = result.output.splitlines()
    assert head.startswith(f"{name}, page 1: ")
    for line in lines:
        if line.startswith("Note: "):
            continue
        shown = json.loads(line)
        assert set(shown) <= {"title", "url", "age", "snippet"}
        assert shown["url"].startswith(("https://", "http://"))


@given(data=BRAVE, status=STATUSES, headers=HEADERS)
def test_whatever_brave_sends(data: Any, status: int, headers: dict[str, str]) -> None:
    answer = ServiceAnswer(status=status, status_text=str(status), headers=headers, is_json=True, data=data)
    result = searched(BraveSearch(api_key="BSA-key"), answer)
    check(result, "Brave Search")
    assert status == 200 or not result.success


@given(data=SEARXNG, status=STATUSES, headers=HEADERS)
def test_whatever_a_searxng_sends(data: Any, status: int, headers: dict[str, str]) -> None:
    answer = ServiceAnswer(status=status, status_text=str(status), headers=headers, is_json=True, data=data)
    result = searched(SearxngSearch("http://127.0.0.1:8888"), answer)
    check(result, "SearXNG")
    assert status == 200 or not result.success
