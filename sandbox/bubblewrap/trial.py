"""Starting a sandbox for real, with a command that does nothing, to see whether and why not. Linux only; blocks."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..limits import PROBE_TIMEOUT_S, REPORT_MAX_BYTES, CommandLimits
from ..port import Invocation
from .argv import Descriptors, bubblewrap_argv
from .command import ConfinedCommand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..confinement.layout import Layout

# Shell built-ins alone: what a container lacks cannot be mistaken for a sandbox that fails.
_SHOW_STATUS = 'while read -r line; do echo "$line"; done < /proc/self/status'


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How it went. ``status`` is what the kernel says of a process inside; ``failure`` what bwrap said, on one line."""

    status: Mapping[str, str]
    failure: str


def try_sandbox(
    program: str,
    layout: Layout,
    system_call_filter: bytes,
    *,
    network: bool = False,
    bounds_process_numbers: bool = False,
) -> Trial:
    """Start this bwrap with the flags and the filter of a command."""

    def invocation(descriptors: Descriptors) -> Invocation:
        argv = bubblewrap_argv(
            program,
            layout,
            ("/bin/sh", "-c", _SHOW_STATUS),
            cwd="/",
            network=network,
            descriptors=descriptors,
        )
        return Invocation(argv=argv, cwd="/", environment={})

    command = ConfinedCommand(
        invocation, system_call_filter, CommandLimits(), bounds_process_numbers=bounds_process_numbers
    )
    try:
        return _run(command)
    finally:
        command.close()


def _run(command: ConfinedCommand) -> Trial:
    try:
        process = subprocess.Popen(  # noqa: S603  a program found outside of the workspace, with arguments of our own
            command.invocation.argv,
            cwd=command.invocation.cwd,
            env=command.invocation.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=command.pass_fds,
        )
    except OSError as error:
        return Trial(status={}, failure=f"it cannot be started: {error.strerror}")
    with process:
        command.started(process.pid)
        try:
            output, errors = process.communicate(timeout=PROBE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=PROBE_TIMEOUT_S)
            return Trial(status={}, failure=f"it did not end in {PROBE_TIMEOUT_S:g} s")
    command.wait_until_empty()
    said = " ".join(errors[:REPORT_MAX_BYTES].decode(errors="replace").split())
    if process.returncode != 0:
        return Trial(status={}, failure=said or f"it ended with code {process.returncode} and no word")
    lines = (line.partition(":") for line in output.decode(errors="replace").splitlines())
    return Trial(status={name: value.strip() for name, _, value in lines}, failure="")
