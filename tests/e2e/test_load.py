"""Many sessions at one server: no call is lost or wrong, and memory stays where it was; in full with --slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .load import Load, run

if TYPE_CHECKING:
    from pathlib import Path

GROWTH_MAX_MIB = 40.0
BUSY_MAX_S = 0.25
"""A tenth of a second on a machine that does nothing else; `load.py` has the figures."""


@pytest.mark.contract("B1", "B3", "E6")
@pytest.mark.parametrize(
    "load",
    [
        pytest.param(Load(6, 20, 2.0), id="a few"),
        pytest.param(Load(50, 200, 60.0), id="many", marks=[pytest.mark.slow, pytest.mark.timeout(400)]),
    ],
)
async def test_users_type_and_agents_work_at_one_server_without_any_loss(tmp_path: Path, load: Load) -> None:
    figures = await run(load, tmp_path)
    print(f"\n{figures}")
    assert figures.wrong == []
    assert figures.calls >= load.sessions
    assert figures.exit_code == 143
    assert figures.memory_end - figures.memory_quarter < GROWTH_MAX_MIB
    # Of what the loop was late, what it computed itself: the rest is the machine's, and other threads'.
    assert figures.pulse["longest_busy_s"] < BUSY_MAX_S
