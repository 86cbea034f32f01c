"""Finds the processes that a command has started, also those that left its group or its session, and signals them."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROCESSES: Final = "/proc"
_WRITABLE: Final = 0o200


@dataclass(frozen=True, slots=True)
class Process:
    """A process that is not yet dead. ``started`` tells it from a later one with the same id (0: not known)."""

    pid: int
    parent: int
    group: int
    session: int
    started: int


class Relatives:
    """The processes of one command, by its leader.

    Those are: its session and its group; who can write to its output, which whoever it starts inherits; and their
    children. What was once found stays known when its parent goes. A process that has left the session, has closed
    the output and has lost its parent before anyone looked is a daemon, and not found.
    """

    def __init__(self, leader: int, pipe_inode: int, since_ticks: int) -> None:
        self._leader = leader
        self._pipe_inode = pipe_inode
        self._since_ticks = since_ticks
        self._known: set[tuple[int, int]] = set()

    def alive(self) -> list[Process]:
        """Those that are alive now."""
        own_session = os.getsid(0)
        # Nothing of ours can be of our own session; a child of ours that is about to become another command is, for a
        # moment, and then still holds copies of every pipe.
        candidates = [
            process
            for process in running_processes()
            if process.started >= self._since_ticks and process.session != own_session
        ]
        writers = writers_of(self._pipe_inode, (process.pid for process in candidates))
        found = {
            process.pid
            for process in candidates
            if self._leader in {process.session, process.group}
            or process.pid in writers
            or (process.pid, process.started) in self._known
        }
        found.discard(os.getpid())
        grown = True
        while grown:
            children = {process.pid for process in candidates if process.parent in found}
            grown = not children <= found
            found |= children
        alive = [process for process in candidates if process.pid in found]
        self._known.update((process.pid, process.started) for process in alive)
        return alive

    def any_alive(self) -> bool:
        """Whether one of them is alive; costs little while one is that was found before."""
        return any(self._is_known(pid) for pid, _ in self._known) or bool(self.alive())

    def group_exists(self) -> bool:
        """Whether the leader's group has a member, be it one that is dead and not collected; costs little."""
        collect_group(self._leader)
        try:
            os.killpg(self._leader, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def send(self, *numbers: signal.Signals) -> None:
        """Signal the group at once, and everyone else who is found."""
        # Found before the first signal, which takes parents away.
        others = [process for process in self.alive() if process.group != self._leader]
        for number in numbers:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, number)
            for process in others:
                _send_exactly(process, number)

    def _is_known(self, pid: int) -> bool:
        with suppress(OSError, ValueError, IndexError):
            process = _from_stat(pid)
            return process is not None and (pid, process.started) in self._known
        return False


def collect_group(group: int) -> None:
    """Collect dead members of a group that became our children, as orphans do where we are their reaper."""
    with suppress(ChildProcessError):
        while os.waitid(os.P_PGID, group, os.WEXITED | os.WNOHANG) is not None:
            pass


def running_processes() -> list[Process]:
    """Every process that can be seen and is not dead."""
    try:
        names = os.listdir(_PROCESSES)
    except FileNotFoundError:
        return _listed_by_ps()
    processes: list[Process] = []
    for name in names:
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                process = _from_stat(int(name))
                if process is not None:
                    processes.append(process)
    return processes or _listed_by_ps()


def writers_of(pipe_inode: int, process_ids: Iterable[int]) -> set[int]:
    """Which of the processes can write to the pipe; readers do not count, because the owner is one."""
    wanted = f"pipe:[{pipe_inode}]"
    return {process_id for process_id in process_ids if _writes(process_id, wanted)}


def _from_stat(process_id: int) -> Process | None:
    with open(f"{_PROCESSES}/{process_id}/stat", "rb") as file:
        # The name, in parentheses, may hold anything; nothing behind it holds a parenthesis.
        fields = file.read().rpartition(b")")[2].split()
    if fields[0] in {b"Z", b"X"}:
        return None
    return Process(process_id, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def _listed_by_ps() -> list[Process]:
    listed = subprocess.run(
        ["/bin/ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    processes: list[Process] = []
    for line in listed.stdout.splitlines():
        fields = line.split()
        if len(fields) == 4 and not fields[3].startswith(b"Z"):
            pid, parent, group = (int(field) for field in fields[:3])
            processes.append(Process(pid, parent, group, group, 0))
    return processes


def _writes(process_id: int, wanted: str) -> bool:
    folder = f"{_PROCESSES}/{process_id}/fd"
    try:
        descriptors = os.listdir(folder)
    except OSError:
        return False
    for descriptor in descriptors:
        path = f"{folder}/{descriptor}"
        with suppress(OSError):
            if os.readlink(path) == wanted and os.lstat(path).st_mode & _WRITABLE:
                return True
    return False


def _send_exactly(process: Process, number: signal.Signals) -> None:
    """Signal this process, and never one that got its id after its end."""
    if not hasattr(os, "pidfd_open") or process.started == 0:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)
        return
    try:
        process_fd = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        with suppress(OSError):
            now = _from_stat(process.pid)
            if now is not None and now.started == process.started:
                signal.pidfd_send_signal(process_fd, number)
    finally:
        os.close(process_fd)
