"""Attacks that change something outside of the workspace."""

from __future__ import annotations

import ctypes
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from attack_kinds import as_root, attack
from host_listeners import TcpListener
from victims import Victim

if TYPE_CHECKING:
    from attack_scene import Scene

LIBC = ctypes.CDLL(None, use_errno=True)


@attack("writing")
def a_relative_path_leads_out(scene: Scene) -> str:
    scene.run("echo evil > ../../outside/kept; touch ../beside")
    return scene.outside_changed()


@attack("writing")
def an_absolute_path_leads_out(scene: Scene) -> str:
    scene.run(f"echo evil > {scene.kept}; touch {scene.outside}/new")
    return scene.outside_changed()


@attack("writing")
def a_link_to_a_directory_outside_is_made_and_followed(scene: Scene) -> str:
    scene.run(f"ln -s {scene.outside} out && echo evil > out/kept; mkdir out/new")
    return scene.outside_changed()


@attack("writing")
def a_link_that_the_host_keeps_in_the_workspace_is_followed(scene: Scene) -> str:
    (scene.ws / "config").symlink_to(scene.kept)
    scene.run("echo evil > config")
    return scene.outside_changed()


@attack("writing")
def a_hard_link_to_a_file_outside_is_made_and_written(scene: Scene) -> str:
    scene.run(f"ln {scene.kept} mine; ln -P {scene.kept} mine; echo evil > mine")
    return scene.outside_changed()


@attack("writing")
def a_file_outside_is_moved_into_the_workspace(scene: Scene) -> str:
    scene.run(f"mv -f {scene.kept} . && echo evil > kept")
    return scene.outside_changed()


@attack("writing")
def a_file_of_the_workspace_is_put_in_the_place_of_one_outside(scene: Scene) -> str:
    scene.run(f"echo evil > kept; mv -f kept {scene.kept}; ln -f kept {scene.kept}; ln -sf /dev/null {scene.kept}")
    return scene.outside_changed()


@attack("writing")
def a_file_outside_is_removed(scene: Scene) -> str:
    scene.run(f"rm -f {scene.kept}; rm -rf {scene.outside}")
    return scene.outside_changed()


@attack("writing")
def mode_and_times_of_a_file_outside_are_changed(scene: Scene) -> str:
    scene.run(f"chmod 4777 {scene.kept}; touch -d 2001-01-01 {scene.kept}; chmod 777 {scene.outside}")
    return scene.outside_changed()


@attack("writing")
def attributes_of_a_file_outside_are_changed(scene: Scene) -> str:
    scene.run(f'/usr/bin/python3 -c \'import os; os.setxattr("{scene.kept}", "user.evil", b"x")\'')
    return ", ".join(os.listxattr(scene.kept))


@attack("writing")
def the_parent_of_the_workspace_is_renamed(scene: Scene) -> str:
    scene.run(f"mv {scene.ws} {scene.base}/ws; mv {scene.ws.parent} {scene.base}/stolen; ln -s outside {scene.base}/x")
    if not scene.ws.is_dir():
        # So that the attack can be cleaned up: it is the place that was lost.
        return "the workspace is not where it was"
    return scene.outside_changed()


@attack("writing")
def descriptors_that_the_server_left_open_are_written(scene: Scene) -> str:
    with TcpListener(scene) as listener:
        scene.open()
        scene.desk.ask("leave_open", directory=str(scene.outside), file=str(scene.kept), port=listener.port)
        try:
            scene.script("inherited", "evil")
        finally:
            scene.desk.ask("close_left")
    return scene.outside_changed()


@attack("writing")
def roots_and_directories_of_all_processes_are_tried(scene: Scene) -> str:
    with Victim(scene):
        scene.open()
        scene.script("all_processes", "write_by_roots", scene.kept, "evil")
    return scene.outside_changed()


@attack("writing")
def descriptors_of_all_processes_are_opened_again(scene: Scene) -> str:
    with Victim(scene):
        scene.open()
        scene.script("all_processes", "write_by_descriptors", scene.kept, "evil")
    return scene.outside_changed()


@attack("writing")
def the_program_of_a_running_process_is_overwritten(scene: Scene) -> str:
    sleeper = scene.outside / "sleeper"
    shutil.copy("/bin/sleep", sleeper)
    scene.desk.own()
    scene.as_user([str(sleeper), "60"])
    scene.open()
    of_bwrap = Path(scene.desk.worker.detection["program"]).read_bytes()
    scene.script("all_processes", "overwrite_programs", sleeper, "evil")
    assert Path(scene.desk.worker.detection["program"]).read_bytes() == of_bwrap
    return scene.outside_changed()


@attack("writing")
def a_file_is_left_in_shared_memory(scene: Scene) -> str:
    left = Path("/dev/shm", scene.token)
    scene.on_close(lambda: left.unlink(missing_ok=True))
    scene.run(f"echo evil > {left}")
    return left.read_text() if left.exists() else ""


