"""Patterns of paths as a model writes them: ``**``, ``*``, ``?``, classes, ``{a,b}``, below one directory.

``*`` and ``?`` match a leading dot like any character. A class also matches its own text, so that ``[...slug]`` finds
the directory of that name. Braces without a comma are characters. A backslash takes the next character literally.
"""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

from ..errors import ToolFailure
from ..limits import PATH_MAX_CHARS
from .located import printable
from .name_patterns import NamePattern, class_at
from .path_patterns import ANY_DIRECTORIES, WEIGHT_MAX, PathPattern, PathPatterns, segments_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .path_patterns import PathState, Segment

_MOST_ALTERNATIVES: Final = 1_000
_MOST_CHARS: Final = 64 * 1024  # of all alternatives together
_MOST_BRACES: Final = 100
_MOST_UNCLOSED: Final = 100  # classes that are looked for without being found
_SPECIAL: Final = "*?[{\\"


class GlobPattern:
    """One pattern, compiled.

    ``anywhere``: a pattern without a slash is about names in every directory, else in the first one alone.

    Raises:
        ToolFailure: it is empty, too long, has too many alternatives, takes too long, goes up by ``..``, or can match
            no path.
    """

    def __init__(self, text: str, *, anywhere: bool = False) -> None:
        self.text = text
        alternatives = segments_of_glob(text, anywhere=anywhere)
        patterns = [PathPattern(segments) for segments in alternatives]
        if sum(pattern.weight for pattern in patterns) > WEIGHT_MAX:
            raise ToolFailure(
                f"pattern {_shown(text)}: takes too long to compare with every name; use fewer alternatives, or fewer "
                "characters between stars."
            )
        self.is_deep = any(ANY_DIRECTORIES in segments for segments in alternatives)
        self.names = frozenset(
            segment.literal
            for segments in alternatives
            for segment in segments
            if isinstance(segment, NamePattern) and segment.literal is not None
        )
        """Names that stand in it as they are."""
        self._top = PathPatterns(patterns).top

    def selection(self) -> GlobSelection:
        """What it wants of the directory that it begins in."""
        return GlobSelection(self._top)


def segments_of_glob(text: str, *, anywhere: bool = False) -> list[tuple[Segment, ...]]:
    """The segments of a pattern, for each of its alternatives; raises as ``GlobPattern``, but for its weight."""
    alternatives = [
        segments for each in _expanded(_checked(text)) for segments in _compiled(text, each, anywhere=anywhere)
    ]
    if not alternatives:
        raise ToolFailure(f"pattern {_shown(text)}: matches no path whatever, because of its classes or its end.")
    return alternatives


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
    """The pattern with its braces written out, in every combination; those without a comma or an end are characters."""
    outer: list[_Braces] = []
    here = _Braces(text)
    literal_from = at = 0
    for unit in _units(text):
        if unit == "{" or (outer and unit in {",", "}"}):
            here.go_on([text[literal_from:at]])
            literal_from = at + 1
            if unit == "{":
                outer.append(here)
                here = _Braces(text)
            elif unit == ",":
                here.next_alternative()
            else:
                here = outer.pop().with_inner(here, end="}")
        at += len(unit)
    here.go_on([text[literal_from:]])
    while outer:
        here = outer.pop().with_inner(here, end="")
    return here.patterns


class _Braces:
    """What stands between braces, or outside of all: alternatives that are done, and the one that is being read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._done: list[list[str]] = []
        self.patterns = [""]

    def go_on(self, behind: list[str]) -> None:
        """Each of these stands next."""
        count = len(self.patterns) * len(behind)
        size = len(self.patterns) * sum(map(len, behind)) + len(behind) * sum(map(len, self.patterns))
        if count > _MOST_ALTERNATIVES or (count > 1 and size > _MOST_CHARS):
            many = f"{_MOST_ALTERNATIVES} patterns" if count > _MOST_ALTERNATIVES else f"{_MOST_CHARS} characters"
            raise ToolFailure(f"pattern {_shown(self._text)}: its braces stand for more than {many}; use fewer.")
        self.patterns = [one + other for one in self.patterns for other in behind]

    def next_alternative(self) -> None:
        """A comma."""
        self._done.append(self.patterns)
        self.patterns = [""]

    def with_inner(self, inner: _Braces, *, end: str) -> _Braces:
        """What was between braces stands next; they are characters where they have no comma or no end."""
        alternatives = [*inner._done, inner.patterns]
        if end and inner._done:
            self.go_on(list(chain.from_iterable(alternatives)))
        else:
            for sign, each in zip(chain("{", repeat(",")), alternatives, strict=False):
                self.go_on([sign])
                self.go_on(each)
            self.go_on([end])
        return self


def _units(pattern: str) -> Iterator[str]:
    """The pattern in characters, escaped characters and classes."""
    at = unclosed = 0
    while at < len(pattern):
        end = at + 1
        if pattern[at] == "\\":
            end = min(at + 2, len(pattern))
        elif pattern[at] == "[":
            found = class_at(pattern, at) if unclosed < _MOST_UNCLOSED else None
            unclosed += found is None
            end = found[1] if found else end
        yield pattern[at:end]
        at = end


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
