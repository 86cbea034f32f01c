"""The whole tool set over each client that has files of its own: what ``ToolConfig(sandbox=...)`` gives (S4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from client_places import PLACES, Place, lacking
from tool_set_desk import require_tools_work

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


@pytest.fixture(params=[name for name in PLACES if name != "os"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Place]:
    if problem := lacking(request.param):
        pytest.skip(problem)
    async with PLACES[request.param](tmp_path) as made:
        yield made


@pytest.mark.contract("S4", "E4", "S6", "S5")
async def test_every_tool_works_on_its_files_and_none_on_the_hosts(place: Place) -> None:
    await require_tools_work(place.client, place.root)
