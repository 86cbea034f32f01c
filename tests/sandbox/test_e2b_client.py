"""What the adapter takes from a provider, what it refuses, and what ends a restore; over objects of the right shape."""

from __future__ import annotations

import asyncio
import functools
import threading
import tracemalloc
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from e2b_doubles import BlockingCommands, BlockingFiles, CommandExitError, Result, TextFiles, TimeoutException
from openbuffer.sandbox import (
    Command,
    CommandTimeoutError,
    ExitCodeError,
    OperationAbsentError,
    RestoreError,
    SandboxAnswerError,
    SandboxError,
    SandboxFileError,
    SandboxFileTooLargeError,
    SandboxNotTextError,
    SnapshotNotFoundError,
    SnapshotRef,
    TakesSnapshots,
    WorkerWithdrawnError,
    find_operation,
)
from openbuffer.sandbox import e2b_client as e2b_module
from openbuffer.sandbox.e2b_client import E2BSandboxClient

MIB = 1024 * 1024
STAT_OF_A_FILE = "openbuffer-stat 0 81a4 3 0\n"


def sandbox(**attributes: Any) -> Any:
    """An object that runs every line with success, telling of a file of three bytes."""
    made = SimpleNamespace(
        sandbox_id="old",
        commands=SimpleNamespace(run=lambda _line, **_named: Result(0, STAT_OF_A_FILE)),
        files=SimpleNamespace(read=lambda _path: "abc", write=lambda _path, _data: None),
    )
    vars(made).update(attributes)
    return made


def answering(answer: Any) -> Any:
    def run(_line: str, **_named: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return SimpleNamespace(run=run)


def command(line: str = "x", timeout_s: float = 20) -> Command:
    return Command(line=line, cwd="/", timeout_s=timeout_s)


# --- the object that is adapted --------------------------------------------------------------------------------------


@pytest.mark.contract("S5", "T11")
@pytest.mark.parametrize(
    ("candidate", "missing"),
    [
        (None, "commands.run"),
        (SimpleNamespace(commands=SimpleNamespace(run="x")), "commands.run"),
        (SimpleNamespace(commands=BlockingCommands()), "files.read"),
        (SimpleNamespace(commands=BlockingCommands(), files=SimpleNamespace(read=print)), "files.write"),
    ],
)
def test_an_object_that_is_no_sandbox_is_refused(candidate: object, missing: str) -> None:
    with pytest.raises(SandboxAnswerError, match=f"it has no {missing}"):
        E2BSandboxClient(candidate)


def test_a_connector_and_a_factory_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="not both"):
        E2BSandboxClient(sandbox(), connector=print, checkpoint_factory=print)


@pytest.mark.contract("S4")
async def test_operations_that_the_object_has_not_are_absent() -> None:
    client = E2BSandboxClient(sandbox())
    assert client.absent_operations == {"read_bytes", "write_bytes", "snapshot", "restore"}
    assert find_operation(client, TakesSnapshots) is None
    for call in (client.snapshot(), client.restore(SnapshotRef("x")), client.read_bytes("/x")):
        with pytest.raises(OperationAbsentError):
            await call
    with pytest.raises(OperationAbsentError):
        await client.write_bytes("/x", b"x")
    assert client.state == "open"
    able = sandbox(files=BlockingFiles(), snapshot=lambda: "kept", reconnect=lambda _id: None)
    assert E2BSandboxClient(able).absent_operations == frozenset()


async def test_methods_may_block_or_be_coroutine_functions_or_be_wrapped() -> None:
    async def run(prefix: str, _line: str, **_named: Any) -> Result:
        await asyncio.sleep(0)
        return Result(0, prefix)

    class Callable:
        async def __call__(self, _line: str, **_named: Any) -> Result:
            return Result(0, "called")

    thread = threading.get_ident()
    threads: list[int] = []

    def blocking(_line: str, **_named: Any) -> Any:
        threads.append(threading.get_ident())
        return asyncio.sleep(0, Result(0, "a blocking method that gives what has to be awaited"))

    for method, output in (
        (functools.partial(run, "partial"), "partial"),
        (Callable(), "called"),
        (blocking, "a blocking method that gives what has to be awaited"),
    ):
        client = E2BSandboxClient(sandbox(commands=SimpleNamespace(run=method)))
        assert (await client.run(command())).output == output
    assert threads != [thread]


