"""The parser's processes: whatever a file does to a grammar, it is named, and all others are parsed."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools.adapters import tree_sitter_parser
from openbuffer.tools.adapters.tree_sitter_parser import TreeSitterParser
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.errors import ToolCancelledError, ToolFailure
from openbuffer.tools.retrieval.port import Parsed, SourceText

from ..processes import children_of

if TYPE_CHECKING:
    from collections.abc import Iterator

TRAPS = """
import os
from openbuffer.tools.adapters import tree_sitter_symbols, tree_sitter_worker
real = tree_sitter_symbols.symbols_of
def symbols_of(language, content):
    while b"HANG" in content:
        pass
    if b"CRASH" in content:
        os._exit(139)
    if b"EAT" in content:
        bytearray(8 * 2**30)
    if b"LIE" in content:
        return tree_sitter_symbols.FileSymbols(definitions=((1, 2, 3, 4, 5, 6),))
    return real(language, content)
tree_sitter_symbols.symbols_of = symbols_of
tree_sitter_worker.main()
"""
"""What a broken grammar does, at the place where a grammar is at work; the process is the real one."""


@pytest.fixture
def trapped(monkeypatch: pytest.MonkeyPatch) -> Iterator[TreeSitterParser]:
    monkeypatch.setattr(tree_sitter_parser, "START", TRAPS)
    with closing(TreeSitterParser(file_timeout_s=0.5)) as parser:
        monkeypatch.setattr(tree_sitter_parser, "RETRIEVAL_BATCH_TIMEOUT_S", 1.0)
        yield parser


@pytest.fixture
def parser() -> Iterator[TreeSitterParser]:
    with closing(TreeSitterParser()) as parser:
        yield parser


def python(**texts: str) -> list[SourceText]:
    return [SourceText(path, "python", text.encode()) for path, text in texts.items()]


def parse(parser: TreeSitterParser, sources: list[SourceText]) -> dict[str, Parsed]:
    found = list(parser.parse(sources, CancellationToken()))
    assert [each.path for each in found] == [source.path for source in sources]
    return {each.path: each for each in found}


@pytest.mark.contract("W5")
def test_a_file_that_hangs_crashes_or_lies_is_named_and_all_others_are_parsed(trapped: TreeSitterParser) -> None:
    texts = {"a": "def a(): pass", "b": "HANG", "c": "CRASH", "d": "EAT", "e": "LIE", "f": "def f(): pass"}
    found = parse(trapped, python(**texts))
    assert {path: each.trouble for path, each in found.items() if each.symbols is None} == {
        "b": "parsing it takes more than 0.5 seconds",
        "c": "the parser failed: the process has ended (exit code 139)",
        "d": "parsing it needs too much memory",
        "e": "the parser gave a wrong answer (a text is missing or too long)",
    }
    assert [each.name for path in "af" for each in found[path].symbols.definitions] == ["a", "f"]  # type: ignore[union-attr]


@pytest.mark.contract("W5")
def test_after_some_hangs_batches_with_further_ones_are_not_tried(
    trapped: TreeSitterParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_sitter_parser, "RETRIEVAL_HANGS_MAX", 2)
    found = parse(trapped, python(**{f"f{number}": "HANG" for number in range(6)}))
    assert [each.trouble for each in found.values()] == [
        *["parsing it takes more than 0.5 seconds"] * 2,
        *["not tried: too many others could not be parsed"] * 4,
    ]


BROKEN = """
import os, time
from openbuffer.tools.adapters import tree_sitter_symbols, tree_sitter_worker
real = tree_sitter_symbols.load
def load(language):
    if language == "go":
        raise ValueError("Incompatible Language version 99")
    if language == "rust":
        os._exit(139)
    while language == "lua":
        time.sleep(1)
    real(language)
