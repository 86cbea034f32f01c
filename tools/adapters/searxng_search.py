"""Searches with an instance of SearXNG that the user names by its base URL (W2).

Its host is allowed by being named, also where it is this machine. The instance has to offer its results as JSON, which
most do not unless they are told to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..limits import SEARCH_ANSWER_MAX_BYTES, SEARCH_PAGE_MAX, SEARCH_TIMEOUT_S
from ..search_provider import (
    TIME_RANGES,
    SearchAbilities,
    SearchAnswer,
    SearchAnswerError,
    SearchLimitedError,
    SearchRefusedError,
    SearchResult,
    SearchUnavailableError,
)
from ..support.found_text import words_of
from ..support.http_guard_headers import check_headers
from ..support.service_client import ServiceClient
from .search_json import items, member, text, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..contract import UrlTarget
    from ..search_provider import SearchFailure, SearchRequest
    from ..support.http_guard import Resolver
    from ..support.http_guard_settings import WebSettings
    from ..support.service_client import ServiceAnswer

_ENGINES_NAMED: Final = 5


class SearxngSearch:
    """Implements ``SearchProvider``. ``base_url`` is where its start page is, such as ``http://localhost:8888``.

    ``headers`` are sent along to that host alone, for an instance that asks for credentials. ``settings`` is how the
    web is reached; the instance itself is never reached through a proxy.

    Raises:
        ToolDefinitionError: a base URL that cannot be meant.
        HeadersRefusedError: headers that cannot be set.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        settings: WebSettings | None = None,
        resolve: Resolver | None = None,
    ) -> None:
        self.name: Final = "SearXNG"
        self.abilities: Final = SearchAbilities(max_page=SEARCH_PAGE_MAX, languages=True, time_ranges=TIME_RANGES)
        self._headers = check_headers(headers or {})
        self._client = ServiceClient(
            base_url,
            what="the SearXNG instance",
            max_bytes=SEARCH_ANSWER_MAX_BYTES,
            timeout_s=SEARCH_TIMEOUT_S,
            settings=settings,
            resolve=resolve,
        )

    def targets(self, request: SearchRequest) -> tuple[UrlTarget, ...]:
        """See ``SearchProvider``."""
        return (self._request(request)[0],)

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """See ``SearchProvider``."""
        secrets = tuple(part for value in self._headers.values() for part in (value, value.rpartition(" ")[2]))
        target, not_honoured = self._request(request)
        answer = await self._client.get(target, self._headers, secrets=secrets)
        if answer.status != 200:
            raise _failure(answer)
        return _answer(answer, not_honoured)

    def _request(self, request: SearchRequest) -> tuple[UrlTarget, tuple[str, ...]]:
        if any(word.startswith("!!") for word in request.query.split()):
            raise SearchRefusedError(
                "a word of the query begins with !!, by which SearXNG leads to another site instead of searching. "
                "Leave the !! out."
            )
        parameters = {"q": request.query, "format": "json", "pageno": str(request.page)}
        not_honoured: tuple[str, ...] = ()
        if request.language is not None:
            parameters["language"], is_all = _language(request.language)
            if not is_all:
                not_honoured = (f"of the language {request.language} only {parameters['language']} made a difference",)
        if request.time_range is not None:
            parameters["time_range"] = request.time_range
        return self._client.target("/search", parameters), not_honoured


def _language(tag: str) -> tuple[str, bool]:
    """The tag as SearXNG takes it, a language and perhaps a region of two letters; and whether that is all of it."""
    language, *rest = tag.split("-")
    regions = [part.upper() for part in rest if len(part) == 2]
    if not regions:
        regions = [_SCRIPTS[part.lower()] for part in rest if language.lower() == "zh" and part.lower() in _SCRIPTS]
    others = [part for part in rest if len(part) != 2 and part.lower() not in _SCRIPTS]
    return "-".join([language.lower(), *regions[:1]]), not others and len(regions) <= 1


_SCRIPTS: Final = {"hans": "CN", "hant": "TW"}
"""Regions that stand for how Chinese is written."""


# --- what came -----------------------------------------------------------------------------------------------------


def _answer(answer: ServiceAnswer, not_honoured: tuple[str, ...]) -> SearchAnswer:
    data = answer.data
    found = member(data, "results")
    if not isinstance(found, list):
        what = "an object without results" if answer.is_json else "no JSON"
        raise SearchAnswerError(
            f"the SearXNG instance answered {what}. The user has to check that the base URL is that of a SearXNG "
            "instance, and that it offers JSON (search.formats in its settings.yml)."
        )
    given = items(found)  # pyright: ignore[reportUnknownArgumentType]  whatever it is, it is looked at item by item
    results = tuple(_result(each) for each in given if text(each, "url"))
    notes: list[str] = []
    if len(results) < len(given):
        notes.append(f"{len(given) - len(results)} of the results could not be read")
    silent = [engine for engine in map(_engine, items(member(data, "unresponsive_engines"))) if engine]
    if silent:
        more = f" and {len(silent) - _ENGINES_NAMED} more" if len(silent) > _ENGINES_NAMED else ""
        told = f"{', '.join(silent[:_ENGINES_NAMED])}{more}"
        if not results:
            raise SearchUnavailableError(
                f"the SearXNG instance found nothing, and of its search engines these have not answered: {told}. Try "
                "again later, or with other words."
            )
        notes.append(f"results are missing, since these search engines have not answered: {told}")
    corrections = [each for each in (words_of(item, 100) for item in items(member(data, "corrections"))[:3]) if each]
    if corrections:
        notes.append(f"the instance asks whether this was meant: {', '.join(corrections)}")
    return SearchAnswer(results=results, not_honoured=not_honoured, notes=tuple(notes))


def _result(data: Any) -> SearchResult:
    return SearchResult(
        title=text(data, "title"),
        url=text(data, "url"),
        snippet=text(data, "content"),
        age=text(data, "publishedDate"),
    )


def _engine(data: Any) -> str:
    """Such as ``google (timeout)``."""
    name, *why = [words_of(part, 60) for part in items(data)[:2]] or [""]
    return f"{name} ({why[0]})" if name and why and why[0] else name


def _failure(answer: ServiceAnswer) -> SearchFailure:
    said = ", ".join(part for part in (f"HTTP {answer.status_text}", words(answer.data, "error")) if part)
    if answer.status == 403:
        return SearchRefusedError(
            f"the SearXNG instance does not give its results as JSON ({said}): search.formats in its settings.yml has "
            "no json, or it takes no requests from here. The user has to add json there, or name another instance."
        )
    if answer.status == 401:
        return SearchRefusedError(
            f"the SearXNG instance asks for credentials ({said}). The user has to configure them as headers."
        )
    if answer.status == 429:
        return SearchLimitedError(
            f"the SearXNG instance: too many requests ({said}). {_when(answer.headers)} If it is the user's own, its "
            "limiter can be told to let this machine through."
        )
    if answer.status >= 500:
        return SearchUnavailableError(f"the SearXNG instance has no answer now ({said}). {_when(answer.headers)}")
    if answer.status == 404:
        return SearchRefusedError(
            f"there is no SearXNG at the base URL ({said}). The user has to correct it to where the start page is."
        )
    return SearchRefusedError(
        f"the SearXNG instance does not take this request ({said}). Change the query, or leave language and timeRange "
        "out."
    )


def _when(headers: Mapping[str, str]) -> str:
    wait = words_of(headers.get("retry-after", ""), 50)
    return f"Try again later; it says after {wait} (seconds, or a date)." if wait else "Try again later."
