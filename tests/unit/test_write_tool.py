"""Write on disk: creating and replacing whole files, and what of an existing one is kept."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from openbuffer.tools import Hunk, InvocationResult, ToolContext
from openbuffer.tools.host import create_write_tool


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


async def write(root: Path, content: str, path: str = "f.txt", **tool: Any) -> InvocationResult:
    result = await create_write_tool(cwd=root, **tool).execute({"filePath": path, "content": content})
    assert result.invocation is not None
    assert result.success == result.invocation.success
    return result.invocation


@pytest.mark.contract("F3")
@pytest.mark.parametrize(
    ("content", "size"), [("", 0), ("a\n", 2), ("é漢😋", 9), ("a\r\nb\n", 5), ("\ufeffa", 4)], ids=repr
)
async def test_a_new_file_is_utf8_exactly_as_given_with_its_parents_and_its_real_size(
    root: Path, content: str, size: int
) -> None:
    result = await write(root, content, "new/deep/f.txt")
    assert result.output == f"Created {root}/new/deep/f.txt: {size} bytes. Written to disk."
    assert (root / "new/deep/f.txt").read_bytes() == content.encode()


@pytest.mark.contract("F3", "F6")
@pytest.mark.parametrize(
    ("raw", "content", "after", "kept"),
    [
        pytest.param(b"old\n", "a\nb\n", b"a\nb\n", "", id="plain"),
        pytest.param(b"", "a\n", b"a\n", "", id="an empty file has nothing to keep"),
        pytest.param(b"x\r\ny\r\n", "a\nb", b"a\r\nb", "CRLF line ends", id="crlf"),
        pytest.param(b"x\r\ny\n", "a\nb", b"a\nb", "", id="mixed line ends are not kept"),
        pytest.param(b"x\r\n", "a\r\nb\n", b"a\r\nb\n", "", id="content with CRLF of its own is as given"),
        pytest.param(b"x\n", "a\r\n", b"a\r\n", "", id="CRLF into an LF file is as given"),
        pytest.param(codecs.BOM_UTF8 + b"x\n", "é\n", codecs.BOM_UTF8 + "é\n".encode(), "byte-order mark", id="mark"),
        pytest.param(codecs.BOM_UTF8 + b"x", "\ufeffy", codecs.BOM_UTF8 + b"y", "byte-order mark", id="no second mark"),
        pytest.param(
            codecs.BOM_UTF16_LE + "x\r\n".encode("utf-16-le"),
            "é\n",
            codecs.BOM_UTF16_LE + "é\r\n".encode("utf-16-le"),
            "byte-order mark, encoding UTF-16 LE, CRLF line ends",
            id="utf-16",
        ),
        pytest.param(
            "déjà vu à côté, naïve façade\n".encode("latin-1"),
            "thé\n",
            "thé\n".encode("latin-1"),
            "encoding windows-1252 (a guess)",
            id="latin-1",
        ),
    ],
)
async def test_an_existing_file_keeps_mark_encoding_and_uniform_line_ends(
    root: Path, raw: bytes, content: str, after: bytes, kept: str
) -> None:
    (root / "f.txt").write_bytes(raw)
    result = await write(root, content)
    assert (root / "f.txt").read_bytes() == after
    sentence = f" Kept from the file: {kept}." if kept else ""
    assert result.output == (f"Replaced the content of {root}/f.txt: {len(after)} bytes. Written to disk.{sentence}")


@pytest.mark.contract("F3")
async def test_writing_what_is_there_already_says_so_and_writes_nothing(root: Path) -> None:
    path = root / "f.txt"
    path.write_bytes(b"a\r\n")
    before = path.stat()
    result = await write(root, "a\n")
    assert result.success
    assert result.output == f"{path}: the file already holds exactly this content (3 bytes); nothing was written."
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.contract("F4")
async def test_the_mode_of_a_replaced_file_stays(root: Path) -> None:
    (root / "f.txt").write_bytes(b"#!/bin/sh\n")
    (root / "f.txt").chmod(0o750)
    assert (await write(root, "#!/bin/sh\necho\n")).success
    assert stat.S_IMODE((root / "f.txt").stat().st_mode) == 0o750
    assert os.listdir(root) == ["f.txt"]


@pytest.mark.contract("F6", "T4")
@pytest.mark.parametrize(
    ("raw", "content", "reason"),
    [
        (b"\x89PNG\0", "x", "is binary (NUL byte at offset 4)"),
        ("déjà vu à côté, naïve façade\n".encode("latin-1"), "漢", "in windows-1252, which cannot hold '漢'"),
        (b"text", "a\0", "the new text holds a NUL character"),
    ],
)
async def test_what_would_lose_or_damage_is_refused(root: Path, raw: bytes, content: str, reason: str) -> None:
    (root / "f.txt").write_bytes(raw)
    result = await write(root, content)
    assert not result.success
    assert str(result.error).startswith(f"{root}/f.txt: ")
    assert reason in str(result.error)
    assert (root / "f.txt").read_bytes() == raw


@pytest.mark.contract("F3")
async def test_the_size_ceiling_holds_for_the_file_and_for_the_content_in_its_own_encoding(root: Path) -> None:
    path = root / "f.txt"
    for raw, content, says in [
        (None, "a" * 11, "the content has 11 bytes, over the budget of 10 bytes; nothing was changed. Write less"),
        (b"old", "é" * 6, "the content has 12 bytes, over the budget of 10 bytes"),
        (codecs.BOM_UTF16_LE + b"a\0", "bbbbb", "the content has 12 bytes, over the budget of 10 bytes"),
        (b"a" * 11, "b", "has 11 bytes, over the budget of 10 bytes for one change; nothing was changed"),
    ]:
        if raw is not None:
            path.write_bytes(raw)
        assert f"{path}: {says}" in str((await write(root, content, max_bytes=10)).error)
        assert (path.read_bytes() if path.exists() else None) == raw
    assert (await write(root, "b" * 10, "new.txt", max_bytes=10)).success


async def test_a_nul_is_refused_in_a_new_file_too(root: Path) -> None:
    assert "holds a NUL" in str((await write(root, "a\0", "dir/new")).error)
    assert os.listdir(root) == []


@pytest.mark.contract("F3", "T4")
@pytest.mark.parametrize("path", ["dir", "f.txt/below", "../outside"])
async def test_what_is_no_place_for_a_file_is_an_ordinary_failure(root: Path, path: str) -> None:
    (root / "dir").mkdir()
    (root / "f.txt").write_bytes(b"x")
    result = await write(root, "y", path)
    assert not result.success
    assert path.removeprefix("../") in str(result.error)


@pytest.mark.contract("T12")
async def test_the_plan_of_a_write_tells_the_exact_change(root: Path) -> None:
    (root / "f.txt").write_bytes(b"a\nb\nc\n")
    tool = create_write_tool(cwd=root)
    context = ToolContext()
    for path, content, hunks, sizes in [
        ("f.txt", "a\nB\nc\n", (Hunk(2, "b\n", "B\n"),), (6, 6)),
        ("f.txt", "", (Hunk(1, "a\nb\nc\n", ""),), (6, 0)),
        ("new", "x\ny", (Hunk(1, "", "x\ny"),), (None, 3)),
    ]:
        plan = await tool.prepare(tool.validate({"filePath": path, "content": content}), context)
        plan.close()
        assert plan.change is not None
        assert plan.change.hunks == hunks
        assert (plan.change.before_bytes, plan.change.after_bytes) == sizes
        (target,) = plan.targets
        assert (target.path, target.access, target.exists) == (f"{root}/{path}", "FILE_WRITE", path != "new")


async def test_a_big_content_is_written_whole(root: Path) -> None:
    content = "line é\n" * 300_000
    assert (await write(root, content)).success
    assert (root / "f.txt").read_text(encoding="utf-8") == content
    changed: Any = content.replace("line é\n", "changed\n", 1)
    assert (await write(root, changed)).success
    assert (root / "f.txt").read_text(encoding="utf-8") == changed
