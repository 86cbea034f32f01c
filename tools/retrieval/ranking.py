"""The rank of each definition for a query: personalised PageRank over the graph of definitions and references.

A walker starts at what the query is about, follows the edges of ``graph``, and at each step goes back to the start with
the probability ``RESTART``. How often it is somewhere is the rank of that place. Only places that matter are visited:
weight is pushed along edges, the largest amounts first come first served, until no place holds more than ``LEAST`` that
was not pushed on, or ``PUSHES_MAX`` edges were followed. What it did not come by is not ranked.

Where it starts, and how often relative to each other:
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import ToolCancelledError
from .file_node import looks_like_test
from .names import stemmed, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..contract import CancellationToken
    from .file_node import FileNode
    from .graph import Node, SymbolGraph

IDENTIFIER: Final = 4.0
"""At the definitions of an identifier that was given, all together; at what uses it, where it has none."""
WORD_AS_NAME: Final = 2.0
"""At the definitions of a word of the question that is written like a name (``foo_bar``, ``FooBar``) and is one."""
WORDS: Final = 3.0
"""At definitions whose names have words of the question in them, all together; the rarer the words, the more."""
ACTIVE: Final = 2.0
"""At the code of the active files, all together; at each definition by what it uses."""
MOST_USED: Final = 1.0
"""At the definitions that most files use, where nothing was asked for."""

RESTART: Final = 0.25
LEAST: Final = 3e-4
PUSHES_MAX: Final = 60_000

TEST: Final = 0.3
"""A definition in a test or an example has this part of its rank, unless a test is what the query is about."""
MINOR: Final = 0.5
"""The same for constants, variables, fields and the like, which come in great numbers."""

_MINOR_KINDS: Final = frozenset({"constant", "variable", "field", "property"})
_STARTS_BY_WORDS: Final = 48
_STARTS_MOST_USED: Final = 128
_POLL_EVERY: Final = 4_096
_WORD: Final = re.compile(r"[^\W\d]\w+")
_IN_NAMES: Final = re.compile(r"\w+")
_STOP_WORDS: Final = frozenset(
    map(
        stemmed,
        (
            *(
                "a",
                "an",
                "and",
                "are",
                "as",
                "at",
                "be",
                "been",
                "by",
                "call",
                "called",
                "can",
                "class",
                "code",
                "could",
            ),
            *("defined", "definition", "do", "does", "each", "file", "files", "find", "for", "from", "function", "get"),
            *(
                "gets",
                "happen",
                "happens",
                "has",
                "have",
                "how",
                "if",
                "implement",
                "implementation",
                "implemented",
                "in",
            ),
            *(
                "into",
                "is",
                "it",
                "its",
                "make",
                "makes",
                "method",
                "not",
                "of",
                "on",
                "one",
                "or",
                "other",
                "set",
                "that",
            ),
            *(
                "the",
                "their",
                "them",
                "then",
                "there",
                "they",
                "this",
                "to",
                "use",
                "used",
                "using",
                "was",
                "were",
                "what",
            ),
            *("when", "where", "which", "who", "why", "will", "with", "would"),
        ),
    )
)
"""Words of questions that say nothing about what is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """What a query is about; ``active_files`` are paths as the graph has them."""

    text: str = ""
    identifiers: Sequence[str] = ()
    active_files: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A definition and its rank."""

    node: Node
    rank: float


def ranked_definitions(graph: SymbolGraph, interest: Interest, token: CancellationToken) -> list[Ranked]:
    """The definitions outside of the active files, the most important first; ties by path and place.

    Raises:
        ToolCancelledError: the token was cancelled.
    """
    active = [path for path in dict.fromkeys(interest.active_files) if path in graph.files]
    starts = _starts(graph, interest, active)
    about_tests = any(graph.files[path].is_test for path in active) or looks_like_test(interest.text.replace(" ", "/"))
    left_out = set(active)
    scored: list[tuple[float, str, int, Node]] = []
    for node, rank in personalised_pagerank(graph, starts, token).items():
        path, key = node
        if key and path not in left_out:
            file = graph.files[path]
            part = MINOR if file.definition(key).kind in _MINOR_KINDS else 1.0
            if not about_tests and file.is_test:
                part *= TEST
            scored.append((-rank * part, path, file.place(key), node))
    scored.sort()
    return [Ranked(node, -rank) for rank, _, _, node in scored]


def personalised_pagerank(
    graph: SymbolGraph, starts: Sequence[tuple[Node, float]], token: CancellationToken
) -> dict[Node, float]:
    """How often a walker is where, to within ``LEAST`` a node; the starts' weights need not add up to 1.

    Raises:
        ToolCancelledError: the token was cancelled.
    """
    total = sum(weight for _, weight in starts) or 1.0
    held: dict[Node, float] = {}
    for node, weight in starts:
        held[node] = held.get(node, 0.0) + weight / total
    waiting = deque(sorted(held, key=lambda node: (-held[node], node)))
    ranks: dict[Node, float] = {}
    pushes = 0
    polled = _POLL_EVERY
    while waiting and pushes < PUSHES_MAX:
        node = waiting.popleft()
        amount = held[node]
        held[node] = 0.0
        ranks[node] = ranks.get(node, 0.0) + RESTART * amount
        going = (1.0 - RESTART) * amount
        edges = graph.edges(node)
        for target, share in edges:
            before = held.get(target, 0.0)
            now = before + going * share
            held[target] = now
            if before < LEAST <= now:
                waiting.append(target)
        pushes += len(edges) + 1
        if pushes > polled:
            polled = pushes + _POLL_EVERY
            if token.cancelled:
                raise ToolCancelledError("the code base was being ranked: cancelled, and stopped.")
    return ranks


def names_in(identifier: str) -> list[str]:
    """The names that an identifier such as ``Foo.bar`` or ``foo::bar`` is made of."""
    return _IN_NAMES.findall(identifier)


def _starts(graph: SymbolGraph, interest: Interest, active: list[str]) -> list[tuple[Node, float]]:
    near = [graph.files[path] for path in active]
    starts: list[tuple[Node, float]] = []
    named: set[str] = set()
    for identifier in dict.fromkeys(interest.identifiers):
        parts = names_in(identifier)
        for place, name in enumerate(reversed(parts)):
            # Of Foo.bar, bar is what is meant, and Foo says which.
            starts += _at_name(graph, name, near, IDENTIFIER / (1 + place))
            named.add(name)
    words = list(dict.fromkeys(_WORD.findall(interest.text)))
    for word in words:
        is_like_a_name = len(words_of(word)) > 1 or not word.isascii()
        if word not in named and is_like_a_name and graph.definers(word):
            starts += _at_name(graph, word, near, WORD_AS_NAME)
            named.add(word)
    starts += _at_words(graph, _telling(word for word in words if word not in named), near)
    for path in active:
        starts += _at_file(graph, path, ACTIVE / len(active))
    if not starts:
        # Where nothing else was said, common words may be names, and identifiers that nothing has parts of some.
        starts = _at_words(graph, _stems([*interest.identifiers, *words]), near)
    if not (starts or interest.text or interest.identifiers or interest.active_files):
        most = graph.most_used(_STARTS_MOST_USED)
        starts = [(node, MOST_USED / (1 + place)) for place, node in enumerate(most)]
    return starts


def _at_name(graph: SymbolGraph, name: str, near: list[FileNode], weight: float) -> list[tuple[Node, float]]:
    nodes = graph.definers(name) or graph.users(name)
    return _split(graph, nodes, near, weight)


def _split(graph: SymbolGraph, nodes: list[Node], near: list[FileNode], weight: float) -> list[tuple[Node, float]]:
    """A weight on several nodes, more of it on those that the active files are likely to mean."""
    shares = [max((graph.distance(file, path) for file in near), default=1.0) for path, _ in nodes]
    total = sum(shares)
    return [(node, weight * share / total) for node, share in zip(nodes, shares, strict=True)]


def _stems(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(stem for word in words for stem in words_of(word)))


def _telling(words: Iterable[str]) -> list[str]:
    """The stems of words that say something about what is asked for."""
    return [stem for stem in _stems(words) if stem not in _STOP_WORDS and len(stem) > 2]


def _at_words(graph: SymbolGraph, stems: Iterable[str], near: list[FileNode]) -> list[tuple[Node, float]]:
    """Names that have words of the question in them."""
    scores: dict[str, float] = {}
    for stem in stems:
        names = graph.words.names_with(stem)
        rarity = math.log(1.0 + (len(graph.files) + 1) / (1 + len(names)))
        for name in names:
            scores[name] = scores.get(name, 0.0) + rarity
    best = sorted(((-score * score / math.sqrt(len(words_of(name))), name) for name, score in scores.items()))
    chosen = best[:_STARTS_BY_WORDS]
    total = sum(score for score, _ in chosen)
    found: list[tuple[Node, float]] = []
    for score, name in chosen:
        found += _split(graph, graph.definers(name), near, WORDS * score / total)
    return found


def _at_file(graph: SymbolGraph, path: str, weight: float) -> list[tuple[Node, float]]:
    file = graph.files[path]
    keys = ["", *file.keys]
    sizes = [math.sqrt(1 + len(file.used_in(key))) for key in keys]
    total = sum(sizes)
    return [((path, key), weight * size / total) for key, size in zip(keys, sizes, strict=True)]
