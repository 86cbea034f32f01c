"""The limits of the sandbox are what the README says: what is not held, is not held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import limits_of_the_sandbox
import pytest
from attack_kinds import LIMITS, Attack
from attack_workers import program_and_user, skip_unless_linux, tried

if TYPE_CHECKING:
    from confined_desk import WorkerProcess

pytestmark = skip_unless_linux
worker = program_and_user


@pytest.mark.parametrize("attack", [pytest.param(each, id=f"{each.kind}-{each.name}") for each in LIMITS])
def test_what_nothing_holds_succeeds_confined(attack: Attack, worker: WorkerProcess) -> None:
    if reason := attack.lacks(worker.user_id):
        pytest.skip(reason)
    assert tried(attack, worker, confined=True)


def test_every_limit_says_what_it_is() -> None:
    assert all(each.act.__module__ == limits_of_the_sandbox.__name__ for each in LIMITS)
    assert len({each.name for each in LIMITS}) == len(LIMITS) >= 15
