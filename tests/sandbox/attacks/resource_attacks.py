"""Attacks that use up the host, or outlive what they were started by."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from attack_kinds import attack
from attack_scene import wait_until
from servers import server_of_its_own

if TYPE_CHECKING:
    from attack_scene import Scene

LIMITS = {"processes": 150, "file_bytes": 1_000_000}
MORE_THAN_MAY_BE = 330  # the lowest bound that a namespace can have is 301


def _tasks(scene: Scene, how: str) -> int:
    with scene.holding("many", how, 420) as processes:
        return sum(int(each.field("Threads") or 0) for each in processes)


@attack("resources")
def more_processes_are_made_than_may_be(scene: Scene) -> str:
    return _more(scene, "processes")


@attack("resources")
def more_threads_are_made_than_may_be(scene: Scene) -> str:
    return _more(scene, "threads")


def _more(scene: Scene, how: str) -> str:
    if scene.desk.worker.detection["process_limit"] == "none":
        pytest.skip("this kernel has no bound for this user; the result says so")
    scene.open(limits=LIMITS)
    found = _tasks(scene, how)
    assert found > 100
    return f"{found}" if found > MORE_THAN_MAY_BE else ""


@attack("resources")
def a_file_grows_beyond_its_bound(scene: Scene) -> str:
    scene.open(limits=LIMITS)
    scene.run("ulimit -f unlimited; head -c 3000000 /dev/zero > big; truncate -s 3000000 big2")
    sizes = [(scene.ws / name).stat().st_size for name in ("big", "big2") if (scene.ws / name).exists()]
    assert sizes
    return f"{max(sizes)}" if max(sizes) > LIMITS["file_bytes"] else ""


@attack("resources")
def a_daemon_outlives_its_command(scene: Scene) -> str:
    line = "(trap '' HUP TERM; setsid sh -c 'while :; do date > tick; sleep 0.02; done' >/dev/null 2>&1 &); sleep 0.15"
    scene.run(line)
    return _still_alive(scene)


@attack("resources")
def a_process_that_cannot_be_caught_outlives_its_command(scene: Scene) -> str:
    """It is another process every few milliseconds, each in a session of its own."""
    scene.run(f"{scene.line_of('breeding', scene.ws / 'tick')} >/dev/null 2>&1; sleep 0.1")
    stamp = _stamp(scene)
    return "it still writes" if scene.comes(lambda: _stamp(scene) not in {"", stamp}, soon_s=0.3) else ""


@attack("resources")
def a_command_that_ignores_every_signal_outlives_its_time(scene: Scene) -> str:
    ignore = "trap '' TERM HUP INT QUIT"
    scene.run(f'{ignore}; (setsid sh -c "{ignore}; exec sleep 20" &) ; sleep 0.1; sleep 0.4', timeout_s=0.3)
    return _still_alive(scene)


@attack("resources")
def a_command_outlives_a_server_that_was_killed(scene: Scene) -> str:
    with server_of_its_own(scene) as server:
        scene.open()
        with suppress(Exception), scene.meanwhile("setsid sleep 20 & touch held; sleep 20"):
            os.kill(server.process_id, signal.SIGKILL)
    with suppress(AssertionError):
        wait_until(lambda: not scene.processes(), 10 if scene.confined else 0.3)
    return _still_alive(scene)


def _still_alive(scene: Scene) -> str:
    return ", ".join(str(each.pid) for each in scene.processes() if not each.field("State").startswith("Z"))


def _stamp(scene: Scene) -> str:
    with suppress(OSError):
        return (scene.ws / "tick").read_text()
    return ""
