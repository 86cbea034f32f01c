"""A client whose files and commands are those of a directory of the test, and what it can do besides is chosen."""

# ruff: noqa: ASYNC230, ASYNC240  the files of a test are small, and nothing else runs in its loop

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any, Literal

import anyio.to_thread
from openbuffer.sandbox.errors import SandboxFileNotFoundError, SandboxPermissionError
from openbuffer.sandbox.port import Command, DirectoryEntry, DirectoryListing, RunResult

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Mapping, Sequence
    from pathlib import Path

    from openbuffer.sandbox.manifests.model import StorageMount


class PlainClient:
    """Only what the port requires. ``calls`` tells what was done, in order; ``fails_at`` is a path that is refused."""

    filesystem: Literal["separate", "shared"] = "separate"

    def __init__(self, *, environment: Mapping[str, str] | None = None) -> None:
        self.calls: list[tuple[str, str]] = []
        self.fails_at = ""
        self.environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(environment or {})}

    @property
    def changes(self) -> list[tuple[str, str]]:
        looks = ("list", "run:git --version", "run:if ")
        return [call for call in self.calls if not f"{call[0]}:{call[1]}".startswith(looks)]

    async def run(self, command: Command) -> RunResult:
        self.calls.append(("run", command.line))
        argv = ["/bin/sh", "-c", command.line]
        done = await anyio.to_thread.run_sync(
            lambda: subprocess.run(
                argv,
                cwd=command.cwd,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=command.timeout_s,
                check=False,
            )
        )
        return RunResult(exit_code=done.returncode, output=done.stdout.decode())

    async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:
        del max_bytes
        with open(path, encoding="utf-8") as file:
            return file.read()

    async def write_file(self, path: str, text: str) -> None:
        self._wrote("write_file", path, text.encode())

    def _wrote(self, operation: str, path: str, content: bytes) -> None:
        self.calls.append((operation, path))
        self._may(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def _may(self, path: str) -> None:
        if self.fails_at and path.endswith(self.fails_at):
            raise SandboxPermissionError(f"{path} cannot be written: no space left", path=path)


class ListingClient(PlainClient):
    async def list_directory(self, path: str, *, max_entries: int) -> DirectoryListing:
        self.calls.append(("list", path))
        try:
            found = sorted(os.scandir(path), key=lambda entry: entry.name)
        except FileNotFoundError:
            raise SandboxFileNotFoundError(f"{path} is not there", path=path) from None
        entries = tuple(
            DirectoryEntry(
                name=entry.name,
                kind="link" if entry.is_symlink() else "directory" if entry.is_dir() else "file",
            )
            for entry in found
        )
        return DirectoryListing(entries=entries[:max_entries], complete=len(entries) <= max_entries)


class BytesClient(ListingClient):
    async def write_bytes(self, path: str, content: bytes) -> None:
        self._wrote("write_bytes", path, content)

    async def make_directory(self, path: str) -> None:
        self.calls.append(("make_directory", path))
        self._may(path)
        os.makedirs(path, exist_ok=True)


class FullClient(BytesClient):
    """Streams, many files at once, permissions, an environment, and mounts of one kind."""

    def __init__(self) -> None:
        super().__init__()
        self.largest_piece = 0
        self.mounted: list[str] = []
        self.modes: dict[str, int] = {}

    async def write_stream(self, path: str, pieces: AsyncIterable[bytes], *, size: int) -> None:
        self.calls.append(("write_stream", path))
        self._may(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            async for piece in pieces:
                self.largest_piece = max(self.largest_piece, len(piece))
                file.write(piece)
        assert os.path.getsize(path) == size

    async def write_files(self, files: Sequence[tuple[str, bytes | None]]) -> None:
        self.calls.append(("write_files", str(len(files))))
        for path, content in files:
            self._may(path)
            os.makedirs(path if content is None else os.path.dirname(path), exist_ok=True)
            if content is not None:
                with open(path, "wb") as file:
                    file.write(content)

    async def set_permissions(self, path: str, mode: int) -> None:
        self.calls.append(("set_permissions", path))
        os.chmod(path, mode)

    async def set_environment(self, variables: Mapping[str, str]) -> None:
        self.calls.append(("set_environment", " ".join(variables)))
        self.environment |= variables

    def can_mount(self, mount: StorageMount) -> bool:
        return mount.type == "s3Mount"

    async def mount_storage(self, path: str, mount: StorageMount) -> None:
        self.calls.append(("mount_storage", path))
        self.mounted.append(f"{mount.type} {path}")


def files_below(directory: Path) -> dict[str, Any]:
    """Content by relative path; None for an empty directory."""
    found: dict[str, Any] = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_file():
            found[name] = path.read_bytes()
        elif not any(path.iterdir()):
            found[name] = None
    return found
