"""The dialect of Grep: what is read, what is refused with which words, and what each engine is given for it."""

from __future__ import annotations

import re

import pytest
import re2
import regex
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools.errors import ToolFailure
from openbuffer.tools.support.grep.dialect import PatternRefusedError, read_pattern
from openbuffer.tools.support.grep.literals import needed
from openbuffer.tools.support.grep.notation import for_re2, for_regex_bytes, for_regex_text, for_ripgrep


@pytest.mark.contract("F8")
@pytest.mark.parametrize(
    ("pattern", "place", "instead"),
    [
        (r"foo\h+", "at character 4", r"[ \t]"),
        ("a**", "at character 3", "(?:..)"),
        ("a++", "at character 3", "different things"),
        ("[a[b]", "at character 3", r"\["),
        ("[a&&b]", "at character 3", r"\&"),
        ("[a--b]", "at character 3", r"\-"),
        ("[]a]", "at character 1", r"\]"),
        ("[b-a]", "at character 2", "backwards"),
        (r"[\w-x]", "at character 2", r"\-"),
        (r"[a\b]", "at character 3", r"\x08"),
        ("(a", "at character 1", r"\("),
        ("a)", "at character 2", r"\)"),
        ("[a", "at character 1", r"\["),
        (r"\<div", "at character 1", r"\b"),
        (r"\b{start}x", "at character 1", r"\b alone"),
        ("x{,3}", "at character 2", r"\{"),
        ("x{2}{3}", "at character 5", "(?:..)"),
        ("x{3,2}", "at character 2", "larger"),
        ("x{1001}", "at character 2", "1000"),
        ("*a", "at character 1", r"\*"),
        ("a|*", "at character 3", r"\*"),
        ("^*", "at character 1", "place"),
        ("(?x)a b", "at character 1", "flag x"),
        ("(?-m)^a", "at character 1", r"\A"),
        ("(?i-i)a", "at character 1", "at once"),
        ("(?>a)", "at character 1", "(?:..)"),
        ("(?P<1a>x)", "at character 1", "digit"),
        ("(?<n>a)(?<n>b)", "at character 8", "twice"),
        (r"\1(a)", "at character 1", "before it"),
        (r"\k<n>", "at character 1", "named n"),
        (r"\012", "at character 1", r"\xHH"),
        (r"\q", "at character 1", "punctuation"),
        (r"\x{110000}", "at character 1", "no such character"),
        (r"\u12", "at character 1", "4 hexadecimal"),
        (r"\p{Foo}", "at character 1", "Greek"),
        (r"(?i)\p{Lu}", "at character 5", "case"),
        ("[[:foo:]]", "at character 2", "alpha"),
        ("a\nb", "at character 2", "multiline"),
        (r"a\nb", "at character 2", "multiline"),
        (r"[a\n]", "at character 1", "multiline"),
        (r"\Afoo", "at character 1", "multiline"),
        ("a\0b", "at character 2", "binary"),
        (r"(\w{900}){900}", "at character 1", "too large"),
        ("a\\", "at character 2", r"\\"),
        ("(" * 60 + ")" * 60, "at character 51", "50 deep"),
    ],
)
def test_what_engines_read_differently_is_refused_with_the_place_and_what_to_write(
    pattern: str, place: str, instead: str
) -> None:
    with pytest.raises(PatternRefusedError) as caught:
        read_pattern(pattern)
    assert place in str(caught.value)
    assert instead in str(caught.value)


@pytest.mark.contract("F8")
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("interface{}", "var x interface{}"),
        ("{{name}}", "a {{name}} b"),
        ("fn main() {", None),
        ("a{x", "a{x"),
        ("}]", "}]"),
        (r"--pre=evil\.sh", "--pre=evil.sh"),
        (r"\'\"\-\/\@\#", "'\"-/@#"),
        (r"[]a-]".replace("[]", r"[\]"), "-"),
        (r"[a\-z]", "-"),
        ("[a-]", "-"),
        ("[$.*]", "$"),
        (r"\x41\u0042\U00000043\x{44}\u{45}", "ABCDE"),
        ("(?P<q>a)(?<r>b)", "ab"),
        ("a|", ""),
        ("x{0}y", "y"),
        ("(?s)a.b", "axb"),
    ],
)
def test_what_has_one_meaning_is_read(pattern: str, text: str | None) -> None:
    read = read_pattern(pattern)
    if text is None:
        text, read = "fn main {", read_pattern("fn main {")
    assert regex.search(for_regex_bytes(read), text.encode())
    assert regex.search(for_regex_text(read), text)
    assert re2.search(for_re2(read), text.encode())


@pytest.mark.contract("F8")
def test_every_class_is_written_out_for_each_engine() -> None:
    read = read_pattern(r"(?i)[^a]\s\W.$")
    for written in (for_ripgrep(read), for_re2(read).decode(), for_regex_bytes(read).decode(), for_regex_text(read)):
        assert r"\s" not in written
        assert not re.search(r"(?<!\\)\.", written)


_ATOMS = st.sampled_from(
    ["a", "b", "k", "é", ".", r"\w", r"\s", r"\d", r"\W", "[^a]", "[a-c]", r"\b", "^", "$", " ", "-", r"[\w-]", r"\S"]
)


def _patterns() -> st.SearchStrategy[str]:
    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.lists(inner, min_size=1, max_size=3).map("".join),
            st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
            st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])).map(lambda t: f"(?:{t[0]}){t[1]}"),
            inner.map(lambda each: f"(?i:{each})"),
        )

    return st.recursive(_ATOMS, grown, max_leaves=6)


@pytest.mark.contract("F8")
@given(pattern=_patterns(), lines=st.lists(st.text("abkKAB é-_1\t", max_size=8), max_size=4))
def test_what_is_needed_is_in_every_text_that_matches(pattern: str, lines: list[str]) -> None:
    read = read_pattern(pattern)
    text = "\n".join(lines)
    if (literal := needed(read)) is None or not regex.search(for_regex_text(read), text, regex.MULTILINE):
        return
    data = text.encode()
    assert any(each in (data.lower() if literal.fold else data) for each in literal.literals)


@pytest.mark.contract("F8")
@given(st.text(st.sampled_from(list("ab(){}[]*+?|\\.^$-,12:<>=!PiwdsSbBpn&~ \u00e9")), max_size=14))
def test_any_text_is_read_or_refused_in_words_and_every_engine_takes_what_is_read(pattern: str) -> None:
    try:
        read = read_pattern(pattern)
    except ToolFailure as refusal:
        assert "pattern" in str(refusal)  # noqa: PT017  a property has two outcomes, and both are right
        return
    regex.compile(for_regex_bytes(read), regex.MULTILINE)
    regex.compile(for_regex_text(read), regex.MULTILINE)
    if not read.backtracks:
        re2.compile(for_re2(read))
