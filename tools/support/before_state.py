"""What has to be as it was, right before a file is replaced or deleted (E12). Everything here blocks."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ..errors import PathRefusedError, PlanOutdatedError, ToolFailure
from .descriptor_path import descriptor_path, descriptors_have_paths
from .directory_lock import directory_lock
from .located import printable

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from ..contract import CancellationToken
    from .directory_lock import Held
    from .located import Located

COMPARE_BYTES: Final = 256 * 1024
_READ_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC


def require_same_directory(located: Located) -> None:
    """The gate judged a path; a directory that was moved since would carry the change somewhere else.

    Raises:
        PlanOutdatedError: it was moved or removed.
    """
    if not descriptors_have_paths():
        return
    expected = os.path.dirname(located.path)
    for _ in located.missing_parents:
        expected = os.path.dirname(expected)
    try:
        actual = descriptor_path(located.anchor_fd)
    except OSError:
        actual = None
    if actual != expected:
        raise outdated(located, "its directory was moved or removed")


@contextmanager
def locked_directory(located: Located, token: CancellationToken | None) -> Generator[Held]:
    """Hold the lock of the directory of the located name; ``token`` ends the wait early.

    Raises:
        PlanOutdatedError: it was moved or removed.
        ToolFailure: another writer does not let go of it.
        OSError: whatever else locking may raise.
    """
    with directory_lock(located.anchor_fd, os.path.dirname(located.path), token) as held:
        require_same_directory(located)
        yield held


def system_refusal(path: str, error: OSError, *, cannot: str, outcome: str, advice: Mapping[int, str]) -> ToolFailure:
    """The error for what the system does not do; ``advice`` is what to do then, by the error's number."""
    number = error.errno or 0
    kind = PathRefusedError if number in {errno.EACCES, errno.EPERM, errno.EROFS} else ToolFailure
    told = advice.get(number) or _ADVICE.get(number, "Find out why before trying again.")
    return kind(f"{printable(path)}: {cannot} ({error.strerror or error}); {outcome}. {told}")


def open_current(located: Located) -> tuple[int, os.stat_result]:
    """The regular file that has the name now, opened for reading. The caller closes it.

    Raises:
        PlanOutdatedError: there is none.
        OSError: whatever else opening may raise.
    """
    directory_fd, name = located.anchor_fd, located.name
    try:
        status = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            raise outdated(located, "it is no regular file any more")
        fd = os.open(name, _READ_FLAGS, dir_fd=directory_fd)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ELOOP, errno.ENXIO}:
            raise outdated(located, "it was removed or replaced") from None
        raise
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise outdated(located, "it is no regular file any more")
    return fd, status


def require_writable(located: Located) -> None:
    """A directory's permission is enough to replace or delete a file; that the file is read-only is respected too.

    Raises:
        PathRefusedError: it is.
    """
    effective = os.access in os.supports_effective_ids
    if not os.access(located.name, os.W_OK, dir_fd=located.anchor_fd, effective_ids=effective):
        read_only_disk = os.fstatvfs(located.anchor_fd).f_flag & os.ST_RDONLY
        advice = _READ_ONLY_DISK if read_only_disk else "Its permissions have to be changed first."
        raise PathRefusedError(
            f"{printable(located.path)}: is read-only for this process; the file is unchanged. {advice}"
        )


_READ_ONLY_DISK: Final = "The file system is read-only; name a file on one that can be written."
_ADVICE: Final = {
    errno.EROFS: _READ_ONLY_DISK,
    errno.EMFILE: "This process has too many open files; try again later.",
    errno.ENFILE: "The system has too many open files; try again later.",
}


def same_content(fd: int, expected: Sequence[memoryview]) -> bool:
    """Whether the file's bytes are exactly ``expected``; reads it once, through one small buffer."""
    size = min(COMPARE_BYTES, 1 + max((len(view) for view in expected), default=0))
    buffer = bytearray(size)
    window = memoryview(buffer)
    offset = 0
    for view in expected:
        start = 0
        while start < len(view):
            want = min(size, len(view) - start)
            got = os.preadv(fd, [window[:want]], offset)
            # A bytearray compares blocks of memory; two memoryviews would be compared item by item.
            if got == 0 or not buffer.startswith(view[start : start + got]):
                return False
            start += got
            offset += got
    return os.preadv(fd, [window[:1]], offset) == 0


def require_untouched(located: Located, before: os.stat_result) -> None:
    """Compare identity, size and times once more; the last look before the name changes hands.

    Raises:
        PlanOutdatedError: they differ, or nothing is there.
    """
    try:
        now = os.stat(located.name, dir_fd=located.anchor_fd, follow_symlinks=False)
    except FileNotFoundError:
        raise outdated(located, "it was removed") from None
    if _identity(now) != _identity(before):
        raise outdated(located)


def outdated(located: Located, what: str = "it was changed") -> PlanOutdatedError:
    """The error of a change whose before-state no longer holds."""
    return PlanOutdatedError(f"{printable(located.path)}: {what} on disk since the change was prepared.")


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
