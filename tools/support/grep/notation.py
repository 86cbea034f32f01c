r"""A pattern of the dialect in the notation of each engine.

Nothing is left to what an engine takes for granted: every class is written out, ``.`` and ``$`` too, so that no engine
knows of line ends what another does not. Three kinds of text are told apart. ``rust``: ripgrep, on any text. ``re2``:
on ASCII text, and on any UTF-8 where the pattern is not ``by_unicode``. ``regex``: on ASCII bytes, or on text decoded
with ``surrogateescape``, where bytes that are no characters are lone surrogates and matched by nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final

from .charsets import ascii_members, either_case, folded_spans
from .syntax import (
    Alternatives,
    AnyChar,
    Assertion,
    Char,
    CharSet,
    Group,
    Look,
    Property,
    Reference,
    Repeat,
    Sequence,
    Shorthand,
    Span,
)

if TYPE_CHECKING:
    from .syntax import Node, Pattern, SetItem

_SURROGATES: Final = r"\udc80-\udcff"
_REGEX_WORD: Final = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}"
_REGEX_SPACE: Final = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACE_IN_LINE: Final = (Span(9, 9), Span(11, 12), Span(32, 32))
_SPACE_BEYOND_ASCII: Final = (
    *(Span(code, code) for code in (0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)),
    Span(0x2000, 0x200A),
)


def for_ripgrep(pattern: Pattern) -> str:
    """The notation of Rust's ``regex``."""
    return _Rust(pattern).written()


def for_re2(pattern: Pattern) -> bytes:
    """The notation of RE2, as UTF-8."""
    return _Re2(pattern).written().encode()


def for_regex_bytes(pattern: Pattern) -> bytes:
    """The notation of Python's ``regex`` for bytes that are all ASCII; with the flag MULTILINE."""
    return _RegexBytes(pattern).written().encode("ascii")


def for_regex_text(pattern: Pattern) -> str:
    """The notation of Python's ``regex`` for text; with the flag MULTILINE."""
    return _RegexText(pattern).written()


class _Notation(ABC):
    """What all have in common."""

    assertions: ClassVar[dict[str, str]]
    nothing: ClassVar[str]
    """Where no character is meant."""

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern
        self._multiline = pattern.multiline
        self._captures = pattern.backtracks

    def written(self) -> str:
        return self._node(self._pattern.node)

    def _node(self, node: Node) -> str:
        match node:
            case Char():
                return self._chars([node])
            case CharSet():
                return self._set(node)
            case AnyChar():
                return self._any(line_ends=node.line_ends)
            case Assertion():
                return self._assertion(node.kind)
            case Group():
                inner = self._node(node.node)
                return f"({inner})" if self._captures and node.index is not None else f"(?:{inner})"
            case Sequence():
                return self._sequence(node)
            case Alternatives():
                return f"(?:{'|'.join(map(self._node, node.branches))})"
            case Repeat():
                return self._repeat(node)
            case Look():
                return f"(?{'<' if node.behind else ''}{'!' if node.negated else '='}{self._node(node.node)})"
            case Reference():
                return f"(?i:\\{node.index})" if node.fold else f"(?:\\{node.index})"

    def _sequence(self, node: Sequence) -> str:
        written: list[str] = []
        run: list[Char] = []
        for part in node.parts:
            if isinstance(part, Char) and (not run or part.fold == run[0].fold):
                run.append(part)
                continue
            if run:
                written.append(self._chars(run))
                run = []
            if isinstance(part, Char):
                run.append(part)
            else:
                written.append(self._node(part))
        if run:
            written.append(self._chars(run))
        return "".join(written)

    def _repeat(self, node: Repeat) -> str:
        least, most = node.least, node.most
        count = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
        return f"(?:{self._node(node.node)}){count}{'?' if node.lazy else ''}"

    def _chars(self, run: list[Char]) -> str:
        return self._run(run)

    def _run(self, run: list[Char]) -> str:
        text = "".join(self._char(char.code) for char in run)
        return f"(?i:{text})" if run[0].fold else text if len(run) == 1 else f"(?:{text})"

    def _assertion(self, kind: str) -> str:
        return self.assertions[kind]

    @abstractmethod
    def _char(self, code: int) -> str: ...

    @abstractmethod
    def _any(self, *, line_ends: bool) -> str: ...

    @abstractmethod
    def _set(self, chars: CharSet) -> str: ...

    def _spans(self, spans: tuple[Span, ...]) -> str:
        return "".join(map(self._span, spans))

    def _span(self, span: Span) -> str:
        return self._char(span.low) if span.low == span.high else f"{self._char(span.low)}-{self._char(span.high)}"


