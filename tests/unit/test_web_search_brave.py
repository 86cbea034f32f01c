"""Brave: what is asked of its API as that is documented, what its answers become, and where the key never is."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from openbuffer.tools import CancellationToken, ToolCancelledError, ToolContext, ToolDefinitionError
from openbuffer.tools.adapters.brave_search import BraveSearch
from openbuffer.tools.search_provider import SearchRequest
from openbuffer.tools.support.http_guard_settings import WebSettings

from .search_desk import (
    KEY,
    brave,
    brave_answer,
    brave_error,
    brave_result,
    brave_server,
    failure,
    found,
    searched,
    told,
)
from .web_desk import Server, answer, header_of, moved, serving

pytestmark = pytest.mark.contract("W2")


async def test_a_search_is_asked_as_documented_and_its_results_come_back() -> None:
    async with serving(server := brave_server()):
        server.give(brave_answer(brave_result(1), brave_result(2, age=None), more_results_available=True))
        result = await searched(brave(server), "unsaved & größe", count=2)
    assert server.parameters == {
        "q": "unsaved & größe",
        "count": "2",
        "offset": "0",
        "result_filter": "web",
        "text_decorations": "false",
    }
    request = server.requests[0]
    assert request.startswith("GET /res/v1/web/search?")
    assert header_of(request, "x-subscription-token") == KEY
    assert header_of(request, "accept") == "application/json"
    assert told(result) == ["Brave Search, page 1: 2 results. There are more on page 2."]
    assert found(result) == [
        {
            "title": "Buffers 1",
            "url": "https://docs.example/1",
            "age": "May 1, 2024",
            "snippet": "About buffer 1 & more",
        },
        {
            "title": "Buffers 2",
            "url": "https://docs.example/2",
            "age": "2024-05-01T00:00:00",
            "snippet": "About buffer 2 & more",
        },
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"language": "de"}, {"search_lang": "de"}),
        ({"language": "de-AT"}, {"search_lang": "de", "country": "AT"}),
        ({"language": "ja"}, {"search_lang": "jp"}),
        ({"language": "pt-BR"}, {"search_lang": "pt-br", "country": "BR"}),
        ({"language": "pt"}, {"search_lang": "pt-pt"}),
        ({"language": "zh-Hant-TW"}, {"search_lang": "zh-hant", "country": "TW"}),
        ({"language": "zh-TW"}, {"search_lang": "zh-hant", "country": "TW"}),
        ({"language": "en-GB"}, {"search_lang": "en-gb", "country": "GB"}),
        ({"timeRange": "day"}, {"freshness": "pd"}),
        ({"timeRange": "year"}, {"freshness": "py"}),
        ({"count": 20, "page": 10}, {"count": "20", "offset": "9"}),
    ],
)
async def test_language_time_range_and_page_are_passed_on_in_its_words(
    arguments: dict[str, Any], expected: dict[str, str]
) -> None:
    async with serving(server := brave_server()):
        server.give(brave_answer())
        result = await searched(brave(server), **arguments)
    asked = server.parameters
    assert {name: asked[name] for name in expected} == expected
    assert set(asked) - set(expected) <= {"q", "count", "offset", "result_filter", "text_decorations"}
    assert len(told(result)) == 1


async def test_a_language_or_region_that_it_does_not_have_is_told_and_not_sent() -> None:
    async with serving(server := brave_server()):
        server.give(brave_answer())
        result = await searched(brave(server), language="eo-LI")
    assert not {"search_lang", "country"} & set(server.parameters)
    assert told(result)[1:] == [
        "Note: language made no difference: Brave Search has no eo-li.",
        "Note: the region LI of language made no difference: Brave Search does not have it.",
    ]


async def test_what_it_does_not_take_is_refused_before_anything_is_sent() -> None:
    async with serving(server := brave_server()):
        provider = brave(server)
        assert "has 401 characters" in await failure(provider, "x" * 401)
        assert "51 words" in await failure(provider, "w " * 51)
        assert "the last one is 10" in await failure(provider, page=11)
    assert server.connections == 0


async def test_an_answer_without_web_results_is_one_of_nothing_found_and_another_spelling_is_told() -> None:
    async with serving(server := brave_server()):
        server.give({"type": "search", "query": {"original": "x", "altered": "unsaved\nbuffers"}})
        result = await searched(brave(server))
    assert told(result) == [
        "Brave Search, page 1: nothing was found.",
        'Note: what was searched for is "unsaved buffers".',
    ]


async def test_a_quota_that_is_nearly_used_up_is_told() -> None:
    async with serving(server := brave_server()):
        server.give(brave_answer(), x_ratelimit_limit="1, 2000", x_ratelimit_remaining="0, 12")
        assert told(await searched(brave(server)))[1:] == [
            "Note: 12 of 2000 searches are left to this key in the current period."
        ]
        for remaining in ("0, 1900", "many", "", "1"):
            server.give(brave_answer(), x_ratelimit_limit="1, 2000", x_ratelimit_remaining=remaining)
            assert len(told(await searched(brave(server)))) == 1


# --- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "headers", "says"),
    [
        (
            "422 Unprocessable Entity",
            brave_error(422, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid."),
            {},
            ["does not accept the key", "422", "SUBSCRIPTION_TOKEN_INVALID", "set BRAVE_API_KEY"],
        ),
        ("401 Unauthorized", b"", {}, ["does not accept the key (HTTP 401 Unauthorized)"]),
        ("403 Forbidden", b"<html>no</html>", {}, ["does not accept the key (HTTP 403 Forbidden)"]),
        (
            "422 Unprocessable Entity",
            brave_error(422, "VALIDATION", "x", errors=[{"loc": ["header", "x-subscription-token"], "msg": "missing"}]),
            {},
            ["does not accept the key"],
        ),
        (
            "422 Unprocessable Entity",
            brave_error(
                422,
                "VALIDATION",
                "Unable to validate request parameter(s)",
                errors=[{"type": "enum", "loc": ["query", "country"], "msg": "Input should be 'ALL', 'AR'\x1b[1m"}],
            ),
            {},
            ["does not take this request", "VALIDATION", "It is about country: Input should be 'ALL', 'AR' [1m."],
        ),
        (
            "429 Too Many Requests",
            brave_error(429, "RATE_LIMITED", "Request rate limit exceeded for plan."),
            {"x_ratelimit_limit": "1, 2000", "x_ratelimit_remaining": "0, 10", "x_ratelimit_reset": "1, 1419704"},
            ["too many requests", "RATE_LIMITED", "Try again in 1 second;"],
        ),
        (
            "429 Too Many Requests",
            brave_error(429, "QUOTA_LIMITED", "x"),
            {"x_ratelimit_remaining": "0, 0", "x_ratelimit_reset": "1, 1419704"},
            ["Try again in 1419704 seconds;"],
        ),
        ("429 Too Many Requests", b"", {"retry_after": "17"}, ["says after 17 (seconds, or a date)"]),
        ("429 Too Many Requests", b"", {"x_ratelimit_remaining": "0, x"}, ["Try again later."]),
        ("500 Internal Server Error", b"oops", {}, ["has no answer now (HTTP 500", "Try again later."]),
        ("503 Service Unavailable", b"", {"retry_after": "Wed, 21 Oct 2026 07:28:00 GMT"}, ["after Wed, 21 Oct 2026"]),
        ("404 Not Found", brave_error(404, "RESOURCE_NOT_FOUND", "x"), {}, ["does not take this request", "404"]),
        ("418 I'm a teapot", b"{", {}, ["does not take this request (HTTP 418"]),
    ],
)
async def test_each_failure_says_what_it_is_and_what_to_do(
    status: str, body: Any, headers: dict[str, str], says: list[str]
) -> None:
    async with serving(server := brave_server()):
        server.give(body, status, **headers)
        error = await failure(brave(server))
    for words in says:
        assert words in error
    assert KEY not in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<!doctype html><p>hi", b"[]", b"null", b"7", b'"text"', b'{"web"', b'{"other": 1}', b"\xff\xfe\x00"),
        *(b"[" * 1_000_000, b'{"a":' * 200_000, b'{"web": ' + b"9" * 10_000 + b"}"),
    ],
)
async def test_an_answer_that_is_no_list_of_results_is_told_as_such(body: bytes) -> None:
    async with serving(server := brave_server()):
        server.give(body)
        assert "answered something that is no list of results" in await failure(brave(server))


NONE_AT_ALL: list[Any] = [None, {}, "abc", [None, 1, "x", [], {}]]
NO_RESULTS: list[Any] = [None, [], "x", 3, *({"results": each} for each in NONE_AT_ALL)]


@pytest.mark.parametrize("web", NO_RESULTS)
async def test_members_of_another_type_are_passed_over(web: Any) -> None:
    async with serving(server := brave_server()):
        server.give({"type": "search", "query": [], "web": web})
        result = await searched(brave(server))
    assert found(result) == []
    assert told(result)[0] == "Brave Search, page 1: nothing was found."


async def test_of_results_some_of_which_are_none_the_others_are_shown() -> None:
    odd = [
        {"url": 5},
        brave_result(2, title=None, description=["x"], age={"a": 1}, page_age=3),
        {"url": "javascript:x"},
    ]
    async with serving(server := brave_server()):
        server.give(brave_answer(*odd))
        result = await searched(brave(server))
    assert found(result) == [{"title": "", "url": "https://docs.example/2", "snippet": ""}]
    assert told(result)[1:] == [
        "Note: 1 of the results could not be read.",
        "Note: 1 result was left out, with no URL that could be fetched.",
    ]


async def test_an_answer_of_50_megabytes_is_not_taken() -> None:
    sent = 0

    async def flood(stream: anyio.abc.ByteStream) -> None:
        nonlocal sent
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + b'{"web": "')
        while sent < 50:
            await stream.send(b"x" * 1_000_000)
            sent += 1

    async with serving(server := brave_server()):
        server.given = flood  # type: ignore[assignment]  the desk writes what it likes
        assert "which is the most that is taken" in await failure(brave(server))
    assert sent < 25


# --- the key ---------------------------------------------------------------------------------------------------------


async def test_a_key_that_is_none_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(server := brave_server()):
        for key in ("two words", "naïve-key-1", "line\nbreak", "x\x00y"):
            error = await failure(brave(server, api_key=key))
            assert "BRAVE_API_KEY has characters in it that no key has" in error
            assert key not in error
        monkeypatch.setenv("BRAVE_API_KEY", f" {KEY}\n")
        server.give(brave_answer())
        provider = BraveSearch(base_url=f"http://127.0.0.1:{server.port}/res/v1")
        assert (await searched(provider)).success
    assert [header_of(request, "x-subscription-token") for request in server.requests] == [KEY]


async def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else() -> None:
    async with serving(server := brave_server(), other := Server({"/": answer("{}")})):
        for status in ("301 Moved Permanently", "302 Found", "307 Temporary Redirect"):
            server.given = moved(other.url("/", "127.0.0.1"), status)
            error = await failure(brave(server))
            assert "redirects to another place, which is not followed" in error
        server.given = moved("/res/v1/web/search?again")
        assert "is not followed" in await failure(brave(server))
    assert other.connections == 0
    assert server.connections == 4


async def test_a_key_that_the_answer_repeats_is_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving(server := brave_server()):
        server.give(brave_answer(brave_result(1, title=f"your key is {KEY}", url=f"https://a.example/{KEY}")))
        result = await searched(brave(server))
        logged = caplog.text
        server.give(brave_error(400, KEY, f"bad {KEY}"), "400 Bad Request", retry_after=KEY)
        error = await failure(brave(server))
    assert KEY in server.requests[0]
    assert "httpcore" in logged
    for text in (result.output, error, logged, repr(brave(server))):
        assert KEY not in text
    (target,) = brave(server).targets(SearchRequest(query="x"))
    assert KEY not in target.url


async def test_a_key_in_what_is_no_answer_or_escaped_in_one_is_shown_nowhere() -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    async with serving(server := brave_server()):
        server.give(
            f'{{"web": {{"results": [{{"title": "{escaped}", "url": "https://a.example/{escaped}"}}]}}}}'.encode()
        )
        result = await searched(brave(server))
        assert result.success
        assert KEY not in result.output
        for given in (
            answer("x", content_encoding=KEY),
            f"HTTP/1.1 200 OK\r\nno header {KEY}\r\n\r\n".encode(),
            f"{KEY} 200 OK\r\n\r\n".encode(),
        ):
            server.given = given
            assert KEY not in await failure(brave(server))


def test_a_base_url_to_which_the_key_would_be_sent_in_the_clear_is_refused() -> None:
    for url in ("http://search.corp.example/res/v1", "http://10.0.0.1/", "ftp://x/", "api.search.brave.com", ""):
        with pytest.raises(ToolDefinitionError, match="https://"):
            BraveSearch(base_url=url)
    with pytest.raises(ToolDefinitionError, match="query or a fragment"):
        BraveSearch(base_url="https://a.example/?x=1")


async def test_the_api_itself_is_reached_as_a_public_host_alone() -> None:
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> tuple[str, ...]:
        asked.append(host)
        await anyio.lowlevel.checkpoint()
        return ("127.0.0.1",)

    provider = BraveSearch(api_key=KEY, resolve=resolve, settings=WebSettings(allowed_hosts=("*.brave.com",)))
    (target,) = provider.targets(SearchRequest(query="x"))
    assert (target.host, target.port) == ("api.search.brave.com", 443)
    assert "only hosts of the public internet" in await failure(provider)
    assert asked == ["api.search.brave.com"]


@pytest.mark.contract("T6")
async def test_cancelling_closes_the_connection() -> None:
    token = CancellationToken()

    async def silent(stream: anyio.abc.ByteStream) -> None:
        token.cancel()
        await stream.receive()

    async with serving(server := brave_server()):
        server.given = silent  # type: ignore[assignment]  the desk writes what it likes
        with pytest.raises(ToolCancelledError):
            await searched(brave(server), context=ToolContext(cancellation=token))
        with anyio.fail_after(10):
            await server.closed.wait()
    assert server.connections == 1
