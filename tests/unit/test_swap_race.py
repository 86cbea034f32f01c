"""Somebody swaps files and directories for links out of the root while paths are being opened: nothing leaks."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools.errors import PathRefusedError, PlanOutdatedError, ToolFailure
from openbuffer.tools.support.atomic import create_file, replace_file
from openbuffer.tools.support.deleting import delete_directory, delete_file, delete_link, link_target
from openbuffer.tools.support.paths import Roots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

INSIDE, SECRET = b"inside", b"secret"
BOTH = frozenset({"inside", "refused"})
TRIES, LONG_TRIES = 3_000, 30_000

# Swaps the directory or file `it` for `link`, until its standard input is closed: in steps, with nothing under the
# name in between, or in one.
IN_STEPS = textwrap.dedent("""
    import os, select, sys
    os.chdir(sys.argv[1])
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(100):
            os.rename("it", "real"); os.rename("link", "it")
            os.rename("it", "link"); os.rename("real", "it")
""")
IN_ONE = textwrap.dedent("""
    import ctypes, os, select, sys
    exchange = ctypes.CDLL(None).renameat2
    os.chdir(sys.argv[1])
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(100):
            assert exchange(-100, b"it", -100, b"link", 2) == 0
""")
# The same where one of the two may be missing for a while.
IN_ONE_OR_NOT = IN_ONE.replace("assert ", "").replace(" == 0", "")


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    """`it` and `link` are a directory and a link to one outside, or a file and a link to one outside."""
    root = tmp_path.resolve() / "ws"
    outside = tmp_path / "outside"
    for directory in (root, root / "dirs", root / "files", root / "dirs" / "it", outside):
        directory.mkdir()
    (root / "dirs" / "it" / "f").write_bytes(INSIDE)
    (outside / "f").write_bytes(SECRET)
    (root / "dirs" / "link").symlink_to(outside)
    (root / "files" / "it").write_bytes(INSIDE)
    (root / "files" / "link").symlink_to(outside / "f")
    return root


@contextmanager
def swapping(directory: Path, script: str = IN_STEPS) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", script, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as swapper:
        assert swapper.stdin
        assert swapper.stdout
        try:
            swapper.stdout.readline()
            yield
            assert swapper.poll() is None, "the swapper gave up"
        finally:
            swapper.stdin.close()
            swapper.wait(30)


def count(tries: int, attempt: Callable[[], str], until: frozenset[str] = BOTH) -> dict[str, int]:
    """Try so often, and longer (within reason) until these outcomes were met."""
    seen: dict[str, int] = {}
    for number in range(tries * 20):
        outcome = attempt()
        seen[outcome] = seen.get(outcome, 0) + 1
        if number >= tries and until <= seen.keys():
            break
    return seen


def read_race(ws: Path, path: str, tries: int) -> None:
    roots = Roots(ws)

    def attempt() -> str:
        try:
            with roots.locate(path) as located:
                if located.kind == "missing":
                    return "missing"
                found = os.pread(located.require_file(), 100, 0)
                assert located.path.startswith(f"{ws}/")
        except PathRefusedError:
            return "refused"
        assert found == INSIDE, "something outside was opened"
        return "inside"

    before = len(os.listdir("/dev/fd"))
    with swapping(ws / path.split("/", 1)[0]):
        seen = count(tries, attempt)
    assert len(os.listdir("/dev/fd")) == before
    assert seen.get("inside"), seen
    assert seen.get("refused"), seen


@pytest.mark.contract("P3")
@pytest.mark.parametrize("path", ["dirs/it/f", "files/it"])
@pytest.mark.usefixtures("way")
def test_a_read_never_gets_a_descriptor_outside(ws: Path, path: str) -> None:
    read_race(ws, path, TRIES)


@pytest.mark.contract("P3")
@pytest.mark.parametrize("path", ["dirs/it/f", "files/it"])
def test_thirty_thousand_reads_the_way_this_system_does_them_leak_nothing(ws: Path, path: str) -> None:
    read_race(ws, path, LONG_TRIES)


@pytest.mark.slow
@pytest.mark.contract("P3")
@pytest.mark.parametrize("path", ["dirs/it/f", "files/it"])
@pytest.mark.usefixtures("way")
def test_a_read_never_gets_a_descriptor_outside_in_thirty_thousand_tries(ws: Path, path: str) -> None:
    read_race(ws, path, LONG_TRIES)


def test_the_race_is_a_race_for_whoever_checks_first_and_opens_then(ws: Path) -> None:
    def attempt() -> str:
        try:
            checked = os.path.realpath(ws / "dirs" / "it" / "f")
            if not checked.startswith(f"{ws}/"):
                return "refused"
            with open(checked, "rb") as file:
                return "inside" if file.read() == INSIDE else "leaked"
        except OSError:
            return "missing"

    with swapping(ws / "dirs"):
        seen = count(TRIES, attempt, until=frozenset({"leaked"}))
    assert seen.get("leaked"), seen


def write_race(ws: Path, tries: int) -> None:
    """Edit, create and create with parents below a directory that is being swapped."""
    roots = Roots(ws)
    outside = ws.parent / "outside"
    turn = 0

    def attempt() -> str:
        nonlocal turn
        turn += 1
        name = ("f", f"new-{turn}", f"parent-{turn}/new")[turn % 3]
        try:
            with roots.locate(f"dirs/it/{name}") as located:
                if name == "f":
                    located.require_file()
                    replace_file(located, [INSIDE], expected=INSIDE)
                else:
                    create_file(located, [INSIDE])
        except PathRefusedError as error:
            return "missing" if "no such file" in str(error) else "refused"
        except (PlanOutdatedError, ToolFailure):
            return "outdated"
        return "inside"

    with swapping(ws / "dirs", IN_ONE):
        seen = count(tries, attempt)
    assert os.listdir(outside) == ["f"], "something was made outside"
    assert (outside / "f").read_bytes() == SECRET
    assert seen.get("inside"), seen
    assert seen.get("refused"), seen


@pytest.mark.contract("P5")
@pytest.mark.skipif(sys.platform != "linux", reason="swapping two names in one step is Linux' renameat2")
@pytest.mark.usefixtures("way")
def test_a_write_never_lands_outside(ws: Path) -> None:
    write_race(ws, 600)


@pytest.mark.slow
@pytest.mark.contract("P5")
@pytest.mark.skipif(sys.platform != "linux", reason="swapping two names in one step is Linux' renameat2")
@pytest.mark.usefixtures("way")
def test_a_write_never_lands_outside_in_thirty_thousand_tries(ws: Path) -> None:
    write_race(ws, LONG_TRIES)


def delete_race(ws: Path, tries: int) -> None:
    """Delete a file, a link and a directory below a directory that is being swapped for a link to their likes."""
    roots = Roots(ws)
    outside = ws.parent / "outside"
    inside = os.open(ws / "dirs" / "it", os.O_RDONLY)  # wherever it is by now
    there = os.open(outside, os.O_RDONLY)
    put_there(there)
    os.close(there)
    turn = 0

    def attempt() -> str:
        nonlocal turn
        turn += 1
        put_there(inside)
        name = ("f", "link", "empty")[turn % 3]
        try:
            with roots.locate_entry(f"dirs/it/{name}") as located:
                assert located.path.startswith(f"{ws}/")
                if located.kind == "link":
                    delete_link(located, "nowhere")
                elif located.kind == "directory":
                    delete_directory(located)
                else:
                    located.require_file()
                    delete_file(located, INSIDE)
        except PathRefusedError as error:
            return "missing" if "no such file" in str(error) else "refused"
        except (PlanOutdatedError, ToolFailure):
            return "outdated"
        assert name not in os.listdir(inside), "what was told to be deleted is there"
        return "inside"

    with swapping(ws / "dirs", IN_ONE):
        seen = count(tries, attempt)
    os.close(inside)
    assert sorted(os.listdir(outside)) == ["empty", "f", "link"], "something outside was deleted"
    assert (outside / "f").read_bytes() == SECRET
    assert seen.get("inside"), seen
    assert seen.get("refused"), seen


def put_there(directory_fd: int) -> None:
    """What is to be deleted, where it is not there."""
    there = os.listdir(directory_fd)
    if "f" not in there:
        with open(os.open("f", os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=directory_fd), "wb") as file:
            file.write(INSIDE)
    if "link" not in there:
        os.symlink("nowhere", "link", dir_fd=directory_fd)
    if "empty" not in there:
        os.mkdir("empty", dir_fd=directory_fd)


@pytest.mark.contract("P5", "F11")
@pytest.mark.skipif(sys.platform != "linux", reason="swapping two names in one step is Linux' renameat2")
@pytest.mark.usefixtures("way")
def test_nothing_outside_is_ever_deleted(ws: Path) -> None:
    delete_race(ws, 600)


@pytest.mark.slow
@pytest.mark.contract("P5", "F11")
@pytest.mark.skipif(sys.platform != "linux", reason="swapping two names in one step is Linux' renameat2")
@pytest.mark.usefixtures("way")
def test_nothing_outside_is_ever_deleted_in_thirty_thousand_tries(ws: Path) -> None:
    delete_race(ws, LONG_TRIES)


@pytest.mark.contract("P5", "F11")
@pytest.mark.skipif(sys.platform != "linux", reason="swapping two names in one step is Linux' renameat2")
@pytest.mark.usefixtures("way")
def test_a_file_that_is_swapped_for_a_link_takes_nothing_outside_along(ws: Path) -> None:
    """One of the two is deleted and put back; what the link leads to is never touched."""
    roots, files = Roots(ws), ws / "files"

    def attempt() -> str:
        try:
            with roots.locate_entry("files/it") as located:
                kind = located.kind
                if kind == "link":
                    delete_link(located, link_target(located))
                else:
                    located.require_file()
                    delete_file(located, INSIDE)
        except PathRefusedError:
            return "refused"
        except (PlanOutdatedError, ToolFailure):
            return "outdated"
        put_back(files)
        return kind

    with swapping(files, IN_ONE_OR_NOT):
        seen = count(600, attempt, until=frozenset({"file", "link"}))
    assert (ws.parent / "outside" / "f").read_bytes() == SECRET
    assert seen.get("file"), seen
    assert seen.get("link"), seen


def put_back(files: Path) -> None:
    """The file or the link, under the name that is free; what is under the other one tells which of them."""
    (other,) = os.listdir(files)
    missing = files / ({"it", "link"} - {other}).pop()
    if (files / other).is_symlink():
        missing.write_bytes(INSIDE)
    else:
        missing.symlink_to(files.parent.parent / "outside" / "f")
