"""A sandbox at E2B, or at whoever gives objects of the same shape, as a client with files of its own (S5).

Needs no package of theirs. It checks what a provider answers, and attests nothing: neither what a worker really is, nor
the bytes of a snapshot. It ends no process at the provider, also none whose call was cancelled, timed out or lost its
worker to a restore: whoever owns the execution does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

import anyio

from .authority import Authority, AuthorityState
from .e2b.output import CommandOutput, LineOutput
from .e2b.worker import E2BSandbox, call, carries_bytes, optional_method, require_sandbox, sandbox_ids
from .errors import (
    CommandTimeoutError,
    RestoreError,
    SandboxAnswerError,
    SandboxError,
    SandboxFileError,
    SandboxNotDirectoryError,
    SandboxNotTextError,
    SnapshotNotFoundError,
    in_words,
)
from .exit_codes import attribute, exit_code_of_exception, exit_code_of_result, tells_exit_code
from .file_content import decode_text, encode_text, file_error, not_a_file, require_whole, too_large
from .limits import (
    BLOCKING_CALLS_MAX,
    FILE_READ_MAX_BYTES,
    FILE_TIMEOUT_S,
    PROVIDER_MARGIN_S,
    RESTORE_TIMEOUT_S,
    TRANSFER_TIMEOUT_S,
)
from .port import Command, DirectoryListing, FileStat, RunResult, SnapshotRef, absent_operation, require_sandbox_path
from .shell_files import (
    LineEnd,
    check_deleted,
    check_made_directory,
    delete_line,
    list_line,
    make_directory_line,
    parse_list,
    parse_stat,
    stat_line,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


class E2BSandboxClient:
    """Adapts a sandbox object: see ``E2BSandbox`` for what it has to have. Used from one event loop.

    A restore gets the id of a snapshot, and its new worker from one of these: ``connector``, which must give the
    sandbox that has this very id; ``checkpoint_factory``, which makes a sandbox from the checkpoint of this id, and may
    give it an id of its own; or, with neither, the object's ``reconnect``, which is a connector. Each may block or be
    a coroutine function. Without any there is no restore. What is restored must fit what ``snapshot`` gives: ids of
    sandboxes for a connector, of checkpoints for a factory. With the ``e2b`` package, whose ``create_snapshot`` makes
    checkpoints, the factory is ``AsyncSandbox.create`` or ``Sandbox.create``.
    """

    def __init__(
        self,
        sandbox: object,
        *,
        connector: Callable[[str], object] | None = None,
        checkpoint_factory: Callable[[str], object] | None = None,
        restore_timeout_s: float = RESTORE_TIMEOUT_S,
    ) -> None:
        """Take over the sandbox object.

        Raises:
            SandboxAnswerError: it is none.
            ValueError: a connector and a factory are both given; a restore could not know which one is meant.
        """
        if connector is not None and checkpoint_factory is not None:
            raise ValueError("give a connector or a checkpoint_factory, not both: a snapshot's id is for one of them")
        self._authority: Authority[E2BSandbox] = Authority(require_sandbox(sandbox))
        self._connector = connector
        self._checkpoint_factory = checkpoint_factory
        self._restore_timeout_s = restore_timeout_s
        self._limiter = anyio.CapacityLimiter(BLOCKING_CALLS_MAX)

    @property
    def filesystem(self) -> Literal["separate"]:
        """Its files are its own."""
        return "separate"

    @property
    def state(self) -> AuthorityState:
        """Whether it can be used, and if not, why."""
        return self._authority.state

    @property
    def absent_operations(self) -> frozenset[str]:
        """What the sandbox object cannot do."""
        sandbox = self._authority.last_worker
        absent: set[str] = set()
        if not carries_bytes(sandbox):
            absent |= {"read_bytes", "write_bytes"}
        if self._snapshot_method(sandbox) is None:
            absent.add("snapshot")
        if self._maker(sandbox) is None:
            absent.add("restore")
        return frozenset(absent)

    async def run(self, command: Command) -> RunResult:
        """Run a line by the provider's shell. What is kept of its output is told by ``CommandOutput``.

        Raises:
            ExitCodeError: how it ended is not known.
            CommandTimeoutError: it took longer than its time; it may still run there.
            WorkerWithdrawnError: a restore runs, has failed, or took the worker away meanwhile.
            SandboxError: the provider failed otherwise.
        """
        return await self._authority.ask(lambda sandbox: self._run_captured(sandbox, command))

    async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:
        """The text of a UTF-8 file. From a provider that gives text only, none that holds U+FFFD is taken.

        Raises:
            SandboxFileError: it cannot be read.
            SandboxError: as for :meth:`run`.
        """
        content = await self._read(path, max_bytes)
        return content if isinstance(content, str) else decode_text(path, content)

    async def write_file(self, path: str, text: str) -> None:
        """Write ``text`` as UTF-8.

        Raises:
            SandboxFileError: it was not written.
            SandboxError: as for :meth:`run`; whether it was written is not known then.
        """
        content = encode_text(path, text)
        await self._write(path, lambda sandbox: content if carries_bytes(sandbox) else text)

    async def read_bytes(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """The content of a file; the errors are those of :meth:`read_file`.

        Raises:
            OperationAbsentError: the provider gives text only.
        """
        self._require_bytes("read_bytes")
        content = await self._read(path, max_bytes)
        if isinstance(content, str):  # a restore has brought another kind of worker
            raise absent_operation("read_bytes")
        return content

    async def write_bytes(self, path: str, content: bytes) -> None:
        """Write bytes; the errors are those of :meth:`write_file`.

        Raises:
            OperationAbsentError: the provider takes text only.
        """
        self._require_bytes("write_bytes")
        await self._write(path, lambda _sandbox: content)

    async def stat(self, path: str) -> FileStat:
        """What the path leads to; the errors are those of :meth:`read_file`."""
        line = stat_line(require_sandbox_path(path))
        return await self._authority.ask(lambda sandbox: self._by_line(sandbox, line, path, parse_stat))

    async def list_directory(self, path: str, *, max_entries: int) -> DirectoryListing:
        """What is in a directory; the errors are those of :meth:`read_file`."""
        line = list_line(require_sandbox_path(path), max_entries)
        return await self._authority.ask(lambda sandbox: self._by_line(sandbox, line, path, parse_list))

    async def delete(self, path: str) -> None:
        """Delete a file, a link itself or an empty directory; the errors are those of :meth:`write_file`."""
        line = delete_line(require_sandbox_path(path))
        await self._authority.ask(lambda sandbox: self._by_line(sandbox, line, path, check_deleted))

    async def make_directory(self, path: str) -> None:
        """Make a directory and those above it; the errors are those of :meth:`write_file`."""
        line = make_directory_line(require_sandbox_path(path))
        await self._authority.ask(lambda sandbox: self._by_line(sandbox, line, path, check_made_directory))

    async def snapshot(self) -> SnapshotRef:
        """Have the provider keep the workspace.

        Raises:
            OperationAbsentError: the sandbox object makes none.
            SandboxAnswerError: what it gave is no reference.
            SandboxError: as for :meth:`run`.
        """
        return await self._authority.ask(self._snapshot)

    async def restore(self, snapshot: SnapshotRef) -> None:
        """Withdraw the worker at once, and go on with the one that the connector or the factory gives.

        A later restore supersedes this one. Cancelled, failed or timed out, the client stays closed.

        Raises:
            OperationAbsentError: there is nothing that gives a worker; nothing was changed.
            SnapshotNotFoundError: the reference names none; nothing was changed.
            RestoreError: it did not succeed.
        """
        identity = cast("object", snapshot.id)
        if not isinstance(identity, str) or not identity.strip():
            raise SnapshotNotFoundError("the reference of the snapshot names none; nothing was changed")
        maker = self._maker(self._authority.last_worker)
        if maker is None:
            raise absent_operation("restore")
        await self._authority.replace(lambda: self._restored(maker, snapshot.id), timeout_s=self._restore_timeout_s)

    def _maker(self, sandbox: E2BSandbox) -> Callable[[str], object] | None:
        return self._checkpoint_factory or self._connector or optional_method(sandbox, "reconnect")

    def _snapshot_method(self, sandbox: E2BSandbox) -> Callable[..., Any] | None:
        # ``create_snapshot`` makes a checkpoint, whose id no connector knows: its restore could only fail.
        connects = self._checkpoint_factory is None and self._maker(sandbox) is not None
        return optional_method(sandbox, *_SNAPSHOT_METHODS[: 1 if connects else None])

    async def _restored(self, maker: Callable[[str], object], asked: str) -> E2BSandbox:
        made = await self._call(maker, asked)
        sandbox = require_sandbox(made)
        told = sandbox_ids(sandbox)
        if maker is not self._checkpoint_factory and not _names_only(asked, told):
            raise RestoreError(
                f"the connector was asked for the sandbox {asked!r}, and gave "
                f"{', '.join(map(repr, told))[:300] or 'one without an id'}; the sandbox stays closed until a restore "
                "succeeds",
                reason="wrong_id",
            )
        return sandbox

    async def _snapshot(self, sandbox: E2BSandbox) -> SnapshotRef:
        method = self._snapshot_method(sandbox)
        if method is None:
            raise absent_operation("snapshot")
        try:
            answer = await self._call(method)
        except Exception as error:
            raise SandboxError(f"the sandbox made no snapshot that could be used: {in_words(error)}") from error
        return SnapshotRef(_reference(answer))

    async def _run_captured(self, sandbox: E2BSandbox, command: Command) -> RunResult:
        output = CommandOutput(sandbox)
        try:
            ended = await self._run(sandbox, command, output.callbacks)
        except CommandTimeoutError as error:
            kept = output.captured()
            raise CommandTimeoutError(str(error), output=kept.head + kept.tail) from error.__cause__
        kept = output.captured(ended)
        return RunResult(exit_code=ended.exit_code, output=kept.head + kept.tail, cut=kept.cut)

    async def _run(self, sandbox: E2BSandbox, command: Command, callbacks: dict[str, Any] | None = None) -> LineEnd:
        try:
            with anyio.fail_after(command.timeout_s + PROVIDER_MARGIN_S):
                result = await self._call(
                    sandbox.commands.run,
                    command.line,
                    cwd=command.cwd,
                    timeout=command.timeout_s,
                    **(callbacks or {}),
                )
        except Exception as error:
            if tells_exit_code(error):
                return _line_end(exit_code_of_exception(error), error)
            raise _run_failure(error, command) from error
        return _line_end(exit_code_of_result(result), result)

    async def _by_line(self, sandbox: E2BSandbox, line: str, path: str, meaning: Callable[[str, LineEnd], T]) -> T:
        output = LineOutput(sandbox)
        ended = await self._run(sandbox, Command(line=line, cwd="/", timeout_s=FILE_TIMEOUT_S), output.callbacks)
        return meaning(path, output.told(ended))

    def _require_bytes(self, operation: str) -> None:
        if not carries_bytes(self._authority.last_worker):
            raise absent_operation(operation)

    async def _read(self, path: str, max_bytes: int | None) -> str | bytes:
        most = FILE_READ_MAX_BYTES if max_bytes is None else min(max_bytes, FILE_READ_MAX_BYTES)
        line = stat_line(require_sandbox_path(path))

        async def read(sandbox: E2BSandbox) -> str | bytes:
            # Providers hand over a file as a whole: what it is and how large has to be known before.
            found = await self._by_line(sandbox, line, path, parse_stat)
            if found.kind != "file":
                raise not_a_file(path, found.kind)
            if found.size > most:
                raise too_large(path, most)
            content = await self._content(sandbox, path)
            size = len(content.encode()) if isinstance(content, str) else len(content)
            if size > most:
                raise too_large(path, most)
            if size != found.size:
                require_whole(path, size, found, await self._by_line(sandbox, line, path, parse_stat))
            return content

        return await self._authority.ask(read)

    async def _content(self, sandbox: E2BSandbox, path: str) -> str | bytes:
        as_bytes = carries_bytes(sandbox)
        named = {"format": "bytes"} if as_bytes else {}
        answer = await self._transferred(self._call(sandbox.files.read, path, **named), path, "read")
        if as_bytes and isinstance(answer, (bytes, bytearray)):
            return bytes(answer)
        if not as_bytes and isinstance(answer, str):
            if "\ufffd" in answer or not _is_text(answer):
                raise SandboxNotTextError(
                    f"{path} holds U+FFFD, or bytes that are not UTF-8: the sandbox gives text only, which does not "
                    "tell; look at it by a command",
                    path=path,
                )
            return answer
        raise SandboxAnswerError(f"the sandbox gave {type(answer).__name__} as the content of {path}")

    async def _write(self, path: str, content: Callable[[E2BSandbox], str | bytes]) -> None:
        require_sandbox_path(path)

        async def write(sandbox: E2BSandbox) -> None:
            try:
                await self._transferred(self._call(sandbox.files.write, path, content(sandbox)), path, "written")
            except SandboxFileError as failure:
                raise await self._why_not_written(sandbox, path, failure) from failure

        await self._authority.ask(write)

    async def _why_not_written(self, sandbox: E2BSandbox, path: str, failure: SandboxFileError) -> SandboxFileError:
        """Providers say it in words of their own; what has the path now says it in the port's."""
        try:
            found = await self._by_line(sandbox, stat_line(path), path, parse_stat)
        except SandboxNotDirectoryError as reason:
            return reason
        except SandboxError:
            return failure
        return not_a_file(path, found.kind) if found.kind in {"directory", "other"} else failure

    async def _transferred(self, transfer: Awaitable[T], path: str, done: str) -> T:
        try:
            with anyio.fail_after(TRANSFER_TIMEOUT_S):
                return await transfer
        except Exception as error:
            if _is_timeout(error):
                raise SandboxError(
                    f"{path}: no answer in time ({in_words(error)}); whether it was {done} is not known"
                ) from error
            raise file_error(path, done, in_words(error)) from error

    async def _call(self, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        return await call(method, *args, limiter=self._limiter, **named)


_SNAPSHOT_METHODS: Final = ("snapshot", "create_snapshot")
_REFERENCE_NAMES: Final = ("snapshot_id", "snapshotId", "sandbox_id", "sandboxId")


def _names_only(asked: str, told: tuple[object, ...]) -> bool:
    return bool(told) and all(isinstance(each, str) and each == asked for each in told)


def _is_text(answer: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in answer)


def _reference(answer: object) -> str:
    told: object = answer
    if not isinstance(answer, str):
        told = next((value for name in _REFERENCE_NAMES if (value := attribute(answer, name)) is not None), None)
    if not isinstance(told, str) or not told.strip():
        raise SandboxAnswerError(f"the sandbox gave {type(answer).__name__} for a snapshot, which names none")
    return told


def _line_end(exit_code: int, ended: object) -> LineEnd:
    return LineEnd(exit_code, _stream(ended, "stdout"), _stream(ended, "stderr"))


def _stream(ended: object, name: str) -> str:
    text = attribute(ended, name)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise SandboxAnswerError(f"the sandbox gave {type(text).__name__} as the command's {name}; it has ended")
    return text


def _run_failure(error: Exception, command: Command) -> SandboxError:
    if _is_timeout(error):
        return CommandTimeoutError(
            f"the command did not end within {command.timeout_s:g} s ({in_words(error)}); it may still run there"
        )
    return SandboxError(f"the sandbox did not run the command to a known end: {in_words(error)}")


def _is_timeout(error: Exception) -> bool:
    # By the name alone for the provider's own: its subclasses mean that the sandbox is gone or out of reach.
    return isinstance(error, TimeoutError) or type(error).__name__ == "TimeoutException"
