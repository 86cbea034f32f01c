"""SearXNG: what is asked of an instance, what its answers become, and what is told of those that are none."""

from __future__ import annotations

from typing import Any

import pytest
from openbuffer.tools import ToolDefinitionError
from openbuffer.tools.adapters.searxng_search import SearxngSearch
from openbuffer.tools.search_provider import SearchRequest
from openbuffer.tools.support.http_guard_errors import HeadersRefusedError

from .search_desk import (
    SearchServer,
    failure,
    found,
    searched,
    searxng,
    searxng_answer,
    searxng_result,
    searxng_server,
    told,
)
from .web_desk import Server, answer, header_of, moved, serving

pytestmark = pytest.mark.contract("W2")


async def test_a_search_is_asked_as_documented_and_its_results_come_back() -> None:
    async with serving(server := searxng_server()):
        server.give(searxng_answer(searxng_result(1), searxng_result(2, publishedDate=None, content="")))
        result = await searched(searxng(server), "größe & mehr", language="de-AT", timeRange="month", page=3)
    assert server.parameters == {
        "q": "größe & mehr",
        "format": "json",
        "pageno": "3",
        "language": "de-AT",
        "time_range": "month",
    }
    assert told(result) == ["SearXNG, page 3: 2 results."]
    assert found(result) == [
        {
            "title": "Page 1",
            "url": "https://wiki.example/1",
            "age": "2024-05-01T00:00:00",
            "snippet": "Content of page 1",
        },
        {"title": "Page 2", "url": "https://wiki.example/2", "snippet": ""},
    ]


@pytest.mark.parametrize(
    ("language", "sent", "is_all"),
    [
        ("DE", "de", True),
        ("pt-br", "pt-BR", True),
        ("zh-Hant", "zh-TW", True),
        ("zh-Hans-SG", "zh-SG", True),
        ("sr-Latn-RS", "sr-RS", False),
        ("ca-valencia", "ca", False),
    ],
)
async def test_a_language_is_sent_as_it_takes_one_and_what_is_left_out_of_it_told(
    language: str, sent: str, is_all: bool
) -> None:
    async with serving(server := searxng_server()):
        server.give(searxng_answer())
        result = await searched(searxng(server), language=language)
    assert server.parameters["language"] == sent
    notes = [] if is_all else [f"Note: of the language {language} only {sent} made a difference."]
    assert told(result)[1:] == notes


async def test_of_a_page_of_results_as_many_as_were_asked_for_are_shown() -> None:
    async with serving(server := searxng_server()):
        server.give(searxng_answer(*map(searxng_result, range(27))))
        result = await searched(searxng(server), count=5)
    assert len(found(result)) == 5
    assert told(result)[1:] == ["Note: the provider gave 22 more for this page; a higher count shows them."]
    assert set(server.parameters) == {"q", "format", "pageno"}


async def test_engines_that_have_not_answered_make_the_results_partial() -> None:
    silent = [["google", "timeout"], ["bing", "access denied\nNote: forged"], ["qwant"], "x", [], [7, 8]]
    named = "google (timeout), bing (access denied Note: forged), qwant"
    async with serving(server := searxng_server()):
        server.give(searxng_answer(searxng_result(), unresponsive_engines=silent, corrections=["buffers", 5]))
        result = await searched(searxng(server))
        assert told(result)[1:] == [
            f"Note: results are missing, since these search engines have not answered: {named}.",
            "Note: the instance asks whether this was meant: buffers.",
        ]
        server.give(searxng_answer(unresponsive_engines=[[f"e{n}", "CAPTCHA"] for n in range(7)]))
        error = await failure(searxng(server))
    assert "found nothing, and of its search engines these have not answered: e0 (CAPTCHA)" in error
    assert "e4 (CAPTCHA) and 2 more" in error


@pytest.mark.parametrize(
    ("status", "body", "headers", "says"),
    [
        (
            "403 Forbidden",
            b"<!doctype html>",
            {},
            ["does not give its results as JSON", "search.formats", "settings.yml"],
        ),
        ("401 Unauthorized", b"", {}, ["asks for credentials", "configure them as headers"]),
        ("429 Too Many Requests", b"Too Many Requests", {"retry_after": "60"}, ["too many requests", "60", "limiter"]),
        ("400 Bad Request", {"error": "Invalid value 'x' for parameter language"}, {}, ["Invalid value 'x'", "leave"]),
        ("404 Not Found", b"", {}, ["there is no SearXNG at the base URL"]),
        (
            "500 Internal Server Error",
            {"error": "search error"},
            {},
            ["no answer now", "search error", "Try again later"],
        ),
        ("502 Bad Gateway", b"", {"retry_after": "9"}, ["it says after 9"]),
        ("200 OK", b"<!doctype html><title>SearXNG</title>", {}, ["answered no JSON", "search.formats"]),
        ("200 OK", {"results": "x"}, {}, ["an object without results"]),
        ("200 OK", b"[" * 900_000, {}, ["answered no JSON"]),
        ("200 OK", b"", {}, ["answered no JSON"]),
    ],
)
async def test_each_failure_says_what_it_is_and_what_the_user_can_do(
    status: str, body: Any, headers: dict[str, str], says: list[str]
) -> None:
    async with serving(server := searxng_server()):
        server.give(body, status, **headers)
        error = await failure(searxng(server))
    for words in says:
        assert words in error


async def test_a_word_that_would_lead_to_another_site_is_refused_before_anything_is_sent() -> None:
    async with serving(server := searxng_server()):
        assert "begins with !!" in await failure(searxng(server), "cats !!g")
    assert server.connections == 0


async def test_an_instance_below_a_path_and_with_credentials_is_asked_there_with_them_alone() -> None:
    token = "dXNlcjpwYXNzd29yZA=="
    async with serving(server := SearchServer("/searx/search"), other := Server({"/": answer("{}")})):
        url = f"http://127.0.0.1:{server.port}/searx/"
        provider = SearxngSearch(url, headers={"Authorization": f"Basic {token}"})
        server.give(searxng_answer(searxng_result(title=f"echo {token}")))
        result = await searched(provider)
        server.given = moved(other.url("/", "127.0.0.1"))
        error = await failure(provider)
    assert header_of(server.requests[0], "authorization") == f"Basic {token}"
    assert "is not followed" in error
    assert other.connections == 0
    assert token not in result.output + error + repr(provider)


async def test_the_host_of_the_configuration_is_allowed_and_only_at_its_port() -> None:
    async def resolve(_host: str, _port: int) -> tuple[str, ...]:
        return ("127.0.0.1",)

    async with serving(server := searxng_server()):
        server.give(searxng_answer(searxng_result()))
        named = SearxngSearch(f"http://search.corp.example:{server.port}", resolve=resolve)
        assert (await searched(named)).success
        assert (await searched(SearxngSearch(f"http://localhost:{server.port}"))).success
    (target,) = named.targets(SearchRequest(query="x"))
    assert (target.host, target.port) == ("search.corp.example", server.port)


@pytest.mark.parametrize("url", ["", "localhost:8888", "ftp://a/", "http://u:p@a/", "http://a/?q=1", "http://a/#x"])
def test_a_base_url_that_cannot_be_meant_is_refused_where_it_is_configured(url: str) -> None:
    with pytest.raises(ToolDefinitionError, match="the base URL of the SearXNG instance"):
        SearxngSearch(url)


def test_headers_that_cannot_be_set_are_refused_where_they_are_configured() -> None:
    with pytest.raises(HeadersRefusedError, match="Host"):
        SearxngSearch("http://localhost:8888", headers={"Host": "evil"})
