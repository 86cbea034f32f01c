"""Attacks on what else the kernel offers: other processes, keys, terminals, mounts, namespaces, privilege."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attack_kinds import as_a_user, as_root, attack, program, setting, user_namespaces, with_a_root_beside
from attack_scene import Process, unmount, wait_until
from terminals import Terminal
from victims import Victim

if TYPE_CHECKING:
    from attack_scene import Scene

may_trace = setting("kernel/yama/ptrace_scope", 0)


@attack("kernel", may_trace)
def another_process_is_traced(scene: Scene) -> str:
    with Victim(scene) as victim, scene.holding("other_process", "trace", victim.pid, 0, ""):
        tracer = victim.state()[1]
    return "" if tracer == "0" else f"by {tracer}"


@attack("kernel", may_trace)
def the_memory_of_another_process_is_changed_by_a_call(scene: Scene) -> str:
    with Victim(scene) as victim:
        scene.script("other_process", "write_by_vm", victim.pid, victim.address, "evil")
        return victim.memory().replace(scene.token, "")


@attack("kernel", may_trace)
def the_memory_of_another_process_is_changed_as_a_file(scene: Scene) -> str:
    with Victim(scene) as victim:
        scene.script("other_process", "write_by_file", victim.pid, victim.address, "evil")
        return victim.memory().replace(scene.token, "")


@attack("kernel")
def another_process_is_killed(scene: Scene) -> str:
    with Victim(scene) as victim:
        scene.script("other_process", "kill", victim.pid, 0, "")
        return victim.state()[0].replace("runs", "")


@attack("kernel")
def another_process_is_slowed_down_and_put_first_in_line(scene: Scene) -> str:
    with Victim(scene) as victim:
        before = victim.state()
        scene.script("other_process", "disturb", victim.pid, 0, "")
        return "" if victim.state() == before else str(victim.state())


@attack("kernel", as_root)
def the_namespaces_of_another_process_are_entered(scene: Scene) -> str:
    scene.desk.own()
    sleeper = scene.as_user(["unshare", "-m", "sleep", "60"])
    own = os.readlink("/proc/self/ns/mnt")
    wait_until(lambda: os.readlink(f"/proc/{sleeper.pid}/ns/mnt") != own)
    scene.open()
    scene.script("other_process", "enter", sleeper.pid, 0, "evil", scene.kept)
    return scene.outside_changed()


@attack("kernel")
def a_key_is_left_in_the_keyring_of_the_user(scene: Scene) -> str:
    if not Path("/proc/keys").exists():
        pytest.skip("this kernel has no keyrings")
    scene.script("keyring", "add", scene.token, f"{scene.token}-key")
    finder = [scene.line_of("keyring", "find", scene.token, "")]
    found = scene.host("/bin/sh", "-c", finder[0])
    return "found" if f"{scene.token}-key" in found else ""


@attack("kernel")
def a_terminal_of_the_host_is_written_to(scene: Scene) -> str:
    """Sequences for the terminal change its title, its clipboard, what it types next."""
    with Terminal(scene) as terminal:
        scene.script("terminal", "write", terminal.path, "evil")
        return terminal.shown()


@attack("kernel", as_root)
def a_line_is_typed_into_a_terminal_of_the_host(scene: Scene) -> str:
    with Terminal(scene) as terminal:
        scene.script("terminal", "type", terminal.path, "evil\n")
        return terminal.typed()


@attack("kernel", as_root)
def something_is_mounted_over_a_directory_of_the_host(scene: Scene) -> str:
    place = scene.outside / "vault"
    scene.on_close(lambda: unmount(place))
    scene.open()
    scene.run(f"mount -t tmpfs none {place}; mount --bind . {place}")
    return "" if scene.secret.exists() else "the secret is covered"


@attack("kernel", as_root)
def a_mount_that_is_read_only_is_made_writable(scene: Scene) -> str:
    place = scene.outside
    subprocess.run(["mount", "--bind", place, place], check=True)
    scene.on_close(lambda: unmount(place))
    scene.open()
    subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
    scene.run(f"mount -o remount,bind,rw {place}; mount -o remount,rw /; echo evil > {scene.kept}")
    return scene.outside_changed()


@attack("kernel", user_namespaces)
def mounts_are_made_writable_in_a_namespace_of_its_own(scene: Scene) -> str:
    remounts = f"mount -o remount,bind,rw /; mount -o remount,rw {scene.outside}"
    scene.run(f"unshare -Urm sh -c '{remounts}; echo evil > {scene.kept}'")
    return scene.outside_changed()


def _capabilities(processes: list[Process]) -> str:
    fields = ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd")
    return ", ".join(
        f"{name} {value}" for each in processes for name in fields if (value := each.field(name)).strip("0")
    )


def _inside(scene: Scene, processes: list[Process]) -> list[Process]:
    """Without the one that started the sandbox and waits for it outside."""
    found = [each for each in processes if not scene.confined or len(each.field("NSpid").split()) > 1]
    assert found
    return found


@attack("kernel")
def capabilities_are_kept(scene: Scene) -> str:
    with scene.meanwhile("touch held; while ! test -e release; do sleep 0.01; done") as processes:
        return _capabilities(_inside(scene, processes))


@attack("kernel", user_namespaces)
def capabilities_come_from_a_namespace_of_its_own(scene: Scene) -> str:
    with scene.holding("namespaces", "unshare") as processes:
        return ", ".join(filter(None, (each.field("CapEff").strip("0") for each in processes)))


@attack("kernel", user_namespaces)
def capabilities_come_from_a_process_made_in_another_namespace(scene: Scene) -> str:
    with scene.holding("namespaces", "clone") as processes:
        return ", ".join(filter(None, (each.field("CapEff").strip("0") for each in processes)))


@attack("kernel", user_namespaces)
def capabilities_come_from_the_newer_call_for_processes(scene: Scene) -> str:
    with scene.holding("namespaces", "clone3") as processes:
        return ", ".join(filter(None, (each.field("CapEff").strip("0") for each in processes)))


@attack("kernel", as_root)
def the_root_directory_is_changed(scene: Scene) -> str:
    wait = "[time.sleep(0.01) for _ in range(999) if not os.path.exists('/release')]"
    code = f"import os, time; os.chroot('.'); open('/held', 'w'); {wait}"
    roots: set[str] = set()
    with scene.meanwhile(f'/usr/bin/python3 -c "{code}"') as processes:
        for each in processes:
            with suppress(OSError):
                roots.add(os.readlink(f"/proc/{each.pid}/root"))
    return ", ".join(roots - {"/"})


@attack("kernel", setting("kernel/unprivileged_bpf_disabled", 0))
def a_program_for_the_kernel_is_prepared(scene: Scene) -> str:
    return _object_held(scene, "bpf", "bpf-map")


@attack("kernel", setting("kernel/perf_event_paranoid", 2))
def the_counters_of_the_kernel_are_opened(scene: Scene) -> str:
    return _object_held(scene, "perf", "[perf_event]")


@attack("kernel")
def page_faults_are_handled_by_a_descriptor(scene: Scene) -> str:
    return _object_held(scene, "userfaultfd", "[userfaultfd]")


@attack("kernel", setting("kernel/io_uring_disabled", 0))
def a_ring_of_system_calls_is_made(scene: Scene) -> str:
    return _object_held(scene, "io_uring", "[io_uring]")


def _object_held(scene: Scene, kind: str, shown: str) -> str:
    with scene.holding("kernel_objects", kind) as processes:
        return ", ".join(link for each in processes for link in each.opened() if shown in link)


@attack("kernel", with_a_root_beside)
def a_program_that_runs_as_root_is_started(scene: Scene) -> str:
    tool = scene.outside / "copy"
    shutil.copy("/bin/cp", tool)
    vault = _roots_own(scene)
    scene.open()
    os.chown(tool, 0, 0)
    tool.chmod(0o4755)
    scene.run(f"{tool} /etc/hostname {vault}/planted")
    return ", ".join(each.name for each in vault.iterdir())


@attack("kernel", with_a_root_beside, program("setcap"))
def a_program_with_capabilities_is_started(scene: Scene) -> str:
    tool = scene.outside / "copy"
    shutil.copy("/bin/cp", tool)
    vault = _roots_own(scene)
    scene.open()
    os.chown(tool, 0, 0)
    if subprocess.run(["setcap", "cap_dac_override+ep", tool], capture_output=True, check=False).returncode:
        pytest.skip("this file system keeps no capabilities")
    scene.run(f"{tool} /etc/hostname {vault}/planted")
    return ", ".join(each.name for each in vault.iterdir())


def _roots_own(scene: Scene) -> Path:
    vault = Path(f"{scene.base}-of-root")
    vault.mkdir(mode=0o755)
    scene.on_close(lambda: shutil.rmtree(vault))
    return vault


@attack("kernel", as_root)
def a_process_makes_itself_the_last_to_be_ended_and_the_first_to_run(scene: Scene) -> str:
    line = "echo -900 > /proc/self/oom_score_adj; renice -n -10 $$; chrt -f -p 50 $$; touch held; sleep 1"
    with scene.meanwhile(f"exec 2>/dev/null; {line}") as processes:
        adjusted: list[str] = []
        nice: list[int] = []
        real_time: list[int] = []
        for each in processes:
            with suppress(FileNotFoundError, ProcessLookupError):  # what the line started and what has ended since
                adjusted.append(Path(f"/proc/{each.pid}/oom_score_adj").read_text().strip())
                nice.append(os.getpriority(os.PRIO_PROCESS, each.pid))
                real_time.append(os.sched_getscheduler(each.pid))
    assert real_time, "the line was to wait while it is looked at"
    own = int(Path("/proc/self/oom_score_adj").read_text())
    worse = [each for each in adjusted if int(each) < own] + [each for each in nice if each < 0]
    return f"{worse} {real_time}" if worse or os.SCHED_FIFO in real_time else ""


@attack("kernel", as_a_user)
def a_privilege_of_another_user_is_taken_by_a_helper(scene: Scene) -> str:
    """A helper that runs as root, as ``su`` and ``sudo`` do: seen by the user that its process has on the host."""
    helpers = [path for path in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/newgrp") if _runs_as_root(path)]
    if not helpers:
        pytest.skip("no program here runs as root")
    # It waits for a password on the terminal that it gets.
    code = (
        f"import os, pty, time; child, _ = pty.fork(); child or os.execv('{helpers[0]}', ['{helpers[0]}']); "
        "time.sleep(0.3); open('held', 'w').close(); time.sleep(0.3)"
    )
    with scene.meanwhile(f'/usr/bin/python3 -c "{code}"') as processes:
        # A process of root's does not show everybody what it was started with: it is known by its parent.
        parents = {str(each.pid) for each in processes}
        everybody = [Process(int(each)) for each in os.listdir("/proc") if each.isdigit()]
        users = [each.field("Uid").split()[1] for each in everybody if each.field("PPid") in parents]
    return "root" if "0" in users else ""


def _runs_as_root(path: str) -> bool:
    with suppress(OSError):
        facts = os.stat(path)
        return facts.st_uid == 0 and bool(facts.st_mode & 0o4000)
    return False


@attack("kernel")
def a_program_that_runs_as_its_owner_is_left_for_others(scene: Scene) -> str:
    """Everybody who starts it is then who left it: root, where the server is root's."""
    left = scene.ws / "left"
    left.mkdir()
    scene.open()
    scene.script("setuid", cwd=left)
    scene.run("cp /bin/true p; chmod u+s p; chmod g+s p; install -m 4755 /bin/true q; cp -p /bin/su r", cwd=left)
    found = [each.name for each in left.iterdir() if each.is_file() and each.stat().st_mode & 0o4000]
    with_capabilities = [each.name for each in left.iterdir() if "security.capability" in os.listxattr(each)]
    return ", ".join(sorted(found + with_capabilities))
