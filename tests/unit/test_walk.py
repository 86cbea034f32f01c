"""The walk: every entry once, of every kind, whatever its name; nothing outside, however things are swapped."""

from __future__ import annotations

import errno
import gc
import os
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from openbuffer.tools import CancellationToken, PlanOutdatedError, ToolCancelledError
from openbuffer.tools.support import walk as walking
from openbuffer.tools.support.paths import Roots
from openbuffer.tools.support.walk import Slice, Walk

from .ignored_trees import walked


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "ws"
    root.mkdir()
    return root


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            (root / path).mkdir(exist_ok=True)
        else:
            (root / path).write_bytes(b"")


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def kinds(root: Path, **options: Any) -> dict[str, str]:
    """Every entry with its kind."""
    found: dict[str, str] = {}
    with (
        Roots(root).locate(str(root)) as located,
        closing(Walk(located, CancellationToken(), **options).slices()) as all_,
    ):
        for part in all_:
            each = {"file": part.files, "directory": part.directories, "link": part.links, "pruned": part.pruned}
            for kind, names in each.items():
                found |= {os.path.join(part.path, name): kind for name in names}
            found |= {os.path.join(part.path, name): kind for name, kind in part.others}
    return found


@pytest.mark.contract("P4", "P6")
def test_every_entry_is_told_with_its_kind_and_no_link_is_followed(root: Path) -> None:
    make(root, "f", "d/f", ".hidden/.f", "empty/", "../outside/secret")
    links = {"link": "f", "d/up": "..", "d/self": ".", "out": "../outside", "dangling": "nowhere", "loop": "loop"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        directory = os.open(root, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{directory}/socket")  # the path itself may be too long for a socket
        os.close(directory)
        assert kinds(root) == {
            **dict.fromkeys(["f", "d/f", ".hidden/.f"], "file"),
            **dict.fromkeys(["d", ".hidden", "empty"], "directory"),
            **dict.fromkeys(links, "link"),
            "fifo": "fifo",
            "socket": "socket",
        }
    _, tally = walked(root)
    assert (tally.links, tally.others, tally.directories, tally.entries) == (6, 2, 4, 14)


@pytest.mark.contract("F7")
def test_directories_for_git_and_packages_are_left_out_unless_they_are_named(root: Path) -> None:
    make(root, ".git/HEAD", "node_modules/a/f", "d/node_modules/f", "d/.git", "node_modules.txt")
    assert walked(root)[0] == ["d/.git", "node_modules.txt"]
    assert walked(root)[1].pruned == {".git": 1, "node_modules": 2}
    (root / ".gitignore").write_text("node_modules/\n")
    paths, tally = walked(root, named=frozenset({"node_modules"}))
    assert paths == [".gitignore", "d/.git", "d/node_modules/f", "node_modules.txt", "node_modules/a/f"]
    assert (tally.pruned, tally.ignored_directories) == ({".git": 1}, 0)
    assert walked(root, "node_modules")[0] == ["a/f"]


STRANGE = [
    b"\xff\xfe",
    b"a\nb",
    b" lead",
    b"*",
    b"[...slug]",
    b"..x",
    b"-rf",
    "é".encode(),
    b"e\xcc\x81",
    b"\\",
    b"x" * 255,
]


@pytest.mark.contract("P4")
@pytest.mark.parametrize("ordered", [True, False])
def test_names_of_every_kind_are_kept_as_they_are(root: Path, ordered: bool) -> None:
    for name in STRANGE:
        os.mkdir(os.path.join(os.fsencode(root), name))
        Path(os.fsdecode(os.path.join(os.fsencode(root), name, name))).write_bytes(b"")
    (root / ".git").mkdir()
    (root / ".gitignore").write_bytes(b"\xff*\n!a*\nx*y\n")  # so that rules are compared with such names, too
    expected = {os.path.join(name, name) for name in map(os.fsdecode, STRANGE)} | {".gitignore"}
    assert set(walked(root, ordered=ordered)[0]) == {path for path in expected if not path.startswith("\udcff")}
    assert set(walked(root, ordered=ordered, ignoring=False)[0]) == expected


@pytest.mark.contract("P4")
def test_an_unreadable_directory_is_named_and_spoils_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(root, "a/f", "b/f", "c/f", "d/f")
    opened, scanned = os.open, os.scandir

    def locked(path: Any, *arguments: Any, **options: Any) -> int:
        if path == "b":
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *arguments, **options)

    def broken(fd: int) -> Any:
        if os.readlink(f"/proc/self/fd/{fd}").endswith("/c"):
            raise OSError(errno.EIO, "Input/output error")
        return scanned(fd)

    monkeypatch.setattr(os, "open", locked)
    monkeypatch.setattr(os, "supports_dir_fd", {*os.supports_dir_fd, locked})
    monkeypatch.setattr(os, "scandir", broken)
    paths, tally = walked(root)
    assert paths == ["a/f", "d/f"]
    assert tally.unread.count == 2
    assert sorted(tally.unread.named) == [f"{root}/b (Permission denied)", f"{root}/c (Input/output error)"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.contract("P4")
def test_a_directory_without_permissions_is_named(root: Path) -> None:
    make(root, "a/f", "b/f")
    (root / "b").chmod(0)
    paths, tally = walked(root)
    (root / "b").chmod(0o700)
    assert (paths, tally.unread.named) == (["a/f"], [f"{root}/b (Permission denied)"])


@pytest.mark.contract("P4")
def test_a_directory_in_slices_is_whole_and_its_ignore_file_holds_for_all_of_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking, "SLICE_NAMES", 7)
    make(root, *(f"f{number}" for number in range(50)), *(f"d{number}/f" for number in range(10)), ".git/HEAD")
    (root / ".gitignore").write_text("f1*\nd2\n")
    expected = [".gitignore", *(f"f{n}" for n in range(50) if not str(n).startswith("1"))]
    expected += [f"d{number}/f" for number in range(10) if number != 2]
    assert walked(root)[0] == sorted(expected)


def test_in_order_names_and_directories_come_sorted(root: Path) -> None:
    make(root, "b/z", "b/y", "a/x", "c", "a.txt", "B/w")
    with (
        Roots(root).locate(str(root)) as located,
        closing(Walk(located, CancellationToken(), ordered=True).slices()) as all_,
    ):
        told = [(part.path, part.files, part.directories) for part in all_]
    assert told == [
        ("", ["a.txt", "c"], ["B", "a", "b"]),
        ("B", ["w"], []),
        ("a", ["x"], []),
        ("b", ["y", "z"], []),
    ]


def test_depth_is_bounded_and_what_is_taken_out_is_not_entered(root: Path) -> None:
    make(root, "a/b/c/f", "a/f", "d/f", "f")
    assert kinds(root, max_depth=1) == {"a": "directory", "d": "directory", "f": "file"}
    assert walked(root, max_depth=2)[0] == ["a/f", "d/f", "f"]
    with Roots(root).locate(str(root)) as located, closing(Walk(located, CancellationToken()).slices()) as slices:
        seen: list[Slice] = []
        for part in slices:
            seen.append(part)
            part.directories[:] = [name for name in part.directories if name != "a"]
    assert sorted(part.path for part in seen) == ["", "d"]


@pytest.mark.contract("P4")
def test_what_is_denied_is_not_opened_and_not_told(root: Path) -> None:
    make(root, "secret/f", "a/f", "a/key", "node_modules/f", "secret.link", ".gitignore")
    asked: list[str] = []

    def is_denied(path: str) -> bool:
        asked.append(path)
        return "secret" in path or path.endswith(("key", "node_modules"))

    paths, tally = walked(root, is_denied=is_denied)
    assert paths == [".gitignore", "a/f"]
    assert (tally.hides, tally.pruned) == (True, {})
    assert tally.entries == 3, "what is denied is not even counted"
    assert not any(path.startswith(f"{root}/secret/") for path in asked)


@pytest.mark.contract("P4")
@pytest.mark.parametrize("width", [1, 3])
def test_a_tree_far_deeper_than_descriptors_may_be_open_is_walked(root: Path, width: int) -> None:
    depth = 150
    top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    fd = os.dup(top)
    for _ in range(depth):
        for number in range(width):
            os.mkdir(f"d{number}", dir_fd=fd)
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        below = os.open("d1" if width > 1 else "d0", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    os.close(top)
    before, most = descriptors(), 0
    with Roots(root).locate(str(root)) as located:
        walk = Walk(located, CancellationToken())
        with closing(walk.slices()) as slices:
            for _ in slices:
                most = max(most, len(os.listdir("/proc/self/fd")))
    assert walk.tally.directories == depth * width + 1
    assert (walk.tally.entries, walk.tally.changed) == (depth * (width + 1), 0)
    assert most < before + 40


@pytest.mark.contract("P4")
def test_what_is_too_deep_to_have_a_path_is_named_and_not_entered(root: Path) -> None:
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(40):
        os.mkdir("x" * 200, dir_fd=fd)
        below = os.open("x" * 200, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    _, tally = walked(root)
    assert tally.unread.count == 1
    assert "the path is too long" in tally.unread.named[0]
    subprocess.run(["rm", "-rf", str(root)], check=True)  # what pytest uses gives up on such a depth


def test_descriptors_are_closed_however_the_walk_ends(root: Path) -> None:
    make(root, *(f"{'d/' * depth}f" for depth in range(1, 60)))
    before = descriptors()
    walked(root)
    with Roots(root).locate(str(root)) as located:
        slices = Walk(located, CancellationToken()).slices()
        for _ in range(50):
            next(slices)
        slices.close()
    assert descriptors() == before


@pytest.mark.contract("T6")
def test_a_cancelled_walk_stops_at_the_next_directory(root: Path) -> None:
    make(root, *(f"{number}/f" for number in range(20)))
    token = CancellationToken()
    with Roots(root).locate(str(root)) as located, closing(Walk(located, token).slices()) as slices:
        for _ in range(5):
            next(slices)
        token.cancel()
        with pytest.raises(ToolCancelledError, match=r"cancelled after 6 directories"):
            next(slices)


@pytest.mark.contract("P4", "T12")
@pytest.mark.parametrize("what", ["gone", "link", "another"])
def test_a_walk_begins_in_the_directory_that_was_located_or_not_at_all(root: Path, what: str) -> None:
    make(root, "d/f", "../outside/secret")
    with Roots(root).locate(str(root / "d")) as located:
        (root / "d").rename(root / "old")
        if what == "link":
            (root / "d").symlink_to("../outside")
        if what == "another":
            make(root, "d/other")
        with pytest.raises(PlanOutdatedError, match="was moved or replaced since the call began"):
            list(Walk(located, CancellationToken()).slices())


@pytest.mark.contract("P4")
@pytest.mark.parametrize("what", ["link", "file", "gone", "another"])
def test_a_directory_that_is_replaced_before_its_turn_is_not_followed(root: Path, what: str) -> None:
    make(root, "d/f", "../outside/secret")
    with Roots(root).locate(str(root)) as located:
        walk = Walk(located, CancellationToken())
        paths: list[str] = []
        for part in walk.slices():
            paths += [os.path.join(part.path, name) for name in part.files]
            if not part.path:
                (root / "d").rename(root.parent / "elsewhere")
                {
                    "link": lambda: (root / "d").symlink_to("../outside"),
                    "file": lambda: (root / "d").write_bytes(b""),
                    "gone": lambda: None,
                    "another": lambda: make(root, "d/g"),
                }[what]()
    assert paths == (["d/g"] if what == "another" else [])
    assert walk.tally.changed == (0 if what == "another" else 1)


SWAPPER = textwrap.dedent("""
    import os, select, sys
    os.chdir(sys.argv[1])
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(100):
            for name in "abc":
                os.rename(name, name + "-real"); os.rename(name + "-link", name)
                os.rename(name, name + "-link"); os.rename(name + "-real", name)
""")


def swapped(root: Path, walks: int) -> tuple[set[str], int]:
    """All the names that were told, and how many directories had changed."""
    for name in "abc":
        make(root, f"{name}/inside/inside.txt", f"../outside/{name}/secret.txt", f"../outside/secret-{name}/secret.txt")
        (root / f"{name}-link").symlink_to("../outside")
    process = subprocess.Popen(
        [sys.executable, "-c", SWAPPER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    names: set[str] = set()
    changed = 0
    try:
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(walks):
            paths, tally = walked(root)
            names |= {os.path.basename(path) for path in paths}
            changed += tally.changed
    finally:
        process.communicate(timeout=30)
    return names, changed


@pytest.mark.contract("P4")
def test_links_swapped_in_during_the_walk_lead_nowhere(root: Path) -> None:
    names, _ = swapped(root, 2_000)
    assert names == {"inside.txt"}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.contract("P4")
def test_links_swapped_in_during_the_walk_lead_nowhere_at_length(root: Path) -> None:
    names, changed = swapped(root, 100_000)
    assert names == {"inside.txt"}
    assert changed > 0


@pytest.mark.contract("P4")
def test_a_tree_that_grows_and_shrinks_meanwhile_is_walked_to_its_end(root: Path) -> None:
    make(root, *(f"{a}/{b}/f" for a in "abc" for b in "abc"))
    stopped = threading.Event()

    def churn() -> None:
        while not stopped.is_set():
            for name in "abc":
                (root / name / "new").mkdir(exist_ok=True)
                (root / name / "new" / "x").write_bytes(b"")
                (root / name / "new" / "x").unlink()
                (root / name / "new").rmdir()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(300):
            paths, tally = walked(root)
            assert {path for path in paths if not path.endswith("/new/x")} == {
                f"{a}/{b}/f" for a in "abc" for b in "abc"
            }
            assert tally.unread.count == 0
    finally:
        stopped.set()
        thread.join()


@pytest.mark.contract("P6")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc here")
def test_proc_is_not_walked() -> None:
    with Roots("/").locate("/") as located:
        walk = Walk(located, CancellationToken(), max_depth=2, ignoring=False)
        with closing(walk.slices()) as slices:
            directories = {part.path for part in slices}
    assert "proc" not in directories
    assert "usr" in directories
    assert "/proc (describes processes and is no part of a workspace)" in walk.tally.unread.named


def many(root: Path, directories: int, files: int) -> None:
    for number in range(directories):
        directory = root / f"d{number}"
        directory.mkdir()
        fd = os.open(directory, os.O_RDONLY)
        for each in range(files):
            os.mknod(f"file{each}", stat.S_IFREG | 0o600, dir_fd=fd)
        os.close(fd)


@pytest.mark.contract("P4")
@pytest.mark.parametrize(
    ("directories", "files"),
    [
        (20, 500),
        pytest.param(1, 200_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
        pytest.param(2_000, 100, marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
    ],
)
def test_memory_is_that_of_a_slice_and_not_of_the_tree(root: Path, directories: int, files: int) -> None:
    many(root, directories, files)
    with Roots(root).locate(str(root)) as located:
        walk = Walk(located, CancellationToken())
        tracemalloc.start()
        with closing(walk.slices()) as slices:
            found = sum(len(part.files) for part in slices)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert found == directories * files
    assert peak < 1_500_000
