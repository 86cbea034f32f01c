"""No command outlives the process that started it, however that dies; what a command left running is looked after."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox import CommandStartError
from openbuffer.sandbox.process import guard as guard_module
from openbuffer.sandbox.process import leftovers as leftovers_module
from openbuffer.sandbox.process.guard import Guard, guard
from openbuffer.sandbox.process.leftovers import leftovers

from .process_desk import alive, eventually, marked, run_line, written

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers_module, "_LOOK_EVERY_S", 0.1)


STUBBORN = "trap '' TERM HUP INT; "
LINES = {
    "a simple one": "sleep 300",
    "one that ignores signals": f"{STUBBORN} sleep 300; sleep 300; sleep 300",
    "one that left the session": f"setsid sh -c '{STUBBORN} sleep 300; sleep 300' & wait",
    "a job in a group of its own, without output": "set -m; sleep 300 > /dev/null 2>&1 & sleep 300",
    "one without output": "exec > /dev/null 2>&1; sleep 300; sleep 300",
    "a pipeline": "sleep 300 | cat | cat",
    "a stopped one": "kill -STOP $$",
    "what goes on in the background": "sleep 300 & setsid sleep 300 & echo begun",
    "many": "for i in 1 2 3 4 5 6 7 8 9; do (sleep 300; sleep 300) & done; wait",
}

STAY = "import time; time.sleep(300)"
OWNER = """
import sys, threading
from process_desk import run_line
from openbuffer.sandbox.process.guard import guard
{before}
def run(): run_line({line!r}, timeout_s=300, environment=dict(PATH="/usr/bin:/bin", MARK="{mark}"))
threads = [threading.Thread(target=run) for _ in range({times})]
print("ready", flush=True)
for thread in threads: thread.start()
while guard.process_id is None: pass
print(guard.process_id, flush=True)
for thread in threads: thread.join()
{after}
"""


class Owner:
    """A process that runs commands, all marked; ``mark`` finds them."""

    def __init__(
        self, line: str, *, times: int = 1, before: str = "", after: str = "import time; time.sleep(300)"
    ) -> None:
        self.mark = f"MARK_{os.urandom(8).hex()}"
        text = OWNER.format(line=line, times=times, before=before, after=after, mark=self.mark)
        self.process = subprocess.Popen(
            [sys.executable, "-c", text],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        )
        assert self.said() == "ready"

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def runs(self, least: int) -> bool:
        return eventually(lambda: len(marked(self.mark)) >= least)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def is_survived(self) -> bool:
        """Whether something of it is still there after a time."""
        return not eventually(lambda: not marked(self.mark))


@contextmanager
def owner(line: str, *, times: int = 1, before: str = "", after: str = STAY) -> Generator[Owner]:
    it = Owner(line, times=times, before=before, after=after)
    try:
        yield it
    finally:
        it.kill()
        assert it.process.stdout is not None
        it.process.stdout.close()
        for pid in marked(it.mark):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.contract("S2")
@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_command_ends_when_its_owner_is_killed(line: str) -> None:
    with owner(line) as it:
        guard_pid = int(it.said())
        assert it.runs(2 if "&" in line or "|" in line else 1)
        it.kill()
        assert not it.is_survived()
        assert eventually(lambda: not alive([guard_pid]))


@pytest.mark.contract("S2")
@pytest.mark.parametrize("after", ["sys.exit(0)", "import os; os._exit(1)", "raise RuntimeError('ends')"])
def test_what_goes_on_in_the_background_ends_with_a_normal_end_of_its_owner(
    after: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with owner(LINES["what goes on in the background"], after=after) as it:
        it.process.wait()
        assert not it.is_survived()
    capfd.readouterr()


@pytest.mark.contract("S2")
@pytest.mark.parametrize("late_s", [0, 0.3])
@pytest.mark.parametrize("line", [*LINES.values()][1:5], ids=[*LINES.keys()][1:5])
def test_there_is_no_moment_after_the_start_in_which_a_command_is_not_known(line: str, late_s: float) -> None:
    before = f"import os, time; guard.register = lambda *_: (time.sleep({late_s}), os.kill(os.getpid(), 9))"
    with owner(line, before=before) as it:
        it.process.wait()
        assert not it.is_survived()


def test_the_guard_spares_whoever_is_not_of_its_owner() -> None:
    """Orphans of others that began meanwhile, and other owners' commands."""
    run_line("true")
    daemon = "import os\nif os.fork() == 0:\n os.setsid()\n os.execvp('sleep', ['sleep', '300'])\n"
    mark = f"MARK_{os.urandom(8).hex()}"
    before = f"""import os, subprocess, sys, time
def register(*_):
    subprocess.run([sys.executable, "-c", {daemon!r}], env={{**os.environ, "MARK": "{mark}"}}, stdin=subprocess.DEVNULL)
    time.sleep(0.2); os.kill(os.getpid(), 9)
guard.register = register"""
    with owner("exec sleep 300 > /dev/null 2>&1", before=before) as it, owner("sleep 300") as other:
        assert other.runs(1)
        it.process.wait()
        spared = marked(mark)
        assert not it.is_survived()
        try:
            assert len(spared) == 1
            assert alive(spared) == spared
            assert other.runs(1)
        finally:
            for pid in spared:
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("shell", ["bash", "busybox sh", "zsh"])
@pytest.mark.parametrize("line", ["one that left the session", "one without output", "many"])
def test_the_guard_works_in_other_shells_that_call_themselves_sh(shell: str, line: str, tmp_path: Path) -> None:
    program, *_ = shell.split()
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not here")
    (tmp_path / "sh").symlink_to(found)
    before = f"from openbuffer.sandbox.process import guard as module; module._SHELL = {str(tmp_path / 'sh')!r}"
    with owner(LINES[line], before=before) as it:
        assert it.runs(2)
        it.kill()
        assert not it.is_survived()


