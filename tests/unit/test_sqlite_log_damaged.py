"""A damaged log that was moved aside is kept as long as a call is, and nothing else beside the log is touched."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools.adapters.sqlite_log_damaged import remove_damaged

if TYPE_CHECKING:
    from pathlib import Path

DAY_S = 24 * 60 * 60


def moved(ago_days: float) -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.localtime(time.time() - ago_days * DAY_S))


@pytest.mark.contract("X7")
def test_what_was_moved_aside_goes_after_the_days_that_a_call_is_kept_and_nothing_else(tmp_path: Path) -> None:
    log = tmp_path / "log"
    old, new = f"log.damaged-{moved(31)}-12", f"log.damaged-{moved(29)}-12"
    others = [f"log.damaged-{moved(31)}", "log.damaged-mine", f"other.damaged-{moved(31)}-1", "artifacts", new]
    for name in ("log", old, *others):
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.db").write_bytes(b"x")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    link = tmp_path / f"log.damaged-{moved(40)}-7"
    link.symlink_to(elsewhere)
    file = tmp_path / f"log.damaged-{moved(40)}-8"
    file.touch()
    remove_damaged(str(log), 30)
    assert {each.name for each in tmp_path.iterdir()} == {"log", *others, "elsewhere", link.name, file.name}
    assert (elsewhere / "kept").exists()


def test_without_such_a_directory_there_is_nothing_to_do(tmp_path: Path) -> None:
    remove_damaged(str(tmp_path / "none" / "log"), 30)
    assert list(tmp_path.iterdir()) == []
