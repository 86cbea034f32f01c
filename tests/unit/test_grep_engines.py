"""Every engine of Grep gives the same answers: one suite for ripgrep, for our own with RE2, and for it without."""

from __future__ import annotations

import codecs
import os
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.tools.errors import ToolFailure
from openbuffer.tools.support.grep import own_engine
from openbuffer.tools.support.grep.dialect import read_pattern

from .grep_desk import ENGINES, Desk, desk

TRAPS: dict[str, bytes] = {
    "ascii.txt": b"foo\nbar foo\n\tfoo();\nFOO\n",
    "crlf.txt": b"foo;\r\nbar\r\n\r\nbaz foo\r\n",
    "lone_cr.txt": b"foo\rbar\nbaz\n",
    "no_end.txt": b"bar\nfoo",
    "empty.txt": b"",
    "only_end.txt": b"\n",
    "blank_lines.txt": b"\n\nfoo\n\n",
    "unicode.txt": (
        "caf\u00e9 na\u00efve \u0661\u0662 \u212aelvin \u017ftra\u00dfe STRASSE\n"
        "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2\na\u2028b\u00a0c\n"
    ).encode(),
    "bom.txt": codecs.BOM_UTF8 + b"foo first\nsecond\n",
    "utf16le.txt": codecs.BOM_UTF16_LE + "foo caf\u00e9\r\nbar\n".encode("utf-16-le"),
    "utf16be.txt": codecs.BOM_UTF16_BE + "bar\nfoo\n".encode("utf-16-be"),
    "latin1.txt": b"caf\xe9 foo\nna\xefve\n",
    "binary.bin": b"foo\n\0\nfoo\n",
    "late_nul.bin": b"foo\n" * 20_000 + b"\0",
    "long.txt": b"x" * 5_000 + b" foo\nfoo\n",
    "aaa.txt": b"a" * 5_000 + b"b\n",
    "code.go": b"func f(x interface{}) {\n\treturn map[string]int{}\n}\n",
    "spaces.txt": b"foo  \nfoo\t\n foo\x0b\n\x0cfoo\n   \n",
    "dir/.hidden": b"foo hidden\n",
    "dir/-e": b"foo --pre=evil.sh\n",
    "dir/with\nline": b"foo\n",
    "dir/[id].ts": b"const foo = 1;\nexport class FooError extends Error {}\n",
    "node_modules/m/i.js": b"foo\n",
    ".git/config": b"foo\n",
    "build/out.txt": b"foo\n",
    "trace.log": b"foo\n",
    ".gitignore": b"build/\n*.log\n",
}

PATTERNS = (
    *("foo", "FOO", "^foo", "foo$", "^foo$", "^$", "^", "$", "", "x*", "o{2}", "fo+", "(foo|bar)", "foo|baz|second"),
    *(r"\bfoo\b", r"\Boo\b", r"foo\s*$", r"^\s+$", r"\s", r"\S+\s\S+", r"[^;]$", r"[^o]$", r".$", r"^.{3}$", "f.o"),
    *(
        r"\w+é",
        r"\bcafé\b",
        r"\bna.ve\b",
        r"\d+",
        r"[\d]",
        r"\D$",
        r"\W$",
        r"[\W]foo",
        r"caf.",
        r"caf[^x]",
        r"a.b",
        r"b\sc",
    ),
    *(
        r"\p{Greek}+",
        r"\p{Lu}\p{Ll}",
        r"\P{L}",
        "[[:upper:]]{3}",
        "[\u03b1-\u03c9]",
        r"\x{e9}",
        r"\r",
        r"\r$",
        r"foo\r",
        r"\x0b",
    ),
    *(
        "interface{}",
        "{}",
        r"\{",
        "map\\[",
        "foo(\\(\\)|;)",
        r"(a+)+$",
        r"(?:a|aa)+b",
        r"class (\w+)Error",
        r"--pre=evil\.sh",
    ),
    *(
        "(?i)foo",
        "(?i)straße",
        "(?i)kelvin",
        "(?i)\u017f",
        "(?i)σίσυφος",
        "(?i)[a-f]oo",
        "(?i)[^f]oo$",
        r"(?i)\bFOO\b",
        "b(?i)AR",
    ),
    *(
        "a??b",
        "fo*?o",
        "(foo)?bar",
        r"[\x00-\x7f]foo",
        r"[^\x00-\x7f]",
        r"[\w;]+\s?foo",
        "\u017f",
        "\u0130|\u0131",
        r"\t",
        "x{999} foo",
    ),
)

