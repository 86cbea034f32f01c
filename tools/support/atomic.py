"""Replacing and creating files whole-old or whole-new, without ever losing somebody else's change (F3, F4, E12).

New content is written to a nameless file in the same directory and then takes the name in one step, so a full disk,
a size limit or SIGKILL leaves the old file as it was. What is guarded against, and how far:

- Another openbuffer, in any process: excluded by a lock on the directory, and the content is compared under it.
- Any other program: the content is compared, and the file's identity, size and times are compared once more
  directly before the rename. What it writes in the few microseconds after that is lost; no system call closes
  this gap for programs that take no lock.
- SIGKILL: between taking the temporary name and the rename, a few microseconds, the new content has a name of its
  own (``unnamed_file.TEMPORARY_PREFIX``). One that is left behind is removed by the next process that writes in
  that directory.
- Power failure: nothing is forced to the medium (no fsync). It would triple the cost of an edit, the editors that
  work on the same files do not wait for it either, and what is protected here is a file's consistency against
  programs and people; file systems write the data before such a rename or keep the old file.
"""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import PlanOutdatedError
from .before_state import (
    locked_directory,
    open_current,
    outdated,
    require_same_directory,
    require_untouched,
    require_writable,
    same_content,
    system_refusal,
)
from .descriptor_path import DIRECTORY_FLAGS
from .directory_lock import directory_lock
from .file_metadata import copy_metadata
from .located import printable
from .unnamed_file import CannotLinkError, UnnamedFile, remove_leftovers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ..contract import CancellationToken
    from .directory_lock import Held
    from .located import Located


@dataclass(frozen=True, slots=True)
class Written:
    """What was written; ``notes`` are sentences for the result about what is not as one would expect."""

    status: os.stat_result
    notes: tuple[str, ...]


def replace_file(
    located: Located,
    parts: Sequence[bytes | memoryview],
    *,
    expected: bytes | memoryview | Sequence[bytes | memoryview],
    token: CancellationToken | None = None,
    last_look: Callable[[], None] | None = None,
) -> Written:
    """Replace the located file's content by ``parts``, if it still is ``expected``; blocks.

    ``token`` ends the wait for another writer early. ``last_look`` is called after all that takes time and raises
    where the file is not to be touched any more.

    Mode, owner, group, extended attributes and access control list are kept where permitted.

    Raises:
        PlanOutdatedError: the file is not what it was, or not where it was; nothing was changed.
        ToolFailure: it cannot be written; the file is unchanged, and the text says why and what to do.
    """
    views = _views(expected)
    with _failures_told(located.path, "the file is unchanged"), locked_directory(located, token) as held:
        notes = _prepared(held)
        try:
            return _replace(located, parts, views, notes, last_look, anonymous=True)
        except CannotLinkError:
            return _replace(located, parts, views, notes, last_look, anonymous=False)


def create_file(
    located: Located,
    parts: Sequence[bytes | memoryview],
    *,
    token: CancellationToken | None = None,
    last_look: Callable[[], None] | None = None,
) -> Written:
    """Create the located missing file with its missing parents, never over something; blocks.

    ``token`` and ``last_look`` are those of ``replace_file``.

    The process's umask and the directory's default access control list decide who may use it. Parents that were
    made here are removed again when the file could not be created.

    Raises:
        PlanOutdatedError: something has that name by now, or the directory is not where it was.
        ToolFailure: it cannot be created; nothing was, and the text says why and what to do.
    """
    with _failures_told(located.path, "nothing was created"), _parents(located) as directory_fd:
        directory = os.path.dirname(located.path)
        with directory_lock(directory_fd, directory, token) as held:
            notes = _prepared(held)
            try:
                return _create(located, directory_fd, parts, notes, last_look, anonymous=True)
            except CannotLinkError:
                return _create(located, directory_fd, parts, notes, last_look, anonymous=False)


def _prepared(held: Held) -> list[str]:
    if held.fd is not None and held.missing is None:
        remove_leftovers(held.fd)
    return [held.missing] if held.missing else []


