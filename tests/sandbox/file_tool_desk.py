"""Where the one suite of the file tools runs: on disk, and in sandboxes with files of their own."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from client_places import PLACES, lacking
from openbuffer.sandbox import SandboxFileError
from openbuffer.sandbox.memory_client import InMemorySandboxClient
from openbuffer.tools.host import create_delete_tool, create_edit_tool, create_read_tool, create_write_tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from openbuffer.sandbox import SandboxClient
    from openbuffer.tools import FunctionTool, InvocationResult, ToolContext

FACTORIES: dict[str, Any] = {
    "Read": create_read_tool,
    "Write": create_write_tool,
    "Edit": create_edit_tool,
    "Delete": create_delete_tool,
}
ON_DISK = "disk"
SPOTS = [
    ON_DISK,
    "memory",
    "e2b blocking double",
    "e2b async double",
    "e2b text-only double",
    "e2b package, Sandbox",
    "e2b package, AsyncSandbox",
    "container, engine's double",
]
"""Kinds of place that file tools work in: those whose files a test can reach behind the client's back."""


@dataclass(frozen=True)
class Spot:
    """One of them. ``put`` and ``get`` go behind the backs of the tools."""

    root: str
    client: SandboxClient | None = None

    @property
    def in_sandbox(self) -> bool:
        return self.client is not None

    @property
    def carries_bytes(self) -> bool:
        return "read_bytes" not in getattr(self.client, "absent_operations", ())

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def put(self, name: str, content: bytes) -> None:
        if isinstance(self.client, InMemorySandboxClient):
            self.client.files.write(self.path(name), content)
            return
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def get(self, name: str) -> bytes | None:
        if isinstance(self.client, InMemorySandboxClient):
            try:
                return self.client.files.read(self.path(name))
            except SandboxFileError:
                return None
        path = Path(self.path(name))
        return path.read_bytes() if path.is_file() else None

    def make_directory(self, name: str) -> None:
        if isinstance(self.client, InMemorySandboxClient):
            self.client.files.make_directory(self.path(name))
        else:
            Path(self.path(name)).mkdir(parents=True)

    def link(self, name: str, target: str) -> None:
        if isinstance(self.client, InMemorySandboxClient):
            self.client.files.link(self.path(name), target)
        else:
            Path(self.path(name)).symlink_to(target)

    def make_read_only(self, name: str) -> None:
        if isinstance(self.client, InMemorySandboxClient):
            self.client.files.chmod(self.path(name), 0o444)
        else:
            Path(self.path(name)).chmod(0o444)

    def is_there(self, name: str) -> bool:
        if isinstance(self.client, InMemorySandboxClient):
            try:
                self.client.files.stat(self.path(name))
            except SandboxFileError:
                return False
            return True
        return os.path.lexists(self.path(name))

    def tool(self, name: str, **options: Any) -> FunctionTool:
        return FACTORIES[name](cwd=self.root, sandbox=self.client, **options)

    async def call(
        self, name: str, arguments: dict[str, Any], context: ToolContext | None = None, **options: Any
    ) -> InvocationResult:
        return await called(self.tool(name, **options), arguments, context)


@asynccontextmanager
async def spot(name: str, base: Path) -> AsyncGenerator[Spot]:
    base = _canonical(base)
    if name == ON_DISK:
        root = base / "ws"
        root.mkdir()
        yield Spot(str(root))
        return
    async with PLACES[name](base) as place:
        yield Spot(place.root, place.client)


def _canonical(base: Path) -> Path:
    return Path(os.path.realpath(base))


def missing(name: str) -> str:
    """Why this spot cannot be had here; empty if it can."""
    return "" if name == ON_DISK else lacking(name)


async def called(tool: FunctionTool, arguments: dict[str, Any], context: ToolContext | None = None) -> InvocationResult:
    result = await tool.execute(arguments, context)
    assert result.invocation is not None
    assert result.success == result.invocation.success
    return result.invocation


def untouchable_editor() -> NoReturn:
    """The editor of a session whose files are not the editor's: nobody is to ask for it."""
    raise AssertionError("the editor was asked, and its files are the host's")
