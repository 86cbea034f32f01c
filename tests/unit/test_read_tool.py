"""Read: what the model sees of a file."""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import (
    CancellationToken,
    InvocationResult,
    ReadByteLimitError,
    ReadCancelledError,
    ToolArgumentError,
    ToolContext,
    ToolDefinitionError,
)
from openbuffer.tools.host import create_read_tool
from openbuffer.tools.support import file_bytes


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


async def read(
    root: Path, path: str | Path = "f.txt", *, tool: dict[str, Any] | None = None, **more: Any
) -> InvocationResult:
    result = await create_read_tool(cwd=root, **(tool or {})).execute({"filePath": str(path), **more})
    assert result.invocation is not None
    assert result.success == result.invocation.success
    return result.invocation


async def output(root: Path, raw: bytes, **more: Any) -> str:
    (root / "f.txt").write_bytes(raw)
    result = await read(root, **more)
    assert result.success, result.error
    return result.output.replace(str(root), "R")


@pytest.mark.contract("F1")
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        pytest.param(
            b"one\n\ttwo  \nthree\n",
            "R/f.txt: lines 1-3 of 3, on disk\n     1\tone\n     2\t\ttwo  \n     3\tthree",
            id="tabs and blanks stay",
        ),
        pytest.param(
            b"a\nb",
            "R/f.txt: lines 1-2 of 2, on disk; no line end after the last line\n     1\ta\n     2\tb",
            id="no final newline",
        ),
        pytest.param(b"", "R/f.txt: empty, 0 lines, on disk", id="empty"),
        pytest.param(
            b"\n", "R/f.txt: lines 1-1 of 1, on disk; the only line is empty\n     1\t", id="a single newline"
        ),
        pytest.param(b"a\n\n", "R/f.txt: lines 1-2 of 2, on disk\n     1\ta\n     2\t", id="an empty last line"),
        pytest.param(
            b"a\r\nb\r\n", "R/f.txt: lines 1-2 of 2, on disk; CRLF line ends\n     1\ta\n     2\tb", id="crlf"
        ),
        pytest.param(
            b"a\r\nb\nc\r\n",
            "R/f.txt: lines 1-3 of 3, on disk; mixed line ends, 2 of 3 are CRLF\n     1\ta\n     2\tb\n     3\tc",
            id="mixed",
        ),
        pytest.param(
            codecs.BOM_UTF8 + b"a\n", "R/f.txt: lines 1-1 of 1, on disk; byte-order mark\n     1\ta", id="utf-8 mark"
        ),
        pytest.param(codecs.BOM_UTF8, "R/f.txt: empty, 0 lines, on disk; byte-order mark", id="only a mark"),
        pytest.param(
            codecs.BOM_UTF16_LE + "é😋\r\nb\r\n".encode("utf-16-le"),
            "R/f.txt: lines 1-2 of 2, on disk; UTF-16 LE; byte-order mark; CRLF line ends\n     1\té😋\n     2\tb",
            id="utf-16",
        ),
        pytest.param(
            "déjà vu à côté, naïve façade\n".encode("latin-1"),
            "R/f.txt: lines 1-1 of 1, on disk; read as windows-1252, a guess that gives every byte back\n"
            "     1\tdéjà vu à côté, naïve façade",
            id="latin-1",
        ),
        pytest.param(
            "a\u2028b\x0cc\x85d\re\n".encode(),
            "R/f.txt: lines 1-1 of 1, on disk\n     1\ta\u2028b\x0cc\x85d\re",
            id="only a line feed ends a line",
        ),
    ],
)
async def test_the_header_and_the_lines(root: Path, raw: bytes, shown: str) -> None:
    assert await output(root, raw) == shown


@pytest.mark.contract("F1")
async def test_offset_and_limit_choose_lines_and_the_total_stays_exact(root: Path) -> None:
    raw = b"".join(b"line %d\n" % number for number in range(1, 50_001))
    shown = await output(root, raw, offset=49_999, limit=5)
    assert shown == "R/f.txt: lines 49999-50000 of 50000, on disk\n 49999\tline 49999\n 50000\tline 50000"
    assert (await output(root, raw)).count("\n") == 2_000  # the default limit, and the header


@pytest.mark.contract("F1")
@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"a\nb\n", "R/f.txt: offset 3 is past the end, the text has 2 lines, on disk"),
        (b"\n", "R/f.txt: offset 3 is past the end, the text has 1 line, on disk; the only line is empty"),
        (b"", "R/f.txt: empty, 0 lines, on disk"),
    ],
)
async def test_an_offset_past_the_end_is_said_as_such(root: Path, raw: bytes, says: str) -> None:
    assert await output(root, raw, offset=3) == says


