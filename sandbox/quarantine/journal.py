"""The journal of commands that run, so that whoever comes after a killed server knows what to look for.

One file per running command in a directory that all servers of a user share. Its first line says how the protected
names stood; later lines say what happened since. Its owner holds a lock on it, which the kernel lets go when the owner
dies however it dies: a record whose lock is free belongs to nobody any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import SandboxError
from .host_writes import below_key
from .states import RootState, unpack

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

LOCK_WAIT_S: Final = 10.0
RECORD_MAX_BYTES: Final = 4 * 1024 * 1024
RECORDS_MAX: Final = 1_000
"""Records that are looked at; more do not run at once."""

_LOCK_NAME: Final = "lock"
_SUFFIX: Final = ".record"


class Opening(BaseModel):
    """The first line. Times are nanoseconds since the epoch; after ``ends_by_ns`` the command cannot have run, unless
    the machine slept, which it had done for ``asleep_ns`` when the command began. Names in the quarantine begin with
    ``prefix``.
    """

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    started_ns: int
    ends_by_ns: int
    asleep_ns: int
    prefix: str
    roots: tuple[RootState, ...]


class Process(BaseModel):
    """A process of the command was started. ``born`` is its start by the kernel's clock, which tells it from another
    process of the same number.
    """

    what: Literal["process"] = "process"
    process_id: int
    born: int


class HostWrote(BaseModel):
    """The host wrote a file with this content: the path below the root, packed and case-folded, and a SHA-256."""

    what: Literal["host"] = "host"
    root: int
    below: str
    digest: str


class SetAside(BaseModel):
    """A name was renamed inside the root, and is on its way to the quarantine."""

    what: Literal["aside"] = "aside"
    root: int
    name: str
    aside: str


LineT = TypeVar("LineT", Process, HostWrote, SetAside)


@dataclass(slots=True)
class Record:
    """One command's record; ``descriptor`` holds the lock as long as it is open."""

    name: str
    descriptor: int
    opening: Opening
    processes: list[Process] = field(default_factory=list[Process])
    host_wrote: list[HostWrote] = field(default_factory=list[HostWrote])
    set_aside: list[SetAside] = field(default_factory=list[SetAside])

    def append(self, line: Process | HostWrote | SetAside) -> None:
        """Add a line; it is whole or, for a reader, not there.

        Raises:
            OSError: it could not be written.
        """
        _write_line(self.descriptor, line)

    def read_again(self) -> None:
        """Take in what others have added."""
        _, lines = _parse(self.descriptor)
        _sort_into(self, lines)

    def release(self) -> None:
        """Let go of the lock: to others the record is then a dead command's."""
        _let_go(self.descriptor)


@dataclass(frozen=True, slots=True)
class Running:
    """What a record says whose command still runs."""

    opening: Opening
    host_wrote: list[HostWrote]


