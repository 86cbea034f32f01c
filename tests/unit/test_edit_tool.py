"""Edit on disk: what it changes, what it leaves, and how it says no."""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openbuffer.tools import Hunk, InvocationResult, ToolContext
from openbuffer.tools.host import create_edit_tool, create_read_tool


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


async def edit(
    root: Path, old: str, new: str, *, path: str = "f.txt", tool: dict[str, Any] | None = None, **more: Any
) -> InvocationResult:
    arguments = {"filePath": path, "oldString": old, "newString": new, **more}
    result = await create_edit_tool(cwd=root, **(tool or {})).execute(arguments)
    assert result.invocation is not None
    assert result.success == result.invocation.success
    return result.invocation


async def edited(root: Path, raw: bytes, old: str, new: str, **more: Any) -> bytes:
    (root / "f.txt").write_bytes(raw)
    result = await edit(root, old, new, **more)
    assert result.success, result.error
    return (root / "f.txt").read_bytes()


async def refused(root: Path, raw: bytes, old: str, new: str, **more: Any) -> str:
    (root / "f.txt").write_bytes(raw)
    result = await edit(root, old, new, **more)
    assert not result.success
    assert (root / "f.txt").read_bytes() == raw
    return str(result.error).replace(str(root), "R")


@pytest.mark.contract("F5", "F6")
@pytest.mark.parametrize(
    ("raw", "old", "new", "after"),
    [
        pytest.param(b"a\nb\nc\n", "b", "B", b"a\nB\nc\n", id="plain"),
        pytest.param(b"x\r\ny\r\nz\r\n", "x\ny", "1\n2\n3", b"1\r\n2\r\n3\r\nz\r\n", id="crlf by line feed"),
        pytest.param(b"a\r\nb\nc", "c", "C", b"a\r\nb\nC", id="mixed, one byte"),
        pytest.param(b"a  \n\tb \nc", "\tb", "\tB", b"a  \n\tB \nc", id="tabs, blanks, no final newline"),
        pytest.param(b"a\nb", "b", "b\n", b"a\nb\n", id="a final newline on request"),
        pytest.param(codecs.BOM_UTF8 + b"a\n", "a", "x", codecs.BOM_UTF8 + b"x\n", id="first character after a mark"),
        pytest.param(
            codecs.BOM_UTF16_BE + "a\r\né😋".encode("utf-16-be"),
            "é",
            "漢\n",
            codecs.BOM_UTF16_BE + "a\r\n漢\r\n😋".encode("utf-16-be"),
            id="utf-16",
        ),
        pytest.param(b"a\n", "a\n", "", b"", id="everything"),
        pytest.param("a\u2028b\x0c\u00a0c".encode(), "b\x0c", "", "a\u2028\u00a0c".encode(), id="odd characters"),
        pytest.param(b"say $&", "$&", r"\1 \g<0> $` $$ \n &lt;", rb"say \1 \g<0> $` $$ \n &lt;", id="literal"),
    ],
)
async def test_it_changes_the_place_and_nothing_else(root: Path, raw: bytes, old: str, new: str, after: bytes) -> None:
    assert await edited(root, raw, old, new) == after


@pytest.mark.contract("F5")
async def test_replace_all_takes_every_place_that_does_not_overlap(root: Path) -> None:
    assert await edited(root, b"aaa b aa", "aa", "x", replaceAll=True) == b"xa b x"
    assert await edited(root, b"k\r\nk\nk", "k", "1\n2", replaceAll=True) == b"1\r\n2\r\n1\r\n2\n1\n2"
    assert await edited(root, b"k" * 5_000, "k", "ab", replaceAll=True) == b"ab" * 5_000


@pytest.mark.contract("F5")
async def test_the_result_tells_path_count_lines_and_where_it_is(root: Path) -> None:
    (root / "f.txt").write_bytes(b"a\nb\nc\nb\n")
    result = await edit(root, "b", "B", replaceAll=True)
    assert (result.output, result.start_line) == (
        f"Edited {root}/f.txt: replaced 2 places, in lines 2 and 4. Written to disk.",
        2,
    )
    result = await edit(root, "a\nB\nc", "a\nB\nC")
    assert (result.output, result.start_line) == (
        f"Edited {root}/f.txt: replaced 1 place, in line 3. Written to disk.",
        3,
    )


