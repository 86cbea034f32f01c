"""Replacing and creating: whole-old or whole-new, never over somebody else's change, everything else kept."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.tools.errors import PlanOutdatedError, ToolFailure
from openbuffer.tools.support import before_state, descriptor_path, unnamed_file
from openbuffer.tools.support.atomic import Written, create_file, replace_file
from openbuffer.tools.support.before_state import same_content
from openbuffer.tools.support.deleting import delete_directory, delete_file
from openbuffer.tools.support.paths import Located, Roots
from openbuffer.tools.support.unnamed_file import TEMPORARY_PREFIX, UnnamedFile, write_all

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    return root


@pytest.fixture(params=["nameless", "linking forbidden", "named", "named without hard links"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every kind of file system gives the same result."""

    def forbidden(*_args: Any, **_kwargs: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if request.param not in {"nameless", "linking forbidden"}:
        monkeypatch.setattr(unnamed_file, "_LINUX_ANONYMOUS", None)
    if request.param in {"linking forbidden", "named without hard links"}:
        monkeypatch.setattr(os, "link", forbidden)
    return request.param


def replaced(
    root: Path, name: str, new: bytes, *, expected: bytes | None = None, before_commit: Callable[[], object] = int
) -> Written:
    with Roots(root).locate(name) as located:
        old = os.pread(located.require_file(), 1 << 24, 0)
        before_commit()
        return replace_file(located, [new], expected=old if expected is None else expected)


def created(root: Path, name: str, new: bytes = b"new", *, before_commit: Callable[[], object] = int) -> Written:
    with Roots(root).locate(name) as located:
        assert located.kind == "missing"
        before_commit()
        return create_file(located, [new])


# --- the content -------------------------------------------------------------------------------------------------


@pytest.mark.contract("F4")
@pytest.mark.usefixtures("way")
def test_replacing_gives_the_new_content_under_the_old_name_and_leaves_nothing_else(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    with Roots(ws).locate("f") as located:
        written = replace_file(located, [b"ne", memoryview(b"xwx")[1:2], b"", b"!"], expected=[b"o", memoryview(b"ld")])
    assert (ws / "f").read_bytes() == b"new!"[:2] + b"w!"
    assert os.listdir(ws) == ["f"]
    assert written.notes == ()
    assert os.path.samestat(written.status, (ws / "f").stat())
    assert written.status.st_size == 4


@pytest.mark.contract("F3", "F4")
@pytest.mark.usefixtures("way")
def test_creating_gives_the_content_and_leaves_nothing_else(ws: Path) -> None:
    written = created(ws, "f", b"new")
    assert (ws / "f").read_bytes() == b"new"
    assert os.listdir(ws) == ["f"]
    assert written.notes == ()
    assert os.path.samestat(written.status, (ws / "f").stat())
    assert (ws / "f").stat().st_nlink == 1


@pytest.mark.contract("F3", "P5")
@pytest.mark.usefixtures("way")
def test_creating_makes_the_missing_parents(ws: Path) -> None:
    created(ws, "a/b/c/f")
    assert (ws / "a/b/c/f").read_bytes() == b"new"


@pytest.mark.parametrize(
    "size", [0, 1, before_state.COMPARE_BYTES - 1, before_state.COMPARE_BYTES, 3 * before_state.COMPARE_BYTES + 7]
)
def test_content_of_any_size_is_compared_whole(ws: Path, size: int) -> None:
    old = os.urandom(size)
    (ws / "f").write_bytes(old)
    replaced(ws, "f", b"new" + old)
    assert (ws / "f").read_bytes() == b"new" + old
    for place in {0, size // 2, size - 1} if size else ():
        (ws / "f").write_bytes(old)
        other = bytearray(old)
        other[place] ^= 1
        with pytest.raises(PlanOutdatedError):
            replaced(ws, "f", b"new", expected=bytes(other))
        assert (ws / "f").read_bytes() == old


def test_comparing_sees_a_longer_and_a_shorter_file(ws: Path) -> None:
    (ws / "f").write_bytes(b"12345")
    fd = os.open(ws / "f", os.O_RDONLY)
    try:
        assert same_content(fd, [memoryview(b"123"), memoryview(b"45")])
        assert not same_content(fd, [memoryview(b"1234")])
        assert not same_content(fd, [memoryview(b"123456")])
        assert not same_content(fd, [])
    finally:
        os.close(fd)


def test_many_parts_and_short_writes_arrive_in_order(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [bytes([n % 251]) * (n % 7) for n in range(5_000)]
    real_writev = os.writev
    calls = 0

    def stingy(fd: int, buffers: list[memoryview]) -> int:
        nonlocal calls
        calls += 1
        assert len(buffers) <= unnamed_file._MOST_PARTS
        first = buffers[0]
        return real_writev(fd, [first[: max(1, len(first) // 2)]] if calls % 3 else buffers)

    monkeypatch.setattr(os, "writev", stingy)
    fd = os.open(ws / "f", os.O_WRONLY | os.O_CREAT)
    try:
        write_all(fd, parts)
    finally:
        os.close(fd)
    assert (ws / "f").read_bytes() == b"".join(parts)


def test_a_write_that_makes_no_progress_ends_as_a_failure(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "writev", lambda _fd, _buffers: 0)
    (ws / "f").write_bytes(b"old")
    with pytest.raises(ToolFailure, match="takes no more bytes"):
        replaced(ws, "f", b"new")
    assert (ws / "f").read_bytes() == b"old"


@pytest.mark.contract("F4")
@pytest.mark.parametrize("target", ["sub/f", "{ws}/sub/f"])
def test_a_link_stays_a_link_and_its_target_is_replaced(ws: Path, target: str) -> None:
    (ws / "sub").mkdir()
    (ws / "sub" / "f").write_bytes(b"old")
    (ws / "link").symlink_to(target.format(ws=ws))
    replaced(ws, "link", b"new")
    assert (ws / "link").is_symlink()
    assert (ws / "sub" / "f").read_bytes() == b"new"
    assert not (ws / "sub" / "f").is_symlink()


def test_writing_through_a_dangling_link_creates_its_target(ws: Path) -> None:
    (ws / "link").symlink_to("sub/f")
    created(ws, "link")
    assert (ws / "link").is_symlink()
    assert (ws / "sub" / "f").read_bytes() == b"new"


@pytest.mark.contract("F4")
def test_a_hard_linked_file_is_replaced_and_said_to_be_one(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    os.link(ws / "f", ws / "other")
    written = replaced(ws, "f", b"new")
    assert written.notes == ("other names of this file (hard links: 2) keep the old content",)
    assert ((ws / "f").read_bytes(), (ws / "other").read_bytes()) == (b"new", b"old")


def test_no_descriptor_is_left_open(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    before = len(os.listdir("/dev/fd"))
    replaced(ws, "f", b"new")
    created(ws, "a/b/c")
    with pytest.raises(PlanOutdatedError):
        replaced(ws, "f", b"x", expected=b"other")
    with pytest.raises(PlanOutdatedError):
        created(ws, "d/e", before_commit=lambda: ((ws / "d").mkdir(), (ws / "d" / "e").write_bytes(b"")))
    assert len(os.listdir("/dev/fd")) == before


# --- what others do meanwhile ------------------------------------------------------------------------------------


@pytest.mark.contract("E12", "T12")
@pytest.mark.parametrize(
    "meddle",
    [
        lambda f: f.write_bytes(b"theirs"),
        lambda f: f.write_bytes(b"OLD"),
        lambda f: f.unlink(),
        lambda f: (f.unlink(), f.mkdir()),
        lambda f: (f.unlink(), f.symlink_to("/etc/passwd")),
        lambda f: (f.unlink(), os.mkfifo(f)),
        lambda f: f.parent.rename(f.parent.parent / "moved"),
        lambda f: (f.unlink(), f.parent.rmdir()),
        lambda f: (f.parent.rename(f.parent.parent / "moved"), f.parent.symlink_to("/etc")),
    ],
)
def test_what_changed_since_the_plan_is_noticed_and_left_alone(ws: Path, meddle: Callable[[Path], object]) -> None:
    file = ws / "sub" / "f"
    file.parent.mkdir()
    file.write_bytes(b"old")
    with pytest.raises(PlanOutdatedError, match=f"^{file}: "):
        replaced(ws, "sub/f", b"new", before_commit=lambda: meddle(file))
    for place in (file, ws / "moved" / "f"):
        if place.is_file() and not place.is_symlink() and str(place.resolve()).startswith(str(ws)):
            assert place.read_bytes() in {b"theirs", b"OLD", b"old"}
    assert not [name for _, _, names in os.walk(ws) for name in names if name.startswith(TEMPORARY_PREFIX)]


@pytest.mark.contract("E12")
def test_one_byte_changed_with_the_same_size_and_times_is_noticed(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    status = (ws / "f").stat()

    def meddle() -> None:
        (ws / "f").write_bytes(b"oLd")
        os.utime(ws / "f", ns=(status.st_atime_ns, status.st_mtime_ns))

    with pytest.raises(PlanOutdatedError):
        replaced(ws, "f", b"new", before_commit=meddle)
    assert (ws / "f").read_bytes() == b"oLd"


def test_a_touched_or_rewritten_file_with_the_same_content_is_the_same(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    replaced(ws, "f", b"new", before_commit=(ws / "f").touch)
    assert (ws / "f").read_bytes() == b"new"

    def rewritten() -> None:
        (ws / "g").write_bytes(b"new")
        (ws / "g").rename(ws / "f")

    replaced(ws, "f", b"newer", before_commit=rewritten)
    assert (ws / "f").read_bytes() == b"newer"


@pytest.mark.contract("E12")
@pytest.mark.parametrize("moment", ["write", "take_name"])
@pytest.mark.parametrize("how", ["in place", "by rename", "removed"])
def test_a_change_during_the_commit_is_noticed(
    ws: Path, moment: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "f").write_bytes(b"old")
    theirs = b"theirs"
    step = getattr(UnnamedFile, moment)

    def with_meddling(self: UnnamedFile, *args: Any) -> None:
        step(self, *args)
        if how == "in place":
            # Longer, because a kernel's clock may stand still for milliseconds and then says nothing.
            (ws / "f").write_bytes(theirs)
        elif how == "by rename":
            (ws / "g").write_bytes(theirs)
            (ws / "g").rename(ws / "f")
        else:
            (ws / "f").unlink(missing_ok=True)

    monkeypatch.setattr(UnnamedFile, moment, with_meddling)
    with pytest.raises(PlanOutdatedError):
        replaced(ws, "f", b"new")
    assert [(path.name, path.read_bytes()) for path in ws.iterdir()] == ([] if how == "removed" else [("f", theirs)])


@pytest.mark.contract("P5", "F4")
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["file", "directory", "link out", "dangling link"])
def test_creating_never_takes_the_place_of_something(ws: Path, kind: str) -> None:
    outside = ws.parent / "outside"

    def meddle() -> None:
        if kind == "file":
            (ws / "a" / "f").write_bytes(b"theirs")
        elif kind == "directory":
            (ws / "a" / "f").mkdir()
        else:
            (ws / "a" / "f").symlink_to("/etc/hostname" if kind == "link out" else outside)

    (ws / "a").mkdir()
    with pytest.raises(PlanOutdatedError, match="something has this name by now"):
        created(ws, "a/f", before_commit=meddle)
    assert os.listdir(ws / "a") == ["f"]
    assert not outside.exists()
    if kind == "file":
        assert (ws / "a" / "f").read_bytes() == b"theirs"


@pytest.mark.contract("P5")
@pytest.mark.parametrize("depth", ["a", "a/b"])
def test_a_parent_that_becomes_a_link_out_is_not_followed(ws: Path, depth: str) -> None:
    outside = ws.parent / "outside"
    outside.mkdir()

    def meddle() -> None:
        (ws / depth).parent.mkdir(exist_ok=True)
        (ws / depth).symlink_to(outside)

    with pytest.raises(PlanOutdatedError):
        created(ws, "a/b/f", before_commit=meddle)
    assert os.listdir(outside) == []


@pytest.mark.contract("P5", "P2")
def test_a_directory_that_was_moved_since_the_plan_takes_no_new_file(ws: Path) -> None:
    (ws / "a").mkdir()
    with pytest.raises(PlanOutdatedError, match="its directory was moved or removed"):
        created(ws, "a/x/f", before_commit=lambda: (ws / "a").rename(ws.parent / "away"))
    assert os.listdir(ws.parent / "away") == []


Act = Callable[[Located, Callable[[], None]], object]
LATE: dict[str, tuple[str, Act]] = {
    "replaced": ("f.txt", lambda located, look: replace_file(located, [b"new"], expected=b"old", last_look=look)),
    "created": ("new.txt", lambda located, look: create_file(located, [b"new"], last_look=look)),
    "deleted": ("f.txt", lambda located, look: delete_file(located, b"old", last_look=look)),
    "empty directory": ("empty", lambda located, look: delete_directory(located, last_look=look)),
}


@pytest.mark.contract("P5", "P2", "F11")
@pytest.mark.parametrize(("name", "act"), LATE.values(), ids=list(LATE))
def test_nothing_is_changed_in_a_directory_that_is_moved_during_the_last_look(ws: Path, name: str, act: Act) -> None:
    (ws / "sub" / "empty").mkdir(parents=True)
    (ws / "sub" / "f.txt").write_bytes(b"old")
    with (
        Roots(ws).locate(f"sub/{name}") as located,
        pytest.raises(PlanOutdatedError, match="its directory was moved or removed"),
    ):
        act(located, lambda: (ws / "sub").rename(ws / "moved") and None)
    assert sorted(os.listdir(ws / "moved")) == ["empty", "f.txt"]
    assert (ws / "moved" / "f.txt").read_bytes() == b"old"


def test_a_directory_that_was_removed_since_the_plan_is_outdated(ws: Path) -> None:
    for name in ("a/f", "a/x/f"):
        (ws / "a").mkdir()
        with pytest.raises(PlanOutdatedError):
            created(ws, name, before_commit=(ws / "a").rmdir)
    assert os.listdir(ws) == []


def test_a_parent_that_somebody_else_makes_meanwhile_is_used(ws: Path) -> None:
    created(ws, "a/b/f", before_commit=(ws / "a").mkdir)
    assert (ws / "a/b/f").read_bytes() == b"new"


def test_parents_made_for_a_file_that_could_not_be_created_are_removed_again(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_fd: int, _parts: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(unnamed_file, "write_all", full)
    (ws / "theirs").mkdir()
    with pytest.raises(ToolFailure) as caught:
        created(ws, "theirs/a/b/f")
    assert str(caught.value) == (
        f"{ws}/theirs/a/b/f: cannot be written (No space left on device); nothing was created. "
        "The disk is full: free some space, then try again."
    )
    assert os.listdir(ws) == ["theirs"]
    assert os.listdir(ws / "theirs") == []


# --- what is left ------------------------------------------------------------------------------------------------


def test_what_a_killed_writer_left_behind_is_removed_and_nothing_else(ws: Path) -> None:
    unnamed_file._looked_through.clear()
    left = ws / f"{TEMPORARY_PREFIX}{'0f' * 8}"
    kept = [f"{TEMPORARY_PREFIX}notes", f"{TEMPORARY_PREFIX}{'ab' * 8}", "f"]
    left.write_bytes(b"half")
    (ws / kept[0]).write_bytes(b"of the user")
    (ws / kept[1]).mkdir()
    created(ws, "f")
    assert sorted(os.listdir(ws)) == sorted(kept)


@pytest.mark.usefixtures("way")
def test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws / "f").write_bytes(b"old")
    for step in ("write", "take_name", "replace"):
        with monkeypatch.context() as patch:
            real = getattr(UnnamedFile, step)

            def fails(self: UnnamedFile, *args: Any, _real: Callable[..., None] = real, _step: str = step) -> None:
                if _step != "replace":
                    _real(self, *args)
                raise OSError(errno.EIO, "Input/output error")

            patch.setattr(UnnamedFile, step, fails)
            with pytest.raises(ToolFailure, match=r"Input/output error.*the file is unchanged"):
                replaced(ws, "f", b"new")
        assert [(path.name, path.read_bytes()) for path in ws.iterdir()] == [("f", b"old")]


def test_without_proc_files_are_written_under_a_temporary_name(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unnamed_file, "descriptors_have_paths", lambda: False)
    monkeypatch.setattr(before_state, "descriptors_have_paths", lambda: False)
    monkeypatch.setattr(descriptor_path, "descriptors_have_paths", lambda: False)
    (ws / "f").write_bytes(b"old")
    replaced(ws, "f", b"new")
    created(ws, "g")
    assert sorted((path.name, path.read_bytes()) for path in ws.iterdir()) == [("f", b"new"), ("g", b"new")]
