"""Every number that bounds a confined command and its sandbox. Sizes are bytes, times are seconds. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MIB: Final = 1024 * 1024
GIB: Final = 1024 * MIB

SETUP_TIMEOUT_S: Final = 30.0
"""How long bwrap may take to say that it has started the inside."""

EMPTY_TIMEOUT_S: Final = 10.0
"""How long the inside may take to be empty once it is told to end; then it is killed, and once more waited for."""

SHARED_MEMORY_MAX_BYTES: Final = 1 * GIB
"""What one command may keep in /dev/shm, which is memory of the host until it ends."""

PROBE_TIMEOUT_S: Final = 20.0
"""How long the trial of a sandbox may take, once per program that is tried."""

REPORT_MAX_BYTES: Final = 64 * 1024
"""What bwrap says about the inside, or why it failed; more is not read."""

RUN_OUTPUT_MAX_BYTES: Final = 1 * MIB
"""The output of a command that the client runs itself; the first and the last half are kept."""

FILE_TIMEOUT_S: Final = 60.0
"""How long one file may be read or written through the sandbox's client."""

LINE_OUTPUT_MAX_BYTES: Final = 16 * MIB
"""What a line may write by which the client looks at files; it holds the names of a directory of 50,000 entries."""

FILE_READ_MAX_BYTES: Final = 256 * MIB
"""A larger file is not read through the sandbox's client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLimits:
    """What one confined command may use: ``processes`` counts threads too, ``file_bytes`` holds for each file."""

    processes: int = 512
    file_bytes: int = 8 * GIB


PROVIDER_MARGIN_S: Final = 5.0
"""How much longer than a command's own time its provider may take to answer."""

TRANSFER_TIMEOUT_S: Final = 600.0
"""How long a provider may take for the content of one file."""

RESTORE_TIMEOUT_S: Final = 300.0
"""How long a restore may take, unless told otherwise."""

BLOCKING_CALLS_MAX: Final = 64
"""Calls of one provider's blocking methods that are waited for at the same time."""
