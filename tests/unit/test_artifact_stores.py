"""Kept outputs: by content, bounded, whole or told as cut, in memory and in a directory alike (X7)."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, TypeAlias

import pytest
from openbuffer.tools.adapters.artifact_files import ArtifactDirectory
from openbuffer.tools.adapters.artifact_memory import InMemoryArtifactStore
from openbuffer.tools.ports import ArtifactRef

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openbuffer.tools.ports import ArtifactStore

Make: TypeAlias = "Callable[..., ArtifactStore]"


@pytest.fixture(params=["memory", "directory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes a store with the limits that are given."""
    if request.param == "memory":
        return InMemoryArtifactStore
    return lambda **limits: ArtifactDirectory(str(tmp_path / "state" / "artifacts"), **limits)


def name_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def kept(store: ArtifactStore, *pieces: bytes) -> ArtifactRef:
    writer = store.create()
    for piece in pieces:
        writer.write(piece)
    ref = writer.finish()
    assert ref is not None
    return ref


@pytest.mark.contract("X7")
def test_what_was_written_is_read_by_its_content(make: Make) -> None:
    store = make()
    content = b"a\0\xff" * 1_000
    assert kept(store, content[:10], b"", content[10:]) == ArtifactRef(sha256=name_of(content), size=len(content))
    assert store.read(name_of(content)) == content
    assert kept(store, content).sha256 == name_of(content), "the same content is the same artifact"
    assert kept(store) == ArtifactRef(sha256=name_of(b""), size=0)


@pytest.mark.contract("X7")
def test_what_is_not_kept_reads_as_nothing(make: Make) -> None:
    store = make()
    for name in (
        name_of(b"other"),
        "",
        "..",
        "../artifacts",
        "unfinished-1",
        "A" * 64,
        name_of(b"x") + "\n",
        "\0" * 64,
    ):
        assert store.read(name) is None


@pytest.mark.contract("X7")
def test_nothing_is_kept_of_what_was_not_finished(make: Make) -> None:
    store = make()
    writer = store.create()
    writer.write(b"some")
    assert store.read(name_of(b"some")) is None
    writer.discard()
    writer.write(b" more")
    assert writer.finish() is None
    assert store.read(name_of(b"some")) is None


@pytest.mark.contract("X7")
def test_finishing_is_for_good(make: Make) -> None:
    store = make()
    writer = store.create()
    writer.write(b"some")
    assert writer.finish() is not None
    writer.write(b" more")
    writer.discard()
    assert writer.finish() is None
    assert store.read(name_of(b"some")) == b"some"


@pytest.mark.contract("X7")
def test_of_a_large_one_the_beginning_is_kept_and_told_to_be_no_more(make: Make) -> None:
    store = make(max_bytes=10, max_total_bytes=100)
    assert kept(store, b"1234567890") == ArtifactRef(sha256=name_of(b"1234567890"), size=10)
    cut = ArtifactRef(sha256=name_of(b"1234567890"), size=10, complete=False)
    assert kept(store, b"12345678901") == cut
    assert kept(store, b"1234567", b"890", b"x", b"y") == cut
    assert kept(make(max_bytes=100, max_total_bytes=10), b"12345678901") == cut


@pytest.mark.contract("X7")
def test_the_oldest_go_when_there_is_no_room_and_those_asked_for_again_are_new(make: Make) -> None:
    store = make(max_bytes=10, max_total_bytes=30)
    first, second, third, fourth = (bytes([letter]) * 10 for letter in b"abcd")
    for content in (first, second, third, first, fourth):
        kept(store, content)
    assert [store.read(name_of(each)) for each in (first, second, third, fourth)] == [first, None, third, fourth]


@pytest.mark.contract("X7")
def test_several_threads_may_write_at_the_same_time(make: Make) -> None:
    store = make(max_bytes=1_000, max_total_bytes=5_000)
    contents = [bytes([number]) * 1_000 for number in range(16)]
    threads = [threading.Thread(target=kept, args=(store, content[:500], content[500:])) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = [store.read(name_of(content)) for content in contents]
    assert sum(len(content) for content in left if content) == 5_000


# --- the directory alone -------------------------------------------------------------------------------------------


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.mark.contract("X7")
def test_making_a_store_touches_nothing(directory: Path) -> None:
    store = ArtifactDirectory(str(directory))
    assert store.read(name_of(b"x")) is None
    assert not directory.exists()


@pytest.mark.contract("X7")
def test_directory_and_files_are_for_their_owner_alone_while_they_are_written_too(directory: Path) -> None:
    old = os.umask(0)
    try:
        store = ArtifactDirectory(str(directory))
        kept(store, b"x")
        unfinished = store.create()
    finally:
        os.umask(old)
    assert directory.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in directory.iterdir()] == [0o600, 0o600]
    unfinished.discard()
    assert names(directory) == {name_of(b"x")}


