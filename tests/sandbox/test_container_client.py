"""The client of containers over a double of an engine's command line: it records the calls, and runs the scripts."""

# ruff: noqa: ASYNC220, ASYNC221, ASYNC240  files and programs of a test are small, and nothing else runs in its loop

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from engine_double import write_engine
from openbuffer.sandbox.container.argv import ContainerEngine
from openbuffer.sandbox.container.exchange import Exchange
from openbuffer.sandbox.container.life import find_container_engine, own_name, sweep_containers
from openbuffer.sandbox.container_client import ContainerSandboxClient
from openbuffer.sandbox.errors import (
    CommandStartError,
    CommandTimeoutError,
    ExitCodeError,
    ManifestRefusedError,
    SandboxAnswerError,
    SandboxError,
    SandboxFileError,
    SandboxFileNotFoundError,
    SandboxFileTooLargeError,
    SandboxIsDirectoryError,
    SandboxNotTextError,
    SandboxUnavailableError,
)
from openbuffer.sandbox.manifests.apply import apply_workspace_manifest
from openbuffer.sandbox.manifests.host_files import DirectoryHostFiles
from openbuffer.sandbox.port import Command, describe_execution_containment, routes_files_through_sandbox

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

MIB = 1024 * 1024


class Bench:
    """A program ``docker`` on a PATH of its own, and the workspace in which its containers work."""

    def __init__(self, base: Path) -> None:
        self.state = base / "state"
        self.state.mkdir()
        self.workspace = base / "workspace"
        self.workspace.mkdir()
        programs = self.programs = base / "programs"
        programs.mkdir()
        write_engine(programs, "docker")
        self.environment = {"PATH": f"{programs}:{os.environ['PATH']}", "ENGINE_STATE": str(self.state)}
        self.engine = find_container_engine("docker", self.environment)

    async def client(self, *, keep: bool = False, image: str = "debian:12") -> ContainerSandboxClient:
        return await ContainerSandboxClient.create(
            self.engine, image=image, keep=keep, workspace=str(self.workspace), environment=self.environment
        )

    def shadow(self, name: str, line: str) -> None:
        """Have the container find another program of this name."""
        program = self.programs / name
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)

    def command(self, line: str, timeout_s: float = 30) -> Command:
        return Command(line=line, cwd=str(self.workspace), timeout_s=timeout_s)

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.state / "calls.jsonl").read_text().splitlines()]

    @property
    def containers(self) -> set[str]:
        return {path.name for path in self.state.iterdir() if len(path.name) == 64}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
async def client(bench: Bench) -> AsyncGenerator[ContainerSandboxClient]:
    made = await bench.client()
    yield made
    await made.close()


@pytest.mark.contract("S4")
async def test_a_command_runs_in_the_container_and_its_end_is_its_own(
    bench: Bench, client: ContainerSandboxClient
) -> None:
    result = await client.run(bench.command("echo out; echo err >&2; pwd; cat; exit 3"))
    assert (result.exit_code, result.cut) == (3, False)
    assert result.output == f"out\nerr\n{bench.workspace}\n"
    assert routes_files_through_sandbox(client)
    assert describe_execution_containment(client) == "sandbox-separate"


async def test_exit_codes_that_an_engine_uses_are_the_commands_where_the_command_ended(
    bench: Bench, client: ContainerSandboxClient
) -> None:
    for code in (0, 1, 125, 126, 127, 255):
        assert (await client.run(bench.command(f"exit {code}"))).exit_code == code


def test_a_shell_that_tells_its_end_without_end_is_held_in_bounds() -> None:
    ends: list[str] = []
    exchange = Exchange("r", lambda: ends.append("end"))
    exchange.feed(b"r start 7\n")
    for _ in range(20):
        exchange.feed(b"\nr end 0\n" * 20_000)
    assert len(ends) == 2
    assert len(exchange.said) <= 64 * 1024
    with pytest.raises(ExitCodeError) as caught:
        exchange.exit_code(ContainerEngine("docker", "/docker"), 0)
    assert caught.value.reason == "conflicting"


