"""The single steps that apply a workspace manifest, with everything refused that can be without asking the sandbox."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from ..errors import HostFileError, ManifestRefusedError
from ..port import WritesBytes, find_operation
from .model import MOUNTS, Directory, GitRepository, InlineFile, LocalDirectory, LocalFile, place_of
from .paths import ManifestPathError, PathTable, check_path, shown
from .ports import (
    HostEntry,
    MountsStorage,
    SetsEnvironment,
    SetsPermissions,
    WritesManyFiles,
    WritesStreams,
    find_manifest_operation,
)

if TYPE_CHECKING:
    from ..port import SandboxClient
    from .model import Entry, StorageMount, WorkspaceManifest
    from .ports import HostFiles

FILES_MAX: Final = 50_000
"""Files and directories that all entries together bring, those in local directories included."""

WHOLE_MAX_BYTES: Final = 16 * 1024 * 1024
"""A file is written whole, and held in memory, up to this size; a larger one only in a stream."""


@dataclass(frozen=True, slots=True)
class MakeDirectory:
    """Make a directory."""

    path: str


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Write a file: its content, or where on the host that is."""

    path: str
    content: bytes | HostEntry

    @property
    def size(self) -> int:
        """In bytes."""
        return self.content.size if isinstance(self.content, HostEntry) else len(self.content)


@dataclass(frozen=True, slots=True)
class CloneRepository:
    """Have git clone a repository."""

    path: str
    entry: GitRepository


@dataclass(frozen=True, slots=True)
class Mount:
    """Mount storage, where the client can."""

    path: str
    entry: StorageMount
    supported: bool


Step: TypeAlias = MakeDirectory | WriteFile | CloneRepository | Mount


@dataclass(frozen=True, slots=True)
class PlannedEntry:
    """An entry, its steps in their order with paths relative to the workspace, and a word for its result."""

    path: str
    entry: Entry
    steps: tuple[Step, ...]
    detail: str = ""


@dataclass(slots=True)
class Plan:
    """What is to be done, all the paths that it takes, and the names of the variables that the manifest sets."""

    variables: tuple[str, ...] = ()
    entries: list[PlannedEntry] = field(default_factory=list[PlannedEntry])
    paths: PathTable = field(default_factory=PathTable)


def make_plan(client: SandboxClient, manifest: WorkspaceManifest, host_files: HostFiles | None) -> Plan:
    """The steps of all entries; blocks, because it looks at the host's files.

    Raises:
        ManifestRefusedError: the manifest asks for what cannot be done, read or enforced.
    """
    _require_controls(client, manifest)
    return _plan(manifest, host_files, _abilities(client))


