"""What a command needs to be started, what is said when it is not to be had, and hosts that make it hard."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from openbuffer.sandbox import CommandStartError, Invocation
from openbuffer.sandbox.process import spawning
from openbuffer.sandbox.process.runner import CaptureLimits, run_invocation

from .process_desk import run_line

LIMITS = CaptureLimits(head_bytes=1_000, tail_bytes=1_000)


class TestWhatCannotBeStarted:
    def test_a_deleted_directory_names_itself_and_the_next_step(self, tmp_path: Path) -> None:
        gone = tmp_path / "gone"
        with pytest.raises(CommandStartError, match=f"working directory {gone} does not exist; create it, or name"):
            run_line("true", cwd=str(gone))
        assert run_line("echo on", cwd=str(tmp_path)).output.head == "on\n"

    def test_a_file_is_no_directory(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(CommandStartError, match="is not a directory; name one"):
            run_line("true", cwd=str(tmp_path / "file"))

    def test_a_program_that_is_missing_or_cannot_run_is_named(self, tmp_path: Path) -> None:
        script = tmp_path / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o644)

        def start(program: str) -> None:
            run_invocation(
                Invocation(argv=(program,), cwd="/", environment={}),
                timeout_s=5,
                is_cancelled=lambda: False,
                limits=LIMITS,
            )

        with pytest.raises(CommandStartError, match="no program /no/such; install it"):
            start("/no/such")
        with pytest.raises(CommandStartError, match=r"script cannot be run \(Permission denied\); check"):
            start(str(script))
        script.chmod(0o755)
        with pytest.raises(CommandStartError, match=r"interpreter in the first line of .*script does not exist"):
            start(str(script))

    @pytest.mark.parametrize("line", ["x" * 3_000_000, ": " + "y " * 2_000_000])
    def test_a_line_that_is_too_long_is_to_be_written_to_a_file(self, line: str) -> None:
        with pytest.raises(CommandStartError, match=r"too long for the system.*write its text into a file"):
            run_line(line)

    @pytest.mark.parametrize("line", ["echo \0", "echo \ud800"])
    def test_characters_that_cannot_be_passed_are_refused(self, line: str) -> None:
        with pytest.raises(CommandStartError, match="character that no argument"):
            run_line(line)

    @pytest.mark.parametrize("limit", ["fork", "files"])
    def test_a_system_that_has_no_room_is_told_and_nothing_leaks(
        self, limit: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run_line("true")

        def refuse(*_: object, **__: object) -> None:
            raise BlockingIOError(11, "Resource temporarily unavailable")

        before = sorted(os.listdir("/proc/self/fd"))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with monkeypatch.context() as patched:
            if limit == "fork":
                patched.setattr(spawning.subprocess, "Popen", refuse)
            else:
                resource.setrlimit(resource.RLIMIT_NOFILE, (len(before) - 1, hard))
            try:
                with pytest.raises(CommandStartError, match="try again"):
                    run_line("true")
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert sorted(os.listdir("/proc/self/fd")) == before
        assert run_line("echo on").output.head == "on\n"


def in_a_process(text: str) -> str:
    """Run text in an interpreter of its own, with this folder's helpers; gives what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        check=False,
        text=True,
        timeout=50,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.contract("S1")
def test_an_owner_whose_directory_is_deleted_still_runs_commands(tmp_path: Path) -> None:
    text = f"""
import os, sys
from process_desk import run_line
os.mkdir({str(tmp_path / "gone")!r}); os.chdir({str(tmp_path / "gone")!r}); os.rmdir({str(tmp_path / "gone")!r})
print(run_line("pwd").output.head, end="")
"""
    assert in_a_process(text) == "/\n"


def test_an_owner_without_standard_streams_still_runs_commands(tmp_path: Path) -> None:
    text = f"""
import os
from process_desk import run_line
for fd in 0, 1, 2: os.close(fd)
ended = run_line("cat; echo out; echo err >&2; ls -l /proc/self/fd/0")
open({str(tmp_path / "told")!r}, "w").write(ended.output.head)
"""
    in_a_process(text)
    told = (tmp_path / "told").read_text()
    assert told.startswith("out\nerr\n")
    assert "/dev/null" in told


@pytest.mark.parametrize("spoiler", ["signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "steal()"])
def test_an_end_that_somebody_else_collected_is_never_told_as_a_success(spoiler: str) -> None:
    text = f"""
import os, signal, threading, time
from openbuffer.sandbox import SandboxError
from process_desk import run_line
def steal():
    def run():
        while True:
            try: os.waitpid(-1, 0)
            except ChildProcessError: time.sleep(0.0001)
    threading.Thread(target=run, daemon=True).start()
{spoiler}
for _ in range(5):
    try:
        ended = run_line("exit 3")
        assert ended.exit_code == 3, ended
        print("known")
    except SandboxError as error:
        assert "not how is known" in str(error), error
        print("said")
"""
    assert set(in_a_process(text).split()) <= {"known", "said"}


def test_orphans_of_a_command_are_collected_where_this_process_is_their_reaper() -> None:
    text = """
import ctypes, os
from openbuffer.sandbox.process import running
from process_desk import run_line, eventually
from pathlib import Path
running._GRACE_S = 0.2
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0
ended = run_line("trap '' TERM; (sleep 300; true) & (sleep 300; true) & wait", timeout_s=0.3)
assert ended.how == "timed_out" and ended.left_running == (), ended
run_line("(sleep 0.3) & true")
def zombies():
    return [1 for stat in Path("/proc").glob("[0-9]*/stat")
            if stat.read_text().rpartition(")")[2].split()[:2] == ["Z", str(os.getpid())]]
assert eventually(lambda: not zombies())
print("clean")
"""
    assert in_a_process(text) == "clean\n"


def test_a_directory_that_may_not_be_entered_is_named(tmp_path: Path) -> None:
    if os.getuid() != 0 and not hasattr(os, "chflags"):
        closed = tmp_path / "closed"
        closed.mkdir(mode=0)
        with pytest.raises(CommandStartError, match="may not be entered"):
            run_line("true", cwd=str(closed))
        return
    text = f"""
import os
from openbuffer.sandbox import CommandStartError
from process_desk import run_line
os.mkdir("/tmp/closed-{os.getpid()}", 0)
os.setgid(65534); os.setuid(65534)
try: run_line("true", cwd="/tmp/closed-{os.getpid()}")
except CommandStartError as error: print(error)
"""
    try:
        assert "may not be entered (permission denied); name another one" in in_a_process(text)
    finally:
        os.rmdir(f"/tmp/closed-{os.getpid()}")
