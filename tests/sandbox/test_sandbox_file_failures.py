"""What file tools say when a sandbox cannot do something, fails, or does not answer (S4, S5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.lowlevel
import pytest
from e2b_doubles import BlockingCommands, BlockingFiles, HostSandbox, Result
from file_tool_desk import FACTORIES, called, untouchable_editor
from openbuffer.sandbox import (
    Command,
    FileStat,
    RestoreError,
    RunResult,
    SandboxError,
    SandboxFileError,
    SandboxFileNotFoundError,
    SandboxIsDirectoryError,
    SandboxNotTextError,
    SandboxPermissionError,
    SandboxUnavailableError,
    SnapshotRef,
    WorkerWithdrawnError,
)
from openbuffer.sandbox.e2b_client import E2BSandboxClient
from openbuffer.sandbox.memory_client import InMemorySandboxClient
from openbuffer.tools import (
    CancellationToken,
    PlanOutdatedError,
    ReadByteLimitError,
    ToolCancelledError,
    ToolContext,
    ToolDefinitionError,
)
from openbuffer.tools.support import sandbox_change, sandbox_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openbuffer.tools import InvocationResult

UNKNOWN = "the outcome is unknown: the change was sent to the sandbox, and whether it was made is not known"


class Bare:
    """A client with what every client has and nothing else; ``fails`` is raised by the next call of that name."""

    filesystem: Literal["separate"] = "separate"

    def __init__(self, files: dict[str, str] | None = None) -> None:
        self.files = dict(files or {})
        self.fails: dict[str, Exception] = {}
        self.calls: list[str] = []

    async def run(self, command: Command) -> RunResult:
        raise AssertionError(f"nothing is to be run: {command.line}")

    async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:  # noqa: ARG002  the port's signature; it keeps to no bound
        self._called("read_file")
        if path == "/w":
            raise SandboxIsDirectoryError(f"{path} is a directory", path=path)
        if path not in self.files:
            raise SandboxFileNotFoundError(f"{path}: no such file", path=path)
        return self.files[path]

    async def write_file(self, path: str, text: str) -> None:
        self._called("write_file")
        self.files[path] = text

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name in self.fails:
            raise self.fails[name]


class Deleting(Bare):
    """One that can delete and not look."""

    async def delete(self, path: str) -> None:
        self._called("delete")
        del self.files[path]


class Stuck(Bare):
    """One whose writes are answered when the test lets them, and land all the same."""

    def __init__(self, files: dict[str, str] | None = None) -> None:
        super().__init__(files)
        self.sent = anyio.Event()
        self.answers = anyio.Event()

    async def write_file(self, path: str, text: str) -> None:
        await super().write_file(path, text)
        self.sent.set()
        await self.answers.wait()


async def call(name: str, client: Any, /, **arguments: Any) -> InvocationResult:
    return await called(FACTORIES[name](cwd="/w", sandbox=client), arguments)


async def write(client: Any, content: str = "new\n") -> InvocationResult:
    return await call("Write", client, filePath="f", content=content)


# --- what a client does not have -----------------------------------------------------------------------------------


@pytest.mark.contract("S4", "F1", "F3", "F5", "F6")
async def test_a_client_with_the_required_operations_alone_is_enough_to_read_write_and_edit() -> None:
    client = Bare()
    assert (await write(client, "\ufeffold\r\nx")).success
    assert (await call("Edit", client, filePath="f", oldString="old", newString="é")).success
    assert client.files == {"/w/f": "\ufeffé\r\nx"}
    assert "byte-order mark" in (await call("Read", client, filePath="f")).output
    for name, arguments in (("Read", {}), ("Write", {"content": ""})):
        result = await call(name, client, filePath="/w/../w", **arguments)
        assert "contains `..`" in str(result.error)
    missing = await call("Read", client, filePath="no")
    assert str(missing.error).startswith("no such file: /w/no (in the sandbox)")
    assert client.files == {"/w/f": "\ufeffé\r\nx"}


@pytest.mark.contract("S4", "F11")
async def test_a_client_that_cannot_delete_is_told_of_by_the_name_of_the_operation() -> None:
    client = Bare({"/w/f": "x"})
    result = await call("Delete", client, path="f")
    assert "/w/f: the sandbox of this session has no operation delete, so nothing was deleted." in str(result.error)
    assert "rm, where commands are offered" in str(result.error)
    assert (client.calls, client.files) == ([], {"/w/f": "x"})


@pytest.mark.contract("S4", "F11")
async def test_a_client_that_can_delete_and_not_look_says_what_it_does_not_know() -> None:
    client = Deleting({"/w/f": "x"})
    result = await call("Delete", client, path="f")
    assert result.output == (
        "Deleted /w/f in the sandbox: a file of 1 bytes. Note: whether the path was a link is not known; of a link, "
        "the link alone is gone."
    )
    result = await call("Delete", client, path="no")
    assert "has no operation stat that would tell why" in str(result.error)


@pytest.mark.contract("S4", "F6")
async def test_bytes_that_can_be_read_and_not_be_written_are_refused_at_the_plan() -> None:
    class ReadsOnly(Bare):
        async def read_bytes(self, path: str, *, max_bytes: int | None = None) -> bytes:
            return (await self.read_file(path, max_bytes=max_bytes)).encode("latin-1")

    client = ReadsOnly({"/w/f": "déjà vu à côté, naïve façade\n"})
    assert "windows-1252" in (await call("Read", client, filePath="f")).output
    result = await call("Edit", client, filePath="f", oldString="vu", newString="eu")
    assert "takes text only, it has no operation write_bytes" in str(result.error)
    assert "write_file" not in client.calls


# --- paths ---------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4", "P6")
@pytest.mark.parametrize("tool", ["Read", "Delete"])
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../f", "contains `..`, which may lead elsewhere than it says"),
        ("/w/a/../../etc/passwd", "contains `..`"),
        ("C:\\f", "is a Windows path; the sandbox has paths such as /w/file"),
        ("c:/f", "is a Windows path"),
        ("\\\\server\\f", "is a Windows path"),
        ("/proc/self/environ", "is in /proc, which describes processes"),
        ("//proc/./1/mem", "is in /proc"),
        ("d/" * 2_046 + "fff", "is too long (4098 bytes"),
    ],
)
async def test_paths_that_lead_elsewhere_are_refused_and_the_client_is_asked_for_nothing(
    tool: str, path: str, why: str
) -> None:
    client = Bare()
    result = await call(tool, client, **{"path" if tool == "Delete" else "filePath": path})
    assert why in str(result.error)
    assert client.calls == []


@pytest.mark.contract("S4", "P1")
async def test_the_root_is_where_paths_start_and_the_sandbox_alone_is_the_boundary() -> None:
    client = Bare({"/etc/hosts": "x\n", "/w/..a": "y\n"})
    assert "     1\tx" in (await call("Read", client, filePath="/etc/hosts")).output
    assert "     1\ty" in (await call("Read", client, filePath="..a")).output
    result = await call("Write", client, filePath="new/", content="x")
    assert "ends in a slash or a dot, as that of a directory does" in str(result.error)


@pytest.mark.contract("S4", "T7")
@pytest.mark.parametrize("factory", list(FACTORIES.values()))
@pytest.mark.parametrize("cwd", ["", None, "w", "C:\\w", (), "/w/../x", "/w\0"])
def test_a_root_that_can_be_none_in_a_sandbox_is_refused_at_construction(factory: Any, cwd: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="cwd"):
        factory(cwd=cwd, sandbox=Bare())


@pytest.mark.contract("P6", "F1")
async def test_what_is_no_regular_file_is_not_opened() -> None:
    class Pipe(Bare):
        async def stat(self, path: str) -> FileStat:
            return FileStat(kind="link" if path == "/w/gone" else "other", size=0)

    client = Pipe()
    for name, more in (("Read", {}), ("Write", {"content": "x"}), ("Edit", {"oldString": "a", "newString": "b"})):
        result = await call(name, client, filePath="pipe", **more)
        assert "/w/pipe: is a device, a FIFO or a socket, not a regular file" in str(result.error), name
    result = await call("Read", client, filePath="gone")
    assert "/w/gone: is a link that leads nowhere" in str(result.error)
    assert client.calls == []


# --- what fails ----------------------------------------------------------------------------------------------------

REFUSED = [
    (SandboxPermissionError("/w/f: permission denied", path="/w/f"), "the sandbox refused the change", "not changed"),
    (SandboxNotTextError("/w/f: no text", path="/w/f"), "the sandbox refused the change", "not changed"),
    (SandboxUnavailableError("it is off"), "the sandbox cannot be used now (it is off)", "Nothing was changed."),
    (WorkerWithdrawnError("it is being restored", reason="restoring"), "cannot be used now", "Nothing was changed."),
]
NOT_KNOWN = [
    SandboxError("the connection was lost"),
    SandboxFileError("/w/f cannot be written: No space left on device", path="/w/f"),
    WorkerWithdrawnError("a restore took the sandbox away", reason="late"),
]


@pytest.mark.contract("S4", "S5", "F3")
@pytest.mark.parametrize(("error", "what", "then"), REFUSED, ids=lambda each: type(each).__name__)
async def test_a_change_that_the_sandbox_refused_is_known_not_to_be_made(
    error: Exception, what: str, then: str
) -> None:
    client = Bare({"/w/f": "old\n"})
    client.fails["write_file"] = error
    result = await write(client)
    assert str(result.error).startswith("/w/f: ")
    assert what in str(result.error)
    assert then in str(result.error)
    assert UNKNOWN not in str(result.error)


@pytest.mark.contract("S4", "S5", "F3")
@pytest.mark.parametrize("error", NOT_KNOWN, ids=str)
@pytest.mark.parametrize("operation", ["write_file", "delete"])
async def test_after_any_other_error_the_outcome_is_unknown_and_said_to_be(error: Exception, operation: str) -> None:
    client = Deleting({"/w/f": "old\n"})
    client.fails[operation] = error
    result = await (write(client) if operation == "write_file" else call("Delete", client, path="f"))
    assert str(result.error).startswith(f"/w/f: {UNKNOWN} ({str(error)[:20]}")
    assert str(result.error).endswith("Read the file before you try again.")


@pytest.mark.contract("S4", "F1", "F3", "F5")
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (SandboxPermissionError("denied", path="/w/f"), "cannot be opened for reading (denied); its permissions"),
        (SandboxFileError("it broke", path="/w/f"), "cannot be read in the sandbox (it broke); nothing was changed"),
        (SandboxError("it broke"), "cannot be read in the sandbox (it broke); nothing was changed"),
        (WorkerWithdrawnError("it is being restored", reason="restoring"), "the sandbox cannot be used now"),
        (SandboxIsDirectoryError("d", path="/w/f"), "is a directory, not a file; list it with a command such as ls"),
    ],
    ids=str,
)
@pytest.mark.parametrize("tool", ["Read", "Write", "Edit"])
async def test_a_file_that_cannot_be_read_is_neither_shown_nor_changed(error: Exception, says: str, tool: str) -> None:
    client = Bare({"/w/f": "old\n"})
    client.fails["read_file"] = error
    more = {"Read": {}, "Write": {"content": "x"}, "Edit": {"oldString": "old", "newString": "n"}}[tool]
    result = await call(tool, client, filePath="f", **more)
    assert f"/w/f: {says}" in str(result.error)
    assert client.files == {"/w/f": "old\n"}


@pytest.mark.contract("S4", "F2")
async def test_an_answer_that_is_none_or_more_than_was_asked_for_is_not_taken() -> None:
    client = Bare({"/w/f": b"bytes"})  # type: ignore[dict-item]  that is what the test is about
    result = await call("Read", client, filePath="f")
    assert "it gave bytes as the content of the file" in str(result.error)
    client.files = {"/w/f": "\ud800"}
    assert "is not UTF-8 text, or cannot be seen to be" in str((await call("Read", client, filePath="f")).error)
    client.files = {"/w/f": "0123456789\n"}
    with pytest.raises(ReadByteLimitError, match="it gave 11 bytes, and 10 are the most"):
        await called(FACTORIES["Read"](cwd="/w", sandbox=client, max_bytes=10), {"filePath": "f"})
    result = await called(FACTORIES["Write"](cwd="/w", sandbox=client, max_bytes=10), {"filePath": "f", "content": ""})
    assert "is too large to be carried" in str(result.error)


@pytest.mark.contract("S4", "F3")
async def test_a_client_that_never_answers_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_files, "SANDBOX_FILE_TIMEOUT_S", 0.05)
    result = await write(Stuck())
    assert f"/w/f: {UNKNOWN} (no answer within 0.05 s)" in str(result.error)


@pytest.mark.contract("S4", "E12")
async def test_a_change_waits_for_the_one_before_it_with_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_change, "SANDBOX_TURN_TIMEOUT_S", 0.05)
    client = Stuck()
    async with anyio.create_task_group() as group:
        group.start_soon(write, client)
        await client.sent.wait()
        second = await call("Write", client, filePath="other", content="x")
        assert "/w/other: other changes in the sandbox have taken longer than 0.05 s; nothing was" in str(second.error)
        client.answers.set()
    assert client.files == {"/w/f": "new\n"}


# --- restores ------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S5")
async def test_while_a_restore_runs_or_has_failed_no_file_tool_reaches_the_sandbox(tmp_path: Path) -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def fails(_checkpoint: str) -> object:
        begun.set()
        await go_on.wait()
        raise ConnectionError("no answer")

    (tmp_path / "f").write_text("old\n")
    sandbox = HostSandbox(tmp_path, BlockingCommands(), BlockingFiles())
    client = E2BSandboxClient(sandbox, checkpoint_factory=fails)
    edit = FACTORIES["Edit"](cwd=str(tmp_path), sandbox=client)
    planned = await edit.prepare(
        edit.validate({"filePath": "f", "oldString": "old", "newString": "new"}), ToolContext()
    )

    async def refused(why: str) -> None:
        for name, arguments in (
            ("Read", {"filePath": "f"}),
            ("Write", {"filePath": "f", "content": "x"}),
            ("Delete", {"path": "f"}),
        ):
            result = await called(FACTORIES[name](cwd=str(tmp_path), sandbox=client), arguments)
            assert why in str(result.error), name
            assert "the sandbox cannot be used now" in str(result.error), name

    async with anyio.create_task_group() as group:

        async def restore() -> None:
            with pytest.raises(RestoreError):
                await client.restore(SnapshotRef("kept"))

        group.start_soon(restore)
        await begun.wait()
        await refused("is being restored")
        go_on.set()
    await refused("the last restore of the sandbox failed")
    result = await edit.commit(planned, ToolContext())
    assert "the last restore of the sandbox failed" in result.value["error"]
    assert (tmp_path / "f").read_text() == "old\n"


@pytest.mark.contract("S6", "T12")
async def test_a_restore_between_the_two_steps_outdates_the_plan_where_the_file_differs() -> None:
    client = InMemorySandboxClient({"/w/f": "first\n"})
    kept = await client.snapshot()
    client.files.write("/w/f", b"second\n")
    edit = FACTORIES["Edit"](cwd="/w", sandbox=client)
    parsed = edit.validate({"filePath": "f", "oldString": "second", "newString": "third"})
    plan = await edit.prepare(parsed, ToolContext())
    await client.restore(kept)
    with pytest.raises(PlanOutdatedError, match="was changed in the sandbox since the call began"):
        await edit.commit(plan, ToolContext())
    assert client.files.read("/w/f") == b"first\n"


class Worker:
    """A sandbox object in memory with one file; its methods give way to nobody, so that a test says who is next."""

    def __init__(
        self,
        content: bytes,
        when_read: Callable[[], None] = lambda: None,
        when_written: Callable[[], None] = lambda: None,
    ) -> None:
        self.content = content
        self.when_read = when_read
        self.when_written = when_written
        self.commands = self
        self.files = self

    async def run(self, _line: str, **_named: object) -> Result:
        return Result(0, f"openbuffer-stat 0 81a4 {len(self.content)} 1700000000\n")

    async def read(self, _path: str, format: str = "text") -> bytes:  # noqa: A002  the name is the package's
        assert format == "bytes"
        self.when_read()
        return self.content

    async def write(self, _path: str, data: bytes) -> None:
        self.when_written()
        await anyio.lowlevel.checkpoint()
        self.content = data


@pytest.mark.contract("S5", "T12")
@pytest.mark.parametrize("moment", ["at the last look", "between the look and the request", "at the request"])
async def test_a_restore_around_the_last_look_never_gets_the_change_that_was_made_for_the_state_before(
    moment: str,
) -> None:
    reads: list[None] = []
    begin = anyio.Event()

    def at(now: str) -> None:
        if now == moment:
            begin.set()

    def read() -> None:
        reads.append(None)
        if len(reads) == 2:
            at("at the last look")

    class Client(E2BSandboxClient):
        async def write_bytes(self, path: str, content: bytes) -> None:
            at("between the look and the request")
            await super().write_bytes(path, content)

    old, new = Worker(b"old\n", read, lambda: at("at the request")), Worker(b"of the checkpoint\n")
    client = Client(old, checkpoint_factory=lambda _checkpoint: new)
    results: list[InvocationResult] = []

    async def restore() -> None:
        await begin.wait()
        await client.restore(SnapshotRef("kept"))

    async def change() -> None:
        results.append(await write(client))

    async with anyio.create_task_group() as group:
        group.start_soon(restore)
        group.start_soon(change)
    (result,) = results
    assert new.content == b"of the checkpoint\n"
    assert "a restore took the sandbox away before it had answered" in str(result.error)
    if moment == "at the last look":
        assert "nothing was changed" in str(result.error)
        assert old.content == b"old\n"
    else:
        assert UNKNOWN in str(result.error)


# --- cancelling ----------------------------------------------------------------------------------------------------


async def cancelled_in_the_middle(client: Stuck, then: Callable[[], None] = lambda: None) -> BaseException:
    """Cancel a Write once its content was sent; what it ended with."""
    ends: list[BaseException] = []

    async def run() -> None:
        try:
            await write(client)
        except anyio.get_cancelled_exc_class() as cancelled:
            ends.append(cancelled)
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await client.sent.wait()
        group.cancel_scope.cancel()
        then()
    (end,) = ends
    return end


@pytest.mark.contract("T6", "S4")
async def test_a_write_that_is_cancelled_and_answered_in_time_is_seen_through() -> None:
    client = Stuck({"/w/f": "old\n"})
    end = await cancelled_in_the_middle(client, client.answers.set)
    assert not hasattr(end, "__notes__")
    assert client.files == {"/w/f": "new\n"}


@pytest.mark.contract("T6", "S4")
async def test_a_write_that_is_cancelled_and_not_answered_ends_with_the_word_that_its_outcome_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sandbox_change, "SANDBOX_CANCEL_GRACE_S", 0.05)
    client = Stuck()
    end = await cancelled_in_the_middle(client)
    (note,) = end.__notes__
    assert note.startswith(f"/w/f: {UNKNOWN} (the call was cancelled, and there was no answer for another 0.05 s)")
    # Whoever comes next is not held up by it.
    client.answers.set()
    assert (await write(client, "next")).success


@pytest.mark.contract("T6", "S4")
async def test_a_call_that_is_cancelled_before_anything_was_sent_changes_nothing() -> None:
    class Slow(Stuck):
        async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:
            text = await super().read_file(path, max_bytes=max_bytes)
            if self.calls.count("read_file") > 1:
                self.sent.set()
                await anyio.sleep_forever()
            return text

    client = Slow({"/w/f": "old\n"})
    end = await cancelled_in_the_middle(client)
    assert end.__notes__ == ["/w/f: nothing was changed"]
    assert client.files == {"/w/f": "old\n"}


@pytest.mark.contract("T6", "S4")
async def test_a_token_that_is_cancelled_ends_the_call_before_its_effect() -> None:
    token = CancellationToken()
    context = ToolContext(cancellation=token)

    class Cancels(Bare):
        async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:
            token.cancel()
            return await super().read_file(path, max_bytes=max_bytes)

    client = Cancels({"/w/f": "old\n"})
    with pytest.raises(ToolCancelledError):
        await called(FACTORIES["Write"](cwd="/w", sandbox=client), {"filePath": "f", "content": "x"}, context)
    with pytest.raises(ToolCancelledError):
        await called(FACTORIES["Read"](cwd="/w", sandbox=client), {"filePath": "f"}, context)
    assert client.files == {"/w/f": "old\n"}


@pytest.mark.contract("S4", "E4")
async def test_an_editor_is_not_asked_even_where_the_sandbox_fails() -> None:
    client = Bare({"/w/f": "old\n"})
    client.fails["read_file"] = SandboxError("it broke")
    tool = FACTORIES["Write"](cwd="/w", sandbox=client, editor=untouchable_editor)
    assert "it broke" in str((await called(tool, {"filePath": "f", "content": "x"})).error)