def rehearse(manifest: WorkspaceManifest, host_files: HostFiles | None) -> Plan:
    """The steps for a client that can do everything but mount; for looking at them only. Blocks.

    Raises:
        ManifestRefusedError: the manifest asks for what cannot be read, or cannot be in one workspace.
    """
    return _plan(manifest, host_files, _Abilities(streams=True, any_bytes=True, mounts=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Abilities:
    streams: bool
    any_bytes: bool
    mounts: MountsStorage | None


def _abilities(client: SandboxClient) -> _Abilities:
    streams = find_manifest_operation(client, WritesStreams) is not None
    many = find_manifest_operation(client, WritesManyFiles) is not None
    return _Abilities(
        streams=streams,
        any_bytes=streams or many or find_operation(client, WritesBytes) is not None,
        mounts=find_manifest_operation(client, MountsStorage),
    )


def _plan(manifest: WorkspaceManifest, host_files: HostFiles | None, abilities: _Abilities) -> Plan:
    plan = Plan(variables=tuple(manifest.environment))
    planner = _Planner(host_files, abilities)
    for path, entry in manifest.entries.items():
        try:
            plan.entries.append(planner.planned(path, entry, plan.paths))
        except (HostFileError, ManifestPathError) as error:
            raise ManifestRefusedError(f"the entry {shown(path)}: {error}; nothing was applied") from error
    return plan


def _require_controls(client: SandboxClient, manifest: WorkspaceManifest) -> None:
    if manifest.environment and find_manifest_operation(client, SetsEnvironment) is None:
        raise ManifestRefusedError(
            "the manifest sets environment variables, and this sandbox has no operation that makes its commands start "
            "with them; take `environment` out, or use a sandbox that has it. Nothing was applied"
        )
    controlled = next((path for path, entry in manifest.entries.items() if permissions_of(entry) is not None), None)
    if controlled is not None and find_manifest_operation(client, SetsPermissions) is None:
        raise ManifestRefusedError(
            f"the entry {shown(controlled)} asks for permissions, and this sandbox has no operation that sets them; "
            "take `permissions` out, or use a sandbox that has it. Nothing was applied"
        )


def permissions_of(entry: Entry) -> int | None:
    """The permission bits that the entry asks for."""
    return entry.permissions if isinstance(entry, InlineFile | Directory | LocalFile) else None


class _Planner:
    def __init__(self, host_files: HostFiles | None, abilities: _Abilities) -> None:
        self._host_files = host_files
        self._can = abilities
        self._left = FILES_MAX

    def planned(self, path: str, entry: Entry, paths: PathTable) -> PlannedEntry:
        paths.add(path, place_of(entry))
        self._count(1)
        if isinstance(entry, LocalDirectory):
            return self._local_directory(path, entry, paths)
        return PlannedEntry(path, entry, (self._step(path, entry),))

    def _step(self, path: str, entry: Entry) -> Step:
        if isinstance(entry, InlineFile):
            self._require_usable(entry.data)
            return WriteFile(path, entry.data)
        if isinstance(entry, LocalFile):
            files = self._required_host_files(entry)
            return WriteFile(path, self._usable(files, files.file(entry.source)))
        if isinstance(entry, GitRepository):
            return CloneRepository(path, entry)
        if isinstance(entry, MOUNTS):
            return Mount(path, entry, supported=self._can.mounts is not None and self._can.mounts.can_mount(entry))
        return MakeDirectory(path)

    def _local_directory(self, path: str, entry: LocalDirectory, paths: PathTable) -> PlannedEntry:
        files = self._required_host_files(entry)
        tree = files.tree(entry.source, exclude=entry.exclude, max_entries=self._left)
        self._count(len(tree.entries))
        steps: list[Step] = [MakeDirectory(path)]
        for below in tree.entries:
            target = check_path(f"{path}/{below.path}")
            paths.add(target, "implied" if below.is_directory else "leaf")
            steps.append(MakeDirectory(target) if below.is_directory else WriteFile(target, self._usable(files, below)))
        detail = f"left out: {', '.join(tree.left_out[:_SHOWN_MAX])}" if tree.left_out else ""
        return PlannedEntry(path, entry, tuple(steps), detail)

    def _required_host_files(self, entry: LocalFile | LocalDirectory) -> HostFiles:
        if self._host_files is None:
            raise HostFileError(
                f"its type is {entry.type}, and no access to the host's files was given; give host_files, or use an "
                "entry of another type"
            )
        return self._host_files

    def _usable(self, files: HostFiles, file: HostEntry) -> HostEntry:
        if not self._can.streams and file.size > WHOLE_MAX_BYTES:
            raise HostFileError(
                f"{shown(file.handle)} has {file.size:,} bytes, and this sandbox takes files only whole, of at most "
                f"{WHOLE_MAX_BYTES:,}; bring it in by a command, or use a sandbox that takes streams"
            )
        if not self._can.any_bytes:
            _require_text(files, file)
        return file

    def _require_usable(self, content: bytes) -> None:
        try:
            if not self._can.any_bytes:
                content.decode()
        except UnicodeDecodeError:
            raise HostFileError(_NOT_TEXT) from None

    def _count(self, entries: int) -> None:
        self._left -= entries
        if self._left < 0:
            raise HostFileError(f"with it the manifest brings more than {FILES_MAX:,} files; leave some out")


def _require_text(files: HostFiles, file: HostEntry) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with files.open(file) as pieces:
            for piece in pieces:
                decoder.decode(piece)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise HostFileError(f"{shown(file.handle)}: {_NOT_TEXT}") from None


_NOT_TEXT: Final = "the content is not UTF-8, and this sandbox takes nothing else; use one that can write bytes"
_SHOWN_MAX: Final = 5
