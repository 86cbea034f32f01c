"""The arguments of bubblewrap for one confined command. Pure: descriptors and paths in, an argument vector out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..limits import SHARED_MEMORY_MAX_BYTES
from .mounts import binds_of, hidden_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..confinement.layout import Layout

NAMESPACE_FLAGS: Final = (
    "--unshare-user",
    "--disable-userns",  # a nested user namespace would give capabilities back
    "--cap-drop",  # as the real root bwrap keeps them all otherwise
    "ALL",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",  # without the terminal of the server
)

READ_ONLY_KERNEL_FILES: Final = (
    "/proc/acpi",
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/scsi",
)
"""Their files are root's, who may write many of them without any capability, as those of /proc/sys. Not all exist
everywhere.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptors:
    """The numbers of the descriptors that bwrap inherits.

    ``filter``: the program for system calls. ``info``: bwrap writes what it started. ``status``: bwrap writes how the
    command has ended, if it ran. ``block``: the inside waits for a byte here before it starts the command. ``hold``:
    the writing end of ``block``, which the inside holds, so that it starts nothing when its owner has died.
    ``pid_max``: the number that bounds the numbers of processes inside; None where the kernel has it for the whole
    host alone.
    """

    filter: int
    info: int
    status: int
    block: int
    hold: int
    pid_max: int | None = None


def bubblewrap_argv(
    program: str,
    layout: Layout,
    command: Sequence[str],
    *,
    cwd: str,
    network: bool,
    descriptors: Descriptors,
    environment: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """The argument vector that runs ``command`` confined.

    ``environment``: what the command gets besides what bwrap itself is started with.
    """
    arguments = [program, *NAMESPACE_FLAGS]
    if not network:
        arguments.append("--unshare-net")
    arguments += ["--ro-bind", "/", "/", "--dev", "/dev"]
    # What is written here is memory: shared memory has a bound, and beside the devices nothing can be made.
    arguments += ["--perms", "1777", "--size", str(SHARED_MEMORY_MAX_BYTES), "--tmpfs", "/dev/shm"]  # noqa: S108  the place inside
    arguments += ["--remount-ro", "/dev", "--proc", "/proc"]
    if descriptors.pid_max is not None:
        # Written by bwrap, who still may, in the inside's own process namespace.
        arguments += ["--file", str(descriptors.pid_max), "/proc/sys/kernel/pid_max"]
    arguments += ["--ro-bind", "/proc/sys", "/proc/sys"]
    for path in READ_ONLY_KERNEL_FILES:
        arguments += ["--ro-bind-try", path, path]
    for bind in binds_of(layout):
        arguments += ["--bind" if bind.writable else "--ro-bind", bind.source, bind.place]
    for hidden in hidden_of(layout):
        arguments += _mask(hidden.path, is_directory=hidden.is_directory)
    for name, value in (environment or {}).items():
        arguments += ["--setenv", name, value]
    arguments += ["--chdir", cwd]
    arguments += ["--seccomp", str(descriptors.filter), "--info-fd", str(descriptors.info)]
    arguments += ["--json-status-fd", str(descriptors.status)]
    arguments += ["--block-fd", str(descriptors.block), "--sync-fd", str(descriptors.hold)]
    return (*arguments, "--", *command)


def _mask(path: str, *, is_directory: bool) -> list[str]:
    """An empty directory that cannot be entered; a device that cannot be opened on a mount without devices."""
    if is_directory:
        return ["--perms", "0000", "--tmpfs", path, "--remount-ro", path]
    return ["--ro-bind", "/dev/null", path]
