"""Who attacks: root and an unprivileged user, each through another bubblewrap; ``--slow`` adds the other pairs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attack_scene import PYTHON, Scene
from confined_desk import NOBODY, WorkerProcess, bubblewraps, lacks, places_for_workspaces
from servers import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Generator

    from attack_kinds import Attack

USERS = [os.getuid()] if os.getuid() else [0, NOBODY]
SYSTEMS, PACKAGES = bubblewraps()

skip_unless_linux = [
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux"),
    pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"the attack scripts need {PYTHON}"),
]


def _pairs() -> list[object]:
    usual = {(PACKAGES, 0), (SYSTEMS, NOBODY), (SYSTEMS, os.getuid() or -1)}
    return [
        pytest.param(
            (path, user),
            id=f"{'root' if user == 0 else 'user'}-{'package' if path == PACKAGES else 'system'}",
            marks=() if (path, user) in usual else pytest.mark.slow,
        )
        for path in (PACKAGES, SYSTEMS)
        for user in USERS
    ]


@pytest.fixture(params=_pairs(), scope="module")
def program_and_user(request: pytest.FixtureRequest) -> Generator[WorkerProcess]:
    """The process that confines, or does not."""
    path, user = request.param
    if reason := lacks(path, user):
        pytest.skip(reason)
    started = WorkerProcess(path, user, PROGRAM)
    try:
        if not started.detection["available"]:
            pytest.skip(started.detection["problem"])
        yield started
    finally:
        started.close()


def tried(attack: Attack, worker: WorkerProcess, *, confined: bool) -> str:
    """What the attack has reached in a scene of its own."""
    places = places_for_workspaces()
    scene = Scene(worker, places[0] if attack.place == "beside" else places[-1], confined=confined)
    try:
        return attack.act(scene)
    finally:
        scene.close()
