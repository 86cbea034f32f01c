"""What no boundary of the operating system holds, or this one does not: each reaches what it wants confined too.

They are here so that the README tells the truth, and so that it is noticed when one of them is held one day.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attack_kinds import as_root, limit
from attack_scene import unmount, wait_until
from host_listeners import NetlinkListener, TcpListener
from protected_attacks import COMMIT, GIT, git_was_made_to_run_it, poison, repository

if TYPE_CHECKING:
    from attack_scene import Scene

UNTIL_RELEASED = "touch held; while ! test -e release; do sleep 0.01; done"


@limit("writing")
def a_pipe_of_the_host_that_has_a_name_is_written(scene: Scene) -> str:
    """A mount that is read-only does not hold pipes; whoever reads it on the host gets it."""
    pipe = scene.outside / "pipe"
    os.mkfifo(pipe)
    scene.open()
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        scene.run(f"echo evil > {pipe}")
        with suppress(BlockingIOError):
            return os.read(reader, 100).decode()
        return ""
    finally:
        os.close(reader)


@limit("writing")
def a_file_outside_that_has_a_name_in_the_workspace_is_written(scene: Scene) -> str:
    """A hard link that the host has made. Such a workspace is never approved by itself."""
    os.link(scene.kept, scene.ws / "second-name")
    scene.open()
    scene.run("echo evil > second-name")
    return scene.outside_changed()


@limit("writing")
def settings_of_the_user_that_are_a_link_into_the_workspace_are_changed(scene: Scene) -> str:
    """Such a workspace is never approved by itself."""
    (scene.ws / "profile").write_text("kept")
    (scene.outside / ".profile").symlink_to(scene.ws / "profile")
    scene.open()
    scene.run("echo evil > profile")
    return (scene.outside / ".profile").read_text().replace("kept", "")


@limit("writing")
def a_file_of_the_host_is_locked(scene: Scene) -> str:
    """To lock a file it is enough to read it; the host waits as long as the command runs."""
    scene.open()
    with scene.meanwhile(f"exec 9< {scene.kept}; flock -xn 9; {UNTIL_RELEASED}"), scene.kept.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "it is locked"
    return ""


@limit("writing", as_root)
def what_the_host_mounts_while_a_command_runs_is_writable(scene: Scene) -> str:
    """Where the mount below which it appears is shared, as it is on most hosts."""
    place, disk = scene.outside, scene.outside / "disk"
    disk.mkdir()
    subprocess.run(["mount", "--bind", place, place], check=True)
    scene.on_close(lambda: unmount(place))
    subprocess.run(["mount", "--make-shared", place], check=True)
    scene.open()
    with scene.meanwhile(f"{UNTIL_RELEASED}; echo evil > {disk}/x"):
        subprocess.run(["mount", "-t", "tmpfs", "none", disk], check=True)
    try:
        return ", ".join(each.name for each in disk.iterdir())
    finally:
        subprocess.run(["umount", disk], check=True)


@limit("reading")
def everything_that_is_not_hidden_is_read(scene: Scene) -> str:
    scene.run(f"cat {scene.secret}")
    return scene.was_read()


@limit("reading")
def a_hidden_file_that_the_host_replaces_meanwhile_is_read(scene: Scene) -> str:
    """As most editors do when they save. What is hidden is the file, and the new one is another. Hide the directory."""
    scene.open(deny_read=[str(scene.secret)])
    with scene.meanwhile(f"{UNTIL_RELEASED}; cat {scene.secret}"):
        saved = scene.outside / "saved"
        shutil.copy(scene.secret, saved)
        saved.chmod(0o644)
        saved.replace(scene.secret)
    return scene.was_read()


@limit("reading")
def what_is_to_be_hidden_and_does_not_exist_yet_is_read_once_it_does(scene: Scene) -> str:
    later = scene.outside / "later"
    scene.open(deny_read=[str(later)])
    with scene.meanwhile(f"{UNTIL_RELEASED}; cat {later}"):
        shutil.copy(scene.secret, later)
        later.chmod(0o644)
    return scene.was_read()


@limit("reading")
def a_hidden_file_is_read_by_its_second_name(scene: Scene) -> str:
    """The result of every command tells that it has one."""
    os.link(scene.secret, scene.outside / "second-name")
    scene.open(deny_read=[str(scene.secret)])
    scene.run(f"cat {scene.outside}/second-name")
    words = scene.desk.ask("containment", cwd=str(scene.ws))["words"]
    assert str(scene.secret) in words
    return scene.was_read()


@limit("network")
def a_port_of_the_host_is_reached_where_commands_have_a_network(scene: Scene) -> str:
    """The network is the host's, with everything that listens there."""
    with TcpListener(scene) as listener:
        scene.open(network=True)
        scene.script("sockets", "tcp", f"127.0.0.1|{listener.port}", "evil")
        return listener.close()


@limit("network")
def a_message_goes_over_netlink_where_commands_have_a_network(scene: Scene) -> str:
    """To the few programs that listen there, besides the kernel."""
    with NetlinkListener(scene) as listener:
        scene.open(network=True)
        scene.script("sockets", "netlink", listener.port, "evil")
        return listener.close()


@limit("network")
def a_port_is_opened_for_others_where_commands_have_a_network(scene: Scene) -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    scene.open(network=True)
    with (
        scene.meanwhile(scene.line_of("listening", "tcp", port, "evil")),
        socket.create_connection(("127.0.0.1", port), 2) as client,
    ):
        return client.recv(100).decode()


