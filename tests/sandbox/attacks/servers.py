"""A server that an attack may kill, beside the one that all attacks share."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from confined_desk import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Generator

    from attack_scene import Scene

PROGRAM = Path(__file__).with_name("attack_worker.py")


@contextmanager
def server_of_its_own(scene: Scene) -> Generator[WorkerProcess]:
    """What is run in the scene meanwhile is run by this one, with the same bubblewrap."""
    shared = scene.desk.worker
    directory = os.path.dirname(shared.detection["program"])
    own = scene.desk.worker = WorkerProcess(directory, scene.user_id, PROGRAM)
    try:
        yield own
    finally:
        scene.desk.worker = shared
        with suppress(OSError):
            own.close()
