"""Deleting a file, a link itself or an empty directory, if it still is what was looked at (F11, E12).

The name is looked at and removed relative to the opened directory, under the directory's lock. As with replacing a
file, what another program puts under the name in the few microseconds after the last look is not noticed.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ..errors import PathRefusedError, PlanOutdatedError, ToolFailure
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
from .descriptor_path import LISTING_FLAGS
from .located import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..contract import CancellationToken
    from .directory_lock import Held
    from .located import Located


def delete_file(
    located: Located,
    content: bytes | None,
    *,
    token: CancellationToken | None = None,
    last_look: Callable[[], None] | None = None,
) -> tuple[str, ...]:
    """Delete the located regular file, if it still holds ``content``; blocks. Returns remarks for the result.

    Without ``content`` its size and times are compared. ``token`` ends the wait for another writer early;
    ``last_look`` is called after all that takes time and raises where the file is not to be touched any more.

    Raises:
        PlanOutdatedError: it is not what it was, or not where it was; nothing was deleted.
        ToolFailure: it cannot be deleted; the text says why and what to do.
    """
    assert located.status is not None
    with _locked_directory(located, token) as held:
        fd, before = open_current(located)
        try:
            if not os.path.samestat(before, located.status):
                raise outdated(located, "it was replaced")
            require_writable(located)
            if last_look is not None:
                last_look()
            if content is not None and not same_content(fd, [memoryview(content)] if content else []):
                raise outdated(located)
            require_untouched(located, located.status if content is None else before)
            require_same_directory(located)
            os.unlink(located.name, dir_fd=located.parent_fd)
            others = os.fstat(fd).st_nlink
        finally:
            os.close(fd)
    names = f"its content is still there under other names of the file (hard links: {others})"
    return (*_unlocked(held), names) if others else _unlocked(held)


def delete_link(located: Located, target: str, *, token: CancellationToken | None = None) -> tuple[str, ...]:
    """Delete the located link itself, if it still leads to ``target``; raises and returns as ``delete_file`` does."""
    with _locked_directory(located, token) as held:
        _require_same(located)
        if link_target(located) != target:
            raise outdated(located, "it leads to something else")
        os.unlink(located.name, dir_fd=located.parent_fd)
    return _unlocked(held)


def delete_directory(
    located: Located, *, token: CancellationToken | None = None, last_look: Callable[[], None] | None = None
) -> tuple[str, ...]:
    """Delete the located directory, if it is empty; raises and returns as ``delete_file`` does."""
    with _locked_directory(located, token) as held:
        if last_look is not None:
            last_look()
        _require_same(located)
        require_same_directory(located)
        os.rmdir(located.name, dir_fd=located.parent_fd)
    return _unlocked(held)


def link_target(located: Located) -> str:
    """Where the located link leads, as it says itself.

    Raises:
        PlanOutdatedError: it is no link any more.
    """
    try:
        return os.readlink(located.name, dir_fd=located.parent_fd)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.EINVAL}:
            raise outdated(located, "it was removed or replaced") from None
        raise _failure(located, error) from error


def count_entries(located: Located) -> int:
    """How many entries the located directory has.

    Raises:
        PlanOutdatedError: it is no directory any more.
        PathRefusedError: it cannot be read.
    """
    try:
        fd = os.open(located.name, LISTING_FLAGS, dir_fd=located.parent_fd)
    except OSError as error:
        if error.errno in _SOMETHING_ELSE:
            raise outdated(located, "it was removed or replaced") from None
        raise PathRefusedError(
            f"{printable(located.path)}: this directory cannot be read ({error.strerror or error}), so that it is not "
            "known whether it is empty; nothing was deleted. Its permissions have to be changed first."
        ) from error
    try:
        with os.scandir(fd) as entries:
            return sum(1 for _ in entries)
    finally:
        os.close(fd)


@contextmanager
def _locked_directory(located: Located, token: CancellationToken | None) -> Generator[Held]:
    try:
        with locked_directory(located, token) as held:
            yield held
    except OSError as error:
        raise _failure(located, error) from error


def _require_same(located: Located) -> None:
    assert located.status is not None
    now = os.stat(located.name, dir_fd=located.parent_fd, follow_symlinks=False)
    if not os.path.samestat(now, located.status):
        raise outdated(located, "it was replaced")


def _unlocked(held: Held) -> tuple[str, ...]:
    return (held.missing,) if held.missing else ()


def _failure(located: Located, error: OSError) -> ToolFailure | PlanOutdatedError:
    number = error.errno or 0
    if number in _SOMETHING_ELSE:
        return outdated(located, _SOMETHING_ELSE[number])
    return system_refusal(
        located.path, error, cannot="cannot be deleted", outcome="nothing was deleted", advice=_ADVICE
    )


_SOMETHING_ELSE: Final = {
    errno.ENOENT: "it or its directory was removed",
    errno.ESTALE: "it or its directory was removed",
    errno.ENOTDIR: "it is something else by now",
    errno.ELOOP: "it is something else by now",
    errno.EISDIR: "it is something else by now",
    errno.ENOTEMPTY: "it is not empty any more",
    errno.EEXIST: "it is not empty any more",
}
_PERMISSION: Final = "The permissions of its directory (or an attribute of its own) have to be changed first."
_ADVICE: Final = {
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EBUSY: "It is a mount point, or in use by the system; unmount it first.",
}
