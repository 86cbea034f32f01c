"""WebSearch: pages that a provider of searches found, as lines of JSON that nothing in their texts breaks out of (W2).

What is found is text of strangers: it is cleaned and bounded here, whichever provider it came from, and a result whose
URL would not be fetched is left out and counted.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import anyio
from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import ToolExecutionError, ToolFailure
from ..limits import (
    SEARCH_COUNT_DEFAULT,
    SEARCH_COUNT_MAX,
    SEARCH_NOTE_MAX_CHARS,
    SEARCH_PAGE_MAX,
    SEARCH_QUERY_MAX_CHARS,
    SEARCH_RESULT_URL_MAX_CHARS,
    SEARCH_SNIPPET_MAX_CHARS,
    SEARCH_TIMEOUT_S,
    SEARCH_TITLE_MAX_CHARS,
)
from ..search_provider import (
    TIME_RANGES,
    SearchAbilities,
    SearchNotConfiguredError,
    SearchRefusedError,
    SearchRequest,
    SearchUnavailableError,
    TimeRange,
)
from ..support.blocking import run_blocking
from ..support.found_text import words_of
from ..support.http_guard_urls import url_target
from ..support.json_line import json_line
from ..support.left_out import counted
from ..support.until_cancelled import until_cancelled

if TYPE_CHECKING:
    from ..search_provider import SearchAnswer, SearchProvider, SearchResult

_NOTES_MAX: Final = 10
_RESULTS_MAX: Final = 200


class WebSearchInput(BaseModel):
    """Arguments of WebSearch."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=SEARCH_QUERY_MAX_CHARS, description="What to search for.")
    count: int = Field(SEARCH_COUNT_DEFAULT, ge=1, le=SEARCH_COUNT_MAX, description="How many results to show at most.")
    language: str | None = Field(
        None,
        pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$",
        description="Language of the results as a tag such as de or pt-BR; the provider's own choice if left out.",
    )
    time_range: TimeRange | None = Field(
        None, alias="timeRange", description="How far back the pages may date; any time if left out."
    )
    page: int = Field(1, ge=1, le=SEARCH_PAGE_MAX, description="Which page of results; pages count from 1.")

    @field_validator("query")
    @classmethod
    def _on_one_line(cls, query: str) -> str:
        query = " ".join(query.replace("\0", " ").split())
        if not query:
            raise ValueError("is blank")
        return query