def _replace(
    located: Located,
    parts: Sequence[bytes | memoryview],
    expected: list[memoryview],
    notes: list[str],
    last_look: Callable[[], None] | None,
    *,
    anonymous: bool,
) -> Written:
    directory_fd, name = located.anchor_fd, located.name
    with ExitStack() as stack:
        current_fd, before = open_current(located)
        stack.callback(os.close, current_fd)
        if before.st_size != sum(len(view) for view in expected):
            raise outdated(located)
        require_writable(located)
        new = stack.enter_context(UnnamedFile(directory_fd, mode=0o600, anonymous=anonymous))
        new.write(parts)
        told = [*notes, *copy_metadata(current_fd, before, new.fd)]
        if before.st_nlink > 1:
            told.append(f"other names of this file (hard links: {before.st_nlink}) keep the old content")
        if last_look is not None:
            last_look()
        # As late as can be: after everything that takes time, directly before the rename.
        if not same_content(current_fd, expected):
            raise outdated(located)
        new.take_name()
        require_untouched(located, before)
        require_same_directory(located)
        new.replace(name)
        return Written(os.fstat(new.fd), tuple(told))


def _create(
    located: Located,
    directory_fd: int,
    parts: Sequence[bytes | memoryview],
    notes: list[str],
    last_look: Callable[[], None] | None,
    *,
    anonymous: bool,
) -> Written:
    with UnnamedFile(directory_fd, mode=0o666, anonymous=anonymous) as new:
        new.write(parts)
        if last_look is not None:
            last_look()
        require_same_directory(located)
        try:
            new.publish(located.name)
        except FileExistsError:
            raise outdated(located, "something has this name by now") from None
        status = os.fstat(new.fd)
    return Written(status, tuple(notes))


def _views(content: bytes | memoryview | Sequence[bytes | memoryview]) -> list[memoryview]:
    parts = [content] if isinstance(content, (bytes, bytearray, memoryview)) else content
    return [memoryview(part).cast("B") for part in parts if memoryview(part).nbytes]


# --- missing parents -------------------------------------------------------------------------------------------


@contextmanager
def _parents(located: Located) -> Generator[int, None, None]:
    """The opened directory of the new file; what was made is removed again when the block fails."""
    with ExitStack() as stack:
        require_same_directory(located)
        directory_fd = located.anchor_fd
        made: list[tuple[int, str]] = []
        try:
            for name in located.missing_parents:
                child_fd = _make_directory(located, directory_fd, name, made)
                stack.callback(os.close, child_fd)
                directory_fd = child_fd
            yield directory_fd
        except BaseException:
            for holder_fd, name in reversed(made):
                _remove_if_empty(holder_fd, name)
            raise


def _make_directory(located: Located, directory_fd: int, name: str, made: list[tuple[int, str]]) -> int:
    try:
        os.mkdir(name, dir_fd=directory_fd)
        made.append((directory_fd, name))
    except FileExistsError:
        pass  # somebody else made it: a directory is as good as ours, and opening it tells anything else
    except FileNotFoundError:
        raise outdated(located, "its directory was removed") from None
    try:
        return os.open(name, DIRECTORY_FLAGS | os.O_NOFOLLOW, dir_fd=directory_fd)
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP, errno.ENOENT}:
            raise outdated(located, f"the directory {printable(name)} was taken by something else") from None
        raise


def _remove_if_empty(holder_fd: int, name: str) -> None:
    try:
        os.rmdir(name, dir_fd=holder_fd)
    except OSError:
        return  # somebody uses it by now, or removed it


# --- failures --------------------------------------------------------------------------------------------------


@contextmanager
def _failures_told(path: str, outcome: str) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ESTALE}:
            raise PlanOutdatedError(
                f"{printable(path)}: its directory was removed since the change was prepared."
            ) from error
        raise system_refusal(path, error, cannot="cannot be written", outcome=outcome, advice=_ADVICE) from error


_PERMISSION = (
    "A new file has to be made in its directory, and that is not permitted (or the file is immutable); it is never "
    "written in place. The directory's permissions have to be changed first."
)
_BUSY = "It is a mount point of its own (as single files in containers are) and cannot be replaced; unmount it first."
_ADVICE = {
    errno.ENOSPC: "The disk is full: free some space, then try again.",
    errno.EDQUOT: "The disk quota is used up: free some space, then try again.",
    errno.EFBIG: "It would be over the file-size limit of this process or file system; write less, or raise the limit.",
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EBUSY: _BUSY,
    errno.EXDEV: _BUSY,
    errno.ENAMETOOLONG: "Use a shorter name.",
}
