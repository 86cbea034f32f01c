"""Commands really confined: by each bwrap that is here, as root and as an unprivileged user."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confined_desk import NOBODY, SYSTEM_PATH, Desk, WorkerProcess, bubblewraps, lacks, places_for_workspaces
from openbuffer.sandbox import SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

USERS = [os.getuid()] if os.getuid() else [0, NOBODY]
KINDS = [(path, user) for path in bubblewraps() for user in USERS]
SHORT = {(SYSTEM_PATH, USERS[-1]), ("", USERS[0])}
"""Each bwrap and each user is in one of these; the other pairs are of the long mode."""

KIND_PARAMS = [
    pytest.param(
        kind, id=f"{'system' if kind[0] else 'package'}-{kind[1]}", marks=[pytest.mark.slow] * (kind not in SHORT)
    )
    for kind in KINDS
]
OUTSIDE, TEMPORARY = places_for_workspaces()[0], places_for_workspaces()[-1]


@pytest.fixture(scope="module")
def workers() -> Generator[dict[tuple[str, int], WorkerProcess]]:
    started: dict[tuple[str, int], WorkerProcess] = {}
    yield started
    for each in started.values():
        each.close()


def made(workers: dict[tuple[str, int], WorkerProcess], kind: tuple[str, int], place: str) -> Desk:
    if reason := lacks(*kind):
        pytest.skip(reason)
    worker = workers.setdefault(kind, workers.get(kind) or WorkerProcess(*kind))
    if not worker.detection["available"]:
        pytest.skip(worker.detection["problem"])
    return Desk(worker, place)


@pytest.fixture(params=KIND_PARAMS)
def desk(workers: dict[tuple[str, int], WorkerProcess], request: pytest.FixtureRequest) -> Generator[Desk]:
    made_desk = made(workers, request.param, OUTSIDE)
    yield made_desk
    made_desk.close()


@pytest.fixture(params=USERS)
def in_tmp(workers: dict[tuple[str, int], WorkerProcess], request: pytest.FixtureRequest) -> Generator[Desk]:
    """A workspace below the host's temporary directory."""
    made_desk = made(workers, ("", request.param), TEMPORARY)
    yield made_desk
    made_desk.close()


@pytest.mark.contract("S7", "S8")
def test_writes_reach_the_workspace_and_nothing_else(desk: Desk) -> None:
    desk.open()
    outcome = desk.run(f"echo in > made; echo out > {desk.outside}/made; echo up > ../made; touch /etc/made; echo done")
    assert outcome.output.count("Read-only file system") == 3
    assert outcome.output.endswith("done\n")
    assert (desk.ws / "made").read_text() == "in\n"
    assert list(desk.outside.iterdir()) == []
    assert not (desk.ws.parent / "made").exists()


@pytest.mark.contract("S7")
def test_a_result_names_what_confined_it_and_what_it_may(desk: Desk) -> None:
    desk.open(allow_write=[str(desk.outside)], network=True)
    found = desk.ask("containment", cwd=str(desk.ws))
    assert found["confined"]
    assert found["by"].startswith("bubblewrap 0.")
    assert str(desk.outside) in found["words"]
    assert "/tmp" in found["words"]
    assert "network on" in found["words"]


@pytest.mark.contract("S8")
def test_no_capability_is_left_and_none_can_be_got(desk: Desk) -> None:
    desk.open()
    said = desk.said(
        "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; mount -o remount,rw / 2>&1; unshare -Ur true 2>&1; "
        "echo x > /proc/sys/kernel/core_pattern; echo $?; echo x > /proc/sysrq-trigger; echo $?"
    )
    assert said.count("0000000000000000") == 5
    assert "NoNewPrivs:\t1" in said
    assert "Seccomp:\t2" in said
    assert "unshare failed" in said
    assert "\n0\n" not in said


@pytest.mark.contract("S8")
def test_no_program_is_made_by_which_others_become_its_owner(desk: Desk) -> None:
    desk.open()
    outcome = desk.run(
        "cp /bin/true t && chmod 755 t && chmod u+s t; python3 -c \"import os; os.open('u', os.O_CREAT, 0o4755)\"; "
        "install -m 4755 t v; ls -l t u v"
    )
    assert outcome.output.count("not permitted") >= 3
    assert not [each.name for each in desk.ws.iterdir() if each.stat().st_mode & 0o4000]
    assert (desk.ws / "t").stat().st_mode & 0o777 == 0o755