MULTILINE = (
    *(
        r"foo\nbar",
        r"foo\r?\nbar",
        r"foo;$\s^bar",
        r"bar\s+foo",
        r"\n\n",
        r"(?s)foo.*bar",
        r"foo[^x]*foo",
        r"\A\w",
        r"\n\z",
    ),
    *(r"^foo$\n", r"(?s).", r"\Afoo", r"}\s*\z", r"\s+$", r"[\r\n]+", r"foo.bar", "(?i)foo\\s+FOO"),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = Path(os.path.realpath(tmp_path_factory.mktemp("traps")))
    for name, content in TRAPS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with open(os.fsencode(root) + b"/bad-\xff-name.txt", "wb") as file:
        file.write(b"foo in a name that is not UTF-8\n")
    (root / "link.txt").symlink_to("ascii.txt")
    (root / "away").symlink_to("/etc")
    (root / "dangling").symlink_to("nothing")
    (root / "loop").symlink_to(".")
    return root


@pytest.fixture(scope="module", params=ENGINES)
def searching(request: pytest.FixtureRequest, tree: Path) -> Desk:
    return desk(request.param, tree)


@pytest.fixture(scope="module")
def model(tree: Path) -> Desk:
    """The engine that the others are held against; what it says is held against a hand-made list below."""
    return desk("own without re2", tree)


@pytest.mark.contract("F8")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_same_lines(searching: Desk, model: Desk, pattern: str) -> None:
    assert searching.lines(pattern) == model.lines(pattern)


@pytest.mark.contract("F8")
@pytest.mark.parametrize("pattern", PATTERNS[::6])
@pytest.mark.parametrize("more", [{"mode": "files_with_matches"}, {"mode": "count"}, {"ignore_case": True}])
def test_the_same_in_every_mode(searching: Desk, model: Desk, pattern: str, more: dict[str, Any]) -> None:
    found, expected = searching.grep(pattern, **more), model.grep(pattern, **more)
    assert (found.body, found.files, found.shown) == (expected.body, expected.files, expected.shown)


@pytest.mark.contract("F8")
@pytest.mark.parametrize("pattern", MULTILINE)
@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
def test_the_same_across_lines(searching: Desk, model: Desk, pattern: str, mode: str) -> None:
    found = searching.grep(pattern, multiline=True, mode=mode)
    assert found.body == model.grep(pattern, multiline=True, mode=mode).body


@pytest.mark.contract("F8", "P4", "F9")
def test_what_is_found_is_what_is_there(searching: Desk) -> None:
    assert searching.lines("foo$") == [
        "ascii.txt:1:foo",
        "ascii.txt:2:bar foo",
        "blank_lines.txt:3:foo",
        "crlf.txt:4:baz foo",
        "dir/with\\nline:1:foo",
        "latin1.txt:1:caf\\xe9 foo",
        "long.txt:1:" + "x" * 2_000 + " … (line cut: 2000 of 5004 characters shown)",
        "long.txt:2:foo",
        "no_end.txt:2:foo",
        "spaces.txt:4:\x0cfoo",
        "utf16be.txt:2:foo",
    ]
    first = "unicode.txt:1:" + TRAPS["unicode.txt"].decode().split("\n")[0]
    assert searching.lines("^foo .*$") == [
        "bad-\\udcff-name.txt:1:foo in a name that is not UTF-8",
        "bom.txt:1:foo first",
        "dir/-e:1:foo --pre=evil.sh",
        "dir/.hidden:1:foo hidden",
        "spaces.txt:1:foo  ",
        "utf16le.txt:1:foo café",
    ]
    assert searching.lines("[^;]$", path=searching.root / "crlf.txt") == ["crlf.txt:2:bar", "crlf.txt:4:baz foo"]
    assert searching.lines(r"\bcafé\b") == [first, "utf16le.txt:1:foo café"]
    assert searching.lines(r"caf.") == [first, "utf16le.txt:1:foo café"]
    assert searching.lines("^$") == [
        *("blank_lines.txt:1:", "blank_lines.txt:2:", "blank_lines.txt:4:", "crlf.txt:3:", "only_end.txt:1:"),
    ]


@pytest.mark.contract("F8", "P4", "F9")
def test_what_was_not_searched_is_counted(searching: Desk) -> None:
    said = "\n".join(searching.grep("foo").left_out)
    assert "2 binary files: binary.bin, late_nul.bin" in said
    assert "build" in said
    assert "trace.log" in said
    assert "named .git" in said
    assert "named node_modules" in said
    assert "link" in said
    everything = searching.grep("foo", ignoring=False, named=("node_modules",), mode="files_with_matches").body
    assert "trace.log" in everything
    assert "node_modules/m/i.js" in everything


@pytest.mark.contract("F8")
@pytest.mark.parametrize(
    "glob",
    ["*.txt", "dir/*", "**/*.{ts,go}", "d?r/**", "[id].ts", "*", "nothing*", "**/-e", "trace.log", "{dir,x}/.h*"],
)
def test_the_same_files_are_wanted(searching: Desk, model: Desk, glob: str) -> None:
    assert searching.lines("o", glob=glob) == model.lines("o", glob=glob)


@pytest.mark.contract("F8")
def test_a_large_file_is_left_out_and_named(searching: Desk) -> None:
    answer = searching.grep("foo", max_file_bytes=4_000, mode="files_with_matches")
    assert "long.txt (5009 bytes)" in "\n".join(answer.left_out)
    assert "ascii.txt" in answer.body
    assert "long.txt" not in answer.body


@pytest.mark.contract("F8")
def test_a_file_that_cannot_be_read_is_named_and_spoils_nothing(searching: Desk, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("foo\n")
    (tmp_path / "b").write_text("foo\n")
    (tmp_path / "b").chmod(0)
    os.mkfifo(tmp_path / "fifo")
    if os.access(tmp_path / "b", os.R_OK):
        pytest.skip("this user reads everything")
    answer = desk(searching.engine, tmp_path).grep("foo")
    assert answer.files == 1
    assert "b (Permission denied)" in "\n".join(answer.left_out)


@pytest.mark.contract("F8")
def test_a_tree_of_many_files_is_searched_by_several_processes(
    searching: Desk, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tree, tmp_path / "many", symlinks=True)
    for number in range(300):
        (tmp_path / "many" / f"d{number % 7}").mkdir(exist_ok=True)
        (tmp_path / "many" / f"d{number % 7}" / f"{number}.txt").write_text("foo\nbar\n" * (number % 3))
    monkeypatch.setattr(own_engine, "ALONE_FILES", 5)
    few = desk(searching.engine, tmp_path / "many").grep("foo", mode="count")
    monkeypatch.setattr(own_engine, "ALONE_FILES", 5_000)
    many = desk(searching.engine, tmp_path / "many").grep("foo", mode="count")
    assert few == many
    assert many.files > 200


@pytest.mark.contract("F8")
@pytest.mark.parametrize("engine", ENGINES)
def test_an_unchanged_file_is_not_read_again_and_a_changed_one_is(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("foo\n")
    os.utime(path, ns=(1, 1))
    searching = desk(engine, tmp_path)
    assert searching.grep("foo").lines == 1
    for text in ("fob\n", "foo\n", "fob\n"):
        path.write_text(text)
        os.utime(path, ns=(1, 1))  # the same size and the same time of modification
        assert searching.grep("foo").lines == (text == "foo\n")


@pytest.mark.contract("F8")
def test_our_own_engine_needs_nothing_installed(tree: Path) -> None:
    script = (
        "import sys; sys.modules['re2'] = None; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path; from grep_desk import desk\n"
        "from openbuffer.tools.support.grep.matcher import find_re2; assert find_re2() is None\n"
        "print(desk('own', Path(sys.argv[1])).grep('foo', ripgrep=None, engine=None).lines)"
    )
    command = [sys.executable, "-c", script, str(tree), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, str(desk("ripgrep", tree).grep("foo").lines)), done.stderr


_PIECES = [
    "a",
    "b",
    "k",
    "s",
    "é",
    "ß",
    ".",
    r"\w",
    r"\s",
    r"\d",
    r"\W",
    "[^a]",
    "[a-k]",
    r"\b",
    "^",
    "$",
    " ",
    "-",
    r"[\w-]",
    r"\r",
]


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "+?"])).map(lambda t: f"({t[0]}){t[1]}"),
        inner.map(lambda each: f"(?i:{each})"),
    )


