"""Patterns of paths as a model writes them: ``**``, ``*``, ``?``, classes, ``{a,b}``, below one directory.

``*`` and ``?`` match a leading dot like any character. A class also matches its own text, so that ``[...slug]`` finds
the directory of that name. Braces without a comma are characters. A backslash takes the next character literally.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ..errors import ToolFailure
from ..limits import PATH_MAX_CHARS
from .located import printable
from .name_patterns import NamePattern, class_at
from .path_patterns import ANY_DIRECTORIES, PathPattern, PathPatterns, segments_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .path_patterns import PathState, Segment

_MOST_ALTERNATIVES: Final = 1_000
_MOST_BRACES: Final = 100
_SPECIAL: Final = "*?[{\\"


class GlobPattern:
    """One pattern, compiled.

    ``anywhere``: a pattern without a slash is about names in every directory, else in the first one alone.

    Raises:
        ToolFailure: it is empty, too long, has too many alternatives, goes up by ``..``, or can match no path.
    """

    def __init__(self, text: str, *, anywhere: bool = False) -> None:
        self.text = text
        expanded = _expanded(_checked(text))
        alternatives = [segments for each in expanded for segments in _compiled(text, each, anywhere=anywhere)]
        if not alternatives:
            raise ToolFailure(f"pattern {_shown(text)}: matches no path whatever, because of its classes or its end.")
        self.is_deep = any(ANY_DIRECTORIES in segments for segments in alternatives)
        self.names = frozenset(
            segment.literal
            for segments in alternatives
            for segment in segments
            if isinstance(segment, NamePattern) and segment.literal is not None
        )
        """Names that stand in it as they are."""
        self._top = PathPatterns(map(PathPattern, alternatives)).top

    def selection(self) -> GlobSelection:
        """What it wants of the directory that it begins in."""
        return GlobSelection(self._top)


class GlobSelection:
    """What a pattern wants of one directory; see ``walk.Selection``."""

    __slots__ = ("_state",)

    def __init__(self, state: PathState) -> None:
        self._state = state

    def names(self, names: list[str], /) -> list[str]:
        """Those whose paths match."""
        matchers = self._state.files
        if len(matchers) <= 1:
            return matchers[0].hits(names) if matchers else []
        return [name for name in names if any(matcher.look(name) for matcher in matchers)]

    def directories(self, names: list[str], /) -> list[str]:
        """Those in which a path can match."""
        return self._state.leading(names)

    def below(self, name: str, /) -> GlobSelection:
        """What is wanted of this directory."""
        state = self._state.below(name)
        return self if state is self._state else GlobSelection(state)


def is_absolute(text: str) -> bool:
    """Whether a pattern says where it begins."""
    return text.startswith("/")


def literal_beginning(text: str) -> tuple[str, str]:
    """The directories that a pattern begins with as they are, and the rest of it."""
    special = next((at for at, char in enumerate(text) if char in _SPECIAL), len(text))
    slash = text.rfind("/", 0, special)
    return text[: slash + 1], text[slash + 1 :]


def literally(path: str) -> str:
    """A pattern that matches this path and no other."""
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in path)


def _shown(text: str) -> str:
    return printable(text if len(text) <= 200 else f"{text[:200]} …")


def _checked(text: str) -> str:
    if not text:
        raise ToolFailure("the pattern is empty; `**/*` matches every file.")
    if "\0" in text:
        raise ToolFailure(f"pattern {_shown(text)}: contains a NUL character, which no path can have; remove it.")
    if len(text) > PATH_MAX_CHARS:
        raise ToolFailure(f"the pattern has {len(text)} characters, at most {PATH_MAX_CHARS} are taken; shorten it.")
    if text.count("{") > _MOST_BRACES:
        raise ToolFailure(f"pattern {_shown(text)}: has more than {_MOST_BRACES} braces; use several patterns.")
    return text


def _expanded(text: str) -> list[str]:
    """The pattern with its braces written out, in every combination."""
    done: list[str] = []
    waiting = [text]
    while waiting:
        pattern = waiting.pop()
        braces = _first_braces(pattern)
        if braces is None:
            done.append(pattern)
        else:
            before, alternatives, behind = braces
            waiting.extend(f"{before}{alternative}{behind}" for alternative in alternatives)
        if len(done) + len(waiting) > _MOST_ALTERNATIVES:
            raise ToolFailure(
                f"pattern {_shown(text)}: its braces stand for more than {_MOST_ALTERNATIVES} patterns; use fewer."
            )
    return done


def _first_braces(pattern: str) -> tuple[str, list[str], str] | None:
    """The first braces with a comma in them: what is before, the alternatives, and what is behind."""
    at = 0
    while at < len(pattern):
        if pattern[at] == "{" and (commas := _commas(pattern, at)):
            cuts = [at, *commas]
            alternatives = [pattern[cut + 1 : end] for cut, end in pairwise(cuts)]
            return pattern[:at], alternatives, pattern[commas[-1] + 1 :]
        at = _next_char(pattern, at)
    return None


def _commas(pattern: str, start: int) -> list[int]:
    """Where the commas of the braces at ``start`` are, and then their end; empty where they have none of either."""
    depth, commas, at = 0, list[int](), start
    while at < len(pattern):
        char = pattern[at]
        depth += (char == "{") - (char == "}")
        if not depth:
            return [*commas, at] if commas else []
        if char == "," and depth == 1:
            commas.append(at)
        at = _next_char(pattern, at)
    return []


def _next_char(pattern: str, at: int) -> int:
    """Behind the character, the escaped character or the class that is here."""
    if pattern[at] == "\\":
        return at + 2
    if pattern[at] == "[" and (found := class_at(pattern, at)):
        return found[1]
    return at + 1


def _compiled(text: str, alternative: str, *, anywhere: bool) -> Iterator[tuple[Segment, ...]]:
    if is_absolute(alternative):
        raise ToolFailure(
            f"pattern {_shown(text)}: an absolute pattern cannot begin with braces; use several patterns."
        )
    parts = [part for part in alternative.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ToolFailure(f"pattern {_shown(text)}: goes up by `..`; name the directory to search in `path` instead.")
    if not parts:
        raise ToolFailure(f"pattern {_shown(text)}: names no file; `**/*` matches every file.")
    if anywhere and len(parts) == 1:
        parts.insert(0, "**")
    pattern = "/".join(parts)
    for way in (pattern, _without_classes(pattern)) if "[" in pattern else (pattern,):
        if segments := segments_of(way):
            yield segments


def _without_classes(pattern: str) -> str:
    at, text = 0, ""
    while at < len(pattern):
        if pattern[at] == "\\":
            text += pattern[at : at + 2]
            at += 2
        else:
            text += "\\[" if pattern[at] == "[" else pattern[at]
            at += 1
    return text