@pytest.mark.contract("S8")
def test_terminals_of_its_own_work_and_nothing_can_be_made_among_the_devices(desk: Desk) -> None:
    desk.open()
    assert desk.said("python3 -c \"import pty; print(pty.spawn(['/bin/echo', 'shown']))\"").split() == ["shown", "0"]
    assert "Read-only" in desk.run("echo x > /dev/x; echo y > /dev/shm/y && cat /dev/shm/y").output
    assert desk.run("head -c 1200000000 /dev/zero > /dev/shm/big").code != 0


@pytest.mark.contract("S8")
def test_settings_are_live(desk: Desk) -> None:
    desk.open()
    assert desk.run(f"touch {desk.outside}/a").code != 0
    desk.set(allow_write=[str(desk.outside)])
    assert desk.run(f"touch {desk.outside}/a").code == 0
    desk.set(deny_read=[str(desk.outside)])
    assert desk.run(f"ls {desk.outside}").code != 0
    desk.set()
    assert desk.said(f"ls {desk.outside}") == "a\n"


@pytest.mark.contract("S10")
def test_hidden_files_and_directories_cannot_be_read_whatever_the_settings_say(desk: Desk) -> None:
    secret, vault = desk.outside / "secret", desk.outside / "vault"
    secret.write_text("tell-tale")
    vault.mkdir()
    (vault / "key").write_text("tell-tale")
    (desk.ws / "by-link").symlink_to(vault)
    desk.open(hidden=(secret, vault), allow_write=[str(desk.outside), str(vault)])
    outcome = desk.run(
        f"cd {desk.outside}; cat secret vault/key {desk.ws}/by-link/key; ln secret {desk.ws}/hard; cp -r . /tmp/copy; "
        "chmod 777 vault secret; cat vault/key secret; mv vault moved; rmdir vault; rm -rf vault secret; "
        "grep -r tell-tale . /tmp; cat /proc/1/root/$PWD/secret; echo x > secret"
    )
    assert "tell-tale" not in outcome.output
    assert (vault / "key").read_text() == secret.read_text() == "tell-tale"


@pytest.mark.contract("S10")
def test_a_parent_of_what_is_hidden_cannot_be_renamed_between_commands(desk: Desk) -> None:
    (desk.ws / "a" / "b" / "vault").mkdir(parents=True)
    (desk.ws / "a" / "b" / "vault" / "key").write_text("tell-tale")
    desk.open(hidden=(desk.ws / "a" / "b" / "vault",))
    desk.run("mv a z; mv a/b a/y; mv a/b/vault a/b/x; rm -rf a; true")
    assert "tell-tale" not in desk.run("cat $(find . -name key); grep -r tell-tale .").output
    assert (desk.ws / "a" / "b" / "vault" / "key").read_text() == "tell-tale"
    assert desk.run("mkdir -p c/d && mv c/d e && touch a/b/beside").code == 0


@pytest.mark.contract("S10")
def test_the_clients_own_state_is_hidden(desk: Desk) -> None:
    desk.open(allow_write=[str(desk.base)])
    assert desk.run("echo kept > /tmp/kept").code == 0
    outcome = desk.run(f"ls {desk.state}; cat {desk.state}/*/content/kept; mv {desk.state} {desk.base}/moved")
    assert "kept\n" not in outcome.output
    assert desk.said("cat /tmp/kept") == "kept\n"


@pytest.mark.contract("S9")
def test_a_repository_that_a_command_makes_at_the_root_is_moved_out_and_told(desk: Desk) -> None:
    desk.open()
    outcome = desk.run("mkdir sub && git init -q sub && git init -q . && git status --short")
    assert outcome.code == 0
    assert not (desk.ws / ".git").exists()
    assert (desk.ws / "sub" / ".git").is_dir()
    assert any(".git" in each for each in outcome.notes), outcome


@pytest.mark.contract("S9")
def test_git_is_read_only_and_works_for_reading(desk: Desk) -> None:
    subprocess.run(["git", "init", "-q", str(desk.ws)], check=True)
    (desk.ws / "a").write_text("a")
    desk.open()
    outcome = desk.run(
        "git status --short; git add a; echo x > .git/config; rm -rf .git; mv .git g; "
        "ln -s /etc .git/hooks/x; : > .git/HEAD"
    )
    assert "?? a" in outcome.output
    assert outcome.output.count("Read-only file system") >= 3
    assert (desk.ws / ".git" / "HEAD").read_text().startswith("ref: ")
    assert desk.run("git rev-parse --is-inside-work-tree").code == 0