@pytest.mark.contract("F5", "T4")
@pytest.mark.parametrize(
    ("raw", "old", "new", "more", "says"),
    [
        pytest.param(
            b"a",
            "",
            "x",
            {},
            "f.txt: oldString is empty; give the exact text to replace. An empty or a new file is filled as a whole "
            "(Write, where that tool is offered).",
            id="empty",
        ),
        pytest.param(
            b"a",
            "a",
            "a",
            {},
            "f.txt: oldString and newString are the same, so nothing would change; give the new text.",
            id="same",
        ),
        pytest.param(
            b"a\r\nb",
            "a\r\nb",
            "a\nb",
            {},
            "R/f.txt: nothing would change: oldString and newString differ in line ends only, and a line feed in "
            "newString becomes the line end that the place has.",
            id="line ends only",
        ),
        pytest.param(
            b"k\nx\nk\ny\nk\n",
            "k",
            "K",
            {},
            "R/f.txt: oldString was found 3 times, in lines 1, 3 and 5; nothing was changed. Put more of the "
            "surrounding text into oldString to make it unique, or set replaceAll to replace every one.",
            id="three times",
        ),
        pytest.param(
            b"k\n" * 99,
            "k",
            "K",
            {},
            "R/f.txt: oldString was found 99 times, in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 89 more places; nothing "
            "was changed. Put more of the surrounding text into oldString to make it unique, or set replaceAll to "
            "replace every one.",
            id="many times",
        ),
        pytest.param(
            b"x\ny x\r\ny",
            "x\ny",
            "z",
            {},
            "R/f.txt: oldString was found 2 times, in lines 1 and 2; nothing was changed. Put more of the surrounding "
            "text into oldString to make it unique, or set replaceAll to replace every one.",
            id="once with each line end",
        ),
        pytest.param(
            b"aaa",
            "aa",
            "z",
            {},
            "R/f.txt: oldString was found 2 times, in line 1; nothing was changed. Put more of the surrounding "
            "text into oldString to make it unique, or set replaceAll to replace every one.",
            id="overlapping",
        ),
        pytest.param(
            b"x = 1\n",
            "y = 2",
            "z",
            {"replaceAll": True},
            "R/f.txt: oldString was not found; nothing was changed. No place in it is similar.",
            id="not found",
        ),
        pytest.param(
            b"say \xe2\x80\x9chi\xe2\x80\x9d\n",
            'say "hi"',
            "z",
            {},
            "R/f.txt: oldString was not found; nothing was changed. Except for the kind of quotes, dashes, blanks or "
            "accents it would match line 1:\n     1\tsay \u201chi\u201d",
            id="curly quotes never match",
        ),
        pytest.param(
            b"a\0b",
            "a",
            "x",
            {},
            "R/f.txt: is binary (NUL byte at offset 1), or UTF-16 without a byte-order mark; it is "
            "neither shown nor changed as text. Use a command made for its format.",
            id="binary",
        ),
        pytest.param(
            b"abc",
            "a",
            "\0",
            {},
            "R/f.txt: the new text holds a NUL character, which would make the file binary. Nothing was changed. "
            "Leave it out.",
            id="nul",
        ),
    ],
)
async def test_each_failure_has_its_own_words_and_changes_nothing(
    root: Path, raw: bytes, old: str, new: str, more: dict[str, Any], says: str
) -> None:
    assert await refused(root, raw, old, new, **more) == says


@pytest.mark.contract("F5")
async def test_the_size_ceiling_holds_before_and_after_the_replacement(root: Path) -> None:
    assert await refused(root, b"a" * 101, "aaa", "b", tool={"max_bytes": 100}) == (
        "R/f.txt: has 101 bytes, over the budget of 100 bytes for one change; nothing was changed. "
        "Change it with a command made for large files."
    )
    assert await refused(root, b"a" + b"b" * 99, "a", "aa", tool={"max_bytes": 100}) == (
        "R/f.txt: would have 101 bytes after the change, over the budget of 100 bytes; nothing was changed. "
        "Replace less, or split the file."
    )
    assert len(await edited(root, b"a" + b"b" * 98, "a", "aa", tool={"max_bytes": 100})) == 100


