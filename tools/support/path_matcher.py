"""Many patterns of absolute paths as one matcher: each is a directory, and a glob pattern below it.

Names are compared as the file system there compares them, or more loosely, as each pattern says. Time is bounded
whatever the patterns: they are walked down together, and how far they have come is kept for each directory.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ..errors import ToolFailure
from .glob_pattern import literal_beginning, literally, segments_of_glob
from .path_patterns import ANY_DIRECTORIES, WEIGHT_MAX, PathPattern, PathPatterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .path_patterns import PathState, Segment

Folding: TypeAlias = Literal["exact", "form", "case"]
"""How names are compared: as they are, without regard to Unicode's forms, or to those and to case."""

TOTAL_WEIGHT_MAX: Final = 40 * WEIGHT_MAX
_KEPT_DIRECTORIES: Final = 4_096


@dataclass(frozen=True, slots=True)
class AnchoredPattern:
    """``glob`` below the absolute directory ``anchor``; an empty one means that directory itself."""

    anchor: str
    glob: str = ""
    folding: Folding = "exact"

    @property
    def base(self) -> str:
        """The innermost path that all that can match is, or lies below."""
        beginning, rest = literal_beginning(self.glob)
        lead = beginning if rest or not self.glob else self.glob
        if not rest:
            return _joined(self.anchor, lead)
        # The rest may be a plain name, and then it is part of the base.
        is_plain = not any(char in "*?[{\\" for char in rest)
        return _joined(self.anchor, beginning + rest if is_plain else beginning)


def _joined(anchor: str, path: str) -> str:
    names = [name for name in path.split("/") if name not in {"", "."}]
    return "/".join((anchor.rstrip("/"), *names)) or "/"


def fold(text: str, folding: Folding) -> str:
    """A name, a path or a pattern as it is compared."""
    if folding == "exact" or (text.isascii() and folding == "form"):
        return text
    if text.isascii():
        return text.lower()
    form = unicodedata.normalize("NFC", text)
    if folding == "form":
        return form
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", form).casefold())


class PathMatcher:
    """``deep``: what lies below a path that matches, matches too; and ``X/**`` means X and all below it in any case.

    Raises:
        ToolFailure: a glob is none, or all of them take too long to be compared.
    """

    def __init__(self, patterns: Iterable[AnchoredPattern], *, deep: bool) -> None:
        self.patterns: Sequence[AnchoredPattern] = tuple(patterns)
        self._deep = deep
        by_folding: dict[Folding, list[tuple[Segment, ...]]] = {}
        self._matches_all = False
        for pattern in self.patterns:
            for segments in _segments(pattern, deep=deep):
                self._matches_all = self._matches_all or not segments
                by_folding.setdefault(pattern.folding, []).append(segments)
        self._groups: list[tuple[Folding, _Group]] = [
            (folding, _Group(part, deep=deep))
            for folding, all_segments in by_folding.items()
            for part in _in_parts(list(filter(None, all_segments)))
        ]
        if sum(group.weight for _, group in self._groups) > TOTAL_WEIGHT_MAX:
            raise ToolFailure("all patterns together take too long to be compared; use fewer of them, or plainer ones")
        self._single: dict[int, PathMatcher] = {}

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def matches(self, path: str) -> bool:
        """Whether an absolute path without ``.`` and ``..`` matches."""
        if self._matches_all and (self._deep or path == "/"):
            return True
        return any(group.matches(fold(path, folding)) for folding, group in self._groups)

    def which(self, path: str) -> int | None:
        """The number of the first pattern that matches."""
        if not self.matches(path):
            return None
        for index, pattern in enumerate(self.patterns):
            if index not in self._single:
                self._single[index] = PathMatcher((pattern,), deep=self._deep)
            if self._single[index].matches(path):
                return index
        raise AssertionError("unreachable: all of them together matched")


class _Group:
    """Patterns that are compared together, of one folding."""

    def __init__(self, patterns: Sequence[PathPattern], *, deep: bool) -> None:
        self._deep = deep
        self._top = PathPatterns(patterns).top
        self._known: dict[str, PathState | None] = {"": self._top}
        self.weight = sum(pattern.weight for pattern in patterns)

    def matches(self, path: str) -> bool:
        directory, _, name = path.rstrip("/").rpartition("/")
        state = self._state(directory)
        if state is None:
            return True
        return bool(name) and _hits(state, name)

    def _state(self, directory: str) -> PathState | None:
        """How far the patterns have come in a directory; None where it has matched itself, or one above it has."""
        known = directory
        while known not in self._known:
            known = known.rpartition("/")[0]
        state = self._known[known]
        if known == directory:
            return state
        if len(self._known) > _KEPT_DIRECTORIES:
            self._known = {"": self._top}
            known, state = "", self._top
        for name in directory[len(known) + 1 :].split("/"):
            known = f"{known}/{name}"
            if state is not None:
                state = None if self._deep and _hits(state, name) else state.below(name)
            self._known[known] = state
        return state


def _hits(state: PathState, name: str) -> bool:
    return any(matcher.look(name) for matcher in state.files)


def _segments(pattern: AnchoredPattern, *, deep: bool) -> list[tuple[Segment, ...]]:
    """The alternatives of a pattern, from the top of the file system on."""
    folding = pattern.folding
    anchor = literally(fold(pattern.anchor.strip("/"), folding))
    beginning = tuple(segments_of_glob(anchor)[0]) if anchor else ()
    if not pattern.glob:
        return [beginning]
    glob = fold(pattern.glob, folding)
    if folding == "case":
        glob = glob.replace("[:upper:]", "[:alpha:]").replace("[:lower:]", "[:alpha:]")
    found: list[tuple[Segment, ...]] = []
    for segments in segments_of_glob(glob):
        whole = (*beginning, *segments)
        short = whole
        while short and short[-1] is ANY_DIRECTORIES:
            short = short[:-1]
        if short != whole and not deep:
            found.append(whole)
        found.append(short)
    return found


def _in_parts(all_segments: Sequence[tuple[Segment, ...]]) -> list[list[PathPattern]]:
    """In groups that can each be compared in time."""
    parts: list[list[PathPattern]] = []
    left = 0
    for segments in all_segments:
        pattern = PathPattern(segments)
        if pattern.weight > WEIGHT_MAX:
            raise ToolFailure("takes too long to be compared; use fewer characters between stars")
        left -= pattern.weight
        if not parts or left < 0:
            parts.append([])
            left = WEIGHT_MAX - pattern.weight
        parts[-1].append(pattern)
    return parts
