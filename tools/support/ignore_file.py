"""One ignore file: its lines as git reads them, compiled, and what they say of the names in a directory.

Patterns are compared byte by byte, as git compares them: names and patterns that are not ASCII are turned into one
character per byte. Lines that can match nothing are dropped, as git drops them.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Final

from .path_patterns import ANY_DIRECTORIES, PathPattern, PathPatterns, segments_of

if TYPE_CHECKING:
    from .path_patterns import PathState

_MARK: Final = b"\xef\xbb\xbf"
_LINE_MAX_BYTES: Final = 4_096
_WEIGHT: Final = 100  # of looking into the tables of one more file for every name


class IgnoreFile:
    """The rules of one file. ``weight`` is about what comparing a name with them costs.

    ``is_of_bytes``: a name that is not ASCII has to be compared by its bytes, since single characters are counted or
    named. Stars and ASCII characters match the same either way.
    """

    __slots__ = ("_rules", "_top", "has_exceptions", "is_empty", "is_of_bytes", "weight")

    def __init__(self, content: bytes) -> None:
        self._rules = _rules(content)
        self._top: PathState | None = None
        self.is_empty = not self._rules
        self.is_of_bytes = not content.isascii() or b"?" in content or b"[" in content
        self.has_exceptions = any(rule.verdict & 1 for rule in self._rules)
        self.weight = _WEIGHT + sum(rule.weight for rule in self._rules)

    @property
    def top(self) -> PathState:
        """Where its rules stand in the directory that it is about; compiled when it is first asked for."""
        if self._top is None:
            self._top = PathPatterns(self._rules).top
            self._rules = []
        return self._top


def compiled(content: bytes) -> IgnoreFile:
    """The rules of this content; small files are kept compiled for the next walk."""
    return _compiled(content) if len(content) <= _KEPT_MAX_BYTES else IgnoreFile(content)


_KEPT_MAX_BYTES: Final = 16 * 1024
_compiled = functools.lru_cache(maxsize=1_024)(IgnoreFile)


def byte_text(name: str) -> str:
    """The name with one character per byte, as the rules compare it."""
    return name if name.isascii() else os.fsencode(name).decode("latin-1")


def ignores(verdict: int) -> bool:
    """Whether a verdict above 0 ignores; an odd one is an exception (``!``) that lets the name in."""
    return not verdict & 1


def _rules(content: bytes) -> list[PathPattern]:
    """The rules in their order; verdicts rise by the line, where it matters, and are odd for exceptions."""
    rules: list[PathPattern] = []
    verdict = 2
    for line in content.removeprefix(_MARK).split(b"\n"):
        if len(line) > _LINE_MAX_BYTES:
            continue
        text = _trimmed(line.removesuffix(b"\r").decode("latin-1"))
        if not text or text.startswith("#"):
            continue
        is_exception = text.startswith("!")
        if is_exception != verdict & 1:
            verdict += 1
        rule = _rule(text[is_exception:], verdict)
        if rule is not None:
            rules.append(rule)
    return rules


def _trimmed(line: str) -> str:
    """Without the blanks at its end; one behind a backslash stays, and so does all before it."""
    if not line.endswith(" "):
        return line
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 else bare


def _rule(text: str, verdict: int) -> PathPattern | None:
    only_directories = text.endswith("/")
    if only_directories:
        text = text[:-1]
    is_anchored = "/" in text
    segments = segments_of(text.removeprefix("/"))
    if not segments:
        return None
    if not is_anchored:
        if segments == (ANY_DIRECTORIES,):
            segments = segments_of("*") or ()
        segments = (ANY_DIRECTORIES, *segments)
    return PathPattern(segments, verdict, only_directories)
