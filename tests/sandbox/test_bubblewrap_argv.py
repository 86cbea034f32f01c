"""The arguments of bubblewrap, whole."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot
from openbuffer.sandbox.bubblewrap.argv import Descriptors, bubblewrap_argv
from openbuffer.sandbox.confinement.layout import Hidden, Layout

DESCRIPTORS = Descriptors(filter=11, info=12, status=15, block=13, hold=14)


def lines(argv: tuple[str, ...]) -> list[str]:
    """One option with its values on a line."""
    joined: list[str] = []
    for word in argv:
        if word.startswith("--") or not joined:
            joined.append(word)
        else:
            joined[-1] += f" {word}"
    return joined


@pytest.mark.contract("S8")
def test_a_command_without_network() -> None:
    layout = Layout(
        writable=("/home/u/ws",),
        read_only=("/home/u/ws/.git", "/etc/elsewhere"),
        hidden=(Hidden(path="/home/u/.ssh", is_directory=True), Hidden(path="/home/u/token", is_directory=False)),
        temporary="/home/u/state/t",
        temporary_places=("/tmp", "/var/tmp"),
    )
    argv = bubblewrap_argv(
        "/usr/bin/bwrap",
        layout,
        ("/bin/bash", "-c", "true"),
        cwd="/home/u/ws/sub",
        network=False,
        descriptors=DESCRIPTORS,
        environment={"LD_LIBRARY_PATH": "lib"},
    )
    assert lines(argv) == snapshot(
        [
            "/usr/bin/bwrap",
            "--unshare-user",
            "--disable-userns",
            "--cap-drop ALL",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
            "--die-with-parent",
            "--new-session",
            "--unshare-net",
            "--ro-bind / /",
            "--dev /dev",
            "--perms 1777",
            "--size 1073741824",
            "--tmpfs /dev/shm",
            "--remount-ro /dev",
            "--proc /proc",
            "--ro-bind /proc/sys /proc/sys",
            "--ro-bind-try /proc/acpi /proc/acpi",
            "--ro-bind-try /proc/bus /proc/bus",
            "--ro-bind-try /proc/fs /proc/fs",
            "--ro-bind-try /proc/irq /proc/irq",
            "--ro-bind-try /proc/scsi /proc/scsi",
            "--bind /home/u/ws /home/u/ws",
            "--bind /home/u/state/t /tmp",
            "--bind /home/u/state/t /var/tmp",
            "--ro-bind /home/u/ws/.git /home/u/ws/.git",
            "--perms 0000",
            "--tmpfs /home/u/.ssh",
            "--remount-ro /home/u/.ssh",
            "--ro-bind /dev/null /home/u/token",
            "--setenv LD_LIBRARY_PATH lib",
            "--chdir /home/u/ws/sub",
            "--seccomp 11",
            "--info-fd 12",
            "--json-status-fd 15",
            "--block-fd 13",
            "--sync-fd 14",
            "-- /bin/bash -c true",
        ]
    )


@pytest.mark.contract("S8")
def test_with_network_the_filter_is_the_same_and_only_the_namespace_is_shared() -> None:
    layout = Layout(writable=("/w",))
    common = {"cwd": "/w", "descriptors": DESCRIPTORS}
    without = bubblewrap_argv("/b", layout, ("x",), network=False, **common)  # type: ignore[arg-type]
    with_one = bubblewrap_argv("/b", layout, ("x",), network=True, **common)  # type: ignore[arg-type]
    assert [word for word in without if word not in with_one] == ["--unshare-net"]
    assert [word for word in without if word != "--unshare-net"] == list(with_one)


def test_a_command_that_looks_like_options_stays_a_command() -> None:
    argv = bubblewrap_argv(
        "/b", Layout(writable=("/w",)), ("--bind", "/", "/"), cwd="/w", network=False, descriptors=DESCRIPTORS
    )
    assert argv[-4:] == ("--", "--bind", "/", "/")
