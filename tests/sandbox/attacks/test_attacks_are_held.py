"""Every attack reaches what it wants where nothing confines it, and nothing where the sandbox does; judged outside.

An attack whose first half fails is no test: its check could not fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import host_attacks
import kernel_attacks
import network_attacks
import protected_attacks
import pytest
import reading_attacks
import resource_attacks
import writing_attacks
from attack_kinds import ATTACKS, Attack
from attack_scene import Scene
from attack_workers import program_and_user, skip_unless_linux, tried
from confined_desk import places_for_workspaces

if TYPE_CHECKING:
    from confined_desk import WorkerProcess

pytestmark = skip_unless_linux
worker = program_and_user

FAMILIES = (
    writing_attacks,
    reading_attacks,
    network_attacks,
    kernel_attacks,
    resource_attacks,
    protected_attacks,
    host_attacks,
)


@pytest.mark.contract("S7", "S8", "S9", "S10")
@pytest.mark.parametrize("attack", [pytest.param(each, id=f"{each.kind}-{each.name}") for each in ATTACKS])
def test_an_attack_succeeds_unconfined_and_is_held_confined(attack: Attack, worker: WorkerProcess) -> None:
    if reason := attack.lacks(worker.user_id):
        pytest.skip(reason)
    assert tried(attack, worker, confined=False), "the check of this attack cannot fail"
    assert tried(attack, worker, confined=True) == ""


@pytest.mark.contract("S7")
def test_a_command_cannot_make_its_result_say_that_it_did_not_run(worker: WorkerProcess) -> None:
    """It would be run again, or be taken for harmless. The first process inside holds what tells its owner."""
    scene = Scene(worker, places_for_workspaces()[0], confined=True)
    try:
        line = "for each in /proc/1/fd/*; do (echo x > $each) 2>/dev/null & done; sleep 0.1; kill $(jobs -p); exit 3"
        assert scene.run(f"touch ran; {line}").code == 3
        assert (scene.ws / "ran").exists()
    finally:
        scene.close()


def test_there_are_attacks_of_every_kind_and_no_two_are_called_the_same() -> None:
    names = [each.name for each in ATTACKS]
    assert len(names) == len(set(names)) >= 50
    for family in FAMILIES:
        assert sum(each.act.__module__ == family.__name__ for each in ATTACKS) >= 5
