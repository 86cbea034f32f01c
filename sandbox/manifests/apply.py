"""Fills a fresh workspace as a manifest has it, through a client (S11).

First everything is looked at: the models, the controls, the host's files, what lies in the workspace already. A
manifest that is refused leaves nothing. Then come directories, repositories and the rest in the order given, and
permissions at the end, because they may close a directory. A failure in the middle takes nothing back, and tells what
is there.
"""

from __future__ import annotations

import shlex
from collections import deque
from typing import TYPE_CHECKING, Any, Final, cast

import anyio.to_thread

from ..errors import ManifestRefusedError, SandboxAnswerError, SandboxError, SandboxFileNotFoundError
from ..exit_codes import exit_code_of_result
from ..port import (
    AppliesManifests,
    Command,
    ListsDirectories,
    find_operation,
    require_sandbox_path,
    routes_files_through_sandbox,
)
from .application import LOOK_TIMEOUT_S, ManifestApplication, foreign, joined
from .model import WorkspaceManifest, parse_manifest
from .paths import shown
from .plan import CloneRepository, make_plan
from .ports import SetsEnvironment, find_manifest_operation
from .result import ManifestResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..port import SandboxClient
    from .plan import Plan
    from .ports import HostFiles

WORKSPACE_ROOT: Final = "/workspace"
LISTED_MAX: Final = 50_000


async def apply_workspace_manifest(
    client: SandboxClient,
    manifest: WorkspaceManifest | Mapping[str, Any],
    host_files: HostFiles | None = None,
    *,
    root: str = WORKSPACE_ROOT,
) -> ManifestResult:
    """Apply the manifest in the client's directory ``root``, an absolute path, which is made if it is not there.

    ``host_files`` is where local entries are read; without it there can be none. A mount that the client cannot make
    is ``unsupported`` in the result, which is then not ``complete``. A client with an ``apply_manifest`` of its own
    does all of it, unless there are local entries, which only this function can read.

    Raises:
        ManifestRefusedError: it was refused before its first entry; nothing was applied.
        ManifestFailedError: it failed in the middle; its ``result`` tells what was applied.
    """
    if not isinstance(manifest, WorkspaceManifest):
        manifest = parse_manifest(manifest)
    if not routes_files_through_sandbox(client):
        raise ManifestRefusedError(
            "this sandbox has no files of its own: it confines commands on the host's, which a manifest must not fill; "
            "use a sandbox with a separate file system. Nothing was applied"
        )
    root = _checked_root(root)
    local = any(entry.type in {"localFile", "localDir"} for entry in manifest.entries.values())
    own = find_operation(client, AppliesManifests)
    if own is not None and not local:
        # A client of somebody else's may answer with anything.
        result = cast("object", await own.apply_manifest(manifest))
        if not isinstance(result, ManifestResult):
            raise SandboxAnswerError("the sandbox applied the manifest and did not tell what became of its entries")
        return result
    plan = await anyio.to_thread.run_sync(make_plan, client, manifest, host_files)
    await _require_possible(client, plan, root)
    if manifest.environment:
        await _set_environment(client, manifest.environment)
    return await ManifestApplication(client, plan, host_files, root).run()


def _checked_root(root: str) -> str:
    try:
        require_sandbox_path(root)
    except SandboxError as error:
        raise ManifestRefusedError(f"the workspace: {error}. Nothing was applied") from error
    if any(name in {".", ".."} for name in root.split("/")):
        raise ManifestRefusedError(f"the workspace is {shown(root)}; give its path without . and .. in it")
    return "/" + root.strip("/")


async def _require_possible(client: SandboxClient, plan: Plan, root: str) -> None:
    try:
        await _require_fresh(client, plan, root)
        if any(isinstance(step, CloneRepository) for entry in plan.entries for step in entry.steps):
            await _require_git(client)
    except ManifestRefusedError:
        raise
    except Exception as reason:  # a client of somebody else's may fail with anything
        error = reason if isinstance(reason, SandboxError) else foreign(reason)
        raise ManifestRefusedError(f"the sandbox cannot be looked at: {error}. Nothing was applied") from reason


async def _require_fresh(client: SandboxClient, plan: Plan, root: str) -> None:
    """Nothing that is there already is written over, nor written through where it is a link."""
    lists = find_operation(client, ListsDirectories)
    if lists is None:
        await _require_empty(client, root)
        return
    directories = deque([""])
    while directories:
        directory = directories.popleft()
        try:
            listing = await lists.list_directory(joined(root, directory), max_entries=LISTED_MAX)
        except SandboxFileNotFoundError:
            if directory:
                raise
            return
        if not listing.complete:
            raise ManifestRefusedError(
                f"{joined(root, directory)} holds more than {LISTED_MAX:,} names; use a fresh workspace. "
                "Nothing was applied"
            )
        for found in listing.entries:
            path = f"{directory}/{found.name}" if directory else found.name
            place = plan.paths.place(path)
            if place is None:
                continue
            if place == "leaf" or found.kind != "directory":
                raise ManifestRefusedError(
                    f"{shown(path)} exists in the workspace already (as a {found.kind}), and a manifest writes over "
                    "nothing; use a fresh workspace, or remove it. Nothing was applied"
                )
            directories.append(path)


async def _require_empty(client: SandboxClient, root: str) -> None:
    quoted = shlex.quote(root)
    line = (
        f'if [ -d {quoted} ]; then names=$(ls -A -- {quoted}) && [ -z "$names" ]; '
        f"else [ ! -e {quoted} ] && [ ! -L {quoted} ]; fi && echo {_FRESH}"
    )
    ended = await client.run(Command(line=line, cwd="/", timeout_s=LOOK_TIMEOUT_S))
    if exit_code_of_result(ended) != 0 or _FRESH not in ended.output.split():
        raise ManifestRefusedError(
            f"{root} is not empty, and this sandbox cannot list what is in it; use a fresh workspace. "
            "Nothing was applied"
        )


async def _require_git(client: SandboxClient) -> None:
    ended = await client.run(Command(line="git --version", cwd="/", timeout_s=LOOK_TIMEOUT_S))
    if exit_code_of_result(ended) != 0:
        raise ManifestRefusedError(
            "the manifest clones a repository, and there is no git in the sandbox; use an image that has it. "
            "Nothing was applied"
        )


async def _set_environment(client: SandboxClient, variables: Mapping[str, str]) -> None:
    sets = find_manifest_operation(client, SetsEnvironment)
    assert sets is not None, "the plan has been refused otherwise"
    try:
        await sets.set_environment(variables)
    except SandboxError as error:
        raise ManifestRefusedError(f"the environment cannot be set: {error}. Nothing was applied") from error


_FRESH: Final = "openbuffer-fresh"
