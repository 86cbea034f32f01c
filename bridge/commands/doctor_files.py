"""What the doctor looks at in a workspace: containment, locks, atomic creation, traits of its file system.

Every probe works on a descriptor of the root or on a file without a name, so that nothing can be left behind.
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from openbuffer.tools.support import openat2
from openbuffer.tools.support.descriptor_path import descriptors_have_paths

from .findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

_NETWORK_FILE_SYSTEMS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "fuse.sshfs", "virtiofs"})


def examine_root(root: Path) -> Iterator[Finding]:
    """Look at the workspace; a root that cannot be opened ends the examination with that."""
    yield _containment()
    try:
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        yield Finding("workspace", "bad", f"{root}: {error.strerror}", "name a directory that exists with --root")
        return
    try:
        yield _writable(root)
        yield _file_system(root)
        yield from (probe(fd) for probe in (_locks, _nameless_files, _attributes))
        yield _letter_case(root)
    finally:
        os.close(fd)


def _containment() -> Finding:
    if not descriptors_have_paths():
        return Finding(
            "containment",
            "note",
            "paths are compared before they are opened: a link swapped in between is not noticed",
            "use Linux with /proc, or macOS, where untrusted programs change the workspace",
        )
    how = "openat2 and the opened file's own path" if openat2.available() else "the opened file's own path"
    return Finding("containment", "good", f"judged on what was really opened ({how})")


def _writable(root: Path) -> Finding:
    if os.access(root, os.W_OK | os.X_OK):
        return Finding("workspace", "good", f"{root} can be read and written")
    read_only = hasattr(os, "statvfs") and os.statvfs(root).f_flag & os.ST_RDONLY
    if read_only:
        fix = "it is on a read-only file system: name another with --root"
    elif os.stat(root).st_uid == os.geteuid():
        fix = f"chmod u+rwx {shlex.quote(str(root))}"
    else:
        fix = "it belongs to another user: have them let you write there, or name another with --root"
    return Finding("workspace", "note", f"{root} can be read only: Write and Edit fail there", fix)


def _file_system(root: Path) -> Finding:
    kind = file_system_type(root)
    if kind is None:
        return Finding("file system", "note", "its type cannot be found out here")
    if kind in _NETWORK_FILE_SYSTEMS:
        detail = f"{kind}: other machines can change files without this one noticing at once; locks may not reach them"
        return Finding("file system", "note", detail, "keep the workspace on a local disk where two machines use it")
    return Finding("file system", "good", kind)


def file_system_type(path: Path, mounts: str = "/proc/self/mountinfo") -> str | None:
    """The type of the file system that holds ``path``, as the kernel lists it; None where that cannot be had."""
    try:
        device = os.stat(path).st_dev
        with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
            wanted = f"{os.major(device)}:{os.minor(device)}"
            for line in lines:
                fields = line.split()
                if fields[2] == wanted:
                    return fields[fields.index("-") + 1]
    except (OSError, ValueError, IndexError):
        return None
    return None


def _locks(fd: int) -> Finding:
    def lock() -> None:
        import fcntl  # noqa: PLC0415  absent on Windows

        with suppress(BlockingIOError):  # somebody holds it: so it works
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(fd, fcntl.LOCK_UN)

    why_not = _why_not(lock)
    if why_not is None:
        return Finding("locks", "good", "flock works: two processes that change one file wait for each other")
    return Finding("locks", "note", f"flock does not work here ({why_not})", "let one process at a time change files")


def _nameless_files(fd: int) -> Finding:
    def create() -> None:
        with _nameless_file(fd):
            pass

    why_not = _why_not(create)
    if why_not is None:
        return Finding("new files", "good", "O_TMPFILE works: a new file appears whole or not at all")
    return Finding("new files", "note", f"no O_TMPFILE here ({why_not}): a temporary name is used for a moment instead")


def _attributes(fd: int) -> Finding:
    def set_one() -> None:
        with _nameless_file(fd) as probe:
            os.setxattr(probe, "user.openbuffer", b"probe")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  Linux only, and judged here

    why_not = _why_not(set_one)
    if why_not is None:
        return Finding("attributes", "good", "extended attributes work and are kept by edits")
    return Finding("attributes", "note", f"extended attributes cannot be tried here ({why_not})")


@contextmanager
def _nameless_file(directory_fd: int) -> Generator[int, None, None]:
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600, dir_fd=directory_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def _why_not(probe: Callable[[], object]) -> str | None:
    """None when the probe works, else why it does not."""
    try:
        probe()
    except OSError as error:
        return error.strerror or str(error)
    except (AttributeError, ImportError):
        return f"{sys.platform} does not have it"
    return None


def _letter_case(root: Path) -> Finding:
    """Ask for an existing name in other letters; making a file to find out would be seen by watchers."""
    try:
        with os.scandir(root) as entries:
            name = next((entry.name for entry in entries if entry.name.swapcase() != entry.name), None)
        if name is None:
            return Finding("letter case", "note", "cannot be told: the workspace has no name with letters")
        same = os.path.samestat(os.lstat(root / name), os.lstat(root / name.swapcase()))
    except FileNotFoundError:
        same = False
    except OSError as error:
        return Finding("letter case", "note", f"cannot be told ({error.strerror})")
    return Finding("letter case", "good", "does not matter in names" if same else "matters in names")
