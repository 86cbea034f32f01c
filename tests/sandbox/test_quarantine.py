"""What a command creates of protected names is moved out when it ends; nothing that the host wrote is lost (S9)."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox.errors import SandboxError
from openbuffer.sandbox.quarantine import copy as quarantine_copy
from openbuffer.sandbox.quarantine import moves as quarantine_moves
from openbuffer.sandbox.quarantine.watch import Quarantine

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.contract("S9")


class World:
    """A workspace and a state directory; ``command`` is the time in which a command would run."""

    def __init__(self, base: Path) -> None:
        self.root = base / "ws"
        self.state = base / "state"
        self.root.mkdir()
        self.quarantine = Quarantine(str(self.state))
        self.notes: tuple[str, ...] = ()

    @contextmanager
    def command(self) -> Iterator[None]:
        with self.quarantine.around([str(self.root)], longest_s=60) as watch:
            yield
        self.notes = watch.notes

    @property
    def moved(self) -> dict[str, Path]:
        """By the name that it had."""
        return {path.name[24:]: path for path in (self.state / "quarantine").iterdir()}

    @property
    def left_behind(self) -> list[str]:
        """What is in the state directory though no command runs, besides what was moved."""
        return [path.name for path in (self.state / "commands").iterdir() if path.name != "lock"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path.resolve())


@pytest.fixture
def far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quarantine lies on another file system."""
    real = os.rename

    def rename(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if src_dir_fd != dst_dir_fd:
            raise OSError(18, "Invalid cross-device link")
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(quarantine_moves.os, "rename", rename)


def test_a_command_that_creates_nothing_leaves_nothing_anywhere(world: World) -> None:
    with world.command():
        assert list(world.root.iterdir()) == []
        (world.root / "normal").write_text("x")
    assert world.notes == ()
    assert [path.name for path in world.root.iterdir()] == ["normal"]
    assert world.left_behind == []


def test_a_planted_file_is_moved_and_told_with_its_new_place(world: World) -> None:
    with world.command():
        (world.root / ".mcp.json").write_text("evil")
    assert not (world.root / ".mcp.json").exists()
    moved = world.moved[".mcp.json"]
    assert moved.read_text() == "evil"
    (note,) = world.notes
    assert str(moved) in note
    assert str(world.root / ".mcp.json") in note
    assert world.left_behind == []


@pytest.mark.parametrize(
    "name", [".git", ".vscode", ".openbuffer", "openbuffer.toml", ".envrc", ".nvim.lua", ".zshenv"]
)
def test_directories_links_and_fifos_are_moved_whatever_they_are(world: World, name: str) -> None:
    for make in (
        lambda path: path.mkdir(),
        lambda path: path.symlink_to("/etc"),
        os.mkfifo,
        lambda path: os.link(world.root / "file", path),
    ):
        (world.root / "file").touch()
        with world.command():
            make(world.root / name)
        assert not os.path.lexists(world.root / name)
        assert len(world.notes) == 1
    assert len(world.moved) == 1  # by the name that it had
    assert len(list((world.state / "quarantine").iterdir())) == 4


def test_the_moved_tree_keeps_depth_names_and_modes(world: World) -> None:
    with world.command():
        deep = os.open(world.root, os.O_RDONLY)
        os.mkdir(".git", dir_fd=deep)
        for _ in range(1_200):
            inner = os.open(".git", os.O_RDONLY, dir_fd=deep)
            os.close(deep)
            deep = inner
            os.mkdir(".git", dir_fd=deep)
        os.close(deep)
        strange = os.path.join(os.fsencode(world.root), b".git", b"\xff\xfe\n")
        os.mkfifo(strange, 0o000)
        (world.root / ".git").chmod(0o555)
    assert not (world.root / ".git").exists()
    moved = world.moved[".git"]
    assert (moved / ".git/.git/.git").is_dir()
    assert moved.stat().st_mode & 0o777 == 0o555
    assert os.path.lexists(os.path.join(os.fsencode(moved), b"\xff\xfe\n"))
    subprocess.run(["rm", "-rf", str(moved)], check=True)  # too deep for pytest's own cleaning up


def test_what_was_there_before_is_never_touched(world: World) -> None:
    (world.root / ".git").mkdir()
    (world.root / ".envrc").write_text("old")
    with world.command():
        (world.root / ".git/index").write_text("the host's")
        (world.root / ".envrc").write_text("the host's")
        (world.root / ".mcp.json").write_text("evil")
    assert (world.root / ".git/index").read_text() == "the host's"
    assert (world.root / ".envrc").read_text() == "the host's"
    assert list(world.moved) == [".mcp.json"]


def test_a_file_that_the_host_saved_over_stays_and_is_told(world: World) -> None:
    (world.root / ".envrc").write_text("old")
    with world.command():
        (world.root / "new").write_text("saved by an editor")
        (world.root / "new").rename(world.root / ".envrc")
    assert (world.root / ".envrc").read_text() == "saved by an editor"
    (note,) = world.notes
    assert "replaced on the host" in note


def test_an_entry_that_the_host_removed_stays_removed(world: World) -> None:
    (world.root / ".envrc").write_text("old")
    with world.command():
        (world.root / ".envrc").unlink()
    assert world.notes == ()
    assert list(world.root.iterdir()) == []


def test_what_the_host_is_known_to_have_written_is_kept(world: World) -> None:
    with world.command():
        (world.root / ".vscode").mkdir()
        (world.root / ".vscode/settings.json").write_text("{}")
        world.quarantine.host_wrote(str(world.root / ".vscode/settings.json"), b"{}")
        (world.root / ".mcp.json").write_text("host")
        world.quarantine.host_wrote(str(world.root / ".mcp.json"), b"host")
    assert world.notes == ()
    assert (world.root / ".vscode/settings.json").read_text() == "{}"
    assert (world.root / ".mcp.json").read_text() == "host"


def test_what_the_command_changed_of_a_new_file_of_the_hosts_is_not_the_hosts(world: World) -> None:
    with world.command():
        for name, content in {".mcp.json": b"host", ".envrc": b"host", ".npmrc": b"host"}.items():
            world.quarantine.host_wrote(str(world.root / name), content)
            (world.root / name).write_bytes(content)
        (world.root / ".vscode").mkdir()
        (world.root / ".vscode/settings.json").write_text("{}")
        world.quarantine.host_wrote(str(world.root / ".vscode/settings.json"), b"{}")
        (world.root / ".mcp.json").write_text("evil")
        os.link(world.root / ".envrc", world.root / "second-name")
        (world.root / ".npmrc").chmod(0o755)
        (world.root / ".vscode/tasks.json").write_text("evil")
    assert sorted(world.moved) == [".envrc", ".mcp.json", ".npmrc", ".vscode"]


def test_replaced_and_removed_links_are_put_back(world: World) -> None:
    (world.root / "conf").mkdir()
    for name in (".vscode", ".cursor", ".claude", ".git"):
        (world.root / name).symlink_to("conf")
    with world.command():
        (world.root / ".vscode").unlink()
        (world.root / ".cursor").unlink()
        (world.root / ".cursor").symlink_to("evil")
        (world.root / ".claude").unlink()
        (world.root / ".claude").mkdir()
        (world.root / ".claude/settings.json").write_text("evil")
    assert all(os.readlink(world.root / name) == "conf" for name in (".vscode", ".cursor", ".claude", ".git"))
    assert (world.moved[".claude"] / "settings.json").read_text() == "evil"
    assert os.readlink(world.moved[".cursor"]) == "evil"
    assert len([note for note in world.notes if "leads to conf again" in note]) == 3


def test_a_link_that_leads_to_another_file_afterwards_is_told(world: World) -> None:
    (world.root / "conf").write_text("a")
    (world.root / ".envrc").symlink_to("conf")
    with world.command():
        (world.root / "conf").unlink()
        (world.root / "other").write_text("evil")
        (world.root / "other").rename(world.root / "conf")
    (note,) = world.notes
    assert "leads to another file" in note


def test_a_workspace_that_becomes_a_repository_itself_is_flagged_and_left(world: World) -> None:
    (world.root / "refs").mkdir()
    with world.command():
        (world.root / "HEAD").write_text("ref: refs/heads/main")
        (world.root / "objects").mkdir()
    (note,) = world.notes
    assert "takes such a directory for a repository" in note
    assert (world.root / "HEAD").exists()
    with world.command():
        pass
    assert world.notes == ()


def test_commands_side_by_side_cannot_plant_for_each_other(world: World) -> None:
    """One plants, the other starts and takes it for old, the first removes it, the second plants it again."""
    other = Quarantine(str(world.state))  # another server
    with other.around([str(world.root)], longest_s=60) as first:
        (world.root / ".mcp.json").write_text("evil")
        with world.quarantine.around([str(world.root)], longest_s=60) as second:
            (world.root / ".mcp.json").unlink()
            (world.root / ".mcp.json").write_text("evil again")
        assert not (world.root / ".mcp.json").exists()
    assert len(second.notes) == 1
    assert first.notes == ()
    assert world.left_behind == []


def test_a_link_is_put_back_also_by_a_command_that_began_after_it_was_replaced(world: World) -> None:
    (world.root / ".envrc").symlink_to("good")
    with world.quarantine.around([str(world.root)], longest_s=60):
        (world.root / ".envrc").unlink()
        (world.root / ".envrc").symlink_to("evil")
        with world.quarantine.around([str(world.root)], longest_s=60):
            pass
        assert os.readlink(world.root / ".envrc") == "good"
    assert os.readlink(world.root / ".envrc") == "good"


def test_many_commands_at_once_leave_no_planted_name_and_no_record(world: World) -> None:
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            for _ in range(6):
                with world.quarantine.around([str(world.root)], longest_s=60):
                    Path(world.root / f".tmp{number}").write_text(str(number))
                    Path(world.root / f".tmp{number}").replace(world.root / ".envrc")
        except BaseException as error:  # noqa: BLE001  told by the assertion below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert list(world.root.iterdir()) == []
    assert world.left_behind == []


def test_a_planter_that_goes_on_is_told_and_does_not_hold_the_result(world: World) -> None:
    """As another command in the same workspace may; its own end moves what is left."""
    rename = os.rename
    planted: list[int] = []

    def rename_and_plant(*args: object, **kwargs: int) -> None:
        rename(*args, **kwargs)  # type: ignore[arg-type]  passed on as it came
        planted.append(1)
        (world.root / ".envrc").write_text("again")

    with pytest.MonkeyPatch.context() as patch, world.command():
        (world.root / ".envrc").write_text("evil")
        patch.setattr(quarantine_moves.os, "rename", rename_and_plant)
        with world.quarantine.around([str(world.root)], longest_s=60) as watch:
            pass
        patch.setattr(quarantine_moves.os, "rename", rename)
    assert len(planted) == 8
    assert "again and again" in watch.notes[-1]
    assert not (world.root / ".envrc").exists()


@pytest.mark.usefixtures("far_away")
def test_across_file_systems_the_content_travels_and_the_original_goes(world: World) -> None:
    with world.command():
        (world.root / ".git/hooks").mkdir(parents=True)
        (world.root / ".git/hooks/post-checkout").write_text("#!/bin/sh\n")
        (world.root / ".git/hooks/post-checkout").chmod(0o755)
        (world.root / ".git/link").symlink_to("/etc/passwd")
        os.mkfifo(world.root / ".git/fifo")
        (world.root / ".git/hooks").chmod(0o555)
    assert list(world.root.iterdir()) == []
    moved = world.moved[".git"]
    assert (moved / "hooks/post-checkout").stat().st_mode & 0o777 == 0o755
    assert os.readlink(moved / "link") == "/etc/passwd"
    assert (moved / "hooks").stat().st_mode & 0o777 == 0o555
    assert world.left_behind == []


@pytest.mark.usefixtures("far_away")
@pytest.mark.parametrize("kind", ["large", "many", "deep", "socket"])
def test_what_cannot_travel_loses_its_name_and_is_told(
    world: World, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quarantine_copy, "COPY_MAX_ENTRIES", 20)
    with world.command():
        git = world.root / ".git"
        git.mkdir()
        if kind == "large":
            with (git / "pack").open("wb") as file:
                file.truncate(1 << 40)
        elif kind == "many":
            for number in range(30):
                (git / str(number)).touch()
        elif kind == "deep":
            (git / "/".join("d" * 70)).mkdir(parents=True)
        else:
            import socket

            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(git / "s")) if len(str(git)) < 100 else pytest.skip("path too long for a socket")
    (left,) = world.root.iterdir()
    assert left.name.startswith("moved-by-openbuffer-")
    assert left.is_dir()
    (note,) = world.notes
    assert str(left) in note
    assert "could not be taken out" in note
    assert world.moved == {}
    assert world.left_behind == []


