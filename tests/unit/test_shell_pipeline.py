"""Commands through the pipeline: judged as they will run, on the record before, and offered only where asked for."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Literal

import pytest
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import Capability, CommandTarget, EventLogError, PermissionDeniedError
from openbuffer.tools.adapters.artifact_memory import InMemoryArtifactStore
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import ToolFinished, ToolIntended, ToolRejected
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.host import create_bash_tool, create_shell_tool
from openbuffer.tools.permissions import Decision, PermissionRequest
from openbuffer.tools.support.shells import Shell

from .command_desk import Pretence

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from openbuffer.tools.events import Event

SH = Shell(name="sh", program="/bin/sh", system="Linux")


class Gate:
    """Gives one verdict, and keeps what it was asked."""

    def __init__(self, verdict: Literal["allow", "ask", "deny"]) -> None:
        self.verdict: Literal["allow", "ask", "deny"] = verdict
        self.asked: list[PermissionRequest] = []

    def decide(self, request: PermissionRequest) -> Decision:
        self.asked.append(request)
        return Decision(self.verdict, "of a rule")


@pytest.mark.contract("X2", "X4", "T12")
@pytest.mark.parametrize("name", ["Shell", "Bash"])
async def test_gate_and_record_see_the_command_as_it_is_started_before_it_is(tmp_path: Path, name: str) -> None:
    gate, log = Gate("allow"), InMemoryEventLog()
    seen: list[list[Event]] = []

    class Watching(Pretence):
        def wrap_command(self, command: Any, invocation: Any) -> Any:
            seen.append(list(log))
            return super().wrap_command(command, invocation)

    config = ToolConfig(roots=(tmp_path,), shell=SH, sandbox=Watching())
    result = await create_tool_executor(config, policy=gate, log=log).call(name, {"command": "exit 3"})
    target = CommandTarget(
        command="exit 3",
        argv=("/bin/sh", "-c", "--", "exit 3"),
        cwd=str(tmp_path),
        confined_by="pretence 1.0",
        auto_allowed=True,
    )
    assert [(each.stage, each.targets, each.capabilities) for each in gate.asked] == [
        ("targets", (target,), {Capability.SHELL}),
        ("plan", (target,), {Capability.SHELL}),
    ]
    ((intended,),) = seen
    assert isinstance(intended, ToolIntended)
    assert (intended.targets, intended.arguments) == ((target,), {"command": "exit 3"})
    finished = list(log)[-1]
    assert isinstance(finished, ToolFinished)
    assert (finished.outcome, finished.value) == ("succeeded", result.value)


@pytest.mark.contract("X4")
@pytest.mark.parametrize("verdict", ["deny", "ask"])
async def test_a_command_that_is_not_permitted_does_not_run_and_the_refusal_names_it(
    tmp_path: Path, verdict: Literal["deny", "ask"]
) -> None:
    log = InMemoryEventLog()
    executor = create_tool_executor(ToolConfig(roots=(tmp_path,)), policy=Gate(verdict), log=log)
    with pytest.raises(
        PermissionDeniedError, match=r"Shell on touch ran\\nls .* of a rule; nothing was done"
    ) as denied:
        await executor.call("Shell", {"command": "touch ran\nls"})
    assert denied.value.reason == verdict
    with pytest.raises(PermissionDeniedError) as denied:
        await executor.call("Shell", {"command": "touch ran; : " + "x" * 100_000})
    assert len(str(denied.value)) < 600
    assert "(100013 characters)" in str(denied.value)
    assert os.listdir(tmp_path) == []
    assert all(isinstance(event, ToolRejected) for event in log)


@pytest.mark.contract("X4", "S7")
async def test_a_denial_comes_before_the_sandbox_that_cannot_be_had(tmp_path: Path) -> None:
    config = ToolConfig(roots=(tmp_path,), sandbox=Pretence(unavailable="no bwrap"))
    with pytest.raises(PermissionDeniedError, match="not permitted"):
        await create_tool_executor(config, policy=Gate("deny")).call("Shell", {"command": "true"})
    log = InMemoryEventLog()
    result = await create_tool_executor(config, log=log).call("Shell", {"command": "true"})
    assert (result.success, result.value["error"]) == (False, "no bwrap. Nothing was run.")
    finished = list(log)[-1]
    assert isinstance(finished, ToolFinished)
    assert finished.outcome == "failed"


@pytest.mark.contract("X2")
async def test_a_command_does_not_run_when_it_cannot_be_recorded(tmp_path: Path) -> None:
    class Full:
        async def append(self, event: Event) -> None:
            raise OSError(f"no space for {type(event).__name__}")

    executor = create_tool_executor(ToolConfig(roots=(tmp_path,)), log=Full())
    with pytest.raises(EventLogError, match="nothing was done"):
        await executor.call("Shell", {"command": "touch ran"})
    assert os.listdir(tmp_path) == []


@pytest.mark.contract("X7")
async def test_the_log_in_memory_counts_what_the_targets_hold() -> None:
    log = InMemoryEventLog(max_bytes=10_000)
    for _ in range(10):
        target = CommandTarget(command="x" * 1_000, argv=("sh", "-c", "x" * 1_000), cwd="/w")
        await log.append(
            ToolIntended(
                call_id="1",
                attempt=1,
                tool="Shell",
                capabilities=frozenset(),
                arguments={},
                targets=(target,),
                change=None,
            )
        )
    assert (len(log), log.dropped) == (4, 6)


@pytest.mark.contract("X2", "T6")
async def test_a_call_that_could_not_start_over_for_ever_gives_up_and_nothing_ran(tmp_path: Path) -> None:
    class Restless(Pretence):
        def containment(self, command: Any) -> Any:
            import dataclasses

            found = super().containment(command)
            return dataclasses.replace(found, words=f"{len(self.happened)}")

    log = InMemoryEventLog()
    executor = create_tool_executor(ToolConfig(roots=(tmp_path,), sandbox=Restless()), log=log)
    result = await executor.call("Shell", {"command": "touch ran"})
    assert not result.success
    assert "what confines commands has been changed meanwhile" in result.value["error"]
    assert os.listdir(tmp_path) == []


# --- assembling ----------------------------------------------------------------------------------------------------


def offered(**options: Any) -> Mapping[str, str]:
    """The tools of a configuration and their descriptions."""
    return {tool.name: tool.description for tool in build_tools(ToolConfig(roots=("/w",), shell=SH, **options))}


@pytest.mark.contract("X5", "S1")
async def test_the_configuration_decides_whether_there_are_commands_and_what_they_get(tmp_path: Path) -> None:
    assert {"Shell", "Bash"} <= set(offered())
    assert set(offered()) - set(offered(commands=False)) == {"Shell", "Bash"}
    store = InMemoryArtifactStore()
    config = ToolConfig(
        roots=(tmp_path,),
        environment={"OWN": "given", "PATH": os.environ["PATH"]},
        artifacts=store,
        command_output_max_bytes=50,
        shell=SH,
    )
    result = await create_tool_executor(config).call("Bash", {"command": "echo $OWN; seq 1000"})
    assert ":\ngiven\n" in result.value["output"]
    (name,) = re.findall(r"sha256:([0-9a-f]{64})", result.value["output"])
    assert (store.read(name) or b"").startswith(b"given\n1\n2\n")


@pytest.mark.contract("T8", "X5")
def test_descriptions_of_ones_own_are_used_verbatim() -> None:
    told = offered(descriptions={"Shell": " Mine. ", "Bash": "Its."})
    assert (told["Shell"], told["Bash"]) == (" Mine. ", "Its.")


def attached() -> MemoryEditorAccess:
    return MemoryEditorAccess(MemoryEditor())


@pytest.mark.contract("T8", "S1")
def test_the_description_names_system_shell_and_numbers_as_they_are() -> None:
    shell = Shell(name="Windows PowerShell", program=r"C:\powershell.exe", system="Windows", kind="powershell")
    for factory in (create_shell_tool, create_bash_tool):
        told = factory(cwd="/w", shell=shell, max_output_bytes=4_321).description
        assert told.startswith(
            r"Runs a command line with Windows PowerShell on Windows (C:\powershell.exe) and returns"
        )
        assert "4321 bytes" in told
    here = create_shell_tool(cwd="/w")
    assert re.match(r"Runs a command line with (bash|sh) on (Linux|macOS) \(/\S+/(bash|sh)\)", here.description)
    properties = here.input_schema["properties"]
    timeout = properties["timeout"]
    assert (timeout["default"], timeout["minimum"], timeout["maximum"]) == (120_000, 1, 600_000)
    assert here.input_schema["required"] == ["command"]
    assert list(properties) == ["command", "timeout", "workingDirectory"]


@pytest.mark.contract("T8")
def test_only_tools_that_are_there_are_named() -> None:
    names = {"Shell", "Bash", "Read", "Write", "Edit", "Delete", "ListDir", "Glob", "Grep"}

    def named(description: str) -> set[str]:
        return {name for name in names if re.search(rf"\b{name}\b", description)}

    for factory in (create_shell_tool, create_bash_tool):
        for editor in (None, attached):
            assert named(factory(cwd="/w", editor=editor, shell=SH).description) == set()
    assert named(offered()["Shell"]) == {"Bash"}
    assert named(offered()["Bash"]) == {"Shell"}
    assert named(offered(editor=attached)["Shell"]) == {"Bash", "Read", "Write", "Edit"}
    read_only = offered(editor=attached, writes=False)["Bash"]
    assert named(read_only) == {"Shell", "Read"}
    assert "Read works on that text." in read_only
    assert "Read, Write and Edit work on that text." in offered(editor=attached)["Bash"]


@pytest.mark.contract("T8", "P1")
def test_nothing_is_told_but_how_it_works() -> None:
    for options in ({}, {"editor": attached}, {"sandbox": Pretence()}, {"artifacts": InMemoryArtifactStore()}):
        tool = create_shell_tool(cwd="/w", **options)  # type: ignore[arg-type]  one option at a time
        argument_texts = (each["description"] for each in tool.input_schema["properties"].values())
        told = " ".join([tool.description, *argument_texts]).lower()
        for policy in ("always", "never use", "prefer", "must", "should", "before you", "important", "you "):
            assert policy not in told, policy
        assert "does not confine it" in told
        assert ("document" in told) == ("editor" in options)
        assert ("kept apart" in told) == ("artifacts" in options)
        assert ("confined ones are ended" in told) == ("sandbox" in options)
