"""Delete: one file, a link itself or an empty directory, inside the roots, if it still is what was looked at."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from openbuffer.tools import (
    ToolContext,
)
from openbuffer.tools.host import create_delete_tool
from openbuffer.tools.support import deleting

from .delete_desk import delete, planned, tree, workspace

pytestmark = pytest.mark.contract("F11")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return workspace(tmp_path)


# --- what is deleted -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [b"", b"text\n", b"\0binary\xff", "é".encode("utf-16")], ids=repr)
async def test_a_file_is_deleted_whatever_it_holds(root: Path, raw: bytes) -> None:
    (root / "f.txt").write_bytes(raw)
    result = await delete(root)
    assert result.output == f"Deleted {root}/f.txt: a file of {len(raw)} bytes."
    assert os.listdir(root) == []


@pytest.mark.contract("P1")
@pytest.mark.parametrize("name", ["[...slug].txt", "a..b", " leading", "*", "new\nline", "%20#", "e\u0301", "-rf", "~"])
async def test_a_file_of_any_name_is_deleted_and_no_other(root: Path, name: str) -> None:
    (root / name).write_text("x")
    assert (await delete(root, str(root / name))).success
    assert tree(root) == {"f.txt": "a\nb\nc"}


async def test_a_file_over_the_budget_is_deleted_without_being_loaded(root: Path) -> None:
    with (root / "f.txt").open("wb") as file:
        file.truncate(300 * 1024 * 1024)  # holes only
    tool = create_delete_tool(cwd=root)
    plan = await planned(tool)
    assert plan.change is not None
    assert (plan.change.hunks, plan.change.before_bytes) == ((), 300 * 1024 * 1024)
    assert (await tool.commit(plan, ToolContext())).success
    plan.close()
    assert os.listdir(root) == []


@pytest.mark.contract("F4")
async def test_of_a_file_with_other_names_one_is_deleted_and_that_is_told(root: Path) -> None:
    os.link(root / "f.txt", root / "twin")
    result = await delete(root)
    assert "Note: its content is still there under other names of the file (hard links: 1)." in result.output
    assert tree(root) == {"twin": "a\nb\nc"}


@pytest.mark.contract("P1")
@pytest.mark.parametrize("target", ["f.txt", "dir", "nowhere", "link", "..", "../outside", "/etc/passwd", "/"])
@pytest.mark.parametrize("spelling", ["link", "dir/../link", "{root}/link", "{root}//./link", "alias/link"])
@pytest.mark.usefixtures("way")
async def test_of_a_link_the_link_itself_is_deleted_and_never_what_it_leads_to(
    root: Path, target: str, spelling: str
) -> None:
    (root / "dir").mkdir()
    (root / "alias").symlink_to(".")
    (root.parent / "outside").write_text("outside")
    before = tree(root.parent)
    (root / "link").symlink_to(target)
    result = await delete(root, spelling.format(root=root))
    assert result.success, result.error
    assert result.output == (f"Deleted the link {root}/link, which led to {target}; what it led to was left alone.")
    assert tree(root.parent) == before


@pytest.mark.usefixtures("way")
async def test_a_link_is_found_under_every_spelling_of_the_directory_above(root: Path) -> None:
    """Resolving a spelling from outside must not follow the last name."""
    (root / "empty").mkdir()
    (root.parent / "way in").symlink_to(root)
    for target in ("empty", "f.txt", "nowhere"):
        (root / "link").symlink_to(target)
        result = await delete(root, str(root.parent / "way in" / "link"))
        assert result.output.startswith(f"Deleted the link {root}/link, which led to {target};"), result
    assert tree(root) == {"empty": "dir", "f.txt": "a\nb\nc"}


@pytest.mark.parametrize("spelling", ["dir", "dir/", "dir//", "{root}/dir/"])
@pytest.mark.usefixtures("way")
async def test_an_empty_directory_is_deleted(root: Path, spelling: str) -> None:
    (root / "dir").mkdir()
    result = await delete(root, spelling.format(root=root))
    assert result.output == f"Deleted {root}/dir: an empty directory."
    assert tree(root) == {"f.txt": "a\nb\nc"}


@pytest.mark.parametrize(("names", "told"), [(["a"], "1 entry"), (["a", ".b", "c"], "3 entries")])
async def test_a_directory_with_entries_is_refused_with_their_number(root: Path, names: list[str], told: str) -> None:
    for name in names:
        (root / "dir" / name).mkdir(parents=True)
    before = tree(root)
    assert str((await delete(root, "dir")).error) == (
        f"{root}/dir: is a directory with {told}, and only an empty one is deleted. Nothing was deleted. "
        "Delete what is in it first, one by one."
    )
    assert tree(root) == before


# --- what is not ---------------------------------------------------------------------------------------------------


@pytest.mark.contract("P1")
@pytest.mark.usefixtures("way")
async def test_no_root_is_deleted_by_any_of_its_names(root: Path) -> None:
    given, inner, led_to = root.parent / "given", root / "inner", root.parent / "led to"
    for directory in (inner, led_to):
        directory.mkdir()
    given.symlink_to(root)
    (root / "door").symlink_to(led_to)
    (root / "f.txt").unlink()
    before = tree(root.parent)
    roots = (given, inner, root / "door")
    for path in (given, root, inner, root / "door", led_to, given / "inner", given / "door", f"{root}/inner/"):
        result = await create_delete_tool(cwd=roots).execute({"path": str(path)})
        assert "is a root of the workspace" in result.value["error"], path
    assert tree(root.parent) == before


@pytest.mark.parametrize("path", [".", "..", "dir/.", "dir/..", "dir/../", "./", "{root}/.", "{root}/dir/./", "../.."])
async def test_a_dot_is_no_name(root: Path, path: str) -> None:
    (root / "dir").mkdir()
    error = str((await delete(root, path.format(root=root))).error)
    assert "ends in `.` or `..`, which is no name of its own" in error
    assert (root / "dir").is_dir()


@pytest.mark.contract("P1", "P5")
@pytest.mark.parametrize(
    "path", ["../outside/f", "{up}/outside/f", "out/f", "out/empty", "{up}/ws-evil/f", "dir/../../outside/f", "/"]
)
@pytest.mark.usefixtures("way")
async def test_nothing_outside_is_deleted_and_the_next_call_works(root: Path, path: str) -> None:
    for directory in (root / "dir", root.parent / "outside" / "empty", root.parent / "ws-evil"):
        directory.mkdir(parents=True)
    (root.parent / "outside" / "f").write_text("secret")
    (root.parent / "ws-evil" / "f").write_text("secret")
    (root / "out").symlink_to("../outside")
    before = tree(root.parent)
    assert "outside the workspace" in str((await delete(root, path.format(up=root.parent))).error)
    assert tree(root.parent) == before
    assert (await delete(root)).success


async def test_a_directory_above_that_is_a_link_inside_the_root_is_followed(root: Path) -> None:
    (root / "dir").mkdir()
    (root / "dir" / "g").write_text("g")
    (root / "alias").symlink_to("dir")
    assert (await delete(root, "alias/g")).output == f"Deleted {root}/dir/g: a file of 1 bytes."
    assert tree(root) == {"alias": "-> dir", "dir": "dir", "f.txt": "a\nb\nc"}


@pytest.mark.contract("P6")
async def test_what_is_no_file_is_told_and_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # a socket's path is limited to about 100 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    for name, what in {"pipe": "a FIFO (named pipe)", "socket": "a socket"}.items():
        assert str((await delete(root, name)).error) == (
            f"{root}/{name}: is {what}; only files, links and empty directories are deleted."
        )
    device = await create_delete_tool(cwd="/dev").execute({"path": "null"})
    assert device.value["error"].startswith("/dev/null: is a character device; only files")
    assert "/proc" in str((await delete(Path("/"), "/proc/self/environ")).error)
    assert "NUL" in str((await delete(root, "f\0")).error)
    assert sorted(os.listdir(root)) == ["f.txt", "pipe", "socket"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("f.txt/", "the path ends in a slash, and this is no directory. Nothing was deleted."),
        ("link/", "the path ends in a slash, and this is a link; leave the slash out to delete the link itself."),
        ("f.txt/below", "is not a directory, so nothing lies below it"),
    ],
)
async def test_a_slash_behind_what_is_no_directory_is_not_guessed_at(root: Path, path: str, says: str) -> None:
    (root / "empty").mkdir()
    (root / "link").symlink_to("empty")
    before = tree(root)
    assert says in str((await delete(root, path)).error)
    assert tree(root) == before


async def test_a_read_only_or_unreadable_file_is_respected(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_args, **_more: False)
    monkeypatch.setattr(os, "supports_effective_ids", set[Any]())
    assert "is read-only for this process; the file is unchanged" in str((await delete(root)).error)
    assert (root / "f.txt").exists()


async def test_a_directory_that_may_not_be_read_is_not_tried(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "dir").mkdir()
    real = os.open

    def forbidden(path: Any, flags: int, *args: Any, **more: Any) -> int:
        if path == "dir" and flags & os.O_DIRECTORY and not flags & getattr(os, "O_PATH", 0):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, flags, *args, **more)

    monkeypatch.setattr(deleting.os, "open", forbidden)
    monkeypatch.setattr(os, "supports_dir_fd", os.supports_dir_fd | {forbidden})
    assert "cannot be read (Permission denied), so that it is not known whether it is empty" in str(
        (await delete(root, "dir")).error
    )


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EACCES, "The permissions of its directory (or an attribute of its own) have to be changed first."),
        (errno.EROFS, "The file system is read-only"),
        (errno.EBUSY, "It is a mount point"),
        (errno.EIO, "Find out why before trying again."),
    ],
)
async def test_what_the_system_refuses_is_told_with_a_next_step(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    def refuse(*_args: object, **_more: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(deleting.os, "unlink", refuse)
    error = str((await delete(root)).error)
    assert error.startswith(f"{root}/f.txt: cannot be deleted ({os.strerror(number)}); nothing was deleted. {says}")


async def test_a_missing_name_is_told_with_names_that_are_there(root: Path) -> None:
    for name in ("README.md", "settings.json", "other"):
        (root / name).write_text("")
    assert str((await delete(root, "Readme.MD")).error) == (
        f"no such file: {root}/Readme.MD (root {root}). Check the name; a relative path starts at the first root. "
        "That directory has README.md."
    )
    assert str((await delete(root, "setings.json")).error).endswith("That directory has settings.json.")
    assert "That directory has" not in str((await delete(root, "zzz")).error)
    assert f"the directory {root}/no does not exist" in str((await delete(root, "no/such")).error)


@pytest.mark.contract("T3")
async def test_path_is_the_only_argument(root: Path) -> None:
    schema = create_delete_tool(cwd=root).input_schema
    assert list(schema["properties"]) == schema["required"] == ["path"]
    assert schema["additionalProperties"] is False
