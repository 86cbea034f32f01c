"""Grep as it is called: what it says of what it found and of what it left out, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import FileTarget, FunctionTool, PermissionDeniedError, ToolArgumentError, ToolContext
from openbuffer.tools.host import create_grep_tool

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "ws"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("import os\nfoo = 1\nbar = foo\n\nprint(foo)\n")
    (root / "src" / "b.ts").write_text("const foo = 2;\n")
    (root / "z.txt").write_text("nothing\n")
    return root


@pytest.fixture
def tool(root: Path) -> FunctionTool:
    return create_grep_tool(cwd=root)


async def said(tool: FunctionTool, **arguments: Any) -> str:
    result = await tool.execute(arguments)
    assert result.success, result.value
    return result.value["output"]


async def refused(tool: FunctionTool, **arguments: Any) -> str:
    result = await tool.execute(arguments)
    assert not result.success
    return result.value["error"]


@pytest.mark.contract("F8", "T4")
async def test_paths_are_the_default_in_their_order(tool: FunctionTool, root: Path) -> None:
    assert await said(tool, pattern="foo") == (
        f"2 files match foo below {root} (the root, as no path was given):\n{root}/src/a.py\n{root}/src/b.ts"
    )


@pytest.mark.contract("F8")
async def test_content_has_numbers_and_the_lines_around(tool: FunctionTool, root: Path) -> None:
    path = str(root / "src")
    assert await said(tool, pattern="foo", path=path, outputMode="content", glob="*.py") == (
        f"3 lines in 1 file match foo in files *.py below {path}:\n{path}/a.py:\n2:foo = 1\n3:bar = foo\n5:print(foo)"
    )
    assert await said(tool, pattern="bar|print", path=path, outputMode="content", contextLines=1) == (
        f"2 lines in 1 file match bar|print below {path}:\n{path}/a.py:\n2-foo = 1\n3:bar = foo\n4-\n5:print(foo)"
    )
    apart = await said(tool, pattern="import|print", path=path, outputMode="content", contextLines=1)
    assert apart.endswith("/a.py:\n1:import os\n2-foo = 1\n--\n4-\n5:print(foo)")


@pytest.mark.contract("F8")
async def test_counts_are_those_of_lines(tool: FunctionTool, root: Path) -> None:
    assert await said(tool, pattern="o", outputMode="count", path="src") == (
        f"5 lines in 2 files match o below {root}/src:\n{root}/src/a.py: 4\n{root}/src/b.ts: 1"
    )


@pytest.mark.contract("F8")
@pytest.mark.parametrize(("mode", "exact", "unit"), [("files_with_matches", 2, "files"), ("content", 4, "lines")])
async def test_exactly_the_limit_is_not_called_cut_and_one_more_is_with_the_whole_count(
    tool: FunctionTool, mode: str, exact: int, unit: str
) -> None:
    assert "are not" not in await said(tool, pattern="foo", outputMode=mode, headLimit=exact)
    cut = await said(tool, pattern="foo", outputMode=mode, headLimit=exact - 1)
    assert f"the first {exact - 1} {unit} by path are shown, 1 are not (headLimit {exact - 1})" in cut
    assert f"{exact} {unit}" in cut


@pytest.mark.contract("F8")
async def test_what_does_not_fit_is_cut_and_said_to_be(root: Path) -> None:
    (root / "many.txt").write_text("foo bar baz\n" * 1_000)
    cut = await said(create_grep_tool(cwd=root, max_output_bytes=500), pattern="foo", outputMode="content")
    assert len(cut) < 1_000
    assert "1004 lines in 3 files" in cut
    assert "(500 bytes)" in cut


@pytest.mark.contract("F8")
async def test_nothing_found_differs_from_not_looked(tool: FunctionTool, root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("out/\n")
    (root / "out").mkdir()
    (root / "out" / "x").write_text("needle\n")
    (root / "bin").write_bytes(b"needle\0")
    (root / "link").symlink_to("z.txt")
    text = await said(tool, pattern="needle")
    assert text.startswith(f"No matches of needle below {root} (the root, as no path was given) (4 files searched).\n")
    for reason in ("1 binary file: bin", "out", "named .git", "1 link", "respectGitignore"):
        assert reason in text, reason
    assert "out/x" in await said(tool, pattern="needle", respectGitignore=False)


@pytest.mark.contract("F8", "P2")
async def test_one_file_can_be_searched(tool: FunctionTool, root: Path) -> None:
    assert await said(tool, pattern="foo$", path="src/a.py", outputMode="content") == (
        f"1 line in 1 file matches foo$ in {root}/src/a.py:\n{root}/src/a.py:\n3:bar = foo"
    )
    (root / "bin").write_bytes(b"a\0")
    assert "1 binary file: bin" in await said(tool, pattern="a", path="bin")


@pytest.mark.contract("F8")
@pytest.mark.parametrize("pattern", ["--pre=evil.sh", "-e", "--help", "-", "--", "-foo"])
async def test_a_pattern_that_begins_with_a_dash_is_a_pattern(root: Path, pattern: str) -> None:
    (root / "dash.txt").write_text(f"x {pattern} y\n")
    for engine in ("ripgrep", "own"):
        tool = create_grep_tool(cwd=root, engine=engine)  # type: ignore[arg-type]  one of the two
        assert "dash.txt" in await said(tool, pattern=pattern)


@pytest.mark.contract("P1", "P4", "P6")
async def test_the_boundary_holds(tool: FunctionTool, root: Path, tmp_path: Path) -> None:
    (tmp_path / "ws-evil").mkdir()
    (tmp_path / "ws-evil" / "secret.txt").write_text("secret foo\n")
    (root / "away").symlink_to("../ws-evil")
    (root / "away.txt").symlink_to("../ws-evil/secret.txt")
    assert "secret" not in (await said(tool, pattern="secret", outputMode="content")).replace("of secret", "")
    for path in ("../ws-evil", str(tmp_path / "ws-evil"), "away", "away.txt", "/etc/passwd", "/proc/self/environ"):
        assert "foo" not in await refused(tool, pattern="foo", path=path)
    for engine in ("ripgrep", "own"):
        other = create_grep_tool(cwd=root, engine=engine)  # type: ignore[arg-type]  one of the two
        assert (await said(other, pattern="secret")).startswith("No matches")


@pytest.mark.contract("P6")
async def test_what_is_no_file_is_said_quickly(tool: FunctionTool, root: Path) -> None:
    os.mkfifo(root / "fifo")
    assert "FIFO" in await refused(tool, pattern="x", path="fifo")
    assert "outside" in await refused(tool, pattern="x", path="/dev/zero")
    assert "no such file" in await refused(tool, pattern="x", path="src/nope")


@pytest.mark.contract("F8", "T4")
async def test_what_is_no_pattern_is_an_ordinary_failure(tool: FunctionTool) -> None:
    assert "at character 1" in await refused(tool, pattern="(foo")
    assert "multiline" in await refused(tool, pattern=r"foo\nbar")
    assert "absolute" in await refused(tool, pattern="foo", glob="{/etc/*,a}")
    with pytest.raises(ToolArgumentError):
        await tool.execute({"pattern": ""})


@pytest.mark.contract("F8")
async def test_a_match_reaches_across_lines_where_it_may(tool: FunctionTool) -> None:
    text = await said(tool, pattern=r"1\nbar", multiline=True, outputMode="content")
    assert text.endswith("a.py:\n2:foo = 1\n3:bar = foo")


@pytest.mark.contract("E5")
async def test_an_attached_editor_is_told_of(root: Path) -> None:
    editor = MemoryEditor()
    tool = create_grep_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    assert "none is unsaved" in await said(tool, pattern="foo")


@pytest.mark.contract("P2", "T10")
async def test_the_gate_is_asked_before_anything_is_searched(tool: FunctionTool, root: Path) -> None:
    asked: list[str] = []

    async def deny(targets: Sequence[FileTarget], /) -> None:
        asked.extend(target.path for target in targets)
        raise PermissionDeniedError("no")

    with pytest.raises(PermissionDeniedError):
        await tool.prepare(tool.validate({"pattern": "foo"}), ToolContext(admit=deny))
    assert asked == [str(root)]


@pytest.mark.contract("F8")
async def test_the_same_tree_gives_the_same_answer(root: Path) -> None:
    for number in range(200):
        (root / f"{number % 13}").mkdir(exist_ok=True)
        (root / f"{number % 13}" / f"{number}.txt").write_text("foo\n" * (number % 5))
    answers = {
        (await said(create_grep_tool(cwd=root, engine=engine), pattern="foo", outputMode="count"))  # type: ignore[arg-type]  as above
        for engine in ("ripgrep", "own", None)
        for _ in range(2)
    }
    assert len(answers) == 1