@pytest.mark.contract("S4", "F2")
async def test_programs_of_the_container_that_lie_give_no_part_of_a_file_and_fill_no_memory(
    bench: Bench, client: ContainerSandboxClient
) -> None:
    path = f"{bench.workspace}/file"
    await client.write_file(path, "0123456789")
    bench.shadow("head", "printf 01234")
    with pytest.raises(SandboxAnswerError, match=r"gave 5 bytes of .*, which holds 10; nothing of it was taken"):
        await client.read_bytes(path)
    tracemalloc.start()
    try:
        bench.shadow("head", "/usr/bin/head -c 60000000 /dev/zero")
        with pytest.raises(SandboxFileTooLargeError):
            await client.read_bytes(path, max_bytes=MIB)
        bench.shadow("stat", "/usr/bin/head -c 30000000 /dev/zero | tr '\\0' x")
        with pytest.raises(SandboxAnswerError, match="came as an answer about"):
            await client.stat(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * MIB


@pytest.mark.contract("S4")
async def test_what_is_not_one_clear_end_is_no_success(bench: Bench, client: ContainerSandboxClient) -> None:
    not_clear = {
        "engine-fails": (SandboxUnavailableError, "nothing was run: docker failed .exit code 125.*task is gone"),
        "no-shell": (SandboxUnavailableError, "no /bin/sh that can be started"),
        "silent-success": (SandboxUnavailableError, "nothing was run"),
        "ends-twice": (ExitCodeError, "told twice"),
        "conflicting": (ExitCodeError, "ended with 0, and the engine's command line with 3"),
        "malformed": (ExitCodeError, "'success'"),
        "too-large": (ExitCodeError, "'256'"),
    }
    for behaviour, (error, words) in not_clear.items():
        with pytest.raises(error, match=words):
            await client.run(bench.command(f"true # behave:{behaviour} "))


async def test_a_shell_that_is_killed_is_an_end_that_is_not_known(bench: Bench, client: ContainerSandboxClient) -> None:
    with pytest.raises(ExitCodeError, match="its end was not told") as caught:
        await client.run(bench.command("sleep 1000 >/dev/null 2>&1 & echo $! >child; kill -9 $PPID; wait"))
    assert caught.value.reason == "missing"
    assert await has_ended(int((bench.workspace / "child").read_text()))


async def until(holds: Callable[[], bool]) -> None:
    """Look again and again: what is waited for is done by other processes, which set no event here."""
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110  see above
            await anyio.sleep(0.02)


def is_gone(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


async def has_ended(process: int) -> bool:
    await until(lambda: is_gone(process))
    return True


PROCESSES = 'echo $$ >one; sleep 1000 & echo $! >two; setsid sh -c "echo \\$\\$ >three; exec sleep 1000" & wait'


@pytest.mark.contract("T6", "S2")
@pytest.mark.parametrize("how", ["cancelled", "timed out"])
async def test_a_command_that_must_end_ends_inside_with_all_that_it_started(
    how: str, bench: Bench, client: ContainerSandboxClient
) -> None:
    names = ("one", "two", "three")

    async def run() -> None:
        line = f"trap '' TERM; echo begun; {PROCESSES}" if how == "cancelled" else f"echo begun; {PROCESSES}"
        await client.run(bench.command(line, timeout_s=30 if how == "cancelled" else 3))

    if how == "cancelled":
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await until(lambda: all((bench.workspace / name).exists() for name in names))
            tasks.cancel_scope.cancel()
    else:
        with pytest.raises(CommandTimeoutError) as caught:
            await run()
        assert caught.value.output == "begun\n"
    for name in names:
        assert await has_ended(int((bench.workspace / name).read_text())), name


@pytest.mark.contract("T6")
async def test_a_command_that_is_cancelled_before_it_began_does_not_begin(
    bench: Bench, client: ContainerSandboxClient
) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.run, bench.command("touch begun # behave:slow-to-begin "))
        await until((bench.state / "asked").exists)
        tasks.cancel_scope.cancel()
    await anyio.sleep(1)
    assert not (bench.workspace / "begun").exists()
    for path in Path("/tmp").glob(".openbuffer.*"):
        path.unlink()


async def test_what_is_left_in_the_background_does_not_hold_the_call(
    bench: Bench, client: ContainerSandboxClient
) -> None:
    result = await client.run(bench.command("sleep 1000 & echo $! >child; echo done"))
    assert (result.exit_code, result.output) == (0, "done\n")
    os.kill(int((bench.workspace / "child").read_text()), signal.SIGKILL)


async def test_output_is_bounded_while_it_is_produced(bench: Bench, client: ContainerSandboxClient) -> None:
    result = await client.run(bench.command("head -c 5000000 /dev/zero | tr '\\0' x"))
    assert result.cut
    assert len(result.output) == MIB


async def test_a_directory_that_is_not_there_is_told(bench: Bench, client: ContainerSandboxClient) -> None:
    with pytest.raises(CommandStartError, match="no directory in the container"):
        await client.run(Command(line="touch x", cwd=f"{bench.workspace}/nowhere", timeout_s=10))
    with pytest.raises(CommandStartError, match="cannot be an argument"):
        await client.run(bench.command("a\0b"))
    assert list(bench.workspace.iterdir()) == []


@pytest.mark.contract("S4")
async def test_files_go_in_and_out_byte_for_byte(bench: Bench, client: ContainerSandboxClient) -> None:
    content = bytes(range(256)) * 9000
    odd = f"{bench.workspace}/a b/-$(touch x)/ü\n.bin"
    await client.write_bytes(odd, content)
    assert await client.read_bytes(odd) == content
    assert Path(odd).read_bytes() == content
    await client.write_file(f"{bench.workspace}/t", "\ufeffä\r\n")
    assert await client.read_file(f"{bench.workspace}/t") == "\ufeffä\r\n"
    assert (await client.stat(odd)).size == len(content)
    assert [entry.name for entry in (await client.list_directory(str(bench.workspace), max_entries=9)).entries] == [
        "a b",
        "t",
    ]
    await client.delete(f"{bench.workspace}/t")
    await client.make_directory(f"{bench.workspace}/d/e")
    await client.set_permissions(f"{bench.workspace}/d/e", 0o700)
    assert (bench.workspace / "d" / "e").stat().st_mode & 0o777 == 0o700


@pytest.mark.contract("S11")
async def test_permissions_that_a_file_system_does_not_keep_are_told(
    bench: Bench, client: ContainerSandboxClient
) -> None:
    path = f"{bench.workspace}/f"
    await client.write_file(path, "x")
    for mode in (0o000, 0o044, 0o777, 0o640):
        await client.set_permissions(path, mode)
        assert Path(path).stat().st_mode & 0o777 == mode
    bench.shadow("chmod", "exit 0")
    with pytest.raises(SandboxFileError, match="the file system keeps other permissions"):
        await client.set_permissions(path, 0o600)


async def test_a_file_that_cannot_be_read_is_told_as_what_it_is(bench: Bench, client: ContainerSandboxClient) -> None:
    (bench.workspace / "latin").write_bytes(b"\xe4")
    (bench.workspace / "d").mkdir()
    with pytest.raises(SandboxFileNotFoundError):
        await client.read_file(f"{bench.workspace}/missing")
    with pytest.raises(SandboxIsDirectoryError):
        await client.read_file(f"{bench.workspace}/d")
    with pytest.raises(SandboxNotTextError):
        await client.read_file(f"{bench.workspace}/latin")
    with pytest.raises(SandboxFileTooLargeError):
        await client.read_bytes(f"{bench.workspace}/latin", max_bytes=0)
    with pytest.raises(SandboxIsDirectoryError):
        await client.write_file(f"{bench.workspace}/d", "x")
    with pytest.raises(SandboxFileError, match="absolute"):
        await client.write_file("relative", "x")


async def test_a_write_keeps_the_mode_and_the_link(bench: Bench, client: ContainerSandboxClient) -> None:
    script = bench.workspace / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    (bench.workspace / "link").symlink_to("run.sh")
    await client.write_file(f"{bench.workspace}/link", "new")
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("new", 0o750)
    assert (bench.workspace / "link").is_symlink()


async def test_a_write_that_is_cut_short_changes_nothing(bench: Bench, client: ContainerSandboxClient) -> None:
    target = bench.workspace / "f"
    target.write_text("old")

    async def too_few() -> AsyncIterator[bytes]:
        yield b"new"

    async def failing() -> AsyncIterator[bytes]:
        yield b"ne"
        raise SandboxError("the source is gone")

    with pytest.raises(SandboxFileError, match="only a part"):
        await client.write_stream(str(target), too_few(), size=4)
    with pytest.raises(SandboxError, match="the source is gone"):
        await client.write_stream(str(target), failing(), size=3)
    begun = anyio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"n"
        begun.set()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: client.write_stream(str(target), slow(), size=3))
        await begun.wait()
        tasks.cancel_scope.cancel()
    assert target.read_text() == "old"
    assert [path.name for path in bench.workspace.iterdir()] == ["f"]