@pytest.mark.contract("S2")
@pytest.mark.parametrize("line", ["a simple one", "what goes on in the background", "many"])
def test_an_owner_can_be_killed_at_any_moment(line: str) -> None:
    for turn in range(4):
        with owner(LINES[line], times=4) as it:
            time.sleep(turn * 0.003)
            it.kill()
            assert not it.is_survived()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150))
def test_an_owner_can_be_killed_at_any_moment_many_times(seed: int) -> None:
    chance = random.Random(seed)
    with owner(chance.choice(list(LINES.values())), times=chance.choice([1, 4, 16])) as it:
        time.sleep(chance.choice([0.0, 0.001, 0.01, 0.1]) * chance.random() * 2)
        it.kill()
        began = time.monotonic()
        assert not it.is_survived()
        assert time.monotonic() - began < 4, "far above the two seconds that are meant, for busy machines"


@pytest.mark.contract("S2")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_guard_that_was_killed_or_stopped_is_replaced_and_told_everything(number: signal.Signals) -> None:
    before = "from openbuffer.sandbox.process import running; running._GUARD_CHECK_S = 0.05"
    with owner(LINES["one that ignores signals"], times=2, before=before) as it:
        first = int(it.said())
        assert it.runs(2)
        os.kill(first, number)
        assert eventually(lambda: len(guards_of(it.process.pid) - {first}) == 1)
        assert not alive([first])
        assert it.process.poll() is None
        assert len(marked(it.mark)) >= 2
        it.kill()
        assert not it.is_survived()


def guards_of(pid: int) -> set[int]:
    found: set[int] = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            words = status.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if parent == pid and b"openbuffer-guard" in words:
            found.add(int(status.parent.name))
    return found


def test_there_is_one_guard_for_many_commands_and_it_ignores_signals() -> None:
    for _ in range(3):
        run_line("true")
    (pid,) = guards_of(os.getpid())
    assert pid == guard.process_id
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        os.kill(pid, number)
    run_line("true")
    assert guards_of(os.getpid()) == {pid}
    assert sorted(os.listdir(f"/proc/{pid}/fd"))[:3] == ["0", "1", "2"]
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert os.getsid(pid) != os.getsid(0)


def test_a_guard_that_cannot_be_started_lets_no_command_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(Guard, "_start", refuse)
    monkeypatch.setattr(guard, "_pid", None)
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(CommandStartError, match=r"so none is run.*end some processes, then try again"):
        run_line(f"touch {tmp_path}/ran")
    assert not (tmp_path / "ran").exists()
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_guard_that_does_not_read_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "_WRITE_PATIENCE_MS", 50)
    it = Guard()
    it.expect(1, 0)
    first = it.process_id
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    try:
        for number in range(2, 12_000):
            it.expect(number, 0)
            it.forget(number)
        assert it.process_id != first
        assert not alive([first])
    finally:
        it._stop()


def test_a_guard_forgets_what_has_ended() -> None:
    it = Guard()
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as sleeper:
        try:
            it.expect(5, 0)
            it.register(5, sleeper.pid)
            it.expect(7, 0)
            it.forget(5)
            pid = it.process_id
            assert pid is not None
            # As it is for the guard when the owner dies.
            os.close(it._write_fd)
            assert os.waitpid(pid, 0)[0] == pid
            assert sleeper.poll() is None
        finally:
            sleeper.kill()


def test_a_forked_child_leaves_the_guard_to_its_parent(tmp_path: Path) -> None:
    before = f"""
import os, time
run_line("true")
if os.fork() == 0:
    open({str(tmp_path / "guard")!r}, "w").write(str(guard.process_id) + "\\n")
    os.write(os.open({str(tmp_path / "child")!r}, os.O_CREAT | os.O_WRONLY), b"%d\\n" % os.getpid())
    time.sleep(300)
"""
    with owner("sleep 300", before=before) as it:
        child = int(written(tmp_path / "child"))
        try:
            assert written(tmp_path / "guard") == "None"
            assert it.runs(1)
            it.kill()
            assert eventually(lambda: marked(it.mark) <= {child})
            assert alive([child])
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.contract("S2")
def test_leftovers_are_let_go_of_when_they_end() -> None:
    run_line("true")
    before = sorted(os.listdir("/proc/self/fd"))
    runs = [run_line("sleep 300 & echo begun") for _ in range(3)]
    runs.append(run_line("setsid sleep 300 & sleep 0.1"))
    pids = {pid for ended in runs for pid in ended.left_running}
    assert len(pids) == 4
    assert "openbuffer-leftovers" in {thread.name for thread in threading.enumerate()}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: "openbuffer-leftovers" not in {thread.name for thread in threading.enumerate()})
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert guard._known == {}


def test_a_flood_from_the_background_is_slowed_and_does_not_keep_this_process_busy() -> None:
    ended = run_line("yes & true")
    try:
        began = time.process_time()
        time.sleep(1)
        assert alive(ended.left_running)
        assert time.process_time() - began < 0.5
    finally:
        for pid in ended.left_running:
            os.kill(pid, signal.SIGKILL)


def test_leftovers_wait_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    assert eventually(lambda: leftovers._thread is None)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse_thread)
        first = run_line("sleep 300 & true")
    second = run_line("sleep 300 & true")
    pids = first.left_running + second.left_running
    assert alive(pids) == set(pids)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: leftovers._thread is None and not leftovers._kept)


def refuse_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
