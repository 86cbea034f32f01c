"""The session's temporary directory: hostile trees in it are removed, a killed session's is swept."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox.confinement.scratch import Scratch, remove_tree, sweep

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_made_as_programs_expect_it_and_closed_to_others(tmp_path: Path) -> None:
    scratch = Scratch(str(tmp_path))
    assert stat.S_IMODE(os.stat(scratch.path).st_mode) == 0o1777
    assert stat.S_IMODE(os.stat(os.path.dirname(scratch.path)).st_mode) == 0o700
    scratch.close()
    scratch.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.contract("S8")
def test_trees_of_any_depth_and_without_permissions_are_removed_and_links_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "kept").write_text("kept")
    top = tmp_path / "top"
    top.mkdir()
    (top / "link").symlink_to(outside)
    (top / "closed").mkdir()
    (top / "closed" / "inner").mkdir()
    (top / "closed" / "inner" / "to").symlink_to(outside)
    (top / "closed" / "inner").chmod(0)
    (top / "closed").chmod(0o500)
    os.mkfifo(top / "pipe")
    directory_fd = os.open(top, os.O_RDONLY)
    for _ in range(1300):
        os.mkdir("d", dir_fd=directory_fd)
        inner_fd = os.open("d", os.O_RDONLY, dir_fd=directory_fd)
        os.close(directory_fd)
        directory_fd = inner_fd
    os.close(directory_fd)
    remove_tree(str(top))
    assert not top.exists()
    assert (outside / "kept").read_text() == "kept"
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755


def test_what_stands_at_the_place_of_a_mount_is_replaced(tmp_path: Path) -> None:
    scratch = Scratch(str(tmp_path))
    outside = tmp_path / "outside"
    outside.mkdir()
    os.symlink(outside, os.path.join(scratch.path, "a"))
    os.mkdir(os.path.join(scratch.path, "b"))
    os.symlink(outside, os.path.join(scratch.path, "b", "ws"))
    scratch.prepare(("a", "a/c"), ("b/ws", "a/c/file"))
    assert os.path.isdir(os.path.join(scratch.path, "a", "c"))
    assert not os.path.lexists(os.path.join(scratch.path, "b", "ws"))
    assert list(outside.iterdir()) == []
    scratch.prepare(("a", "a/c"), ())
    scratch.close()


@pytest.mark.contract("S7")
def test_a_killed_sessions_directory_is_swept_and_a_living_ones_is_not(tmp_path: Path) -> None:
    script = (
        "import sys, time; from openbuffer.sandbox.confinement.scratch import Scratch; s = Scratch(sys.argv[1]); "
        "open(s.path + '/x', 'w').close(); print(s.path, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    path = process.stdout.readline().strip()
    living = Scratch(str(tmp_path))
    assert os.path.exists(os.path.join(path, "x"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    sweep(str(tmp_path))
    assert not os.path.exists(path)
    assert os.path.isdir(living.path)
    living.close()


def test_a_directory_without_lock_that_holds_nothing_is_swept(tmp_path: Path) -> None:
    (tmp_path / "temporary-x").mkdir()
    (tmp_path / "other").mkdir()
    sweep(str(tmp_path))
    assert [each.name for each in tmp_path.iterdir()] == ["other"]