@pytest.mark.contract("X7")
def test_another_process_reads_what_was_kept(directory: Path) -> None:
    kept(ArtifactDirectory(str(directory)), b"x")
    assert ArtifactDirectory(str(directory)).read(name_of(b"x")) == b"x"


@pytest.mark.contract("X7")
def test_a_file_that_is_not_what_its_name_says_is_not_given_out(directory: Path, tmp_path: Path) -> None:
    store = ArtifactDirectory(str(directory))
    kept(store, b"x")
    (directory / name_of(b"x")).write_bytes(b"y")
    assert store.read(name_of(b"x")) is None
    (tmp_path / "z").write_bytes(b"z")
    (directory / name_of(b"z")).symlink_to(tmp_path / "z")
    os.mkfifo(directory / name_of(b"fifo"))
    (directory / name_of(b"directory")).mkdir()
    for content in (b"z", b"fifo", b"directory"):
        assert store.read(name_of(content)) is None


@pytest.mark.contract("X7")
@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_full_disk_ends_the_artifact_and_raises_nothing(
    directory: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    store = ArtifactDirectory(str(directory))
    writer = store.create()
    left = writes
    real = os.write

    def write(fd: int, data: bytes) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        left -= 1
        return real(fd, data[:3])  # a disk that is getting full takes a part

    monkeypatch.setattr(os, "write", write)
    writer.write(b"12345")
    writer.write(b"67890")
    monkeypatch.undo()
    ref = writer.finish()
    if writes == 0:
        assert ref is None
        assert names(directory) == set()
    else:
        content = b"12345"[: 3 * writes]
        complete = ArtifactRef(sha256=name_of(content), size=len(content), complete=False)
        assert (ref, store.read(complete.sha256)) == (complete, content)


@pytest.mark.contract("X7")
def test_a_real_limit_on_file_sizes_is_survived(directory: Path) -> None:
    script = f"""
import resource, signal
from openbuffer.tools.adapters.artifact_files import ArtifactDirectory
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
writer = ArtifactDirectory({str(directory)!r}).create()
for _ in range(10):
    writer.write(b"x" * 999)
print(writer.finish())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    expected = ArtifactRef(sha256=name_of(b"x" * 5_000), size=5_000, complete=False)
    assert (done.stdout.strip(), done.stderr) == (str(expected), "")


@pytest.mark.contract("X7")
@pytest.mark.parametrize("what", ["a file in the way", "a link into nowhere", "a directory that cannot be written"])
def test_where_no_directory_can_be_had_nothing_is_kept_and_nothing_raises(
    directory: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if what == "a file in the way":
        directory.write_text("")
    elif what == "a link into nowhere":
        directory.symlink_to(directory.parent / "none" / "none")
    else:
        real = os.open

        def refuse(path: str, flags: int, mode: int = 0o777) -> int:
            if flags & os.O_CREAT:
                raise PermissionError(errno.EACCES, "Permission denied")
            return real(path, flags, mode)

        monkeypatch.setattr(os, "open", refuse)
    writer = ArtifactDirectory(str(directory)).create()
    writer.write(b"x")
    assert writer.finish() is None
    writer.discard()


@pytest.mark.contract("X7")
def test_what_a_killed_process_left_is_swept_and_what_a_living_one_writes_is_not(directory: Path) -> None:
    script = f"""
import os, signal, sys
from openbuffer.tools.adapters.artifact_files import ArtifactDirectory
writer = ArtifactDirectory({str(directory)!r}).create()
writer.write(b"half")
print(os.listdir({str(directory)!r})[0], flush=True)
sys.stdin.read() if sys.argv[1] == "live" else os.kill(os.getpid(), signal.SIGKILL)
print(writer.finish().size)
"""
    killed = subprocess.run([sys.executable, "-c", script, "die"], capture_output=True, text=True, check=False)
    left = killed.stdout.strip()
    assert left in names(directory)
    (directory / left).rename(directory / "unfinished-0")
    with subprocess.Popen(
        [sys.executable, "-c", script, "live"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as living:
        assert living.stdout is not None
        written = living.stdout.readline().strip()
        kept(ArtifactDirectory(str(directory)), b"x")
        assert written.startswith("unfinished-")
        assert "unfinished-0" not in names(directory)
        assert living.communicate("", timeout=20)[0] == "4\n"
    assert names(directory) == {name_of(b"half"), name_of(b"x")}


@pytest.mark.contract("X7")
def test_what_is_too_old_goes_when_the_next_session_begins_an_artifact(tmp_path: Path) -> None:
    old, young = (kept(ArtifactDirectory(str(tmp_path)), content).sha256 for content in (b"old", b"young"))
    os.utime(tmp_path / old, (1, 1))
    store = ArtifactDirectory(str(tmp_path), max_age_s=3_600)
    assert store.read(old) == b"old"
    kept(store, b"new")
    assert store.read(old) is None
    assert store.read(young) == b"young"
