"""A sandbox in a container of Docker or Podman, through their command line: for teams that have an engine of their own.

Its files are its own and lie in memory: they go with it. Everything goes in and out through ``exec``, as arguments and
as bytes on stdin and stdout; nothing of the host is mounted. A command that is cancelled or runs out of time is ended
inside as well. What escapes that, a process that left its session and forgot its environment, stays within the
container's limits and ends with the container.
"""

from __future__ import annotations

import os
import secrets
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Literal

import anyio

from .container.argv import (
    COMMAND_SCRIPT,
    END_SCRIPT,
    MODE_SCRIPT,
    PROBE_SCRIPT,
    READ_SCRIPT,
    RUN_VARIABLE,
    UNPACK_SCRIPT,
    WRITE_SCRIPT,
    ContainerLimits,
    ContainerSetup,
    allow_processes_argv,
    exec_argv,
    open_places_argv,
)
from .container.engine_calls import call_engine
from .container.exchange import BoundedBytes, Exchange
from .container.feed import archive_of, handed_on, one_piece
from .container.life import (
    LivingContainer,
    ask_engine,
    end_container,
    make_container,
    own_name,
    remove_container,
    require_running,
    user_process_limit,
)
from .errors import CommandStartError, CommandTimeoutError, SandboxAnswerError, SandboxError, SandboxUnavailableError
from .file_content import decode_text, encode_text, file_error, not_a_file, require_whole, too_large
from .limits import FILE_READ_MAX_BYTES, FILE_TIMEOUT_S, LINE_OUTPUT_MAX_BYTES, RUN_OUTPUT_MAX_BYTES, TRANSFER_TIMEOUT_S
from .port import RunResult, require_sandbox_path
from .process.capture import OutputCapture
from .process.result import CaptureLimits
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
    from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence

    from .container.argv import ContainerEngine
    from .port import Command, DirectoryListing, FileStat

WORKSPACE: Final = "/workspace"


