"""``openbuffer serve``: the language server over stdin and stdout."""

from __future__ import annotations

import gc
import logging
import os
import sys
from typing import TYPE_CHECKING

from .life.process_streams import log_to_stderr, take_over_stdio
from .limits import LEAVE_GRACE_S, OUTGOING_MAX_BYTES, OUTGOING_STALL_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openbuffer.editor_access.port import EditorProvider

    from .session import ToolExecutor

LOG_LEVEL_VARIABLE = "OPENBUFFER_LOG"
"""DEBUG, INFO, WARNING (the default) or ERROR; logs go to stderr."""


def serve_stdio(
    create_executor: Callable[[tuple[str, ...], EditorProvider], ToolExecutor] | None = None,
    *,
    config_file: Path | None = None,
    outgoing_max_bytes: int = OUTGOING_MAX_BYTES,
    outgoing_stall_s: float = OUTGOING_STALL_S,
) -> int:
    """Serve one client over stdin and stdout until it leaves; returns the exit code.

    0 after ``shutdown`` and then ``exit`` or the end of input, 1 without ``shutdown``, 128 + n after signal n, 2 where
    stdin or stdout is closed.

    ``create_executor`` makes the tools for the client's workspace folders when they are first needed; without it
    they are the built-in ones, set up by ``config_file`` or else by the user's own file. A client for which more than
    ``outgoing_max_bytes`` wait, or that takes nothing of what waits in ``outgoing_stall_s``, is given up.
    """
    try:
        input_fd, output_fd = take_over_stdio()
    except OSError as error:
        sys.stderr.write(f"openbuffer: stdin and stdout must be open, the client is at their other ends: {error}\n")
        return 2
    if os.isatty(input_fd):
        sys.stderr.write(
            "openbuffer: `serve` speaks the Language Server Protocol on stdin and stdout; an editor starts it. "
            "Ctrl-D ends it; `openbuffer demo` shows it at work.\n"
        )
    log_to_stderr(_level(os.environ.get(LOG_LEVEL_VARIABLE, "")))
    gc.disable()  # nothing of what is imported becomes garbage; looking for it costs a tenth of the start
    import anyio  # noqa: PLC0415  after stdout is safe from whatever prints while it is imported

    from .life.lifetime import leave_anyway  # noqa: PLC0415  likewise
    from .wire.stdio import run_session  # noqa: PLC0415  likewise

    gc.freeze()
    gc.enable()

    async def run() -> int:
        return await run_session(
            input_fd,
            output_fd,
            create_executor=create_executor,
            config_file=config_file,
            outgoing_max_bytes=outgoing_max_bytes,
            outgoing_stall_s=outgoing_stall_s,
        )

    code = anyio.run(run)
    leave_anyway(code, LEAVE_GRACE_S)
    return code


def _level(name: str) -> int:
    known = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR}
    return known.get(name.upper(), logging.WARNING)
