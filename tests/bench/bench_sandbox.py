"""Run a command that does nothing, confined. See README.md.

``bare bwrap`` is started with the very flags, mounts, filter and bounds that openbuffer starts it with, and nothing
else: what lies above it is what openbuffer adds (protected names are looked up, the quarantine looks before and after,
the inside waits for its limits, processes are registered for the owner's death). The peers are started by their own
command lines; neither leaves the workspace's repository to a quarantine, and each starts an interpreter or a program of
its own for every command, which is what their users wait for.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
from measure import Goal, NotMeasuredError, Row, interleave, parse_options, print_table, sync
from openbuffer.sandbox import Command, Invocation, SandboxSettings
from openbuffer.sandbox.bubblewrap.seccomp import build_filter
from openbuffer.sandbox.detect import detect_os_sandbox
from openbuffer.sandbox.os_client import OsSandboxClient
from openbuffer.sandbox.process.runner import CaptureLimits, run_invocation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

LIMITS = CaptureLimits(head_bytes=16 * 1024, tail_bytes=16 * 1024)
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
OURS, OURS_BARE, BWRAP, PLAIN = "openbuffer, confined", "openbuffer, not confined", "bare bwrap", "sh -c, not confined"
SRT, CODEX = "srt (its command line)", "codex sandbox (its command line)"
OF_THE_OWNER = ("--info-fd", "--json-status-fd", "--block-fd", "--sync-fd")


async def main() -> None:
    """In an empty workspace, and in one with a repository and configuration of every kind."""
    options = parse_options(__doc__)
    for title, fill in (("an empty workspace", _nothing), ("a workspace with a repository", _repository)):
        with _places() as (workspace, state):
            fill(workspace)
            client = _client(workspace, state)
            flags = _flags(client, workspace)
            rows = [
                Row(BWRAP, sync(lambda flags=flags: _bare_bwrap(flags))),
                Row(OURS, _in_a_thread(client, workspace)),
                Row(OURS_BARE, sync(lambda ws=workspace: _unconfined(ws))),
                Row(PLAIN, sync(lambda ws=workspace: _plain(("/bin/sh", "-c", "true"), ws))),
                Row(SRT, sync(lambda ws=workspace: _srt(options.peers, ws)), max_samples=20),
                Row(CODEX, sync(lambda ws=workspace: _codex(options.peers, ws)), max_samples=20),
            ]
            await interleave(rows, options.rounds(40), burst=5)
            print_table(f"'true' in {title}", rows, base=BWRAP, goals=[Goal(OURS, 1.3, BWRAP)])
            client.close()


def _client(workspace: Path, state: Path) -> OsSandboxClient:
    detection = detect_os_sandbox([str(workspace)])
    if not detection.available:
        sys.exit(detection.problem)
    settings = SandboxSettings(enabled=True)
    return OsSandboxClient(
        detection=detection, roots=[str(workspace)], settings=lambda: settings, state_directory=str(state)
    )


def _in_a_thread(client: OsSandboxClient, workspace: Path) -> Callable[[], Awaitable[float]]:
    """As a tool calls it."""

    async def once() -> float:
        start = time.perf_counter()
        await anyio.to_thread.run_sync(_confined, client, workspace)
        return time.perf_counter() - start

    return once


def _confined(client: OsSandboxClient, workspace: Path) -> None:
    command, invocation = _command(workspace)
    with client.wrap_command(command, invocation) as wrapped:
        ended = run_invocation(
            wrapped.invocation, timeout_s=60, is_cancelled=lambda: False, limits=LIMITS, wrapped=wrapped
        )
    assert ended.exit_code == 0, ended


def _unconfined(workspace: Path) -> None:
    _, invocation = _command(workspace)
    ended = run_invocation(invocation, timeout_s=60, is_cancelled=lambda: False, limits=LIMITS)
    assert ended.exit_code == 0, ended


def _command(workspace: Path) -> tuple[Command, Invocation]:
    return (
        Command(line="true", cwd=str(workspace), timeout_s=60),
        Invocation(argv=("/bin/sh", "-c", "true"), cwd=str(workspace), environment=ENVIRONMENT),
    )


def _bare_bwrap(flags: list[str]) -> None:
    """With new descriptors for every run, as bwrap reads them to their end."""
    contents = {"--seccomp": build_filter(os.uname().machine), "--file": b"640\n"}
    with tempfile.TemporaryFile() as output:
        passed: list[int] = []
        argv = list(flags)
        for option, content in contents.items():
            if option in argv:
                descriptor = os.memfd_create(option)
                os.write(descriptor, content)
                os.lseek(descriptor, 0, os.SEEK_SET)
                argv[argv.index(option) + 1] = str(descriptor)
                passed.append(descriptor)
        subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=ENVIRONMENT,
            cwd="/",
            pass_fds=passed,
            start_new_session=True,
            check=True,
        )
        for each in passed:
            os.close(each)


def _flags(client: OsSandboxClient, workspace: Path) -> list[str]:
    """Those of a command, without what only its owner needs."""
    command, invocation = _command(workspace)
    with client.wrap_command(command, invocation) as wrapped:
        argv = list(wrapped.invocation.argv)
    for option in OF_THE_OWNER:
        at = argv.index(option)
        del argv[at : at + 2]
    return argv


def _plain(argv: tuple[str, ...], workspace: Path, environment: dict[str, str] | None = None) -> None:
    subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment or ENVIRONMENT,
        cwd=workspace,
        start_new_session=True,
        check=True,
    )


def _srt(peers: Path | None, workspace: Path) -> None:
    _peer(peers, "srt", ("true",), workspace)


def _codex(peers: Path | None, workspace: Path) -> None:
    _peer(peers, "codex", ("sandbox", "--", "true"), workspace)


def _peer(peers: Path | None, name: str, arguments: tuple[str, ...], workspace: Path) -> None:
    program = None if peers is None else peers / "node_modules" / ".bin" / name
    if program is None or not program.exists():
        raise NotMeasuredError("not installed")
    # Their settings and caches go beside the workspace; what they need besides, as socat, is on the path.
    try:
        _plain((str(program), *arguments), workspace, {**os.environ, "HOME": str(workspace.parent)})
    except subprocess.CalledProcessError as error:
        raise NotMeasuredError(f"does not run here: it ends with code {error.returncode}") from error


def _nothing(workspace: Path) -> None:
    del workspace


def _repository(workspace: Path) -> None:
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    for name in (".vscode", ".idea", ".claude", "src"):
        (workspace / name).mkdir()
    for name in (".envrc", ".mcp.json", ".npmrc", "README.md"):
        (workspace / name).write_text("text\n")


@contextmanager
def _places() -> Generator[tuple[Path, Path]]:
    """Not below the temporary directory, of which commands get another one."""
    with tempfile.TemporaryDirectory(prefix="openbuffer-bench-", dir=Path.home()) as folder:
        workspace, state = Path(folder).resolve() / "workspace", Path(folder).resolve() / "state"
        workspace.mkdir()
        state.mkdir()
        yield workspace, state


if __name__ == "__main__":
    asyncio.run(main())