_FUZZED = st.tuples(
    st.recursive(st.sampled_from(_PIECES), _grown, max_leaves=8),
    st.lists(
        st.binary(max_size=6) | st.text("abkKsS\u017f \u00e9ß-_1\t\r\u212a", max_size=12).map(str.encode), max_size=6
    ),
    st.booleans(),
)


def _engines_agree(root: Path, pattern: str, lines: list[bytes], multiline: bool) -> None:
    try:
        read_pattern(pattern, multiline=multiline)
    except ToolFailure:
        return
    for number, ending in enumerate((b"\n", b"\r\n")):
        (root / f"{number}.txt").write_bytes(ending.join(line.replace(b"\0", b"x") for line in lines))
    answers = [desk(engine, root).grep(pattern, multiline=multiline) for engine in ENGINES]
    bodies = {answer.body for answer in answers}
    assert len(bodies) == 1, list(chain.from_iterable(zip(ENGINES, (answer.body for answer in answers), strict=True)))


@pytest.mark.contract("F8")
@settings(max_examples=40)
@given(fuzzed=_FUZZED)
def test_the_engines_agree_on_patterns_and_texts_at_random(
    tmp_path_factory: pytest.TempPathFactory, fuzzed: tuple[str, list[bytes], bool]
) -> None:
    _engines_agree(tmp_path_factory.mktemp("fuzz"), *fuzzed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.contract("F8")
@settings(max_examples=4_000)
@given(fuzzed=_FUZZED)
def test_the_engines_agree_at_length(
    tmp_path_factory: pytest.TempPathFactory, fuzzed: tuple[str, list[bytes], bool]
) -> None:
    _engines_agree(tmp_path_factory.mktemp("fuzz"), *fuzzed)
