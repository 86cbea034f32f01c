"""The temporary directory of a session's confined commands: its own, kept until the session ends, swept if it died.

What commands leave there is hostile: links, directories without permissions, trees of any depth. Nothing here follows
a link, and nothing recurses.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIX: Final = "temporary-"
_LOCK: Final = "lock"
_CONTENT: Final = "content"


class Scratch:
    """A directory below ``state_directory`` that lives as long as this object, or until its process has ended."""

    def __init__(self, state_directory: str) -> None:
        os.makedirs(state_directory, mode=0o700, exist_ok=True)
        sweep(state_directory)
        self._directory, self._lock_fd = _new_directory(state_directory)
        self.path = os.path.join(self._directory, _CONTENT)
        os.mkdir(self.path)
        os.chmod(self.path, 0o1777)  # noqa: S103  what programs expect of /tmp; the directory above lets nobody else in

    def prepare(self, directories: Iterable[str], places: Iterable[str]) -> None:
        """Make these directories, parents first, and see to it that no link stands at these places, so that something
        can be mounted on both. What is in the way was left there by a command, and is removed.

        Raises:
            OSError: it cannot be done.
        """
        root_fd = os.open(self.path, _OPEN_DIRECTORY)
        try:
            for path in directories:
                os.close(_make_directories(root_fd, path.split("/")))
            for path in places:
                *parents, name = path.split("/")
                parent_fd = _make_directories(root_fd, parents)
                try:
                    _remove_link(name, parent_fd)
                finally:
                    os.close(parent_fd)
        finally:
            os.close(root_fd)

    def close(self) -> None:
        """Remove the directory with everything in it."""
        if self._lock_fd >= 0:
            remove_tree(self._directory)
            os.close(self._lock_fd)
            self._lock_fd = -1


def sweep(state_directory: str) -> None:
    """Remove the directories of sessions whose process has ended without removing them."""
    for name in os.listdir(state_directory):
        if name.startswith(_PREFIX):
            _remove_if_left(os.path.join(state_directory, name))


def remove_tree(directory: str) -> None:
    """Remove a directory with everything in it, however deep and whatever its permissions; what resists stays."""
    with suppress(OSError):
        current_fd = os.open(directory, _OPEN_DIRECTORY)
        try:
            current_fd = _emptied(current_fd)
        finally:
            os.close(current_fd)
        os.rmdir(directory)


def _new_directory(state_directory: str) -> tuple[str, int]:
    """A new directory with its lock held. Another session's sweep may take it away before that; then once more."""
    while True:
        directory = os.path.join(state_directory, _PREFIX + secrets.token_hex(8))
        os.mkdir(directory, 0o700)
        lock = os.path.join(directory, _LOCK)
        try:
            lock_fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue
        fcntl.flock(lock_fd, fcntl.LOCK_EX)
        if os.path.exists(lock):
            return directory, lock_fd
        os.close(lock_fd)


def _remove_if_left(directory: str) -> None:
    try:
        lock_fd = os.open(os.path.join(directory, _LOCK), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        # Its owner died before it made the lock, or is about to make it: an empty directory is nobody's loss.
        with suppress(OSError):
            os.rmdir(directory)
        return
    except OSError:
        return
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    else:
        remove_tree(directory)
    finally:
        os.close(lock_fd)


def _emptied(current_fd: int) -> int:
    """Empty a directory, level by level, with one descriptor open at a time; gives the one that is open at the end.

    A tree can be deeper than descriptors, paths and recursion reach, so the way up is ``..``, checked by identity.
    """
    above: list[tuple[str, tuple[int, int], list[str]]] = []
    directories = _remove_files(current_fd)
    while directories or above:
        if directories:
            name = directories.pop()
            _open_to_its_owner(name, current_fd)
            with suppress(OSError):
                inner_fd = os.open(name, _OPEN_DIRECTORY, dir_fd=current_fd)
                above.append((name, _identity(current_fd), directories))
                os.close(current_fd)
                current_fd = inner_fd
                directories = _remove_files(current_fd)
            continue
        name, identity, directories = above.pop()
        outer_fd = os.open("..", _OPEN_DIRECTORY, dir_fd=current_fd)
        os.close(current_fd)
        current_fd = outer_fd
        if _identity(current_fd) != identity:
            return current_fd  # somebody moves it about meanwhile; what is left is swept another time
        with suppress(OSError):
            os.rmdir(name, dir_fd=current_fd)
    return current_fd


def _remove_files(directory_fd: int) -> list[str]:
    """Remove what is no directory; gives the names of the directories."""
    left: list[str] = []
    for name in os.listdir(directory_fd):
        try:
            if not stat.S_ISDIR(os.stat(name, dir_fd=directory_fd, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=directory_fd)
            else:
                left.append(name)
        except OSError:
            continue
    return left


def _identity(descriptor: int) -> tuple[int, int]:
    facts = os.fstat(descriptor)
    return facts.st_dev, facts.st_ino


def _open_to_its_owner(name: str, parent_fd: int) -> None:
    """A directory without permission to write cannot be emptied."""
    if not hasattr(os, "O_PATH"):
        with suppress(OSError):
            os.chmod(name, 0o700, dir_fd=parent_fd, follow_symlinks=False)
        return
    with suppress(OSError):
        descriptor = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent_fd)
        try:
            os.chmod(f"/proc/self/fd/{descriptor}", 0o700)
        finally:
            os.close(descriptor)


def _make_directories(root_fd: int, parts: list[str]) -> int:
    """A descriptor of the directory below the root, made with all its parents where it is missing."""
    current_fd = os.dup(root_fd)
    for part in parts:
        try:
            next_fd = _directory_at(part, current_fd)
        finally:
            os.close(current_fd)
        current_fd = next_fd
    return current_fd


def _directory_at(name: str, parent_fd: int) -> int:
    with suppress(OSError):
        return os.open(name, _OPEN_DIRECTORY, dir_fd=parent_fd)
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent_fd)
    os.mkdir(name, 0o755, dir_fd=parent_fd)
    return os.open(name, _OPEN_DIRECTORY, dir_fd=parent_fd)


def _remove_link(name: str, parent_fd: int) -> None:
    with suppress(FileNotFoundError):
        if stat.S_ISLNK(os.stat(name, dir_fd=parent_fd, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=parent_fd)


_OPEN_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
