"""The tools' own work without the worker threads: what remains when the two ways between threads are taken out.

On a busy machine a thread waits for its turn at each of them, so the difference to the plain row tells how much of
that is the machine's and not ours.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from openbuffer.tools.support import blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from openbuffer.tools.contract import CancellationToken


@contextmanager
def without_threads() -> Generator[None, None, None]:
    """Let every module that hands work to a thread do it on the spot."""
    handing_over = [
        module
        for name, module in sys.modules.items()
        if name.startswith("openbuffer.") and getattr(module, "run_blocking", None) is blocking.run_blocking
    ]
    patches = [patch.object(module, "run_blocking", _on_the_spot) for module in handing_over]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


async def _on_the_spot(_token: CancellationToken, work: Callable[[], object]) -> object:
    return work()
