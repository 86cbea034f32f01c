"""What does not lie in the roots, is no regular file, or does not stand still, is refused quickly and with a reason."""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools.errors import PathRefusedError
from openbuffer.tools.support import boundary, link_walk, open_leaf, openat2, paths
from openbuffer.tools.support.paths import Roots

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="directory descriptors are a POSIX thing"),
    pytest.mark.usefixtures("way"),
]


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.txt").write_bytes(b"inside")
    (root.parent / "secret.txt").write_bytes(b"secret")
    (root.parent / "ws-evil").mkdir()
    (root.parent / "ws-evil" / "a.txt").write_bytes(b"evil")
    return root


def content(roots: Roots, path: str | Path) -> bytes:
    with roots.locate(str(path)) as located:
        return os.pread(located.require_file(), 1000, 0)


def refusal(roots: Roots, path: str | Path) -> str:
    with pytest.raises(PathRefusedError) as caught:
        roots.locate(str(path)).close()
    return str(caught.value)


# --- outside -----------------------------------------------------------------------------------------------------


@pytest.mark.contract("P1", "P6")
@pytest.mark.parametrize(
    "path", ["{t}/secret.txt", "{ws}/../secret.txt", "../secret.txt", "{t}/ws-evil/a.txt", "{t}", "/", "..", "{t}/none"]
)
def test_a_path_outside_is_refused_and_the_next_call_works(ws: Path, path: str) -> None:
    roots = Roots(ws)
    asked = path.format(ws=ws, t=ws.parent)
    assert refusal(roots, asked) == (
        f"{asked}: is outside the workspace, or leads out of it through a link or `..`. Use a path inside {ws}."
    )
    assert content(roots, "sub/a.txt") == b"inside"


@pytest.mark.contract("P1", "P5")
@pytest.mark.parametrize("target", ["{t}/secret.txt", "../secret.txt", "sub/../../secret.txt", "{t}/none", "../none"])
def test_a_link_leaf_that_leads_out_is_refused_whether_its_target_exists_or_not(ws: Path, target: str) -> None:
    (ws / "link").symlink_to(target.format(t=ws.parent))
    message = refusal(Roots(ws), "link")
    assert message.startswith("link: is outside the workspace")
    assert "secret" not in message


@pytest.mark.contract("P1", "P5")
@pytest.mark.parametrize("target", ["{t}", "..", "{t}/ws-evil", "../ws-evil"])
@pytest.mark.parametrize("rest", ["a.txt", "secret.txt", "missing.txt", "x/y/missing.txt"])
def test_a_link_in_the_middle_that_leads_out_is_refused(ws: Path, target: str, rest: str) -> None:
    (ws / "link").symlink_to(target.format(t=ws.parent))
    assert "outside the workspace" in refusal(Roots(ws), f"{ws}/link/{rest}")


def test_link_loops_end(ws: Path) -> None:
    (ws / "a").symlink_to("b")
    (ws / "b").symlink_to("a")
    (ws / "self").symlink_to("self/x")
    (ws / "abs").symlink_to(ws / "abs")
    (ws / "up").symlink_to("../ws/up")
    for name in ("a", "b", "self", "abs", "up", "a/x"):
        assert "more than 40 links" in refusal(Roots(ws), name)


def test_a_path_that_costs_its_square_to_resolve_ends(ws: Path) -> None:
    deep = "d/" * 300
    (ws / deep).mkdir(parents=True)
    assert "takes more than 10000 steps" in refusal(Roots(ws), deep + "../d/" * 500 + "x")


@pytest.mark.contract("P1")
def test_a_root_that_is_swapped_for_a_link_does_not_move_the_boundary(ws: Path) -> None:
    nested = ws / "sub"
    roots = Roots([ws, nested])
    assert content(roots, nested / "a.txt") == b"inside"
    nested.rename(ws / "moved")
    nested.symlink_to(ws.parent / "ws-evil")
    message = refusal(roots, nested / "a.txt")
    assert "outside" in message or "leads somewhere else" in message
    assert content(roots, ws / "moved" / "a.txt") == b"inside"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "the path is empty"),
        ("a\0b", "a\\0b: contains a NUL"),
        ("a\ud800", "not valid Unicode"),
        ("x" * 300, "too long"),
        ("x/" * 3000, "the path is too long (6000 bytes, at most 4095)"),
        ("é" * 2048, "the path is too long (4096 bytes, at most 4095)"),
        ("file:///etc/passwd", "is a URI"),
    ],
)
@pytest.mark.contract("P6")
def test_what_cannot_be_a_path_is_refused_with_the_reason(ws: Path, path: str, reason: str) -> None:
    message = refusal(Roots(ws), path)
    assert reason in message
    assert message.encode()