@limit("protected", GIT)
def a_repository_below_the_top_of_the_workspace_makes_git_run_something(scene: Scene) -> str:
    evil = poison(scene)
    scene.open()
    scene.run(f"git init -q sub; git -C sub config core.fsmonitor {evil}")
    return git_was_made_to_run_it(scene, cwd=scene.ws / "sub")


@limit("protected", GIT)
def git_looks_into_a_submodule_whose_pointer_was_replaced(scene: Scene) -> str:
    """Also when it is run at the top of the workspace."""
    origin = repository(scene, scene.base / "origin")
    repository(scene)
    scene.host("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "sub")
    scene.host("git", "commit", "-qm", "with a submodule")
    evil = poison(scene)
    scene.open()
    scene.run(
        f"cp -r .git/modules/sub evil; git config -f evil/config core.fsmonitor {evil}; "
        "git config -f evil/config core.worktree $PWD/sub; echo gitdir: $PWD/evil > sub/.git"
    )
    return git_was_made_to_run_it(scene)


@limit("protected", GIT)
def git_that_runs_while_a_command_does_sees_what_it_has_planted(scene: Scene) -> str:
    """The quarantine takes it away when the command ends. Editors ask git all the time."""
    evil = poison(scene)
    scene.open()
    with scene.meanwhile(f"git init -q . && git config core.fsmonitor {evil}; {UNTIL_RELEASED}"):
        found = git_was_made_to_run_it(scene)
    assert not (scene.ws / ".git").exists()
    return found


@limit("protected", GIT)
def the_workspace_itself_becomes_a_repository_without_a_tree(scene: Scene) -> str:
    """By names that are no git's alone, so that they stay; the result tells."""
    evil = poison(scene)
    scene.open()
    scene.run(f"git init -q --bare x; mv x/* .; git config -f config core.fsmonitor {evil}; "
              "git config -f config core.bare false; git config -f config core.worktree $PWD")  # fmt: skip
    assert any("bareRepository" in each for each in scene.notes)
    return git_was_made_to_run_it(scene)


@limit("protected", GIT)
def hooks_that_the_repository_keeps_among_its_files_are_changed(scene: Scene) -> str:
    """By its configuration git runs what lies in the workspace; so do include.path, filters and aliases of scripts."""
    repository(scene)
    hooks = scene.ws / "hooks"
    hooks.mkdir()
    scene.host("git", "config", "core.hooksPath", "hooks")
    poison(scene)
    scene.open()
    scene.run("mv evil.sh hooks/pre-commit")
    return git_was_made_to_run_it(scene, COMMIT)


@limit("host", GIT)
def an_excluded_program_runs_what_another_command_has_left(scene: Scene) -> str:
    """What is excluded is the program with all that it does, and what it reads from the workspace tells it what."""
    evil = poison(scene)
    scene.open(excluded_commands=["git"])
    scene.run(f"git init -q sub; git -C sub config core.fsmonitor {evil}")
    answer = scene.desk.ask("decided", **scene.desk.request("git -C sub status"))
    assert answer["notes"] == ["excluded"]
    return scene.outside_changed()


@limit("protected")
def what_a_tool_of_the_host_runs_from_the_workspace_was_changed(scene: Scene) -> str:
    """Build files, tests, scripts: they are what commands are there to change."""
    (scene.ws / "build.sh").write_text("true\n")
    scene.open()
    scene.run(f"echo 'touch {scene.outside}/built' > build.sh")
    scene.host("sh", "build.sh")
    return scene.outside_changed()


@limit("protected")
def what_was_planted_stays_from_the_servers_death_to_the_next_start(scene: Scene) -> str:
    """Shown by the attack that kills the server; here by what stands in the workspace while a command runs."""
    scene.open()
    with scene.meanwhile(f"echo evil > .envrc; {UNTIL_RELEASED}"):
        return (scene.ws / ".envrc").read_text()


@limit("kernel")
def a_program_that_runs_as_its_group_is_left_for_others(scene: Scene) -> str:
    """The same bit of a directory means something else, and much work needs it."""
    scene.open()
    scene.run("cp /bin/true left; chmod 2755 left")
    return "it is left" if (scene.ws / "left").stat().st_mode & 0o2000 else ""


@limit("resources")
def many_files_fill_a_disk_that_no_single_one_may(scene: Scene) -> str:
    scene.open(limits={"processes": 200, "file_bytes": 1_000_000})
    scene.run("for n in 1 2 3 4 5; do head -c 1000000 /dev/zero > f$n; done")
    total = sum(each.stat().st_size for each in scene.ws.glob("f?"))
    return str(total) if total == 5_000_000 else ""


@limit("resources")
def memory_is_taken_without_a_bound(scene: Scene) -> str:
    code = "x = bytearray(200_000_000); open('held', 'w'); import time; time.sleep(0.4)"
    with scene.meanwhile(f'/usr/bin/python3 -c "{code}"') as processes:
        resident = sum(int(each.field("VmRSS").split(" ")[0] or 0) for each in processes)
    return f"{resident} kB" if resident > 190_000 else ""


@limit("resources")
def a_processor_is_kept_busy(scene: Scene) -> str:
    with scene.meanwhile("touch held; while ! test -e release; do :; done") as processes:
        wait_until(lambda: sum(_ticks(each.pid) for each in processes) > 20)
    return "a fifth of a second of it"


def _ticks(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
    return 0
