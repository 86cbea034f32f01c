"""The client's own calls: run, files as bytes; and what it answers before anything runs."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from openbuffer.sandbox import Command, Invocation, SandboxError, SandboxSettings, SandboxUnavailableError
from openbuffer.sandbox.detect import OsSandboxDetection, detect_os_sandbox
from openbuffer.sandbox.os_client import OsSandboxClient
from openbuffer.sandbox.port import WrapsCommands

if TYPE_CHECKING:
    from collections.abc import Generator

DETECTION = detect_os_sandbox([])
needs_sandbox = pytest.mark.skipif(not DETECTION.available, reason=DETECTION.problem)
UNAVAILABLE = OsSandboxDetection(available=False, lack="missing", problem="bwrap is not installed: install it.")


class Bench:
    def __init__(self, base: Path, detection: OsSandboxDetection = DETECTION) -> None:
        self.ws = base / "ws"
        self.ws.mkdir()
        self.settings = SandboxSettings(enabled=True)
        self.client = OsSandboxClient(
            detection=detection,
            roots=[str(self.ws)],
            settings=lambda: self.settings,
            state_directory=str(base / "state"),
            environment=lambda: {"PATH": "/usr/bin:/bin"},
        )

    def command(self, line: str, timeout_s: float = 20) -> Command:
        return Command(line=line, cwd=str(self.ws), timeout_s=timeout_s)


@pytest.fixture
def bench(tmp_path: Path) -> Generator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.client.close()


@needs_sandbox
@pytest.mark.contract("S4", "S7")
async def test_run_gives_exit_code_and_output_of_a_confined_command(bench: Bench) -> None:
    result = await bench.client.run(bench.command("echo out; echo err >&2; touch /etc/x; exit 3"))
    assert result.exit_code == 3
    assert result.output.startswith("out\nerr\n")
    assert "Read-only" in result.output
    assert isinstance(bench.client, WrapsCommands)
    assert bench.client.filesystem == "shared"


@needs_sandbox
async def test_run_bounds_its_output_and_says_so(bench: Bench) -> None:
    result = await bench.client.run(bench.command("head -c 3000000 /dev/zero | tr '\\0' x"))
    assert result.cut
    assert len(result.output) == 1024 * 1024


@needs_sandbox
@pytest.mark.contract("T6")
async def test_a_cancelled_run_has_ended(bench: Bench) -> None:
    with anyio.move_on_after(0.5) as scope:
        await bench.client.run(bench.command("while :; do date +%s%N > tick; sleep 0.01; done"))
    assert scope.cancelled_caught
    stamp = (bench.ws / "tick").read_text()
    await anyio.sleep(0.2)
    assert (bench.ws / "tick").read_text() == stamp


@needs_sandbox
async def test_a_run_that_takes_too_long_is_an_error(bench: Bench) -> None:
    with pytest.raises(SandboxError, match=r"ended after 0\.3 s"):
        await bench.client.run(bench.command("sleep 30", timeout_s=0.3))


@needs_sandbox
@pytest.mark.contract("S4", "S8")
async def test_files_are_read_and_written_as_a_command_would(bench: Bench, tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    file = bench.ws / "a b\n'c"
    await bench.client.write_bytes(str(file), content)
    assert file.read_bytes() == content
    assert file.stat().st_mode & 0o777 == 0o666 & ~_umask()
    file.chmod(0o750)
    await bench.client.write_bytes(str(file), b"")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"", 0o750)
    file.write_bytes(content)
    assert await bench.client.read_bytes(str(file)) == content
    assert [each.name for each in bench.ws.iterdir()] == [file.name]
    with pytest.raises(SandboxError, match="Read-only"):
        await bench.client.write_bytes(str(tmp_path / "elsewhere" if tmp_path.parts[1] != "tmp" else "/etc/x"), b"x")
    (bench.ws / ".git").mkdir()
    with pytest.raises(SandboxError, match="Read-only"):
        await bench.client.write_bytes(str(bench.ws / ".git" / "config"), b"x")
    with pytest.raises(SandboxError, match="Is a directory"):
        await bench.client.write_bytes(str(bench.ws), b"x")
    with pytest.raises(SandboxError, match="cannot be read"):
        await bench.client.read_bytes(str(bench.ws / "missing"))


@needs_sandbox
@pytest.mark.contract("S10")
async def test_a_hidden_file_is_not_read(bench: Bench) -> None:
    (bench.ws / "key").write_text("tell-tale")
    bench.settings = SandboxSettings(enabled=True, deny_read=(str(bench.ws / "key"),))
    with pytest.raises(SandboxError, match="Permission denied"):
        await bench.client.read_bytes(str(bench.ws / "key"))


@needs_sandbox
@pytest.mark.contract("S7")
async def test_switched_off_it_runs_on_the_host_and_says_that_nothing_confines(bench: Bench) -> None:
    bench.settings = SandboxSettings(enabled=False)
    assert not bench.client.containment(bench.command("true")).confined
    assert (await bench.client.run(bench.command("echo hi; exit 2"))).exit_code == 2
    await bench.client.write_bytes(str(bench.ws / "x"), b"x")
    assert await bench.client.read_bytes(str(bench.ws / "x")) == b"x"


@pytest.mark.contract("S7")
async def test_asked_for_and_unavailable_nothing_runs_and_the_error_names_the_fix(tmp_path: Path) -> None:
    bench = Bench(tmp_path, UNAVAILABLE)
    with pytest.raises(SandboxUnavailableError, match="install it"):
        bench.client.containment(bench.command("touch made"))
    with pytest.raises(SandboxUnavailableError, match="install it"):
        await bench.client.run(bench.command("touch made"))
    invocation = Invocation(argv=("/bin/touch", "made"), cwd=str(bench.ws), environment={})
    with (
        pytest.raises(SandboxUnavailableError, match="install it"),
        bench.client.wrap_command(bench.command("x"), invocation),
    ):
        pytest.fail("it was wrapped")
    assert not (bench.ws / "made").exists()


@needs_sandbox
@pytest.mark.contract("S7")
def test_an_excluded_program_alone_is_not_confined(bench: Bench) -> None:
    bench.settings = SandboxSettings(enabled=True, excluded_commands=("id",))
    alone = bench.client.containment(bench.command("id -u"))
    assert (alone.confined, alone.by) == (False, "")
    assert "/id is one of the excluded commands" in alone.words
    assert bench.client.containment(bench.command("id; id")).confined


@needs_sandbox
@pytest.mark.contract("S7")
def test_approval_is_not_needed_where_the_settings_say_so_and_nothing_can_be_redirected(bench: Bench) -> None:
    asked = bench.client.containment(bench.command("true"))
    assert (asked.auto_allowed, asked.asks_because) == (False, "auto_allow is off")
    bench.settings = SandboxSettings(enabled=True, auto_allow=True)
    assert bench.client.containment(bench.command("true")).auto_allowed
    (bench.ws / ".envrc").symlink_to("elsewhere")
    asked = bench.client.containment(bench.command("true"))
    assert not asked.auto_allowed
    assert ".envrc" in asked.asks_because


@needs_sandbox
def test_settings_that_were_switched_off_meanwhile_do_not_run_it_bare(bench: Bench) -> None:
    invocation = Invocation(argv=("/bin/true",), cwd=str(bench.ws), environment={})
    bench.settings = SandboxSettings(enabled=False)
    with (
        pytest.raises(SandboxUnavailableError, match="switched off"),
        bench.client.wrap_command(bench.command("true"), invocation),
    ):
        pytest.fail("it was wrapped")


@needs_sandbox
@pytest.mark.contract("S7")
def test_a_bwrap_that_commands_could_replace_is_not_started(bench: Bench) -> None:
    program = bench.ws / "bwrap"
    program.write_text("#!/bin/sh\n")
    bench.client._detection = dataclasses.replace(DETECTION, program=str(program))
    with pytest.raises(SandboxUnavailableError, match="lies where commands may write"):
        bench.client.containment(bench.command("true"))


@needs_sandbox
@pytest.mark.contract("S7")
async def test_what_bwrap_cannot_set_up_is_no_result_of_the_command(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openbuffer.sandbox import os_client

    class Missing:
        read_only = (str(bench.ws / "gone"),)

    monkeypatch.setattr(os_client, "protected_paths", lambda *_: Missing())
    with pytest.raises(SandboxUnavailableError, match=r"could not make its sandbox \(bwrap: .*gone"):
        await bench.client.run(bench.command("touch made"))
    assert list(bench.ws.iterdir()) == []


@needs_sandbox
@pytest.mark.contract("S10")
@pytest.mark.parametrize(("root", "reason"), [("/", "smaller directory"), ("/proc", "smaller directory")])
def test_a_workspace_that_leaves_nothing_to_keep_is_refused(tmp_path: Path, root: str, reason: str) -> None:
    client = OsSandboxClient(
        detection=DETECTION,
        roots=[root],
        settings=lambda: SandboxSettings(enabled=True),
        state_directory=str(tmp_path / "state"),
    )
    with pytest.raises(SandboxUnavailableError, match=reason):
        client.containment(Command(line="true", cwd="/", timeout_s=1))


@pytest.mark.contract("S3", "S7")
def test_on_macos_the_invocation_is_rewritten_for_seatbelt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "key").write_text("x")
    detection = OsSandboxDetection(available=True, program="/usr/bin/sandbox-exec", name="Seatbelt", machine="arm64")
    bench = Bench(tmp_path, detection)
    bench.settings = SandboxSettings(enabled=True, deny_read=(str(tmp_path / "key"),))
    containment = bench.client.containment(bench.command("true"))
    assert (containment.confined, containment.by) == (True, "Seatbelt")
    assert "leaves behind" not in containment.words
    invocation = Invocation(
        argv=("/bin/sh", "-c", "true"), cwd=str(bench.ws), environment={"TMPDIR": "/t", "TRACEPARENT": "t", "A": "b"}
    )
    with bench.client.wrap_command(bench.command("true"), invocation) as wrapped:
        argv, environment = wrapped.invocation.argv, wrapped.invocation.environment
        assert argv[:2] == ("/usr/bin/sandbox-exec", "-p")
        assert argv[3:] == ("--", *invocation.argv)
        for each in (bench.ws, tmp_path / "key", tmp_path / "state"):
            assert f'"{each}"' in argv[2]
        assert environment["TMPDIR"].startswith(str(tmp_path / "temporary" / "openbuffer-commands"))
        assert os.path.isdir(environment["TMPDIR"])
        assert "TRACEPARENT" not in environment
        assert environment["A"] == "b"
        assert wrapped.pass_fds == ()
        assert wrapped.invocation.cwd == str(bench.ws)
    bench.client.close()
    assert list((tmp_path / "temporary" / "openbuffer-commands").iterdir()) == []


def _umask() -> int:
    umask = os.umask(0o022)
    os.umask(umask)
    return umask


@needs_sandbox
@pytest.mark.contract("S7")
@pytest.mark.parametrize("where", ["temporary", "hidden"])
def test_a_shell_that_the_sandbox_does_not_see_is_refused_and_is_no_exit_code(
    bench: Bench, tmp_path: Path, where: str
) -> None:
    shell = tmp_path / "bin" / "sh"
    shell.parent.mkdir()
    shell.symlink_to("/bin/sh")
    if where == "hidden":
        shell = Path("/bin/sh").resolve()
        bench.settings = SandboxSettings(enabled=True, deny_read=(str(shell),))
    else:
        shell.unlink()
        shutil.copy("/bin/sh", shell)
    invocation = Invocation(argv=(str(shell), "-c", "true"), cwd=str(bench.ws), environment={})
    with (
        pytest.raises(SandboxUnavailableError, match=r"its shell .* so that the sandbox does not see it"),
        bench.client.wrap_command(bench.command("true"), invocation),
    ):
        raise AssertionError("nothing may start")