@pytest.mark.contract("S11")
async def test_a_manifest_fills_the_container(bench: Bench, client: ContainerSandboxClient, tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.mkdir()
    with (host / "big").open("wb") as file:
        file.truncate(3 * MIB)
    long = "/".join(["d" * 100, "f" * 200])
    entries = {f"many/{number}": {"type": "file", "content": str(number)} for number in range(600)}
    manifest = {
        "entries": {
            **entries,
            long: {"type": "file", "content": "ü"},
            "ü/日本": {"type": "file", "content": ""},
            "big": {"type": "localFile", "source": "big", "permissions": "600"},
        },
        "environment": {"COLOUR": "red 'and' \"blue\" #1"},
    }
    result = await apply_workspace_manifest(
        client, manifest, DirectoryHostFiles([str(host)]), root=str(bench.workspace)
    )
    assert result.complete
    assert (bench.workspace / "many" / "599").read_text() == "599"
    assert (bench.workspace / "many" / "599").stat().st_mtime > bench.state.stat().st_ctime - 60, "it is new"
    assert (bench.workspace / long).read_text() == "ü"
    assert (bench.workspace / "big").stat().st_size == 3 * MIB
    assert (bench.workspace / "big").stat().st_mode & 0o777 == 0o600
    assert len([call for call in bench.calls if call[0] == "exec"]) < 20
    assert (await client.run(bench.command('echo "$COLOUR"'))).output == "red 'and' \"blue\" #1\n"
    assert not any("red" in argument for call in bench.calls for argument in call)


async def test_a_manifest_that_meets_an_engine_that_is_down_is_refused(
    bench: Bench, client: ContainerSandboxClient
) -> None:
    (bench.state / "down").touch()
    with pytest.raises(ManifestRefusedError, match="daemon running"):
        await apply_workspace_manifest(client, {"entries": {}}, root=str(bench.workspace))
    (bench.state / "down").unlink()


@pytest.mark.contract("S2")
async def test_a_container_ends_with_close(bench: Bench) -> None:
    client = await bench.client()
    assert bench.containers == {client.container_id}
    await client.close()
    await client.close()
    assert bench.containers == set()
    with pytest.raises(SandboxUnavailableError, match="has been closed"):
        await client.run(bench.command("true"))


OWNER = """
import anyio, json, os, sys
from openbuffer.sandbox.container_client import ContainerSandboxClient
from openbuffer.sandbox.container.life import find_container_engine

async def main():
    client = await ContainerSandboxClient.create(
        find_container_engine("docker"), image="debian:12", workspace=sys.argv[1]
    )
    print(client.container_id, flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.contract("S2")
async def test_a_container_ends_with_its_owner_also_when_that_is_killed(bench: Bench) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(bench.workspace)], env=bench.environment, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    with owner.stdout:
        container = owner.stdout.readline().decode().strip()
    assert bench.containers == {container}
    owner.kill()
    owner.wait()
    await until(lambda: not bench.containers)


async def test_what_owners_left_that_have_ended_is_swept_and_nothing_else(bench: Bench) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    host, own, start = own_name().split(":")
    owners = {
        "a" * 64: f"{host}:{gone.pid}:1",
        "b" * 64: f"{host}:{own}:{start}",
        "c" * 64: f"{host}:{own}:{int(start) + 1}",
        "d" * 64: f"elsewhere:{gone.pid}:1",
        "e" * 64: "nonsense",
    }
    for container, owner in owners.items():
        (bench.state / container).mkdir()
        (bench.state / container / "owner").write_text(owner)
    swept = await sweep_containers(bench.engine, bench.environment)
    assert {container[0] for container in swept} == {"a", "c"}
    assert {container[0] for container in bench.containers} == {"b", "d", "e"}


async def test_a_kept_container_stays_and_can_be_used_again(bench: Bench) -> None:
    kept = await bench.client(keep=True)
    await kept.write_file(f"{bench.workspace}/f", "x")
    await kept.close()
    assert bench.containers == {kept.container_id}
    again = await ContainerSandboxClient.adopt(
        bench.engine, kept.container_id, workspace=str(bench.workspace), environment=bench.environment
    )
    assert await again.read_file(f"{bench.workspace}/f") == "x"
    await again.remove()
    assert bench.containers == {kept.container_id}, "it is somebody else's"
    kept = await bench.client(keep=True)
    await kept.remove()
    assert kept.container_id not in bench.containers


@pytest.mark.parametrize(
    ("image", "touched", "words"),
    [
        ("absent:1", "", "get the image first .docker pull"),
        ("-v/:/host", "", "no name of an image"),
        ("debian:12", "down", "start the daemon"),
        ("debian:12", "dies-at-start", "did not start.*no such runtime"),
    ],
)
async def test_a_container_that_cannot_be_had_leaves_nothing(
    image: str, touched: str, words: str, bench: Bench
) -> None:
    if touched:
        (bench.state / touched).touch()
    with pytest.raises(SandboxError, match=words):
        await bench.client(image=image)
    assert bench.containers == set()


@pytest.mark.contract("T6")
async def test_a_container_that_is_cancelled_while_it_is_made_does_not_stay(bench: Bench) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: bench.client(image="slow:1"))
        await until(lambda: bool(list(bench.state.glob("*/name"))))
        tasks.cancel_scope.cancel()
    assert bench.containers == set()


async def test_an_engine_that_is_not_there_is_told(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailableError, match="podman is not installed"):
        find_container_engine("podman", {"PATH": str(tmp_path)})
    with pytest.raises(SandboxUnavailableError, match="use docker or podman"):
        find_container_engine("lxc", {})
    gone = ContainerEngine("docker", str(tmp_path / "docker"))
    with pytest.raises(SandboxUnavailableError, match="could not be started"):
        await ContainerSandboxClient.create(gone, image="debian:12", environment=bench.environment)


async def test_a_workspace_that_cannot_be_written_is_told(bench: Bench) -> None:
    bench.workspace = bench.workspace / "nowhere"
    with pytest.raises(SandboxUnavailableError, match="cannot be opened to the user"):
        await bench.client()
    assert bench.containers == set()


async def test_a_container_that_has_gone_is_told(bench: Bench, client: ContainerSandboxClient) -> None:
    for container in bench.containers:
        subprocess.run(
            [bench.engine.program, "rm", "--force", "--volumes", container], env=bench.environment, check=True
        )
    with pytest.raises(SandboxUnavailableError, match="No such container"):
        await client.run(bench.command("true"))
