"""The life of a sandbox's container: made, started for as long as its owner lives, removed; and the left ones swept.

A container reads from a pipe of its owner and ends with it, also when the owner is killed. What an engine did not get
to remove, because it was down at that time, is removed by the next sweep on the same host.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc

from ..errors import SandboxError, SandboxUnavailableError
from ..limits import LINE_OUTPUT_MAX_BYTES
from .argv import (
    ENGINES,
    READY,
    ContainerEngine,
    ContainerSetup,
    check_container_name,
    create_argv,
    is_running_argv,
    list_owned_argv,
    owners_argv,
    remove_argv,
    start_kept_argv,
    start_owned_argv,
)
from .engine_calls import call_engine, end_engine, start_engine
from .exchange import BoundedBytes, engine_failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENGINE_TIMEOUT_S: Final = 60.0
"""How long an engine may take to make, to start or to remove a container."""


def find_container_engine(name: str, environment: Mapping[str, str] | None = None) -> ContainerEngine:
    """The engine of this name, by the PATH; whether it works is told by its first use.

    Raises:
        SandboxUnavailableError: it is none that is known, or not installed.
    """
    if name not in ENGINES:
        raise SandboxUnavailableError(f"{name[:100]!r} is no container engine known here; use {' or '.join(ENGINES)}")
    found = shutil.which(name, path=(os.environ if environment is None else environment).get("PATH", os.defpath))
    if found is None:
        raise SandboxUnavailableError(f"{name} is not installed; install it, or use another engine")
    return ContainerEngine(name=name, program=os.path.abspath(found))


@dataclass(frozen=True, slots=True)
class LivingContainer:
    """A container that runs. ``attachment`` holds it alive; None where nobody has to."""

    engine: ContainerEngine
    id: str
    attachment: anyio.abc.Process | None


async def make_container(
    engine: ContainerEngine, setup: ContainerSetup, environment: Mapping[str, str]
) -> LivingContainer:
    """Make it and start it.

    Raises:
        SandboxError: it could not be had; nothing of it is left.
    """
    try:
        out = await ask_engine(engine, create_argv(engine, setup), environment, "no container could be made")
        container = check_container_name(out.strip().splitlines()[-1] if out.strip() else "")
        if setup.owner is None:
            await ask_engine(engine, start_kept_argv(engine, container), environment, "it could not be started")
            return LivingContainer(engine, container, None)
        return LivingContainer(engine, container, await _attached(engine, container, environment))
    except BaseException:
        with anyio.CancelScope(shield=True):
            await remove_container(engine, setup.name, environment)
        raise


async def require_running(engine: ContainerEngine, container: str, environment: Mapping[str, str]) -> LivingContainer:
    """A container of somebody else's that runs; it is left as it is at the end.

    Raises:
        SandboxError: there is none of this name, or it does not run.
    """
    check_container_name(container)
    out = await ask_engine(engine, is_running_argv(engine, container), environment, f"{container} cannot be used")
    if out.strip() != "true":
        raise SandboxUnavailableError(f"the container {container} does not run; start it ({engine.name} start)")
    return LivingContainer(engine, container, None)


async def end_container(living: LivingContainer, environment: Mapping[str, str]) -> None:
    """Let go of it and remove it, if it ends with its owner; otherwise nothing."""
    if living.attachment is None:
        return
    with anyio.CancelScope(shield=True):
        # Its first process ends with its stdin; what does not work out so is removed by force.
        if living.attachment.stdin is not None:
            with suppress(anyio.BrokenResourceError, OSError):
                await living.attachment.stdin.aclose()
        with anyio.move_on_after(_END_TIMEOUT_S):
            await living.attachment.wait()
        await remove_container(living.engine, living.id, environment)
        await end_engine(living.attachment)


async def remove_container(engine: ContainerEngine, container: str, environment: Mapping[str, str]) -> None:
    """Remove it; whether it was there does not matter, and what remains is the next sweep's."""
    with anyio.move_on_after(ENGINE_TIMEOUT_S):
        await call_engine(remove_argv(engine, container), environment=environment, on_out=_ignore, on_err=_ignore)


