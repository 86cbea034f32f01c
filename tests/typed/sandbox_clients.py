"""What pyright has to agree to, and nobody runs: each client that is shipped is what its port asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openbuffer.bridge.session_sandbox import SessionSandbox
    from openbuffer.sandbox import (
        AppliesManifests,
        DeletesFiles,
        ListsDirectories,
        MakesDirectories,
        ManifestResult,
        ReadsBytes,
        RestoresSnapshots,
        SandboxClient,
        StatsFiles,
        TakesSnapshots,
        TellsAbsentOperations,
        WrapsCommands,
        WritesBytes,
    )
    from openbuffer.sandbox.container_client import ContainerSandboxClient
    from openbuffer.sandbox.e2b_client import E2BSandboxClient
    from openbuffer.sandbox.manifests.model import WorkspaceManifest
    from openbuffer.sandbox.manifests.ports import SetsEnvironment, SetsPermissions, WritesManyFiles, WritesStreams
    from openbuffer.sandbox.memory_client import InMemorySandboxClient
    from openbuffer.sandbox.os_client import OsSandboxClient
    from openbuffer.tools.config import ToolConfig
    from openbuffer.tools.host import create_read_tool

    class Applying(InMemorySandboxClient):
        """One's own, with real types."""

        async def apply_manifest(self, manifest: WorkspaceManifest) -> ManifestResult:
            """See the port."""
            del manifest
            return ManifestResult(entries=())

    def every_client_is_one(
        memory: InMemorySandboxClient,
        e2b: E2BSandboxClient,
        container: ContainerSandboxClient,
        os: OsSandboxClient,
        session: SessionSandbox,
    ) -> tuple[SandboxClient, ...]:
        """In an annotated variable, as an argument and in a tuple of them."""
        client: SandboxClient = InMemorySandboxClient({"/workspace/a": "x"})
        create_read_tool(cwd="/workspace", sandbox=container)
        ToolConfig(roots=("/workspace",), sandbox=memory)
        ToolConfig(roots=("/workspace",), sandbox=e2b)
        ToolConfig(roots=("/workspace",), sandbox=container)
        return client, memory, e2b, container, os, session

    def those_with_files_have_the_operations_on_them(
        memory: InMemorySandboxClient, e2b: E2BSandboxClient, container: ContainerSandboxClient
    ) -> None:
        """Each of them has each."""
        stats: tuple[StatsFiles, ...] = (memory, e2b, container)
        lists: tuple[ListsDirectories, ...] = (memory, e2b, container)
        deletes: tuple[DeletesFiles, ...] = (memory, e2b, container)
        makes: tuple[MakesDirectories, ...] = (memory, e2b, container)
        reads: tuple[ReadsBytes, ...] = (memory, e2b, container)
        writes: tuple[WritesBytes, ...] = (memory, e2b, container)
        del stats, lists, deletes, makes, reads, writes

    def and_some_have_more(
        memory: InMemorySandboxClient, e2b: E2BSandboxClient, container: ContainerSandboxClient, os: OsSandboxClient
    ) -> None:
        """What not all of them have."""
        takes: tuple[TakesSnapshots, ...] = (memory, e2b)
        restores: tuple[RestoresSnapshots, ...] = (memory, e2b)
        tells: tuple[TellsAbsentOperations, ...] = (e2b, container)
        wraps: WrapsCommands = os
        applies: AppliesManifests = Applying()
        streams: WritesStreams = container
        many: WritesManyFiles = container
        permissions: SetsPermissions = container
        environment: SetsEnvironment = container
        del takes, restores, tells, wraps, applies, streams, many, permissions, environment
