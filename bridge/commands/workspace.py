"""``openbuffer workspace apply``: fills a sandbox with what a manifest says."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from openbuffer.sandbox.container.argv import ENGINES
from openbuffer.sandbox.container.life import find_container_engine
from openbuffer.sandbox.container_client import WORKSPACE, ContainerSandboxClient
from openbuffer.sandbox.errors import ManifestFailedError, ManifestRefusedError, SandboxError
from openbuffer.sandbox.manifests.apply import apply_workspace_manifest
from openbuffer.sandbox.manifests.host_files import DirectoryHostFiles
from openbuffer.sandbox.manifests.model import GitRepository, LocalDirectory, parse_manifest
from openbuffer.sandbox.manifests.plan import CloneRepository, MakeDirectory, Mount, WriteFile, rehearse

from ..life.interrupt import run_until_stopped
from .manifest_file import ManifestFileError, read_document
from .output import writing
from .terminal import Terminal, harmless, terminal_for

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from openbuffer.sandbox.manifests.model import WorkspaceManifest
    from openbuffer.sandbox.manifests.plan import PlannedEntry
    from openbuffer.sandbox.manifests.result import ManifestResult

    from .terminal import Tone

EXIT_DONE: Final = 0
EXIT_FAILED: Final = 1
EXIT_HARD: Final = 2

MEMORY: Final = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the command line asks for. ``local``: further directories of this host that local entries may read."""

    file: str
    sandbox: str
    image: str | None = None
    network: bool = False
    local: Sequence[Path] = ()
    root: str = WORKSPACE
    as_json: bool = False


def apply(order: Order) -> int:
    """Apply the manifest in the file to the sandbox; returns the exit code.

    What became of each entry goes to stdout, as lines or as one JSON object; what went wrong to stderr.
    """
    try:
        target = _target(order)
        document = read_document(order.file)
    except _UsageError as error:
        return _complain(str(error), EXIT_HARD)
    except ManifestFileError as error:
        return _complain(f"{'stdin' if order.file == '-' else order.file}: the manifest {error}", EXIT_HARD)

    async def work() -> int:
        try:
            manifest = parse_manifest(document)
            files = _host_files(order)
            if target.engine == MEMORY:
                return _rehearsed(manifest, files, order)
            return await _applied(manifest, files, order, target)
        except ManifestRefusedError as error:
            return _complain(f"the manifest is refused: {error}", EXIT_FAILED)
        except ManifestFailedError as error:
            _report(error.result, order)
            return _complain(str(error), EXIT_FAILED)
        except SandboxError as error:
            return _complain(str(error), EXIT_HARD)

    code = run_until_stopped(work)
    if code >= 128:
        _complain("stopped. A new container was removed; look into one of your own before you go on.", code)
    return code


class _UsageError(Exception):
    """The command line cannot be understood; the text says what to give instead."""


@dataclass(frozen=True, slots=True)
class _Target:
    engine: str
    container: str


def _target(order: Order) -> _Target:
    engine, colon, container = order.sandbox.partition(":")
    if engine in _OS_SANDBOXES:
        raise _UsageError(
            f"{engine}: the OS sandbox has no files of its own; it confines commands on this host's files, and those a "
            f"manifest must not fill. Use {_CHOICES}"
        )
    if engine == "e2b":
        raise _UsageError(
            "e2b: a sandbox at E2B is made by your own program, which hands its client to apply_workspace_manifest; "
            f"this command has none. Use {_CHOICES}"
        )
    if engine not in (*ENGINES, MEMORY) or (colon and (not container or engine == MEMORY)):
        raise _UsageError(f"--sandbox {order.sandbox[:200]}: there is none of this name; use {_CHOICES}")
    if engine in ENGINES and not container and order.image is None:
        raise _UsageError(
            f"--sandbox {engine} makes a new container and needs --image, for example --image debian:12 (get it first "
            f"with {engine} pull), or name a container that runs: --sandbox {engine}:CONTAINER"
        )
    if order.image is not None and (container or engine == MEMORY):
        raise _UsageError("--image is for a new container, and none is made here; leave it out")
    if order.network and (container or engine == MEMORY):
        raise _UsageError("--network is for a new container, and none is made here; leave it out")
    return _Target(engine, container)


def _host_files(order: Order) -> DirectoryHostFiles:
    """The directory of the manifest, and what was allowed besides; a relative source is one of the former."""
    base = Path.cwd() if order.file == "-" else Path(order.file).absolute().parent
    return DirectoryHostFiles([str(base), *(str(each) for each in order.local)], base=str(base))


