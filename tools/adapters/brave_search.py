"""Searches with Brave: the endpoint ``web/search`` of its API, with a key of the user's (W2).

The key is looked up for each search, so that building this reads nothing, and is sent to that one host in a header.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

from ..errors import ToolDefinitionError
from ..limits import SEARCH_ANSWER_MAX_BYTES, SEARCH_COUNT_MAX, SEARCH_TIMEOUT_S
from ..search_provider import (
    TIME_RANGES,
    SearchAbilities,
    SearchAnswer,
    SearchAnswerError,
    SearchLimitedError,
    SearchNotConfiguredError,
    SearchRefusedError,
    SearchResult,
    SearchUnavailableError,
)
from ..support.found_text import words_of
from ..support.service_client import ServiceClient
from .search_json import items, member, text, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..contract import UrlTarget
    from ..search_provider import SearchFailure, SearchRequest
    from ..support.http_guard import Resolver
    from ..support.http_guard_settings import WebSettings
    from ..support.service_client import ServiceAnswer

BRAVE_BASE_URL: Final = "https://api.search.brave.com/res/v1"
BRAVE_API_KEY: Final = "BRAVE_API_KEY"
"""The environment variable that has the key."""

_QUERY_MAX_CHARS: Final = 400
_QUERY_MAX_WORDS: Final = 50
_PAGES: Final = 10
_FRESHNESS: Final = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_KEY: Final = re.compile(r"[\x21-\x7e]+")
_LOOPBACK: Final = re.compile(r"http://(?:127\.0\.0\.1|\[::1\]|localhost)[:/]")

_LANGUAGE_CODES: Final = (
    "ar eu bn bg ca zh-hans zh-hant hr cs da nl en en-gb et fi fr gl de gu he hi hu is it jp kn ko lv lt ms ml mr nb "
    "pl pt-br pt-pt pa ro ru sr sk sl es sv ta te th tr uk vi"
)
_COUNTRY_CODES: Final = (
    "AR AU AT BE BR CA CL DK FI FR DE HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE CH TW TR GB US"
)
_LANGUAGES: Final = frozenset(_LANGUAGE_CODES.split())
_COUNTRIES: Final = frozenset(_COUNTRY_CODES.split())
_CALLED: Final = {
    "ja": "jp",
    "no": "nb",
    "pt": "pt-pt",
    "zh": "zh-hans",
    "zh-cn": "zh-hans",
    "zh-sg": "zh-hans",
    "zh-tw": "zh-hant",
    "zh-hk": "zh-hant",
    "zh-mo": "zh-hant",
}
"""Languages that Brave has by another name than that of the standard."""


class BraveSearch:
    """Implements ``SearchProvider``. ``api_key`` None is that of the environment, at the time of each search.

    ``settings`` is how the web is reached, a proxy for one. ``base_url`` is for something of one's own that speaks the
    same; the key is sent there.

    Raises:
        ToolDefinitionError: a base URL that cannot be meant, or one that the key would be sent to in the clear.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        settings: WebSettings | None = None,
        base_url: str = BRAVE_BASE_URL,
        resolve: Resolver | None = None,
    ) -> None:
        self.name: Final = "Brave Search"
        self.abilities: Final = SearchAbilities(max_page=_PAGES, languages=True, time_ranges=TIME_RANGES)
        if not base_url.lower().startswith("https://") and not _LOOPBACK.match(base_url.lower() + "/"):
            raise ToolDefinitionError(
                "the base URL of Brave Search is to begin with https://, since the key is sent there; http:// is for "
                "this machine alone"
            )
        self._key = api_key
        self._client = ServiceClient(
            base_url,
            what=self.name,
            max_bytes=SEARCH_ANSWER_MAX_BYTES,
            timeout_s=SEARCH_TIMEOUT_S,
            settings=settings,
            resolve=resolve,
            is_public=base_url == BRAVE_BASE_URL,
        )

    def targets(self, request: SearchRequest) -> tuple[UrlTarget, ...]:
        """See ``SearchProvider``."""
        self._api_key()
        target, _ = self._request(request)
        return (target,)

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """See ``SearchProvider``."""
        key = self._api_key()
        target, not_honoured = self._request(request)
        answer = await self._client.get(target, {"x-subscription-token": key}, secrets=(key,))
        if answer.status != 200:
            raise _failure(answer)
        return _answer(answer, not_honoured)

    def _api_key(self) -> str:
        key = (os.environ.get(BRAVE_API_KEY, "") if self._key is None else self._key).strip()
        if not key:
            raise SearchNotConfiguredError(
                f"web search with Brave is not configured: there is no key. The user has to set {BRAVE_API_KEY} in the "
                "environment to a key for the Brave Search API."
            )
        if not _KEY.fullmatch(key):
            raise SearchNotConfiguredError(
                f"web search with Brave is not configured: {BRAVE_API_KEY} has characters in it that no key has. The "
                "user has to correct it."
            )
        return key

    def _request(self, request: SearchRequest) -> tuple[UrlTarget, tuple[str, ...]]:
        length, count = len(request.query), len(request.query.split())
        if length > _QUERY_MAX_CHARS or count > _QUERY_MAX_WORDS:
            raise SearchRefusedError(
                f"{self.name} takes at most {_QUERY_MAX_CHARS} characters and {_QUERY_MAX_WORDS} words, and the query "
                f"has {length} characters and {count} words. Search for less."
            )
        parameters = {
            "q": request.query,
            "count": str(min(request.count, SEARCH_COUNT_MAX)),
            "offset": str(request.page - 1),
            "result_filter": "web",
            "text_decorations": "false",
        }
        not_honoured: list[str] = []
        if request.language is not None:
            parameters |= _language(request.language, not_honoured)
        if request.time_range is not None:
            parameters["freshness"] = _FRESHNESS[request.time_range]
        return self._client.target("/web/search", parameters), tuple(not_honoured)


