"""What the tree-sitter parser finds in each language, and that all of them are declared and installed."""

from __future__ import annotations

import pytest
from openbuffer.tools.adapters.tree_sitter_parser import TreeSitterParser, installed_languages
from openbuffer.tools.adapters.tree_sitter_symbols import NotParsedError, symbols_of
from openbuffer.tools.adapters.tree_sitter_tags import GRAMMARS
from openbuffer.tools.retrieval.port import FileSymbols

from .retrieval_samples import SAMPLES


def defined(symbols: FileSymbols) -> dict[str, int]:
    """``owner.name`` with the line; the second of the same name has a number."""
    found: dict[str, int] = {}
    for each in symbols.definitions:
        name = each.name if each.owner < 0 else f"{symbols.definitions[each.owner].name}.{each.name}"
        found[name if name not in found else f"{name}#2"] = each.line
    return found


def used(symbols: FileSymbols) -> set[tuple[str, str]]:
    definitions = symbols.definitions
    return {("" if owner < 0 else definitions[owner].name, name) for owner, name, _ in symbols.references}


@pytest.mark.contract("W5")
@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_a_sample_of_each_language_has_its_definitions_references_and_imports(language: str) -> None:
    sample = SAMPLES[language]
    symbols = symbols_of(language, sample.text.encode())
    assert defined(symbols) == sample.defined
    assert sample.used - used(symbols) == set()
    assert sample.imported - set(symbols.imports) == set()


@pytest.mark.contract("W5")
def test_each_language_is_known_by_the_names_of_its_files() -> None:
    parser = TreeSitterParser()
    assert {language: parser.language_of(SAMPLES[language].name) for language in GRAMMARS} == {
        language: language for language in GRAMMARS
    }
    assert parser.language_of("a/Rakefile") == "ruby"
    assert parser.language_of("A.PY") == "python"
    assert [parser.language_of(name) for name in ("README.md", "py", ".py", "a.py.orig", "")] == [None] * 5


@pytest.mark.contract("W5", "T11")
def test_the_extra_declares_the_grammar_of_each_language() -> None:
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    declared = {
        requirement.partition(">=")[0].replace("-", "_")
        for requirement in (*project["dependencies"], *project["optional-dependencies"]["retrieval"])
    }
    assert {grammar.module for grammar in GRAMMARS.values()} - declared == set()
    assert installed_languages() == frozenset(GRAMMARS)


def test_a_parser_of_fewer_languages_knows_no_others_and_has_another_fingerprint() -> None:
    python, every = TreeSitterParser(languages=["python", "cobol"]), TreeSitterParser()
    assert (python.languages, python.language_of("a.rs")) == ({"python"}, None)
    assert python.fingerprint != every.fingerprint


def test_the_beginning_of_a_definition_is_one_line_that_ends_before_its_body() -> None:
    texts = {each.name: each.text for each in symbols_of("python", SAMPLES["python"].text.encode()).definitions}
    assert texts["add"] == "async def add( self, item: Item, *, count: int = 1 ) -> Total"
    assert texts["Cart"] == "class Cart(Basket)"
    texts = {each.name: each.text for each in symbols_of("c", SAMPLES["c"].text.encode()).definitions}
    assert texts["add"] == "add(cart_t *cart, struct item *item)"
    (long,) = symbols_of("python", b"def f(" + b"argument, " * 50 + b"): pass").definitions
    assert len(long.text) == 100
    assert long.text.endswith("…")


@pytest.mark.parametrize("content", [b")]}" * 100, b"\xff\xfe\x80" * 50])
def test_what_is_none_of_its_language_is_said_to_be_none(content: bytes) -> None:
    with pytest.raises(NotParsedError, match="is not valid java"):
        symbols_of("java", content)


def test_what_fits_of_a_broken_file_is_found() -> None:
    symbols = symbols_of(
        "python", b"def whole():\n    helper()\n\ndef half(:\n\nclass \xff\xfe: pass\ndef last(): pass\n"
    )
    assert {"whole", "last"} <= set(defined(symbols))
    assert ("whole", "helper") in used(symbols)


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_nothing_is_found_in_an_empty_file(language: str) -> None:
    assert symbols_of(language, b"") == FileSymbols()
    assert symbols_of(language, b"\n\n").definitions == ()
