"""The map as text: the definitions that rank first, by file and line, as many as the budget takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ..support.located import printable
from .budget import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from .file_node import FileNode
    from .graph import SymbolGraph
    from .ranking import Ranked

_MISSES_MAX: Final = 24
"""So many definitions in a row that do not fit into what is left of the budget end the map."""


class MapText(NamedTuple):
    """The text, and how many definitions it shows."""

    text: str
    shown: int


def map_text(graph: SymbolGraph, ranked: Sequence[Ranked], max_tokens: int) -> MapText:
    """Show definitions in the order of their ranks, each with those that it lies in; never more than ``max_tokens``."""
    pages: dict[str, dict[str, str]] = {}
    left = max_tokens + 1  # the last line has no line end
    misses = 0
    for path, key in (each.node for each in ranked):
        page = pages.get(path)
        if page is not None and key in page:
            continue
        lines = _lines(graph.files[path], key, page or {})
        cost = sum(estimated_tokens(line) + 1 for line in lines.values())
        if page is None:
            cost += estimated_tokens(_heading(path)) + 1
        if cost > left:
            misses += 1
            if misses == _MISSES_MAX:
                break
            continue
        misses = 0
        left -= cost
        pages.setdefault(path, {}).update(lines)
    lines_of_all = (
        line for path, page in pages.items() for line in (_heading(path), *_ordered(graph.files[path], page))
    )
    return MapText("\n".join(lines_of_all), sum(map(len, pages.values())))


def _heading(path: str) -> str:
    return f"{printable(path)}:"


def _lines(file: FileNode, key: str, there: Container[str]) -> dict[str, str]:
    """The line of a definition, and those of the ones that it lies in, as far as they are not shown yet."""
    chain: list[str] = []
    while key:
        chain.append(key)
        key = file.owner_of(key)
    chain.reverse()
    definitions = [file.definition(key) for key in chain]
    return {
        key: f"{definition.line}{' ' * (1 + depth)}{printable(definition.text)}"
        for depth, (key, definition) in enumerate(zip(chain, definitions, strict=True))
        if key not in there
    }


def _ordered(file: FileNode, page: dict[str, str]) -> list[str]:
    return [page[key] for key in sorted(page, key=lambda key: (file.definition(key).line, file.place(key)))]
