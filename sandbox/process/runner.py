"""Runs one invocation in the calling thread: bounded output, a time-out, cancellation, and the whole group ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from ..errors import CommandStartError
from .result import Captured, CaptureLimits, Ended, How

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..port import Invocation, WrappedCommand

__all__ = ["CaptureLimits", "Captured", "Ended", "How", "run_invocation"]


def run_invocation(
    invocation: Invocation,
    *,
    timeout_s: float,
    is_cancelled: Callable[[], bool],
    limits: CaptureLimits,
    sink: Callable[[bytes], None] | None = None,
    wrapped: WrappedCommand | None = None,
) -> Ended:
    """Start the invocation in a session of its own and wait for its leader to end; blocks.

    Every raw byte goes to ``sink``, in order. With ``wrapped``, its ``invocation`` is what is passed here; the
    descriptors, ``started``, ``terminate`` and ``wait_until_empty`` are taken from it.

    Raises:
        CommandStartError: it could not be started; nothing ran.
    """
    began = time.monotonic()
    if is_cancelled():
        return Ended(
            how="cancelled", exit_code=None, signal=None, output=Captured(head=""), left_running=(), seconds=0.0
        )
    try:
        process = subprocess.Popen(  # noqa: S603  # running what the model asked for is the purpose; the gate has judged it
            invocation.argv,
            cwd=invocation.cwd,
            env=invocation.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=() if wrapped is None else wrapped.pass_fds,
        )
    except (OSError, ValueError) as error:
        raise CommandStartError(f"the command could not be started: {error}") from error
    if wrapped is not None:
        wrapped.started(process.pid)
    how: How = "exited"
    try:
        data, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        how = "timed_out"
        if wrapped is not None:
            wrapped.terminate()
        os.killpg(process.pid, signal.SIGKILL)
        data, _ = process.communicate()
    if wrapped is not None:
        wrapped.wait_until_empty()
    if sink is not None:
        sink(data)
    code = process.returncode
    return Ended(
        how=how,
        exit_code=128 - code if code < 0 else code,
        signal=-code if code < 0 else None,
        output=Captured(
            head=data[: limits.head_bytes].decode(errors="backslashreplace"),
            tail=data[limits.head_bytes :][-limits.tail_bytes :].decode(errors="backslashreplace"),
            total_bytes=len(data),
            omitted_bytes=max(0, len(data) - limits.head_bytes - limits.tail_bytes),
        ),
        left_running=(),
        seconds=time.monotonic() - began,
    )