@pytest.mark.usefixtures("far_away")
def test_what_is_added_while_a_tree_travels_is_not_deleted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    remove = quarantine_copy.remove_tree

    def add_and_remove(directory_fd: int, name: str, copied: quarantine_copy.Copied | None) -> int:
        (world.root / name / "late").write_text("late")
        return remove(directory_fd, name, copied)

    monkeypatch.setattr(quarantine_copy, "remove_tree", add_and_remove)
    with world.command():
        (world.root / ".git").mkdir()
        (world.root / ".git/HEAD").write_text("x")
    (left,) = world.root.iterdir()
    assert [path.name for path in left.iterdir()] == ["late"]
    assert (world.moved[".git"] / "HEAD").read_text() == "x"
    assert str(left) in world.notes[0]


def test_a_state_directory_that_cannot_be_used_refuses_the_command(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "state").write_text("a file")
    quarantine = Quarantine(str(tmp_path / "state"))
    with (
        pytest.raises(SandboxError, match="no command was run"),
        quarantine.around([str(tmp_path / "ws")], longest_s=1),
    ):
        pass


def test_a_workspace_that_is_not_there_refuses_the_command(world: World) -> None:
    with (
        pytest.raises(SandboxError, match="cannot be opened"),
        world.quarantine.around([str(world.root / "gone")], longest_s=1),
    ):
        pass
    assert world.left_behind == []


