"""One writer at a time per directory: threads, processes, any spelling; no change is lost."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import textwrap
import threading
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools import limits
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.errors import PlanOutdatedError, ToolCancelledError, ToolFailure
from openbuffer.tools.support.atomic import create_file, replace_file
from openbuffer.tools.support.directory_lock import directory_lock
from openbuffer.tools.support.paths import Roots

if TYPE_CHECKING:
    from pathlib import Path

INCREMENTS = """
import os, sys
from openbuffer.tools.errors import PlanOutdatedError
from openbuffer.tools.support.atomic import replace_file
from openbuffer.tools.support.paths import Roots

def increment(root, path):
    while True:
        with Roots(root).locate(path) as located:
            old = os.pread(located.require_file(), 100, 0)
            try:
                replace_file(located, [b"%d" % (int(old) + 1)], expected=old)
            except PlanOutdatedError:
                continue
            return

print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    increment(sys.argv[1], sys.argv[2])
"""


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    return root


def increments_from_processes(ws: Path, each: int) -> None:
    (ws / "n").write_bytes(b"0")
    (ws / "link").symlink_to("n")
    ws.with_name("alias").symlink_to(ws)
    spellings = [(str(ws), "n"), (str(ws.with_name("alias")), "../ws/link")]
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", INCREMENTS, root, path, str(each)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for root, path in spellings
    ]
    try:
        for worker in workers:
            assert worker.stdout
            worker.stdout.readline()
        for worker in workers:
            assert worker.stdin
            worker.stdin.write(b"go\n")
            worker.stdin.flush()
        assert [worker.wait(50) for worker in workers] == [0, 0]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    assert (ws / "n").read_bytes() == b"%d" % (len(workers) * each)
    assert sorted(os.listdir(ws)) == ["link", "n"]


@pytest.mark.contract("E12")
def test_two_processes_by_two_spellings_lose_no_change(ws: Path) -> None:
    increments_from_processes(ws, 300)


@pytest.mark.slow
@pytest.mark.contract("E12")
def test_two_processes_by_two_spellings_lose_none_of_twenty_thousand_changes(ws: Path) -> None:
    increments_from_processes(ws, 10_000)


@pytest.mark.contract("E12")
def test_threads_lose_no_change(ws: Path) -> None:
    (ws / "n").write_bytes(b"0")

    def work() -> None:
        for _ in range(100):
            while True:
                with Roots(ws).locate("n") as located:
                    old = os.pread(located.require_file(), 100, 0)
                    try:
                        replace_file(located, [b"%d" % (int(old) + 1)], expected=old)
                    except PlanOutdatedError:
                        continue
                    break

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ws / "n").read_bytes() == b"400"


@pytest.mark.contract("E12")
def test_of_those_who_create_one_file_at_a_time_one_wins_and_the_others_are_told(ws: Path) -> None:
    outcomes: list[str] = []
    start = threading.Barrier(4)

    def work(number: int) -> None:
        with Roots(ws).locate("a/b/f") as located:
            start.wait()
            try:
                create_file(located, [b"%d" % number])
            except PlanOutdatedError:
                outcomes.append("outdated")
            else:
                outcomes.append(f"created {number}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    created = [outcome for outcome in outcomes if outcome.startswith("created")]
    assert len(created) == 1
    assert outcomes.count("outdated") == 3
    assert created == [f"created {(ws / 'a/b/f').read_text()}"]
    assert os.listdir(ws / "a" / "b") == ["f"]


@pytest.mark.contract("E12")
def test_a_lock_that_is_not_let_go_ends_as_a_failure_and_works_again_afterwards(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FILE_LOCK_TIMEOUT_S", 0.03)
    (ws / "f").write_bytes(b"old")
    holder = os.open(ws, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with Roots(ws).locate("f") as located, pytest.raises(ToolFailure) as caught:
            replace_file(located, [b"new"], expected=b"old")
    finally:
        os.close(holder)
    assert str(caught.value) == (
        f"another process is changing a file in {ws} and did not finish within 0.03 s; nothing was changed. Try again."
    )
    assert (ws / "f").read_bytes() == b"old"
    with Roots(ws).locate("f") as located:
        replace_file(located, [b"new"], expected=b"old")
    assert (ws / "f").read_bytes() == b"new"


@pytest.mark.contract("E12", "T6")
def test_a_call_that_is_cancelled_while_it_waits_for_the_lock_ends_as_cancelled(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    token = CancellationToken()
    token.cancel()
    holder = os.open(ws, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with Roots(ws).locate("f") as located, pytest.raises(ToolCancelledError) as caught:
            replace_file(located, [b"new"], expected=b"old", token=token)
        assert str(caught.value) == (
            f"{ws}: the call was cancelled while it waited for another change there; nothing was changed."
        )
        with Roots(ws).locate("new") as located, pytest.raises(ToolCancelledError):
            create_file(located, [b"new"], token=token)
    finally:
        os.close(holder)
    assert (ws / "f").read_bytes() == b"old"
    assert os.listdir(ws) == ["f"]


def test_a_lock_is_waited_for(ws: Path) -> None:
    held, done = threading.Event(), threading.Event()
    order: list[str] = []
    fd = os.open(ws, os.O_RDONLY)

    def second() -> None:
        held.wait()
        with directory_lock(fd, str(ws)):
            order.append("second")
        done.set()

    thread = threading.Thread(target=second)
    thread.start()
    with directory_lock(fd, str(ws)):
        held.set()
        assert not done.wait(0.02)
        order.append("first")
    thread.join()
    os.close(fd)
    assert order == ["first", "second"]


def test_the_lock_ends_with_its_block_even_while_a_forked_process_holds_its_descriptor(ws: Path) -> None:
    script = textwrap.dedent("""
        import os, sys
        from openbuffer.tools import limits
        from openbuffer.tools.support.directory_lock import directory_lock
        limits.FILE_LOCK_TIMEOUT_S = 0.5
        fd = os.open(sys.argv[1], os.O_RDONLY)
        wait, go = os.pipe()
        with directory_lock(fd, sys.argv[1]):
            child = os.fork()
            if child == 0:
                os.close(go)
                os.read(wait, 1)
                os._exit(0)
        with directory_lock(fd, sys.argv[1]) as held:
            print(held.missing)
        os.close(go)
        os.waitpid(child, 0)
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, str(ws)], capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout == "None\n"


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EBADF])
def test_where_there_are_no_locks_the_work_goes_on_and_the_result_says_so(
    ws: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def unsupported(_fd: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    (ws / "f").write_bytes(b"old")
    with Roots(ws).locate("f") as located:
        written = replace_file(located, [b"new"], expected=b"old")
    note = (
        f"no lock could be taken in {ws} ({os.strerror(number)}): a change that another process makes at the same "
        "moment could be lost"
    )
    assert written.notes == (note,)
    with Roots(ws).locate("g") as located:
        assert create_file(located, [b"new"]).notes == (note,)


def test_two_directories_do_not_wait_for_each_other(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FILE_LOCK_TIMEOUT_S", 0)
    (ws / "a").mkdir()
    (ws / "b").mkdir()
    a, b = os.open(ws / "a", os.O_RDONLY), os.open(ws / "b", os.O_RDONLY)
    with directory_lock(a, "a") as first, directory_lock(b, "b") as second:
        assert (first.missing, second.missing) == (None, None)
    os.close(a)
    os.close(b)