# --- commands --------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (SimpleNamespace(stdout="done"), "missing"),
        (None, "missing"),
        (Result(None), "missing"),
        (Result(True), "malformed"),
        (Result("0"), "malformed"),
        (Result(float("nan")), "malformed"),
        (Result(-1), "malformed"),
        (Result(2**40), "malformed"),
        (Result(0, error="signal: killed"), "conflicting"),
        (CommandExitError(0), "conflicting"),
        (CommandExitError(2, error="exit status 1"), "conflicting"),
        (CommandExitError(None), "missing"),
        (CommandExitError(-1, error="signal: killed"), "malformed"),
    ],
)
async def test_an_unclear_exit_code_is_an_error_and_never_success(answer: Any, reason: str) -> None:
    with pytest.raises(ExitCodeError) as caught:
        await E2BSandboxClient(sandbox(commands=answering(answer))).run(command())
    assert caught.value.reason == reason


async def test_a_command_that_ended_is_a_result_whether_it_was_returned_or_raised() -> None:
    for answer in (Result(3, "out", "err\n"), CommandExitError(3, "out", "err\n")):
        result = await E2BSandboxClient(sandbox(commands=answering(answer))).run(command())
        assert (result.exit_code, result.output, result.cut) == (3, "out\nerr\n", False)


async def test_streams_that_are_not_told_are_empty_and_others_are_text() -> None:
    result = await E2BSandboxClient(sandbox(commands=answering(SimpleNamespace(exit_code=0)))).run(command())
    assert result.output == ""
    with pytest.raises(SandboxAnswerError, match="gave bytes as the command's stdout"):
        await E2BSandboxClient(sandbox(commands=answering(Result(0, b"x")))).run(command())  # type: ignore[arg-type]  what is wrong here is what is tested


@pytest.mark.parametrize("error", [TimeoutException("deadline"), TimeoutError("deadline")])
async def test_a_time_out_of_the_provider_is_one_of_the_command(error: Exception) -> None:
    with pytest.raises(CommandTimeoutError, match="may still run there"):
        await E2BSandboxClient(sandbox(commands=answering(error))).run(command())


async def test_a_provider_that_does_not_keep_the_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e2b_module, "PROVIDER_MARGIN_S", 0.01)
    stop = threading.Event()
    client = E2BSandboxClient(sandbox(commands=SimpleNamespace(run=lambda _line, **_named: stop.wait(30))))
    with pytest.raises(CommandTimeoutError, match=r"within 0\.05 s"):
        await client.run(command(timeout_s=0.05))
    stop.set()


async def test_another_failure_is_told_with_the_words_of_the_provider() -> None:
    class SandboxNotRunningException(TimeoutException):
        pass

    for error in (ConnectionError("reset"), SandboxNotRunningException("it was killed")):
        client = E2BSandboxClient(sandbox(commands=answering(error)))
        with pytest.raises(SandboxError, match=f"{type(error).__name__}: ") as caught:
            await client.run(command())
        assert type(caught.value) is SandboxError
        assert caught.value.__cause__ is error