class _OfAutomata(_Notation):
    """What Rust's ``regex`` and RE2 have in common."""

    nothing: ClassVar = r"[^\x00-\x{10FFFF}]"
    assertions: ClassVar = {
        "line start": "(?m:^)",
        "line end": r"(?:\r?(?m:$))",
        "text start": r"\A",
        "text end": r"\z",
        "boundary": r"\b",
        "no boundary": r"\B",
    }

    def _char(self, code: int) -> str:
        char = chr(code)
        return char if char.isascii() and char.isalnum() else f"\\x{{{code:X}}}"

    def _any(self, *, line_ends: bool) -> str:
        return "(?s:.)" if line_ends else r"[^\r\n]"


class _OfRegex(_Notation):
    """What Python's ``regex`` has for bytes and for text."""

    nothing: ClassVar = "(?!)"
    assertions: ClassVar = {
        "line start": "^",
        "line end": r"(?:\r?$)",
        "text start": r"\A",
        "text end": r"\Z",
        "boundary": r"\b",
        "no boundary": r"\B",
    }


class _ByUnicode(_Notation):
    """Classes for any text: of a class that is not negated, what could be a line end is taken out by hand."""

    outside = ""
    """What a negated class leaves out besides."""

    @abstractmethod
    def _shorthand(self, item: Shorthand) -> str:
        """Inside of a class."""

    def _property(self, item: Property) -> str:
        return f"\\{'P' if item.negated else 'p'}{{{item.name}}}"

    def _set(self, chars: CharSet) -> str:
        spans = tuple(item for item in chars.items if isinstance(item, Span))
        if chars.negated:
            inside = self._folded(spans, fold=chars.fold)
            inside += "".join(self._table(item) for item in chars.items if not isinstance(item, Span))
            line_ends = "" if self._multiline else self._char(13) + self._char(10)
            return f"[^{inside}{line_ends}{self.outside}]"
        return self._positive(chars, spans)

    def _positive(self, chars: CharSet, spans: tuple[Span, ...]) -> str:
        if not self._multiline:
            spans = tuple(kept for span in spans for kept in _without_line_feed(span))
        inside = self._folded(spans, fold=chars.fold) if spans else ""
        apart: list[str] = []
        for item in chars.items:
            if isinstance(item, Span):
                continue
            if isinstance(item, Shorthand) and item.letter == "s" and not item.negated:
                of_space = self._spans(_SPACE_IN_LINE + _SPACE_BEYOND_ASCII)
                inside += self._shorthand(item) if self._multiline else of_space
            elif item.negated and not (isinstance(item, Shorthand) and item.letter == "s"):
                line_ends = "" if self._multiline else self._char(13) + self._char(10)
                positive = Shorthand(item.letter, False) if isinstance(item, Shorthand) else Property(item.name, False)
                apart.append(f"[^{self._table(positive)}{line_ends}{self.outside}]")
            elif item.negated:
                apart.append(f"[^{self._table(Shorthand('s', False))}{self.outside}]")
            else:
                inside += self._table(item)
        if inside:
            apart.append(f"[{inside}]")
        return apart[0] if len(apart) == 1 else f"(?:{'|'.join(apart)})" if apart else self.nothing

    def _table(self, item: SetItem) -> str:
        assert not isinstance(item, Span)
        return self._shorthand(item) if isinstance(item, Shorthand) else self._property(item)

    def _folded(self, spans: tuple[Span, ...], *, fold: bool) -> str:
        return self._spans(folded_spans(spans) if fold else spans)


class _Rust(_OfAutomata, _ByUnicode):
    def _shorthand(self, item: Shorthand) -> str:
        return f"\\{item.letter.upper() if item.negated else item.letter}"