def _rehearsed(manifest: WorkspaceManifest, files: DirectoryHostFiles, order: Order) -> int:
    plan = rehearse(manifest, files)
    planned = [{"path": each.path, "type": each.entry.type, "would": _would(each)} for each in plan.entries]
    if order.as_json:
        _write(json.dumps({"rehearsal": planned, "environment": list(manifest.environment)}))
        return EXIT_DONE
    for each in planned:
        _write(f"{each['path']}: {each['would']}")
    if manifest.environment:
        names = ", ".join([*manifest.environment][:_NAMED_MAX])
        _write(
            f"environment ({names}): for programs that hand their client to apply_workspace_manifest; this command "
            "refuses it"
        )
    _write(f"{len(planned)} entries; nothing was made. Name a container engine to apply them.")
    return EXIT_DONE


def _would(planned: PlannedEntry) -> str:
    detail = f"; {planned.detail}" if planned.detail else ""
    if isinstance(planned.entry, LocalDirectory):
        files = [step for step in planned.steps if isinstance(step, WriteFile)]
        return f"{len(files):,} files of {sum(file.size for file in files):,} bytes{detail}"
    step = planned.steps[0]
    match step:
        case WriteFile():
            return f"a file of {step.size:,} bytes"
        case CloneRepository():
            return _clone_words(step.entry)
        case Mount():
            return "a mount, which no sandbox of this command can make: unsupported"
        case MakeDirectory():
            return "a directory"


def _clone_words(entry: GitRepository) -> str:
    at = f" at {entry.ref}" if entry.ref else ""
    return f"a clone of {entry.url}{at}{', without history' if entry.shallow else ''}"


async def _applied(manifest: WorkspaceManifest, files: DirectoryHostFiles, order: Order, target: _Target) -> int:
    if manifest.environment:
        raise ManifestRefusedError(
            "its `environment` would hold for the commands of this program alone, which ends now; take it out, and "
            "give the variables to the container or to its commands. Nothing was applied"
        )
    async with _container(order, target) as client:
        result = await apply_workspace_manifest(client, manifest, files, root=order.root)
        _report(result, order, container=client.container_id, engine=target.engine, is_new=not target.container)
    return EXIT_DONE if result.complete else EXIT_FAILED


@asynccontextmanager
async def _container(order: Order, target: _Target) -> AsyncGenerator[ContainerSandboxClient]:
    """A new container that stays if all goes well, or one that runs already."""
    engine = find_container_engine(target.engine)
    if target.container:
        yield await ContainerSandboxClient.adopt(engine, target.container, workspace=order.root)
        return
    assert order.image is not None
    client = await ContainerSandboxClient.create(
        engine, image=order.image, network=order.network, workspace=order.root, keep=True
    )
    try:
        yield client
    except BaseException:
        with anyio.CancelScope(shield=True):
            await client.remove()
        raise


def _report(
    result: ManifestResult, order: Order, *, container: str = "", engine: str = "", is_new: bool = False
) -> None:
    if order.as_json:
        _write(json.dumps(_told(result, container=container, engine=engine)))
        return
    terminal = terminal_for(sys.stdout)
    shown = result.entries if len(result.entries) <= _SHOWN_MAX else _first_and_unusual(result)
    for entry in shown:
        detail = f": {entry.detail}" if entry.detail else ""
        terminal.print(f"{_mark(terminal, entry.status)} {entry.status:<11} {harmless(entry.path)}{harmless(detail)}")
    if len(shown) < len(result.entries):
        terminal.print(f"and {len(result.entries) - len(shown):,} more that were applied")
    if is_new:
        short = container[:12]
        terminal.print(f"The container {short} stays until you remove it with: {engine} rm -f {short}")
        terminal.print(f"Go into it with: {engine} exec -it {short} /bin/sh")


def _told(result: ManifestResult, *, container: str, engine: str) -> dict[str, Any]:
    return {
        "complete": result.complete,
        "engine": engine,
        "container": container,
        "entries": [
            {"path": entry.path, "type": entry.type, "status": entry.status, "detail": entry.detail}
            for entry in result.entries
        ],
    }


def _first_and_unusual(result: ManifestResult) -> Sequence[Any]:
    unusual = [entry for entry in result.entries if entry.status != "applied"]
    return (
        *result.entries[: _SHOWN_MAX // 2],
        *[each for each in unusual if each not in result.entries[: _SHOWN_MAX // 2]],
    )


def _mark(terminal: Terminal, status: str) -> str:
    return terminal.mark(_TONES[status])


def _write(text: str) -> None:
    with writing():
        print(harmless(text), flush=True)  # noqa: T201  a command line prints


def _complain(message: str, code: int) -> int:
    print(f"openbuffer: {harmless(message)}", file=sys.stderr)  # noqa: T201  likewise
    return code


_TONES: Final[dict[str, Tone]] = {"applied": "good", "unsupported": "warn", "failed": "bad", "not_applied": "warn"}
_OS_SANDBOXES: Final = frozenset({"os", "bubblewrap", "bwrap", "seatbelt"})
_CHOICES: Final = (
    "docker or podman (a new container, with --image), docker:CONTAINER or podman:CONTAINER (one that runs), or "
    "memory, which only tells what would be made"
)
_SHOWN_MAX: Final = 200
_NAMED_MAX: Final = 5