@pytest.mark.contract("T6")
async def test_cancelling_ends_the_waiting_for_a_coroutine_and_for_a_thread() -> None:
    cancelled = asyncio.Event()

    async def run(_line: str, **_named: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    stop = threading.Event()
    for method in (run, lambda _line, **_named: stop.wait(30)):
        client = E2BSandboxClient(sandbox(commands=SimpleNamespace(run=method)))
        with anyio.move_on_after(0.05) as scope:
            await client.run(command())
        assert scope.cancelled_caught
        assert client.state == "open"
    assert cancelled.is_set()
    stop.set()


class Telling:
    """A provider that tells output while it is produced, and then ends as it is told to."""

    def __init__(self, pieces: list[tuple[str, Any]], end: Any) -> None:
        self.pieces = pieces
        self.end = end

    def run(self, _line: str, *, on_stdout: Any, on_stderr: Any, retain_output: bool, **_named: Any) -> Any:
        assert not retain_output
        for stream, text in self.pieces:
            {"out": on_stdout, "err": on_stderr}[stream](text)
        if isinstance(self.end, BaseException):
            raise self.end
        return self.end


@pytest.mark.contract("S4")
async def test_output_that_is_told_while_it_is_produced_keeps_its_order() -> None:
    pieces = [("out", "a\n"), ("err", "b\n"), ("out", "ü😋\n")]
    for end in (SimpleNamespace(exit_code=3, stdout=None, stderr=None), CommandExitError(3, "kept all the same")):
        result = await E2BSandboxClient(sandbox(commands=Telling(pieces, end))).run(command())
        assert (result.exit_code, result.output, result.cut) == (3, "a\nb\nü😋\n", False)


async def test_a_flood_is_bounded_while_it_is_produced() -> None:
    end = SimpleNamespace(exit_code=0)
    flood = [("out", "first\n"), *[("out", "y\n" * 32_000)] * 500, ("err", "last\n")]
    tracemalloc.start()
    try:
        result = await E2BSandboxClient(sandbox(commands=Telling(flood, end))).run(command())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.cut
    assert result.output.startswith("first\n")
    assert result.output.endswith("last\n")
    assert len(result.output) <= 1024 * 1024
    assert peak < 16 * 1024 * 1024


async def test_what_a_command_wrote_before_its_time_was_up_is_not_lost() -> None:
    client = E2BSandboxClient(sandbox(commands=Telling([("out", "so far\n")], TimeoutException("deadline"))))
    with pytest.raises(CommandTimeoutError) as caught:
        await client.run(command())
    assert caught.value.output == "so far\n"


async def test_a_piece_of_output_is_text() -> None:
    client = E2BSandboxClient(sandbox(commands=Telling([("out", b"x")], SimpleNamespace(exit_code=0))))
    with pytest.raises(SandboxError, match="gave bytes as a piece"):
        await client.run(command())


@pytest.mark.contract("S5", "T6")
async def test_a_call_that_its_provider_cancelled_by_itself_is_an_error_and_no_cancellation() -> None:
    class Cancelling:
        def __init__(self, *, blocks: bool) -> None:
            self.blocks = blocks

        def __call__(self, *_arguments: Any, **_named: Any) -> Any:
            if self.blocks:
                raise asyncio.CancelledError
            return self.cancelled()

        async def cancelled(self) -> None:
            raise asyncio.CancelledError

    for method in (Cancelling(blocks=True), Cancelling(blocks=False)):
        made = sandbox(snapshot=method, reconnect=method)
        made.commands.run = made.files.write = method
        client = E2BSandboxClient(made)
        for call in (client.run(command()), client.write_file("/x", "y"), client.stat("/x"), client.snapshot()):
            with pytest.raises(SandboxError, match="cancelled the call by itself"):
                await call
        with pytest.raises(RestoreError, match="cancelled the call by itself") as caught:
            await client.restore(SnapshotRef("old"))
        assert (caught.value.reason, client.state) == ("failed", "restore_failed")


@pytest.mark.contract("S5")
async def test_errors_and_objects_that_cannot_say_anything_are_told_by_their_class() -> None:
    class Unspeakable(Exception):  # noqa: N818  the shape of a provider's
        def __str__(self) -> str:
            raise RuntimeError("no words")

    class Unreadable:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(name)

    def fails(*_arguments: Any, **_named: Any) -> Any:
        raise Unspeakable

    made = sandbox(snapshot=fails, reconnect=fails)
    made.commands.run = fails
    client = E2BSandboxClient(made)
    for call in (client.run(command()), client.stat("/x"), client.snapshot(), client.restore(SnapshotRef("old"))):
        with pytest.raises(SandboxError, match="Unspeakable"):
            await call
    with pytest.raises(SandboxAnswerError, match="names none"):
        await E2BSandboxClient(sandbox(snapshot=Unreadable, reconnect=fails)).snapshot()
    for reference in (SnapshotRef(5), SnapshotRef(None)):  # type: ignore[arg-type]  that is what the test is about
        client = E2BSandboxClient(sandbox(reconnect=fails))
        with pytest.raises(SnapshotNotFoundError):
            await client.restore(reference)
        assert client.state == "open"


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a\ufffdb", "x\ud83d"])
async def test_text_that_could_have_been_other_bytes_is_refused(text: str) -> None:
    files = SimpleNamespace(read=lambda _path: text, write=lambda _path, _data: None)
    with pytest.raises(SandboxNotTextError, match="text only"):
        await E2BSandboxClient(sandbox(files=files)).read_file("/x")


async def test_content_of_another_type_is_no_content() -> None:
    for answer in (None, b"abc", 3, ["abc"]):
        files = SimpleNamespace(read=lambda _path, answer=answer: answer, write=print)
        with pytest.raises(SandboxAnswerError, match="as the content of /x"):
            await E2BSandboxClient(sandbox(files=files)).read_file("/x")

    class Bytes:
        def read(self, _path: str, format: str) -> str:  # noqa: A002  the name is the package's
            return f"text although {format} were asked for"

        write = print

    with pytest.raises(SandboxAnswerError, match="gave str as the content"):
        await E2BSandboxClient(sandbox(files=Bytes())).read_bytes("/x")


async def test_a_file_that_has_grown_since_it_was_looked_at_is_too_large() -> None:
    files = SimpleNamespace(read=lambda _path: "x" * 10, write=print)
    with pytest.raises(SandboxFileTooLargeError):
        await E2BSandboxClient(sandbox(files=files)).read_file("/x", max_bytes=9)


def sizes(*told: int) -> Any:
    """Lines that tell of a file of these sizes, one after the other, and then of the last one."""
    left = list(told)

    def run(_line: str, **_named: Any) -> Result:
        return Result(0, f"openbuffer-stat 0 81a4 {left.pop(0) if len(left) > 1 else left[0]} 0\n")

    return SimpleNamespace(run=run)


@pytest.mark.contract("S5", "F2")
@pytest.mark.parametrize("told", [(10,), (2,), (10, 11), (2, 1)])
async def test_a_part_of_a_file_or_more_than_it_holds_is_no_content(told: tuple[int, ...]) -> None:
    files = SimpleNamespace(read=lambda _path: "abc", write=print)
    with pytest.raises(SandboxAnswerError, match=f"gave 3 bytes of /x, which holds {told[-1]}; nothing of it"):
        await E2BSandboxClient(sandbox(commands=sizes(*told), files=files)).read_file("/x")
    bytes_files = SimpleNamespace(read=lambda _path, format: format[:3].encode(), write=print)  # noqa: A006  the package's
    with pytest.raises(SandboxAnswerError, match="nothing of it was taken"):
        await E2BSandboxClient(sandbox(commands=sizes(*told), files=bytes_files)).read_bytes("/x")


@pytest.mark.parametrize("told", [(3,), (2, 5), (5, 2), (0, 0), (2, 3), (5, 3)])
async def test_a_file_that_grows_or_shrinks_meanwhile_and_one_of_the_kernels_are_read(told: tuple[int, ...]) -> None:
    assert await E2BSandboxClient(sandbox(commands=sizes(*told))).read_file("/x") == "abc"


async def test_what_runs_in_the_sandbox_cannot_fill_the_memory_by_an_answer_about_a_file() -> None:
    flood = Telling([("out", "y" * MIB)] * 100, SimpleNamespace(exit_code=0))
    client = E2BSandboxClient(sandbox(commands=flood))
    tracemalloc.start()
    try:
        with pytest.raises(SandboxError, match="came as an answer about a file"):
            await client.list_directory("/x", max_entries=5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32 * MIB


async def test_a_device_is_not_read_and_a_large_file_is_not_fetched() -> None:
    def read(_path: str) -> str:
        pytest.fail("it was fetched")

    for told, kind in (
        ("openbuffer-stat 0 21b6 0 0\n", SandboxFileError),
        ("openbuffer-stat 0 81a4 999999999999 0\n", SandboxFileTooLargeError),
    ):
        client = E2BSandboxClient(
            sandbox(commands=answering(Result(0, told)), files=SimpleNamespace(read=read, write=print))
        )
        with pytest.raises(kind):
            await client.read_file("/x")


async def test_what_is_said_about_a_file_has_to_be_understood() -> None:
    client = E2BSandboxClient(sandbox(commands=answering(Result(0, "openbuffer-stat 0 zz\n"))))
    with pytest.raises(SandboxAnswerError):
        await client.stat("/x")
    with pytest.raises(SandboxAnswerError):
        await client.list_directory("/x", max_entries=5)


async def test_whether_a_write_without_an_answer_was_done_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e2b_module, "TRANSFER_TIMEOUT_S", 0.05)

    async def write(_path: str, _data: str) -> None:
        await asyncio.sleep(60)

    client = E2BSandboxClient(sandbox(files=SimpleNamespace(read=print, write=write)))
    with pytest.raises(SandboxError, match="whether it was written is not known"):
        await client.write_file("/x", "x")


# --- snapshots and restores ------------------------------------------------------------------------------------------


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("kept", "kept"),
        (SimpleNamespace(snapshot_id="kept", sandbox_id="old"), "kept"),
        (SimpleNamespace(snapshotId="kept"), "kept"),
        (SimpleNamespace(sandbox_id="old"), "old"),
    ],
)
async def test_a_snapshot_is_named_by_what_the_provider_gives(answer: object, reference: str) -> None:
    for name in ("snapshot", "create_snapshot"):
        client = E2BSandboxClient(sandbox(**{name: lambda: answer}))
        assert await client.snapshot() == SnapshotRef(reference)


