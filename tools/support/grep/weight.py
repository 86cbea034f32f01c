"""How large a pattern is once its repetitions are written out, as engines do that; bounded, so that each takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .syntax import Alternatives, CharSet, Group, Look, Repeat, Sequence, Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from .syntax import Node

_MOST: Final = 20_000
_TABLE_WEIGHT: Final = 20  # of a class that stands for a table of Unicode


def checked_weight(node: Node, refusal: Callable[[str], Exception]) -> int:
    """The weight of a pattern; raises what ``refusal`` makes where it is too much."""
    weight = _weight(node)
    if weight > _MOST:
        raise refusal("its repetitions make it too large; use fewer or smaller numbers in braces")
    return weight


def _weight(node: Node) -> int:
    match node:
        case CharSet():
            return sum(1 if isinstance(item, Span) else _TABLE_WEIGHT for item in node.items)
        case Sequence():
            return sum(map(_weight, node.parts))
        case Alternatives():
            return len(node.branches) + sum(map(_weight, node.branches))
        case Group() | Look():
            return 1 + _weight(node.node)
        case Repeat():
            return 1 + _weight(node.node) * max(1, node.least, node.most or 0)
        case _:
            return 1
