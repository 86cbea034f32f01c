"""Attacks that read what is hidden. The secret is a text that nothing else holds."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attack_kinds import as_root, attack, setting, user_namespaces
from attack_scene import unmount
from terminals import Terminal
from victims import Victim

if TYPE_CHECKING:
    from attack_scene import Scene

may_trace = setting("kernel/yama/ptrace_scope", 0)


def opened(scene: Scene, **settings: object) -> Path:
    """The directory of the secret is hidden."""
    scene.open(hidden=(scene.secret.parent,), **settings)
    return scene.secret


@attack("reading")
def a_hidden_file_is_read_by_its_path(scene: Scene) -> str:
    secret = opened(scene)
    scene.run(f"cat {secret}; ls -la {secret.parent}; dd if={secret}; tail -c 100 {secret.parent}/../vault/secret")
    return scene.was_read()


@attack("reading")
def a_hidden_file_alone_is_read_by_its_path(scene: Scene) -> str:
    scene.open(deny_read=[str(scene.secret)])
    scene.run(f"cat {scene.secret}; cp {scene.secret} .; head -c 100 < {scene.secret}")
    return scene.was_read()


@attack("reading")
def a_hidden_file_is_read_through_links(scene: Scene) -> str:
    (scene.ws / "by-host").symlink_to(scene.secret.parent)
    secret = opened(scene)
    scene.run(f"ln -s {secret} s; ln -s {secret.parent} d; cat s d/secret by-host/secret; cp -rL d copy")
    return scene.was_read()


@attack("reading")
def a_hidden_file_gets_another_name_by_a_hard_link(scene: Scene) -> str:
    secret = opened(scene, allow_write=[str(scene.outside)])
    scene.run(f"ln {secret} mine; ln {secret} {scene.outside}/mine; cat mine {scene.outside}/mine")
    return scene.was_read()


@attack("reading")
def modes_of_a_hidden_directory_are_changed(scene: Scene) -> str:
    secret = opened(scene, allow_write=[str(scene.outside)])
    scene.run(f"chmod 777 {secret.parent} {secret}; cat {secret}; cp -a {scene.outside} copy; tar c {scene.outside}")
    return scene.was_read()


@attack("reading")
def the_parent_of_what_is_hidden_is_renamed_for_the_next_command(scene: Scene) -> str:
    secret = opened(scene, allow_write=[str(scene.outside)])
    scene.run(f"mv {secret.parent} {scene.outside}/moved; mv {scene.outside} {scene.base}/moved")
    scene.run(f"grep -rs '' {scene.outside}/moved {scene.base}/moved")
    return scene.was_read()


@attack("reading")
def what_is_hidden_in_the_workspace_is_moved_about(scene: Scene) -> str:
    vault = scene.ws / "a" / "b" / "vault"
    vault.mkdir(parents=True)
    (vault / "key").write_text(f"{scene.token}-in-the-workspace")
    scene.open(hidden=(vault,))
    scene.run("mv a/b/vault x; mv a/b y; mv a z; cp -r a w")
    scene.run("cat x/key y/vault/key z/b/vault/key w/b/vault/key a/b/vault/key")
    return "in the output" if f"{scene.token}-in-the-workspace" in scene.said else ""


@attack("reading")
def a_link_of_the_workspace_to_what_is_hidden_is_replaced_first(scene: Scene) -> str:
    """The setting names the link; where it leads must stay hidden when the link is gone."""
    (scene.ws / "keys").symlink_to(scene.secret.parent)
    scene.open(deny_read=[str(scene.ws / "keys")])
    scene.run("cat keys/secret; rm keys; mkdir keys")
    scene.run(f"cat {scene.secret}")
    return scene.was_read()


@attack("reading", as_root)
def a_hidden_directory_is_read_where_it_is_mounted_again(scene: Scene) -> str:
    again = scene.outside / "again"
    again.mkdir()
    subprocess.run(["mount", "--bind", scene.secret.parent, again], check=True)
    scene.on_close(lambda: unmount(again))
    opened(scene)
    scene.run(f"cat {again}/secret")
    return scene.was_read()


@attack("reading", as_root)
def a_hidden_file_is_reached_by_a_group_of_roots(scene: Scene) -> str:
    """Root without capabilities is still in its groups; by one of them it gets where others do not."""
    if not (groups := [each for each in scene.desk.ask("groups") if each != 0]):
        groups = [4_242]
        scene.desk.ask("set_groups", groups=[0, *groups])
        scene.on_close(lambda: scene.desk.ask("set_groups", groups=[0]))
    between = scene.outside / "of-a-group"
    (between / "vault").mkdir(parents=True)
    (between / "vault" / "key").write_text(scene.token)
    scene.open(hidden=(between / "vault",))
    os.chown(between, 65_432, groups[0])
    between.chmod(0o710)
    scene.run(f"cat {between}/vault/key")
    return scene.was_read()


@attack("reading")
def roots_and_directories_of_all_processes_are_read(scene: Scene) -> str:
    with Victim(scene):
        secret = opened(scene)
        scene.script("all_processes", "read_by_roots", secret, "")
    return scene.was_read()


@attack("reading")
def a_hidden_file_that_another_process_has_open_is_read(scene: Scene) -> str:
    with Victim(scene):
        secret = opened(scene)
        scene.script("all_processes", "read_by_descriptors", secret, "")
    return scene.was_read()


@attack("reading")
def environments_of_all_processes_are_read(scene: Scene) -> str:
    with Victim(scene):
        opened(scene)
        scene.script("all_processes", "read_environments", "-", "")
    return scene.was_read()


@attack("reading")
def the_trace_of_the_server_is_read_inside(scene: Scene) -> str:
    opened(scene)
    scene.run(
        "env; cat /proc/1/environ /proc/self/environ /proc/$PPID/environ /proc/1/cmdline",
        environment={"TRACEPARENT": f"00-{scene.token}", "TRACESTATE": scene.token + "-state"},
    )
    # The attack itself is marked with the token.
    return "in the output" if f"00-{scene.token}" in scene.said or f"{scene.token}-state" in scene.said else ""


@attack("reading", may_trace)
def the_memory_of_another_process_is_read_by_a_call(scene: Scene) -> str:
    with Victim(scene) as victim:
        opened(scene)
        scene.script("other_process", "read_by_vm", victim.pid, victim.address, "")
    return scene.was_read()


@attack("reading", may_trace)
def the_memory_of_another_process_is_read_as_a_file(scene: Scene) -> str:
    with Victim(scene) as victim:
        opened(scene)
        scene.script("other_process", "read_by_file", victim.pid, victim.address, "")
    return scene.was_read()


@attack("reading", may_trace)
def descriptors_of_another_process_are_stolen(scene: Scene) -> str:
    with Victim(scene) as victim:
        opened(scene)
        scene.script("other_process", "steal", victim.pid, victim.address, "evil")
    return scene.was_read() or scene.outside_changed()


@attack("reading", as_root)
def a_hidden_file_is_opened_by_its_number(scene: Scene) -> str:
    secret = opened(scene)
    scene.script("handles", secret.stat().st_ino)
    return scene.was_read()


@attack("reading", as_root)
def the_disk_itself_is_read(scene: Scene) -> str:
    device = scene.base.stat().st_dev
    name = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not name.exists():
        pytest.skip("the file system of the workspace lies on no disk")
    try:
        os.close(os.open(f"/dev/{name.resolve().name}", os.O_RDONLY))
    except OSError as error:
        pytest.skip(f"this host keeps its disk even from root: {error.strerror}")
    opened(scene)
    numbers = f"{os.major(device)} {os.minor(device)}"
    paths = ("disk", "/tmp/disk", f"/dev/{name.resolve().name}")
    line = f"mknod disk b {numbers}; mknod /tmp/disk b {numbers}; {scene.line_of('opening', 'r', *paths)}; rm /tmp/disk"
    with scene.meanwhile(line) as processes:
        devices = {each for process in processes for each in process.opened_devices()}
    return "opened" if (os.major(device), os.minor(device)) in devices else ""


@attack("reading")
def devices_of_the_host_are_opened(scene: Scene) -> str:
    """All that there are; only opened."""
    usual = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2)}  # null, zero, full, random, urandom, tty, ptmx
    opened(scene)
    # What is opened by root on purpose: watchdogs, and printers, would notice.
    left_out = ("watchdog", "lp", "usb/lp", "autofs")
    paths = [str(each) for each in Path("/dev").iterdir() if not each.name.startswith(left_out) and not each.is_dir()]
    with scene.holding("opening", "r", *paths) as processes:
        devices = {each for process in processes for each in process.opened_devices()} - usual
    if not scene.confined and not devices:
        pytest.skip("this user may open no device of this host, besides those that everybody has")
    return ", ".join(f"{major}:{minor}" for major, minor in sorted(devices))


@attack("reading", as_root)
def the_memory_of_the_kernel_is_opened(scene: Scene) -> str:
    opened(scene)
    paths = ("/proc/kcore", "/proc/kmsg", "/dev/mem", "/dev/kmsg", "/dev/port")
    with scene.holding("opening", "r", *paths) as processes:
        return ", ".join(link for each in processes for link in each.opened() if link in paths)


@attack("reading", user_namespaces)
def what_hides_a_directory_is_taken_away_in_another_namespace(scene: Scene) -> str:
    secret = opened(scene)
    scene.run(
        f"unshare -Urm sh -c 'umount {secret.parent}; umount -l {secret.parent}; mount --bind / /mnt; "
        f"cat {secret} /mnt{secret}'"
    )
    return scene.was_read()


@attack("reading")
def what_other_sessions_keep_for_themselves_is_read(scene: Scene) -> str:
    """Temporary files and the quarantine of another server that shares the state directory."""
    other = scene.state / "temporary-of-another" / "content"
    other.mkdir(parents=True)
    kept = scene.state / "quarantine"
    kept.mkdir()
    for each in (other, kept):
        (each / "key").write_text(f"{scene.token}-of-another")
    scene.open(allow_write=[str(scene.base)])
    scene.run(f"grep -rs '' {scene.state}; cat {other}/key {kept}/key; cp -r {scene.state} copy")
    return "in the output" if f"{scene.token}-of-another" in scene.said else ""


@attack("reading")
def what_is_typed_into_a_terminal_of_the_host_is_read(scene: Scene) -> str:
    with Terminal(scene) as terminal:
        opened(scene)
        terminal.type(scene.token + "\n")
        scene.script("terminal", "read", terminal.path, "")
    return scene.was_read()


@attack("reading")
def a_hidden_file_is_carried_out_by_a_process_that_stays(scene: Scene) -> str:
    """What is hidden only from the second command on is still open in a process of the first."""
    scene.open()
    scene.run(f"(exec 9< {scene.secret}; setsid sh -c 'sleep 0.4; cat <&9 > loot' >/dev/null 2>&1 &)")
    scene.desk.set(deny_read=[str(scene.secret.parent)])
    scene.comes((scene.ws / "loot").exists, soon_s=0.6)
    scene.run("cat loot")
    with suppress(OSError):
        return (scene.ws / "loot").read_text()
    return ""
