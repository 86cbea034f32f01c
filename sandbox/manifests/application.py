"""Applies the steps of a plan one after the other, and keeps account of what is there."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from ..errors import HostFileError, ManifestFailedError, SandboxError, in_words
from ..exit_codes import exit_code_of_result
from ..port import Command, MakesDirectories, WritesBytes, find_operation
from .git import clone_line, is_commit_id
from .model import Directory, GitRepository
from .paths import shown
from .plan import CloneRepository, MakeDirectory, Mount, WriteFile, permissions_of
from .ports import HostEntry, MountsStorage, SetsPermissions, WritesManyFiles, WritesStreams, find_manifest_operation
from .result import EntryResult, EntryStatus, ManifestResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from ..port import SandboxClient
    from .plan import Plan, Step
    from .ports import HostFiles

CLONE_TIMEOUT_S: Final = 900.0
LOOK_TIMEOUT_S: Final = 60.0
"""How long a small command may take by which the sandbox is looked at, or a directory made."""

BATCH_MAX_FILES: Final = 500
BATCH_MAX_BYTES: Final = 4 * 1024 * 1024


class ManifestApplication:
    """One pass over the plan. Small files are gathered where the client can write many of them at once."""

    def __init__(self, client: SandboxClient, plan: Plan, host_files: HostFiles | None, root: str) -> None:
        self._client = client
        self._plan = plan
        self._host_files = host_files
        self._root = root
        self._many = find_manifest_operation(client, WritesManyFiles)
        self._streams = find_manifest_operation(client, WritesStreams)
        self._bytes = find_operation(client, WritesBytes)
        self._batch: list[tuple[int, str, bytes | None]] = []
        self._batch_bytes = 0
        self._working_on: set[int] = set()
        self._left = [len(entry.steps) for entry in plan.entries]
        self._statuses: list[EntryStatus] = ["not_applied"] * len(plan.entries)
        self._details = [entry.detail for entry in plan.entries]

    async def run(self) -> ManifestResult:
        """Do every step.

        Raises:
            ManifestFailedError: one of them failed.
        """
        try:
            await self._make_directory(self._root)
            for number in sorted(range(len(self._plan.entries)), key=self._turn):
                for step in self._plan.entries[number].steps:
                    await self._take(number, step)
            await self._flush()
            await self._set_permissions()
        except Exception as error:  # whatever a client or a reader of files fails with, what is there has to be told
            raise self._failure(error) from error
        return self._result()

    def _turn(self, number: int) -> int:
        # Repositories come before files, so that none of these is settings of git's where the workspace is its home.
        entry = self._plan.entries[number].entry
        return 0 if isinstance(entry, Directory) else 1 if isinstance(entry, GitRepository) else 2

    async def _take(self, number: int, step: Step) -> None:
        if self._many is not None and _is_small(step):
            self._working_on.add(number)
            content = await self._content(step.content) if isinstance(step, WriteFile) else None
            self._batch.append((number, joined(self._root, step.path), content))
            self._batch_bytes += len(content or b"")
            if len(self._batch) >= BATCH_MAX_FILES or self._batch_bytes >= BATCH_MAX_BYTES:
                await self._flush()
            return
        await self._flush()
        self._working_on = {number}
        await self._do(number, step)
        self._working_on = set()
        self._done(number)

    async def _flush(self) -> None:
        if not self._batch:
            return
        assert self._many is not None
        await self._many.write_files([(path, content) for _, path, content in self._batch])
        for number, _, _ in self._batch:
            self._done(number)
        self._working_on = set()
        self._batch = []
        self._batch_bytes = 0

    def _done(self, number: int) -> None:
        self._left[number] -= 1
        if self._left[number] == 0:
            steps = self._plan.entries[number].steps
            skipped = any(isinstance(step, Mount) and not step.supported for step in steps)
            self._statuses[number] = "unsupported" if skipped else "applied"

    async def _do(self, number: int, step: Step) -> None:
        path = joined(self._root, step.path)
        match step:
            case MakeDirectory():
                await self._make_directory(path)
            case WriteFile():
                await self._write(path, step.content)
            case CloneRepository():
                self._details[number] = await self._clone(path, step.entry)
            case Mount():
                self._details[number] = await self._mount(path, step)

    async def _make_directory(self, path: str) -> None:
        makes = find_operation(self._client, MakesDirectories)
        if makes is not None:
            await makes.make_directory(path)
            return
        line = f"mkdir -p -- {shlex.quote(path)}"
        ended = await self._client.run(Command(line=line, cwd="/", timeout_s=LOOK_TIMEOUT_S))
        if exit_code_of_result(ended) != 0:
            raise SandboxError(f"{path} cannot be made: {_last_words(ended.output)}")

    async def _write(self, path: str, content: bytes | HostEntry) -> None:
        if self._streams is not None and isinstance(content, HostEntry):
            assert self._host_files is not None
            pieces = _pieces(self._host_files, content)
            try:
                await self._streams.write_stream(path, pieces, size=content.size)
            finally:
                await pieces.aclose()
            return
        whole = await self._content(content)
        if self._bytes is not None:
            await self._bytes.write_bytes(path, whole)
            return
        try:
            text = whole.decode()
        except UnicodeDecodeError:
            raise HostFileError("it was UTF-8 when it was looked at, and is not any more") from None
        await self._client.write_file(path, text)

    async def _content(self, content: bytes | HostEntry) -> bytes:
        if not isinstance(content, HostEntry):
            return content
        assert self._host_files is not None
        return await anyio.to_thread.run_sync(_whole, self._host_files, content)

    async def _clone(self, path: str, entry: GitRepository) -> str:
        variables = self._plan.variables
        line = clone_line(entry.url, entry.ref, shallow=entry.shallow, directory=path, variables=variables)
        ended = await self._client.run(Command(line=line, cwd=self._root, timeout_s=CLONE_TIMEOUT_S))
        if exit_code_of_result(ended) != 0:
            raise SandboxError(f"git could not clone it (exit code {ended.exit_code}): {_last_words(ended.output)}")
        commit = (ended.output.split() or [""])[-1]
        if not is_commit_id(commit) or (entry.ref and is_commit_id(entry.ref) and entry.ref != commit):
            raise SandboxError(f"git did not tell the commit that was asked for: {_last_words(ended.output)}")
        return f"at {commit}"

    async def _mount(self, path: str, step: Mount) -> str:
        mounts = find_manifest_operation(self._client, MountsStorage) if step.supported else None
        if mounts is None:
            return "this sandbox cannot mount storage of this kind; nothing was made here"
        await mounts.mount_storage(path, step.entry)
        return ""

    async def _set_permissions(self) -> None:
        sets = find_manifest_operation(self._client, SetsPermissions)
        asked = [
            (number, planned.path, mode)
            for number, planned in enumerate(self._plan.entries)
            if (mode := permissions_of(planned.entry)) is not None
        ]
        # The deepest first, because a directory that is closed cannot be entered.
        for number, path, mode in sorted(asked, key=lambda each: -each[1].count("/")):
            assert sets is not None, "the plan has been refused otherwise"
            self._working_on = {number}
            await sets.set_permissions(joined(self._root, path), mode)
        self._working_on = set()

    def _result(self) -> ManifestResult:
        return ManifestResult(
            entries=tuple(
                EntryResult(path=planned.path, type=planned.entry.type, status=status, detail=detail)
                for planned, status, detail in zip(self._plan.entries, self._statuses, self._details, strict=True)
            )
        )

    def _failure(self, reason: Exception) -> ManifestFailedError:
        error = reason if isinstance(reason, SandboxError) else foreign(reason)
        for number, planned in enumerate(self._plan.entries):
            begun = 0 < self._left[number] < len(planned.steps)
            if begun or number in self._working_on:
                self._statuses[number] = "failed"
                self._details[number] = str(error) if len(self._working_on) == 1 else "a part of it may be there"
        result = self._result()
        counts = {status: len(result.with_status(status)) for status in ("applied", "failed", "not_applied")}
        named = ", ".join(shown(entry.path) for entry in result.with_status("failed")[:_NAMED_MAX])
        return ManifestFailedError(
            f"applying the manifest failed{f' at {named}' if named else ''}: {error}. Applied: {counts['applied']}, "
            f"failed (a part may be there): {counts['failed']}, not begun: {counts['not_applied']}. Nothing was taken "
            "back; correct it and begin with a fresh workspace",
            result=result,
        )


def foreign(error: Exception) -> SandboxError:
    """What is no error of the port's, as one: of this host's files, or of a client of somebody else's."""
    return SandboxError(in_words(error))


def _is_small(step: Step) -> bool:
    return isinstance(step, MakeDirectory) or (isinstance(step, WriteFile) and step.size <= BATCH_MAX_BYTES // 4)


def joined(root: str, path: str) -> str:
    """The absolute path in the sandbox of a path in the workspace; the empty one is the workspace."""
    return f"{root.rstrip('/')}/{path}" if path else root


def _last_words(output: str) -> str:
    words = " ".join(output.split())
    return words[-_WORDS_MAX_CHARS:] or "it said nothing"


async def _pieces(files: HostFiles, file: HostEntry) -> AsyncGenerator[bytes, None]:
    opened = files.open(file)
    pieces = await anyio.to_thread.run_sync(opened.__enter__)
    try:
        while (piece := await anyio.to_thread.run_sync(_next, pieces)) is not None:
            yield piece
    finally:
        opened.__exit__(None, None, None)


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)


def _whole(files: HostFiles, file: HostEntry) -> bytes:
    with files.open(file) as pieces:
        return b"".join(pieces)


_WORDS_MAX_CHARS: Final = 600
_NAMED_MAX: Final = 3
