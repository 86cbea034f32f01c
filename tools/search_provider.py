"""The port to whoever searches the web, and what can go wrong there; pure protocols and data (W2).

Failures are ordinary ones, and the text of each says what to do::

    ToolFailure
    └── SearchFailure             a search that came to nothing
        ├── SearchNotConfiguredError   there is no provider, or what it needs is not set
        ├── SearchRefusedError         the provider does not take the request, or not from us
        ├── SearchLimitedError         too many requests
        ├── SearchUnavailableError     the provider is there, and has no answer now
        └── SearchAnswerError          what it answered cannot be read
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, get_args

from .errors import ToolFailure

if TYPE_CHECKING:
    from .targets import UrlTarget

TimeRange: TypeAlias = Literal["day", "week", "month", "year"]
"""How far back the pages may have been found or published."""

TIME_RANGES: frozenset[TimeRange] = frozenset(get_args(TimeRange))


class SearchFailure(ToolFailure):
    """A search that came to nothing."""


class SearchNotConfiguredError(SearchFailure):
    """There is no provider, or what it needs is not set; the text says what to set."""


class SearchRefusedError(SearchFailure):
    """The provider does not take this request, or takes none from us."""


class SearchLimitedError(SearchFailure):
    """There were too many requests; the text says when there may be another where that is known."""


class SearchUnavailableError(SearchFailure):
    """The provider has no answer now."""


class SearchAnswerError(SearchFailure):
    """What the provider answered cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAbilities:
    """What a provider can do; it is never asked for anything else, and the tool tells what was left out.

    ``max_page`` 1: it has no further pages. ``languages``: it takes a language. An empty ``time_ranges``: it has none.
    """

    max_page: int = 1
    languages: bool = False
    time_ranges: frozenset[TimeRange] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search. ``language`` is a tag such as ``de`` or ``pt-BR``; pages count from 1.

    ``count`` is how many results are shown; a provider may give more or fewer.
    """

    query: str
    count: int = 10
    language: str | None = None
    time_range: TimeRange | None = None
    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One page that was found. The texts are those of a stranger: markup, and whatever else, may be in them.

    ``age`` is when it was published or how long ago, in whatever words; empty where that is not known.
    """

    title: str
    url: str
    snippet: str = ""
    age: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """What was found, the best first.

    ``not_honoured`` tells, a sentence each, what of the request made no difference, and ``notes`` anything else that
    whoever reads the results has to know: that some are missing, that another spelling was searched for.
    ``has_more`` tells whether there is a next page; None where that is not known.
    """

    results: tuple[SearchResult, ...]
    not_honoured: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    has_more: bool | None = None


class SearchProvider(Protocol):
    """Searches the web."""

    @property
    def name(self) -> str:
        """What it is called, in a few words."""
        ...

    @property
    def abilities(self) -> SearchAbilities:
        """What it can do; always the same."""
        ...

    def targets(self, request: SearchRequest) -> tuple[UrlTarget, ...]:
        """What :meth:`search` will send over the network, for the gate. Sends nothing, and does not block.

        No credential is in it.

        Raises:
            SearchFailure: the search would come to nothing, as far as that can be told by now.
        """
        ...

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """Search; cancelling ends it, with its connections.

        Raises:
            ToolFailure: there is no answer; the text says why and holds no credential.
        """
        ...
