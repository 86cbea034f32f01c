"""Small trees with ignore files in them, made up at random, and what git and ripgrep list of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from openbuffer.tools import CancellationToken
from openbuffer.tools.support.paths import Roots
from openbuffer.tools.support.walk import Tally, Walk

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ["a", "b", "ab", "ba", "aab", "a.c", "b.c", ".x", "A", "a b", "é", "-a", "[a]", "a\\b", "*", "!a", "#a", "x\ty"]
PIECES = [
    *(
        "a",
        "b",
        "ab",
        ".c",
        "c",
        "x",
        "*",
        "**",
        "***",
        "?",
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-c]",
        "[]a]",
        "[a\\]]",
        "[[:alpha:]]",
    ),
    *(
        "[[:digit:][:punct:]]",
        "[!-a]",
        "[",
        "[a",
        "\\a",
        "\\*",
        "\\[",
        "\\",
        " ",
        "\\ ",
        "é",
        "A",
        "#",
        "!",
        "-",
        ".",
        "]",
        "[b-a]",
    ),
    *("[a/b]", "\t"),
]

PLAIN_PIECES = ["a", "b", "ab", ".c", "c", "x", "*", "?", "[ab]", "[a-c]", "\\a", "\\*", "A", "-", "."]
"""Those that ripgrep reads as git does. For it ``[!a]`` is a slash, too: ``a[!a]a`` leaves out ``a/a``."""


def trees(pieces: list[str], frames: list[tuple[str, str]]) -> st.SearchStrategy[dict[str, Any]]:
    """Files, ignore files, excludes. ``frames`` is what can stand before and behind a pattern."""
    segments = st.one_of(
        st.sampled_from(["*", "**", "a", "b", "*.c", "a*", "*b"]),
        st.lists(st.sampled_from(pieces), min_size=1, max_size=4).map("".join),
    )
    patterns = st.tuples(st.sampled_from(frames), st.lists(segments, min_size=1, max_size=4).map("/".join)).map(
        lambda drawn: drawn[0][0] + drawn[1] + drawn[0][1]
    )
    # Of this git says that it is no directory at all or more, and of no other spelling.
    patterns = patterns.filter(lambda pattern: "**\\/" not in pattern)
    ignore_files = st.lists(patterns, min_size=1, max_size=6).map("\n".join)
    directories = st.lists(st.sampled_from(NAMES), max_size=3).map("/".join)
    return st.fixed_dictionaries(
        {
            "files": st.lists(st.tuples(directories, st.sampled_from(NAMES)), min_size=1, max_size=25),
            "ignores": st.lists(st.tuples(directories, ignore_files), min_size=1, max_size=4),
            "exclude": st.one_of(st.just(""), ignore_files),
            "global": st.one_of(st.just(""), ignore_files),
        }
    )


FRAMES = [("", ""), ("!", ""), ("/", ""), ("!/", ""), ("", "/"), ("!", "/"), ("**/", ""), ("", "/**"), ("/", "/")]
STRANGE_FRAMES = [
    *FRAMES,
    ("\\", ""),
    ("#", ""),
    (" ", ""),
    ("", "  "),
    ("", "\\ "),
    ("", "/ "),
    ("", "\r"),
    ("", "//"),
]
STRANGE_TREES = trees(PIECES, STRANGE_FRAMES)
PLAIN_TREES = trees(PLAIN_PIECES, FRAMES)


def build(folder: Path, tree: dict[str, Any]) -> Path:
    """Make the tree a repository below ``folder``, with a home directory beside it."""
    root, home = folder / "repository", folder / "home"
    for place in (root / ".git" / "info", root / ".git" / "objects", root / ".git" / "refs", home / ".config" / "git"):
        place.mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "info" / "exclude").write_text(tree["exclude"], "utf-8", newline="")
    (home / ".config" / "git" / "ignore").write_text(tree["global"], "utf-8", newline="")
    for directory, name in tree["files"]:
        _write(root / directory, name, "")
    for directory, content in tree["ignores"]:
        _write(root / directory, ".gitignore", content)
    return root


def _write(directory: Path, name: str, content: str) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content, "utf-8", newline="")
    except OSError:
        pass  # a file is where the directory was to be, or the other way round


@contextmanager
def home_of(root: Path) -> Iterator[None]:
    """As if the user's home were beside the root, here and for programs that are started."""
    changed = {"HOME": str(root.parent / "home"), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
    removed = {name for name in os.environ if name == "XDG_CONFIG_HOME" or name.startswith("GIT_")}
    before = dict(os.environ)
    for name in removed:
        del os.environ[name]
    os.environ.update(changed)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def walked(root: Path, start: str = "", **options: Any) -> tuple[list[str], Tally]:
    """The files that our walk lists below ``start``, relative to it and sorted, and what it counted."""
    with Roots(root).locate(str(root / start)) as located:
        walk = Walk(located, CancellationToken(), **options)
        with closing(walk.slices()) as slices:
            paths = [os.path.join(part.path, name) for part in slices for name in part.files]
    return sorted(paths), walk.tally


def listed_by_git(root: Path) -> list[str]:
    """The files that git would add."""
    return _lines(root, ["git", "ls-files", "-z", "--others", "--exclude-standard"])


def ripgrep() -> str | None:
    """Where ripgrep is, if it is anywhere."""
    beside = Path(sys.executable).parent / "rg"
    return str(beside) if beside.exists() else shutil.which("rg")


def listed_by_ripgrep(root: Path, program: str, start: str = "") -> list[str]:
    """The files that ripgrep would search."""
    return _lines(root / start, [program, "--no-config", "--files", "--hidden", "--null", "--glob", "!.git"])


def _lines(root: Path, command: list[str]) -> list[str]:
    output = subprocess.run(command, cwd=root, capture_output=True, check=False).stdout
    return sorted(os.fsdecode(line.removeprefix(b"./")) for line in output.split(b"\0")[:-1])
