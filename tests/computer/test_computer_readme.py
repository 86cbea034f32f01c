"""The example of README.md that drives a page does so, as it stands there (W6)."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

if TYPE_CHECKING:
    from .conftest import Site

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.contract("W6")
async def test_the_example_shows_a_page_and_clicks_on_it(site: Site, tmp_path: Path) -> None:
    pytest.importorskip("playwright.async_api", reason="playwright is missing; the test extra has it")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    section = README.read_text(encoding="utf-8").split("### A computer that is driven\n")[1]
    found = re.search(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found is not None
    example = found[1].replace("https://example.org", site.url()).replace("/path/to/workspace", str(tmp_path))
    example = example.replace('"/usr/bin/chromium"', f'"{program}", args=["--no-sandbox"]')  # which root needs
    done = await anyio.run_process([sys.executable, "-c", example], cwd=tmp_path)
    assert done.stdout.decode().splitlines() == [
        "1280 800 Screenshot of 1280 x 800 pixels.",
        f"The page is {site.url()}.",
        "Clicked the left button at 640, 400.",
    ]
