"""Patterns of paths: equal to a plain and slow definition of what they mean, and quick whatever they are."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.tools.errors import ToolFailure
from openbuffer.tools.support.glob_pattern import GlobPattern, literal_beginning, literally


def matches(pattern: str, path: str, *, anywhere: bool = False) -> bool:
    """Whether a file of this path is selected, by the way that a walk goes."""
    *directories, name = path.split("/")
    here = GlobPattern(pattern, anywhere=anywhere).selection()
    for directory in directories:
        if here.directories([directory]) != [directory]:
            return False
        here = here.below(directory)
    return here.names([name]) == [name]


@pytest.mark.contract("F7")
@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py", ".a.py", "a\nb.py"], ["d/a.py", "a.pyc", "a.py/b"]),
        ("**/*.py", ["a.py", "d/a.py", "d/e/.f/a.py"], ["a.pyc"]),
        ("**", ["a", "d/e/a"], []),
        ("d/**", ["d/a", "d/e/a"], ["d", "a", "e/d/a"]),
        ("d/**/a", ["d/a", "d/e/a", "d/e/f/a"], ["a", "e/d/a", "d/ab"]),
        ("**/d/**/a", ["d/a", "x/d/a", "x/d/y/d/a"], ["a", "x/da"]),
        ("**/d/*/a", ["d/e/a", "d/d/e/a", "x/d/d/a"], ["d/a", "d/e/f/a"]),
        ("a**b", ["ab", "axb"], ["a/b", "a/x/b"]),
        ("./d//a", ["d/a"], ["a"]),
        ("d/", ["d"], ["d/a"]),
        ("?.c", ["a.c", "é.c", "😋.c"], [".c", "ab.c"]),
        ("[!a-c]?", ["da", "!a"], ["aa", "d"]),
        ("[^a]", ["b"], ["a"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[[:digit:]x-]", ["1", "x", "-"], ["a"]),
        ("[é-ü]", ["ö"], ["a", "A"]),
        ("app/[...slug]/page.tsx", ["app/[...slug]/page.tsx", "app/s/page.tsx"], ["app/x/page.tsx"]),
        ("[id].ts", ["[id].ts", "i.ts"], ["id.ts"]),
        ("[unclosed", ["[unclosed"], ["u"]),
        ("{a,b}.{c,d}", ["a.c", "b.d"], ["a,b.c", "c.a"]),
        ("{a,b/{c,d}}/x", ["a/x", "b/c/x", "b/d/x"], ["b/x"]),
        ("src/{,lib/}x", ["src/x", "src/lib/x"], ["src/lib"]),
        ("{a}", ["{a}"], ["a"]),
        ("{a{b,c}}", ["{ab}", "{ac}"], ["ab"]),
        ("{a,b", ["{a,b"], ["a"]),
        ("{a,{b,c}", ["{a,b", "{a,c"], ["a", "b"]),
        ("{{a,b},{c}}{,d}", ["a", "bd", "{c}", "{c}d"], ["c", "{a}", "ab"]),
        ("a},b", ["a},b"], []),
        (r"\{a,b\}", ["{a,b}"], ["a"]),
        ("[{,}]x", ["{x", ",x"], ["x"]),
        (r"\*", ["*"], ["a"]),
        (r"a\b", ["ab"], ["a\\b"]),
        (" lead*", [" leading"], ["leading"]),
        ("..x", ["..x"], []),
        ("*\n*", ["a\nb"], ["ab"]),
        ("*.PY", ["a.PY"], ["a.py"]),
        ("*", ["\udcff"], []),
        ("--pre=evil.sh", ["--pre=evil.sh"], []),
    ],
)
def test_what_a_pattern_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    assert {path: matches(pattern, path) for path in (*yes, *no)} == dict.fromkeys(yes, True) | dict.fromkeys(no, False)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("", r"the pattern is empty; `\*\*/\*` matches every file"),
        ("./", "names no file"),
        ("../a", "goes up by `..`; name the directory to search in `path`"),
        ("a/../b", "goes up by"),
        ("{a,../b}", "goes up by"),
        ("a\0b", r"pattern a\\x00b: contains a NUL"),
        ("a\\", "matches no path whatever"),
        ("x" * 300, "matches no path whatever"),
        ("x" * 5000, "has 5000 characters, at most 4096"),
        ("{a,b}" * 10, "stand for more than 1000 patterns"),
        ("{" * 101, "more than 100 braces"),
        ("{/a,b}", "absolute pattern cannot begin with braces"),
        ("a/" * 1_000 + "{a,b}" * 9, "stand for more than 65536 characters"),
        ("{" * 100 + "[" * 3_900, "matches no path whatever"),
        ("**/" + "{a,b}" * 8 + "*" + "?" * 120 + "z*", "takes too long to compare with every name"),
        ("**/" + "{a,b}" * 9 + "*/" * 20 + "x", "takes too long to compare with every name"),
    ],
)
def test_what_is_no_pattern_is_said_to_be_none(pattern: str, says: str) -> None:
    with pytest.raises(ToolFailure, match=says):
        GlobPattern(pattern)


def test_a_pattern_without_a_slash_can_be_about_names_anywhere() -> None:
    assert matches("*.py", "d/e/a.py", anywhere=True)
    assert matches("{*.py,d/*.c}", "d/e/a.py", anywhere=True)
    assert not matches("{*.py,d/*.c}", "e/d/a.c", anywhere=True)


def test_names_that_stand_in_a_pattern_are_known() -> None:
    assert GlobPattern("node_modules/{a,b}/*.js").names == {"node_modules", "a", "b"}
    assert literal_beginning("/a/b/*.c") == ("/a/b/", "*.c")
    assert literal_beginning("/a/b") == ("/a/", "b")
    assert literal_beginning("/a/{b,c}/d") == ("/a/", "{b,c}/d")
    assert matches(literally(strange := "a*b/[x]{y,z}\\?"), strange)


def defined(pattern: str, path: str) -> bool:
    """The definition: one regular expression that may take any time."""
    regex = ""
    for segment in pattern.split("/"):
        if segment == "**":
            regex += "(?:[^/]+/)*"
        else:
            regex += segment.replace(".", r"\.").replace("?", "[^/]").replace("*", "[^/]*") + "/"
    if pattern.endswith("**"):
        regex += "[^/]+/"
    return re.fullmatch(f"(?s:{regex})", path + "/") is not None


WORDS = ["a", "b", "ab", "aab", "a.b", "ba", ""]
segments = st.lists(st.sampled_from(["a", "b", ".", "*", "?", "[ab]", "**"]), min_size=1, max_size=5).map("".join)
segments = segments.map(lambda segment: segment if segment == "**" else re.sub(r"\*+", "*", segment))
segments = segments.filter(lambda segment: segment not in {".", ".."})
paths = st.lists(st.sampled_from([word for word in WORDS if word]), min_size=1, max_size=5).map("/".join)


@pytest.mark.contract("F7")
@settings(max_examples=500)
@given(st.lists(segments, min_size=1, max_size=4), paths)
def test_a_pattern_means_what_its_definition_says(parts: list[str], path: str) -> None:
    pattern = "/".join(
        part for part, before in zip(parts, ["", *parts], strict=False) if (part, before) != ("**", "**")
    )
    assert matches(pattern, path) == defined(pattern, path)


@pytest.mark.contract("F7")
@settings(max_examples=200)
@given(st.lists(segments, min_size=1, max_size=3), st.lists(paths, max_size=30, unique=True))
def test_many_names_at_once_are_matched_like_each_of_them(parts: list[str], names: list[str]) -> None:
    names = sorted({name.rpartition("/")[2] for name in names})
    for wanted in (GlobPattern("{" + ",".join(parts) + ",x}"), GlobPattern("**/" + parts[0])):
        here = wanted.selection()
        assert here.names(names) == [name for name in names if here.names([name])]
        assert here.directories(names) == [name for name in names if here.directories([name])]


NAME, DEEP = "a" * 255, "a/" * 1_500
HOSTILE = {
    "stars": ("*" * 4_000, NAME, True),
    "stars and letters": ("*a" * 127 + "b", NAME, False),
    "stars and classes": ("*[ab]" * 120 + "*c", NAME, False),
    "a star before many": ("*" + "?" * 120 + "*" + "[ab]" * 120 + "c", NAME, False),
    "any directories": ("**/" * 1_300 + "x", DEEP + "y", False),
    "any directories and names": ("**/a*/" * 600 + "x", DEEP + "y", False),
    "any directories and the same name": ("**/a/" * 800 + "x", DEEP + "x", True),
    "alternatives of directories": ("{**/a,**/b}/" * 9 + "x", DEEP + "x", True),
    "alternatives of stars": ("{*a,*b}" * 9 + "x", NAME, False),
    "nested braces": ("{" * 50 + "a,b" + "}" * 50, "{" * 49 + "b" + "}" * 49, True),
    "unclosed braces": ("{,a" * 80, "{,a" * 80, True),
    "unclosed classes": ("[" * 200, "[" * 200, True),
}


@pytest.mark.contract("F7")
@pytest.mark.timeout(30)
@pytest.mark.parametrize(("pattern", "path", "expected"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_pattern_is_compared_in_bounded_time(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) == expected


def test_every_pair_of_small_patterns_is_right_in_braces() -> None:
    names = ["a", "b", "ab", "ba", "a.b", "abab"]
    for one, other in product(["a*", "*b", "?", "[!a]*", "a.b"], repeat=2):
        here = GlobPattern(f"{{{one},{other}}}").selection()
        assert here.names(names) == [
            name for name in names if defined(one.replace("!", "^"), name) or defined(other.replace("!", "^"), name)
        ]