async def test_a_checkpoint_is_not_taken_where_a_connector_could_not_restore_it() -> None:
    able = sandbox(create_snapshot=lambda: "checkpoint", reconnect=lambda _id: None)
    assert "snapshot" in E2BSandboxClient(able).absent_operations
    assert "snapshot" in E2BSandboxClient(able, connector=print).absent_operations
    assert "snapshot" not in E2BSandboxClient(able, checkpoint_factory=print).absent_operations


@pytest.mark.parametrize("answer", [None, "", " ", 3, True, b"kept", SimpleNamespace(), SimpleNamespace(snapshot_id=3)])
async def test_what_names_no_snapshot_is_none(answer: object) -> None:
    with pytest.raises(SandboxAnswerError, match="names none"):
        await E2BSandboxClient(sandbox(snapshot=lambda: answer)).snapshot()


async def test_a_snapshot_that_fails_is_told_and_leaves_the_worker_in_use() -> None:
    def snapshot() -> None:
        raise ConnectionError("full")

    client = E2BSandboxClient(sandbox(snapshot=snapshot))
    with pytest.raises(SandboxError, match=r"made no snapshot.*full"):
        await client.snapshot()
    assert client.state == "open"


@pytest.mark.contract("S5")
@pytest.mark.parametrize(
    "given",
    [
        {"sandbox_id": "other"},
        {"sandbox_id": "ASKED"},
        {"sandbox_id": "asked "},
        {"sandbox_id": None},
        {"sandbox_id": b"asked"},
        {"sandbox_id": ["asked"]},
        {"sandbox_id": "asked", "sandboxId": "other"},
    ],
)
async def test_a_connector_that_gives_another_id_opens_nothing(given: dict[str, Any]) -> None:
    client = E2BSandboxClient(sandbox(), connector=lambda _id: sandbox(**given))
    with pytest.raises(RestoreError, match="was asked for the sandbox 'asked'") as caught:
        await client.restore(SnapshotRef("asked"))
    assert caught.value.reason == "wrong_id"
    await is_closed(client)


