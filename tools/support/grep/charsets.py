"""Which characters a class has: under simple case folding, and of those which are ASCII."""

from __future__ import annotations

import functools
import unicodedata
from typing import TYPE_CHECKING, Final

from .syntax import CharSet, Property, Shorthand, Span

if TYPE_CHECKING:
    from .syntax import SetItem

_LATE_FOLDS: Final = {0x1FD3: 0x390, 0x1FE3: 0x3B0, 0xFB05: 0xFB06}
"""Simple foldings that Unicode got in version 15.1, later than the tables of older Pythons."""

_LAST_CASED: Final = 0x1E943
_WORD: Final = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
_SPACE: Final = frozenset(b"\t\n\x0b\x0c\r ")
_DIGITS: Final = frozenset(b"0123456789")
LINE_ENDS: Final = frozenset(b"\r\n")


def either_case(code: int) -> tuple[int, ...]:
    """The characters that are the same as this one when the case is ignored, itself among them."""
    if code < 128:
        char = chr(code)
        if not char.isalpha():
            return (code,)
        return (ord(char.upper()), ord(char.lower()), *_ASCII_STRANGERS.get(char.lower(), ()))
    return _cases().get(_fold(code), (code,))


_ASCII_STRANGERS: Final = {"k": (0x212A,), "s": (0x17F,)}


def folded_spans(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """The spans, and the characters that differ from one in them by case."""
    more = {
        other
        for _, same in sorted(_cases().items())
        if any(span.low <= code <= span.high for code in same for span in spans)
        for other in same
    }
    return (*spans, *(Span(code, code) for code in sorted(more)))


def ascii_members(chars: CharSet, *, multiline: bool) -> frozenset[int]:
    """The ASCII characters of a class, as it is meant in a pattern."""
    members: set[int] = set()
    for item in chars.items:
        members |= _ascii_of(item)
    if chars.fold:
        spans = tuple(item for item in chars.items if isinstance(item, Span) and item.high > 127)
        beyond = {code for span in folded_spans(spans) for code in range(span.low, min(span.high, 127) + 1)}
        members |= beyond
        members |= {ord(chr(code).swapcase()) for code in members if chr(code).isalpha()}
    found = frozenset(range(128)) - members if chars.negated else frozenset(members)
    if multiline:
        return found
    return found - LINE_ENDS if chars.negated else found - {10} - ({13} - _said(chars))


def _said(chars: CharSet) -> set[int]:
    """A carriage return that the class names itself, or has in a range."""
    named = any(isinstance(item, Span) and item.low <= 13 <= item.high for item in chars.items)
    return {13} if named else set()


def _ascii_of(item: SetItem) -> frozenset[int]:
    match item:
        case Span():
            return frozenset(range(item.low, min(item.high, 127) + 1))
        case Shorthand():
            found = {"d": _DIGITS, "w": _WORD, "s": _SPACE}[item.letter]
        case Property():
            found = _ascii_of_property(item.name)
    return frozenset(range(128)) - found if item.negated else found


@functools.cache
def _ascii_of_property(name: str) -> frozenset[int]:
    if len(name) <= 2:
        return frozenset(code for code in range(128) if unicodedata.category(chr(code)).startswith(name))
    return frozenset(code for code in range(128) if name == "Latin" and chr(code).isalpha())


def _fold(code: int) -> int:
    if code in _LATE_FOLDS:
        return _LATE_FOLDS[code]
    char = chr(code)
    full = char.casefold()
    if len(full) == 1:
        return ord(full)
    lower = char.lower()
    return ord(lower) if len(lower) == 1 else code


@functools.cache
def _cases() -> dict[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for code in range(_LAST_CASED + 1):
        folded = _fold(code) if not 0xD800 <= code <= 0xDFFF else code
        if folded != code:
            found.setdefault(folded, [folded]).append(code)
    return {folded: tuple(same) for folded, same in found.items()}
