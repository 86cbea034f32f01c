"""Bytes without which a pattern cannot match: looking for them first spares most files the pattern itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .syntax import Alternatives, Char, Group, Repeat, Sequence

if TYPE_CHECKING:
    from .syntax import Node, Pattern

_MOST: Final = 12
_LONGEST: Final = 64
_FOLDS_BEYOND_ASCII: Final = frozenset("ksKS")  # the Kelvin sign and the long s are the same letters


@dataclass(frozen=True, slots=True)
class Needed:
    """One of ``literals`` has to be there. ``fold``: they are in small letters, and so has to be the text.

    ``suffices``: where one is there, the pattern matches, and nowhere else.
    """

    literals: tuple[bytes, ...]
    fold: bool
    suffices: bool


@dataclass(frozen=True, slots=True)
class _Texts:
    """Everything that a part can be, one of these."""

    texts: tuple[str, ...]
    fold: bool


def needed(pattern: Pattern) -> Needed | None:
    """What has to be in every text that the pattern matches; None where nothing can be said."""
    whole = _all_texts(pattern.node)
    if whole is not None and all(whole.texts):
        return _as_bytes(whole, suffices=not whole.fold)
    best = _best(pattern.node)
    return None if best is None else _as_bytes(best, suffices=False)


def _as_bytes(found: _Texts, *, suffices: bool) -> Needed:
    short = len(max(found.texts, key=len)) <= _LONGEST
    literals = tuple(dict.fromkeys(text[:_LONGEST].encode() for text in found.texts))
    return Needed(literals, found.fold, suffices and short)


def _all_texts(node: Node) -> _Texts | None:
    match node:
        case Char():
            return _of_char(node)
        case Group():
            return _all_texts(node.node)
        case Sequence():
            found: _Texts | None = _Texts(("",), fold=False)
            for part in node.parts:
                found = None if found is None else _joined(found, _all_texts(part))
            return found
        case Alternatives():
            return _either([_all_texts(branch) for branch in node.branches])
        case _:
            return None


def _of_char(char: Char) -> _Texts | None:
    text = chr(char.code)
    if not char.fold:
        return _Texts((text,), fold=False)
    if not text.isascii() or text in _FOLDS_BEYOND_ASCII:
        return None
    return _Texts((text.lower(),), fold=text.isalpha())


def _joined(first: _Texts, second: _Texts | None) -> _Texts | None:
    if second is None or len(first.texts) * len(second.texts) > _MOST:
        return None
    return _same_case(first, second, tuple(one + other for one in first.texts for other in second.texts))


def _same_case(first: _Texts, second: _Texts, texts: tuple[str, ...]) -> _Texts | None:
    if first.fold == second.fold:
        return _Texts(texts, first.fold)
    # A text whose small letters are looked at has its capitals in none of them.
    return _Texts(tuple(text.lower() for text in texts), fold=True) if all(map(str.isascii, texts)) else None


def _either(branches: list[_Texts | None]) -> _Texts | None:
    found: _Texts | None = _Texts((), fold=False)
    for branch in branches:
        if found is None or branch is None or len(found.texts) + len(branch.texts) > _MOST:
            return None
        found = branch if not found.texts else _same_case(found, branch, found.texts + branch.texts)
    return found


def _best(node: Node) -> _Texts | None:
    match node:
        case Sequence():
            return _best_of_sequence(node)
        case Group():
            return _best(node.node)
        case Alternatives():
            found = _either([_best(branch) for branch in node.branches])
            return found if found is not None and all(found.texts) else None
        case Repeat():
            return _best(node.node) if node.least else None
        case _:
            return _worthy(_all_texts(node))


def _best_of_sequence(node: Sequence) -> _Texts | None:
    candidates: list[_Texts | None] = []
    run: _Texts | None = None
    for part in node.parts:
        texts = _all_texts(part)
        longer = texts if run is None else _joined(run, texts)
        if longer is None:
            candidates.append(run)
            longer = texts
        if texts is None:
            candidates.append(_best(part))
        run = longer
    candidates.append(run)
    worthy = [found for found in map(_worthy, candidates) if found is not None]
    return max(worthy, key=_worth) if worthy else None


def _worthy(found: _Texts | None) -> _Texts | None:
    return found if found is not None and found.texts and all(found.texts) else None


def _worth(found: _Texts) -> tuple[int, int, bool]:
    return min(map(len, found.texts)), -len(found.texts), not found.fold
