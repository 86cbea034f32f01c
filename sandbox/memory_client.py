"""A whole sandbox in memory, for tests: deterministic, with files, commands, snapshots and restores (S6).

Nothing of the host is touched. A line runs as one of a few small programs, unless a responder answers it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, cast

import anyio
import anyio.lowlevel

from .authority import Authority
from .errors import CommandStartError, CommandTimeoutError, SandboxError, SandboxFileError, SnapshotNotFoundError
from .file_content import decode_text, encode_text
from .limits import RUN_OUTPUT_MAX_BYTES
from .memory.commands import run_program
from .memory.files import MemoryFiles, MemoryLimits
from .port import Command, DirectoryListing, FileStat, RunResult, SnapshotRef

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

T = TypeVar("T")

Answer: TypeAlias = "RunResult | None"
Responder: TypeAlias = "Callable[[Command, MemoryFiles], Answer | Awaitable[Answer]]"
"""Answers a command, with the files that it may read and change; None leaves it to the next one."""


class InMemorySandboxClient:
    """A separate file system with every operation of the port but manifests and wrapping, which it has no need of.

    ``files`` are there from the beginning, with the directories above them, and so is ``/workspace``. ``responders``
    are asked in their order before the built-in programs (``memory.commands.PROGRAMS``). What a restore overtakes, a
    command or an operation on files, raises ``WorkerWithdrawnError`` and reaches the files before it alone.
    """

    def __init__(
        self,
        files: Mapping[str, str | bytes] | None = None,
        *,
        responders: Sequence[Responder] = (),
        limits: MemoryLimits | None = None,
    ) -> None:
        """Make the files.

        Raises:
            SandboxFileError: one of them cannot be made.
        """
        tree = MemoryFiles(limits)
        tree.make_directory("/workspace")
        for path, content in (files or {}).items():
            tree.write(path, content.encode() if isinstance(content, str) else content)
        self._authority: Authority[MemoryFiles] = Authority(tree)
        self._responders = tuple(responders)
        self._snapshots: dict[str, MemoryFiles] = {}

    @property
    def filesystem(self) -> Literal["separate"]:
        """Its files are its own."""
        return "separate"

    @property
    def files(self) -> MemoryFiles:
        """The tree that is in use, for tests to arrange and to look at; a restore replaces it by another one."""
        return self._authority.last_worker

    async def run(self, command: Command) -> RunResult:
        """Run a line.

        Raises:
            CommandStartError: it would start in a directory that is none.
            CommandTimeoutError: it took longer than its time.
            WorkerWithdrawnError: a restore came before it had ended.
        """
        result = await self._authority.ask(lambda files: self._run(command, files))
        if len(result.output) <= RUN_OUTPUT_MAX_BYTES:
            return result
        half = RUN_OUTPUT_MAX_BYTES // 2
        return RunResult(exit_code=result.exit_code, output=result.output[:half] + result.output[-half:], cut=True)

    async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:
        """The text of a UTF-8 file.

        Raises:
            SandboxFileError: it cannot be read as text, or holds more.
        """
        return decode_text(path, await self.read_bytes(path, max_bytes=max_bytes))

    async def write_file(self, path: str, text: str) -> None:
        """Write ``text`` as UTF-8.

        Raises:
            SandboxFileError: it cannot be written.
        """
        await self.write_bytes(path, encode_text(path, text))

    async def read_bytes(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """The content of a file.

        Raises:
            SandboxFileError: it cannot be read, or holds more.
        """
        return await self._asked(lambda files: files.read(path, max_bytes))

    async def write_bytes(self, path: str, content: bytes) -> None:
        """Write bytes.

        Raises:
            SandboxFileError: it cannot be written.
        """
        await self._asked(lambda files: files.write(path, bytes(content)))

    async def stat(self, path: str) -> FileStat:
        """What the path leads to.

        Raises:
            SandboxFileError: it leads nowhere, or may not be looked at.
        """
        return await self._asked(lambda files: files.stat(path))

    async def list_directory(self, path: str, *, max_entries: int) -> DirectoryListing:
        """What is in a directory.

        Raises:
            SandboxFileError: it is none, or may not be read.
        """
        return await self._asked(lambda files: files.list_directory(path, max_entries))

    async def delete(self, path: str) -> None:
        """Delete a file, a link itself or an empty directory.

        Raises:
            SandboxFileError: it cannot be deleted.
        """
        await self._asked(lambda files: files.delete(path))

    async def make_directory(self, path: str) -> None:
        """Make a directory and those above it.

        Raises:
            SandboxFileError: it cannot be made.
        """
        await self._asked(lambda files: files.make_directory(path))

    async def snapshot(self) -> SnapshotRef:
        """Keep the files as they are. The references are counted: ``snapshot-1``, ``snapshot-2``."""

        def kept(files: MemoryFiles) -> SnapshotRef:
            reference = SnapshotRef(f"snapshot-{len(self._snapshots) + 1}")
            self._snapshots[reference.id] = files.copy()
            return reference

        return await self._asked(kept)

    async def restore(self, snapshot: SnapshotRef) -> None:
        """Go on with files as they were kept; what was asked of the ones before is withdrawn.

        Raises:
            SnapshotNotFoundError: there is no such snapshot; nothing was changed.
        """
        kept = self._snapshots.get(snapshot.id)
        if kept is None:
            raise SnapshotNotFoundError(
                f"there is no snapshot {snapshot.id[:100]!r}; nothing was changed. Kept: "
                f"{', '.join(self._snapshots) or 'none'}"
            )

        async def copied() -> MemoryFiles:
            return kept.copy()

        await self._authority.replace(copied, timeout_s=_RESTORE_TIMEOUT_S)

    async def _asked(self, work: Callable[[MemoryFiles], T]) -> T:
        """What is done to the files that are in use, or, after a restore, to none (S5)."""

        async def done(files: MemoryFiles) -> T:
            await anyio.lowlevel.checkpoint()
            return work(files)

        return await self._authority.ask(done)

    async def _run(self, command: Command, files: MemoryFiles) -> RunResult:
        try:
            found = files.stat(command.cwd)
        except SandboxFileError as error:
            raise CommandStartError(f"the command was not run: its directory: {error}") from None
        if found.kind != "directory":
            raise CommandStartError(f"the command was not run: {command.cwd} is no directory")
        try:
            with anyio.fail_after(command.timeout_s):
                return await self._answered(command, files)
        except TimeoutError:
            raise CommandTimeoutError(
                f"the command was ended after {command.timeout_s:g} s; give it more time, or less to do"
            ) from None

    async def _answered(self, command: Command, files: MemoryFiles) -> RunResult:
        await anyio.lowlevel.checkpoint()
        for responder in self._responders:
            given = responder(command, files)
            answer = await given if inspect.isawaitable(given) else given
            if isinstance(answer, RunResult):
                return answer
            # A test's responder is not typed as a rule: what is no answer must not be taken for one.
            if cast("object", answer) is not None:
                raise SandboxError(f"a responder answered with {type(answer).__name__}, which is no RunResult")
        return await run_program(command, files)


_RESTORE_TIMEOUT_S: Final = 60.0
