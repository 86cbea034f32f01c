"""The symbols of one file, by tree-sitter. Runs in a process that can be killed: grammars are C code of others."""

from __future__ import annotations

import functools
import importlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

import tree_sitter

from ..limits import RETRIEVAL_FILE_MAX_SYMBOLS, RETRIEVAL_SIGNATURE_MAX_CHARS
from ..retrieval.port import Definition, FileSymbols
from .tree_sitter_tags import GRAMMARS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node, Parser, Query

    from ..retrieval.port import Reference

_NAME_MAX_BYTES: Final = 120
_IMPORTS_MAX: Final = 1_000
_BEFORE_NAME_BYTES: Final = 60
_LEAST_NAME_BYTES: Final = 2  # a single letter is a local variable or a type parameter
_WEAK_KINDS: Final = frozenset({"constant", "variable", "field"})
_WORD: Final = re.compile(rb"[A-Za-z_]\w+")
_SEPARATORS: Final = re.compile(r"[^\w-]+")
_VERSION: Final = re.compile(r"v\d+")
_EXTENSIONS: Final = frozenset(
    {"js", "mjs", "cjs", "jsx", "ts", "tsx", "h", "hpp", "hh", "rb", "php", "sh", "lua", "go"}
)
_BLANK: Final = re.compile(r"\s+")
_BRACKETS: Final = re.compile(rb"[\n()\[\]]")


class NotParsedError(Exception):
    """The file is none of its language; the text is for people."""


def symbols_of(language: str, content: bytes) -> FileSymbols:
    """What is defined and used in a file. Whatever does not fit the grammar is passed over.

    Raises:
        NotParsedError: nothing of it fits.
    """
    loaded = _loaded(language)
    root = loaded.parser.parse(content).root_node
    found = _definitions(loaded.definitions, root, content)
    captures = tree_sitter.QueryCursor(loaded.references).captures(root)
    if not found and not captures and root.has_error:
        raise NotParsedError(f"is not valid {language.replace('_', '-')}")
    named = {each.name_start for each in found}
    used = {node.start_byte: node.end_byte for node in captures.get("ref", ()) if node.start_byte not in named}
    for node in captures.get("text", ()):
        used.update(word.span() for word in _WORD.finditer(content, node.start_byte, node.end_byte))
    return FileSymbols(
        definitions=_owned(found),
        references=_references(found, used, content),
        imports=_imports(content[node.start_byte : node.end_byte] for node in captures.get("import", ())),
    )


def load(language: str) -> None:
    """Load a grammar, which the first file of its language need not wait for then."""
    _loaded(language)


class _Loaded(NamedTuple):
    parser: Parser
    definitions: Query
    references: Query


@functools.cache
def _loaded(name: str) -> _Loaded:
    grammar = GRAMMARS[name]
    made: object = getattr(importlib.import_module(grammar.module), grammar.function)()
    language = tree_sitter.Language(made)
    return _Loaded(
        tree_sitter.Parser(language),
        tree_sitter.Query(language, grammar.definitions),
        tree_sitter.Query(language, grammar.references),
    )


class _Found(NamedTuple):
    start: int
    end: int
    name_start: int
    name: str
    kind: str
    line: int
    end_line: int
    text: str


def _definitions(query: Query, root: Node, content: bytes) -> list[_Found]:
    """By their places, those that enclose others before them; one for each name and line."""
    by_name: dict[int, tuple[Node, Node, str]] = {}
    for _, captures in tree_sitter.QueryCursor(query).matches(root):
        name = captures.pop("name")[0]
        kind, nodes = next(iter(captures.items()))
        if name.start_byte not in by_name or kind not in _WEAK_KINDS:
            by_name[name.start_byte] = (name, nodes[0], kind)
        if len(by_name) >= RETRIEVAL_FILE_MAX_SYMBOLS:
            break
    found: dict[tuple[str, int], _Found] = {}
    ordered = sorted(by_name.values(), key=lambda each: (each[1].start_byte, -each[1].end_byte, each[0].start_byte))
    for name, node, kind in ordered:
        text = _name(content[name.start_byte : name.end_byte])
        line = name.start_point.row + 1
        if text:
            found.setdefault(
                (text, line),
                _Found(
                    node.start_byte,
                    node.end_byte,
                    name.start_byte,
                    text,
                    kind,
                    line,
                    node.end_point.row + 1,
                    _signature(name, node, content),
                ),
            )
    return list(found.values())


