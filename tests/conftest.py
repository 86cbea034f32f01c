"""Options and hooks that every test shares."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Machines are noisy: no test may fail because an example took long; pytest-timeout ends what hangs.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


collect_ignore = ["examples"]  # projects of their own; e2e/test_examples.py runs them as a user would

_STATE = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Servers that tests start record in a directory of the tests, and not in that of whoever runs them."""
    config.stash[_STATE] = Path(tempfile.mkdtemp(prefix="openbuffer-state-"))
    os.environ["XDG_STATE_HOME"] = str(config.stash[_STATE])


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[_STATE], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failures", metavar="FILE", type=Path, help="write the tests that failed there, one in a line")
    parser.addoption("--slow", action="store_true", help="run the long modes of fuzz, races, interleavings")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    file = config.getoption("--failures")
    if file is not None:
        reports = [report for outcome in ("failed", "error") for report in terminalreporter.stats.get(outcome, ())]
        file.write_text("".join(f"{each}\n" for each in dict.fromkeys(report.nodeid for report in reports)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="long mode; run with --slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
