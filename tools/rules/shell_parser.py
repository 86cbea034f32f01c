"""The parser of shell lines, loaded when the first line is judged."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


def parsed(line: bytes) -> Node:
    """The tree of a line; it may hold errors."""
    return _parser().parse(line).root_node


@functools.cache
def _parser() -> Parser:
    # Imported late: it is C code with tables of a megabyte, and who has no rules for commands needs neither.
    import tree_sitter  # noqa: PLC0415
    import tree_sitter_bash  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
