"""Where the one suite of the port runs: each client, with a directory of its own, and what it can."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from e2b_doubles import AsyncCommands, AsyncFiles, BlockingCommands, BlockingFiles, HostSandbox, TextFiles
from e2b_service import e2b_place, e2b_problem
from engine_double import write_engine
from openbuffer.sandbox import SandboxSettings
from openbuffer.sandbox.container.life import find_container_engine
from openbuffer.sandbox.container_client import ContainerSandboxClient
from openbuffer.sandbox.detect import detect_os_sandbox
from openbuffer.sandbox.e2b_client import E2BSandboxClient
from openbuffer.sandbox.memory_client import InMemorySandboxClient
from openbuffer.sandbox.os_client import OsSandboxClient

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from openbuffer.sandbox import SandboxClient


@dataclass(frozen=True)
class Place:
    """``root`` is a directory of the client's file system that is empty and may be written."""

    client: SandboxClient
    root: str
    has_shell: bool = True


@asynccontextmanager
async def memory(_base: Path) -> AsyncGenerator[Place]:
    yield Place(InMemorySandboxClient(), "/workspace", has_shell=False)


@asynccontextmanager
async def os_sandbox(base: Path) -> AsyncGenerator[Place]:
    root = base / "ws"
    root.mkdir()
    client = OsSandboxClient(
        detection=detect_os_sandbox([]),
        roots=[str(root)],
        settings=lambda: SandboxSettings(enabled=True),
        state_directory=str(base / "state"),
        environment=lambda: {"PATH": "/usr/bin:/bin"},
    )
    yield Place(client, str(root))
    client.close()


def e2b_over(
    commands: BlockingCommands | AsyncCommands, files: object
) -> Callable[[Path], AbstractAsyncContextManager[Place]]:
    @asynccontextmanager
    async def place(base: Path) -> AsyncGenerator[Place]:
        root = base / "ws"
        root.mkdir()
        sandbox = HostSandbox(root, commands, files)
        client = E2BSandboxClient(sandbox, checkpoint_factory=sandbox.from_checkpoint)
        try:
            yield Place(client, str(root))
        finally:
            commands.stop()

    return place


@asynccontextmanager
async def e2b_package(base: Path, *, is_async: bool) -> AsyncGenerator[Place]:
    root = base / "ws"
    root.mkdir()
    async with e2b_place(root, is_async=is_async) as client:
        yield Place(client, str(root))


@asynccontextmanager
async def container(base: Path) -> AsyncGenerator[Place]:
    state, programs, root = base / "state", base / "programs", base / "ws"
    for directory in (state, programs, root):
        directory.mkdir()
    write_engine(programs, "docker")
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "ENGINE_STATE": str(state)}
    engine = find_container_engine("docker", environment)
    client = await ContainerSandboxClient.create(engine, image="a:1", workspace=str(root), environment=environment)
    try:
        yield Place(client, str(root))
    finally:
        await client.close()


PLACES: dict[str, Callable[[Path], AbstractAsyncContextManager[Place]]] = {
    "memory": memory,
    "os": os_sandbox,
    "e2b blocking double": e2b_over(BlockingCommands(), BlockingFiles()),
    "e2b async double": e2b_over(AsyncCommands(), AsyncFiles()),
    "e2b text-only double": e2b_over(BlockingCommands(), TextFiles()),
    "container, engine's double": container,
    "e2b package, Sandbox": lambda base: e2b_package(base, is_async=False),
    "e2b package, AsyncSandbox": lambda base: e2b_package(base, is_async=True),
}
"""Another client joins the suite by one line here, and one in ``lacking`` if it cannot be had everywhere."""


def lacking(name: str) -> str:
    """Why this client cannot be had here; empty if it can."""
    if name == "os":
        return detect_os_sandbox([]).problem
    return e2b_problem() if name.startswith("e2b package") else ""
