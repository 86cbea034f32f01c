"""Full disk, size limit, SIGKILL, read-only places: the file is whole-old or whole-new, and nothing else is left."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools.support.atomic import create_file
from openbuffer.tools.support.paths import Roots
from openbuffer.tools.support.unnamed_file import TEMPORARY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

# Everything is imported before a script gives up its rights or lies down to die.
PRELUDE = textwrap.dedent("""
    import ctypes, fcntl, os, random, resource, signal, sys
    from openbuffer.tools.errors import PathRefusedError, PlanOutdatedError, ToolFailure
    from openbuffer.tools.support import atomic, unnamed_file
    from openbuffer.tools.support.atomic import create_file, replace_file
    from openbuffer.tools.support.paths import Roots

    def replace(root, name, new):
        with Roots(root).locate(name) as located:
            return replace_file(located, [new], expected=os.pread(located.require_file(), 1 << 25, 0))

    def create(root, name, new):
        with Roots(root).locate(name) as located:
            return create_file(located, [new])

    def told(do, *arguments):
        try:
            do(*arguments)
        except (PathRefusedError, ToolFailure) as error:
            print(type(error).__name__, error)
        else:
            print("done")
""")


def run(script: str, *arguments: str, wrap: tuple[str, ...] = ()) -> list[str]:
    done = subprocess.run(
        [*wrap, sys.executable, "-c", PRELUDE + textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    return root


# --- full disk, limits -------------------------------------------------------------------------------------------


def in_a_small_file_system(ws: Path, script: str, options: str = "size=64k") -> list[str]:
    """Run with a tmpfs at ``ws`` that only the script sees, so that nothing has to be unmounted."""
    unshare = shutil.which("unshare")
    wrap = (unshare or "", "--user", "--map-root-user", "--mount")
    mount = f"mount -t tmpfs -o {options} tmpfs {ws}"
    if unshare is None or subprocess.run([*wrap, "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("no private mount can be made here (user namespaces are not available)")
    return run(script, str(ws), wrap=(*wrap, "sh", "-c", f'{mount} && exec "$@"', "sh"))


@pytest.mark.contract("F4")
def test_a_full_disk_leaves_the_old_file_and_says_so(ws: Path) -> None:
    answer = in_a_small_file_system(
        ws,
        """
        root = sys.argv[1]
        old = b"o" * 40_000
        with open(root + "/f", "wb") as file:
            file.write(old)
        told(replace, root, "f", b"n" * 60_000)
        told(create, root, "a/b/new", b"n" * 60_000)
        with open(root + "/f", "rb") as file:
            print(file.read() == old, os.listdir(root))
        """,
    )
    advice = "The disk is full: free some space, then try again."
    assert answer == [
        f"ToolFailure {ws}/f: cannot be written (No space left on device); the file is unchanged. {advice}",
        f"ToolFailure {ws}/a/b/new: cannot be written (No space left on device); nothing was created. {advice}",
        "True ['f']",
    ]


@pytest.mark.contract("F4")
def test_a_file_system_without_room_for_another_file_leaves_the_old_one(ws: Path) -> None:
    answer = in_a_small_file_system(
        ws,
        """
        root = sys.argv[1]
        with open(root + "/f", "wb") as file:
            file.write(b"old")
        told(replace, root, "f", b"new")
        with open(root + "/f", "rb") as file:
            print(file.read(), os.listdir(root))
        """,
        "size=64k,nr_inodes=2",
    )
    assert answer[0].startswith(f"ToolFailure {ws}/f: cannot be written (No space left on device); the file is unch")
    assert answer[1] == "b'old' ['f']"


@pytest.mark.contract("F4")
def test_a_read_only_file_system_and_a_mounted_file_are_told_apart(ws: Path) -> None:
    answer = in_a_small_file_system(
        ws,
        """
        import subprocess
        root = sys.argv[1]
        for name in ("f", "g"):
            with open(root + "/" + name, "wb") as file:
                file.write(b"old")
        subprocess.run(["mount", "--bind", root + "/g", root + "/f"], check=True)
        told(replace, root, "f", b"new")
        subprocess.run(["mount", "-o", "remount,ro", root], check=True)
        told(replace, root, "g", b"new")
        told(create, root, "h", b"new")
        print(sorted(os.listdir(root)))
        """,
    )
    assert answer == [
        (
            f"ToolFailure {ws}/f: cannot be written (Device or resource busy); the file is unchanged. It is a mount "
            "point of its own (as single files in containers are) and cannot be replaced; unmount it first."
        ),
        (
            f"PathRefusedError {ws}/g: is read-only for this process; the file is unchanged. "
            "The file system is read-only; name a file on one that can be written."
        ),
        (
            f"PathRefusedError {ws}/h: cannot be written (Read-only file system); nothing was created. "
            "The file system is read-only; name a file on one that can be written."
        ),
        "['f', 'g']",
    ]


@pytest.mark.contract("F4")
def test_a_file_size_limit_leaves_the_old_file_and_the_process_alive(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    answer = run(
        """
        root = sys.argv[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        told(replace, root, "f", b"n" * 20_000)
        told(create, root, "a/new", b"n" * 20_000)
        told(replace, root, "f", b"n" * 10_000)
        """,
        str(ws),
    )
    advice = "It would be over the file-size limit of this process or file system; write less, or raise the limit."
    assert answer == [
        f"ToolFailure {ws}/f: cannot be written (File too large); the file is unchanged. {advice}",
        f"ToolFailure {ws}/a/new: cannot be written (File too large); nothing was created. {advice}",
        "done",
    ]
    assert os.listdir(ws) == ["f"]
    assert (ws / "f").read_bytes() == b"n" * 10_000


# --- permissions -------------------------------------------------------------------------------------------------

AS_NOBODY = """
root, nobody = sys.argv[1], 65534
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(nobody)
    os.setuid(nobody)
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that another user can reach, which pytest's own are not."""
    directory = Path(os.path.realpath(tempfile.mkdtemp()))
    directory.chmod(0o755)
    yield directory
    for path in directory.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(directory)


def give(path: Path, user: int = 65534) -> None:
    if os.geteuid() == 0:
        os.chown(path, user, user)


@pytest.mark.contract("F4")
def test_in_a_read_only_directory_nothing_is_written_in_place(public: Path) -> None:
    (public / "d").mkdir()
    (public / "d" / "f").write_bytes(b"old")
    give(public / "d" / "f")
    (public / "d").chmod(0o555)
    answer = run(
        AS_NOBODY + 'told(replace, root, "d/f", b"new"); told(create, root, "d/g", b"new")\n'
        'told(create, root, "d/x/g", b"new")',
        str(public),
    )
    advice = (
        "A new file has to be made in its directory, and that is not permitted (or the file is immutable); it is never "
        "written in place. The directory's permissions have to be changed first."
    )
    where = f"PathRefusedError {public}/d"
    assert answer == [
        f"{where}/f: cannot be written (Permission denied); the file is unchanged. {advice}",
        f"{where}/g: cannot be written (Permission denied); nothing was created. {advice}",
        f"{where}/x/g: cannot be written (Permission denied); nothing was created. {advice}",
    ]
    assert (public / "d" / "f").read_bytes() == b"old"


def test_a_read_only_file_is_not_replaced_behind_its_mode(public: Path) -> None:
    (public / "d").mkdir()
    (public / "d" / "f").write_bytes(b"old")
    give(public / "d")
    give(public / "d" / "f")
    (public / "d" / "f").chmod(0o444)
    answer = run(AS_NOBODY + 'told(replace, root, "d/f", b"new")', str(public))
    assert answer[0].startswith(f"PathRefusedError {public}/d/f: is read-only for this process; the file is unchanged.")
    assert (public / "d" / "f").read_bytes() == b"old"


@pytest.mark.contract("F4")
@pytest.mark.skipif(os.geteuid() != 0, reason="a file of another user takes root to make")
def test_an_owner_that_cannot_be_kept_is_told(public: Path) -> None:
    (public / "d").mkdir()
    (public / "d" / "f").write_bytes(b"old")
    (public / "d" / "f").chmod(0o4776)
    give(public / "d")
    answer = run(AS_NOBODY + 'print(replace(root, "d/f", b"new").notes)', str(public))
    assert answer == [
        (
            "('the owner could not be kept: user 0 before, user 65534 now', "
            "'the group could not be kept: group 0 before, group 65534 now')"
        )
    ]
    status = (public / "d" / "f").stat()
    assert (status.st_uid, status.st_mode & 0o7777, (public / "d" / "f").read_bytes()) == (65534, 0o766, b"new")


def test_a_directory_that_may_be_written_and_not_read_takes_files_and_says_that_it_was_not_locked(public: Path) -> None:
    (public / "d").mkdir()
    (public / "d" / "f").write_bytes(b"old")
    give(public / "d" / "f")
    give(public / "d")
    (public / "d").chmod(0o300)
    answer = run(AS_NOBODY + 'print(replace(root, "d/f", b"new").notes)', str(public))
    assert answer == [
        (
            f"('no lock could be taken in {public}/d (Permission denied): a change that another process makes at the "
            "same moment could be lost',)"
        )
    ]


@pytest.mark.contract("P6")
def test_what_may_not_be_entered_or_read_is_refused_with_the_reason(public: Path) -> None:
    (public / "locked").mkdir()
    (public / "locked" / "f").write_bytes(b"secret")
    (public / "locked").chmod(0o700 if os.geteuid() == 0 else 0o000)
    (public / "f").write_bytes(b"secret")
    (public / "f").chmod(0o600 if os.geteuid() == 0 else 0o000)
    answer = run(
        AS_NOBODY + "def require(name):\n"
        "    with Roots(root).locate(name) as located:\n"
        "        print(located.kind, located.path); located.require_file()\n"
        'told(require, "locked/f"); told(require, "f")',
        str(public),
    )
    assert answer == [
        (
            "UnresolvedPathError locked/f: cannot be opened (Permission denied). A directory on the way may not be "
            "entered; its permissions have to be changed first."
        ),
        f"file {public}/f",
        (
            f"PathRefusedError {public}/f: cannot be opened for reading (Permission denied); its permissions have to "
            "be changed first."
        ),
    ]


# --- SIGKILL -----------------------------------------------------------------------------------------------------

DIES_AT = """
root, step, moment = sys.argv[1:]
real = getattr(unnamed_file.UnnamedFile, step)
def dies(self, *arguments):
    if moment == "after":
        real(self, *arguments)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(unnamed_file.UnnamedFile, step, dies)
replace(root, "f", b"new")
"""


@pytest.mark.contract("F4", "E12")
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["write", "take_name", "replace"])
def test_killed_at_any_step_the_file_is_whole_and_the_next_writer_finds_no_lock_and_leaves_no_rest(
    ws: Path, step: str, moment: str
) -> None:
    (ws / "f").write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", PRELUDE + DIES_AT, str(ws), step, moment], timeout=50, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (ws / "f").read_bytes() == (b"new" if (step, moment) == ("replace", "after") else b"old")
    left = [name for name in os.listdir(ws) if name != "f"]
    assert all(name.startswith(TEMPORARY_PREFIX) for name in left)
    # Only the moment between the temporary name and the rename leaves one.
    assert bool(left) == ((step, moment) in {("take_name", "after"), ("replace", "before")})
    with Roots(ws).locate("g") as located:
        create_file(located, [b"next"])
    assert sorted(os.listdir(ws)) == ["f", "g"]


FOR_EVER = """
root, size = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
while True:
    for letter in (b"a", b"b"):
        replace(root, "f", letter * size)
"""


def kill_at_random(ws: Path, times: int) -> None:
    size = 2_000_000
    whole = {b"a" * size, b"b" * size}
    (ws / "f").write_bytes(b"a" * size)
    for _ in range(times):
        with subprocess.Popen(
            [sys.executable, "-c", PRELUDE + FOR_EVER, str(ws), str(size)], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout
            writer.stdout.readline()
            time.sleep(random.uniform(0, 0.03))
            writer.kill()
        assert (ws / "f").read_bytes() in whole
    with Roots(ws).locate("g") as located:
        create_file(located, [b"next"])
    assert sorted(os.listdir(ws)) == ["f", "g"]


@pytest.mark.contract("F4")
def test_killed_at_random_the_file_is_whole_old_or_whole_new(ws: Path) -> None:
    kill_at_random(ws, 10)


@pytest.mark.slow
@pytest.mark.contract("F4")
def test_killed_at_random_two_hundred_times_the_file_is_whole_old_or_whole_new(ws: Path) -> None:
    kill_at_random(ws, 200)
