"""One command started through bwrap: its descriptors, its limits, its end. Linux only.

bwrap makes the mounts and then waits for a byte. In between, the limits are set on the inside's first process from
here; a command never runs without them. The first process is held by a descriptor of its own, so that nothing here
can mean another process that got its number.
"""

from __future__ import annotations

import array
import fcntl
import json
import os
import resource
import select
import signal
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..limits import EMPTY_TIMEOUT_S, REPORT_MAX_BYTES, SETUP_TIMEOUT_S
from .argv import Descriptors

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..limits import CommandLimits
    from ..port import Invocation


class ConfinedCommand:
    """From the opening of the descriptors to the end of the last process inside. Fulfils ``WrappedCommand``.

    ``bounds_process_numbers``: whether the kernel has ``pid_max`` for each process namespace. It bounds the number of
    processes of the real root too, to whom RLIMIT_NPROC does not apply. ``on_process`` is told of bwrap and of the
    first process inside, before the command begins.
    """

    def __init__(
        self,
        make_invocation: Callable[[Descriptors], Invocation],
        system_call_filter: bytes,
        limits: CommandLimits,
        *,
        bounds_process_numbers: bool = False,
        on_process: Callable[[int], None] | None = None,
    ) -> None:
        self.notes: tuple[str, ...] = ()
        self._limits = limits
        self._on_process = on_process or _nobody
        self._first_process = -1
        self._first_process_id = 0
        self._was_started = False
        self._was_set_up = False
        self._was_told_to_end = False
        self._info, self._info_end = os.pipe()
        self._status, self._status_end = os.pipe()
        self._block, self._block_end = os.pipe()
        self._filter = in_memory(system_call_filter)
        self._pid_max = in_memory(_pid_max(limits.processes)) if bounds_process_numbers else -1
        descriptors = Descriptors(
            filter=self._filter,
            info=self._info_end,
            status=self._status_end,
            block=self._block,
            hold=self._block_end,
            pid_max=self._pid_max if bounds_process_numbers else None,
        )
        own = (self._filter, self._info_end, self._status_end, self._block, self._block_end, self._pid_max)
        self.pass_fds = tuple(each for each in own if each >= 0)
        self.invocation = make_invocation(descriptors)

    def started(self, process_id: int) -> None:
        """Set the limits on the inside and let the command begin."""
        self._was_started = True
        self._on_process(process_id)
        self._info_end = _closed(self._info_end)
        self._status_end = _closed(self._status_end)
        self._filter = _closed(self._filter)
        self._pid_max = _closed(self._pid_max)
        first = _first_process(_read_to_end(self._info, SETUP_TIMEOUT_S))
        self._info = _closed(self._info)
        if first:
            self._hold_first_process(first)
            self._on_process(first)
            self._limit(first)
            self._block_end_written()
        else:
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)  # it has failed by itself, or hangs

    @property
    def has_failed(self) -> bool:
        """Once it is closed: whether bwrap ended before the command could begin, without being told to."""
        return self._was_started and not self._was_set_up and not self._was_told_to_end

    def terminate(self) -> bool:
        """Send SIGTERM to every process inside; the command is in a session of its own, which no group reaches."""
        self._was_told_to_end = True
        inside = _in_pid_namespace_of(self._first_process_id) if self._is_alive() else []
        for process_id in inside:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process_id, signal.SIGTERM)
                os.kill(process_id, signal.SIGCONT)  # one that is stopped sees the signal only when it goes on
        return bool(inside)

    def wait_until_empty(self) -> None:
        """Wait until the first process has ended, with which the kernel ends and reaps every other one inside."""
        if self._first_process < 0 or _wait_for(self._first_process, EMPTY_TIMEOUT_S):
            return
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._first_process, signal.SIGKILL)
        _wait_for(self._first_process, EMPTY_TIMEOUT_S)

    def close(self) -> None:
        """Let every descriptor go; after the end."""
        self._was_set_up = self._first_process_id != 0 and self._has_begun()
        self._filter = _closed(self._filter)
        self._pid_max = _closed(self._pid_max)
        self._info = _closed(self._info)
        self._info_end = _closed(self._info_end)
        self._status = _closed(self._status)
        self._status_end = _closed(self._status_end)
        self._block_end = _closed(self._block_end)
        self._block = _closed(self._block)
        self._first_process = _closed(self._first_process)

    def _has_begun(self) -> bool:
        """Whether the byte was taken that the command waited for, or bwrap outside has told how the command ended.

        The byte alone is not enough: the inside can put others into the pipe, through its first process. What bwrap
        tells it can neither forge nor take back, but nobody tells it where bwrap was killed.
        """
        told = _read_to_end(self._status, 0)
        return self._block >= 0 and (_waiting_bytes(self._block) == 0 or b'"exit-code"' in told)

    def _hold_first_process(self, process_id: int) -> None:
        with suppress(ProcessLookupError):
            self._first_process = os.pidfd_open(process_id)
            self._first_process_id = process_id

    def _limit(self, process_id: int) -> None:
        bounds = {
            resource.RLIMIT_NPROC: self._limits.processes,
            resource.RLIMIT_FSIZE: self._limits.file_bytes,
            resource.RLIMIT_CORE: _NO_CORE_DUMP,
        }
        for kind, most in bounds.items():
            with suppress(ProcessLookupError):
                _, hard = resource.prlimit(process_id, kind)
                bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.prlimit(process_id, kind, (bound, bound))

    def _block_end_written(self) -> None:
        with suppress(BrokenPipeError):
            os.write(self._block_end, b"\n")
        self._block_end = _closed(self._block_end)

    def _is_alive(self) -> bool:
        return self._first_process >= 0 and not _wait_for(self._first_process, 0)


def _pid_max(processes: int) -> bytes:
    return b"%d\n" % max(_PID_MAX_LOWEST, processes + _PID_MAX_MARGIN)


_NO_CORE_DUMP: Final = 1  # with 0 the kernel would still start the host's program for crashes
_PID_MAX_LOWEST: Final = 301
_PID_MAX_MARGIN: Final = 128  # once they have all been used, the kernel gives none of the first 300 numbers again


def in_memory(content: bytes) -> int:
    """A descriptor of a file that has no name, at its beginning."""
    descriptor = os.memfd_create("openbuffer")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _closed(descriptor: int) -> int:
    if descriptor >= 0:
        os.close(descriptor)
    return -1


def _read_to_end(descriptor: int, timeout_s: float) -> bytes:
    """What bwrap reports; it must not be cut short, because bwrap dies of that and leaves an inside half made."""
    deadline = time.monotonic() + timeout_s
    report = b""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while len(report) < REPORT_MAX_BYTES and poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        part = os.read(descriptor, REPORT_MAX_BYTES)
        if not part:
            break
        report += part
    return report


def _first_process(report: bytes) -> int:
    try:
        return int(json.loads(report)["child-pid"])
    except (ValueError, KeyError, TypeError):
        return 0


def _in_pid_namespace_of(first_process_id: int) -> list[int]:
    """The processes inside, as numbers of the host, without the first one, which is bwrap's own."""
    try:
        namespace = os.readlink(f"/proc/{first_process_id}/ns/pid")
    except OSError:
        return []
    inside: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != first_process_id:
            with suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/pid") == namespace:
                    inside.append(int(name))
    return inside


def _waiting_bytes(pipe: int) -> int:
    waiting = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return waiting[0]


def _nobody(process_id: int) -> None:
    del process_id


def _wait_for(process_descriptor: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(process_descriptor, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))
