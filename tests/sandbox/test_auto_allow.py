"""A confined command runs without being asked about only where it has no way out that nothing closes (S7, S9)."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox.confinement import auto_allow, hard_links
from openbuffer.sandbox.confinement.auto_allow import AutoAllowance, AutoAllowRules
from openbuffer.sandbox.confinement.hard_links import look_for_hard_links
from openbuffer.sandbox.quarantine.protected import protected_paths

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.contract("S7", "S9")


class Session:
    def __init__(self, base: Path) -> None:
        self.ws = base / "ws"
        self.home = base / "home"
        self.cache = base / "cache"
        for path in (self.ws, self.home, self.cache):
            path.mkdir()
        self.writable = [str(self.ws)]
        self.rules = AutoAllowRules([str(self.ws)], home=str(self.home))

    def judge(self, *, setting: bool = True, confined: bool = True) -> AutoAllowance:
        return self.rules.judge(
            setting=setting, confined=confined, protected=protected_paths([str(self.ws)]), writable=self.writable
        )

    def because(self) -> str:
        return self.judge().because


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path.resolve())


def test_a_plain_workspace_is_allowed_with_the_setting_and_only_confined(session: Session) -> None:
    (session.ws / ".git").mkdir()
    (session.ws / "inner").symlink_to("/etc")
    (session.home / ".bashrc").write_text("")
    assert session.judge() == AutoAllowance(allowed=True)
    assert session.judge(setting=False) == AutoAllowance(allowed=False, because="auto_allow is off")
    assert session.judge(confined=False) == AutoAllowance(allowed=False, because="nothing confines it")


@pytest.mark.parametrize("target", ["conf/mcp.json", "/etc/hostname", "nowhere"])
def test_a_protected_link_asks_wherever_it_leads(session: Session, target: str) -> None:
    (session.ws / ".mcp.json").symlink_to(target)
    assert str(session.ws / ".mcp.json") in session.because()


@pytest.mark.parametrize(
    "name", [".bashrc", ".gitconfig", ".config", ".config/git/config", ".ssh/config", ".local/bin"]
)
def test_a_configuration_of_the_home_that_leads_into_the_workspace_asks(session: Session, name: str) -> None:
    path = session.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(session.ws / "dotfiles/not-yet")
    assert str(path) in session.because()


def test_a_configuration_that_leads_through_the_workspace_and_out_again_asks(session: Session) -> None:
    (session.home / "real").write_text("")
    (session.ws / "hop").symlink_to(session.home / "real")
    (session.home / ".bashrc").symlink_to(session.ws / "hop")
    assert str(session.home / ".bashrc") in session.because()


def test_a_configuration_named_by_the_host_counts_too(session: Session, tmp_path: Path) -> None:
    (tmp_path / "xdg").symlink_to(session.ws)
    session.rules = AutoAllowRules([str(session.ws)], home=str(session.home), configuration=[str(tmp_path / "xdg/git")])
    assert "configures the host" in session.because()


def test_a_workspace_that_holds_the_home_directory_asks(session: Session) -> None:
    session.writable = [str(session.home.parent)]
    assert "home directory" in session.because()


def test_a_hard_link_to_outside_asks_and_one_within_does_not(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_allow, "REMEMBERED_S", -1.0)
    (session.ws / "a/b").mkdir(parents=True)
    (session.ws / "file").write_text("x")
    os.link(session.ws / "file", session.ws / "a/b/second")
    assert session.judge().allowed
    os.link(session.ws / "file", session.home / "outside")
    because = session.because()
    assert "hard link" in because
    assert str(session.ws) in because


def test_names_in_other_writable_places_are_not_outside(session: Session) -> None:
    (session.cache / "wheel").write_text("x")
    os.link(session.cache / "wheel", session.ws / "file")
    session.writable = [str(session.ws), str(session.cache)]
    assert session.judge().allowed


def test_what_is_mounted_read_only_may_have_other_names(session: Session) -> None:
    """As the objects of a repository that was cloned from beside it."""
    (session.ws / ".git/objects").mkdir(parents=True)
    (session.home / "object").write_text("x")
    os.link(session.home / "object", session.ws / ".git/objects/1")
    os.link(session.home / "object", session.ws / ".mcp.json")
    assert session.judge().allowed


def test_an_answer_is_remembered_for_its_time_and_place(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    real = look_for_hard_links
    monkeypatch.setattr(auto_allow, "look_for_hard_links", lambda *args: looks.append(args) or real(*args))
    threads = [threading.Thread(target=session.judge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(looks) == 1
    session.writable.append(str(session.cache))
    session.judge()
    assert len(looks) == 2


@pytest.mark.parametrize("bound", ["ENTRIES_MAX", "DEPTH_MAX", "LINKED_MAX", "LOOK_MAX_S"])
def test_what_cannot_be_known_in_time_asks(session: Session, bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard_links, bound, -1 if bound == "LOOK_MAX_S" else 3)
    (session.ws / "a/b/c/d").mkdir(parents=True)
    for number in range(300):
        (session.ws / f"a/{number}").touch()
        os.link(session.ws / f"a/{number}", session.home / f"{number}")
    assert "is not known" in session.because()


def test_a_workspace_hundreds_of_directories_deep_ends(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    assert "levels deep" in look_for_hard_links([str(tmp_path)], [], frozenset()).unknown


def test_a_directory_that_cannot_be_read_is_not_taken_for_empty(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    (session.ws / "closed").mkdir()
    real = os.open

    def refuse(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == "closed":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(hard_links.os, "open", refuse)
    assert "could not be read" in look_for_hard_links([str(session.ws)], [], frozenset()).unknown


def test_fifos_devices_and_strange_names_are_survived(session: Session) -> None:
    os.mkfifo(session.ws / "fifo")
    os.mkdir(os.path.join(os.fsencode(session.ws), b"\xff\n"))
    assert session.judge().allowed
    os.link(session.ws / "fifo", session.home / "fifo")
    assert look_for_hard_links([str(session.ws)], [], frozenset()).outside == str(session.ws / "fifo")


def test_a_directory_that_is_given_twice_counts_once(session: Session) -> None:
    (session.ws / "sub").mkdir()
    (session.ws / "sub/file").write_text("x")
    os.link(session.ws / "sub/file", session.home / "outside")
    roots = [str(session.ws), str(session.ws / "sub"), str(session.ws)]
    assert look_for_hard_links(roots, [], frozenset()).outside == str(session.ws / "sub/file")