def test_a_path_of_the_greatest_length_is_looked_for(ws: Path) -> None:
    path = ("x" * 255 + "/") * 15 + "y" * 255
    with Roots(ws).locate(path) as located:
        assert located.kind == "missing"
        assert len(located.missing_parents) == 15


# --- what is no file ---------------------------------------------------------------------------------------------


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    server = socket.socket(socket.AF_UNIX)
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)  # a socket's path is limited to about 100 bytes
        server.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)
        server.close()


@pytest.mark.contract("P6", "F1")
@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (_fifo, "fifo", "is a FIFO (named pipe), not a regular file"),
        (_socket, "socket", "is a socket, not a regular file"),
        (Path.mkdir, "directory", "is a directory, not a file; list it"),
    ],
)
def test_what_is_no_regular_file_is_located_and_refused_as_a_file(
    ws: Path, make: Callable[[Path], None], kind: str, words: str
) -> None:
    make(ws / "it")
    (ws / "link").symlink_to("it")
    for path in ("it", "link"):
        with Roots(ws).locate(path) as located:
            assert (located.kind, located.fd, located.path) == (kind, None, f"{ws}/it")
            with pytest.raises(PathRefusedError) as caught:
                located.require_file()
            assert str(caught.value).startswith(f"{ws}/it: {words}")


def test_a_writer_that_waits_at_a_fifo_does_not_notice(ws: Path) -> None:
    os.mkfifo(ws / "pipe")
    Roots(ws).locate("pipe").close()
    with pytest.raises(OSError, match="No such device") as caught:
        os.open(ws / "pipe", os.O_WRONLY | os.O_NONBLOCK)
    assert caught.value.errno == errno.ENXIO  # nobody reads


@pytest.mark.contract("P6")
def test_a_device_is_never_opened(ws: Path) -> None:
    with Roots("/dev").locate("/dev/zero") as located:
        assert (located.kind, located.fd) == ("device", None)
        with pytest.raises(PathRefusedError, match=r"^/dev/zero: is a character device, not a regular file"):
            located.require_file()
    (ws / "zero").symlink_to("/dev/zero")
    assert "outside" in refusal(Roots(ws), "zero")


@pytest.mark.contract("P6")
@pytest.mark.parametrize(
    "path",
    ["/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/1/nothing", "/proc/1/root", "/proc/self/root", "/proc"],
)
@pytest.mark.parametrize("root", ["/", "/proc"])
def test_proc_is_no_part_of_any_workspace(path: str, root: str) -> None:
    if not os.path.isdir("/proc/self"):
        pytest.skip("no /proc here")
    message = refusal(Roots(root), path)
    assert "is in /proc" in message or "outside" in message


def test_the_root_directory_can_be_a_root(ws: Path) -> None:
    assert content(Roots("/"), ws / "sub" / "a.txt") == b"inside"
    with Roots("/").locate("/..") as located:
        assert (located.path, located.root, located.kind) == ("/", "/", "directory")


