"""Symbols as lists, numbers and texts, for a pipe or a file; on the way back everything is checked."""

from __future__ import annotations

import sys
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from .port import Definition, FileSymbols

if TYPE_CHECKING:
    from .port import Reference

_TEXT_MAX_CHARS: Final = 1_000
_SYMBOLS_MAX: Final = 100_000
_NUMBER_MAX: Final = 2**31


class NotPlainError(ValueError):
    """Data that is no symbols; the text says what is wrong."""


def symbols_as_plain(symbols: FileSymbols) -> list[Any]:
    """Definitions, references by their definition, imports."""
    definitions: list[Any] = [value for each in symbols.definitions for value in each]
    by_owner: list[list[Any]] = []
    for owner, name, times in symbols.references:
        if not by_owner or by_owner[-1][0] != owner:
            by_owner.append([owner])
        by_owner[-1] += (name, times)
    return [definitions, by_owner, list(symbols.imports)]


def symbols_from_plain(plain: Any) -> FileSymbols:
    """The way back.

    Raises:
        NotPlainError: it is something else.
    """
    if not (_is_list(plain) and len(plain) == 3 and all(_is_list(part) for part in plain)):
        raise NotPlainError("not three lists")
    definitions, by_owner, imports = plain
    found = _definitions(definitions)
    return FileSymbols(
        definitions=found,
        references=_references(by_owner, len(found)),
        imports=tuple(_text(name) for name in imports[:_SYMBOLS_MAX]),
    )


def _definitions(values: list[Any]) -> tuple[Definition, ...]:
    width = len(Definition._fields)
    if len(values) % width or len(values) > _SYMBOLS_MAX * width:
        raise NotPlainError("a wrong number of definitions")
    found: list[Definition] = []
    for start in range(0, len(values), width):
        name, kind, line, end_line, owner, text = values[start : start + width]
        definition = Definition(
            _text(name), _text(kind), _number(line), _number(end_line), _number(owner, least=-1), _text(text)
        )
        if definition.owner >= len(found):
            raise NotPlainError("a definition inside of a later one")
        if not definition.name or definition.line < 1 or definition.end_line < definition.line:
            raise NotPlainError("a definition without a name or lines")
        found.append(definition)
    return tuple(found)


def _references(by_owner: list[Any], definitions: int) -> tuple[Reference, ...]:
    found: list[Reference] = []
    for entry in by_owner:
        if not _is_list(entry) or len(entry) % 2 == 0:
            raise NotPlainError("a wrong number of references")
        owner = _number(entry[0], least=-1)
        if owner >= definitions:
            raise NotPlainError("a reference inside of an unknown definition")
        names, counts = entry[1::2], entry[2::2]
        if len(found) + len(names) > _SYMBOLS_MAX:
            raise NotPlainError("too many references")
        if names:
            # All of them at once, which is several times faster: an index has hundreds of thousands.
            if set(map(type, names)) != {str} or max(map(len, names)) > _TEXT_MAX_CHARS:
                raise NotPlainError("a text is missing or too long")
            if set(map(type, counts)) != {int} or min(counts) < 1 or max(counts) >= _NUMBER_MAX:
                raise NotPlainError("a number is missing or out of bounds")
            found += zip(repeat(owner), map(sys.intern, names), counts)
    return tuple(found)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > _TEXT_MAX_CHARS:
        raise NotPlainError("a text is missing or too long")
    # The same names stand in many files; kept once, they take less memory and are compared faster.
    return sys.intern(value)


def _number(value: Any, *, least: int = 0) -> int:
    if type(value) is not int or not least <= value < _NUMBER_MAX:
        raise NotPlainError("a number is missing or out of bounds")
    return value
