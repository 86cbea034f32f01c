"""Carrying a tree to another file system, within bounds: copied whole and then removed, or left as it was.

Content, names, modes (without setuid) and times travel. Everything goes by open directories and never through a link;
a tree that is deeper, larger or slower than the bounds, or holds what cannot be copied, is left where it is.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

COPY_MAX_BYTES: Final = 64 * 1024 * 1024
COPY_MAX_ENTRIES: Final = 2_000
COPY_MAX_DEPTH: Final = 64
"""Levels of directories; two descriptors are open for each."""

COPY_MAX_S: Final = 10.0
"""For all trees of one root together."""

_PIECE_BYTES: Final = 1024 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class CopyRefused(Exception):  # noqa: N818  not a failure of the program: the reason why a tree stays
    """The tree cannot be copied; the text is a clause that says why."""


@dataclass(slots=True)
class Copied:
    """What was copied, by file; of each how it was, so that what was changed since is not removed."""

    deadline: float
    bytes: int = 0
    entries: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict[tuple[int, int], tuple[int, int]])

    def count(self, found: os.stat_result) -> None:
        """Take in one more entry.

        Raises:
            CopyRefused: that is too much.
        """
        self.entries[found.st_dev, found.st_ino] = _version(found)
        self.bytes += found.st_size if stat.S_ISREG(found.st_mode) else 0
        if len(self.entries) > COPY_MAX_ENTRIES:
            raise CopyRefused(f"it holds more than {COPY_MAX_ENTRIES:,} files")
        if self.bytes > COPY_MAX_BYTES:
            raise CopyRefused(f"it holds more than {COPY_MAX_BYTES // 2**20} MiB")
        if time.monotonic() > self.deadline:
            raise CopyRefused(f"copying takes longer than {COPY_MAX_S:g} s")


@dataclass(slots=True)
class _Level:
    """A directory on the way down, with the names that are still to be done."""

    source_fd: int
    target_fd: int
    found: os.stat_result
    names: list[str]


def carry_tree(source_fd: int, name: str, target_fd: int, target_name: str, deadline: float) -> str:
    """Copy ``name`` from one open directory to ``target_name`` in another, then remove it; nothing may be in the way.

    ``deadline`` is one of the monotonic clock.

    Returns:
        Empty, or a clause that says what of the source is still there beside the whole copy.

    Raises:
        CopyRefused: it cannot be copied; the source is as it was and nothing of a copy is left.
        OSError: as before, by a failure of the system.
    """
    copied = Copied(deadline=deadline)
    try:
        _copy_tree(source_fd, name, target_fd, target_name, copied)
    except BaseException:
        with contextlib.suppress(OSError):
            remove_tree(target_fd, target_name, None)
        raise
    try:
        kept = remove_tree(source_fd, name, copied)
    except OSError as error:
        return f"the original could not be removed ({error.strerror})"
    return "what was changed in the original while it was copied is still there" if kept else ""


def _copy_tree(source_fd: int, name: str, target_fd: int, target_name: str, copied: Copied) -> None:
    levels: list[_Level] = []
    try:
        _copy_entry(source_fd, name, target_fd, target_name, copied, levels)
        while levels:
            level = levels[-1]
            if level.names:
                below = level.names.pop()
                _copy_entry(level.source_fd, below, level.target_fd, below, copied, levels)
            else:
                _close(levels.pop())
    finally:
        for level in levels:
            _abandon(level)


def _copy_entry(
    source_fd: int, name: str, target_fd: int, target_name: str, copied: Copied, levels: list[_Level]
) -> None:
    found = os.stat(name, dir_fd=source_fd, follow_symlinks=False)
    copied.count(found)
    if stat.S_ISDIR(found.st_mode):
        _enter(source_fd, name, target_fd, target_name, found, levels)
    elif stat.S_ISREG(found.st_mode):
        _copy_file(source_fd, name, target_fd, target_name, copied)
    elif stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(name, dir_fd=source_fd), target_name, dir_fd=target_fd)
    elif stat.S_ISFIFO(found.st_mode):
        os.mkfifo(target_name, 0o600, dir_fd=target_fd)
    else:
        raise CopyRefused("it holds a socket or a device")


def _enter(
    source_fd: int, name: str, target_fd: int, target_name: str, found: os.stat_result, levels: list[_Level]
) -> None:
    if len(levels) >= COPY_MAX_DEPTH:
        raise CopyRefused(f"it is more than {COPY_MAX_DEPTH} directories deep")
    if levels and found.st_dev != levels[0].found.st_dev:
        raise CopyRefused("another file system is mounted in it")
    inner_fd = open_directory(source_fd, name)
    try:
        os.mkdir(target_name, 0o700, dir_fd=target_fd)
        copy_fd = os.open(target_name, _READ_DIRECTORY, dir_fd=target_fd)
    except BaseException:
        os.close(inner_fd)
        raise
    level = _Level(source_fd=inner_fd, target_fd=copy_fd, found=found, names=[])
    levels.append(level)
    with os.scandir(inner_fd) as entries:
        for entry in entries:
            level.names.append(entry.name)
            if len(level.names) > COPY_MAX_ENTRIES:
                raise CopyRefused(f"it holds more than {COPY_MAX_ENTRIES:,} files")


def _copy_file(source_fd: int, name: str, target_fd: int, target_name: str, copied: Copied) -> None:
    reading = _open_readable(source_fd, name)
    try:
        found = os.fstat(reading)
        if not stat.S_ISREG(found.st_mode):
            raise CopyRefused("it is being changed")
        writing = os.open(target_name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=target_fd)
        try:
            # Counted while it is read: the file may grow.
            left = found.st_size
            while piece := os.read(reading, min(_PIECE_BYTES, left + 1)):
                left -= len(piece)
                if left < 0 or time.monotonic() > copied.deadline:
                    raise CopyRefused("it is being changed, or takes too long to copy")
                _write_all(writing, piece)
            _keep_mode_and_times(writing, found)
            os.fsync(writing)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _open_readable(directory_fd: int, name: str) -> int:
    try:
        return os.open(name, _READ, dir_fd=directory_fd)
    except PermissionError:
        with unlocked(directory_fd, name):
            return os.open(name, _READ, dir_fd=directory_fd)


def open_directory(directory_fd: int, name: str) -> int:
    """Open a directory below an open one, whatever its mode says, as its owner may.

    Raises:
        OSError: it cannot be opened.
    """
    try:
        return os.open(name, _READ_DIRECTORY, dir_fd=directory_fd)
    except PermissionError:
        with unlocked(directory_fd, name):
            return os.open(name, _READ_DIRECTORY, dir_fd=directory_fd)


@contextlib.contextmanager
def unlocked(directory_fd: int, name: str) -> Generator[None, None, None]:
    """Let the owner read, write and enter ``name`` meanwhile, whatever its mode says; a link is never followed.

    Raises:
        OSError: its mode cannot be changed.
    """
    descriptor = os.open(name, _BY_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory_fd)
    try:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        # A descriptor of the path alone cannot be changed through, but names the file without a way for a link.
        own_path = f"/proc/self/fd/{descriptor}"
        os.chmod(own_path, mode | 0o700)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.chmod(own_path, mode)
    finally:
        os.close(descriptor)


_BY_PATH: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _keep_mode_and_times(descriptor: int, found: os.stat_result) -> None:
    os.utime(descriptor, ns=(found.st_atime_ns, found.st_mtime_ns))
    os.fchmod(descriptor, found.st_mode & 0o777)


def _close(level: _Level) -> None:
    try:
        _keep_mode_and_times(level.target_fd, level.found)
        os.fsync(level.target_fd)
    finally:
        _abandon(level)


def _abandon(level: _Level) -> None:
    os.close(level.source_fd)
    os.close(level.target_fd)


@dataclass(slots=True)
class _Clearing:
    """A directory that is being emptied, and what it is called where it lies."""

    descriptor: int
    parent_fd: int
    name: str
    names: list[str]


def remove_tree(directory_fd: int, name: str, copied: Copied | None) -> int:
    """Remove what was copied; without ``copied`` everything, which is a copy that was begun.

    Returns:
        How many entries were left, because they are new or were changed since.

    Raises:
        OSError: something cannot be removed.
    """
    kept = 0
    stack: list[_Clearing] = []
    try:
        kept += _remove_entry(directory_fd, name, copied, stack)
        while stack:
            top = stack[-1]
            if top.names:
                kept += _remove_entry(top.descriptor, top.names.pop(), copied, stack)
                continue
            stack.pop()
            os.close(top.descriptor)
            try:
                os.rmdir(top.name, dir_fd=top.parent_fd)
            except OSError:
                kept += 1
    finally:
        for clearing in stack:
            os.close(clearing.descriptor)
    return kept


def _remove_entry(directory_fd: int, name: str, copied: Copied | None, stack: list[_Clearing]) -> int:
    found = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
    is_directory = stat.S_ISDIR(found.st_mode)
    known = copied is None or copied.entries.get((found.st_dev, found.st_ino))
    if known is None or (known is not True and not is_directory and known != _version(found)):
        return 1
    if not is_directory:
        os.unlink(name, dir_fd=directory_fd)
        return 0
    if len(stack) > COPY_MAX_DEPTH:
        return 1
    with contextlib.suppress(OSError):
        # A directory that may not be written cannot be emptied; its owner may change that.
        if found.st_mode & 0o300 != 0o300:
            _make_writable(directory_fd, name)
    descriptor = open_directory(directory_fd, name)
    clearing = _Clearing(descriptor, directory_fd, name, [])
    stack.append(clearing)
    with os.scandir(descriptor) as entries:
        clearing.names.extend(entry.name for entry in itertools.islice(entries, COPY_MAX_ENTRIES + 1))
    return 0


def _make_writable(directory_fd: int, name: str) -> None:
    descriptor = open_directory(directory_fd, name)
    try:
        os.fchmod(descriptor, stat.S_IMODE(os.fstat(descriptor).st_mode) | 0o700)
    finally:
        os.close(descriptor)


def _version(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns
