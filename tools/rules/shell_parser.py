"""The parser of shell lines, loaded when the first line is judged, and ways through its trees."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tree_sitter import Node, Parser


WORDS: Final = frozenset(
    {
        "word", "number", "raw_string", "ansi_c_string", "translated_string", "string", "concatenation", "expansion",
        "simple_expansion", "command_substitution", "process_substitution", "arithmetic_expansion", "brace_expression",
    }
)  # fmt: skip

EXPANSIONS: Final = frozenset(
    {"expansion", "simple_expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
UNITS: Final = frozenset({"word", "raw_string", "ansi_c_string", "string", "comment", "heredoc_body", "regex"})
"""What may hold blanks, line ends and quotes that are part of it."""


def parsed(line: bytes) -> Node:
    """The tree of a line; it may hold errors."""
    return _parser().parse(line).root_node


@functools.cache
def _parser() -> Parser:
    # Imported late: it is C code with tables of a megabyte, and who has no rules for commands needs neither.
    import tree_sitter  # noqa: PLC0415
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def leaves(root: Node, look: Callable[[Node], None]) -> Iterator[Node]:
    """The smallest pieces in their order, without recursion; the others are looked at before what is in them."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.child_count and node.type not in UNITS:
            look(node)
            stack.extend(reversed(node.children))
        else:
            yield node


def pieces(test: Node) -> Iterator[Node]:
    """The words and signs of a test between its brackets, in their order."""
    stack = list(reversed(test.children[1:-1]))
    while stack:
        node = stack.pop()
        if node.child_count and node.type not in WORDS:
            stack.extend(reversed(node.children))
        else:
            yield node


def inside(node: Node, kind: str) -> Iterator[Node]:
    """The outermost pieces of a kind in a node."""
    return _outermost(node.children, frozenset({kind}))


def outermost(node: Node) -> Iterator[Node]:
    """The expansions in a node, or itself, without those within them."""
    return _outermost([node], EXPANSIONS)


def _outermost(nodes: Sequence[Node], kinds: frozenset[str]) -> Iterator[Node]:
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        if node.type in kinds:
            yield node
        else:
            stack.extend(reversed(node.children))