class _RegexText(_OfRegex, _ByUnicode):
    outside = _SURROGATES
    assertions: ClassVar = {
        **_OfRegex.assertions,
        "boundary": f"(?:(?<=[{_REGEX_WORD}])(?![{_REGEX_WORD}])|(?<![{_REGEX_WORD}])(?=[{_REGEX_WORD}]))",
        "no boundary": f"(?:(?<=[{_REGEX_WORD}])(?=[{_REGEX_WORD}])|(?<![{_REGEX_WORD}])(?![{_REGEX_WORD}]))",
    }

    def _char(self, code: int) -> str:
        char = chr(code)
        if char.isascii() and char.isalnum():
            return char
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    def _chars(self, run: list[Char]) -> str:
        if not run[0].fold:
            return super()._chars(run)
        return "".join(self._either(either_case(char.code)) for char in run)

    def _either(self, codes: tuple[int, ...]) -> str:
        return self._char(codes[0]) if len(codes) == 1 else f"[{''.join(map(self._char, codes))}]"

    def _any(self, *, line_ends: bool) -> str:
        return f"[^{_SURROGATES}]" if line_ends else f"[^\\r\\n{_SURROGATES}]"

    def _spans(self, spans: tuple[Span, ...]) -> str:
        return super()._spans(tuple(kept for span in spans for kept in _without_surrogates(span)))

    def _shorthand(self, item: Shorthand) -> str:
        if item.letter == "d":
            return r"\P{Nd}" if item.negated else r"\p{Nd}"
        if not item.negated:
            return _REGEX_WORD if item.letter == "w" else _REGEX_SPACE
        # Inside of a negated class a complement cannot be written out; the engine's own tables have the same members.
        return f"\\{item.letter.upper()}"


class _Ascii(_Notation):
    """Classes for ASCII text: the ASCII characters that they have."""

    def _members(self, codes: frozenset[int]) -> str:
        if not codes:
            return self.nothing
        spans: list[Span] = []
        for code in sorted(codes):
            if spans and spans[-1].high == code - 1:
                spans[-1] = Span(spans[-1].low, code)
            else:
                spans.append(Span(code, code))
        return f"[{self._spans(tuple(spans))}]"

    def _set(self, chars: CharSet) -> str:
        return self._members(ascii_members(chars, multiline=self._multiline))

    def _chars(self, run: list[Char]) -> str:
        if all(char.code < 128 for char in run):
            return super()._chars(run)
        return "".join(self._one(char) for char in run)

    def _one(self, char: Char) -> str:
        codes = either_case(char.code) if char.fold else (char.code,)
        return self._members(frozenset(code for code in codes if code < 128))


class _RegexBytes(_OfRegex, _Ascii):
    def _char(self, code: int) -> str:
        char = chr(code)
        return char if char.isalnum() else f"\\x{code:02x}"

    def _any(self, *, line_ends: bool) -> str:
        return "(?s:.)" if line_ends else r"[^\r\n]"


class _Re2(_OfAutomata, _Ascii):
    """ASCII where the pattern depends on tables of Unicode; else classes are spans and hold for any UTF-8."""

    def _chars(self, run: list[Char]) -> str:
        return super()._chars(run) if run[0].fold else self._run(run)

    def _set(self, chars: CharSet) -> str:
        if self._pattern.by_unicode and (chars.fold or not all(isinstance(item, Span) for item in chars.items)):
            return super()._set(chars)
        spans = tuple(item for item in chars.items if isinstance(item, Span))
        if chars.negated:
            return f"[^{self._spans(spans)}{'' if self._multiline else self._char(13) + self._char(10)}]"
        if not self._multiline:
            spans = tuple(kept for span in spans for kept in _without_line_feed(span))
        return f"[{self._spans(spans)}]" if spans else self.nothing


def _without_line_feed(span: Span) -> tuple[Span, ...]:
    if not span.low <= 10 <= span.high:
        return (span,)
    return tuple(part for part in (Span(span.low, 9), Span(11, span.high)) if part.low <= part.high)


def _without_surrogates(span: Span) -> tuple[Span, ...]:
    parts = (Span(span.low, min(span.high, 0xD7FF)), Span(max(span.low, 0xE000), span.high))
    return tuple(part for part in parts if part.low <= part.high)
