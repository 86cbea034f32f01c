"""What the configuration says of the web, as the tools take it: settings that are live, and who searches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openbuffer.tools.contract import UrlTarget
    from openbuffer.tools.search_provider import SearchAnswer, SearchProvider, SearchRequest
    from openbuffer.tools.support.http_guard_settings import WebSettings

    from .settings import LiveSettings

# The adapters of search are imported where one is configured: an editor waits for the first answer.


def live_web(settings: LiveSettings) -> Callable[[], WebSettings | None] | None:
    """The web's settings as they were looked at last, which the gate does before each call; None: there is no web.

    The numbers stay those of the beginning, because the tool's description tells them.
    """
    first = settings.first.web
    if first is None:
        return None

    def now() -> WebSettings | None:
        web = settings.last.web
        if web is None:
            return None
        return replace(
            web,
            timeout_s=first.timeout_s,
            max_bytes=first.max_bytes,
            max_redirects=first.max_redirects,
            max_output_chars=first.max_output_chars,
        )

    return now


def search_provider(
    settings: LiveSettings, environment: Mapping[str, str], *, tell: Callable[[str], None]
) -> SearchProvider | None:
    """Who searches the web; None where nobody can. Brave needs its key, unless the user has named it: then it tells.

    ``tell`` takes a sentence where what was configured cannot be used.
    """
    search = settings.first.search
    if search is None:
        return None
    # Searches go to where the user has configured and nowhere else; of the web's settings they take the way there.
    web = settings.first.web
    if search.provider == "searxng":
        if search.url is None:
            tell("search.provider is searxng and search.url is not set, so that there is no WebSearch; set its URL")
            return None
        from openbuffer.tools.adapters.searxng_search import SearxngSearch  # noqa: PLC0415  see above

        return _Switched(SearxngSearch(search.url, settings=web), settings)
    from openbuffer.tools.adapters.brave_search import BRAVE_API_KEY, BraveSearch  # noqa: PLC0415  see above

    is_named = settings.origin("search.provider") != ("default",)
    if search.url is not None and not is_named:
        tell("search.url is set and search.provider is not, so that nobody asks there; set it to searxng")
    if not is_named and not environment.get(BRAVE_API_KEY, "").strip():
        return None
    return _Switched(BraveSearch(settings=web), settings)


class _Switched:
    """A provider that ``search.enabled`` can switch off in the middle of a session. Fulfils ``SearchProvider``."""

    def __init__(self, provider: SearchProvider, settings: LiveSettings) -> None:
        self.name = provider.name
        self.abilities = provider.abilities
        self._provider = provider
        self._settings = settings

    def targets(self, request: SearchRequest) -> tuple[UrlTarget, ...]:
        """See ``SearchProvider``."""
        self._require_on()
        return self._provider.targets(request)

    async def search(self, request: SearchRequest) -> SearchAnswer:
        """See ``SearchProvider``."""
        self._require_on()
        return await self._provider.search(request)

    def _require_on(self) -> None:
        if self._settings.last.search is None:
            from openbuffer.tools.search_provider import SearchNotConfiguredError  # noqa: PLC0415  see above

            raise SearchNotConfiguredError(
                "searching the web is switched off by the settings (search.enabled), so that nothing was sent. Do "
                "without it, or tell the user."
            )
