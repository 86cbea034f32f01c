"""The paths that rules keep from being read, as tools ask about them while they walk (X4).

It is data, so that it can be handed to a process that searches; what it holds are patterns and never what was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .path_matcher import AnchoredPattern, PathMatcher, fold

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEPT_STARTS: Final = 64


@dataclass(frozen=True, slots=True)
class UnreadablePattern:
    """One pattern. ``asks``: it does not hold for a search that begins in what it means, which was asked about."""

    pattern: AnchoredPattern
    asks: bool = False


class UnreadablePaths:
    """Called with a canonical path, it tells whether that, or what it lies in, may not be read.

    Raises:
        ToolFailure: a glob is none, or all of them take too long to be compared.
    """

    def __init__(self, patterns: Iterable[UnreadablePattern]) -> None:
        self.patterns = tuple(patterns)
        self._matcher = PathMatcher((each.pattern for each in self.patterns), deep=True)
        self._within: dict[str, UnreadablePaths | None] = {}

    def __call__(self, path: str, /) -> bool:
        """Whether a path may not be read."""
        return self._matcher.matches(path)

    def within(self, start: str, /) -> UnreadablePaths | None:
        """What of it matters for a search that begins in ``start``, which the gate admitted; None where nothing does.

        That depends on the patterns alone, not on what there is.
        """
        if start not in self._within:
            if len(self._within) >= _KEPT_STARTS:
                self._within.clear()
            kept = tuple(each for each in self.patterns if _concerns(each, start))
            same = self if kept == self.patterns else UnreadablePaths(kept)
            self._within[start] = same if kept else None
        return self._within[start]

    def plain(self) -> list[list[Any]]:
        """The same as lists and texts, for another process."""
        return [[each.pattern.anchor, each.pattern.glob, each.pattern.folding, each.asks] for each in self.patterns]

    @classmethod
    def of(cls, plain: Iterable[Any]) -> UnreadablePaths | None:
        """The other way round; None where there are no patterns."""
        patterns = [
            UnreadablePattern(AnchoredPattern(anchor, glob, folding), asks) for anchor, glob, folding, asks in plain
        ]
        return cls(patterns) if patterns else None


def _concerns(each: UnreadablePattern, start: str) -> bool:
    folding = each.pattern.folding
    base, here = fold(each.pattern.base, folding).rstrip("/") + "/", fold(start, folding).rstrip("/") + "/"
    if not (base.startswith(here) or here.startswith(base)):
        return False
    return not (each.asks and PathMatcher((each.pattern,), deep=True).matches(start))
