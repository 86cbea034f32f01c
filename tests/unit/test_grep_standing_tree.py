"""A small tree that is searched again is not walked again, and whatever changed in it is seen all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools.support.grep import kept_texts, own_engine, standing_tree

from .grep_desk import Desk, desk

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A change counts as seen at once here; the tests wait for the clock's tick instead of two seconds.
    for module in (kept_texts, standing_tree):
        monkeypatch.setattr(module, "SETTLED_NS", -1_000_000_000)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = Path(os.path.realpath(tmp_path)) / "above" / "ws"
    (root / "src" / "deep").mkdir(parents=True)
    (tmp_path / "config" / "git").mkdir(parents=True)
    (tmp_path / "config" / "git" / "ignore").write_text("nothing\n")
    subprocess.run(["git", "init", "-q", str(root.parent)], check=True)
    for name in ("a.txt", "src/b.txt", "src/deep/c.txt", "src/deep/d.log"):
        (root / name).write_text("foo\n")
    (root / ".gitignore").write_text("*.tmp\n")
    (root / "src" / "deep" / ".gitignore").write_text("*.log\n.gitignore\n")
    (root / "binary").write_bytes(b"foo\0")
    _tick()
    return root


def _tick() -> None:
    time.sleep(0.03)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _swap_for_link(root: Path) -> None:
    shutil.rmtree(root / "src")
    (root / "src").symlink_to("/etc")


def _same_size_and_time(root: Path) -> None:
    status = (root / "a.txt").stat()
    (root / "a.txt").write_text("bar\n")
    os.utime(root / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "a line more": lambda root: _write(root / "a.txt", "foo\nfoo\n"),
    "same size and time": _same_size_and_time,
    "a new file": lambda root: _write(root / "src" / "new.txt", "foo\n"),
    "a new directory": lambda root: _write(root / "src" / "x" / "new.txt", "foo\n"),
    "a file less": lambda root: (root / "src" / "b.txt").unlink(),
    "a file renamed": lambda root: (root / "src" / "b.txt").rename(root / "src" / "z.txt"),
    "a directory swapped for a link": _swap_for_link,
    "a file swapped for a link": lambda root: ((root / "a.txt").unlink(), (root / "a.txt").symlink_to("src/b.txt")),
    "a file that becomes binary": lambda root: (root / "a.txt").write_bytes(b"foo\n\0"),
    "a binary file that becomes text": lambda root: _write(root / "binary", "foo\n"),
    "an ignore file": lambda root: _write(root / ".gitignore", "*.log\n"),
    "an ignore file deeper": lambda root: _write(root / "src" / ".ignore", "c.txt\n"),
    "an ignore file that ignores itself": lambda root: _write(root / "src" / "deep" / ".gitignore", ".gitignore\n"),
    "an ignore file above": lambda root: _write(root.parent / ".gitignore", "*.log\n"),
    "the repository's excludes": lambda root: _write(root.parent / ".git" / "info" / "exclude", "*.log\n"),
    "the user's excludes": lambda root: _write(root.parent.parent / "config" / "git" / "ignore", "*.log\n"),
    "no repository any more": lambda root: (
        _write(root / ".gitignore", "*.log\n"),
        shutil.rmtree(root.parent / ".git"),
    ),
    "a repository inside": lambda root: subprocess.run(["git", "init", "-q", str(root / "src")], check=True),
    "the mode of a directory": lambda root: (root / "src" / "deep").chmod(0o700),
}


@pytest.mark.contract("F8", "F9")
@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_seen(root: Path, change: str) -> None:
    searching = desk("own", root)
    for _ in range(2):
        assert searching.grep("foo") == desk("own", root).grep("foo")
    CHANGES[change](root)
    _tick()
    for _ in range(3):
        assert searching.grep("foo") == desk("own", root).grep("foo")
        assert searching.grep("foo", ignoring=False) == desk("own", root).grep("foo", ignoring=False)


@pytest.mark.contract("F8")
def test_a_tree_in_which_nothing_changed_is_not_walked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searching = desk("own", root)
    first = searching.grep("foo")
    monkeypatch.setattr(own_engine, "Walk", None)
    assert searching.grep("foo") == first
    assert searching.grep("f.o", mode="count").lines == first.lines
    (root / "a.txt").write_text("foo\nfoo\n")
    assert searching.grep("foo").lines == first.lines + 1


@pytest.mark.contract("F8")
def test_a_tree_that_has_just_changed_is_walked_every_time(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("foo\n")
    searching: Desk = desk("own", tmp_path)
    for text in ("foo\n", "fob\n", "foo\n", "fob\n"):  # within one tick of the clock, as like as not
        (tmp_path / "a.txt").write_text(text)
        assert searching.grep("foo").lines == (text == "foo\n")
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text("foo\n")
        assert searching.grep("foo").files == number + 1


def test_of_a_tree_of_many_directories_and_few_files_little_is_kept(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_engine, "ALONE_FILES", 20)
    for number in range(30):
        (root / f"d{number}").mkdir()
    monkeypatch.setattr(kept_texts, "_KEPT_MAX_BYTES", 10_000)
    searching = desk("own", root)
    for _ in range(2):
        assert searching.grep("foo", mode="count").files == 3
    assert not searching.searcher._standing._trees
    assert len(searching.searcher._kept._directories) <= 20
