"""Several processes that search files at the same time, while their owner walks.

They are forked from a process that has one thread and does nothing but search, and end with the search: files to look
at come to them through one queue, whoever is free takes the next, and what they found comes back at the end.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn

from .. import openat2
from .content import NotSearchedError, open_directory, read_in, text_of
from .order import Found

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from .matcher import Matcher

_MESSAGE_MAX_BYTES: Final = 32 * 1024
_BATCH_FILES: Final = 96
_CREW_MAX: Final = 8
_PR_SET_PDEATHSIG: Final = 1


def crew_size() -> int:
    """One for every processor that may be used, up to a bound."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, _CREW_MAX)


def search_files(
    directory_fd: int, path: str, names: list[str], matcher: Matcher, max_bytes: int, found: Found, *, counts: bool
) -> None:
    """Search these files of one opened directory. ``counts``: how many lines; else the number is 1."""
    prefix = f"{path}/" if path else ""
    for name in names:
        try:
            lines = lines_in(text_of(read_in(directory_fd, name, max_bytes)), matcher, counts=counts)
        except NotSearchedError as error:
            found.leave_out(prefix + name, error)
            continue
        found.searched += 1
        if lines:
            found.matched.append((prefix + name, lines))


def lines_in(text: bytes, matcher: Matcher, *, counts: bool) -> int:
    """How many lines of a text match, or 1 for any number.

    Raises:
        NotSearchedError: the pattern takes too much time or memory on it.
    """
    try:
        return matcher.count(text) if counts else int(matcher.matches(text))
    except MemoryError:
        raise NotSearchedError("too much memory") from None


def ends_with_parent() -> None:
    """Have the kernel end this process when the one that made it ends; where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Crew:
    """Use as a context manager: nothing of it is left behind."""

    def __init__(self, top_fd: int, matcher: Matcher, max_bytes: int, *, counts: bool) -> None:
        self._top_fd = top_fd
        self._matcher = matcher
        self._max_bytes = max_bytes
        self._counts = counts
        self._batch: list[tuple[str, list[str]]] = []
        self._batch_files = 0
        self._batch_bytes = 0
        self._processes: list[int] = []
        self._results: list[int] = []
        self._queue: socket.socket

    def __enter__(self) -> Self:
        """Start them."""
        self._queue, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        owner = os.getpid()
        for _ in range(crew_size()):
            result, their_result = os.pipe()
            process = os.fork()
            if not process:
                self._queue.close()
                self._member(theirs, their_result, owner)
            os.close(their_result)
            self._processes.append(process)
            self._results.append(result)
        theirs.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End them, if they have not ended."""
        self._queue.close()
        for result in self._results:
            os.close(result)
        for process in self._processes:
            if error is not None:
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def put(self, path: str, names: list[str]) -> None:
        """Have these files of one directory searched."""
        for start in range(0, len(names), _BATCH_FILES):
            part = names[start : start + _BATCH_FILES]
            self._batch.append((path, part))
            self._batch_files += len(part)
            self._batch_bytes += len(path) + sum(map(len, part))
            if self._batch_files >= _BATCH_FILES or self._batch_bytes > _MESSAGE_MAX_BYTES // 4:
                self._send()

    def found(self) -> Found:
        """Wait until all is searched.

        Raises:
            MemoryError: one of them ran out of memory, or was ended.
        """
        if self._batch:
            self._send()
        self._queue.shutdown(socket.SHUT_WR)
        whole = Found()
        for result in self._results:
            data = _read_to_end(result)
            if not data:
                raise MemoryError("a process that searched has ended before it was done")
            whole.add(Found.of(marshal.loads(data)))  # noqa: S302  from a fork of this very process
        return whole

    def _send(self) -> None:
        try:
            self._queue.send(marshal.dumps(self._batch))
        except (BrokenPipeError, ConnectionResetError):
            raise MemoryError("the processes that searched have ended") from None
        self._batch, self._batch_files, self._batch_bytes = [], 0, 0

    def _member(self, queue: socket.socket, result: int, owner: int) -> NoReturn:
        """The life of one of them."""
        code = 1
        try:
            ends_with_parent()
            if os.getppid() == owner:
                found = Found()
                while message := queue.recv(_MESSAGE_MAX_BYTES * 4):
                    self._search(marshal.loads(message), found)  # noqa: S302  from the process that forked this one
                _write_all(result, marshal.dumps(found.plain()))
                code = 0
        finally:
            os._exit(code)

    def _search(self, batch: Any, found: Found) -> None:
        for path, names in batch:
            try:
                fd = _directory(self._top_fd, path)
            except OSError:
                for name in names:
                    found.leave_out(f"{path}/{name}", NotSearchedError("changed"))
                continue
            try:
                search_files(fd, path, names, self._matcher, self._max_bytes, found, counts=self._counts)
            finally:
                os.close(fd)


def _directory(top_fd: int, path: str) -> int:
    """A directory of the walk, opened again below its top; in one step where the system can do that."""
    if path and openat2.available():
        return openat2.open_directory_beneath(top_fd, path)
    return open_directory(top_fd, path)


def _read_to_end(fd: int) -> bytes:
    parts: list[bytes] = []
    while part := os.read(fd, 1024 * 1024):
        parts.append(part)
    return b"".join(parts)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