@pytest.mark.contract("F5")
async def test_the_size_ceiling_counts_the_bytes_of_the_files_own_encoding(root: Path) -> None:
    raw = codecs.BOM_UTF16_LE + ("a" + "b" * 45).encode("utf-16-le")
    assert len(await edited(root, raw, "a", "c" * 4, tool={"max_bytes": 100})) == 100
    assert "would have 102 bytes after the change" in await refused(root, raw, "a", "c" * 5, tool={"max_bytes": 100})
    raw = codecs.BOM_UTF16_LE + ("a" + "漢" * 45).encode("utf-16-le")
    assert len(await edited(root, raw, "a", "漢" * 4, tool={"max_bytes": 100})) == 100
    assert "would have 3000" in await refused(root, b"k" * 30, "k", "x" * 100, tool={"max_bytes": 100}, replaceAll=True)


@pytest.mark.contract("F5")
async def test_a_missing_file_and_a_directory_are_ordinary_failures(root: Path) -> None:
    (root / "dir").mkdir()
    for name, reason in {"dir": "is a directory", "gone.txt": "no such file"}.items():
        result = await edit(root, "a", "b", path=name)
        assert not result.success
        assert reason in str(result.error)
        assert str(root / name) in str(result.error)


@pytest.mark.contract("F5")
async def test_touching_the_file_or_editing_several_times_needs_no_new_read(root: Path) -> None:
    (root / "f.txt").write_bytes(b"0")
    os.utime(root / "f.txt", (1, 1))
    for number in range(3):
        assert (await edit(root, str(number), str(number + 1))).success
    assert (root / "f.txt").read_bytes() == b"3"


@pytest.mark.contract("T12")
async def test_the_plan_tells_targets_and_the_exact_change(root: Path) -> None:
    (root / "f.txt").write_bytes(b"a\nb k\nc\nk\n")
    tool = create_edit_tool(cwd=root)
    arguments = {"filePath": "f.txt", "oldString": "k", "newString": "K\n2", "replaceAll": True}
    plan = await tool.prepare(tool.validate(arguments), ToolContext())
    plan.close()
    assert [(target.path, target.access, target.place, target.exists) for target in plan.targets] == [
        (f"{root}/f.txt", "FILE_READ", "disk", True),
        (f"{root}/f.txt", "FILE_WRITE", "disk", True),
    ]
    assert plan.change is not None
    assert plan.change.hunks == (Hunk(2, "b k\n", "b K\n2\n"), Hunk(4, "k\n", "K\n2\n"))
    assert (plan.change.before_bytes, plan.change.after_bytes) == (10, 14)
    assert (root / "f.txt").read_bytes() == b"a\nb k\nc\nk\n"


@pytest.mark.contract("F6")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.text(st.sampled_from("ab é\t😋\r\n\u2028"), max_size=12), min_size=2, max_size=2),
    new=st.text(st.sampled_from("xyé\n"), max_size=6),
    form=st.sampled_from([(b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le")]),
)
async def test_what_stands_before_and_after_the_place_keeps_its_bytes(
    root: Path, parts: list[str], new: str, form: tuple[bytes, str]
) -> None:
    mark, codec = form
    before, after = (part.encode(codec) for part in parts)
    result = await edited(root, mark + before + "KEY".encode(codec) + after, "KEY", new)
    assert result.startswith(mark + before)
    assert result.endswith(after)
    middle = result[len(mark + before) : len(result) - len(after)].decode(codec)
    assert middle in {new, new.replace("\n", "\r\n"), new.replace("\n", "\r")}


@pytest.mark.contract("F1", "F5")
async def test_what_read_shows_is_what_edit_matches(root: Path) -> None:
    raw = "a  b\r\n\tc é\r\n\r\nlast\u2028".encode()
    (root / "f.txt").write_bytes(raw)
    shown = (await create_read_tool(cwd=root).execute({"filePath": "f.txt"})).value["output"]
    lines = [line.partition("\t")[2] for line in shown.split("\n")[1:]]
    assert await edited(root, raw, "\n".join(lines), "gone") == b"gone"