def _language(tag: str, not_honoured: list[str]) -> dict[str, str]:
    """The parameters for a tag such as ``de-AT``; what Brave has no word for is noted."""
    tag = tag.lower()
    language, *rest = tag.split("-")
    region = next((part.upper() for part in rest if len(part) == 2), "")
    without_region = "-".join([language, *(part for part in rest if len(part) != 2)])
    parameters: dict[str, str] = {}
    for name in (tag, without_region, language):
        code = _CALLED.get(name, name)
        if code in _LANGUAGES:
            parameters["search_lang"] = code
            break
    else:
        not_honoured.append(f"language made no difference: Brave Search has no {tag}")
    if region in _COUNTRIES:
        parameters["country"] = region
    elif region:
        not_honoured.append(f"the region {region} of language made no difference: Brave Search does not have it")
    return parameters


# --- what came -----------------------------------------------------------------------------------------------------


def _answer(answer: ServiceAnswer, not_honoured: tuple[str, ...]) -> SearchAnswer:
    data = answer.data
    if not isinstance(data, dict) or ("web" not in data and "query" not in data and member(data, "type") != "search"):
        raise SearchAnswerError(
            "Brave Search answered something that is no list of results. Try again; if that does not help, its API has "
            "changed, or the base URL is not that of its API."
        )
    given = items(member(data, "web", "results"))
    results = tuple(_result(each) for each in given if text(each, "url"))
    notes: list[str] = []
    if len(results) < len(given):
        notes.append(f"{len(given) - len(results)} of the results could not be read")
    if altered := words(data, "query", "altered"):
        notes.append(f'what was searched for is "{altered}"')
    if quota := _quota(answer.headers):
        notes.append(quota)
    has_more = member(data, "query", "more_results_available")
    return SearchAnswer(
        results=results,
        not_honoured=not_honoured,
        notes=tuple(notes),
        has_more=has_more if isinstance(has_more, bool) else None,
    )


def _result(data: Any) -> SearchResult:
    return SearchResult(
        title=text(data, "title"),
        url=text(data, "url"),
        snippet=text(data, "description"),
        age=text(data, "age") or text(data, "page_age"),
    )


def _quota(headers: Mapping[str, str]) -> str:
    """What is left of the longest period, where that is little."""
    limits, left = (_numbers(headers, f"x-ratelimit-{name}") for name in ("limit", "remaining"))
    if not limits or len(limits) != len(left) or left[-1] * 10 > limits[-1]:
        return ""
    return f"{left[-1]} of {limits[-1]} searches are left to this key in the current period"


def _numbers(headers: Mapping[str, str], name: str) -> list[int]:
    """Such as ``1, 15000``; nothing where it is anything else."""
    parts = [part.strip() for part in headers.get(name, "")[:100].split(",")]
    return [int(part) for part in parts] if all(re.fullmatch(r"[0-9]{1,15}", part) for part in parts) else []


def _failure(answer: ServiceAnswer) -> SearchFailure:
    error = member(answer.data, "error")
    code = words(error, "code")
    told = ": ".join(part for part in (code, words(error, "detail")) if part)
    said = f"HTTP {answer.status_text}{f', {told}' if told else ''}"
    if answer.status in {401, 403} or "TOKEN" in code or _is_about_the_key(error):
        return SearchRefusedError(
            f"Brave Search does not accept the key ({said}). The user has to set {BRAVE_API_KEY} to a key whose "
            "subscription is for web search."
        )
    if answer.status == 429:
        return SearchLimitedError(f"Brave Search: too many requests ({said}). {_when(answer.headers)}")
    if answer.status >= 500:
        when = _when(answer.headers) if "retry-after" in answer.headers else "Try again later."
        return SearchUnavailableError(f"Brave Search has no answer now ({said}). {when}")
    fields = ", ".join(filter(None, (_field(each) for each in items(member(error, "meta", "errors"))[:5])))
    about = f" It is about {fields}." if fields else ""
    return SearchRefusedError(
        f"Brave Search does not take this request ({said}).{about} Change the query or leave more out."
    )


def _is_about_the_key(error: Any) -> bool:
    return any(
        isinstance(part, str) and part.lower() == "x-subscription-token"
        for each in items(member(error, "meta", "errors"))
        for part in items(member(each, "loc"))
    )


def _field(error: Any) -> str:
    where = [words_of(part, 50) for part in items(member(error, "loc"))[-1:]]
    return ": ".join(part for part in (*where, words(error, "msg")) if part)


def _when(headers: Mapping[str, str]) -> str:
    """When there may be another request, as far as the headers tell."""
    if wait := words_of(headers.get("retry-after", ""), 50):
        return f"Try again later; Brave says after {wait} (seconds, or a date)."
    left, resets = (_numbers(headers, f"x-ratelimit-{name}") for name in ("remaining", "reset"))
    waits = [reset for rest, reset in zip(left, resets, strict=False) if rest == 0]
    if not waits:
        return "Try again later."
    return f"Try again in {max(waits)} {'second' if max(waits) == 1 else 'seconds'}; until then all are used up."
