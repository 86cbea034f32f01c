"""The real package's classes under the adapter, over a service on the loopback: what the one suite does not reach."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from e2b_service import Service, e2b_problem, service
from openbuffer.sandbox import (
    Command,
    ExitCodeError,
    RestoreError,
    SandboxError,
    SandboxFileNotFoundError,
    SnapshotRef,
    WorkerWithdrawnError,
)
from openbuffer.sandbox.e2b_client import E2BSandboxClient

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.skipif(bool(e2b_problem()), reason=e2b_problem() or "it is installed")


@pytest.fixture
def server(tmp_path: Path) -> Generator[Service]:
    root = tmp_path / "ws"
    root.mkdir()
    with service(root) as made:
        yield made


@pytest.fixture(params=["Sandbox", "AsyncSandbox"])
async def sandbox(request: pytest.FixtureRequest, server: Service) -> Any:
    import e2b

    made = getattr(e2b, request.param).create(**server.options())
    return await made if asyncio.iscoroutine(made) else made


def command(server: Service, line: str, timeout_s: float = 20) -> Command:
    return Command(line=line, cwd=str(server.root), timeout_s=timeout_s)


@pytest.mark.contract("S5", "T11")
async def test_its_objects_have_the_shape(sandbox: Any) -> None:
    client = E2BSandboxClient(sandbox)
    assert client.absent_operations == {"restore"}, "it connects by a class method, which a connector calls"
    assert (await client.snapshot()).id.startswith("kept-")


@pytest.mark.contract("S5")
async def test_a_command_ended_by_a_signal_has_no_exit_code(sandbox: Any, server: Service) -> None:
    with pytest.raises(ExitCodeError, match="signal: killed") as caught:
        await E2BSandboxClient(sandbox).run(command(server, "kill -KILL $$"))
    assert caught.value.reason == "malformed"


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"exitCode": 3, "exited": True, "error": "exit status 4"}, "conflicting"),
        ({"exitCode": 0, "exited": False, "status": "signal: hangup", "error": "signal: hangup"}, "conflicting"),
        ({"exitCode": 70_000, "exited": True}, "malformed"),
    ],
)
async def test_an_end_that_is_not_clear_is_an_error(
    sandbox: Any, server: Service, end: dict[str, Any], reason: str
) -> None:
    server.end = end
    with pytest.raises(ExitCodeError) as caught:
        await E2BSandboxClient(sandbox).run(command(server, "true"))
    assert caught.value.reason == reason


@pytest.mark.contract("S5")
async def test_a_stream_without_an_end_is_no_success(sandbox: Any, server: Service) -> None:
    server.has_end = False
    with pytest.raises(SandboxError, match="without an end event"):
        await E2BSandboxClient(sandbox).run(command(server, "true"))


@pytest.mark.contract("S5")
async def test_a_connection_that_breaks_is_an_error(sandbox: Any, server: Service) -> None:
    server.drops = True
    with pytest.raises(SandboxError, match="did not run the command to a known end"):
        await E2BSandboxClient(sandbox).run(command(server, "true"))


async def test_output_before_that_of_a_line_does_no_harm(sandbox: Any, server: Service) -> None:
    client = E2BSandboxClient(sandbox)
    run = sandbox.commands.run
    sandbox.commands.run = lambda line, **named: run(f"echo welcome; echo welcome >&2; {line}", **named)
    await client.write_file(f"{server.root}/file", "x")
    assert await client.read_file(f"{server.root}/file") == "x"
    listing = await client.list_directory(str(server.root), max_entries=5)
    assert [entry.name for entry in listing.entries] == ["file"]
    with pytest.raises(SandboxFileNotFoundError):
        await client.delete(f"{server.root}/missing")


@pytest.mark.contract("S5")
async def test_a_connector_of_the_package_gives_the_sandbox_that_was_asked_for_or_opens_nothing(
    sandbox: Any, server: Service
) -> None:
    def connect(sandbox_id: str) -> Any:
        return type(sandbox).connect(sandbox_id, **server.options())

    client = E2BSandboxClient(sandbox, connector=connect)
    await client.restore(SnapshotRef(sandbox.sandbox_id))
    assert (await client.run(command(server, "echo resumed"))).output == "resumed\n"
    server.connected_as = "anothersandbox"
    with pytest.raises(RestoreError, match="anothersandbox") as caught:
        await client.restore(SnapshotRef(sandbox.sandbox_id))
    assert caught.value.reason == "wrong_id"
    with pytest.raises(WorkerWithdrawnError):
        await client.run(command(server, "true"))
    server.connected_as = None
    await client.restore(SnapshotRef(sandbox.sandbox_id))
    assert client.state == "open"


@pytest.mark.contract("S5")
async def test_a_command_in_flight_loses_its_worker_to_a_restore(sandbox: Any, server: Service) -> None:
    def connect(sandbox_id: str) -> Any:
        return type(sandbox).connect(sandbox_id, **server.options())

    client = E2BSandboxClient(sandbox, connector=connect)
    task = asyncio.create_task(client.run(command(server, "touch begun; sleep 30")))
    await asyncio.to_thread(_wait_for, server.root / "begun")
    await client.restore(SnapshotRef(sandbox.sandbox_id))
    with pytest.raises(WorkerWithdrawnError) as caught:
        await task
    assert caught.value.reason == "late"
    assert (await client.run(command(server, "echo new"))).output == "new\n"


def _wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)
