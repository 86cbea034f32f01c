"""What a pattern of the dialect is made of, once it has been read; the engines' own notations are written from this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Char:
    """One character as such. ``fold``: in either case."""

    code: int
    fold: bool


@dataclass(frozen=True, slots=True)
class Span:
    """The characters from ``low`` to ``high``, both included."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Shorthand:
    r"""``\d``, ``\w`` or ``\s``, by Unicode; ``negated``: ``\D``, ``\W`` or ``\S``."""

    letter: Literal["d", "w", "s"]
    negated: bool


@dataclass(frozen=True, slots=True)
class Property:
    r"""``\p{name}`` of a general category or a script, or ``\P{name}``."""

    name: str
    negated: bool


SetItem: TypeAlias = "Span | Shorthand | Property"


@dataclass(frozen=True, slots=True)
class CharSet:
    """One character out of several; ``negated``: one that is none of them."""

    items: tuple[SetItem, ...]
    negated: bool
    fold: bool


@dataclass(frozen=True, slots=True)
class AnyChar:
    """``.``; ``line_ends``: of which line ends are a part."""

    line_ends: bool


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place between characters."""

    kind: Literal["line start", "line end", "text start", "text end", "boundary", "no boundary"]


@dataclass(frozen=True, slots=True)
class Group:
    """A part in parentheses; ``index`` counts those that a reference can name, from 1."""

    node: Node
    index: int | None


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part behind the other; none is the empty pattern."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The first branch that leads to a match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part again and again, as often as it goes, or as seldom if ``lazy``; ``most`` is None for no bound."""

    node: Node
    least: int
    most: int | None
    lazy: bool


@dataclass(frozen=True, slots=True)
class Look:
    """What has to stand behind a place, or before it (``behind``), or must not (``negated``)."""

    node: Node
    behind: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """The text of a group again."""

    index: int
    fold: bool


Node: TypeAlias = "Char | CharSet | AnyChar | Assertion | Group | Sequence | Alternatives | Repeat | Look | Reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern that was read.

    Attributes:
        node: the whole of it.
        multiline: it may match across lines; else every line is looked at by itself.
        backtracks: it looks around or refers back, which only an engine that backtracks can do.
        by_unicode: on text beyond ASCII it depends on tables of Unicode.
    """

    node: Node
    multiline: bool
    backtracks: bool
    by_unicode: bool
