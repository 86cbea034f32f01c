"""A session whose files are those of a sandbox: which tools there are, what the gate and the record see (S4, E4)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import pytest
from openbuffer.bridge.own_files import OwnFilesPolicy
from openbuffer.sandbox import Command, CommandTimeoutError, RunResult, WorkerWithdrawnError
from openbuffer.sandbox.memory_client import InMemorySandboxClient
from openbuffer.tools import Capability, CommandTarget, FileTarget, FunctionTool, PermissionDeniedError
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import ToolFinished, ToolIntended
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.permissions import Decision, PermissionRequest
from openbuffer.tools.support import sandbox_change

from .command_desk import Pretence

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.sandbox.memory.files import MemoryFiles

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Write", {"filePath": "d/f", "content": "old\n"}),
    ("Read", {"filePath": "d/f"}),
    ("Edit", {"filePath": "d/f", "oldString": "old", "newString": "new"}),
    ("Shell", {"command": "cat d/f"}),
    ("Bash", {"command": "cat f", "workingDirectory": "d"}),
    ("Delete", {"path": "d/f"}),
]


def editor() -> NoReturn:
    raise AssertionError("the editor was asked, and its files are the host's")


def config(client: InMemorySandboxClient, **more: Any) -> ToolConfig:
    return ToolConfig(roots=("/workspace",), editor=editor, sandbox=client, **more)


class Rules:
    """Writes down what it is asked, and denies the targets of one stage."""

    def __init__(self, denies: str = "") -> None:
        self.denies = denies
        self.asked: list[PermissionRequest] = []

    def decide(self, request: PermissionRequest) -> Decision:
        self.asked.append(request)
        return Decision("deny" if request.stage == self.denies else "allow", "a rule")


# --- the set -------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4", "E4")
def test_what_searches_the_hosts_files_is_withheld_and_the_rest_is_there() -> None:
    client = InMemorySandboxClient()
    assert [tool.name for tool in build_tools(config(client))] == ["Read", "Write", "Edit", "Delete", "Shell", "Bash"]
    assert [tool.name for tool in build_tools(config(client, writes=False, commands=False))] == ["Read"]
    assert {"Glob", "Grep", "ListDir"} < {tool.name for tool in build_tools(ToolConfig(roots=("/w",)))}


@pytest.mark.contract("S4")
async def test_a_client_of_the_hosts_files_leaves_the_file_tools_on_disk(tmp_path: Path) -> None:
    session = ToolConfig(roots=(tmp_path,), sandbox=Pretence())
    assert len(build_tools(session)) == len(build_tools(ToolConfig(roots=(tmp_path,))))
    result = await create_tool_executor(session).call("Write", {"filePath": "f", "content": "x"})
    assert "Written to disk." in result.value["output"]
    assert (tmp_path / "f").read_text() == "x"


@pytest.mark.contract("S4", "E4")
async def test_every_tool_works_in_the_sandbox_and_none_asks_the_editor() -> None:
    client = InMemorySandboxClient()
    executor = create_tool_executor(config(client))
    outputs = [await executor.call(name, arguments) for name, arguments in CALLS]
    assert all(result.success for result in outputs), [result.value for result in outputs]
    assert "new\n" in outputs[3].value["output"]
    assert "new\n" in outputs[4].value["output"]
    assert not client.files.list_directory("/workspace/d").entries


@pytest.mark.contract("T8", "S4")
def test_descriptions_say_where_the_files_are_and_name_no_host_editor_or_withheld_tool() -> None:
    tools = build_tools(config(InMemorySandboxClient(), file_max_bytes=54_321))
    for tool in tools:
        told = told_by(tool)
        assert "in the session's sandbox" in told, tool.name
        assert not re.search(r"document|editor|ListDir|Glob|Grep|On disk|never seen half-written", told), tool.name
        for policy in ("always", "never use", "prefer", "must", "should", "before you", "important", "you "):
            assert policy not in told.lower(), (tool.name, policy)
        if tool.name in {"Read", "Write", "Edit", "Delete"}:
            assert "a relative one starts at the first root" in told
            assert not re.search(r"\b(Read|Write|Edit|Delete|Shell|Bash)\b", told)
        if tool.name in {"Read", "Write", "Edit"}:
            assert "54321 bytes" in told
        if tool.name in {"Shell", "Bash"}:
            assert "ended with all its processes" not in told


@pytest.mark.contract("T8")
def test_a_description_of_ones_own_is_used_verbatim_there_too() -> None:
    mine = {name: f" Mine, of {name}. " for name in ("Read", "Write", "Edit", "Delete", "Shell")}
    tools = build_tools(config(InMemorySandboxClient(), descriptions=mine))
    assert {tool.name: tool.description for tool in tools if tool.name in mine} == mine


# --- the gate ------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4", "X4")
async def test_the_gate_is_told_at_both_stages_that_a_path_is_the_sandboxes() -> None:
    rules = Rules()
    executor = create_tool_executor(config(InMemorySandboxClient()), policy=rules)
    for name, arguments in CALLS:
        await executor.call(name, arguments)
    assert {request.stage for request in rules.asked} == {"targets", "plan"}
    for request in rules.asked:
        for target in request.targets:
            assert target.in_sandbox
            if isinstance(target, FileTarget):
                assert (target.path, target.subject) == ("/workspace/d/f", "/workspace/d/f in the sandbox")
            if isinstance(target, CommandTarget):
                assert (target.argv, target.confined_by, target.auto_allowed) == ((), "", False)
        assert request.change is None or request.change.in_sandbox


@pytest.mark.contract("S4", "X4")
@pytest.mark.parametrize(("name", "arguments"), [call for call in CALLS if call[0] not in {"Shell", "Bash"}])
async def test_what_the_gate_denies_is_not_looked_at_in_the_sandbox(name: str, arguments: dict[str, Any]) -> None:
    client = InMemorySandboxClient({"/workspace/d/f": "old\n"})

    def untouched(*_arguments: object) -> NoReturn:
        raise AssertionError("it was looked at")

    for method in ("stat", "read", "write", "delete"):
        setattr(client.files, method, untouched)
    executor = create_tool_executor(config(client), policy=Rules("targets"))
    with pytest.raises(PermissionDeniedError, match="/workspace/d/f in the sandbox is not permitted: a rule"):
        await executor.call(name, arguments)


@pytest.mark.contract("S4", "X4")
async def test_a_rule_on_the_hosts_own_files_does_not_take_a_file_in_the_sandbox_for_one() -> None:
    own = OwnFilesPolicy(hidden=("/workspace/state",), roots=("/workspace",))
    executor = create_tool_executor(config(InMemorySandboxClient()), policy=own)
    for path in ("state/x", "openbuffer.toml"):
        assert (await executor.call("Write", {"filePath": path, "content": "x"})).success
    hosts = FileTarget(path="/workspace/state/x", access=Capability.FILE_READ)
    request = PermissionRequest(call_id="", tool="Read", capabilities=frozenset(), targets=(hosts,), stage="targets")
    assert own.decide(request).verdict == "deny"


# --- the record ----------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4", "X2")
async def test_the_record_tells_that_the_change_is_one_of_the_sandboxes_file() -> None:
    log = InMemoryEventLog()
    executor = create_tool_executor(config(InMemorySandboxClient()), log=log)
    await executor.call("Write", {"filePath": "f", "content": "x"})
    intended, finished = log
    assert isinstance(intended, ToolIntended)
    assert isinstance(finished, ToolFinished)
    (target,) = intended.targets
    assert isinstance(target, FileTarget)
    assert (target.path, target.place, target.exists) == ("/workspace/f", "sandbox", False)
    assert intended.change is not None
    assert intended.change.in_sandbox
    assert finished.outcome == "succeeded"


@pytest.mark.contract("S4", "T6", "X2")
async def test_the_record_of_a_call_that_was_cancelled_in_the_middle_says_that_its_outcome_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sandbox_change, "SANDBOX_CANCEL_GRACE_S", 0.05)
    sent = anyio.Event()

    class Stuck(InMemorySandboxClient):
        async def write_bytes(self, path: str, content: bytes) -> None:
            await super().write_bytes(path, content)
            sent.set()
            await anyio.sleep_forever()

    log = InMemoryEventLog()
    executor = create_tool_executor(config(Stuck()), log=log)
    async with anyio.create_task_group() as group:
        group.start_soon(executor.call, "Write", {"filePath": "f", "content": "x"})
        await sent.wait()
        group.cancel_scope.cancel()
    _, finished = log
    assert isinstance(finished, ToolFinished)
    assert finished.outcome == "cancelled"
    assert str(finished.error).startswith(
        "cancelled while it acted: /workspace/f: the outcome is unknown: the change was sent to the sandbox, and "
        "whether it was made is not known ("
    )


# --- commands ------------------------------------------------------------------------------------------------------


async def run(client: InMemorySandboxClient, **arguments: Any) -> dict[str, Any]:
    result = await create_tool_executor(config(client)).call("Shell", {"command": "x", **arguments})
    return result.value


@pytest.mark.contract("S4", "S2")
async def test_a_command_that_the_sandbox_ended_keeps_its_output_and_promises_no_ended_processes() -> None:
    def late(command: Command, _files: MemoryFiles) -> RunResult:
        raise CommandTimeoutError(f"{command.line} took too long", output="so far\n")

    told = await run(InMemorySandboxClient(responders=[late]), timeout=5_000)
    assert told["success"] is False
    assert told["output"].startswith("Ended at its timeout in /workspace.")
    assert told["output"].endswith("so far\n")
    assert "whether all its processes have ended is not known" in told["error"]


@pytest.mark.contract("S4", "S5")
async def test_a_command_of_which_nothing_was_asked_is_said_not_to_have_run() -> None:
    def away(_command: Command, _files: MemoryFiles) -> RunResult:
        raise WorkerWithdrawnError("the sandbox is being restored", reason="restoring")

    assert (await run(InMemorySandboxClient(responders=[away])))["error"] == (
        "the sandbox is being restored. Nothing was run."
    )
    assert "Look at what it did" not in (await run(InMemorySandboxClient(), workingDirectory="no"))["error"]
    assert "contains a NUL character" in (await run(InMemorySandboxClient(), workingDirectory="a\0"))["error"]


def told_by(tool: FunctionTool) -> str:
    properties: dict[str, Any] = tool.input_schema["properties"]
    return " ".join([tool.description, *(str(each["description"]) for each in properties.values())])
