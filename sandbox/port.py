"""The port to where commands run and files may live (S4), and the values that cross it. Pure: no process is named here.

A client declares its file system. ``shared``: it is the host's, the client only rewrites how a command is started
(``WrapsCommands``), and the shell tool keeps time-outs, cancellation, limits and the ending of groups. ``separate``:
files and commands both go through the client.

``SandboxClient`` is what every client can do. Each other operation is a protocol of its own; :func:`require_operation`
gives it, or the error that says that this client has none. Paths are absolute POSIX paths of the client's file system;
it follows links, and confines paths by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from .errors import OperationAbsentError, SandboxPathError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from .manifests.model import WorkspaceManifest
    from .manifests.result import ManifestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One line for a shell. ``cwd`` is the absolute directory it starts in; ``timeout_s`` seconds."""

    line: str
    cwd: str
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """How a process is started: the argument vector, the directory and the whole environment."""

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Containment:
    """What would hold a command, decided before it runs.

    ``by`` names the mechanism with its version ("bubblewrap 0.11.0"), empty where nothing confines it. ``words`` is
    the sentence for the result: what the command may do, or why nothing confines it. ``auto_allowed``: it may run
    without being asked about; if not, ``asks_because`` says why.
    """

    confined: bool
    by: str
    words: str
    auto_allowed: bool = False
    asks_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The end of a command that ran to an end. ``output`` is bounded; ``cut`` tells whether some of it is missing."""

    exit_code: int
    output: str
    cut: bool = False


FileKind: TypeAlias = Literal["file", "directory", "link", "other"]
"""``link`` leads nowhere, or its end was not looked for; ``other``: a device, a pipe, a socket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStat:
    """What a path leads to: links are followed, and ``kind`` is "link" only for one that leads nowhere.

    ``size`` is bytes. ``mtime_ns`` is nanoseconds since the epoch, as exact as the client knows it; ``mode`` are the
    permission bits; either is None where the client cannot tell. ``is_link``: the path itself is a link.
    """

    kind: FileKind
    size: int
    mtime_ns: int | None = None
    mode: int | None = None
    is_link: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryEntry:
    """A name in a directory; of a link, the kind is "link" whatever it leads to."""

    name: str
    kind: FileKind


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryListing:
    """The entries of a directory by name, in the order of their code points; without ``complete`` there are more."""

    entries: tuple[DirectoryEntry, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A state of a workspace that its provider keeps; ``id`` means something to that provider alone."""

    id: str


class WrappedCommand(Protocol):
    """A command about to run confined. Its context manager is entered before the start and left after the last process
    of the command has ended; leaving cleans up.
    """

    @property
    def invocation(self) -> Invocation:
        """What to start instead."""
        ...

    @property
    def pass_fds(self) -> tuple[int, ...]:
        """Descriptors that the started process inherits, besides its three standard ones."""
        ...

    def started(self, process_id: int) -> None:
        """Called at once after the start, from the thread that started it, which stays until the process has ended."""
        ...

    def terminate(self) -> bool:
        """Ask what runs inside to end (SIGTERM), where a signal to the outer group does not reach it.

        Returns whether anything was asked; if nothing was, the outer group gets the signal.
        """
        ...

    def wait_until_empty(self) -> None:
        """After the outer process has ended: wait until nothing runs inside any more; bounded."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """After leaving the context: sentences for the result, such as what was moved to the quarantine."""
        ...


@runtime_checkable
class WrapsCommands(Protocol):
    """A client of the shared file system: it confines commands by the way they are started.

    All of it blocks and is called from a worker thread.
    """

    def containment(self, command: Command) -> Containment:
        """What would hold this command now, by the settings as they are now.

        Raises:
            SandboxUnavailableError: confinement is asked for and cannot be had.
        """
        ...

    def wrap_command(self, command: Command, invocation: Invocation) -> AbstractContextManager[WrappedCommand]:
        """Confine an invocation of the command; only for one whose containment is ``confined``.

        Raises:
            SandboxUnavailableError: it cannot be had any more.
        """
        ...


class SandboxClient(Protocol):
    """A place where commands run and files are. What else it can do is asked for by :func:`require_operation`."""

    @property
    def filesystem(self) -> Literal["shared", "separate"]:
        """Whether its files are the host's."""
        ...

    async def run(self, command: Command) -> RunResult:
        """Run a command to its end; cancelling ends it where the client can, and the waiting for it everywhere.

        Raises:
            CommandTimeoutError: it took longer than its time.
            SandboxError: it could not be run, or how it ended is not known.
        """
        ...

    async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:
        """The text of a UTF-8 file, with its line ends and byte-order mark as they are.

        ``max_bytes``: the most that it may hold; None leaves the client's own bound.

        Raises:
            SandboxNotTextError: it is not UTF-8.
            SandboxFileTooLargeError: it holds more.
            SandboxFileError: it cannot be read; the subclass says why, where that is known.
        """
        ...

    async def write_file(self, path: str, text: str) -> None:
        """Make the file, and the directories above it, or replace its content, by ``text`` as UTF-8.

        Raises:
            SandboxFileError: it cannot be written; the subclass says why, where that is known.
            SandboxError: whether it was written is not known.
        """
        ...


@runtime_checkable
class StatsFiles(Protocol):
    """Operation ``stat``."""

    async def stat(self, path: str) -> FileStat:
        """What the path leads to.

        Raises:
            SandboxFileNotFoundError: nothing has this path.
            SandboxFileError: it cannot be told.
        """
        ...


@runtime_checkable
class ListsDirectories(Protocol):
    """Operation ``list``."""

    async def list_directory(self, path: str, *, max_entries: int) -> DirectoryListing:
        """The entries of a directory, not of those below it; at most ``max_entries``, and whether these are all.

        Raises:
            SandboxNotDirectoryError: it is none.
            SandboxFileError: it cannot be listed.
        """
        ...


@runtime_checkable
class DeletesFiles(Protocol):
    """Operation ``delete``."""

    async def delete(self, path: str) -> None:
        """Delete a file, a link itself, or an empty directory; never what is in one.

        Raises:
            SandboxFileNotFoundError: nothing has this path.
            SandboxNotEmptyError: the directory holds something.
            SandboxFileError: it cannot be deleted.
        """
        ...


@runtime_checkable
class MakesDirectories(Protocol):
    """Operation ``make_directory``."""

    async def make_directory(self, path: str) -> None:
        """Make the directory and those above it; one that exists is left as it is.

        Raises:
            SandboxNotDirectoryError: it, or one above it, exists and is no directory.
            SandboxFileError: it cannot be made.
        """
        ...


@runtime_checkable
class ReadsBytes(Protocol):
    """Operation ``read_bytes``."""

    async def read_bytes(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """The whole content of a file; ``max_bytes`` and the errors are those of ``read_file``."""
        ...


@runtime_checkable
class WritesBytes(Protocol):
    """Operation ``write_bytes``."""

    async def write_bytes(self, path: str, content: bytes) -> None:
        """Make the file or replace its content; directories above it and the errors are those of ``write_file``."""
        ...


@runtime_checkable
class AppliesManifests(Protocol):
    """Operation ``apply_manifest``: the client fills a workspace by its own means, mounts for example (S11)."""

    async def apply_manifest(self, manifest: WorkspaceManifest) -> ManifestResult:
        """Apply it; what became of each entry.

        Raises:
            SandboxError: it was refused, before its first entry was applied.
        """
        ...


@runtime_checkable
class TakesSnapshots(Protocol):
    """Operation ``snapshot``."""

    async def snapshot(self) -> SnapshotRef:
        """Have the provider keep the workspace as it is.

        Raises:
            SandboxError: there is no snapshot that could be used.
        """
        ...


@runtime_checkable
class RestoresSnapshots(Protocol):
    """Operation ``restore``."""

    async def restore(self, snapshot: SnapshotRef) -> None:
        """Go on with a workspace as it was kept. Only when this returns, the client is open for anything else.

        Raises:
            SnapshotNotFoundError: there is no such snapshot; everything is as it was.
            RestoreError: it did not succeed; the client is closed until one does.
        """
        ...


@runtime_checkable
class TellsAbsentOperations(Protocol):
    """A client whose class has operations that this instance has not."""

    @property
    def absent_operations(self) -> frozenset[str]:
        """The names of those that it has not."""
        ...


Operation = TypeVar("Operation")

OPERATIONS: Final[dict[type, str]] = {
    StatsFiles: "stat",
    ListsDirectories: "list",
    DeletesFiles: "delete",
    MakesDirectories: "make_directory",
    ReadsBytes: "read_bytes",
    WritesBytes: "write_bytes",
    AppliesManifests: "apply_manifest",
    TakesSnapshots: "snapshot",
    RestoresSnapshots: "restore",
    WrapsCommands: "wrap_command",
}
"""The optional operations and their names."""


def find_operation(client: SandboxClient, operation: type[Operation]) -> Operation | None:
    """The client as one that has this operation, a key of ``OPERATIONS``; None if it has it not."""
    found: object = client
    if not isinstance(found, operation):
        return None
    absent = found.absent_operations if isinstance(found, TellsAbsentOperations) else frozenset[str]()
    return None if OPERATIONS[operation] in absent else found


def require_operation(client: SandboxClient, operation: type[Operation]) -> Operation:
    """The client as one that has this operation, a key of ``OPERATIONS``.

    Raises:
        OperationAbsentError: it has it not.
    """
    found = find_operation(client, operation)
    if found is None:
        raise absent_operation(OPERATIONS[operation])
    return found


def absent_operation(name: str) -> OperationAbsentError:
    """The error of a client that has no such operation."""
    return OperationAbsentError(
        f"the sandbox of this session has no operation {name}, and nothing else stands in for it; do it by a command, "
        "or use a sandbox that has it",
        operation=name,
    )


def routes_files_through_sandbox(client: SandboxClient | None) -> bool:
    """Whether file tools have to go through this client, because its files are not the host's."""
    return client is not None and client.filesystem == "separate"


ExecutionContainment: TypeAlias = Literal["host", "sandbox-shared", "sandbox-separate"]

EXECUTION_CONTAINMENT_WORDS: Final[dict[ExecutionContainment, str]] = {
    "host": "Commands run on this host, and nothing confines them; file tools work on its files within the roots.",
    "sandbox-shared": (
        "Commands run on this host, confined as the sandbox's settings have it, which each result tells; file tools "
        "work on the host's files within the roots."
    ),
    "sandbox-separate": (
        "Commands and file tools both work in a sandbox with files of its own, which confines paths by itself; what "
        "searches the host's files (Glob, Grep, ListDir, CodebaseRetrieval) is withheld, and so is the editor."
    ),
}
"""What each containment means, as a sentence."""


def describe_execution_containment(client: SandboxClient | None) -> ExecutionContainment:
    """Where commands and files are with this client; ``EXECUTION_CONTAINMENT_WORDS`` says what that means."""
    if client is None:
        return "host"
    return "sandbox-separate" if routes_files_through_sandbox(client) else "sandbox-shared"


PATH_MAX_CHARS: Final = 4_096


def require_sandbox_path(path: str) -> str:
    """The path, where it can be one of a file in a sandbox: absolute, without NUL; ``..`` is the sandbox's to judge.

    Raises:
        SandboxPathError: it cannot.
    """
    if not path:
        raise SandboxPathError("the path is empty; name a file by its absolute path", path=path)
    if "\0" in path:
        raise SandboxPathError(f"{path[:200]!r} contains a NUL character, which no path does", path=path)
    if len(path) > PATH_MAX_CHARS:
        raise SandboxPathError(f"the path has {len(path):,} characters; {PATH_MAX_CHARS:,} are the most", path=path)
    if not path.startswith("/"):
        raise SandboxPathError(f"{path[:200]!r} is relative; name it by its absolute path", path=path)
    return path