class ContainerSandboxClient:
    """Fulfils ``SandboxClient`` with every operation on files, and what manifests need but mounts.

    Made by :meth:`create` or :meth:`adopt`, closed by :meth:`close`, and used from the event loop that it was made in.
    ``workspace`` is the directory in the container that is meant for files.
    """

    def __init__(
        self,
        living: LivingContainer,
        *,
        workspace: str,
        environment: Mapping[str, str],
        limits: ContainerLimits | None = None,
    ) -> None:
        self.workspace = workspace
        self._living = living
        self._engine_environment = environment
        self._limits = limits
        self._variables: dict[str, str] = {}
        self._absent: frozenset[str] = frozenset()
        self._closed = ""

    @classmethod
    async def create(
        cls,
        engine: ContainerEngine,
        *,
        image: str,
        network: bool = False,
        keep: bool = False,
        user: str = "1000:1000",
        workspace: str = WORKSPACE,
        limits: ContainerLimits | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> ContainerSandboxClient:
        """Make a container of an image that the engine has; nothing is downloaded.

        ``network``: whether it has the engine's usual one. ``keep``: it stays until somebody removes it; otherwise it
        ends with :meth:`close`, and with this process. ``environment`` is what the engine's command line is started
        with, this process's by default; nothing of it gets into the container.

        Raises:
            SandboxUnavailableError: it cannot be had; nothing of it is left.
        """
        given = dict(os.environ) if environment is None else dict(environment)
        setup = ContainerSetup(
            name=f"openbuffer-{secrets.token_hex(8)}",
            image=image,
            workspace=workspace,
            owner=None if keep else own_name(),
            network=network,
            user_processes=user_process_limit(),
            user=user,
            limits=limits or ContainerLimits(),
        )
        living = await make_container(engine, setup, given)
        client = cls(living, workspace=workspace, environment=given, limits=setup.limits)
        try:
            await client._look(may_open=True)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await end_container(living, given)
                await remove_container(engine, living.id, given)
            raise
        return client

    @classmethod
    async def adopt(
        cls,
        engine: ContainerEngine,
        container: str,
        *,
        workspace: str = WORKSPACE,
        environment: Mapping[str, str] | None = None,
    ) -> ContainerSandboxClient:
        """Use a container that runs already; what confines it is whoever made it's to say, and it is not ended.

        Raises:
            SandboxUnavailableError: it does not run, or lacks what is needed.
        """
        given = dict(os.environ) if environment is None else dict(environment)
        living = await require_running(engine, container, given)
        client = cls(living, workspace=workspace, environment=given)
        await client._look(may_open=False)
        return client

    @property
    def filesystem(self) -> Literal["separate"]:
        """Its files are its own."""
        return "separate"

    @property
    def container_id(self) -> str:
        """By which the engine knows it."""
        return self._living.id

    @property
    def absent_operations(self) -> frozenset[str]:
        """``write_files``, where the image has no tar."""
        return self._absent

    async def run(self, command: Command) -> RunResult:
        """Run a line by the container's ``/bin/sh`` to its end; cancelling ends it inside.

        What it leaves in the background goes on, without being able to write to this call's output.

        Raises:
            CommandStartError: its directory is none in the container.
            CommandTimeoutError: it took longer than its time, and was ended.
            ExitCodeError: how it ended is not known.
            SandboxError: it could not be run.
        """
        half = RUN_OUTPUT_MAX_BYTES // 2
        capture = OutputCapture(CaptureLimits(head_bytes=half, tail_bytes=half))
        with handed_on(self._variables) as variables:
            try:
                with anyio.fail_after(command.timeout_s):
                    code, said = await self._executed(
                        COMMAND_SCRIPT, [command.cwd, command.line], on_out=capture.feed, environment_fd=variables
                    )
            except TimeoutError:
                output = capture.captured()
                raise CommandTimeoutError(
                    f"the command was ended after {command.timeout_s:g} s; give it more time, or less to do",
                    output=output.head + output.tail,
                ) from None
        if said.endswith("openbuffer-no-directory"):
            raise CommandStartError(f"{command.cwd} is no directory in the container; name another one")
        output = capture.captured()
        return RunResult(exit_code=code, output=output.head + output.tail, cut=output.cut)

    async def read_bytes(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """The whole content of a file.

        Raises:
            SandboxFileTooLargeError: it holds more than ``max_bytes``, or than ``FILE_READ_MAX_BYTES``.
            SandboxFileError: it cannot be read.
        """
        most = FILE_READ_MAX_BYTES if max_bytes is None else min(max_bytes, FILE_READ_MAX_BYTES)
        status = await self.stat(path)
        if status.kind != "file":
            raise not_a_file(path, status.kind)
        if status.size > most:
            raise too_large(path, most)
        read = BoundedBytes(most)
        code, said = await self._timed(READ_SCRIPT, [path, str(most + 1)], on_out=read.feed)
        if code != 0:
            raise file_error(path, "read", said)
        if read.is_over:
            raise too_large(path, most)
        if len(read.content) != status.size:
            require_whole(path, len(read.content), status, await self.stat(path))
        return bytes(read.content)

    async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:
        """The text of a UTF-8 file; see the port."""
        return decode_text(path, await self.read_bytes(path, max_bytes=max_bytes))

    async def write_bytes(self, path: str, content: bytes) -> None:
        """Make the file or replace its content; the old one stays until the new one is whole.

        Raises:
            SandboxFileError: it cannot be written; then it is as it was.
        """
        await self.write_stream(path, one_piece(content), size=len(content))

    async def write_file(self, path: str, text: str) -> None:
        """Make the file or replace its content by text as UTF-8; see the port."""
        await self.write_bytes(path, encode_text(path, text))

    async def write_stream(self, path: str, pieces: AsyncIterable[bytes], *, size: int) -> None:
        """Make the file of exactly ``size`` bytes, of which only a few pieces are in memory here; else as above."""
        require_sandbox_path(path)
        arguments = [path, str(size), secrets.token_hex(8)]
        code, said = await self._timed(WRITE_SCRIPT, arguments, feed=pieces, timeout_s=TRANSFER_TIMEOUT_S)
        if code != 0:
            raise file_error(path, "written", said)

    async def write_files(self, files: Sequence[tuple[str, bytes | None]]) -> None:
        """Make many small files, and directories (None), by one call.

        Raises:
            SandboxError: some of it may be there.
        """
        archive = archive_of(files)
        code, said = await self._timed(UNPACK_SCRIPT, [], feed=one_piece(archive), timeout_s=TRANSFER_TIMEOUT_S)
        if code != 0:
            raise SandboxError(f"{len(files)} files could not be written, or not all: {said[-1000:]}")

    async def stat(self, path: str) -> FileStat:
        """What the path leads to; see the port."""
        return parse_stat(path, await self._line(path, stat_line(path)))

    async def list_directory(self, path: str, *, max_entries: int) -> DirectoryListing:
        """The entries of a directory; see the port."""
        return parse_list(path, await self._line(path, list_line(path, max_entries)))

    async def delete(self, path: str) -> None:
        """Delete a file, a link itself, or an empty directory; see the port."""
        check_deleted(path, await self._line(path, delete_line(path)))

    async def make_directory(self, path: str) -> None:
        """Make the directory and those above it; see the port."""
        check_made_directory(path, await self._line(path, make_directory_line(path)))

    async def set_permissions(self, path: str, mode: int) -> None:
        """Give the file or directory these permission bits.

        Raises:
            SandboxFileError: it has them not.
        """
        require_sandbox_path(path)
        code, said = await self._timed(MODE_SCRIPT, [path, f"{mode:04o}"])
        if code != 0:
            raise file_error(path, "given permissions", said)

    async def set_environment(self, variables: Mapping[str, str]) -> None:
        """Start every later command with these variables; it is looked whether they arrive as they are.

        Raises:
            SandboxError: they do not; nothing was changed.
        """
        wanted = {**self._variables, **variables}
        seen = BoundedBytes(LINE_OUTPUT_MAX_BYTES)
        with handed_on(wanted) as file:
            script = "exec cat /proc/self/environ"
            code, said = await self._timed(script, [], on_out=seen.feed, environment_fd=file)
        arrived = set(bytes(seen.content).split(b"\0"))
        lost = [name for name, value in wanted.items() if f"{name}={value}".encode() not in arrived]
        if code != 0 or lost or RUN_VARIABLE in wanted:
            raise SandboxError(
                f"{', '.join(lost[:5]) or RUN_VARIABLE} cannot be given to commands as it is {said[-300:]}".strip()
                + "; leave it out"
            )
        self._variables = wanted

    async def close(self) -> None:
        """End the container and all that runs in it, unless it was to be kept or is somebody else's."""
        self._closed = self._closed or "this sandbox has been closed; make a new one"
        await end_container(self._living, self._engine_environment)

    async def remove(self) -> None:
        """End it and remove it, also one that was to be kept; one of somebody else's is only let go."""
        await self.close()
        if self._limits is not None:
            await remove_container(self._living.engine, self._living.id, self._engine_environment)

    async def _look(self, *, may_open: bool) -> None:
        """See what the image has.

        Raises:
            SandboxUnavailableError: something is missing without which nothing works.
        """
        closed = await self._probe()
        if closed and may_open:
            argv = open_places_argv(self._living.engine, self._living.id, self.workspace)
            await ask_engine(
                self._living.engine, argv, self._engine_environment, f"{closed[0]} cannot be opened to the user"
            )
            closed = await self._probe()
        if closed:
            raise SandboxUnavailableError(
                f"{closed[0]} is no directory in the container that its user can write; name another workspace, or user"
            )

    async def _probe(self) -> list[str]:
        """Note what the image has; the places that cannot be written."""
        out = BoundedBytes(LINE_OUTPUT_MAX_BYTES)
        await self._timed(PROBE_SCRIPT, [self.workspace], on_out=out.feed)
        told = out.content.decode(errors="replace").splitlines()
        lacks = next((line.removeprefix("lacks").split() for line in told if line.startswith("lacks")), ["/bin/sh"])
        if lacks:
            raise SandboxUnavailableError(
                f"the image lacks {', '.join(lacks)}; use one with the usual programs, such as Debian's or BusyBox's"
            )
        self._absent = frozenset() if "tar" in told else frozenset({"write_files"})
        return [line.removeprefix("closed ") for line in told if line.startswith("closed ")]

    async def _line(self, path: str, line: str) -> LineEnd:
        require_sandbox_path(path)
        out = BoundedBytes(LINE_OUTPUT_MAX_BYTES)
        code, said = await self._timed(line, [], on_out=out.feed)
        if out.is_over:
            raise SandboxAnswerError(f"more than {LINE_OUTPUT_MAX_BYTES:,} bytes came as an answer about {path}")
        return LineEnd(exit_code=code, out=out.content.decode("utf-8", "surrogateescape"), err=said)

    async def _timed(
        self,
        script: str,
        arguments: list[str],
        *,
        on_out: Callable[[bytes], None] | None = None,
        feed: AsyncIterable[bytes] | None = None,
        timeout_s: float = FILE_TIMEOUT_S,
        environment_fd: int | None = None,
    ) -> tuple[int, str]:
        try:
            with anyio.fail_after(timeout_s):
                return await self._executed(
                    script, arguments, on_out=on_out or _ignore, feed=feed, environment_fd=environment_fd
                )
        except TimeoutError:
            raise SandboxError(f"the container did not answer for {timeout_s:g} s; see whether it still runs") from None

    async def _executed(
        self,
        script: str,
        arguments: list[str],
        *,
        on_out: Callable[[bytes], None],
        feed: AsyncIterable[bytes] | None = None,
        environment_fd: int | None = None,
    ) -> tuple[int, str]:
        """The script's exit code, and what was said on stderr."""
        if self._closed:
            raise SandboxUnavailableError(self._closed)
        run = secrets.token_hex(12)
        ended = anyio.Event()
        exchange = Exchange(run, ended.set)
        argv = exec_argv(
            self._living.engine,
            self._living.id,
            script,
            arguments,
            run=run,
            stdin=feed is not None,
            environment_file="" if environment_fd is None else f"/dev/fd/{environment_fd}",
        )
        is_over = False
        try:
            engine_code = await call_engine(
                argv,
                environment=self._engine_environment,
                on_out=on_out,
                on_err=exchange.feed,
                feed=feed,
                ended=ended,
                pass_fds=() if environment_fd is None else (environment_fd,),
            )
            is_over = ended.is_set() or not exchange.leader
        finally:
            if not is_over and not ended.is_set():
                await self._end_inside(run, exchange.leader)
        return exchange.exit_code(self._living.engine, engine_code), exchange.said

    async def _end_inside(self, run: str, leader: str) -> None:
        """End what runs of a call. The engine's command line is gone by now, and it would have ended nothing inside.

        Where that cannot be done, because all processes are used up for example, the container is ended that was made
        here: what must end, ends.
        """
        with anyio.CancelScope(shield=True):
            if await self._is_ended_by_script(run, leader):
                return
            limits, attachment = self._limits, self._living.attachment
            if limits is not None:
                await self._ask(allow_processes_argv(self._living.engine, self._living.id, limits.processes + _MORE))
                ended = await self._is_ended_by_script(run, leader)
                await self._ask(allow_processes_argv(self._living.engine, self._living.id, limits.processes))
                if not ended and attachment is not None:
                    self._closed = "a command could not be ended otherwise, so its container was; make a new one"
                    await end_container(self._living, self._engine_environment)

    async def _is_ended_by_script(self, run: str, leader: str) -> bool:
        argv = exec_argv(self._living.engine, self._living.id, END_SCRIPT, [run, leader], run=f"end-{run}")
        return await self._ask(argv) == 0

    async def _ask(self, argv: Sequence[str]) -> int | None:
        with anyio.move_on_after(_END_TIMEOUT_S):
            return await call_engine(argv, environment=self._engine_environment, on_out=_ignore, on_err=_ignore)
        return None


@asynccontextmanager
async def container_sandbox(
    engine: ContainerEngine, *, image: str, network: bool = False, limits: ContainerLimits | None = None
) -> AsyncGenerator[ContainerSandboxClient]:
    """A container for as long as the context lasts.

    Raises:
        SandboxUnavailableError: it cannot be had.
    """
    client = await ContainerSandboxClient.create(engine, image=image, network=network, limits=limits)
    try:
        yield client
    finally:
        await client.close()


def _ignore(data: bytes) -> None:
    del data


_END_TIMEOUT_S: Final = 20.0
_MORE: Final = 64  # processes, for the shell that ends the others
