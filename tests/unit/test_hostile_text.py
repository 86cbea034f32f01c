"""Text made to cost as much as it can: what takes the square of its length here would run into the test's timeout."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openbuffer.tools.builtin.edit import create_edit_tool
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.errors import ReadByteLimitError, ToolFailure
from openbuffer.tools.support import byte_search, file_bytes
from openbuffer.tools.support.not_found import looked_at, why_not_found
from openbuffer.tools.support.replacing import TooMixedError, count_up_to, occurrences

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1024 * 1024


@pytest.mark.contract("F5")
def test_a_long_old_string_that_nearly_matches_everywhere_is_searched_in_linear_time() -> None:
    text = b"abc" * (5 * MIB)
    nearly = b"abc" * 100_000 + b"acb" + b"abc" * 10_000
    assert list(occurrences(text, nearly)) == []
    assert count_up_to(text, nearly, 10) == 0
    assert list(occurrences(text + nearly, nearly)) == [(len(text), len(text) + len(nearly))]


@pytest.mark.contract("F5", "F6")
@pytest.mark.parametrize("end", [b"\r\n", b"\n\r\n", b"\r\n\n"], ids=["crlf", "mixed", "mixed the other way"])
def test_so_is_one_that_spans_many_line_ends(end: bytes) -> None:
    text = (b"a" + end) * MIB
    nearly = (b"a" + end.replace(b"\r\n", b"\n")) * 30_000 + b"b"
    assert list(occurrences(text, nearly)) == []
    assert next(occurrences(text + b"b", nearly)) == (len(text) - 30_000 * (1 + len(end)), len(text) + 1)


@pytest.mark.contract("F5", "F6")
def test_line_ends_mixed_in_both_give_up_rather_than_compare_for_ever() -> None:
    text = b"a\n" * 200_000 + b"a\r\n"
    with pytest.raises(TooMixedError):
        list(occurrences(text, b"a\n" * 5_000 + b"a\r\na\n"))


@pytest.mark.contract("F5", "F6")
async def test_giving_up_is_an_ordinary_failure_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\n" * 200_000 + b"a\r\n")
    arguments = {"filePath": "f", "oldString": "a\n" * 5_000 + "a\r\na\n", "newString": ""}
    result = await create_edit_tool(cwd=tmp_path).execute(arguments)
    assert result.invocation is not None
    assert result.invocation.error == (
        f"{tmp_path}/f: oldString mixes kinds of line ends, and so does the file, in too many places to compare; "
        "nothing was changed. Give a shorter oldString, with plain line feeds only."
    )


@pytest.mark.contract("F5")
def test_counting_stops_where_it_is_clear_that_there_are_too_many() -> None:
    assert count_up_to(b"ab" * 100, b"ab", 99) == 100
    assert count_up_to(b"ab" * 100, b"ab", 98) == 99
    assert count_up_to(b"ab" * 100, b"ab", 200) == 100
    assert count_up_to(b"x" * 1000 + b"ab" * 100, b"ab", 5) == 6


@settings(max_examples=200, deadline=None)
@given(needle=st.sampled_from([b"\n", b"\r\n", b"aa", b"aba", b"ab", b"\n" * 70]), shift=st.integers(-4, 4))
@example(needle=b"\r\n", shift=-1)
def test_counting_part_by_part_counts_what_lies_across_two_parts_once(needle: bytes, shift: int) -> None:
    data = b"x" * (MIB + shift) + needle * 3 + b"x" * (MIB - 3 * len(needle)) + needle * 2
    assert byte_search.count(data, needle) == data.count(needle)
    assert byte_search.count(data, needle, 3) == data.count(needle, 3)


@pytest.mark.contract("F5")
def test_letters_under_a_tower_of_marks_are_not_normalised() -> None:
    tower = "a" + "\u0301\u0327" * MIB
    assert why_not_found(tower, "b\u0327\u0301").startswith("(Compared with")
    assert "accents" in why_not_found("caf\u00e9 " + "─" * 100, "cafe\u0301")


@pytest.mark.contract("F5")
def test_of_a_large_text_only_the_front_is_decoded() -> None:
    utf8 = ("😀" + "a" * (20 * MIB)).encode()
    front = looked_at(utf8)
    assert len(front) < 10 * MIB
    assert why_not_found(front, "zzz").startswith("(Compared with the first 2000000 characters only.)")
    assert looked_at("é€😀".encode()) == "é€😀"


@pytest.mark.contract("F2")
@pytest.mark.parametrize("told", [0, 5])
def test_a_file_that_holds_more_than_its_size_says_is_read_in_large_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: int
) -> None:
    content = b"x" * (2 * MIB)
    (tmp_path / "f").write_bytes(content)
    fd = os.open(tmp_path / "f", os.O_RDONLY)
    real, reads = os.fstat(fd), 0

    def smaller(_fd: int) -> os.stat_result:
        return os.stat_result([*real[:6], told, *real[7:]])

    def counted(fd: int, size: int, offset: int) -> bytes:
        nonlocal reads
        reads += 1
        buffer = bytearray(size)
        return bytes(buffer[: os.preadv(fd, [buffer], offset)])

    monkeypatch.setattr(file_bytes.os, "fstat", smaller)
    monkeypatch.setattr(file_bytes.os, "pread", counted)
    try:
        pieces = [len(piece) for piece in file_bytes.file_pieces(fd, "f", CancellationToken(), 4 * MIB)]
        assert sum(pieces) == len(content)
        assert len(pieces) < 200
        assert len(file_bytes.file_bytes(fd, "f", 4 * MIB)) == len(content)
        assert reads < 200
    finally:
        os.close(fd)


@pytest.mark.contract("F2", "F5")
def test_a_file_that_grows_for_ever_is_left_at_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"")
    fd = os.open(path, os.O_RDONLY)
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab") as file:
            while not stop.is_set() and file.tell() < 200 * MIB:
                file.write(b"y\n" * 50_000)
                file.flush()

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        while path.stat().st_size == 0:
            pass
        with pytest.raises(ReadByteLimitError, match="grew over the budget"):
            for _ in iter(lambda: sum(map(len, file_bytes.file_pieces(fd, "f", CancellationToken(), MIB))), None):
                pass
        with pytest.raises(ToolFailure, match="over the budget"):
            file_bytes.file_bytes(fd, "f", MIB)
    finally:
        stop.set()
        writer.join()
        os.close(fd)


@pytest.mark.contract("F5")
def test_a_file_over_the_budget_is_refused_before_any_of_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 40)
    fd = os.open(path, os.O_RDONLY)

    def read(*_arguments: object) -> bytes:
        raise AssertionError("nothing is read")

    monkeypatch.setattr(file_bytes.os, "pread", read)
    try:
        with pytest.raises(ToolFailure, match="has 1099511627776 bytes, over the budget"):
            file_bytes.file_bytes(fd, "f", 256 * MIB)
    finally:
        os.close(fd)