@pytest.mark.contract("S5")
async def test_a_factory_may_make_a_new_id_and_a_connector_may_give_the_same_object() -> None:
    client = E2BSandboxClient(sandbox(), checkpoint_factory=lambda kept: sandbox(sandbox_id=f"new of {kept}"))
    await client.restore(SnapshotRef("kept"))
    assert client.state == "open"
    same = sandbox()
    same.reconnect = lambda _id: same
    client = E2BSandboxClient(same)
    await client.restore(SnapshotRef("old"))
    assert (await client.run(command())).exit_code == 0


@pytest.mark.contract("S5")
async def test_a_restore_without_a_reference_changes_nothing() -> None:
    client = E2BSandboxClient(sandbox(), connector=lambda _id: pytest.fail("it was asked"))
    with pytest.raises(SnapshotNotFoundError):
        await client.restore(SnapshotRef(" "))
    assert (await client.run(command())).exit_code == 0


@pytest.mark.contract("S5")
async def test_after_a_failure_only_a_restore_that_succeeds_reopens() -> None:
    given: list[Any] = [ConnectionError("gone"), object(), sandbox(sandbox_id="wrong"), sandbox(sandbox_id="asked")]

    def connect(_id: str) -> Any:
        answer = given.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    client = E2BSandboxClient(sandbox(), connector=connect)
    for reason in ("failed", "failed", "wrong_id"):
        with pytest.raises(RestoreError) as caught:
            await client.restore(SnapshotRef("asked"))
        assert caught.value.reason == reason
        await is_closed(client)
    await client.restore(SnapshotRef("asked"))
    assert client.state == "open"
    assert (await client.run(command())).exit_code == 0