def _name(raw: bytes) -> str:
    if len(raw) > _NAME_MAX_BYTES:
        return ""
    try:
        return raw.decode().strip("\"'`#[]")
    except UnicodeDecodeError:
        return ""


def _signature(name: Node, node: Node, content: bytes) -> str:
    """The line of the name, and those behind it while a bracket is open, up to the body; on one line."""
    start = max(content.rfind(b"\n", 0, name.start_byte) + 1, name.start_byte - _BEFORE_NAME_BYTES)
    value = node.child_by_field_name("value")
    body = node.child_by_field_name("body") or (value.child_by_field_name("body") if value is not None else None)
    end = min(len(content), name.end_byte + RETRIEVAL_SIGNATURE_MAX_CHARS)
    if body is not None and body.start_byte > name.end_byte:
        end = min(end, body.start_byte)
    raw = content[start:end]
    depth = 0
    for bracket in _BRACKETS.finditer(raw):
        what = bracket[0]
        if what == b"\n":
            if depth <= 0 and start + bracket.start() >= name.end_byte:
                raw = raw[: bracket.start()]
                break
        else:
            depth += 1 if what in b"([" else -1
    text = _BLANK.sub(" ", raw.decode("utf-8", "replace")).strip()
    text = text.removesuffix("=>").rstrip("{:= ")
    if len(text) > RETRIEVAL_SIGNATURE_MAX_CHARS:
        text = text[: RETRIEVAL_SIGNATURE_MAX_CHARS - 1] + "…"
    return text


def _owned(found: list[_Found]) -> tuple[Definition, ...]:
    owned: list[Definition] = []
    open_ones: list[int] = []
    for each in found:
        while open_ones and found[open_ones[-1]].end < each.end:
            open_ones.pop()
        owner = open_ones[-1] if open_ones else -1
        open_ones.append(len(owned))
        owned.append(Definition(each.name, each.kind, each.line, each.end_line, owner, each.text))
    return tuple(owned)


def _references(found: list[_Found], used: dict[int, int], content: bytes) -> tuple[Reference, ...]:
    counts: dict[tuple[int, bytes], int] = {}
    open_ones: list[int] = []
    following = 0
    for start in sorted(used):
        while following < len(found) and found[following].start <= start:
            open_ones.append(following)
            following += 1
        while open_ones and found[open_ones[-1]].end <= start:
            open_ones.pop()
        raw = content[start : used[start]]
        if _LEAST_NAME_BYTES <= len(raw) <= _NAME_MAX_BYTES:
            key = (open_ones[-1] if open_ones else -1, raw)
            counts[key] = counts.get(key, 0) + 1
            if len(counts) >= RETRIEVAL_FILE_MAX_SYMBOLS:
                break
    return tuple((owner, name, count) for (owner, raw), count in counts.items() if (name := _name(raw)))


def _imports(raw: Iterable[bytes]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for each in raw:
        words = [word for word in _SEPARATORS.split(each.decode("utf-8", "replace")) if word]
        while len(words) > 1 and (words[-1] in _EXTENSIONS or _VERSION.fullmatch(words[-1])):
            words.pop()
        if words and len(words[-1]) <= _NAME_MAX_BYTES:
            names[words[-1]] = None
        if len(names) >= _IMPORTS_MAX:
            break
    return tuple(names)
