"""Which text is the truth, as a pure question: the table, and what counts as the same."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from openbuffer.editor_access.truth import (
    _UNMARKED,
    MISSING,
    Baseline,
    Truth,
    baseline_of,
    fingerprint,
    judge,
    same_text,
)

pytestmark = pytest.mark.contract("E11")

BASE = baseline_of("base\n", b"base\n")


@pytest.mark.parametrize(
    ("document", "baseline", "disk", "truth"),
    [
        ("base\n", BASE, b"base\n", "one_text"),
        ("base\n", BASE, b"command\n", "disk"),
        ("base\n", BASE, None, "disk"),
        ("user\n", BASE, b"base\n", "editor"),
        ("user\n", BASE, b"command\n", "conflict"),
        ("user\n", BASE, None, "conflict"),
        ("user\n", None, b"base\n", "no_baseline"),
        ("user\n", None, None, "no_baseline"),
        # What both hold now is one text, whatever came before.
        ("new\n", BASE, b"new\n", "one_text"),
        ("new\n", None, b"new\n", "one_text"),
        ("é\n", BASE, "é\n".encode("cp1252"), "one_text"),
    ],
)
def test_the_table(document: str, baseline: Baseline | None, disk: bytes | None, truth: Truth) -> None:
    assert judge(document, baseline, disk) == truth


def test_a_file_that_does_not_exist_holds_nothing_and_its_document_is_the_editors() -> None:
    baseline = baseline_of("draft\n", None)
    assert baseline == Baseline("", MISSING)
    assert judge("draft\n", baseline, None) == "editor"
    assert judge("", baseline, None) == judge("\n", baseline, None) == "one_text"
    assert judge("draft\n", baseline, b"appeared\n") == "conflict"
    assert judge("", baseline, b"appeared\n") == "disk"


SAME = {
    "byte-order mark": ("ä\nb\n", codecs.BOM_UTF8 + "ä\nb\n".encode()),
    "CRLF": ("a\nb\n", b"a\r\nb\r\n"),
    "old Mac": ("a\nb\n", b"a\rb\r"),
    "mixed line ends": ("a\nb\nc\n", b"a\r\nb\nc\r"),
    "document with CRLF": ("a\r\nb\r\n", b"a\nb\n"),
    "final newline on disk only": ("a\nb", b"a\nb\n"),
    "final newline in the document only": ("a\nb\n", b"a\nb"),
    "empty buffer of Neovim": ("\n", b""),
    "UTF-16": ("ä😋\n", codecs.BOM_UTF16_LE + "ä😋\r\n".encode("utf-16-le")),
    "UTF-16 the other way": ("ä\n", codecs.BOM_UTF16_BE + "ä\n".encode("utf-16-be")),
    "UTF-32": ("ä\n", codecs.BOM_UTF32_LE + "ä\n".encode("utf-32-le")),
    "Latin-1": ("naïve\n", "naïve\r\n".encode("latin-1")),
    "windows-1252": ("“a”\n", "“a”\n".encode("cp1252")),
    "Shift-JIS": ("日本\n", "日本\n".encode("cp932")),
    "KOI8-R": ("привет\n", "привет\n".encode("koi8_r")),
}


@pytest.mark.parametrize(("document", "disk"), SAME.values(), ids=SAME.keys())
def test_what_editors_normalise_is_no_difference(document: str, disk: bytes) -> None:
    baseline = baseline_of(document, disk)
    assert baseline is not None
    assert judge(document, None, disk) == judge(document, baseline, disk) == "one_text"
    assert judge(document + "x", baseline, disk) == "editor"


@pytest.mark.parametrize(
    ("document", "disk"),
    [
        ("a\n\n", b"a\n"),
        ("a ", b"a"),
        ("a\tb", b"a b"),
        ("e\u0301", "é".encode()),
        ("\ufffd\n", b"\xe9\n"),
        ("a", b"a\0"),
        ("\ud800", b"\xff"),
        ("", b"\xff\xfe\x00"),
    ],
)
def test_everything_else_is_one(document: str, disk: bytes) -> None:
    assert baseline_of(document, disk) is None
    assert judge(document, None, disk) == "no_baseline"


def ends(text: str, end: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", end)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("ab\r\n\ufeff"), max_size=30)


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans(), st.booleans())
def test_any_text_is_its_file_in_every_normalisation(text: str, end: str, mark: bool, final: bool) -> None:
    assume(not text.startswith("\ufeff"))
    disk = ends(text, end) + (end if final and not ends(text, "\n").endswith("\n") else "")
    raw = (codecs.BOM_UTF8 if mark else b"") + disk.encode()
    assert fingerprint(raw) == fingerprint(text.encode())
    assert judge(text, None, raw) == "one_text"


@given(TEXTS, TEXTS)
def test_two_files_have_one_fingerprint_exactly_if_their_texts_are_the_same(one: str, other: str) -> None:
    equal = fingerprint(one.encode()) == fingerprint(other.encode())
    assert equal == same_text(one, other)
    assert (judge(one, None, other.encode()) == "one_text") >= equal


@given(st.binary(max_size=20), st.none() | st.binary(max_size=20), st.text(max_size=10), st.text(max_size=10))
def test_any_bytes_are_judged(first: bytes, disk: bytes | None, shown: str, document: str) -> None:
    truth = judge(document, baseline_of(shown, first), disk)
    if truth == "disk":
        assert same_text(document, shown)
        assert disk != first
    if truth == "editor":
        assert fingerprint(first) == fingerprint(disk)


@pytest.mark.parametrize("codec", _UNMARKED)
def test_every_encoding_that_is_tried_holds_ascii_as_it_is(codec: str) -> None:
    every = "".join(map(chr, range(128)))
    assert every.encode(codec) == every.encode("ascii")
