"""The client of containers over a real engine: what holds a command there, and that nothing outlives its owner.

The image is made here, of BusyBox; nothing is downloaded. Podman's storage is a directory of the tests.
"""

# ruff: noqa: ASYNC220  files and programs of a test are small, and nothing else runs in its loop

from __future__ import annotations

import fcntl
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tracemalloc
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.sandbox.container.argv import ContainerEngine, ContainerLimits
from openbuffer.sandbox.container.life import find_container_engine, sweep_containers
from openbuffer.sandbox.container_client import ContainerSandboxClient
from openbuffer.sandbox.errors import CommandTimeoutError, ExitCodeError, SandboxFileError, SandboxUnavailableError
from openbuffer.sandbox.manifests.apply import apply_workspace_manifest
from openbuffer.sandbox.manifests.host_files import DirectoryHostFiles
from openbuffer.sandbox.port import Command
from tool_set_desk import require_tools_work

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

MIB = 1024 * 1024
IMAGE = "localhost/openbuffer-test:1"
LIMITS = ContainerLimits(
    memory_bytes=256 * MIB, workspace_bytes=160 * MIB, temporary_bytes=8 * MIB, processes=64, open_files=256
)


@dataclass(frozen=True)
class Place:
    """An engine that works here, with the test's image, and the environment to call it with."""

    engine: ContainerEngine
    environment: dict[str, str]

    async def client(self) -> ContainerSandboxClient:
        return await ContainerSandboxClient.create(
            self.engine, image=IMAGE, limits=LIMITS, environment=self.environment
        )

    def call(self, *arguments: str) -> str:
        argv = [self.engine.program, *arguments]
        done = subprocess.run(argv, env=self.environment, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise SandboxUnavailableError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed")
        return done.stdout


@contextmanager
def engine_turn() -> Generator[None]:
    """One worker at a time: engines of one user share locks of theirs, wherever they keep their containers."""
    with open(Path(tempfile.gettempdir()) / f"openbuffer-test-engine-{os.getuid()}", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(autouse=True)
def _turn(place: Place) -> Generator[None]:  # noqa: ARG001  after it, which takes a turn itself
    with engine_turn():
        yield


@pytest.fixture(scope="module", params=["docker", "podman"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    base = tmp_path_factory.mktemp("engine")
    # What Podman runs at a container's end refuses a directory for running containers of more than 50 characters.
    running = Path(tempfile.mkdtemp(prefix="ob-"))
    archive = base / "image.tar"
    try:
        pack_image(archive)
        with engine_turn():
            found = first_that_works(candidates(find_container_engine(request.param), base, running), archive)
    except SandboxUnavailableError as error:
        shutil.rmtree(running, ignore_errors=True)
        pytest.skip(f"{request.param}: {error}")
    yield found
    with engine_turn():
        found.call("rmi", "--force", IMAGE)
    shutil.rmtree(running, ignore_errors=True)


def pack_image(archive: Path) -> None:
    busybox = shutil.which("busybox")
    if busybox is None:
        raise SandboxUnavailableError("there is no busybox here to make an image of")
    names = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    with tarfile.open(archive, "w") as packed:
        for directory in ("bin", "tmp", "etc", "proc", "sys", "dev", "workspace"):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            packed.addfile(entry)
        content = Path(busybox).resolve().read_bytes()
        entry = tarfile.TarInfo("bin/busybox")
        entry.size, entry.mode = len(content), 0o755
        packed.addfile(entry, io.BytesIO(content))
        for name in set(names) - {"busybox"}:
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            packed.addfile(entry)


def candidates(engine: ContainerEngine, base: Path, running: Path) -> list[Place]:
    """The engine as it is set up here; Podman with storage of the test's, and with each runtime that is there."""
    if engine.name == "docker":
        return [Place(engine, dict(os.environ))]
    places: list[Place] = []
    (base / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{base}/storage"\nrunroot = "{running}"\n'
    )
    for runtime in ("crun", "runc"):
        if shutil.which(runtime):
            settings = base / f"{runtime}.conf"
            settings.write_text(f'[engine]\nruntime = "{runtime}"\n')
            own = {"CONTAINERS_CONF": str(settings), "CONTAINERS_STORAGE_CONF": str(base / "storage.conf")}
            places.append(Place(engine, {**os.environ, **own}))
    return places


def first_that_works(places: list[Place], archive: Path) -> Place:
    reason = SandboxUnavailableError("no runtime is installed")
    for each in places:
        try:
            each.call("import", str(archive), IMAGE)
            anyio.run(try_out, each)
        except SandboxUnavailableError as error:
            reason = error
        else:
            return each
    raise reason


async def try_out(place: Place) -> None:
    client = await place.client()
    await client.close()


@pytest.fixture
async def client(place: Place) -> AsyncGenerator[ContainerSandboxClient]:
    made = await place.client()
    yield made
    await made.close()


def command(line: str, timeout_s: float = 60) -> Command:
    return Command(line=line, cwd="/workspace", timeout_s=timeout_s)


@pytest.mark.contract("S4", "S8")
async def test_what_holds_a_command_in_a_container(client: ContainerSandboxClient) -> None:
    async def told(line: str) -> str:
        return (await client.run(command(f"{line} 2>&1"))).output.strip()

    assert await told("id -u; id -g; pwd; echo $HOME") == "1000\n1000\n/workspace\n/tmp"
    assert "Read-only" in await told("touch /etc/x")
    assert await told("ls /sys/class/net") == "lo"
    status = await told("grep -E 'CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status")
    assert "CapEff:\t0000000000000000\n" in status
    assert "CapBnd:\t0000000000000000\n" in status
    assert "NoNewPrivs:\t1" in status
    assert await told("find / -xdev -type s -o -xdev -type b | head -5") == ""
    assert not [name for name in (await told("env")).splitlines() if name.startswith(("PYTEST", "VIRTUAL_ENV"))]
    assert await told("ulimit -n; ulimit -c") == "256\n0"


@pytest.mark.slow
@pytest.mark.contract("S4")
async def test_what_a_container_may_use_is_bounded(client: ContainerSandboxClient) -> None:
    filled = await client.run(
        command("head -c 20000000 /dev/zero >/tmp/full 2>/dev/null; wc -c </tmp/full; rm /tmp/full")
    )
    assert 4 * MIB < int(filled.output) <= 8 * MIB
    try:
        used_up = await client.run(command("exec tail -c 400000000 /dev/zero >/dev/null"))
    except ExitCodeError as error:
        assert error.reason == "missing"  # noqa: PT017  either way it is no success
    else:
        assert used_up.exit_code == 137


@pytest.mark.slow
@pytest.mark.contract("S2")
async def test_a_command_that_uses_up_all_processes_ends_nevertheless(place: Place) -> None:
    client = await place.client()
    try:
        with pytest.raises(CommandTimeoutError) as caught:
            await client.run(command("(while :; do sleep 100 & done); while :; do :; done", timeout_s=4))
        assert "fork" in caught.value.output
        try:
            left = (await client.run(command("pidof sleep"))).output
        except SandboxUnavailableError as error:
            assert "its container was" in str(error)  # noqa: PT017  either way nothing of it runs
            assert client.container_id not in place.call("ps", "--quiet", "--no-trunc")
        else:
            assert left == ""
    finally:
        await client.close()


@pytest.mark.slow
async def test_ends_are_told_as_they_are(client: ContainerSandboxClient) -> None:
    for line, code in {"exit 0": 0, "exit 125": 125, "exit 126": 126, "nonesuch": 127, "kill -9 $$": 137}.items():
        assert (await client.run(command(line))).exit_code == code
    with pytest.raises(ExitCodeError):
        await client.run(command("kill -9 $PPID"))
    background = await client.run(command("sleep 1000 & echo done"))
    assert (background.exit_code, background.output) == (0, "done\n")


@pytest.mark.contract("T6", "S2")
async def test_what_is_cancelled_or_late_has_ended_inside(client: ContainerSandboxClient) -> None:
    line = "trap '' TERM; touch begun; setsid sleep 1001 & sleep 1002 & sleep 1003"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.run, command(line))
        with anyio.fail_after(30):
            while (await client.run(command("pidof sleep | wc -w"))).output != "3\n":  # noqa: ASYNC110  no event inside
                await anyio.sleep(0.05)
        tasks.cancel_scope.cancel()
    assert (await client.run(command("pidof sleep"))).output == ""
    with pytest.raises(CommandTimeoutError):
        await client.run(command("sleep 1001", timeout_s=2))
    assert (await client.run(command("pidof sleep"))).output == ""


@pytest.mark.contract("S11")
async def test_a_manifest_fills_a_container(client: ContainerSandboxClient, tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(100 * MIB)
    entries = {f"many/{number}": {"type": "file", "content": str(number)} for number in range(1_000)}
    long = "/".join(["ü" * 100, "f" * 200])
    manifest = {
        "entries": {
            **entries,
            long: {"type": "file", "content": "l", "permissions": "600"},
            "d": {"type": "dir"},
            "big": {"type": "localFile", "source": "big"},
        },
        "environment": {"COLOUR": " red 'and' #1"},
    }
    tracemalloc.start()
    try:
        result = await apply_workspace_manifest(client, manifest, DirectoryHostFiles([str(tmp_path)]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.complete
    assert peak < 32 * MIB
    counted = await client.run(command('ls many | wc -l; cat many/999; wc -c <big; stat -c %a */f*; echo "$COLOUR"'))
    assert counted.output == f"1000\n999{100 * MIB}\n600\n red 'and' #1\n"


@pytest.mark.contract("S4", "E4")
async def test_the_whole_tool_set_works_in_a_container(client: ContainerSandboxClient) -> None:
    await require_tools_work(client, client.workspace)


@pytest.mark.contract("S4")
def test_the_example_of_the_readme_works_in_a_container(place: Place) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    section = readme.partition("### Sandboxes with files of their own\n")[2].partition("\n### ")[0]
    program = section.partition("```python\n")[2].partition("```")[0]
    assert "debian:12" in program
    program = program.replace("debian:12", IMAGE).replace('"podman"', repr(place.engine.name))
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, env=place.environment, capture_output=True, text=True, check=False, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1000\n/workspace\nin the container\n" in done.stdout
    assert place.call("ps", "--all", "--quiet") == ""


@pytest.mark.slow
async def test_files_are_bytes(client: ContainerSandboxClient) -> None:
    content = bytes(range(256)) * 5000
    path = "/workspace/a b/$(x)/ü\n"
    await client.write_bytes(path, content)
    assert await client.read_bytes(path) == content
    assert (await client.stat(path)).size == len(content)
    with pytest.raises(SandboxFileError):
        await client.write_file("/etc/x", "x")
    listed = await client.list_directory("/workspace/a b", max_entries=5)
    assert [entry.name for entry in listed.entries] == ["$(x)"]


OWNER = f"""
import anyio
from openbuffer.sandbox.container_client import ContainerSandboxClient
from openbuffer.sandbox.container.life import find_container_engine
import sys

async def main():
    client = await ContainerSandboxClient.create(find_container_engine(sys.argv[1]), image={IMAGE!r})
    print(client.container_id, flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.contract("S2")
@pytest.mark.timeout(120)
async def test_a_container_ends_with_its_owner_also_when_that_is_killed(place: Place) -> None:
    argv = [sys.executable, "-c", OWNER, place.engine.name]
    owner = subprocess.Popen(argv, env=place.environment, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    with owner.stdout:
        container = owner.stdout.readline().decode().strip()
    assert container in place.call("ps", "--quiet", "--no-trunc")
    owner.kill()
    owner.wait()
    with anyio.fail_after(90):
        while container in place.call("ps", "--all", "--quiet", "--no-trunc"):  # noqa: ASYNC110  no event of it here
            await anyio.sleep(0.1)
    assert await sweep_containers(place.engine, place.environment) == ()


@pytest.mark.slow
async def test_an_image_that_is_not_there_is_told_and_not_downloaded(place: Place) -> None:
    with pytest.raises(SandboxUnavailableError, match="get the image first"):
        await ContainerSandboxClient.create(place.engine, image="localhost/absent:1", environment=place.environment)


@pytest.mark.slow
async def test_a_kept_container_stays_until_it_is_removed(place: Place) -> None:
    kept = await ContainerSandboxClient.create(place.engine, image=IMAGE, keep=True, environment=place.environment)
    await kept.write_file("/workspace/f", "x")
    await kept.close()
    again = await ContainerSandboxClient.adopt(place.engine, kept.container_id, environment=place.environment)
    assert await again.read_file("/workspace/f") == "x"
    await again.close()
    await kept.remove()
    assert kept.container_id not in place.call("ps", "--all", "--quiet", "--no-trunc")
