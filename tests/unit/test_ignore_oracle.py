"""Ignore files mean what the package pathspec says, but for where pathspec differs from git or refuses a line.

Walks do not use pathspec: it compares whole paths, where a walk knows already what was said of the directories above;
its expressions backtrack (four stars and a long name take half a minute); and a line that is none makes it raise.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.tools.support.ignore_file import IgnoreFile, byte_text, ignores
from pathspec import GitIgnoreSpec

from .ignored_trees import FRAMES, NAMES, PIECES, build, home_of, listed_by_git

DEVIATING = {
    *("[[:alpha:]]", "[[:digit:][:punct:]]", "[a\\]]", "[b-a]", "[a/b]", "[", "[a", "[!a]", "[^b]", "[!-a]"),
    *("***", "\t", "\\", " ", "\\ ", "é"),
}
"""Of these pathspec has another opinion than git, or none; see ``DEVIATIONS``."""

SEGMENTS = st.lists(st.sampled_from([each for each in PIECES if each not in DEVIATING]), min_size=1, max_size=4)
PATTERNS = st.tuples(
    st.sampled_from(FRAMES), st.lists(SEGMENTS.map("".join), min_size=1, max_size=3).map("/".join)
).map(lambda drawn: drawn[0][0] + drawn[1] + drawn[0][1])
PLAIN_PATTERNS = PATTERNS.filter(
    lambda pattern: "***" not in pattern and not pattern.endswith("**/") and pattern.strip("!/") != ""
)
CONTENTS = st.lists(PLAIN_PATTERNS, min_size=1, max_size=5).map("\n".join)
PATHS = st.lists(st.sampled_from([name for name in NAMES if name.isascii()]), min_size=1, max_size=4).map("/".join)


def by_us(content: str, path: str) -> bool:
    """Whether an ignore file at the top leaves out this file, or a directory that it is in."""
    state = IgnoreFile(content.encode()).top
    *directories, name = map(byte_text, path.split("/"))
    for directory in directories:
        if is_ignored(max((names.look(directory) for names in state.directories), default=0)):
            return True
        state = state.below(directory)
    return is_ignored(max((names.look(name) for names in state.files), default=0))


def is_ignored(verdict: int) -> bool:
    return verdict > 0 and ignores(verdict)


def by_pathspec(content: str, path: str) -> bool:
    spec = GitIgnoreSpec.from_lines(content.split("\n"), backend="simple")
    names = path.split("/")
    return spec.match_file(path) or any(spec.match_file("/".join(names[:end]) + "/") for end in range(1, len(names)))


@pytest.mark.contract("F9")
@settings(max_examples=500)
@given(CONTENTS, PATHS)
def test_ignore_files_mean_what_pathspec_says(content: str, path: str) -> None:
    if any(line.startswith("!") for line in content.split("\n")):
        path = path.rpartition("/")[2]  # of exceptions for directories it has another opinion than git
    assert by_us(content, path) == by_pathspec(content, path)


DEVIATIONS = {
    "named classes": ("[[:alpha:]]", "b"),
    "escapes in classes": ("[a\\]]", "a"),
    "classes that are no slash": ("b[!a]", "b/b"),
    "tabs at the end": ("b\t", "b"),
    "many stars": ("***/**", "b"),
    "directories below": ("a/**/", "a/b.c"),
    "an exception for a directory": ("*\n!?", "a/b"),
    "one byte": ("?", "é"),
}


@pytest.mark.contract("F9")
@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")  # of what pathspec makes of [[:alpha:]]
@pytest.mark.parametrize(("content", "path"), DEVIATIONS.values(), ids=DEVIATIONS)
def test_where_pathspec_says_something_else_git_says_what_we_say(tmp_path: Path, content: str, path: str) -> None:
    directory, _, name = path.rpartition("/")
    tree = {"exclude": content, "global": "", "files": [(directory, name)], "ignores": []}
    root = build(Path(os.path.realpath(tmp_path)), tree)
    with home_of(root):
        by_git = path not in listed_by_git(root)
    assert by_us(content, path) == by_git
    assert by_pathspec(content, path) != by_git, "pathspec agrees by now; take it off this list"


@pytest.mark.contract("F9")
@pytest.mark.parametrize("line", ["[b-a]", "a\\", "! "])
def test_a_line_of_which_pathspec_makes_an_error_takes_nothing_from_the_others(line: str) -> None:
    with pytest.raises((re.error, ValueError)):
        by_pathspec(f"{line}\nb", "b")
    assert by_us(f"{line}\nb", "b")
    assert not by_us(f"{line}\nb", "c")