class Journal:
    """The directory of records. Every method blocks; waiting for its lock is bounded."""

    def __init__(self, directory_fd: int) -> None:
        self._directory_fd = directory_fd

    @contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Between servers and threads: nobody else opens, or judges, records meanwhile.

        Raises:
            SandboxError: the lock could not be had in time.
        """
        descriptor = os.open(_LOCK_NAME, _FLAGS | os.O_CREAT, 0o600, dir_fd=self._directory_fd)
        try:
            deadline = time.monotonic() + LOCK_WAIT_S
            while not _try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise SandboxError(
                        "another process holds the journal of running commands and did not let go within "
                        f"{LOCK_WAIT_S:g} s; the command was not run. Try again."
                    )
                time.sleep(0.002)
            yield
        finally:
            _let_go(descriptor)

    def open_record(self, opening: Opening, host_wrote: Sequence[HostWrote]) -> Record:
        """Write a new record, with what is known of the host from the start, and hold it. Called under ``locked``.

        Raises:
            OSError: it could not be written; nothing of it is left.
        """
        name = f"{opening.started_ns}-{secrets.token_hex(8)}{_SUFFIX}"
        descriptor = os.open(name, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self._directory_fd)
        try:
            if not _try_lock(descriptor):
                raise SandboxError("a new record of the journal is locked by somebody else; the command was not run.")
            _write_line(descriptor, opening)
            for line in host_wrote:
                _write_line(descriptor, line)
        except BaseException:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._directory_fd)
            raise
        return Record(name, descriptor, opening)

    def running_and_dead(self) -> tuple[list[Running], list[Record]]:
        """What others run now, and the records of the dead, which the caller holds from now on.

        Called under ``locked``. A record that says nothing belongs to a command that was not started; it is removed.
        """
        running: list[Running] = []
        dead: list[Record] = []
        for name in self._names():
            record = self._take_up(name)
            if isinstance(record, Record):
                dead.append(record)
            elif record is not None:
                running.append(record)
        return running, dead

    def tell_running(self, path: str, digest: str) -> None:
        """Add to the records of all roots that hold this resolved path that the host wrote the file. Called under
        ``locked``.
        """
        for name in self._names():
            with contextlib.suppress(OSError):
                descriptor = os.open(name, _FLAGS, dir_fd=self._directory_fd)
                try:
                    opening, _ = _parse(descriptor)
                    for number, root in enumerate(opening.roots if opening else ()):
                        below = path.removeprefix(unpack(root.path).rstrip("/") + "/")
                        if below != path:
                            _write_line(descriptor, HostWrote(root=number, below=below_key(below), digest=digest))
                finally:
                    os.close(descriptor)

    def remove(self, record: Record) -> None:
        """The command has ended and all is settled."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(record.name, dir_fd=self._directory_fd)
        record.release()

    def _names(self) -> list[str]:
        with os.scandir(self._directory_fd) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(_SUFFIX))
        return names[-RECORDS_MAX:]  # the newest

    def _take_up(self, name: str) -> Running | Record | None:
        try:
            descriptor = os.open(name, _FLAGS, dir_fd=self._directory_fd)
        except OSError:
            return None
        is_dead = _try_lock(descriptor)
        try:
            opening, lines = _parse(descriptor)
        except OSError:
            opening, lines = None, []
        if is_dead and opening is not None:
            record = Record(name, descriptor, opening)
            _sort_into(record, lines)
            return record
        if is_dead:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._directory_fd)
        os.close(descriptor)
        return Running(opening, _lines_of(lines, HostWrote)) if opening is not None and not is_dead else None


_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def _try_lock(descriptor: int) -> bool:
    import fcntl  # noqa: PLC0415  absent on systems that have no sandbox, and those still import this

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _let_go(descriptor: int) -> None:
    import fcntl  # noqa: PLC0415  as above

    try:
        # Closing alone would keep the lock for as long as a process that was forked meanwhile holds the descriptor.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _write_line(descriptor: int, line: BaseModel) -> None:
    content = line.model_dump_json().encode() + b"\n"
    if os.write(descriptor, content) != len(content):
        raise OSError("the journal of running commands could not be written whole")


def _parse(descriptor: int) -> tuple[Opening | None, list[object]]:
    content = bytearray()
    while len(content) < RECORD_MAX_BYTES and (piece := os.pread(descriptor, 1 << 16, len(content))):
        content += piece
    # What follows the last line end was being written when its writer died.
    first, *rest = bytes(content).split(b"\n")[:-1] or [b""]
    try:
        opening = Opening.model_validate_json(first)
    except ValidationError:
        return None, []
    lines: list[object] = []
    for line in rest:
        with contextlib.suppress(ValueError):
            lines.append(json.loads(line))
    return opening, lines


def _sort_into(record: Record, lines: list[object]) -> None:
    record.processes[:] = _lines_of(lines, Process)
    record.host_wrote[:] = _lines_of(lines, HostWrote)
    record.set_aside[:] = _lines_of(lines, SetAside)


def _lines_of(lines: list[object], model: type[LineT]) -> list[LineT]:
    found: list[LineT] = []
    for line in lines:
        with contextlib.suppress(ValidationError):
            found.append(model.model_validate(line))
    return found
