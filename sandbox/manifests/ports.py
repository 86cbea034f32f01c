"""What applying a workspace manifest needs besides the port of a client: the host's files, and further operations.

A client that has not one of these operations cannot do what it is for: then a manifest that asks for it is refused, or,
if it is a mount, the entry is ``unsupported``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from ..port import TellsAbsentOperations

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from ..port import SandboxClient
    from .model import StorageMount


@dataclass(frozen=True, slots=True, kw_only=True)
class HostEntry:
    """A file or directory below a source. ``path`` is relative to it; ``handle`` is what ``open`` is asked for."""

    path: str
    is_directory: bool
    size: int
    handle: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTree:
    """All that is below a directory, parents before children; ``left_out``: what is not copied, as relative paths."""

    entries: tuple[HostEntry, ...]
    left_out: tuple[str, ...] = ()


class HostFiles(Protocol):
    """The files of the host that local entries may name. All of it blocks and is called from a worker thread."""

    def file(self, source: str) -> HostEntry:
        """The regular file that the source names.

        Raises:
            HostFileError: there is none that may be read.
        """
        ...

    def tree(self, source: str, *, exclude: Collection[str] = (), max_entries: int) -> HostTree:
        """What lies below the directory that the source names, but ``.git`` and what has one of the names to exclude.

        Raises:
            HostFileError: it is none that may be read, holds more than ``max_entries``, or something that is neither a
                file nor a directory.
        """
        ...

    def open(self, entry: HostEntry) -> AbstractContextManager[Iterator[bytes]]:
        """The content of a file, in pieces of at most a megabyte.

        Raises:
            HostFileError: it is not the regular file any more that it was, also while it is read.
        """
        ...


@runtime_checkable
class WritesStreams(Protocol):
    """Operation ``write_stream``: files of any size, of which never more than a few pieces are in memory."""

    async def write_stream(self, path: str, pieces: AsyncIterable[bytes], *, size: int) -> None:
        """Make the file of exactly ``size`` bytes, and the directories above it, or replace its content.

        Raises:
            SandboxFileError: it cannot be written; then there is no new file, and an old one is as it was.
        """
        ...


@runtime_checkable
class WritesManyFiles(Protocol):
    """Operation ``write_files``: many small files and directories at once, for clients where each call costs much."""

    async def write_files(self, files: Sequence[tuple[str, bytes | None]]) -> None:
        """Make these files, by their absolute paths, and directories (None), in this order.

        Raises:
            SandboxError: some of it may be there.
        """
        ...


@runtime_checkable
class SetsPermissions(Protocol):
    """Operation ``set_permissions``."""

    async def set_permissions(self, path: str, mode: int) -> None:
        """Give the file or directory these permission bits.

        Raises:
            SandboxFileError: it has them not.
        """
        ...


@runtime_checkable
class SetsEnvironment(Protocol):
    """Operation ``set_environment``."""

    async def set_environment(self, variables: Mapping[str, str]) -> None:
        """Start every later command of this client with these variables, besides those that it has anyway.

        Raises:
            SandboxError: it cannot; nothing was changed.
        """
        ...


@runtime_checkable
class MountsStorage(Protocol):
    """Operation ``mount_storage``."""

    def can_mount(self, mount: StorageMount) -> bool:
        """Whether storage of this kind can be mounted here; asked before anything is applied."""
        ...

    async def mount_storage(self, path: str, mount: StorageMount) -> None:
        """Mount it at the absolute path, which is made for it.

        Raises:
            SandboxError: it is not mounted.
        """
        ...


Operation = TypeVar("Operation")

_NAMES: dict[type, str] = {
    WritesStreams: "write_stream",
    WritesManyFiles: "write_files",
    SetsPermissions: "set_permissions",
    SetsEnvironment: "set_environment",
    MountsStorage: "mount_storage",
}


def find_manifest_operation(client: SandboxClient, operation: type[Operation]) -> Operation | None:
    """The client as one that has this operation of this module; None if it has it not."""
    found: object = client
    if not isinstance(found, operation):
        return None
    absent = found.absent_operations if isinstance(found, TellsAbsentOperations) else frozenset[str]()
    return None if _NAMES[operation] in absent else found
