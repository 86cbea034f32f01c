"""Patterns of paths, walked down name by name together with the directories that they are about.

``**`` between slashes is any number of directories; behind the last slash it is everything below; anywhere else it is
``*``. In a directory only names are compared: what a pattern says of the directories above was settled on the way.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .name_patterns import NAME_MAX_BYTES, NO_NAMES, NamePattern, Names, Token, class_at, name_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

WEIGHT_MAX: Final = 25_000
"""What patterns may weigh together, so that comparing a name with all of them takes less than a millisecond."""

_PLACE_WEIGHT: Final = 20  # of a place in a pattern that is taken along into directories of any name
_MOST_ITEMS: Final = 100_000  # in the states that are kept for other directories; they are made anew beyond that


_PLAIN_NAME: Final = re.compile(rf"[\w.-]{{1,{NAME_MAX_BYTES}}}", re.ASCII)


class AnyDirectories:
    """The type of ``**``, which stands for any number of names."""


ANY_DIRECTORIES: Final = AnyDirectories()
Segment: TypeAlias = "NamePattern | AnyDirectories"


@dataclass(frozen=True, slots=True)
class PathPattern:
    """Segments of a path, the verdict of its match (above 0), and whether it speaks of directories alone."""

    segments: tuple[Segment, ...]
    verdict: int = 1
    only_directories: bool = False

    @property
    def weight(self) -> int:
        """About what it costs to compare a long name with it, and to take it along into a directory."""
        names = sum(segment.weight for segment in self.segments if isinstance(segment, NamePattern))
        return names + _PLACE_WEIGHT * self._places

    @property
    def is_floating(self) -> bool:
        """Whether it is about one name in any directory."""
        first, *others = self.segments
        return first is ANY_DIRECTORIES and len(others) == 1 and others[0] is not ANY_DIRECTORIES

    @property
    def _places(self) -> int:
        """How many of its segments a directory can have come to at once; 0 where few directories come to any."""
        if self.is_floating:
            return 0
        longest = run = 0
        has_any = is_open = False
        for segment in self.segments[:-1]:
            is_any = isinstance(segment, AnyDirectories)
            has_any = has_any or is_any
            is_open = is_open or not isinstance(segment, NamePattern) or segment.literal is None
            run = 0 if is_any else run + has_any
            longest = max(longest, run)
        return longest + 1 if is_open else 0


def segments_of(pattern: str) -> tuple[Segment, ...] | None:
    """Split and compile a pattern. None: it can match no path (an unclosed class, an empty or endless name)."""
    if _PLAIN_NAME.fullmatch(pattern):  # most lines of most ignore files
        return (NamePattern(re.escape(pattern), literal=pattern),)
    names = _tokens(pattern)
    if names is None:
        return None
    segments: list[Segment] = []
    for tokens, plain in names:
        if len(tokens) > 1 and not any(tokens):
            if not segments or segments[-1] is not ANY_DIRECTORIES:
                segments.append(ANY_DIRECTORIES)
            continue
        compiled = name_pattern(tokens, plain)
        if compiled is None:
            return None
        segments.append(compiled)
    return tuple(segments)


def _tokens(pattern: str) -> list[tuple[list[Token], str | None]] | None:
    """Per name its tokens, and its characters as text where none but stars are more than characters."""
    names: list[tuple[list[Token], str | None]] = []
    tokens: list[Token] = []
    plain: list[str] | None = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "\\" and pattern.startswith("/", at):
            char = "/"  # a slash is a slash, escaped or not
            at += 1
        if char == "/":
            names.append((tokens, None if plain is None else "".join(plain)))
            tokens, plain = [], []
        elif char == "*":
            tokens.append(None)
        elif char == "?":
            tokens.append(".")
            plain = None
        elif char == "[":
            if (found := class_at(pattern, at - 1)) is None:
                return None
            regex, at = found
            tokens.append(regex)
            plain = None
        else:
            if char == "\\":
                if at == len(pattern):
                    return None
                char = pattern[at]
                at += 1
            tokens.append(re.escape(char))
            if plain is not None:
                plain.append(char)
    names.append((tokens, None if plain is None else "".join(plain)))
    return names


class PathPatterns:
    """Many patterns of paths below one directory. ``top`` is where they stand in that directory."""

    def __init__(self, patterns: Iterable[PathPattern]) -> None:
        floating: list[PathPattern] = []
        self._patterns: list[PathPattern] = []
        for pattern in patterns:
            (floating if pattern.is_floating else self._patterns).append(pattern)
        self.floating_files = _names(floating, only_files=True)
        self.floating_directories = _names(floating, only_files=False)
        self.floats = bool(floating)
        self._states: dict[frozenset[tuple[int, int]], PathState] = {}
        self._kept_items = 0
        self.top = self.state((index, 0) for index in range(len(self._patterns)))

    def state(self, items: Iterable[tuple[int, int]]) -> PathState:
        """The state in which these patterns, by their numbers, have come to these segments."""
        key = frozenset(self._furthest(list(self._opened(items))))
        state = self._states.get(key)
        if state is None:
            self._kept_items += len(key) + 1
            if self._kept_items > _MOST_ITEMS:
                self._states.clear()
                self._kept_items = len(key) + 1
            state = self._states[key] = PathState(self, self._patterns, sorted(key))
        return state

    def _furthest(self, items: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Without what is before a ``**`` that was reached: all that leads on from there leads on from the ``**``."""
        reached: dict[int, int] = {}
        for index, at in items:
            if self._patterns[index].segments[at] is ANY_DIRECTORIES:
                reached[index] = max(at, reached.get(index, 0))
        return [(index, at) for index, at in items if at >= reached.get(index, 0)] if reached else items

    def _opened(self, items: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
        """With the segment behind a ``**`` too, which may stand for no directory at all."""
        for index, at in items:
            yield index, at
            segments = self._patterns[index].segments
            if segments[at] is ANY_DIRECTORIES and at + 1 < len(segments):
                yield index, at + 1


class PathState:
    """How far the patterns have come in one directory: ``files`` and ``directories`` match the names in it."""

    __slots__ = ("_items", "_next", "_patterns", "_whole", "directories", "files", "is_dead", "is_settled")

    def __init__(self, whole: PathPatterns, patterns: Sequence[PathPattern], items: list[tuple[int, int]]) -> None:
        self._whole = whole
        self._patterns = patterns
        self._items = items
        self._next: _Next | None = None
        last = [patterns[index] for index, at in items if at == len(patterns[index].segments) - 1]
        self.files = _nonempty(whole.floating_files, _names(last, only_files=True))
        self.directories = _nonempty(whole.floating_directories, _names(last, only_files=False))
        self.is_settled = not items  # in every directory below it is as it is here
        self.is_dead = not items and not self.files and not self.directories

    def below(self, name: str) -> PathState:
        """The state in the directory of this name."""
        if not self._items:
            return self
        if self._next is None:
            self._next = _Next(self._patterns, self._items)
        return self._whole.state(self._next.items(name))

    def leading(self, names: list[str]) -> list[str]:
        """Those of the directories below which a path can match; the same list where it is all of them."""
        if self._whole.floats:
            return names
        if self._next is None:
            self._next = _Next(self._patterns, self._items)
        return self._next.leading(names)


class _Next:
    """Which pattern goes on where, from one state."""

    __slots__ = ("_by_name", "_by_pattern", "_staying")

    def __init__(self, patterns: Sequence[PathPattern], items: list[tuple[int, int]]) -> None:
        self._by_name: dict[str, list[tuple[int, int]]] = {}
        self._by_pattern: list[tuple[Callable[[str], object], tuple[int, int]]] = []
        self._staying: list[tuple[int, int]] = []
        for index, at in items:
            segments = patterns[index].segments
            segment = segments[at]
            if isinstance(segment, AnyDirectories):
                self._staying.append((index, at))
            elif at + 1 == len(segments):
                continue
            elif segment.literal is not None:
                self._by_name.setdefault(segment.literal, []).append((index, at + 1))
            else:
                self._by_pattern.append((_looker(segment), (index, at + 1)))

    def leading(self, names: list[str]) -> list[str]:
        if self._staying:
            return names
        by_name, by_pattern = self._by_name, self._by_pattern
        if not by_pattern:
            return [name for name in names if name in by_name] if by_name else []
        return [name for name in names if name in by_name or any(matches(name) for matches, _ in by_pattern)]

    def items(self, name: str) -> Iterable[tuple[int, int]]:
        yield from self._staying
        yield from self._by_name.get(name, ())
        for matches, item in self._by_pattern:
            if matches(name):
                yield item


@functools.lru_cache(maxsize=1_024)
def _looker(segment: NamePattern) -> Callable[[str], int]:
    return Names([(segment, 1)]).look


_EVERYTHING: Final = NamePattern(".*+", is_everything=True)


def _names(patterns: Iterable[PathPattern], *, only_files: bool) -> Names:
    """The last names of patterns."""
    last = [
        (_EVERYTHING if isinstance(pattern.segments[-1], AnyDirectories) else pattern.segments[-1], pattern.verdict)
        for pattern in patterns
        if not (only_files and pattern.only_directories)
    ]
    return Names(last) if last else NO_NAMES


def _nonempty(*names: Names) -> tuple[Names, ...]:
    return tuple(each for each in names if not each.is_empty)
