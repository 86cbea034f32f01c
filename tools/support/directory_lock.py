"""One writer at a time per directory, across threads and processes and whatever a path is spelled like (E12).

The lock is an advisory ``flock`` on the directory itself, so nothing is created and nothing can be left behind;
the kernel releases it when its holder dies.
"""

from __future__ import annotations

import errno
import os
import random
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .. import limits
from ..errors import ToolCancelledError, ToolFailure
from .located import printable

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..contract import CancellationToken

_FIRST_WAIT_S: Final = 0.000_2
_LONGEST_WAIT_S: Final = 0.01
# NFS answers EBADF: it turns flock into a record lock, which needs a descriptor that can write.
_UNSUPPORTED: Final = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF})
# A directory that may be written and not read cannot be opened for locking.
_NO_ENTRY: Final = frozenset({errno.EACCES, errno.EPERM})


@dataclass(frozen=True, slots=True)
class Held:
    """A directory's lock, while it is held.

    Attributes:
        fd: the directory, opened for reading; None where it may not be read.
        missing: a sentence for the result where this file system or these permissions allow no lock; else None.
    """

    fd: int | None
    missing: str | None


@contextmanager
def directory_lock(
    directory_fd: int, directory: str, token: CancellationToken | None = None
) -> Generator[Held, None, None]:
    """Hold the lock of the opened directory; blocks up to ``limits.FILE_LOCK_TIMEOUT_S``, or until ``token`` is set.

    ``directory`` is its path for messages. Where no lock can be had the work goes on and the result says so.

    Raises:
        ToolFailure: another holder did not let go in time.
        ToolCancelledError: the call was cancelled while waiting.
        OSError: the directory cannot be opened, as when it was removed.
    """
    try:
        # An open file description of its own per lock: threads of one process then exclude each other as well.
        lock_fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory_fd)
    except OSError as error:
        if error.errno not in _NO_ENTRY:
            raise
        yield Held(None, _unlocked(directory, error))
        return
    try:
        missing = _acquire(lock_fd, directory, token)
        try:
            yield Held(lock_fd, missing)
        finally:
            if missing is None:
                _release(lock_fd)
    finally:
        os.close(lock_fd)


def _acquire(lock_fd: int, directory: str, token: CancellationToken | None) -> str | None:
    import fcntl  # noqa: PLC0415  absent on systems where file tools are refused, and those still import this

    deadline = time.monotonic() + limits.FILE_LOCK_TIMEOUT_S
    wait_s = _FIRST_WAIT_S
    while True:
        try:
            fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise _still_held(directory) from None
            if token is not None and token.cancelled:
                raise ToolCancelledError(
                    f"{printable(directory)}: the call was cancelled while it waited for another change there; "
                    "nothing was changed."
                ) from None
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                return _unlocked(directory, error)
            raise
        else:
            return None
        # Waiters that started together would otherwise keep meeting.
        time.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311  no secret depends on it
        wait_s = min(wait_s * 2, _LONGEST_WAIT_S)


def _release(lock_fd: int) -> None:
    import fcntl  # noqa: PLC0415  as above

    # Closing alone would keep the lock for as long as a process that was forked meanwhile holds the descriptor.
    fcntl.flock(lock_fd, fcntl.LOCK_UN)


def _still_held(directory: str) -> ToolFailure:
    return ToolFailure(
        f"another process is changing a file in {printable(directory)} and did not finish within "
        f"{limits.FILE_LOCK_TIMEOUT_S:g} s; nothing was changed. Try again."
    )


def _unlocked(directory: str, error: OSError) -> str:
    return (
        f"no lock could be taken in {printable(directory)} ({error.strerror}): a change that another process makes "
        "at the same moment could be lost"
    )
