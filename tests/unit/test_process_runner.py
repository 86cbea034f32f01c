"""One command from its start to its end: its output, its time, and what it leaves."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox import Invocation
from openbuffer.sandbox.process import leftovers as leftovers_module
from openbuffer.sandbox.process import running
from openbuffer.sandbox.process.runner import CaptureLimits, run_invocation

from .process_desk import alive, eventually, marked, run_line, written

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITS = CaptureLimits(head_bytes=1_000, tail_bytes=1_000)


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test leaves a process in the background, nor a child of ours that is dead and not collected."""
    monkeypatch.setattr(leftovers_module, "_LOOK_EVERY_S", 0.05)
    yield
    assert eventually(lambda: leftovers_module.leftovers._thread is None and not zombies())


def zombies() -> list[int]:
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] == "Z" and int(fields[1]) == os.getpid():
            found.append(int(stat.parent.name))
    return found


@pytest.fixture(params=["pidfd", "polling"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With a descriptor for the process, and without, as on systems that have none."""
    if request.param == "polling":
        monkeypatch.setattr(running, "open_process", lambda _: None)
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    return request.param


@pytest.mark.contract("S1")
@pytest.mark.usefixtures("either_way")
def test_a_command_runs_where_and_with_what_it_is_told_and_both_outputs_are_one(tmp_path: Path) -> None:
    raw: list[bytes] = []
    ended = run_line(
        "pwd; echo $WORD >&2; env | wc -l; exit 3", cwd=str(tmp_path), environment={"WORD": "given"}, sink=raw.append
    )
    lines = ended.output.head.split()
    assert (ended.how, ended.exit_code, ended.signal, ended.left_running) == ("exited", 3, None, ())
    assert lines[:2] == [str(tmp_path), "given"]
    assert int(lines[2]) <= 4  # a shell adds PWD, SHLVL and _ at most
    assert b"".join(raw).decode() == ended.output.head


@pytest.mark.contract("S1")
@pytest.mark.parametrize("line", ["cat", "read x || true", "sh -c 'cat; cat'", "head -c 1"])
def test_who_reads_gets_the_end_of_input(line: str) -> None:
    ended = run_line(f"{line}; echo on")
    assert (ended.how, ended.output.head) == ("exited", "on\n")


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_an_end_by_a_signal_is_told_as_shells_tell_it(number: signal.Signals) -> None:
    ended = run_line(f"kill -{number.value} $$")
    assert (ended.how, ended.exit_code, ended.signal) == ("exited", 128 + number, number)


@pytest.mark.contract("S1")
def test_a_flood_is_kept_at_its_ends_in_bounded_memory() -> None:
    seen = 0

    def count(data: bytes) -> None:
        nonlocal seen
        seen += len(data)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended = run_line("echo first; yes", timeout_s=1.5, keep=500, sink=count)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16_000  # KiB
    output = ended.output
    assert ended.how == "timed_out"
    assert output.head.startswith("first\ny\ny\n")
    assert set(output.tail) == {"y", "\n"}
    assert output.total_bytes == seen > 1_000_000
    assert output.omitted_bytes == seen - len(output.head) - len(output.tail)
    assert output.omitted_lines == output.omitted_bytes // 2


@pytest.mark.contract("S1")
@pytest.mark.usefixtures("either_way")
def test_all_output_comes_also_what_is_written_right_before_the_end() -> None:
    ended = run_line("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i; done; printf 'é%.0s' 1 2 3")
    assert ended.output.head == "".join(f"{number}\n" for number in range(1, 3001)) + "ééé"


def test_characters_that_are_written_in_pieces_stay_whole_and_progress_is_folded() -> None:
    ended = run_line(
        "printf '\\360\\237'; sleep 0.05; printf '\\230\\213\\n';"
        "for i in 1 2 3; do printf '%s0%%\\r' $i; sleep 0.02; done"
    )
    assert ended.output.head == "😋\n30%"
    assert ended.output.folded


def test_output_that_a_process_substitution_writes_late_is_not_lost() -> None:
    if not os.path.exists("/bin/bash"):
        pytest.skip("needs bash")
    invocation = Invocation(
        argv=("/bin/bash", "-c", "exec > >(sleep 0.02; cat); echo late"), cwd="/", environment={"PATH": "/usr/bin:/bin"}
    )
    ended = run_invocation(invocation, timeout_s=20, is_cancelled=lambda: False, limits=LIMITS)
    assert ended.output.head == "late\n"


@pytest.mark.contract("S2")
@pytest.mark.usefixtures("either_way")
def test_a_background_child_does_not_hold_the_call_and_lives_on_when_it_writes(tmp_path: Path) -> None:
    line = f"(trap '' TERM; while echo noise; do sleep 0.05; echo x >> {tmp_path}/lives; done) & echo hi"
    began = time.monotonic()
    ended = run_line(line)
    assert time.monotonic() - began < 10
    assert (ended.how, ended.exit_code) == ("exited", 0)
    assert "hi\n" in ended.output.head
    assert len(ended.left_running) >= 1
    lives = tmp_path / "lives"
    try:
        assert eventually(lambda: lives.exists() and lives.read_text().count("x") > 5)
        assert alive(ended.left_running)
    finally:
        os.killpg(os.getpgid(min(ended.left_running)), signal.SIGKILL)
    assert eventually(lambda: not alive(ended.left_running))


@pytest.mark.contract("S2")
@pytest.mark.parametrize(
    "line",
    [
        "sleep 301 & echo $!",
        "sleep 301 > /dev/null 2>&1 & echo $!",
        "setsid sleep 301 & sleep 0.2; pidof -s sleep; true",
    ],
)
def test_what_goes_on_in_the_background_is_told(line: str) -> None:
    ended = run_line(line)
    try:
        assert ended.how == "exited"
        assert len(ended.left_running) == 1
        assert b"sleep" in Path(f"/proc/{ended.left_running[0]}/cmdline").read_bytes()
    finally:
        for pid in ended.left_running:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.contract("S2")
@pytest.mark.parametrize(
    "line",
    [
        "sleep 300",
        "trap '' TERM; sleep 300 & sleep 300; sleep 300",
        "setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' & wait",
        "setsid sh -c 'exec > /dev/null 2>&1; trap \"\" TERM; sleep 300; sleep 300' & wait",
        "set -m; (trap '' TERM; sleep 300; sleep 300) > /dev/null 2>&1 & wait; wait",
        "kill -STOP $$",
        "sh -c 'kill -STOP $$' & wait",
        "exec > /dev/null 2>&1; sleep 300",
        "exec >&- 2>&-; sleep 300",
    ],
)
def test_a_time_out_takes_all_of_it(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_GRACE_S", 0.15)
    mark = f"MARK_{os.urandom(8).hex()}"
    ended = run_line(line, timeout_s=0.2, environment={"PATH": os.environ["PATH"], "MARK": mark})
    assert ended.how == "timed_out"
    assert ended.exit_code in {137, 143}
    assert ended.left_running == ()
    assert marked(mark) == set()


@pytest.mark.contract("S2")
def test_a_time_out_takes_all_of_it_also_without_a_descriptor_for_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "open_process", lambda _: None)
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    test_a_time_out_takes_all_of_it("setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' & wait", monkeypatch)


@pytest.mark.contract("S2")
def test_a_command_that_is_asked_to_end_has_time_to_clean_up_and_its_last_words_are_kept(tmp_path: Path) -> None:
    ended = run_line(
        f"trap 'sleep 0.2; echo cleaned; touch {tmp_path}/cleaned; exit 7' TERM; echo begun; sleep 300 & wait",
        timeout_s=0.5,
    )
    assert (ended.how, ended.exit_code) == ("timed_out", 7)
    assert ended.output.head.startswith("begun\n")
    assert ended.output.head.endswith("cleaned\n")
    assert (tmp_path / "cleaned").exists()


@pytest.mark.contract("S2", "T6")
@pytest.mark.usefixtures("either_way")
def test_cancelling_returns_when_the_command_is_gone(tmp_path: Path) -> None:
    cancelled = threading.Event()
    mark = f"MARK_{os.urandom(8).hex()}"
    environment = {"PATH": os.environ["PATH"], "MARK": mark}
    line = f"trap 'sleep 0.3; exit 1' TERM; echo > {tmp_path}/begun; while :; do sleep 0.05; done"
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(run_line, line, environment=environment, is_cancelled=cancelled.is_set)
        assert eventually((tmp_path / "begun").exists)
        cancelled.set()
        ended = call.result()
    assert (ended.how, ended.exit_code) == ("cancelled", 1)
    assert marked(mark) == set()


@pytest.mark.contract("S2", "T6")
def test_one_that_ignores_a_cancellation_is_killed_sooner_than_at_a_time_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One final answer is promised within two seconds of a cancellation; a time-out promises nothing of the kind.
    assert running._CANCELLED_GRACE_S <= 1.0
    monkeypatch.setattr(running, "_GRACE_S", 600.0)
    cancelled = threading.Event()
    line = f"trap '' TERM; echo > {tmp_path}/begun; while :; do sleep 0.05; done"
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(run_line, line, is_cancelled=cancelled.is_set)
        assert eventually((tmp_path / "begun").exists)
        cancelled.set()
        ended = call.result(timeout=60)
    assert (ended.how, ended.signal, ended.left_running) == ("cancelled", signal.SIGKILL, ())


@pytest.mark.contract("T6")
def test_a_call_that_is_cancelled_already_starts_nothing(tmp_path: Path) -> None:
    ended = run_line(f"touch {tmp_path}/ran", is_cancelled=lambda: True)
    assert (ended.how, ended.exit_code) == ("cancelled", None)
    assert not (tmp_path / "ran").exists()


def test_a_sink_that_fails_ends_the_command_before_its_error_goes_on() -> None:
    mark = f"MARK_{os.urandom(8).hex()}"

    def fail(data: bytes) -> None:
        raise RuntimeError(data.decode())

    with pytest.raises(RuntimeError, match="out"):
        run_line("echo out; sleep 300", environment={"PATH": os.environ["PATH"], "MARK": mark}, sink=fail)
    assert marked(mark) == set()


@pytest.mark.usefixtures("either_way")
def test_a_command_that_closes_its_outputs_and_runs_on_is_waited_for(tmp_path: Path) -> None:
    ended = run_line(f"echo bye; exec >&- 2>&-; sleep 0.3; echo > {tmp_path}/done; exit 5")
    assert (ended.how, ended.exit_code, ended.output.head) == ("exited", 5, "bye\n")
    assert (tmp_path / "done").exists()


def test_a_leader_that_is_stopped_and_goes_on_is_waited_for(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(run_line, f"echo $$ > {tmp_path}/pid; kill -STOP $$; echo on")
        pid = int(written(tmp_path / "pid"))
        assert eventually(lambda: ") T " in Path(f"/proc/{pid}/stat").read_text())
        os.kill(pid, signal.SIGCONT)
        assert call.result().output.head == "on\n"


def test_a_leader_that_somebody_traces_still_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The tracer never waits, so that the dead leader cannot be collected before the tracer ends.
    monkeypatch.setattr(running, "_GRACE_S", 0.2)
    monkeypatch.setattr(running, "_KILL_PATIENCE_S", 0.5)
    tracer_text = (
        "import ctypes, sys, time; print(ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0), flush=True);"
        "time.sleep(300)"
    )
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(run_line, f"echo $$ > {tmp_path}/pid; exec sleep 300", timeout_s=1.2)
        pid = int(written(tmp_path / "pid"))
        with subprocess.Popen([sys.executable, "-c", tracer_text, str(pid)], stdout=subprocess.PIPE) as tracer:
            assert tracer.stdout is not None
            if tracer.stdout.readline().strip() != b"0":
                tracer.kill()
                call.result()
                pytest.skip("tracing is not allowed here")
            ended = call.result()
            tracer.kill()
    assert ended.how == "timed_out"
    assert alive([pid]) == set()


def test_a_thread_that_blocks_signals_does_not_hand_that_down() -> None:
    def run() -> str:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
        try:
            return run_line("grep SigBlk /proc/self/status").output.head
        finally:
            assert signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT}) >= {signal.SIGTERM}

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result().split() == ["SigBlk:", "0" * 16]


def test_only_the_standard_descriptors_and_those_that_are_passed_are_inherited(tmp_path: Path) -> None:
    class Passing:
        def __init__(self, fd: int) -> None:
            self.pass_fds = (fd,)
            self.events: list[object] = []

        def started(self, process_id: int) -> None:
            self.events.append(process_id)

        def terminate(self) -> bool:
            self.events.append("terminate")
            return True

        def wait_until_empty(self) -> None:
            self.events.append("wait")

    # The listing's own descriptor is closed again when the names are looked up.
    tell = 'import os\nfor fd in os.listdir("/proc/self/fd"):\n try: print(fd, os.readlink(f"/proc/self/fd/{fd}"))\n'
    tell += " except OSError: pass"
    (tmp_path / "passed").write_text("")
    leaked, passed = os.open("/", os.O_RDONLY), os.open(tmp_path / "passed", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    try:
        passing = Passing(passed)
        ended = run_line(f"echo $$; exec {sys.executable} -I -c '{tell}'", wrapped=passing)
    finally:
        os.close(leaked)
        os.close(passed)
    pid, *lines = ended.output.head.splitlines()
    descriptors = dict(line.split() for line in lines)
    assert descriptors.keys() == {"0", "1", "2", str(passed)}
    assert descriptors["0"] == "/dev/null"
    assert descriptors["1"] == descriptors["2"]
    assert descriptors[str(passed)] == str(tmp_path / "passed")
    assert passing.events == [int(pid), "wait"]


def test_what_wraps_the_command_ends_it_before_the_group_is_signalled() -> None:
    class Wrapping:
        pass_fds = ()
        pid = 0
        empty = False

        def started(self, process_id: int) -> None:
            self.pid = process_id

        def terminate(self) -> bool:
            os.kill(self.pid, signal.SIGUSR1)
            return True

        def wait_until_empty(self) -> None:
            self.empty = alive([self.pid]) == set()

    wrapping = Wrapping()
    ended = run_line("trap 'exit 9' USR1; while :; do sleep 0.05; done", timeout_s=0.4, wrapped=wrapping)
    assert (ended.how, ended.exit_code, wrapping.empty) == ("timed_out", 9, True)


@pytest.mark.contract("S2")
@pytest.mark.parametrize(("was_asked", "number"), [(True, signal.SIGKILL), (False, signal.SIGTERM)])
def test_a_signal_to_what_stands_around_a_command_that_was_asked_does_not_cut_its_time_short(
    was_asked: bool, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrapping:
        pass_fds = ()

        def started(self, process_id: int) -> None: ...

        def terminate(self) -> bool:
            return was_asked

        def wait_until_empty(self) -> None: ...

    monkeypatch.setattr(running, "_GRACE_S", 0.2)
    ended = run_line("exec sleep 300", timeout_s=0.2, wrapped=Wrapping())
    assert (ended.how, ended.signal) == ("timed_out", number)


def test_what_wraps_the_command_may_fail_at_the_start_and_nothing_runs_on() -> None:
    class Failing:
        pass_fds = ()

        def started(self, process_id: int) -> None:
            raise RuntimeError(f"refused {process_id}")

    mark = f"MARK_{os.urandom(8).hex()}"
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(RuntimeError, match="refused"):
        run_line("sleep 300", environment={"PATH": os.environ["PATH"], "MARK": mark}, wrapped=Failing())
    assert marked(mark) == set()
    assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.mark.contract("S1")
def test_nothing_is_leaked_over_many_runs() -> None:
    run_line("true")
    before = sorted(os.listdir("/proc/self/fd"))
    for turn in range(500):
        run_line("true" if turn % 2 else "echo x; exit 3")
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert zombies() == []


def test_many_threads_run_commands_at_once() -> None:
    def one(number: int) -> tuple[str, int | None]:
        ended = run_line(f"echo {number}; sleep 0.2; exit {number}")
        return ended.output.head, ended.exit_code

    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(one, range(64))) == [(f"{number}\n", number) for number in range(64)]