def create_web_search_tool(*, provider: SearchProvider | None = None, description: str | None = None) -> FunctionTool:
    """Build the WebSearch tool over a provider; without one every call answers that there is none."""
    checked: SearchProvider = provider or _NoProvider()

    async def prepare(parsed: WebSearchInput, context: ToolContext) -> Plan:
        request, notes = _within(parsed, checked)
        targets = checked.targets(request)
        await context.admit(targets)
        return Plan(targets=targets, state=_Asked(request, notes))

    async def commit(plan: Plan, context: ToolContext) -> InvocationResult:
        asked: _Asked = plan.state
        answer = await until_cancelled(
            context.cancellation,
            lambda: _answer(checked, asked.request),
            "the search was cancelled, and has stopped.",
        )
        # A hostile answer is a lot to look through.
        output = await run_blocking(context.cancellation, lambda: _told(checked, asked, answer))
        return InvocationResult(success=True, output=output)

    return create_builtin_tool(
        name="WebSearch",
        description=description if description is not None else _description(checked),
        model=WebSearchInput,
        prepare=prepare,
        commit=commit,
        capabilities=frozenset({Capability.NETWORK}),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    request: SearchRequest
    notes: tuple[str, ...]


class _NoProvider:
    """Stands where nobody was configured."""

    def __init__(self) -> None:
        self.name = "web search"
        self.abilities = SearchAbilities(max_page=SEARCH_PAGE_MAX, languages=True, time_ranges=TIME_RANGES)

    def targets(self, request: SearchRequest) -> tuple[()]:  # noqa: ARG002  the port's signature
        raise SearchNotConfiguredError(
            "web search is not configured here: there is no provider of searches. The user can configure one: Brave "
            "Search with a key (BRAVE_API_KEY), or the URL of a SearXNG instance."
        )

    async def search(self, request: SearchRequest) -> SearchAnswer:
        self.targets(request)
        raise AssertionError("unreachable: without a provider there is nothing to ask")


def _description(provider: SearchProvider) -> str:
    abilities = provider.abilities
    lacks = [] if abilities.languages else ["language"]
    if not abilities.time_ranges:
        lacks.append("timeRange")
    if abilities.max_page == 1:
        lacks.append("page")
    without = f" It has no choice of {', '.join(lacks)}; the result tells where one was given." if lacks else ""
    name = words_of(provider.name, SEARCH_TITLE_MAX_CHARS)
    by = " No provider is configured." if isinstance(provider, _NoProvider) else f" The provider is {name}.{without}"
    return (
        f"Searches the web and returns what was found, the best first.{by} The output is a line that tells how many "
        "results there are, notes where something of the request made no difference or results are missing, and then "
        "one line of JSON for each result: title, url, age (where it is known) and snippet. Titles and snippets are "
        "words of the pages that were found, without markup. Results with a URL that is not http or https are left "
        "out and counted. Limits and refusals of the provider are failed results that tell when or how to go on."
    )


# --- asking --------------------------------------------------------------------------------------------------------


def _within(parsed: WebSearchInput, provider: SearchProvider) -> tuple[SearchRequest, tuple[str, ...]]:
    """The request without what the provider cannot do, and what that is."""
    abilities, notes = provider.abilities, list[str]()
    name = words_of(provider.name, SEARCH_TITLE_MAX_CHARS)
    if parsed.page > abilities.max_page:
        raise SearchRefusedError(
            f"{name} gives no page {parsed.page}; the last one is {abilities.max_page}. Search for something narrower."
        )
    language, time_range = parsed.language, parsed.time_range
    if language is not None and not abilities.languages:
        language = None
        notes.append(f"language made no difference: {name} has no choice of it")
    if time_range is not None and time_range not in abilities.time_ranges:
        time_range = None
        has = ", ".join(sorted(TIME_RANGES & abilities.time_ranges))
        notes.append(f"timeRange made no difference: {name} has {f'only {has}' if has else 'no choice of it'}")
    request = SearchRequest(
        query=parsed.query, count=parsed.count, language=language, time_range=time_range, page=parsed.page
    )
    return request, tuple(notes)


async def _answer(provider: SearchProvider, request: SearchRequest) -> SearchAnswer:
    name = words_of(provider.name, SEARCH_TITLE_MAX_CHARS)
    with anyio.move_on_after(SEARCH_TIMEOUT_S):
        try:
            return await provider.search(request)
        except (ToolFailure, ToolExecutionError):
            raise
        except Exception as error:
            # Its text could hold whatever a client of a provider puts there, a key in a URL for one.
            raise SearchUnavailableError(
                f"{name} failed unexpectedly ({type(error).__name__}); nothing was found out. Try again, or go on "
                "without a search."
            ) from error
    raise SearchUnavailableError(f"{name} has not answered within {SEARCH_TIMEOUT_S:g} seconds. Try again later.")


# --- telling -------------------------------------------------------------------------------------------------------


def _told(provider: SearchProvider, asked: _Asked, answer: SearchAnswer) -> str:
    request = asked.request
    shown, left_out = _lines(answer, request.count)
    name = words_of(provider.name, SEARCH_TITLE_MAX_CHARS)
    head = f"{name}, page {request.page}: {counted(len(shown), 'result', 'results') if shown else 'nothing was found'}."
    if answer.has_more and request.page < provider.abilities.max_page:
        head += f" There are more on page {request.page + 1}."
    notes = [*asked.notes, *answer.not_honoured, *answer.notes]
    if left_out:
        notes.append(f"{counted(left_out, 'result was', 'results were')} left out, with no URL that could be fetched")
    rest = min(len(answer.results), _RESULTS_MAX) - left_out - len(shown)
    if rest > 0:
        notes.append(f"the provider gave {rest} more for this page; a higher count shows them")
    told = [f"Note: {words_of(note, SEARCH_NOTE_MAX_CHARS).rstrip('.')}." for note in notes[:_NOTES_MAX]]
    return "\n".join([head, *told, *shown])


def _lines(answer: SearchAnswer, most: int) -> tuple[list[str], int]:
    """A line for each result, up to so many; and how many of all cannot be shown."""
    shown: list[str] = []
    left_out = 0
    for result in answer.results[:_RESULTS_MAX]:
        url = _fetchable(result.url)
        if url is None:
            left_out += 1
        elif len(shown) < most:
            shown.append(json_line(_members(result, url)))
    return shown, left_out


def _members(result: SearchResult, url: str) -> dict[str, str]:
    members = {"title": words_of(result.title, SEARCH_TITLE_MAX_CHARS), "url": url}
    age = words_of(result.age, SEARCH_TITLE_MAX_CHARS)
    if age:
        members["age"] = age
    return {**members, "snippet": words_of(result.snippet, SEARCH_SNIPPET_MAX_CHARS)}


def _fetchable(url: object) -> str | None:
    """The URL as it would be fetched; None for one that would not be."""
    if not isinstance(url, str) or len(url) > SEARCH_RESULT_URL_MAX_CHARS:
        return None
    try:
        return url_target(url).url
    except ToolFailure:
        return None