@attack("writing")
def files_are_left_in_the_temporary_directories_of_the_host(scene: Scene) -> str:
    left = [Path(place, scene.token) for place in ("/tmp", "/var/tmp")]
    for each in left:
        scene.on_close(lambda each=each: each.unlink(missing_ok=True))
    scene.run("; ".join(f"echo evil > {each}" for each in left))
    return ", ".join(str(each) for each in left if each.exists())


@attack("writing")
def a_shared_memory_segment_of_the_host_is_written(scene: Scene) -> str:
    key = int(scene.token[3:10], 16)
    segment = LIBC.shmget(key, 4096, 0o1666)
    LIBC.shmat.restype = ctypes.c_void_p
    place = LIBC.shmat(segment, None, 0)
    scene.on_close(lambda: (LIBC.shmdt(ctypes.c_void_p(place)), LIBC.shmctl(segment, 0, None)))
    scene.script("ipc", "shm", key, "evil")
    return ctypes.string_at(place).decode()


@attack("writing")
def a_message_is_put_into_a_queue_of_the_host(scene: Scene) -> str:
    key = int(scene.token[3:10], 16)
    queue = LIBC.msgget(key, 0o1666)
    scene.on_close(lambda: LIBC.msgctl(queue, 0, None))
    scene.script("ipc", "msg", key, "evil")
    found = ctypes.create_string_buffer(100)
    no_wait = 0o4000
    return found.raw[8:12].decode() if LIBC.msgrcv(queue, found, 50, 0, no_wait) > 0 else ""


@attack("writing")
def a_message_is_put_into_a_named_queue_of_the_host(scene: Scene) -> str:
    library, name = ctypes.CDLL("librt.so.1", use_errno=True), b"/" + scene.token.encode()
    previous = os.umask(0)
    queue = library.mq_open(name, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o666, None)
    os.umask(previous)
    scene.on_close(lambda: (os.close(queue), library.mq_unlink(name)))
    scene.script("ipc", "mq", scene.token, "evil")
    found = ctypes.create_string_buffer(65536)
    return found.value.decode() if library.mq_receive(queue, found, 65536, None) > 0 else ""


@attack("writing", as_root)
def device_nodes_are_made_in_the_workspace(scene: Scene) -> str:
    scene.run("mknod null c 1 3; mknod disk b 254 0")
    return ", ".join(each.name for each in scene.ws.iterdir() if each.is_char_device() or each.is_block_device())


@attack("writing", as_root)
def a_setting_of_the_kernel_is_changed(scene: Scene) -> str:
    # One that does no harm, is not of a namespace, and is put back.
    setting = Path("/proc/sys/vm/stat_interval")
    before = setting.read_text()
    scene.on_close(lambda: setting.write_text(before))
    scene.run(f"echo {int(before) + 1} > {setting}")
    return "" if setting.read_text() == before else setting.read_text()


@attack("writing", as_root)
def files_by_which_root_steers_the_kernel_are_opened_for_writing(scene: Scene) -> str:
    """They are only opened: what can be opened could be written."""
    candidates = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sysrq-trigger",
        "/proc/dynamic_debug/control",
        "/proc/irq/default_smp_affinity",
        "/sys/kernel/uevent_helper",
        "/sys/kernel/mm/ksm/run",
        "/sys/power/state",
        "/sys/module/printk/parameters/time",
        "/sys/block/vda/queue/scheduler",
    ]
    with scene.holding("opening", "w", *candidates) as processes:
        return ", ".join(link for each in processes for link in each.opened() if link.startswith(("/proc/s", "/sys")))


@attack("writing", as_root)
def a_control_group_is_made(scene: Scene) -> str:
    groups = [path.parent / scene.token for path in Path("/sys/fs/cgroup").rglob("cgroup.procs")][:12]
    for each in groups:
        scene.on_close(lambda each=each: each.is_dir() and each.rmdir())
    scene.run(f"for each in {' '.join(map(str, groups))}; do mkdir $each; done")
    return ", ".join(str(each) for each in groups if each.exists())


@attack("writing")
def a_core_dump_is_left(scene: Scene) -> str:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith(("|", "/")):
        pytest.skip(f"the host puts core dumps elsewhere: {pattern}")
    scene.run("ulimit -c unlimited; sh -c 'kill -SEGV $$'; prlimit --core=unlimited sh -c 'kill -SEGV $$'")
    return ", ".join(each.name for each in scene.ws.iterdir() if each.name.startswith("core"))


@attack("writing")
def the_state_of_the_server_is_tampered_with_where_all_around_it_may_be_written(scene: Scene) -> str:
    (scene.state / "kept").write_text("kept")
    scene.open(allow_write=[str(scene.base)])
    scene.run(
        f"echo {scene.token} > {scene.state}/planted; echo {scene.token} > {scene.state}/kept; "
        f"mv {scene.state} {scene.base}/moved; ln -s outside {scene.state}; rm -rf {scene.state}; "
        f"mkdir -p {scene.state}/commands && echo {scene.token} > {scene.state}/commands/x"
    )
    if scene.state.is_symlink() or not scene.state.is_dir():
        return "it is not where it was"
    with suppress(OSError):
        return "" if (scene.state / "kept").read_text() == "kept" else "it was overwritten"
    return "it was removed"