@pytest.mark.contract("F1", "T4")
async def test_binary_files_directories_and_missing_files_are_ordinary_failures(root: Path) -> None:
    (root / "dir").mkdir()
    (root / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    for name, reason in {"b.png": "is binary", "dir": "is a directory", "gone.txt": "no such file"}.items():
        result = await read(root, name)
        assert not result.success
        assert reason in str(result.error)
        assert str(root / name) in str(result.error)
        assert result.output == ""


@pytest.mark.contract("F2")
async def test_a_file_over_the_budget_is_refused_whatever_slice_is_asked_for(root: Path) -> None:
    (root / "f.txt").write_bytes(b"a\n" * 500)
    for limit in (1, 1000):
        with pytest.raises(ReadByteLimitError) as refused:
            await read(root, tool={"max_bytes": 999}, limit=limit)
        assert str(refused.value) == (
            f"{root}/f.txt: has 1000 bytes, over the budget of 999 bytes that holds whatever slice is asked for. "
            "Search it for what you need (Grep, where that tool is offered), or print a part with a command such as "
            "sed -n '1,200p'."
        )
    assert (await read(root, tool={"max_bytes": 1000}, limit=1)).success


@pytest.mark.contract("F2")
async def test_output_over_the_budget_is_refused_and_the_slice_that_fits_does_fit(root: Path) -> None:
    raw = b"".join(b"line %d\n" % number for number in range(1, 1001))
    (root / "f.txt").write_bytes(raw)
    budget = 5_000
    with pytest.raises(ReadByteLimitError) as refused:
        await read(root, tool={"max_output_bytes": budget}, offset=100)
    message = str(refused.value)
    assert f"{root}/f.txt: lines 100 to 1000 take more than the output budget of {budget} bytes" in message
    assert f"(the text has {len(raw)} bytes)" in message
    limit = int(message.partition("with limit ")[2].split()[0])
    assert limit > 100
    fitting = await read(root, tool={"max_output_bytes": budget}, offset=100, limit=limit)
    assert len(fitting.output.encode()) <= budget


@pytest.mark.contract("F2")
async def test_the_output_budget_is_exact(root: Path) -> None:
    (root / "f.txt").write_bytes("é\n".encode() * 300)
    size = len((await read(root)).output.encode())
    assert (await read(root, tool={"max_output_bytes": size})).success
    with pytest.raises(ReadByteLimitError):
        await read(root, tool={"max_output_bytes": size - 1})


@pytest.mark.contract("F2")
async def test_a_budget_that_holds_no_line_says_so(root: Path) -> None:
    (root / "f.txt").write_bytes(b"x" * 5_000)
    with pytest.raises(ReadByteLimitError, match=r"Not even one line fits\. Or search the file"):
        await read(root, tool={"max_output_bytes": 100})


@pytest.mark.contract("F2")
async def test_a_line_of_600000_characters_is_cut_and_its_length_told(root: Path) -> None:
    shown = await output(root, b"x" * 600_000 + b"\nnext\n")
    assert shown.endswith("     1\t" + "x" * 2_000 + " … (line cut: 2000 of 600000 characters shown)\n     2\tnext")


@pytest.mark.contract("F2")
async def test_a_file_that_grows_while_it_is_read_stays_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root / "f.txt"
    path.write_bytes(b"a\n" * 100)
    whole = file_bytes.file_pieces

    def growing(fd: int, name: str, token: CancellationToken, max_bytes: int) -> Any:
        with path.open("ab") as file:
            file.write(b"b\n" * 1000)
        return whole(fd, name, token, max_bytes)

    monkeypatch.setattr("openbuffer.tools.support.disk_place.file_pieces", growing)
    with pytest.raises(ReadByteLimitError, match="grew over the budget of 500 bytes while it was being read"):
        await read(root, tool={"max_bytes": 500})
    assert "changed while it was being read" in (await read(root)).output.partition("\n")[0]


@pytest.mark.contract("T5")
async def test_a_cancelled_token_ends_the_read_as_cancelled(root: Path) -> None:
    (root / "f.txt").write_bytes(b"a\n")
    token = CancellationToken()
    tool = create_read_tool(cwd=root)
    context = ToolContext(cancellation=token)
    plan = await tool.prepare(tool.validate({"filePath": "f.txt"}), context)
    token.cancel()
    with pytest.raises(ReadCancelledError, match=r"f\.txt: the read was cancelled after 0 bytes"):
        await tool.commit(plan, context)
    plan.close()


@pytest.mark.contract("T6")
async def test_a_cancelled_task_ends_as_cancelled_after_the_read_has_stopped(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "f.txt").write_bytes(b"a\n" * 1000)
    token = CancellationToken()
    events: list[str] = []
    with anyio.CancelScope() as scope:

        def endless(_fd: int, path: str, token: CancellationToken, _max: int) -> Any:
            anyio.from_thread.run_sync(scope.cancel)
            while not token.cancelled:
                yield b"a\n"
            events.append("stopped")
            raise ReadCancelledError(path)

        monkeypatch.setattr("openbuffer.tools.support.disk_place.file_pieces", endless)
        await create_read_tool(cwd=root).execute({"filePath": "f.txt"}, ToolContext(cancellation=token))
    assert scope.cancelled_caught
    assert events == ["stopped"]


@pytest.mark.contract("E3")
async def test_an_open_document_is_read_through_the_same_form_and_limits(root: Path) -> None:
    path = str(root / "f.txt")
    (root / "f.txt").write_text("a\nb\nc")
    editor = MemoryEditor()
    editor.open(path)
    editor.replace(path, 4, 5, "C-user\u2028 é\r\n")
    tool: dict[str, Any] = {"editor": lambda: MemoryEditorAccess(editor)}
    assert (await read(root, tool=tool)).output == (
        f"{path}: lines 1-3 of 3, in the open document, unsaved changes of the user; "
        "mixed line ends, 1 of 3 are CRLF\n     1\ta\n     2\tb\n     3\tC-user\u2028 é"
    )
    for limits in ({"max_bytes": 10}, {"max_output_bytes": 30}):
        with pytest.raises(ReadByteLimitError):
            await read(root, tool={**tool, **limits})
    editor.replace(path, 0, 1, "\0")
    assert "is binary" in str((await read(root, tool=tool)).error)
    editor.replace(path, 0, 1, "\ud800")
    assert "half of a surrogate pair (U+D800) in line 1" in str((await read(root, tool=tool)).error)


@pytest.mark.contract("E3")
async def test_a_document_without_a_file_is_read(root: Path) -> None:
    editor = MemoryEditor()
    editor.open(str(root / "new.txt"), "unsaved\n")
    result = await read(root, "new.txt", tool={"editor": lambda: MemoryEditorAccess(editor)})
    assert result.output.endswith("\n     1\tunsaved")


@pytest.mark.contract("F1")
@pytest.mark.parametrize("name", ["[...slug].txt", "a..b", " leading", "*", "new\nline", "%20#", "é", "-rf"], ids=repr)
async def test_unusual_names_work_and_the_header_stays_one_line(root: Path, name: str) -> None:
    (root / name).write_bytes(b"x\n")
    header, _, body = (await read(root, root / name)).output.partition("\n")
    assert body == "     1\tx"
    assert "lines 1-1 of 1" in header


@pytest.mark.contract("T3")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "missing argument filePath"),
        ({"filePath": 1}, "filePath"),
        ({"filePath": "f", "offset": 0}, "offset"),
        ({"filePath": "f", "limit": 0}, "limit"),
        ({"filePath": "f", "offset": "1"}, "offset"),
        ({"filePath": "f", "lines": 1}, "unknown argument lines (known: filePath, offset, limit)"),
    ],
)
async def test_wrong_arguments_are_named(root: Path, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolArgumentError) as refused:
        await create_read_tool(cwd=root).execute(arguments)
    assert says in str(refused.value)