@pytest.mark.contract("S8")
def test_allow_write_that_a_command_replaced_by_a_link_is_dropped_and_told(desk: Desk) -> None:
    target = desk.ws / "out"
    target.mkdir()
    (desk.outside / "kept").write_text("kept")
    desk.open(allow_write=[str(target)])
    assert desk.run("touch out/a").code == 0
    desk.set()
    assert desk.run(f"rm -r out && ln -s {desk.outside} out").code == 0
    desk.set(allow_write=[str(target)])
    words = desk.ask("containment", cwd=str(desk.ws))["words"]
    assert f"{target} of allow_write is left out" in words
    assert desk.run("echo gone > out/kept").code != 0
    assert (desk.outside / "kept").read_text() == "kept"


@pytest.mark.contract("S8")
def test_temporary_files_are_private_and_kept_for_the_session(desk: Desk) -> None:
    desk.open()
    name = f"ob-{desk.base.name}"
    assert desk.run(f"echo mine > /tmp/{name}; test -e /var/tmp/{name}; d=$(mktemp -d) && touch $d/x").code == 0
    assert desk.said(f"cat /tmp/{name}", environment={"TMPDIR": "/nowhere"}) == "mine\n"
    assert not Path("/tmp", name).exists()
    desk.ask("close")
    assert list(desk.state.glob("temporary-*")) == []


@pytest.mark.contract("S8")
@pytest.mark.parametrize("network", [False, True])
def test_unix_sockets_are_closed_with_and_without_a_network(desk: Desk, network: bool) -> None:
    desk.open(network=network)
    script = (
        "import socket\n"
        "for name in 'AF_UNIX', 'AF_VSOCK', 'AF_INET':\n"
        "    try: socket.socket(getattr(socket, name), socket.SOCK_STREAM); print(name, 'made')\n"
        "    except OSError as error: print(name, error.errno)\n"
        "try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); print('pair made')\n"
        "except OSError as error: print('pair', error.errno)\n"
    )
    (desk.ws / "s.py").write_text(script)
    assert desk.said("python3 s.py") == "AF_UNIX 97\nAF_VSOCK 97\nAF_INET made\npair 1\n"


@pytest.mark.contract("S8")
def test_the_hosts_loopback_is_reached_with_a_network_alone(desk: Desk) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        line = f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {server.getsockname()[1]}), 5)'"
        desk.open()
        assert desk.run(line).code != 0
        desk.set(network=True)
        assert desk.run(line).code == 0


def test_numbers_of_processes_and_sizes_of_files_are_bounded(desk: Desk) -> None:
    desk.open(limits={"processes": 200, "file_bytes": 1_000_000})
    (desk.ws / "many.py").write_text(
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    for made in range(400):\n"
        "        if os.fork() == 0: time.sleep(20); os._exit(0)\n"
        "except OSError: pass\n"
        "print(made, flush=True); os._exit(0)\n"
    )
    made = int(desk.said("python3 many.py"))
    assert 100 < made < 330
    desk.run("head -c 3000000 /dev/zero > big")
    assert (desk.ws / "big").stat().st_size == 1_000_000
    assert desk.said("ulimit -c") == "0\n"


@pytest.mark.contract("S2", "T6")
def test_what_is_left_in_the_background_ends_with_the_command(desk: Desk) -> None:
    desk.open()
    outcome = desk.run("(setsid sh -c 'while :; do date > tick; sleep 0.02; done' &) ; sleep 0.2; echo hi")
    assert (outcome.output, outcome.code, outcome.left) == ("hi\n", 0, [])
    stamp = (desk.ws / "tick").stat().st_mtime_ns
    assert desk.run("sleep 0.2").code == 0
    assert (desk.ws / "tick").stat().st_mtime_ns == stamp


@pytest.mark.contract("S2")
def test_a_time_out_asks_the_inside_to_end_before_it_kills(desk: Desk) -> None:
    desk.open()
    outcome = desk.run("trap 'echo asked; exit 3' TERM; sleep 30 & wait", timeout_s=2)
    assert (outcome.how, outcome.output) == ("timed_out", "asked\n")
    nap = f"31.{os.getpid()}"
    outcome = desk.run(f"trap '' TERM; (trap '' TERM; setsid sleep {nap}) & wait", timeout_s=0.3)
    assert outcome.how == "timed_out"
    assert outcome.left == []
    assert not [each for each in _command_lines() if each == f"sleep\x00{nap}\0"]


@pytest.mark.contract("T6")
def test_a_cancelled_command_has_ended(desk: Desk) -> None:
    desk.open()
    nap = f"32.{os.getpid()}"
    outcome = desk.run(f"sleep {nap} & sleep {nap}", cancel_after_s=0.3)
    assert outcome.how == "cancelled"
    assert not [each for each in _command_lines() if each == f"sleep\x00{nap}\0"]


