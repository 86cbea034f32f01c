"""Read denials as paths that a sandbox can hide from commands: what matches now, and what that misses."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..support.located import printable
from ..support.path_matcher import PathMatcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..support.path_matcher import AnchoredPattern
    from ..support.unreadable import UnreadablePaths

HIDDEN_MAX_PATHS: Final = 256
HIDDEN_MAX_ENTRIES: Final = 100_000
_MOST_NAMED: Final = 5
_SPECIAL: Final = frozenset("*?[{\\")


@dataclass(slots=True)
class HiddenPaths:
    """``paths`` to be hidden, absolute; ``notes`` say what of the denials they do not express."""

    paths: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])


def hidden_paths(
    unreadable: UnreadablePaths | None,
    *,
    max_paths: int = HIDDEN_MAX_PATHS,
    max_entries: int = HIDDEN_MAX_ENTRIES,
) -> HiddenPaths:
    """Look for what may not be read. Blocks: patterns with stars are looked for in the directories that they name.

    Of what is only asked about nothing is hidden. A file that is made later, and would match, is not hidden until this
    is asked again; the notes tell which patterns that concerns.
    """
    found = HiddenPaths()
    patterns = [each.pattern for each in unreadable.patterns if not each.asks] if unreadable else []
    plain = [each for each in patterns if _is_plain(each)]
    for each in plain:
        if each.base == "/":
            found.notes.append("nothing at all may be read, which no sandbox can express; deny commands instead")
        else:
            found.paths.append(each.base)
    _Search(found, max_paths, max_entries).run([each for each in patterns if not _is_plain(each)])
    found.paths = list(dict.fromkeys(found.paths))
    if len(found.paths) > max_paths:
        found.notes.append(f"{len(found.paths)} paths may not be read, and the first {max_paths} are hidden")
        del found.paths[max_paths:]
    return found


def _is_plain(pattern: AnchoredPattern) -> bool:
    if pattern.folding == "case" and pattern.glob:
        return False  # how its names are written on the disk has to be looked for
    return not _SPECIAL.intersection(pattern.glob.removesuffix("**"))


class _Search:
    """Goes through directories without following links, until a bound is met."""

    def __init__(self, found: HiddenPaths, max_paths: int, max_entries: int) -> None:
        self._found = found
        self._max_paths = max_paths
        self._left = max_entries

    def run(self, patterns: Sequence[AnchoredPattern]) -> None:
        if anywhere := [pattern for pattern in patterns if _start(pattern) == "/"]:
            self._found.notes.append(f"{_named(anywhere)}: may match anywhere, and is not hidden from commands")
        for base in _outermost(start for start in map(_start, patterns) if start != "/"):
            here = [pattern for pattern in patterns if f"{_start(pattern)}/".startswith(f"{base}/")]
            self._found.notes.append(f"{_named(here)}: what matches now is hidden, what is made later is not")
            if not self._below(base, PathMatcher(here, deep=True)):
                self._found.notes.append(
                    f"{printable(base)}: too large to be searched whole; not all that matches is hidden"
                )

    def _below(self, base: str, matcher: PathMatcher) -> bool:
        """Whether all of it was looked at."""
        waiting = [base]
        while waiting:
            directory = waiting.pop()
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        self._left -= 1
                        if self._left < 0 or len(self._found.paths) > self._max_paths:
                            return False
                        if matcher.matches(entry.path):
                            self._found.paths.append(entry.path)
                        elif entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
            except OSError:
                continue  # what cannot be listed here cannot be listed by a command of the same user either
        return True


def _outermost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(f"{path}/".startswith(f"{each.rstrip('/')}/") for each in kept):
            kept.append(path)
    return kept


def _start(pattern: AnchoredPattern) -> str:
    """Where to look for what matches; how the names of a pattern are written there may not be known."""
    return pattern.anchor if pattern.folding == "case" else pattern.base


def _named(patterns: Sequence[AnchoredPattern]) -> str:
    shown = ", ".join(printable(f"{pattern.anchor.rstrip('/')}/{pattern.glob}") for pattern in patterns[:_MOST_NAMED])
    return shown if len(patterns) <= _MOST_NAMED else f"{shown} and {len(patterns) - _MOST_NAMED} more"