def test_a_file_that_may_not_be_read_is_located_and_refused_as_a_file(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def forbidden(path: str, flags: int, *args: int, dir_fd: int | None = None) -> int:
        if path == "a.txt" and not flags & os.O_PATH:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real_open(path, flags, *args, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", forbidden)
    monkeypatch.setattr(os, "supports_dir_fd", os.supports_dir_fd | {forbidden})
    with Roots(ws).locate("sub/a.txt") as located:
        assert (located.kind, located.fd) == ("file", None)
        with pytest.raises(PathRefusedError, match=r"cannot be opened for reading \(Permission denied\)"):
            located.require_file()


def test_the_kernels_own_boundary_is_asked_for(ws: Path, way: str) -> None:
    if way != "openat2":
        pytest.skip("another way does not use it")
    (ws / "out").symlink_to(ws.parent)
    root = os.open(ws, os.O_RDONLY)
    try:
        for path, number in (("out", errno.ELOOP), ("..", errno.EXDEV), ("sub/../..", errno.EXDEV), ("/", errno.EXDEV)):
            with pytest.raises(OSError, match=re.escape(os.strerror(number))) as caught:
                openat2.open_directory_beneath(root, path)
            assert caught.value.errno == number
    finally:
        os.close(root)


# --- what changes in the middle ----------------------------------------------------------------------------------


def in_the_middle(monkeypatch: pytest.MonkeyPatch, way: str, act: Callable[[], object]) -> None:
    """Have ``act`` happen once, between opening a file and asking for its path."""
    if way == "walk without descriptor paths":
        pytest.skip("no path is asked for")
    real, pending = open_leaf.descriptor_path, [act]

    def asked_for(fd: int) -> str:
        if pending and stat.S_ISREG(os.fstat(fd).st_mode):
            pending.pop()()
        return real(fd)

    monkeypatch.setattr(open_leaf, "descriptor_path", asked_for)


@pytest.mark.contract("P3")
def test_a_file_that_is_removed_while_it_is_opened_keeps_the_path_it_had(
    ws: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_middle(monkeypatch, way, (ws / "sub" / "a.txt").unlink)
    with Roots(ws).locate("sub/a.txt") as located:
        assert (located.path, located.name) == (f"{ws}/sub/a.txt", "a.txt")
        assert os.pread(located.require_file(), 9, 0) == b"inside"


@pytest.mark.contract("P3")
def test_a_file_that_is_moved_out_while_it_is_opened_is_not_given_out(
    ws: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_middle(monkeypatch, way, lambda: (ws / "sub").rename(ws.parent / "away"))
    assert "outside the workspace" in refusal(Roots(ws), "sub/a.txt")


@pytest.mark.contract("P3")
def test_a_file_that_is_renamed_while_it_is_opened_is_looked_for_again(
    ws: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replaced_by_a_link_out() -> None:
        (ws / "sub" / "a.txt").rename(ws / "elsewhere")
        (ws / "sub" / "a.txt").symlink_to("../../secret.txt")

    in_the_middle(monkeypatch, way, replaced_by_a_link_out)
    assert "outside the workspace" in refusal(Roots(ws), "sub/a.txt")


@pytest.mark.contract("P2")
def test_where_case_does_not_matter_the_path_is_spelled_as_the_file_system_has_it(
    ws: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a file system cannot be made everywhere: a second name and a changed descriptor's path stand for it."""
    in_the_middle(monkeypatch, way, int)
    os.link(ws / "sub" / "a.txt", ws / "sub" / "A.TXT")
    real = open_leaf.descriptor_path
    monkeypatch.setattr(open_leaf, "descriptor_path", lambda fd: real(fd).replace("a.txt", "A.TXT"))
    with Roots(ws).locate("sub/a.txt") as located:
        assert (located.path, located.name) == (f"{ws}/sub/A.TXT", "A.TXT")


@pytest.mark.contract("P3", "P6")
def test_a_file_that_becomes_a_fifo_while_it_is_opened_is_not_given_out(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open, pending = os.open, [ws / "sub" / "a.txt"]

    def swapped(path: str, flags: int, *args: int, dir_fd: int | None = None) -> int:
        if path == "a.txt" and pending:
            pending[0].unlink()
            os.mkfifo(pending.pop())
        return real_open(path, flags, *args, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapped)
    monkeypatch.setattr(os, "supports_dir_fd", os.supports_dir_fd | {swapped})
    with Roots(ws).locate("sub/a.txt") as located:
        assert (located.kind, located.fd) == ("fifo", None)


def test_a_path_that_never_stands_still_is_given_up(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(*_args: object, **_kwargs: object) -> None:
        raise boundary.PathMovedError

    monkeypatch.setattr(link_walk, "open_leaf", moved)
    monkeypatch.setattr(paths, "open_leaf", moved)
    assert refusal(Roots(ws), "sub/a.txt") == (
        "sub/a.txt: keeps changing while it is being opened; something else is replacing it. Try again later."
    )
