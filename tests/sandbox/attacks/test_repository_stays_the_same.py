"""The host's repository is the same before, during and after a confined command, and after the server was killed (S9).

The same is: every name, kind, mode, time, number and byte of it, its own directory included.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from attack_scene import Scene, wait_until
from attack_workers import program_and_user, skip_unless_linux
from confined_desk import places_for_workspaces
from protected_attacks import repository
from servers import server_of_its_own

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from confined_desk import WorkerProcess

pytestmark = [*skip_unless_linux, pytest.mark.contract("S9")]
worker = program_and_user

SHAPES = ("with a commit", "that is a link", "that is a pointer", "of a working tree", "that is none")


@pytest.fixture(params=SHAPES)
def scene(worker: WorkerProcess, request: pytest.FixtureRequest) -> Generator[Scene]:
    made = Scene(worker, places_for_workspaces()[0], confined=True)
    try:
        _shape(made, request.param)
        (made.ws / "sub").mkdir()
        (made.ws / "sub" / "untracked").write_text("x")
        (made.ws / ".envrc").symlink_to("sub/untracked")
        (made.ws / ".vscode").mkdir(mode=0o750)
        (made.ws / "unreadable").write_text("x")
        made.open(hidden=(made.ws / "unreadable",))
        yield made
    finally:
        made.close()


def _shape(scene: Scene, shape: str) -> None:
    if shape == "with a commit":
        repository(scene)
    elif shape == "that is a link":
        repository(scene)
        (scene.ws / ".git").rename(scene.base / "linked")
        (scene.ws / ".git").symlink_to(scene.base / "linked")
    elif shape == "that is a pointer":
        repository(scene, scene.ws, "--separate-git-dir", str(scene.base / "elsewhere"))
    elif shape == "of a working tree":
        main = repository(scene, scene.base / "main")
        scene.ws.rmdir()
        scene.host("git", "worktree", "add", "-q", str(scene.ws), cwd=main)


def seen_by_the_host(scene: Scene) -> dict[str, tuple[object, ...]]:
    """All but the client's own state."""
    found: dict[str, tuple[object, ...]] = {}
    for directory, names, files in os.walk(scene.base):
        here = scene.base / os.path.relpath(directory, scene.base)
        names[:] = [name for name in names if here / name != scene.state]
        for path in (here, *(here / name for name in files)):
            found[str(path)] = _facts(path)
    return found


def _facts(path: Path) -> tuple[object, ...]:
    facts = path.lstat()
    content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
    return (facts.st_mode, facts.st_ino, facts.st_uid, facts.st_nlink, facts.st_mtime_ns, facts.st_ctime_ns, content)


def test_a_command_that_does_nothing_changes_nothing(scene: Scene) -> None:
    before = seen_by_the_host(scene)
    assert scene.run("true").notes == []
    assert seen_by_the_host(scene) == before


def test_while_a_command_runs_the_host_sees_what_it_saw_before(scene: Scene) -> None:
    before = seen_by_the_host(scene)
    # What tells that it runs lies where the host does not look.
    request = scene.desk.request("touch /tmp/running; while ! test -e /tmp/end; do sleep 0.01; done")
    with _in_a_thread(scene, request):
        running = _wait_for_scratch(scene, "running")
        during = seen_by_the_host(scene)
        running.with_name("end").touch()
    assert during == before
    assert seen_by_the_host(scene) == before


def test_after_the_server_was_killed_nothing_is_left_before_and_after_the_next_start(scene: Scene) -> None:
    with server_of_its_own(scene) as server:
        scene.desk.open(hidden=(scene.ws / "unreadable",))
        before = seen_by_the_host(scene)  # a desk gives everything to its user again
        request = scene.desk.request("touch /tmp/running; sleep 20", environment={"OB_ATTACK": scene.token})
        with suppress(Exception), _in_a_thread(scene, request):
            _wait_for_scratch(scene, "running")
            os.kill(server.process_id, signal.SIGKILL)
    wait_until(lambda: not scene.processes())
    assert seen_by_the_host(scene) == before
    scene.desk.open()
    before_sweep = seen_by_the_host(scene)
    assert scene.desk.ask("sweep") == []
    assert seen_by_the_host(scene) == before_sweep


@contextmanager
def _in_a_thread(scene: Scene, request: dict[str, object]) -> Generator[None]:
    thread = threading.Thread(target=_quietly, args=(scene, request))
    thread.start()
    try:
        yield
    finally:
        thread.join(30)
        assert not thread.is_alive()


def _quietly(scene: Scene, request: dict[str, object]) -> None:
    with suppress(Exception):  # the server may be killed meanwhile
        scene.desk.ask("run", **request)


def _wait_for_scratch(scene: Scene, name: str) -> Path:
    wait_until(lambda: any(scene.state.glob(f"temporary-*/content/{name}")))
    return next(scene.state.glob(f"temporary-*/content/{name}"))