async def sweep_containers(engine: ContainerEngine, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Remove the containers of owners on this host that have ended; the ids of those that were removed.

    Raises:
        SandboxError: the engine cannot be asked.
    """
    given = dict(os.environ) if environment is None else environment
    what = "the containers cannot be listed"
    owned = (await ask_engine(engine, list_owned_argv(engine), given, what)).split()
    swept: list[str] = []
    for container in owned:
        # One after the other: one of them may end by itself meanwhile.
        try:
            told = await ask_engine(engine, owners_argv(engine, [container]), given, what)
        except SandboxError:
            continue
        owner = told.split()[-1] if told.split() else ""
        if _has_ended(owner):
            await remove_container(engine, container, given)
            swept.append(container)
    return tuple(swept)


def user_process_limit() -> int | None:
    """How many processes the kernel lets one user of this host have, this one at least; None for no bound."""
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    return None if hard == resource.RLIM_INFINITY else hard


def own_name() -> str:
    """What this process is called as an owner: the host, the process, and when that was started."""
    return f"{_host()}:{os.getpid()}:{_start_of(os.getpid())}"


async def ask_engine(
    engine: ContainerEngine, argv: Sequence[str], environment: Mapping[str, str], what_failed: str
) -> str:
    """What the engine's command line prints.

    Raises:
        SandboxUnavailableError: it failed, or took too long.
    """
    out, err = BoundedBytes(LINE_OUTPUT_MAX_BYTES), BoundedBytes(LINE_OUTPUT_MAX_BYTES)
    code: int | None = None
    with anyio.move_on_after(ENGINE_TIMEOUT_S) as scope:
        code = await call_engine(argv, environment=environment, on_out=out.feed, on_err=err.feed)
    if scope.cancelled_caught:
        raise SandboxUnavailableError(f"{what_failed}: {engine.name} did not answer for {ENGINE_TIMEOUT_S:g} s")
    if code != 0:
        raise engine_failure(engine, what_failed, bytes(err.content))
    return out.content.decode(errors="replace")


async def _attached(engine: ContainerEngine, container: str, environment: Mapping[str, str]) -> anyio.abc.Process:
    argv = start_owned_argv(engine, container)
    process = await start_engine(argv, environment=environment, stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    said = b""
    try:
        with anyio.move_on_after(ENGINE_TIMEOUT_S):
            try:
                while READY.encode() not in said and len(said) < _SAID_MAX_BYTES:
                    said += await process.stdout.receive()
            except anyio.EndOfStream:
                said += await _rest(process.stderr)
        if READY.encode() not in said:
            raise engine_failure(engine, "the container did not start", said)
    except BaseException:
        await end_engine(process)
        raise
    return process


async def _rest(stream: anyio.abc.ByteReceiveStream) -> bytes:
    said = b""
    try:
        while len(said) < _SAID_MAX_BYTES:
            said += await stream.receive()
    except anyio.EndOfStream:
        pass
    return said


def _has_ended(owner: str) -> bool:
    """Whether the owner was a process of this host that is not there any more; when in doubt it is."""
    host, _, rest = owner.partition(":")
    number, _, start = rest.partition(":")
    if host != _host() or not number.isdigit():
        return False
    return _start_of(int(number)) != start


def _host() -> str:
    """This host, as it was started: after a restart no process of before is there."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname().replace(":", "-")


def _start_of(process_id: int) -> str:
    """When the process was started, in ticks; "running" where only that can be told, "" if it is not there."""
    try:
        line = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return ""
    except OSError:
        return ""
    else:
        return line.rpartition(")")[2].split()[_START_FIELD]
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"


def _ignore(data: bytes) -> None:
    del data


_END_TIMEOUT_S: Final = 5.0
_START_FIELD: Final = 19  # the 22nd of all, and the first two are before the parenthesis
_SAID_MAX_BYTES: Final = 64 * 1024
