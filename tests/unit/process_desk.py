"""Runs command lines for the tests, and tells what is alive."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openbuffer.sandbox import Invocation
from openbuffer.sandbox.process.relatives import running_processes
from openbuffer.sandbox.process.runner import CaptureLimits, Ended, run_invocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

PATIENCE_S = 10.0


def run_line(
    line: str,
    *,
    timeout_s: float = 20.0,
    cwd: str = "/",
    environment: Mapping[str, str] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
    keep: int = 30_000,
    **more: Any,
) -> Ended:
    """Run one line with /bin/sh."""
    given = {"PATH": os.environ["PATH"]} if environment is None else environment
    return run_invocation(
        Invocation(argv=("/bin/sh", "-c", line), cwd=cwd, environment=given),
        timeout_s=timeout_s,
        is_cancelled=is_cancelled,
        limits=CaptureLimits(head_bytes=keep, tail_bytes=keep),
        **more,
    )


def alive(pids: Iterable[int]) -> set[int]:
    """Which of these are processes that are not dead."""
    return set(pids) & {process.pid for process in running_processes()}


def marked(mark: str) -> set[int]:
    """The processes that have ``mark`` in their environment and are not dead, this one left out."""
    found: set[int] = set()
    for process in running_processes():
        try:
            if mark.encode() in Path(f"/proc/{process.pid}/environ").read_bytes():
                found.add(process.pid)
        except OSError:
            continue
    return found - {os.getpid()}


def eventually(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
    """Whether the condition comes true in time."""
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def written(path: Path) -> str:
    """The whole line that another process writes to a file, waited for."""
    assert eventually(lambda: path.exists() and path.read_text().endswith("\n")), f"nothing came to {path.name}"
    return path.read_text().strip()
