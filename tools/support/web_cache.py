"""Pages that a session keeps for a while, so that reading on in one does not fetch it again.

A page is kept by its URL and the headers that the call set, as long as the site allows and at most some minutes; only a
whole, successful answer is, and none that the site forbids to store.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from ..limits import WEB_CACHE_MAX_BYTES, WEB_CACHE_MAX_PAGES, WEB_CACHE_MAX_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .http_guard_fetch import Fetched

_Key: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]

_MAX_AGE: Final = re.compile(r"\bmax-age\s*=\s*\"?(\d{1,10})")


@dataclass(frozen=True, slots=True)
class Kept:
    """A page that was fetched ``age_s`` ago."""

    fetched: Fetched
    age_s: float


class WebCache:
    """The pages of one session; the least used go first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pages: OrderedDict[_Key, tuple[Fetched, float, float]] = OrderedDict()

    def get(self, url: str, headers: Mapping[str, str]) -> Kept | None:
        """The page, while it may be used."""
        key = _key(url, headers)
        found = self._pages.get(key)
        if found is None:
            return None
        fetched, at, until = found
        now = self._clock()
        if now >= until:
            del self._pages[key]
            return None
        self._pages.move_to_end(key)
        return Kept(fetched, now - at)

    def put(self, url: str, headers: Mapping[str, str], fetched: Fetched) -> None:
        """Keep it, if that is allowed; under the URL that answered as well, where the same was sent there."""
        self._pages.pop(_key(url, headers), None)
        lasts_s = _lasts_s(fetched)
        if lasts_s <= 0 or len(fetched.body) > WEB_CACHE_MAX_BYTES:
            return
        now = self._clock()
        self._pages[_key(url, headers)] = (fetched, now, now + lasts_s)
        if not fetched.dropped_headers and fetched.target.url != url:
            alone = fetched.answered_alone()
            self._pages[_key(alone.target.url, headers)] = (alone, now, now + lasts_s)
        while len(self._pages) > WEB_CACHE_MAX_PAGES or self._bytes() > WEB_CACHE_MAX_BYTES:
            self._pages.popitem(last=False)

    def _bytes(self) -> int:
        return sum({id(page.body): len(page.body) for page, _, _ in self._pages.values()}.values())


def _key(url: str, headers: Mapping[str, str]) -> _Key:
    return url, tuple(sorted(headers.items()))


def _lasts_s(fetched: Fetched) -> float:
    if fetched.status != 200 or not fetched.is_whole or fetched.headers.get("vary", "").strip() == "*":
        return 0.0
    control = fetched.headers.get("cache-control", "").lower()
    if "no-store" in control or "no-cache" in control:
        return 0.0
    if "cache-control" not in fetched.headers and "no-cache" in fetched.headers.get("pragma", "").lower():
        return 0.0
    told = _MAX_AGE.search(control)
    return min(WEB_CACHE_MAX_S, float(told.group(1))) if told else WEB_CACHE_MAX_S