@pytest.mark.contract("S3")
def test_the_inside_sees_the_environment_without_trace_and_without_the_hosts_temporary_directory(desk: Desk) -> None:
    desk.open()
    given = {"TRACEPARENT": "t", "TRACESTATE": "s", "TMPDIR": "/nowhere", "LD_LIBRARY_PATH": ".", "OWN": "x y=z"}
    said = desk.said("env; tr '\\0' '\\n' < /proc/1/environ", environment=given)
    assert "TRACE" not in said
    assert "TMPDIR" not in said
    assert said.count("LD_LIBRARY_PATH=.\n") == 1
    assert said.count("OWN=x y=z") == 2


def test_the_loader_of_bwrap_itself_takes_nothing_from_the_workspace(desk: Desk) -> None:
    desk.open()
    planted = desk.ws / "libcap.so.2"
    planted.write_bytes(b"not a library")
    assert desk.run("/bin/true", environment={"LD_LIBRARY_PATH": ".", "LD_PRELOAD": "./libcap.so.2"}).code == 0


def test_no_descriptor_is_inherited_and_none_is_left(desk: Desk) -> None:
    desk.open()
    assert desk.said("ls /proc/self/fd").split() == ["0", "1", "2", "3"]
    before = desk.ask("descriptors")
    for _ in range(5):
        desk.run("true")
    assert desk.ask("descriptors") == before


def test_a_missing_directory_is_told_before_anything_starts(desk: Desk) -> None:
    desk.open()
    with pytest.raises(SandboxUnavailableError, match="missing is no directory"):
        desk.run("echo never", cwd=desk.ws / "missing")


@pytest.mark.contract("S10")
def test_a_workspace_in_a_hidden_directory_is_refused_with_the_reason(desk: Desk) -> None:
    desk.open(deny_read=[str(desk.ws.parent)])
    with pytest.raises(SandboxUnavailableError, match=r"lies in .* which is hidden"):
        desk.run("true")


def test_a_program_may_run_many_commands_at_once(desk: Desk) -> None:
    desk.open()
    requests = [{"op": "run", **desk.request(f"echo {n} > f{n}; sleep 0.1; cat f{n}")} for n in range(8)]
    answers = desk.ask("together", requests=requests)
    assert [each["ok"]["output"] for each in answers] == [f"{n}\n" for n in range(8)]


@pytest.mark.contract("S8")
def test_a_workspace_in_the_hosts_temporary_directory_works_and_keeps_its_place(in_tmp: Desk) -> None:
    in_tmp.open(hidden=(in_tmp.outside,))
    (in_tmp.outside / "key").write_text("tell-tale")
    outcome = in_tmp.run(
        f"echo in > made; pwd; cat {in_tmp.outside}/key; cd /; mv {in_tmp.base} /tmp/x; mv {in_tmp.ws.parent} /tmp/y; "
        f"rm -rf {in_tmp.base}/project; ln -s /etc /tmp/link"
    )
    assert outcome.output.startswith(f"{in_tmp.ws}\n")
    assert "tell-tale" not in outcome.output
    assert in_tmp.ws.is_dir()
    assert (in_tmp.outside / "key").is_file()
    assert not Path("/tmp/link").is_symlink()


@pytest.mark.contract("S2", "S7")
@pytest.mark.parametrize("kind", KIND_PARAMS)
def test_when_the_owner_is_killed_nothing_is_left_and_the_next_one_sweeps(kind: tuple[str, int]) -> None:
    if reason := lacks(*kind):
        pytest.skip(reason)
    first = WorkerProcess(*kind)
    if not first.detection["available"]:
        pytest.skip(first.detection["problem"])
    desk = Desk(first, OUTSIDE)
    try:
        desk.open()
        nap = f"33.{os.getpid()}"
        thread = threading.Thread(target=_run_quietly, args=(desk, f"touch began; setsid sleep {nap} & sleep {nap}"))
        thread.start()
        _wait_until((desk.ws / "began").exists)
        os.kill(first.process_id, signal.SIGKILL)
        thread.join(20)
        _wait_until(lambda: f"sleep\x00{nap}\0" not in _command_lines())
        assert list(desk.state.glob("temporary-*")) != []
        second = WorkerProcess(*kind)
        desk.worker = second
        desk.open()
        desk.ask("sweep")
        assert list(desk.state.glob("temporary-*")) == []
        second.close()
    finally:
        desk.close()
        with suppress(OSError):
            first.close()


def _run_quietly(desk: Desk, line: str) -> None:
    with suppress(Exception):  # the worker dies meanwhile
        desk.run(line)


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def _command_lines() -> list[str]:
    found: list[str] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found.append(Path("/proc", name, "cmdline").read_text())
            except OSError:
                continue
    return found
