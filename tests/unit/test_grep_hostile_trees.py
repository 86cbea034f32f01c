"""Grep in trees that were made to hurt it: the same answers from every engine, and none that takes for ever."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from openbuffer.tools.limits import GREP_MEMORY_MAX_BYTES
from openbuffer.tools.support.grep import own_engine, ripgrep, worker

from .grep_desk import ENGINES, desk

TOO_LARGE = "a\n" * 600_000
LARGE_TREE = 5


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "ws"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.fixture
def large(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of which our own engine, called alone, says that it is large."""
    monkeypatch.setattr(own_engine, "ALONE_FILES", LARGE_TREE)
    for number in range(2 * LARGE_TREE):
        (root / f"{number}.txt").write_text("foo\n")
    return root


def program(root: Path, script: str) -> str:
    """A program in the place of ripgrep that tells when it was started; it stands beside the root."""
    path = root.parent / "rg"
    path.write_text(f"#!/bin/sh\necho started >> {root.parent}/starts\n{script}\n")
    path.chmod(0o755)
    return str(path)


def starts(root: Path) -> int:
    with suppress(FileNotFoundError):
        return (root.parent / "starts").read_text().count("started")
    return 0


@pytest.mark.contract("F8")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("glob", "names"),
    [
        ("{a}.py", ["{a}.py"]),
        ("{a,{b}}.py", ["a.py", "{b}.py"]),
        ("{,a}.py", [".py", "a.py"]),
        ("*{,b}.py", [".py", "a.py", "ab.py", "b}{.py", "{a}.py", "{b}.py", "é.py", "\\udcff.py"]),
        ("?.py", ["a.py", "é.py", "\\udcff.py"]),
        ("??.py", ["ab.py"]),
        ("b}{.py", ["b}{.py"]),
        ("a.py/", ["a.py"]),
        ("a.py/.", ["a.py"]),
        ("a**.py", ["a.py", "ab.py"]),
    ],
)
def test_a_glob_wants_the_same_strange_names_of_every_engine(
    root: Path, engine: str, glob: str, names: list[str]
) -> None:
    for name in ("{a}.py", "a.py", "{b}.py", "ab.py", ".py", "b}{.py", "é.py", "\udcff.py"):
        (root / name).write_text("foo\n")
    answer = desk(engine, root).grep("foo", glob=glob, mode="files_with_matches")
    assert [path.removeprefix(f"{root}/") for path in answer.body.split("\n")] == names


@pytest.mark.contract("F8")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_thousands_of_directories_down_is_found_with_a_glob(root: Path, engine: str) -> None:
    directory = os.open(root, os.O_RDONLY)
    for _ in range(1_900):
        os.mkdir("a", dir_fd=directory)
        below = os.open("a", os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = below
    with os.fdopen(os.open("x.txt", os.O_WRONLY | os.O_CREAT, dir_fd=directory), "w") as file:
        file.write("foo\n")
    os.close(directory)
    answer = desk(engine, root).grep("foo", glob="a/**/*.txt", mode="files_with_matches")
    subprocess.run(["rm", "-r", root / "a"], check=True)  # shutil.rmtree recurses
    assert answer.files == 1
    assert answer.body.endswith("/a/a/x.txt")


@pytest.mark.contract("F8")
def test_ripgrep_is_not_called_where_an_ignore_file_is_too_large_to_be_applied(large: Path) -> None:
    (large / ".gitignore").write_text(TOO_LARGE)
    answer = desk("own", large).grep("foo", engine=None, ripgrep=program(large, "exec sleep 300"))
    assert (answer.engine, answer.files, starts(large)) == ("own", 2 * LARGE_TREE, 0)
    assert f"too large to be applied: {large}/.gitignore" in "\n".join(answer.left_out)


@pytest.mark.contract("F8")
def test_a_ripgrep_that_gets_lost_in_an_ignore_file_is_replaced_by_our_own_engine(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ripgrep, "_PATIENCE_S", 0.05)
    monkeypatch.setattr(worker, "_COSTLY_S", 0)
    (large / "d" / "e").mkdir(parents=True)
    (large / "d" / "e" / ".gitignore").write_text(TOO_LARGE)
    searching = desk("own", large)
    hanging = program(large, "exec sleep 300")
    for _ in range(2):
        answer = searching.grep("foo", engine=None, ripgrep=hanging)
        assert (answer.engine, answer.files) == ("own", 2 * LARGE_TREE)
    assert starts(large) == 1  # it is not asked again about this tree


@pytest.mark.contract("F8")
def test_a_ripgrep_that_takes_long_without_such_a_reason_goes_on(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ripgrep, "_PATIENCE_S", 0.05)
    slow = program(large, "/bin/sleep 0.3; printf './0.txt\\0001\\n'")
    answer = desk("own", large).grep("foo", engine=None, ripgrep=slow)
    assert (answer.engine, answer.files, starts(large)) == ("ripgrep", 1, 2)


@pytest.mark.contract("F8")
def test_ripgrep_may_not_take_more_memory_than_a_search(large: Path) -> None:
    bound = large.parent / "bound"
    answer = desk("ripgrep", large).grep("foo", ripgrep=program(large, f"ulimit -d > {bound}; exit 1"))
    assert not answer.failure
    assert int(bound.read_text()) * 1024 == GREP_MEMORY_MAX_BYTES
