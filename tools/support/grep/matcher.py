"""A pattern over the text of one file: RE2 where it is installed and can do it, Python's ``regex`` else.

Text comes as bytes that are UTF-8 as far as they are text. Where it is all ASCII, the bytes themselves are searched;
else, if the pattern depends on Unicode, the decoded text. That is why results come with what was searched.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

import regex
import stringzilla  # pyright: ignore[reportMissingTypeStubs]  it ships no types

from ...limits import GREP_FILE_TIMEOUT_S
from .content import NotSearchedError
from .literals import needed
from .notation import for_re2, for_regex_bytes, for_regex_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .literals import Needed
    from .syntax import Pattern

Text: TypeAlias = "bytes | str"
Lines: TypeAlias = "Iterator[tuple[int, int]]"
_Span: TypeAlias = "tuple[int, int]"
_Search: TypeAlias = "Callable[[Any, int], _Span | None]"

# Several times as fast as the search of ``bytes``, and quadratic at worst in needles that are short here.
_find = cast("Callable[[bytes, bytes, int, int], int]", stringzilla.find)  # pyright: ignore[reportUnknownMemberType]

_S_PER_BYTE: Final = 0.25 / 1024**2  # what an ordinary pattern takes on a busy machine, and then some
_RE2_MAX_BYTES: Final = 256 * 1024 * 1024


class Re2Module(Protocol):
    """What is used of RE2."""

    Options: Any

    def compile(self, pattern: bytes, options: Any) -> Any:
        """As ``re.compile``."""
        ...


def find_re2() -> Re2Module | None:
    """RE2, which is an extra; None where it is not installed or does not load."""
    try:
        import re2  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]  # noqa: PLC0415  an extra
    except ImportError:
        return None
    return re2


class Matcher:
    """One pattern, compiled when it is first needed, for one file after the other."""

    def __init__(self, pattern: Pattern, re2: Re2Module | None) -> None:
        self._pattern = pattern
        self._re2 = None if pattern.backtracks else re2
        self._needed = needed(pattern)
        self._linear: _Search | None = None
        self._of_bytes: Any = None
        self._of_text: Any = None
        self._patience_s = self._deadline = 0.0

    def matches(self, text: bytes) -> bool:
        """Whether there is a match.

        Raises:
            NotSearchedError: the pattern backtracks for too long on this text.
        """
        if self._needed is not None:
            if not _holds(text, self._needed):
                return False
            if self._needed.suffices:
                return True
        return next(self.lines(text)[1], None) is not None

    def count(self, text: bytes) -> int:
        """How many lines have a part in a match; raises as ``matches``."""
        if self._needed is not None and not _holds(text, self._needed):
            return 0
        literal = self._needed
        if literal is not None and literal.suffices and len(literal.literals) == 1 and not self._pattern.multiline:
            return _lines_with(text, literal.literals[0])
        subject, lines = self.lines(text)
        if not self._pattern.multiline:
            return sum(1 for _ in lines)
        line_feed: Any = b"\n" if isinstance(subject, bytes) else "\n"
        return sum(subject.count(line_feed, start, end) + 1 for start, end in lines)

    def lines(self, text: bytes) -> tuple[Text, Lines]:
        """What is searched, and where in it lines are that have a part in a match, without their line feeds.

        Lines that belong to one match across lines, or to several that touch, come together. Iterating raises as
        ``matches``.
        """
        subject, search = self._searched(text)
        self._patience_s = GREP_FILE_TIMEOUT_S + len(text) * _S_PER_BYTE
        self._deadline = time.monotonic() + self._patience_s
        return subject, _matched_lines(subject, search, multiline=self._pattern.multiline)

    def _searched(self, text: bytes) -> tuple[Text, _Search]:
        literal = self._needed
        if literal is not None and literal.suffices and not self._pattern.multiline:
            return text, _Literals(text, literal.literals).find
        is_ascii = text.isascii()
        if self._re2 is not None and (is_ascii or not self._pattern.by_unicode):
            return text, self._by_re2(self._re2)
        if is_ascii:
            if self._of_bytes is None:
                self._of_bytes = regex.compile(for_regex_bytes(self._pattern), regex.MULTILINE)
            return text, self._by_regex(self._of_bytes, text)
        if self._of_text is None:
            self._of_text = regex.compile(for_regex_text(self._pattern), regex.MULTILINE)
        decoded = text.decode("utf-8", "surrogateescape")
        return decoded, self._by_regex(self._of_text, decoded)

    def _by_re2(self, re2: Re2Module) -> _Search:
        if self._linear is None:
            options = re2.Options()
            options.max_mem = _RE2_MAX_BYTES
            options.log_errors = False
            options.never_capture = True
            search = re2.compile(for_re2(self._pattern), options).search

            def find(subject: bytes, start: int) -> _Span | None:
                found = search(subject, start)
                return None if found is None else found.span()

            self._linear = find
        return self._linear

    def _by_regex(self, compiled: Any, subject: Text) -> _Search:
        search = compiled.search

        def find(subject: Text, start: int, end: int | None = None) -> _Span | None:
            try:
                found = search(subject, start, end, timeout=max(0.001, self._deadline - time.monotonic()))
            except TimeoutError:
                raise NotSearchedError("too slow", f"{self._patience_s:.0f} seconds") from None
            return None if found is None else found.span()

        literal = self._needed
        if literal is None or self._pattern.multiline or (literal.fold and isinstance(subject, str)):
            return find
        return _InLinesWith(subject, literal, find).find


def _holds(text: bytes, literal: Needed) -> bool:
    if literal.fold:
        text = text.lower()
    for each in literal.literals:  # noqa: SIM110  any() with a generator takes longer than the search itself
        if _find(text, each, 0, len(text)) >= 0:
            return True
    return False


def _lines_with(text: bytes, literal: bytes) -> int:
    count, size = 0, len(text)
    at = _find(text, literal, 0, size)
    while at >= 0:
        count += 1
        line_end = text.find(b"\n", at)
        if line_end < 0 or line_end + 1 >= size:
            break
        at = _find(text, literal, line_end + 1, size)
    return count


class _Literals:
    """The next of several literals; each is looked for only when the place found before was passed."""

    def __init__(self, subject: Any, literals: tuple[Any, ...]) -> None:
        self._subject = subject
        self._literals = literals
        self._next = [-2] * len(literals)  # before the beginning; -1 is nowhere
        self._from = 0

    def _find(self, literal: Any, start: int) -> int:
        if start >= len(self._subject):
            return -1
        if isinstance(literal, str):
            return self._subject.find(literal, start)
        return _find(self._subject, literal, start, len(self._subject))

    def find(self, _subject: Any, start: int) -> _Span | None:
        best: _Span | None = None
        for index, literal in enumerate(self._literals):
            at = self._next[index]
            if at != -1 and at < start:
                at = self._next[index] = self._find(literal, start)
            if at != -1 and (best is None or at < best[0]):
                best = (at, at + len(literal))
        return best


class _InLinesWith:
    """A search that looks only at lines in which there is a literal that has to be there."""

    def __init__(self, subject: Text, literal: Needed, find: Callable[[Text, int, int], _Span | None]) -> None:
        searched: Any = subject.lower() if literal.fold else subject
        texts = literal.literals if isinstance(subject, bytes) else tuple(each.decode() for each in literal.literals)
        self._literals = _Literals(searched, texts)
        self._line_feed: Any = b"\n" if isinstance(subject, bytes) else "\n"
        self._find = find

    def find(self, subject: Any, start: int) -> _Span | None:
        while (found := self._literals.find(subject, start)) is not None:
            begin = max(start, subject.rfind(self._line_feed, 0, found[0]) + 1)
            end = subject.find(self._line_feed, found[0])
            end = len(subject) if end < 0 else end
            if (match := self._find(subject, begin, end)) is not None:
                return match
            start = end + 1
        return None


def _matched_lines(subject: Any, search: _Search, *, multiline: bool) -> Lines:
    line_feed: Any = b"\n" if isinstance(subject, bytes) else "\n"
    size = len(subject)
    # Behind the last line feed there is no line, though an empty match fits there.
    last = size - 1 if not size or subject.endswith(line_feed) else size
    if not multiline:
        return _single_lines(subject, search, line_feed, last)
    return _touching(_line_ranges(subject, search, line_feed, last))


def _single_lines(subject: Any, search: _Search, line_feed: Any, last: int) -> Lines:
    size = len(subject)
    at = 0
    while at <= last and (found := search(subject, at)) is not None and found[0] <= last:
        start = subject.rfind(line_feed, 0, found[0]) + 1
        end = subject.find(line_feed, found[0])
        end = size if end < 0 else end
        yield start, end
        at = end + 1


def _line_ranges(subject: Any, search: _Search, line_feed: Any, last: int) -> Lines:
    size = len(subject)
    at = 0
    while at <= last and (found := search(subject, at)) is not None and found[0] <= last:
        first, behind = found
        end = subject.find(line_feed, max(first, behind - 1))
        yield subject.rfind(line_feed, 0, first) + 1, size if end < 0 else end
        at = behind if behind > first else behind + 1


def _touching(ranges: Lines) -> Lines:
    """Ranges that share a line, as one."""
    current: tuple[int, int] | None = None
    for start, end in ranges:
        if current is None:
            current = (start, end)
        elif start <= current[1]:
            current = (current[0], max(current[1], end))
        else:
            yield current
            current = (start, end)
    if current is not None:
        yield current