def test_an_error_of_the_command_goes_on_and_what_it_planted_is_moved(world: World) -> None:
    def run() -> None:
        with world.command():
            (world.root / ".envrc").write_text("evil")
            raise RuntimeError("cancelled")

    with pytest.raises(RuntimeError, match="cancelled"):
        run()
    assert list(world.root.iterdir()) == []
    assert world.left_behind == []


def test_a_line_end_in_a_name_does_not_make_a_line_of_the_note(tmp_path: Path) -> None:
    world = World(tmp_path)
    strange = os.path.join(os.fsencode(tmp_path), b"a\n\xff")
    os.mkdir(strange)
    with world.quarantine.around([os.fsdecode(strange)], longest_s=1) as watch:
        os.mkdir(os.path.join(strange, b".git"))
    (note,) = watch.notes
    assert "a\\n\\xff/.git" in note
    assert note.isprintable()


@pytest.mark.usefixtures("far_away")
def test_many_trees_that_have_to_be_copied_share_one_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openbuffer.sandbox.quarantine.settling.COPY_MAX_S", -1.0)
    with world.command():
        (world.root / ".git").mkdir()
        (world.root / ".envrc").write_text("evil")
    assert sorted(path.name[36:] for path in world.root.iterdir()) == [".envrc", ".git"]
    assert len(world.notes) == 2
