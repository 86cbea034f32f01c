"""Moving an entry out of a root: never followed, never deleted, whatever its modes, size and depth.

A rename where the file systems allow it. Else the entry gets another name in the root at once, which takes the effect
from it, and is then carried over within bounds; what cannot be carried stays under that name, and is told.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .copy import CopyRefused, carry_tree, unlocked
from .protected import exists

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

ASIDE_PREFIX: Final = "moved-by-openbuffer-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Where an entry is now; ``aside`` is its new name in the root if it could not leave it, and ``because`` why."""

    path: str
    aside: str = ""
    because: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """An open directory and its path for messages."""

    descriptor: int
    path: str


def move_out(
    root: Place, name: str, quarantine: Place, moved_name: str, set_aside: Callable[[str], None], deadline: float
) -> Moved | None:
    """Move ``name`` out of the root into the quarantine; None when it is not there any more.

    ``moved_name`` is what it is called there; no other command uses it. ``set_aside`` is called with its new name
    before an entry gets one in the root. After ``deadline``, of the monotonic clock, nothing is copied any more.

    Raises:
        OSError: it cannot be moved at all; it is where it was.
    """
    moved_name = _free_name(quarantine.descriptor, moved_name)
    with may_be_changed(root.descriptor):
        try:
            _rename(root.descriptor, name, quarantine.descriptor, moved_name)
        except FileNotFoundError:
            return None
        except OSError:
            # Another file system, a full one, or one that does not let this directory change its parent.
            aside = f"{ASIDE_PREFIX}{secrets.token_hex(8)}{name}"
            set_aside(aside)
            try:
                os.rename(name, aside, src_dir_fd=root.descriptor, dst_dir_fd=root.descriptor)
            except FileNotFoundError:
                return None
            return carry_aside(root, aside, quarantine, moved_name, deadline)
    return Moved(path=os.path.join(quarantine.path, moved_name))


def carry_aside(root: Place, aside: str, quarantine: Place, moved_name: str, deadline: float) -> Moved:
    """Carry what was renamed in the root to the quarantine, within bounds."""
    moved_name = _free_name(quarantine.descriptor, moved_name)
    here = os.path.join(root.path, aside)
    try:
        with may_be_changed(root.descriptor):
            left = carry_tree(root.descriptor, aside, quarantine.descriptor, moved_name, deadline)
    except CopyRefused as refusal:
        return Moved(path=here, aside=aside, because=str(refusal))
    except OSError as error:
        return Moved(path=here, aside=aside, because=error.strerror or "it cannot be copied")
    there = os.path.join(quarantine.path, moved_name)
    return Moved(path=there, aside=aside if left else "", because=left)


@contextmanager
def may_be_changed(directory_fd: int) -> Generator[None, None, None]:
    """Let the owner change an open directory meanwhile, whose mode a command may have taken that right from."""
    mode = stat.S_IMODE(os.fstat(directory_fd).st_mode)
    is_closed = mode & 0o300 != 0o300
    if is_closed:
        with contextlib.suppress(OSError):  # not ours: then what follows fails, and says so
            os.fchmod(directory_fd, mode | 0o700)
    try:
        yield
    finally:
        if is_closed:
            with contextlib.suppress(OSError):
                os.fchmod(directory_fd, mode)


def _free_name(directory_fd: int, wanted: str) -> str:
    """The name, with a number where the same command has moved something there before."""
    names = itertools.chain([wanted], (f"{wanted}-{number}" for number in itertools.count(2)))
    return next(name for name in names if not exists(name, directory_fd))


def _rename(source_fd: int, name: str, target_fd: int, target_name: str) -> None:
    try:
        os.rename(name, target_name, src_dir_fd=source_fd, dst_dir_fd=target_fd)
    except OSError as error:
        found = os.stat(name, dir_fd=source_fd, follow_symlinks=False)
        if error.errno not in {errno.EACCES, errno.EPERM} or not stat.S_ISDIR(found.st_mode):
            raise
        # A directory that may not be written cannot change its parent, which is written in it.
        with unlocked(source_fd, name):
            os.rename(name, target_name, src_dir_fd=source_fd, dst_dir_fd=target_fd)
