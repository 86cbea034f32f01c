"""How the protected names of a root stood at one moment, and how that is told apart from a later moment."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from .birth import born_ns
from .protected import PROTECTED_NAMES, ProtectedEntry, has_bare_shape, kind_of, resolved

if TYPE_CHECKING:
    from collections.abc import Sequence


class NameState(BaseModel):
    """What one name is: its kind, which file, and for a link its text, which file it reaches, and that one's path.

    Texts are packed: bytes of the path, one character each, since a path need not be text in any encoding.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["absent", "file", "directory", "link", "other"] = "absent"
    device: int = 0
    inode: int = 0
    born: int = 0
    target: str = ""
    reached: str = ""
    leads_to: str = ""

    def same_entry(self, other: NameState) -> bool:
        """Whether both are the same entry; links are the same when they say the same."""
        if self.kind == "link" or other.kind == "link":
            return self.kind == other.kind and self.target == other.target
        mine, others = ((each.kind, each.device, each.inode, each.born) for each in (self, other))
        return mine == others


class RootState(BaseModel):
    """The protected names of one root. ``path`` is packed. A name that is not among ``names`` is absent, if it is one
    that was looked for: another version of this program looks for others.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    device: int
    inode: int
    born: int
    looked_for: frozenset[str] = frozenset(PROTECTED_NAMES)
    names: dict[str, NameState]
    bare: bool

    def state_of(self, name: str) -> NameState | None:
        """The state of a protected name; None where it is not known."""
        return self.names.get(name, ABSENT) if name in self.looked_for else None

    def is_of(self, other: RootState) -> bool:
        """Whether both are of the same directory, whatever it is called."""
        return (self.device, self.inode) == (other.device, other.inode)


ABSENT = NameState()


def look(root_fd: int, name: str) -> NameState:
    """The state of a name in an open directory.

    Raises:
        OSError: it cannot be said, as in a directory that may not be searched.
    """
    try:
        found = os.stat(name, dir_fd=root_fd, follow_symlinks=False)
        kind = kind_of(found.st_mode)
        target = pack(os.readlink(name, dir_fd=root_fd)) if kind == "link" else ""
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return look(root_fd, name)  # it was a link and is none any more
    reached = _reached(root_fd, name) if kind == "link" else ""
    return NameState(
        kind=kind,
        device=found.st_dev,
        inode=found.st_ino,
        born=born_ns(root_fd, name),
        target=target,
        reached=reached,
    )


def look_at_root(path: str, root_fd: int) -> RootState:
    """How all protected names of an open root stand.

    Raises:
        OSError: it cannot be said.
    """
    root = os.fstat(root_fd)
    states = {name: look(root_fd, name) for name in PROTECTED_NAMES}
    for name, state in states.items():
        if state.reached:
            states[name] = state.model_copy(update={"leads_to": pack(resolved(os.path.join(path, name)))})
    return RootState(
        path=pack(path),
        device=root.st_dev,
        inode=root.st_ino,
        born=born_ns(root_fd, "."),
        names={name: state for name, state in states.items() if state.kind != "absent"},
        bare=has_bare_shape(root_fd),
    )


def inherited(now: RootState, earlier: Sequence[RootState]) -> RootState:
    """How a root stood before all commands that run there now, so far as it matters for one that starts beside them.

    A name that was absent, or a link, when an earlier command began is still judged by that: what is there now may be
    that command's work. ``earlier`` is oldest first.
    """
    of_root = [state for state in earlier if state.is_of(now)]
    names = dict(now.names)
    for name in PROTECTED_NAMES:
        before = next(filter(_may_be_planted, (state.state_of(name) for state in of_root)), None)
        if before is not None:
            names[name] = before
    return now.model_copy(
        update={
            "names": {name: state for name, state in names.items() if state.kind != "absent"},
            "bare": now.bare and all(state.bare for state in of_root),
        }
    )


def entries_of(state: RootState) -> tuple[ProtectedEntry, ...]:
    """What stood of the protected names, whatever stands there now."""
    root = unpack(state.path)
    return tuple(
        ProtectedEntry(
            root=root,
            name=name,
            path=os.path.join(root, name),
            kind=found.kind,
            target=unpack(found.target),
            leads_to=unpack(found.leads_to) if found.kind == "link" else os.path.join(root, name),
        )
        for name, found in state.names.items()
        if found.kind != "absent"
    )


def pack(path: str) -> str:
    """A path as text that JSON can hold."""
    return os.fsencode(path).decode("latin-1")


def unpack(packed: str) -> str:
    """The path that was packed."""
    return os.fsdecode(packed.encode("latin-1"))


def _may_be_planted(before: NameState | None) -> bool:
    # Everything else is mounted read-only in the commands, which pins it.
    return before is not None and before.kind in {"absent", "link"}


def _reached(root_fd: int, name: str) -> str:
    try:
        found = os.stat(name, dir_fd=root_fd)
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}:{born_ns(root_fd, name, follow=True)}"
