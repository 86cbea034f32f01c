"""The example projects, run as a user would: copied elsewhere, with what is installed and none of our settings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.contract("B4")
@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_an_example_passes_where_a_user_has_copied_it(tmp_path: Path, example: str) -> None:
    project = tmp_path / "copied"
    shutil.copytree(EXAMPLES / example, project, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    scripts = str(Path(sys.executable).parent)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"],
        cwd=project,
        env={**environment, "PATH": f"{scripts}{os.pathsep}{environment['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=55,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
