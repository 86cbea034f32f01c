"""Whether a here-document ends where a shell sees its end, checked against the text and not only the parser's word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .shell_words import NoWordError, read_word

if TYPE_CHECKING:
    from tree_sitter import Node

_UNSOUND: Final = "has a here-document whose end is not understood"


def doubt_of_here_document(source: bytes, redirection: Node) -> str:
    """Why the body may be another than the parser's, or may run something; empty where it does neither.

    The body begins behind the line of its operator, and no quote, bracket or further here-document is on that line.
    """
    start, body, end, others = _parts(redirection)
    if start is None or end is None:
        return _UNSOUND
    given = source[start.start_byte : start.end_byte].decode(errors="replace")
    try:
        delimiter = read_word(given, {}).text
    except NoWordError:
        return _UNSOUND
    newline = source.find(b"\n", start.end_byte)
    if (
        newline < 0
        or any(each.end_byte > newline for each in others)
        or (body is not None and body.start_byte <= newline)
    ):
        return _UNSOUND
    if re.search(rb"""['"`\\(){}]|<<""", source[start.end_byte : newline]):
        return _UNSOUND
    strips = source[: start.start_byte].rstrip(b" \t").endswith(b"<<-")
    lines = source[newline + 1 : end.end_byte].decode(errors="replace").split("\n")
    ends = [line.lstrip("\t") if strips else line for line in lines]
    if ends[-1] != delimiter or delimiter in ends[:-1]:
        return _UNSOUND
    if source[end.end_byte : end.end_byte + 1] not in {b"", b"\n"}:
        return _UNSOUND
    if given == delimiter and re.search(rb"[`$\\]", source[newline + 1 : end.start_byte]):
        return "has a here-document with expansions in it"
    return ""


def _parts(redirection: Node) -> tuple[Node | None, Node | None, Node | None, list[Node]]:
    """What it begins with, its body, its end, and all else that stands behind its beginning."""
    start = body = end = None
    others: list[Node] = []
    for child in redirection.children:
        if child.type == "heredoc_start":
            start = child
        elif child.type == "heredoc_body":
            body = child
        elif child.type == "heredoc_end":
            end = child
        else:
            others.append(child)
    return start, body, end, others
