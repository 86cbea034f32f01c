"""Which processes a process has started, as /proc tells it while they come and go."""

from __future__ import annotations

import contextlib
from pathlib import Path


def children_of(pid: int) -> set[int]:
    """The processes that a process has started and that are still there."""
    found: set[int] = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            # Another thread may end between the listing and this, and only that one's list is gone then.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found.update(map(int, (task / "children").read_text().split()))
    return found


def descendants_of(pid: int) -> set[int]:
    """The same, with the processes that those have started."""
    found = children_of(pid)
    return found.union(*map(descendants_of, found))
