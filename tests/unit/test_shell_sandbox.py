"""Commands and what confines them: asked before, asked again, told always, and never run bare instead (S3, S4, S7)."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Literal

import anyio
import pytest
from openbuffer.sandbox import Command, Containment, RunResult, SandboxError, SandboxUnavailableError
from openbuffer.tools import CommandTarget, PlanOutdatedError, ToolContext, TraceContext
from openbuffer.tools.host import create_shell_tool

from .command_desk import CONFINED, Pretence, is_gone, pid_in, shell, until, written

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "Confined by pretence 1.0. It may do anything."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    root.mkdir()
    return root


@pytest.mark.contract("S4", "S7")
async def test_the_whole_answer_of_a_confined_command(root: Path) -> None:
    sandbox = Pretence()
    result = await shell(root, "echo $CONFINED; exit 4", sandbox=sandbox)
    assert result.to_json() == {
        "success": True,
        "output": f"Exit code 4 in {root}. {HEADER}\nNote: something was put aside.\nOutput (4 bytes):\nyes\n",
        "exitCode": 4,
    }
    assert sandbox.happened == [
        "containment of echo $CONFINED; exit 4",
        "containment of echo $CONFINED; exit 4",
        "wrapped echo $CONFINED; exit 4",
        "started",
        "empty",
        "left",
    ]


@pytest.mark.contract("S4", "T12")
async def test_the_target_tells_what_would_confine_it_and_the_argument_vector_is_the_shells(root: Path) -> None:
    for contains in (CONFINED, dataclasses.replace(CONFINED, auto_allowed=False)):
        tool = create_shell_tool(cwd=root, sandbox=Pretence(contains))
        plan = await tool.prepare(tool.validate({"command": "true"}), ToolContext())
        (target,) = plan.targets
        assert isinstance(target, CommandTarget)
        assert (target.confined_by, target.auto_allowed) == ("pretence 1.0", contains.auto_allowed)
        assert target.argv[1:] == ("-c", "--", "true")


@pytest.mark.contract("S7")
async def test_a_command_that_the_sandbox_lets_out_runs_without_it_and_is_told_to(root: Path) -> None:
    out = Containment(confined=False, by="", words="git is excluded from it.")
    sandbox = Pretence(out)
    result = await shell(root, "echo ${CONFINED-no}", sandbox=sandbox)
    assert written(result) == "no\n"
    assert result.output.startswith(f"Exit code 0 in {root}. Not confined. git is excluded from it.\n")
    assert not any(each.startswith("wrapped") for each in sandbox.happened)


@pytest.mark.contract("S7")
async def test_what_is_asked_for_and_cannot_be_had_is_refused_and_nothing_runs(root: Path) -> None:
    result = await shell(root, "touch ran", sandbox=Pretence(unavailable="bwrap is missing: install bubblewrap"))
    assert result.to_json() == {
        "success": False,
        "output": "",
        "error": "bwrap is missing: install bubblewrap. Nothing was run.",
    }
    assert os.listdir(root) == []


@pytest.mark.contract("S7", "T12")
@pytest.mark.parametrize("change", ["unavailable", "off", "network"])
async def test_settings_that_change_after_the_plan_never_run_what_was_not_judged(root: Path, change: str) -> None:
    sandbox = Pretence()
    tool = create_shell_tool(cwd=root, sandbox=sandbox)
    plan = await tool.prepare(tool.validate({"command": "touch ran"}), ToolContext())
    if change == "unavailable":
        sandbox.unavailable = "bwrap is gone."
        result = await tool.commit(plan, ToolContext())
        assert result.value["error"] == "bwrap is gone. Nothing was run."
    else:
        words = "It has a network."
        sandbox.contains = (
            Containment(confined=False, by="", words="off")
            if change == "off"
            else dataclasses.replace(CONFINED, words=words)
        )
        with pytest.raises(PlanOutdatedError, match="what confines commands has been changed"):
            await tool.commit(plan, ToolContext())
    assert os.listdir(root) == []


@pytest.mark.contract("S7", "T12")
async def test_a_call_goes_on_with_the_settings_as_they_are_when_it_starts_over(root: Path) -> None:
    class Live(Pretence):
        def containment(self, command: Command) -> Containment:
            found = super().containment(command)
            self.contains = Containment(confined=False, by="", words="It was switched off.")
            return found

    result = await shell(root, "echo ${CONFINED-no}", sandbox=Live())
    assert (written(result), "Not confined. It was switched off." in result.output) == ("no\n", True)


@pytest.mark.contract("S7")
async def test_a_sandbox_that_fails_at_the_start_is_a_refusal(root: Path) -> None:
    class Late(Pretence):
        def wrap_command(self, command: Command, invocation: object) -> object:  # type: ignore[override]  it only raises
            raise SandboxUnavailableError(f"no more namespaces for {command.line}: {invocation is None}")

    result = await shell(root, "touch ran", sandbox=Late())
    assert result.error == "no more namespaces for touch ran: False. Nothing was run."
    assert os.listdir(root) == []


@pytest.mark.contract("S7")
async def test_a_sandbox_that_could_not_be_made_after_all_is_a_refusal_although_it_was_started(root: Path) -> None:
    sandbox = Pretence(fails_at_the_end=SandboxUnavailableError("the command was not run: setting it up failed"))
    result = await shell(root, "exit 1", sandbox=sandbox)
    assert (result.success, result.error) == (False, "the command was not run: setting it up failed.")


@pytest.mark.contract("S7")
async def test_a_sandbox_that_cannot_clean_up_is_told_and_the_output_is_not_lost(root: Path) -> None:
    sandbox = Pretence(fails_at_the_end=SandboxError("a planted .git could not be moved out"))
    result = await shell(root, "echo done", sandbox=sandbox)
    assert (result.success, written(result)) == (True, "done\n")
    assert "\nNote: a planted .git could not be moved out.\n" in result.output


@pytest.mark.contract("S3")
async def test_a_confined_command_gets_no_trace_and_none_of_the_ambient_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPARENT", "ambient")
    monkeypatch.setenv("TRACESTATE", "state")
    context = ToolContext(trace=TraceContext("00-1-2-01"))
    for each in (context, ToolContext()):
        sandbox = Pretence()
        result = await shell(root, "env | grep -c ^TRACE", each, sandbox=sandbox)
        assert written(result) == "0\n"
        assert not {"TRACEPARENT", "TRACESTATE"} & set(sandbox.given[0].environment)
    let_out = Pretence(Containment(confined=False, by="", words="Off."))
    assert written(await shell(root, "echo $TRACEPARENT", context, sandbox=let_out)) == "00-1-2-01\n"


@pytest.mark.contract("S2", "S4")
async def test_a_confined_command_is_ended_at_its_timeout_by_telling_the_inside_too(root: Path) -> None:
    sandbox = Pretence()
    result = await shell(root, "echo $$ > pid; echo a; sleep 300", timeout=1_500, sandbox=sandbox)
    assert (result.success, written(result)) == (False, "a\n")
    assert result.output.startswith(f"Ended at its timeout in {root}. {HEADER}\nNote: something was put aside.\n")
    assert sandbox.happened[-3:] == ["told to end", "empty", "left"]
    assert is_gone(pid_in(root / "pid"))


@pytest.mark.contract("S2", "S4", "T6")
async def test_a_cancelled_call_leaves_the_sandbox_before_it_ends(root: Path) -> None:
    sandbox = Pretence()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: shell(root, "echo $$ > new; mv new pid; sleep 300", sandbox=sandbox))
        await until((root / "pid").exists)
        group.cancel_scope.cancel()
    assert sandbox.happened[-3:] == ["told to end", "empty", "left"]
    assert is_gone(pid_in(root / "pid"))


# --- a sandbox with files of its own -------------------------------------------------------------------------------


class Elsewhere:
    """A client that runs commands itself."""

    def __init__(self, answer: RunResult | Exception | None, filesystem: Literal["shared", "separate"]) -> None:
        self.filesystem: Literal["shared", "separate"] = filesystem
        self.answer = answer
        self.ran: list[Command] = []
        self.cancelled = False

    async def run(self, command: Command) -> RunResult:
        self.ran.append(command)
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                self.cancelled = True
                raise
        assert self.answer is not None
        return self.answer


@pytest.mark.contract("S4")
@pytest.mark.parametrize("filesystem", ["separate", "shared"])
async def test_a_client_that_does_not_wrap_runs_the_command_itself_and_nothing_runs_here(
    filesystem: Literal["shared", "separate"],
) -> None:
    client = Elsewhere(RunResult(exit_code=2, output="there\n", cut=True), filesystem)
    result = await shell("/there/w", "touch ran", sandbox=client, workingDirectory="sub/../src", timeout=5_000)
    assert client.ran == [Command(line="touch ran", cwd="/there/w/src", timeout_s=5.0)]
    assert result.to_json() == {
        "success": True,
        "output": "Exit code 2 in /there/w/src. "
        "The session's sandbox ran it, and does not tell what confines it there.\n"
        "Note: the sandbox gave back less than the command wrote.\nOutput (6 bytes):\nthere\n",
        "exitCode": 2,
    }


@pytest.mark.contract("S4")
async def test_the_output_of_another_place_is_bounded_as_well() -> None:
    client = Elsewhere(RunResult(exit_code=0, output="x" * 10_000 + "end"), "separate")
    result = await shell("/w", "x", sandbox=client, max_output_bytes=100)
    assert len(result.output) < 500
    assert result.output.endswith("xend")


@pytest.mark.contract("S4")
async def test_what_went_wrong_in_another_place_is_a_failure_that_says_to_look_first() -> None:
    client = Elsewhere(SandboxError("the worker is gone"), "separate")
    result = await shell("/w", "x", sandbox=client)
    assert not result.success
    assert result.error is not None
    assert "the worker is gone. Look at what it did before you try again." in result.error


@pytest.mark.contract("S4", "S2")
async def test_a_command_in_another_place_is_ended_at_its_timeout() -> None:
    client = Elsewhere(None, "separate")
    result = await shell("/w", "x", sandbox=client, timeout=50)
    assert client.cancelled
    assert not result.success
    assert result.output.startswith("Ended at its timeout in /w.")


@pytest.mark.contract("S4", "T6")
async def test_a_cancelled_call_ends_the_command_in_another_place() -> None:
    client = Elsewhere(None, "separate")
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: shell("/w", "x", sandbox=client))
        await until(lambda: client.ran)
        group.cancel_scope.cancel()
    assert client.cancelled


@pytest.mark.contract("S4", "E4")
async def test_the_editor_is_not_asked_about_a_command_that_works_on_other_files() -> None:
    def asked() -> None:
        raise AssertionError("the editor's files are the host's")

    client = Elsewhere(RunResult(exit_code=0, output=""), "separate")
    result = await shell("/w", "x", sandbox=client, editor=asked)
    assert "No output." in result.output
    assert "document" not in create_shell_tool(cwd="/w", sandbox=client, editor=asked).description