@pytest.mark.contract("S5")
async def test_a_restore_that_takes_too_long_fails_and_its_late_sandbox_is_not_used() -> None:
    begun, end = threading.Event(), threading.Event()

    def connect(_id: str) -> Any:
        begun.set()
        end.wait(30)
        return sandbox(sandbox_id="asked")

    client = E2BSandboxClient(sandbox(), connector=connect, restore_timeout_s=0.05)
    with pytest.raises(RestoreError, match=r"longer than 0\.05 s") as caught:
        await client.restore(SnapshotRef("asked"))
    assert caught.value.reason == "timeout"
    assert begun.is_set()
    end.set()
    await anyio.sleep(0.05)
    await is_closed(client)


@pytest.mark.contract("S5", "T6")
@pytest.mark.parametrize("answers_all_the_same", [False, True])
async def test_a_restore_that_is_cancelled_leaves_the_client_closed(*, answers_all_the_same: bool) -> None:
    async def connect(_id: str) -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if not answers_all_the_same:
                raise
        return sandbox(sandbox_id="asked")

    client = E2BSandboxClient(sandbox(), connector=connect)
    with anyio.move_on_after(0.02) as scope:
        await client.restore(SnapshotRef("asked"))
    assert scope.cancelled_caught
    await is_closed(client)


@pytest.mark.contract("S5")
async def test_an_error_that_comes_late_is_not_told_as_the_workers() -> None:
    fail = asyncio.Event()

    async def run(_line: str, **_named: Any) -> None:
        with anyio.CancelScope(shield=True):
            await fail.wait()
        raise CommandExitError(3)

    made = sandbox(sandbox_id="new")
    client = E2BSandboxClient(sandbox(commands=SimpleNamespace(run=run)), checkpoint_factory=lambda _id: made)
    task = asyncio.create_task(client.run(command()))
    await asyncio.sleep(0.01)
    await client.restore(SnapshotRef("kept"))
    fail.set()
    with pytest.raises(WorkerWithdrawnError, match="look at the state that is") as caught:
        await task
    assert caught.value.reason == "late"


async def is_closed(client: E2BSandboxClient) -> None:
    assert client.state == "restore_failed"
    for call in (client.run(command()), client.read_file("/x"), client.write_file("/x", "x"), client.stat("/x")):
        with pytest.raises(WorkerWithdrawnError, match="restore it anew") as caught:
            await call
        assert caught.value.reason == "restore_failed"


def test_files_that_give_text_only_are_taken_for_that() -> None:
    assert "read_bytes" in E2BSandboxClient(sandbox(files=TextFiles())).absent_operations
    assert "read_bytes" not in E2BSandboxClient(sandbox(files=BlockingFiles())).absent_operations
