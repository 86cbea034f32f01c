"""Operations on files by lines of shell: as the shells here run them, and what of their output is believed."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.sandbox import (
    DirectoryListing,
    FileStat,
    SandboxAnswerError,
    SandboxError,
    SandboxNotDirectoryError,
    SandboxPermissionError,
)
from openbuffer.sandbox.shell_files import (
    LineEnd,
    check_deleted,
    check_made_directory,
    delete_line,
    list_line,
    make_directory_line,
    parse_list,
    parse_stat,
    stat_line,
)

if TYPE_CHECKING:
    from pathlib import Path

SHELLS = [["sh"], ["bash"], ["bash", "-l"], ["busybox", "sh"], ["dash"]]


@pytest.fixture(params=SHELLS, ids=" ".join)
def shell(request: pytest.FixtureRequest) -> list[str]:
    if shutil.which(request.param[0]) is None:
        pytest.skip(f"{request.param[0]} is not installed")
    return request.param


def ended(shell: list[str], line: str, *, user: int | None = None) -> LineEnd:
    done = subprocess.run([*shell, "-c", line], capture_output=True, check=False, stdin=subprocess.DEVNULL, user=user)
    return LineEnd(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("large")
    for number in range(10_000):
        (directory / f"entry {number:05}").touch()
    (directory / "d").mkdir()
    os.mkfifo(directory / "pipe")
    (directory / "more").touch()
    (directory / "end").symlink_to("nowhere")
    return str(directory)


@pytest.mark.contract("S4")
def test_ten_thousand_entries_are_listed_with_their_kinds(shell: list[str], large: str) -> None:
    listing = parse_list(large, ended(shell, list_line(large, 20_000)))
    assert (len(listing.entries), listing.complete) == (10_004, True)
    kinds = {entry.name: entry.kind for entry in listing.entries if not entry.name.startswith("entry")}
    assert kinds == {"d": "directory", "pipe": "other", "more": "file", "end": "link"}
    short = parse_list(large, ended(shell, list_line(large, 10_003)))
    assert (len(short.entries), short.complete) == (10_003, False)


def test_names_that_look_like_the_end_of_the_list_are_names(shell: list[str], tmp_path: Path) -> None:
    for name in ("end", "more", "f", "openbuffer-list", "!", "(", "-f", "\n", "=", "\\n", "%s"):
        (tmp_path / name).touch()
    listing = parse_list(str(tmp_path), ended(shell, list_line(str(tmp_path), 100)))
    assert {entry.name for entry in listing.entries} == set(os.listdir(tmp_path))
    for count in (0, 1, 5):
        short = parse_list(str(tmp_path), ended(shell, list_line(str(tmp_path), count)))
        assert (len(short.entries), short.complete) == (count, False)


def test_what_may_not_be_read_is_told(shell: list[str], tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs a second user")
    for each in (tmp_path, *tmp_path.parents[:-2]):
        each.chmod(0o755)
    closed = tmp_path / "closed"
    (closed / "inside").mkdir(parents=True)
    closed.chmod(0o700)
    with pytest.raises(SandboxPermissionError):
        parse_list(str(closed), ended(shell, list_line(str(closed), 5), user=65534))
    inside = str(closed / "inside")
    with pytest.raises(SandboxPermissionError):
        parse_stat(inside, ended(shell, stat_line(inside), user=65534))
    with pytest.raises(SandboxPermissionError):
        check_deleted(inside, ended(shell, delete_line(inside), user=65534))
    with pytest.raises(SandboxPermissionError):
        check_made_directory(f"{tmp_path}/new", ended(shell, make_directory_line(f"{tmp_path}/new"), user=65534))


def test_a_directory_is_not_made_where_a_file_is(shell: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (f"{tmp_path}/file", f"{tmp_path}/file/x/y"):
        with pytest.raises(SandboxNotDirectoryError):
            check_made_directory(path, ended(shell, make_directory_line(path)))


@pytest.mark.parametrize(
    "out", ["", "openbuffer-stat", "openbuffer-stat 2 81a4 1 1\n", "openbuffer-stat 0 81a4 -1 1", "stat 0 81a4 1 1"]
)
def test_what_is_no_answer_about_a_file_is_an_error(out: str) -> None:
    with pytest.raises(SandboxAnswerError, match="cannot be understood"):
        parse_stat("/x", LineEnd(0, out, ""))


@pytest.mark.contract("S5")
@pytest.mark.parametrize("body", ["d/../", "d/./", "f//", "f/a\0b/"])
def test_a_name_that_no_entry_can_have_is_no_list(body: str) -> None:
    with pytest.raises(SandboxAnswerError):
        parse_list("/d", LineEnd(0, f"openbuffer-list/{body}end/\n", ""))


@pytest.mark.parametrize(
    "out",
    ["", "openbuffer-list/", "openbuffer-list/f/a/", "openbuffer-list/f/a/f/end/", "openbuffer-list/x/a/end/", "end/"],
)
def test_half_a_list_is_an_error(out: str) -> None:
    with pytest.raises(SandboxAnswerError, match="cannot be understood"):
        parse_list("/x", LineEnd(0, out, ""))


@given(st.integers(0, 255), st.text(max_size=60), st.text(max_size=60))
def test_whatever_is_said_is_an_answer_or_an_error_of_the_sandbox(code: int, out: str, err: str) -> None:
    for parse in (parse_stat, parse_list, check_deleted, check_made_directory):
        for text in (out, f"openbuffer-list/{out}end/\n", f"openbuffer-stat 0 {out}\n"):
            with suppress(SandboxError):
                given = parse("/x", LineEnd(code, text, err))
                assert code == 0
                assert given is None or isinstance(given, FileStat | DirectoryListing)