tree_sitter_symbols.load = load
tree_sitter_worker.main()
"""
"""Grammars that are installed and cannot be loaded: of another release of tree-sitter, or damaged."""


@pytest.mark.contract("W5")
@pytest.mark.parametrize(
    "languages", [["python", "go", "rust"], pytest.param(["python", "lua"], marks=pytest.mark.slow)]
)
def test_a_grammar_that_cannot_be_loaded_costs_the_files_of_its_language_alone(
    monkeypatch: pytest.MonkeyPatch, languages: list[str]
) -> None:
    monkeypatch.setattr(tree_sitter_parser, "START", BROKEN)
    monkeypatch.setattr(tree_sitter_parser, "_START_TIMEOUT_S", 10.0)
    texts = {"python": b"def f(): pass", "go": b"package a", "rust": b"fn a() {}", "lua": b"local a = 1"}
    order = [languages[number % len(languages)] for number in range(150)]
    sources = [SourceText(f"{number}", language, texts[language]) for number, language in enumerate(order)]
    with closing(TreeSitterParser()) as parser:
        found = parse(parser, sources)
    expected = {
        "python": {""},
        "go": {"its grammar cannot be loaded (ValueError: Incompatible Language version 99)"},
        "rust": {"its grammar cannot be loaded (the process has ended)"},
        "lua": {"its grammar cannot be loaded (it takes more than 10 seconds)"},
    }
    for language in languages:
        assert {found[each.path].trouble for each in sources if each.language == language} == expected[language]


def test_where_no_process_can_be_started_that_is_said_and_no_file_is_blamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with closing(TreeSitterParser()) as parser:
        with monkeypatch.context() as patched:
            patched.setattr("openbuffer.tools.support.isolated_process.sys.executable", "/nowhere/python")
            with pytest.raises(ToolFailure, match=r"parser cannot be started .*No such file"):
                parse(parser, python(a="def a(): pass"))
        assert parse(parser, python(a="def a(): pass"))["a"].trouble == ""


@pytest.mark.contract("W5", "T6")
def test_a_cancelled_parse_has_really_stopped(trapped: TreeSitterParser) -> None:
    token = CancellationToken()
    before = children_of(os.getpid())
    with ThreadPoolExecutor(1) as pool:
        parsing = pool.submit(lambda: list(trapped.parse(python(a="HANG", b="HANG"), token)))
        while children_of(os.getpid()) == before:
            assert not parsing.done()
            time.sleep(0.01)
        token.cancel()
        with pytest.raises(ToolCancelledError, match="cancelled, and stopped"):
            parsing.result(10)
    assert children_of(os.getpid()) == before


@pytest.mark.contract("W5")
def test_many_files_are_parsed_by_several_processes_in_their_order(parser: TreeSitterParser) -> None:
    sources = [SourceText(f"{number}.py", "python", b"def f%d(): g()" % number) for number in range(400)]
    assert [found.symbols.definitions[0].name for found in parse(parser, sources).values()] == [  # type: ignore[union-attr]
        f"f{number}" for number in range(400)
    ]
    assert parse(parser, []) == {}


def test_an_iteration_that_is_left_leaves_nothing_behind(parser: TreeSitterParser) -> None:
    sources = (SourceText(f"{number}.py", "python", b"def f(): g()") for number in range(400))
    parsing = parser.parse(sources, CancellationToken())
    assert next(parsing).path == "0.py"
    parsing.close()  # type: ignore[attr-defined]
    before = children_of(os.getpid())
    parser.close()
    assert len(before) > len(children_of(os.getpid()))


MEBI = 1024 * 1024
HOSTILE = {
    "deep.py": b"(" * 200_000,
    "deep.js": b"[" * MEBI,
    "nested.js": b"function a(){" * 20_000 + b"}" * 20_000,
    "nested.ts": b"<A" * 100_000,
    "nested.rs": b"mod a { " * 20_000,
    "deep.c": b"{" * 200_000 + b"}" * 200_000,
    "if.cpp": b"if (a) " * 50_000,
    "type.cpp": b"a<" * 100_000,
    "quote.sh": b"$(" * 50_000,
    "heredoc.sh": b"cat <<A\n" * 20_000,
    "heredoc.rb": b"f(<<A" * 5_000,
    "string.py": b'f"{' * 20_000,
    "string.lua": b"[" + b"=" * 100_000 + b"[",
    "string.cs": b'$"{' * 20_000,
    "indent.py": b"".join(b" " * depth + b"if a:\n" for depth in range(1_500)),
    "invalid.go": b"\xff\xfe\x80\xc0" * 50_000,
    "blank.php": b"<?php\n" + b"\n" * MEBI,
    "names.java": b"a.b(c)." * 50_000,
}
TAKE_SECONDS = {"deep.js", "if.cpp", "names.java", "nested.js", "quote.sh", "type.cpp"}


@pytest.mark.contract("W5")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in TAKE_SECONDS else name for name in sorted(HOSTILE)]
)
def test_a_hostile_file_is_parsed_or_named_and_the_next_is_parsed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_sitter_parser, "RETRIEVAL_BATCH_TIMEOUT_S", 1.0)
    with closing(TreeSitterParser(file_timeout_s=1.0)) as parser:
        language = parser.language_of(name)
        assert language is not None
        hostile, good = parse(parser, [SourceText(name, language, HOSTILE[name]), *python(b="def f(): pass")]).values()
    assert hostile.symbols is not None or hostile.trouble
    assert good.symbols is not None
    assert [each.name for each in good.symbols.definitions] == ["f"]
