"""Giving a new file the owner, access control list, extended attributes and mode of the one it replaces."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

_ACL: Final = "system.posix_acl_access"
# Signatures of the old content: the kernel makes its own.
_OF_THE_KERNEL: Final = frozenset({"security.ima", "security.evm"})
# Meant for the superuser; that others cannot copy them is not worth a word in every result.
_PRIVILEGED: Final = ("trusted.", "security.")
_NOT_PERMITTED: Final = frozenset({errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.EINVAL})
_SET_ID: Final = stat.S_ISUID | stat.S_ISGID


def copy_metadata(source_fd: int, source: os.stat_result, target_fd: int) -> list[str]:
    """Make ``target_fd`` like ``source_fd`` and return what could not be kept, one sentence each.

    The order matters: changing the owner clears set-id bits and capabilities, and the mode comes last, so that the
    file is never more open than it ends up.

    Raises:
        OSError: no space for attributes, or an access control list that cannot be kept: without it the mode
            would mean something else.
    """
    mode = stat.S_IMODE(source.st_mode)
    notes: list[str] = []
    owned, grouped = _copy_owner(source, target_fd, notes)
    if not (owned and grouped):
        mode &= ~_SET_ID
    if not grouped:
        # The group bits would now open the file to another group: leave it no more than everybody has.
        mode &= ~stat.S_IRWXG | ((mode & stat.S_IRWXO) << 3)
    _copy_attributes(source_fd, target_fd, notes)
    os.fchmod(target_fd, mode)
    return notes


def _copy_owner(source: os.stat_result, target_fd: int, notes: list[str]) -> tuple[bool, bool]:
    new = os.fstat(target_fd)
    if (new.st_uid, new.st_gid) == (source.st_uid, source.st_gid):
        return True, True
    if _changed_owner(target_fd, source.st_uid, source.st_gid):
        return True, True
    grouped = new.st_gid == source.st_gid or _changed_owner(target_fd, -1, source.st_gid)
    owned = new.st_uid == source.st_uid
    if not owned:
        notes.append(f"the owner could not be kept: user {source.st_uid} before, user {new.st_uid} now")
    if not grouped:
        notes.append(f"the group could not be kept: group {source.st_gid} before, group {new.st_gid} now")
    return owned, grouped


def _changed_owner(fd: int, user: int, group: int) -> bool:
    try:
        os.fchown(fd, user, group)
    except OSError as error:
        if error.errno in _NOT_PERMITTED:
            return False
        raise
    return True


def _copy_attributes(source_fd: int, target_fd: int, notes: list[str]) -> None:
    if not hasattr(os, "listxattr"):
        notes.append("extended attributes and access control lists are not copied on this system")
        return
    wanted, present = _attributes(source_fd), _attributes(target_fd)
    if _ACL in present and _ACL not in wanted:
        # Inherited from the directory's default list: it would let in people whom the old file kept out.
        os.removexattr(target_fd, _ACL)
    lost = [name for name in wanted if name not in _OF_THE_KERNEL and not _copied(source_fd, target_fd, name)]
    told = [name for name in lost if not name.startswith(_PRIVILEGED)]
    if told:
        notes.append(f"extended attributes that could not be kept: {', '.join(told)}")


def _attributes(fd: int) -> list[str]:
    try:
        return os.listxattr(fd)
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.ENOSYS}:
            return []
        raise


def _copied(source_fd: int, target_fd: int, name: str) -> bool:
    try:
        os.setxattr(target_fd, name, os.getxattr(source_fd, name))
    except OSError as error:
        if error.errno == errno.ENODATA:
            return True
        if name != _ACL and error.errno in _NOT_PERMITTED:
            return False
        raise
    return True
