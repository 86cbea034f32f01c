"""Modes by which a command tries to hold what it created in its place; they bind a user who is not root (S9)."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox.quarantine.watch import Quarantine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.contract("S9")

SOME_USER = 65_432
PR_SET_DUMPABLE = 4


@pytest.fixture(params=["same file system", "another file system"])
def base(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A directory for the workspace; the state directory is ``base.state``."""
    base = Path(tempfile.mkdtemp(dir="/var/tmp")).resolve()
    state = base if request.param == "same file system" else Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        if state is not base and os.stat(state).st_dev == os.stat(base).st_dev:
            pytest.skip("this machine has no second file system to write to")
        (base / "ws").mkdir()
        (base / "state").symlink_to(state / "kept")
        (state / "kept").mkdir()
        for path in (base, state, base / "ws", state / "kept"):
            path.chmod(0o755)
            if os.geteuid() == 0:
                os.chown(path, SOME_USER, SOME_USER)
        yield base
    finally:
        for path in {base, state}:
            shutil.rmtree(path)


def as_a_user(work: Callable[[], None]) -> None:
    """Do it in a process that is not root, with every module that it needs already there."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Threads of other tests may still be there; the child only does file work.
        warnings.simplefilter("ignore", DeprecationWarning)
        process_id = os.fork()
    if process_id == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(SOME_USER)
                os.setuid(SOME_USER)
                # As after the start of a program; without it the process may not look into its own /proc.
                ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001  told by the assertion below
            os.write(writing, traceback.format_exc().encode()[-4_000:])
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as report:
        told = report.read().decode()
    os.waitpid(process_id, 0)
    assert told == ""


def test_modes_do_not_hold_a_planted_tree(base: Path) -> None:
    def work() -> None:
        root = base / "ws"
        with Quarantine(os.path.realpath(base / "state")).around([str(root)], longest_s=60) as watch:
            (root / ".git/hooks").mkdir(parents=True)
            (root / ".git/hooks/x").write_text("evil")
            (root / ".git/hooks/x").chmod(0)
            (root / ".git/hooks").chmod(0o555)
            (root / ".git").chmod(0o555)
            (root / ".vscode").mkdir(mode=0)
            (root / ".envrc").write_text("evil")
            (root / ".envrc").chmod(0)
            (root / "normal").touch()
            root.chmod(0)
        assert stat.S_IMODE(root.stat().st_mode) == 0
        root.chmod(0o755)
        assert [path.name for path in root.iterdir()] == ["normal"], watch.notes
        moved = {path.name[24:]: path for path in (base / "state/quarantine").iterdir()}
        assert sorted(moved) == [".envrc", ".git", ".vscode"]
        assert stat.S_IMODE(moved[".git"].stat().st_mode) == 0o555
        assert stat.S_IMODE((moved[".git"] / "hooks/x").stat().st_mode) == 0
        _make_removable(moved.values())

    as_a_user(work)


def test_a_link_to_a_file_of_the_users_is_moved_without_changing_that_file(base: Path) -> None:
    def work() -> None:
        root = base / "ws"
        (base / "private").write_text("x")
        (base / "private").chmod(0o400)
        with Quarantine(os.path.realpath(base / "state")).around([str(root)], longest_s=60):
            (root / ".git").symlink_to(base / "private")
            (root / ".envrc").symlink_to(base)
        assert list(root.iterdir()) == []
        assert stat.S_IMODE((base / "private").stat().st_mode) == 0o400

    as_a_user(work)


def test_a_workspace_that_was_closed_before_the_command_refuses_it_with_a_reason(base: Path) -> None:
    def work() -> None:
        (base / "ws").chmod(0)
        with (
            pytest.raises(Exception, match="no command was run"),
            Quarantine(os.path.realpath(base / "state")).around([str(base / "ws")], longest_s=60),
        ):
            pass
        (base / "ws").chmod(0o755)

    as_a_user(work)


def _make_removable(paths: object) -> None:
    for path in list(paths):  # type: ignore[call-overload]  values of a dictionary
        if path.is_dir():
            path.chmod(0o755)
            for below in path.iterdir():
                below.chmod(0o755)