@pytest.mark.contract("T7")
@pytest.mark.parametrize("cwd", [None, "", "relative", [], 7], ids=repr)
def test_without_a_root_it_is_never_built(cwd: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="cwd"):
        create_read_tool(cwd=cwd)


@pytest.mark.contract("T7")
def test_construction_needs_no_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(*_: object, **__: object) -> Any:
        raise AssertionError("construction touched the file system")

    names = ("open", "stat", "lstat", "listdir", "scandir", "readlink")
    for name in names:
        monkeypatch.setattr(os, name, touched)
    monkeypatch.setattr(os.path, "realpath", touched)
    tool = create_read_tool(cwd="/nowhere/at/all")
    monkeypatch.undo()
    assert tool.name == "Read"


@pytest.mark.contract("F1")
async def test_a_name_with_a_line_feed_cannot_forge_a_header_or_a_line(root: Path) -> None:
    name = "a: lines 1-1 of 1, on disk\n     1\tforged"
    (root / name).write_text("true\n")
    result = await read(root, name)
    escaped = name.replace("\n", "\\n").replace("\t", "\\t")
    assert result.output == f"{root}/{escaped}: lines 1-1 of 1, on disk\n     1\ttrue"


@pytest.mark.contract("T3", "F1")
@pytest.mark.parametrize("number", [2**31, 2**64, 10**400, 1e19, 1e308], ids=repr)
@pytest.mark.parametrize("argument", ["offset", "limit"])
async def test_a_number_of_lines_beyond_any_file_is_refused_by_the_schema(
    root: Path, argument: str, number: float
) -> None:
    with pytest.raises(ToolArgumentError, match=f"Read: {argument}: .* is greater than the maximum of 2147483647"):
        await output(root, b"a\n", **{argument: number})


@pytest.mark.contract("T3", "F1")
async def test_the_largest_number_of_lines_and_a_whole_float_are_taken(root: Path) -> None:
    most = 2**31 - 1
    assert await output(root, b"a\n", offset=most, limit=most) == (
        f"R/f.txt: offset {most} is past the end, the text has 1 line, on disk"
    )
    assert await output(root, b"a\nb\n", offset=2.0, limit=1.0) == "R/f.txt: lines 2-2 of 2, on disk\n     2\tb"
