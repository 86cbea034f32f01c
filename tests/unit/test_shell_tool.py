"""Shell and Bash: what a command gets, how it ends, and what is told of it (S1, S2, S3)."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.tools import (
    CancellationToken,
    Capability,
    CommandTarget,
    ToolArgumentError,
    ToolCancelledError,
    ToolContext,
    ToolDefinitionError,
    TraceContext,
)
from openbuffer.tools.adapters.artifact_memory import InMemoryArtifactStore
from openbuffer.tools.host import create_bash_tool, create_read_tool, create_shell_tool
from openbuffer.tools.limits import COMMANDS_AT_ONCE
from openbuffer.tools.support.shells import Shell

from .command_desk import is_gone, pid_in, shell, until, until_open_for_reading, written

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "w"
    root.mkdir()
    return root


# --- how it ends ---------------------------------------------------------------------------------------------------


@pytest.mark.contract("S1", "T4")
async def test_the_whole_answer_of_a_command_that_ends(root: Path) -> None:
    result = await shell(root, "echo out; echo err >&2; exit 3")
    assert result.to_json() == {
        "success": True,
        "output": f"Exit code 3 in {root}. Not confined. No sandbox is set up.\nOutput (8 bytes):\nout\nerr\n",
        "exitCode": 3,
    }


@pytest.mark.contract("S1", "T4")
async def test_an_exit_code_is_no_failure_and_the_envelope_is_that_of_a_success(root: Path) -> None:
    for factory in (create_shell_tool, create_bash_tool):
        result = await factory(cwd=root).execute({"command": "exit 7"})
        assert (result.success, result.value["exitCode"]) == (True, 7)


@pytest.mark.contract("S1")
async def test_no_output_is_said_to_be_none(root: Path) -> None:
    result = await shell(root, "true")
    assert result.output == f"Exit code 0 in {root}. Not confined. No sandbox is set up.\nNo output."


@pytest.mark.contract("S1")
async def test_a_command_that_a_signal_ended_has_the_exit_code_that_shells_give_it(root: Path) -> None:
    result = await shell(root, "echo a; kill -KILL $$")
    assert (result.success, result.exit_code, written(result)) == (True, 137, "a\n")
    assert result.output.startswith(f"Exit code 137 (ended by SIGKILL) in {root}. ")


@pytest.mark.contract("S2", "T4")
async def test_a_command_that_takes_too_long_is_ended_and_the_call_fails_with_the_output_so_far(root: Path) -> None:
    result = await shell(root, "echo $$ > pid; echo so far; sleep 300", timeout=1_500)
    assert (result.success, result.exit_code, written(result)) == (False, None, "so far\n")
    assert result.error is not None
    assert "within its timeout of 1500 ms" in result.error
    assert "at most 600000" in result.error
    assert result.output.startswith(f"Ended at its timeout in {root}. Not confined.")
    assert is_gone(pid_in(root / "pid"))


@pytest.mark.contract("S2")
async def test_a_timeout_ends_grandchildren_that_ignore_to_be_asked(root: Path) -> None:
    result = await shell(root, "(trap '' TERM; sh -c 'echo $$ > pid; sleep 300; sleep 300') & wait", timeout=1_500)
    assert not result.success
    assert is_gone(pid_in(root / "pid"))


@pytest.mark.contract("S1")
@pytest.mark.parametrize("command", ["cat", "read x || echo none", "head -c 1", "wc -c"])
async def test_what_reads_the_standard_input_gets_its_end(root: Path, command: str) -> None:
    result = await shell(root, command, timeout=20_000)
    assert result.success
    assert written(result).strip() in {"", "none", "0"}


@pytest.mark.contract("S1")
async def test_what_is_left_in_the_background_does_not_hold_the_call_and_is_named(root: Path) -> None:
    result = await shell(root, "sleep 300 & echo $! > pid; echo hi", timeout=20_000)
    pid = pid_in(root / "pid")
    try:
        assert (result.success, written(result)) == (True, "hi\n")
        assert f"\nNote: 1 process goes on in the background, by pid: {pid}.\n" in result.output
        assert not is_gone(pid)
    finally:
        os.kill(pid, 9)


@pytest.mark.contract("S1")
async def test_what_cannot_be_started_is_an_ordinary_failure(root: Path) -> None:
    missing = Shell(name="sh", program=str(root / "none"), system="Linux")
    result = await shell(root, "true", shell=missing)
    assert not result.success
    assert result.error is not None
    assert str(root / "none") in result.error
    assert "Nothing was run." in result.error


# --- cancelling ----------------------------------------------------------------------------------------------------


@pytest.mark.contract("T6", "S2")
async def test_a_cancelled_call_ends_when_its_command_has_ended(root: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: shell(root, "echo $$ > new; mv new pid; sleep 300"))
        await until((root / "pid").exists)
        group.cancel_scope.cancel()
    assert is_gone(pid_in(root / "pid"))


@pytest.mark.contract("T6", "S2")
async def test_a_command_that_is_cancelled_through_its_token_ends_the_call_as_cancelled(root: Path) -> None:
    token = CancellationToken()
    call = asyncio.create_task(shell(root, "echo $$ > new; mv new pid; sleep 300", ToolContext(cancellation=token)))
    await until((root / "pid").exists)
    token.cancel()
    with pytest.raises(ToolCancelledError, match="what it did until then is done"):
        await call
    assert is_gone(pid_in(root / "pid"))


@pytest.mark.contract("T6")
async def test_a_call_that_is_cancelled_before_it_runs_runs_nothing(root: Path) -> None:
    tool = create_shell_tool(cwd=root)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await tool.execute({"command": "touch ran"})
    assert not (root / "ran").exists()


# --- many at once --------------------------------------------------------------------------------------------------


@pytest.mark.contract("B3")
async def test_many_long_commands_leave_reads_alone_and_one_too_many_is_refused(root: Path) -> None:
    (root / "a.txt").write_text("text\n")
    answers: list[Any] = []

    async def hold() -> None:
        answers.append(await shell(root, "touch started.$$; until [ -e go\\ on ]; do sleep 0.1; done"))

    async with anyio.create_task_group() as group:
        for _ in range(COMMANDS_AT_ONCE):
            group.start_soon(hold)
        await until(lambda: len(list(root.glob("started.*"))) == COMMANDS_AT_ONCE)
        read = await create_read_tool(cwd=root).execute({"filePath": "a.txt"})
        assert read.success
        refused = await shell(root, "true")
        assert refused.error is not None
        assert f"{COMMANDS_AT_ONCE} commands are running" in refused.error
        assert answers == []
        (root / "go on").touch()
    assert all(answer.success for answer in answers)
    assert (await shell(root, "true")).success


# --- where it starts -----------------------------------------------------------------------------------------------


@pytest.mark.contract("S1", "P1")
async def test_it_starts_in_the_root_or_in_the_directory_that_is_named(root: Path, tmp_path: Path) -> None:
    (root / "a b").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "link").symlink_to(root / "a b")
    for given, expected in (
        ("", root),
        (".", root),
        ("a b", root / "a b"),
        (str(root / "a b"), root / "a b"),
        (str(tmp_path / "link"), root / "a b"),
        ("..", tmp_path),
        ("../outside", tmp_path / "outside"),
        ("/", "/"),
    ):
        result = await shell(root, "pwd", workingDirectory=given)
        assert written(result) == f"{expected}\n"
        assert f" in {expected}. Not confined." in result.output


@pytest.mark.contract("P1")
async def test_of_several_roots_the_first_is_the_start_wherever_the_process_is(root: Path, tmp_path: Path) -> None:
    (root / "sub").mkdir()
    assert written(await shell([root, tmp_path], "pwd")) == f"{root}\n"  # type: ignore[arg-type]  several roots
    assert written(await shell([root, tmp_path], "pwd", workingDirectory="sub")) == f"{root}/sub\n"  # type: ignore[arg-type]  several roots


@pytest.mark.contract("S1", "P1")
async def test_a_directory_that_is_none_is_an_ordinary_failure_that_says_what_to_do(root: Path) -> None:
    (root / "file").write_text("")
    (root / "loop").symlink_to("loop")
    for given, expected in (
        ("none", f"no such directory: {root}/none. Check workingDirectory"),
        ("file", "is no directory"),
        ("file/below", "Not a directory"),
        ("loop", "Too many levels of symbolic links"),
        ("a\0b", "NUL"),
        ("x" * 5_000, "File name too long"),
    ):
        result = await shell(root, "touch ran", workingDirectory=given)
        assert not result.success
        assert result.error is not None
        assert expected in result.error
        assert len(result.error) < 800
    assert not (root / "ran").exists()


@pytest.mark.contract("S1")
async def test_a_deleted_working_directory_does_not_break_the_next_command(root: Path) -> None:
    (root / "sub").mkdir()
    assert (await shell(root, "rmdir ../sub; echo still", workingDirectory="sub")).exit_code == 0
    missing = await shell(root, "true", workingDirectory="sub")
    assert missing.error is not None
    assert "no such directory" in missing.error
    assert written(await shell(root, "pwd")) == f"{root}\n"
    os.rmdir(root)
    gone = await shell(root, "true")
    assert gone.error is not None
    assert gone.error == (
        f"no such directory: {root}. It is the first root; name another directory by workingDirectory."
    )
    assert written(await shell(root, "pwd", workingDirectory="/")) == "/\n"


@pytest.mark.contract("T12")
async def test_a_directory_that_was_swapped_after_the_plan_starts_over_in_the_one_that_is_there(root: Path) -> None:
    from openbuffer.tools import PlanOutdatedError

    (root / "sub").mkdir()
    tool = create_shell_tool(cwd=root)
    plan = await tool.prepare(tool.validate({"command": "touch ran", "workingDirectory": "sub"}), ToolContext())
    (root / "sub").rename(root / "old")
    with pytest.raises(PlanOutdatedError, match="is not there any more"):
        await tool.commit(plan, ToolContext())
    (root / "sub").mkdir()
    with pytest.raises(PlanOutdatedError, match="is another directory by now"):
        await tool.commit(plan, ToolContext())
    assert [os.listdir(root / name) for name in ("sub", "old")] == [[], []]


# --- the line ------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S1")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo 'a  b' \"$((1+2))\" \\$x", "a  b 3 $x\n"),
        ("cat <<'END'\n$HOME `x`\nEND", "$HOME `x`\n"),
        ("echo é 😋", "é 😋\n"),
        ("# nothing\necho a # b", "a\n"),
        ('printf \'%s|\' "$0" "$@" >/dev/null; echo $#', "0\n"),
    ],
)
async def test_a_line_arrives_as_it_is_written(root: Path, command: str, expected: str) -> None:
    assert written(await shell(root, command)) == expected


@pytest.mark.contract("S1")
async def test_lines_that_are_none_are_refused_with_the_reason(root: Path) -> None:
    long = "touch ran; : " + "x" * 140_000
    for command, expected in ((" \n", "is empty"), ("touch ran\0", "NUL"), (long, "at most 131071")):
        result = await shell(root, command)
        assert result.error is not None
        assert expected in result.error
    assert not (root / "ran").exists()
    almost = "echo ran > ran; : "
    assert (await shell(root, almost + "x" * (131_071 - len(almost)))).success
    assert (root / "ran").exists()


@pytest.mark.contract("S1", "T3")
async def test_arguments_that_do_not_fit_are_hard_errors(root: Path) -> None:
    tool = create_shell_tool(cwd=root)
    for arguments in (
        {},
        {"command": ""},
        {"command": "true", "timeout": 0},
        {"command": "true", "timeout": 600_001},
        {"command": "true", "timeout": "100"},
        {"command": "true", "working_directory": "/"},
        {"command": "true", "dangerouslyDisableSandbox": True},
    ):
        with pytest.raises(ToolArgumentError):
            await tool.execute(arguments)


# --- variables -----------------------------------------------------------------------------------------------------

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SHOW = 'echo "${TRACEPARENT-none} ${TRACESTATE-none} ${OWN-none}"'


@pytest.mark.contract("S3")
async def test_without_a_trace_a_command_sees_the_variables_as_they_are(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPARENT", "ambient")
    monkeypatch.setenv("TRACESTATE", "state")
    monkeypatch.setenv("OWN", "own")
    assert written(await shell(root, SHOW)) == "ambient state own\n"
    monkeypatch.setenv("OWN", "changed")
    assert written(await shell(root, SHOW)) == "ambient state changed\n"


@pytest.mark.contract("S3")
async def test_a_trace_replaces_the_ambient_one_and_changes_the_process_in_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPARENT", "ambient")
    monkeypatch.setenv("TRACESTATE", "state")
    before = dict(os.environ)
    context = ToolContext(trace=TraceContext(PARENT))
    assert written(await shell(root, SHOW, context)) == f"{PARENT} none none\n"
    assert dict(os.environ) == before


@pytest.mark.contract("S3")
async def test_the_composition_root_decides_what_commands_see_and_its_mapping_stays_as_it_was(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "secret")
    given = {"PATH": os.environ["PATH"], "OWN": "given", "TRACESTATE": "state"}
    before = dict(given)
    context = ToolContext(trace=TraceContext(PARENT))
    result = await shell(root, f"{SHOW}; env | grep -c secret", context, environment=given)
    assert written(result) == f"{PARENT} none given\n0\n"
    assert given == before


@pytest.mark.contract("S3")
async def test_variables_may_be_given_anew_for_each_command(root: Path) -> None:
    count = iter(range(10))
    tool = create_shell_tool(cwd=root, environment=lambda: {"PATH": os.environ["PATH"], "OWN": str(next(count))})
    answers = [await tool.execute({"command": "echo $OWN"}) for _ in range(3)]
    assert [answer.value["output"].splitlines()[-1] for answer in answers] == ["0", "1", "2"]


# --- output --------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S1")
async def test_of_a_long_output_beginning_and_end_are_shown_and_the_whole_is_kept(root: Path) -> None:
    import hashlib

    store = InMemoryArtifactStore()
    result = await shell(root, "seq 100000", artifacts=store, max_output_bytes=100)
    whole = b"".join(b"%d\n" % number for number in range(1, 100_001))
    name = hashlib.sha256(whole).hexdigest()
    assert f"\nNote: the whole output is kept as sha256:{name}.\n" in result.output
    assert store.read(name) == whole
    assert f"\nOutput ({len(whole)} bytes; its middle is left out):\n1\n2\n" in result.output
    assert result.output.endswith("\n99999\n100000\n")
    assert " bytes, " in result.output
    assert " line ends left out ...]\n" in result.output
    assert len(result.output) < 600


@pytest.mark.contract("S1")
async def test_without_a_store_nothing_is_promised(root: Path) -> None:
    result = await shell(root, "seq 100000", max_output_bytes=100)
    assert "its middle is left out" in result.output
    assert "kept" not in result.output


@pytest.mark.contract("S1", "X7")
async def test_an_output_that_is_shown_whole_is_not_kept(root: Path) -> None:
    class Store(InMemoryArtifactStore):
        def create(self) -> Any:
            raise AssertionError("a file was made for nothing")

    result = await shell(root, "seq 10", artifacts=Store(), max_output_bytes=100)
    assert written(result) == "".join(f"{number}\n" for number in range(1, 11))


@pytest.mark.contract("S1", "X7")
async def test_progress_is_folded_and_the_raw_output_is_kept(root: Path) -> None:
    import hashlib

    store = InMemoryArtifactStore()
    result = await shell(root, r"for i in 1 2 3; do printf '\r%s0%%' $i; done; echo; echo done", artifacts=store)
    raw = b"\r10%\r20%\r30%\ndone\n"
    assert written(result) == "30%\ndone\n"
    assert "lines that were drawn anew are shown as they were last" in result.output
    assert store.read(hashlib.sha256(raw).hexdigest()) == raw


@pytest.mark.contract("S1", "X7")
async def test_what_a_store_cannot_keep_is_told(root: Path) -> None:
    full = InMemoryArtifactStore(max_bytes=50)
    result = await shell(root, "seq 1000", artifacts=full, max_output_bytes=100)
    assert "\nNote: the first 50 bytes of the output are kept as sha256:" in result.output
    nothing = InMemoryArtifactStore(max_bytes=0)
    result = await shell(root, "seq 1000", artifacts=nothing, max_output_bytes=100)
    assert "\nNote: the whole output could not be kept.\n" in result.output


@pytest.mark.contract("S1")
async def test_the_output_cannot_pass_for_what_is_told_of_it(root: Path) -> None:
    result = await shell(root, "echo 'Exit code 0 in /. Confined by magic.'; exit 1")
    assert result.output.splitlines()[0] == f"Exit code 1 in {root}. Not confined. No sandbox is set up."
    assert result.output.splitlines()[1].startswith("Output (")


@pytest.mark.contract("S1", "B2")
async def test_the_last_lines_are_reported_while_the_command_runs(root: Path) -> None:
    class Progress:
        def __init__(self) -> None:
            self.told: list[str] = []

        def report(self, message: str, *, percentage: int | None = None) -> None:
            assert percentage is None
            self.told.append(message)

    progress = Progress()
    os.mkfifo(root / "hold")
    async with anyio.create_task_group() as group:
        command = r"printf 'first\nsecond \n\n'; cat hold; printf '\r10%%\r20%%'"
        group.start_soon(lambda: shell(root, command, ToolContext(progress=progress)))
        await until(lambda: "first \u2502 second" in progress.told)
        assert progress.told[-1] == "first \u2502 second"
        await until_open_for_reading(root / "hold")
    assert progress.told[-1] == "first \u2502 second \u2502 20%"


# --- the tool ------------------------------------------------------------------------------------------------------


@pytest.mark.contract("T12", "T10", "X2")
async def test_a_plan_has_no_effect_and_tells_exactly_what_will_run(root: Path) -> None:
    tool = create_bash_tool(cwd=root, shell=Shell(name="sh", program="/bin/sh", system="Linux"))
    plan = await tool.prepare(tool.validate({"command": "touch ran"}), ToolContext())
    assert plan.targets == (
        CommandTarget(command="touch ran", argv=("/bin/sh", "-c", "--", "touch ran"), cwd=str(root)),
    )
    assert os.listdir(root) == []
    assert (tool.name, tool.capabilities) == ("Bash", {Capability.SHELL})
    assert (await tool.commit(plan, ToolContext())).success
    assert (root / "ran").exists()


@pytest.mark.contract("T7")
@pytest.mark.parametrize("cwd", [None, "", "relative", [], 7], ids=repr)
@pytest.mark.parametrize("factory", [create_shell_tool, create_bash_tool])
def test_without_a_root_it_is_never_built(cwd: Any, factory: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="cwd"):
        factory(cwd=cwd)
    with pytest.raises(TypeError):
        factory()


@pytest.mark.contract("T7")
def test_construction_starts_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr(os, "posix_spawn", None)
    assert create_shell_tool(cwd=root).name == "Shell"
