"""Glob: what the model sees of a directory, and what it is told that it does not see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.editor_access.errors import EditorLostError
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import (
    CancellationToken,
    FileTarget,
    InvocationResult,
    PermissionDeniedError,
    PlanOutdatedError,
    ToolArgumentError,
    ToolContext,
    ToolDefinitionError,
)
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.errors import ToolCancelledError
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.host import create_glob_tool
from openbuffer.tools.support import walk as walking

from .ignored_trees import home_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openbuffer.tools.contract import Target

NOTHING = "Looked at {} in {}."


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    root = Path(os.path.realpath(tmp_path)) / "ws"
    (root / ".git").mkdir(parents=True)
    (root.parent / "home").mkdir()
    with home_of(root):
        yield root


def make(root: Path, *paths: str) -> None:
    """Files, the first one the newest."""
    for age, path in enumerate(paths):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")
        os.utime(root / path, (1_000_000 - age, 1_000_000 - age))


async def glob(root: Path | list[Path], pattern: str, *, tool: dict[str, Any] | None = None, **more: Any) -> str:
    """What a successful call tells, with R for the first root."""
    first = root[0] if isinstance(root, list) else root
    result = await invocation(root, pattern, tool=tool, **more)
    assert result.success, result.error
    return result.output.replace(str(first), "R")


async def invocation(
    root: Path | list[Path], pattern: str, *, tool: dict[str, Any] | None = None, **more: Any
) -> InvocationResult:
    result = await create_glob_tool(cwd=root, **(tool or {})).execute({"pattern": pattern, **more})
    assert result.invocation is not None
    assert result.success == result.invocation.success
    return result.invocation


@pytest.mark.contract("F7", "P2")
async def test_files_are_listed_newest_first_and_those_of_one_time_by_their_paths(root: Path) -> None:
    make(root, "b.py", "d/c.py", "a.txt")
    for name in ("z.py", "d/a.py", "y/x.py"):
        make(root, name)
        os.utime(root / name, (5_000_000, 5_000_000))
    assert await glob(root, "**/*.py") == (
        "5 files match **/*.py below R (the root, as no path was given), newest first:\n"
        "R/d/a.py\nR/y/x.py\nR/z.py\nR/b.py\nR/d/c.py\n"
        "Left out:\n"
        "- 1 directory named .git (looked into where path or pattern has that name in it)"
    )


@pytest.mark.contract("F7")
async def test_exactly_as_many_as_the_limit_are_not_called_cut_and_one_more_is(root: Path) -> None:
    make(root, "a", "b", "c")
    assert await glob(root, "*", limit=3) == (
        "3 files match * below R (the root, as no path was given), newest first:\nR/a\nR/b\nR/c"
    )
    assert await glob(root, "*", limit=2) == (
        "3 files match * below R (the root, as no path was given); the 2 newest are listed, 1 older one is not "
        "(limit 2):\nR/a\nR/b"
    )


@pytest.mark.contract("F7")
async def test_a_thousand_are_listed_by_default_and_all_are_counted(root: Path) -> None:
    make(root, *(f"{number % 7}/f{number}" for number in range(1_000)))
    assert (await glob(root, "**/f*")).startswith(
        "1000 files match **/f* below R (the root, as no path was given), newest first:\nR/0/f0\nR/1/f1\n"
    )
    make(root, "new")
    os.utime(root / "new", (0, 0))
    cut = await glob(root, "**/*")
    assert cut.startswith("1001 files match **/* below R")
    assert "the 1000 newest are listed, 1 older one is not (limit 1000):" in cut
    assert "R/new" not in cut


@pytest.mark.contract("F7")
@pytest.mark.parametrize("limit", [1, 3, 400, 100_000])
async def test_the_newest_are_kept_however_many_there_are(root: Path, limit: int) -> None:
    names = [f"f{number:04}" for number in range(3_000)]
    make(root, *names)
    lines = (await glob(root, "*", limit=limit)).splitlines()
    assert lines[1:] == [f"R/{name}" for name in names[:limit]]


@pytest.mark.contract("F7")
async def test_the_list_is_bounded_in_bytes(root: Path) -> None:
    make(root, *(f"{'x' * 100}{number}" for number in range(10)))
    size = len(str(root)) + 103
    output = await glob(root, "*", tool={"max_output_bytes": 3 * size})
    assert output.splitlines()[0].endswith(
        f"; the 3 newest are listed, 7 older ones are not (at most {3 * size} bytes of paths):"
    )
    assert len(output.splitlines()) == 4
    assert "the 0 newest are listed" in await glob(root, "*", tool={"max_output_bytes": 10})


@pytest.mark.contract("F7", "P2")
async def test_the_directory_that_is_searched_is_told_and_a_path_is_relative_to_the_first_root(root: Path) -> None:
    other = root.parent / "other"
    make(root, "d/a")
    make(other, "d/b")
    roots = [root, other]
    assert await glob(roots, "d/*") == (
        "1 file matches d/* below R (the first of 2 roots, as no path was given), newest first:\nR/d/a"
    )
    assert await glob(roots, "*", path="d") == "1 file matches * below R/d, newest first:\nR/d/a"
    assert await glob(roots, "*", path=str(other / "d")) == (
        f"1 file matches * below {other}/d, newest first:\n{other}/d/b"
    )
    assert await glob(roots, f"{other}/d/*") == f"1 file matches {other}/d/* below {other}, newest first:\n{other}/d/b"


@pytest.mark.contract("F7", "P1")
async def test_an_absolute_pattern_is_searched_from_the_root_that_it_lies_in(root: Path) -> None:
    make(root, "src/a.py", "src/x/b.py", "build/c.py")
    (root / ".gitignore").write_text("build/")
    (root.parent / "link").symlink_to(root)
    assert await glob(root, f"{root}/src/**/*.py") == (
        "2 files match R/src/**/*.py below R, newest first:\nR/src/a.py\nR/src/x/b.py"
    )
    assert "R/src/a.py" in await glob(root, f"{root}/src/a.py")
    assert "R/src/a.py" in await glob(root, f"{root}/src/*.py", path="src")
    assert f"{root}/src/a.py" in await glob(root.parent / "link", f"{root.parent}/link/src/*.py")
    assert "No files match" in await glob(root, f"{root}/build/*")  # as the relative pattern has it
    assert "No files match" in await glob(root, f"{root}/missing/*")
    for pattern, more, reason in [
        ("/etc/*", {}, "is outside the workspace"),
        (f"{root}-evil/*", {}, "is outside the workspace"),
        (f"{root}/*.py", {"path": "src"}, "is absolute and not inside the path src; leave path out"),
        ("/", {}, "is outside the workspace"),
    ]:
        result = await invocation(root, pattern, **more)
        assert not result.success
        assert reason in str(result.error)


@pytest.mark.contract("F7", "T4", "P1", "P6")
async def test_what_cannot_be_searched_is_an_ordinary_failure_that_says_what_to_do(root: Path) -> None:
    make(root, "file", "src/a")
    (root / "out").symlink_to("/etc")
    os.mkfifo(root / "fifo")
    for path, reason in {
        "missing": f"no such directory: {root}/missing (root {root}). Check the path",
        "srcs": "That directory has src.",
        "file": f"{root}/file: is a file, and Glob searches directories. Name the directory that it is in",
        "fifo": f"{root}/fifo: is a fifo, and Glob searches directories",
        "file/x": "is not a directory",
        "out": "is outside the workspace",
        "..": "is outside the workspace",
        "/etc": "is outside the workspace",
        "/proc/self": "/proc",
        "a\0b": "NUL",
    }.items():
        result = await invocation(root, "*", path=path)
        assert (result.success, result.output) == (False, "")
        assert reason in str(result.error), path
    assert "goes up by `..`" in str((await invocation(root, "../*")).error)
    assert (await invocation(root, "*")).success


@pytest.mark.contract("F7", "F9")
async def test_what_is_left_out_is_counted_by_reason_with_the_way_to_see_it(root: Path) -> None:
    make(root, "a.py", "b.pyc", "build/c.py", "node_modules/d.py", "x/node_modules/e.py", "keep.txt")
    (root / ".gitignore").write_text("build/\n*.pyc\n")
    (root / "l.py").symlink_to("a.py")
    (root / "m.py").symlink_to("nowhere")
    os.mkfifo(root / "p.py")
    assert await glob(root, "**/*.py*") == (
        "1 file matches **/*.py* below R (the root, as no path was given), newest first:\n"
        "R/a.py\n"
        "Left out:\n"
        "- 1 directory that ignore files (.gitignore and the like) leave out (respectGitignore false shows them): "
        "build\n"
        "- 1 name that matches, but that ignore files leave out (respectGitignore false shows them): b.pyc\n"
        "- 1 directory named .git (looked into where path or pattern has that name in it)\n"
        "- 2 directories named node_modules (looked into where path or pattern has that name in it)\n"
        "- 2 links, not followed: l.py, m.py\n"
        "- 1 FIFO, socket or device that matches"
    )
    everything = await glob(root, "**/*.py*", respectGitignore=False)
    assert [line for line in everything.splitlines() if line.startswith("R/")] == ["R/a.py", "R/b.pyc", "R/build/c.py"]
    assert "ignore files" not in everything
    assert "R/x/node_modules/e.py" in await glob(root, "**/node_modules/*.py")
    assert "R/node_modules/d.py" in await glob(root, "*.py", path="node_modules")


@pytest.mark.contract("F9")
async def test_an_ignore_file_that_does_not_hold_is_told(root: Path) -> None:
    make(root, "a")
    (root / ".git").rmdir()
    (root / ".gitignore").write_text("a")
    (root / ".ignore").write_text("a\n" * 600_000)
    lines = (await glob(root, "a")).splitlines()
    assert lines[1:] == [
        "R/a",
        "Left out:",
        "- nothing by ignore files that are too large to be applied: R/.ignore",
        "- nothing by .gitignore files in no git repository: R/.gitignore",
    ]


@pytest.mark.contract("F7")
async def test_nothing_found_tells_what_was_looked_at_and_what_may_have_been_meant(root: Path) -> None:
    make(root, "src/lib/a.py", "src/b.py")
    asked = "below R (the root, as no path was given).\n"
    assert await glob(root, "*.py") == (
        f"No files match *.py {asked}Looked at 2 entries in 1 directory. "
        "A pattern that begins with **/ is about all directories below, too."
    )
    assert await glob(root, "src") == (
        f"No files match src {asked}Looked at 2 entries in 1 directory. "
        "1 directory matches; add /** to list what is in there."
    )
    assert await glob(root, "**/*.rs") == (
        f"No files match **/*.rs {asked}Looked at 5 entries in 3 directories.\n"
        "Left out:\n- 1 directory named .git (looked into where path or pattern has that name in it)"
    )


@pytest.mark.contract("P4")
async def test_links_are_not_followed_out_of_the_root_nor_round_in_circles(root: Path) -> None:
    make(root, "a/f.txt", "../outside/secret.txt")
    for name, target in {"a/up": "..", "a/self": ".", "out": "../outside", "loop": "loop", "abs": "/"}.items():
        (root / name).symlink_to(target)
    output = await glob(root, "**/*.txt")
    assert [line for line in output.splitlines() if line.startswith("R/")] == ["R/a/f.txt"]
    assert "secret" not in output
    nothing = await glob(root, "out/*.txt")
    assert nothing.startswith("No files match out/*.txt")
    assert nothing.endswith("- 1 link, not followed: out")
    assert "- 5 links, not followed: a/self, a/up, abs, loop, out" in output


STRANGE = ["[...slug]", " lead", "*", "a\nb", "..x", "-rf", "é", "{a,b}", "back\\slash", "\u202eabc"]


@pytest.mark.contract("F7")
@pytest.mark.parametrize("name", STRANGE, ids=repr)
async def test_names_of_every_kind_are_found_literally_and_shown_on_one_line(root: Path, name: str) -> None:
    make(root, f"app/{name}/{name}.ts", "app/other/x.ts")
    output = await glob(root, "app/**/*.ts")
    assert len(output.splitlines()) == 3
    if not name.startswith(("{", "back")):
        assert output.count("\n") == 2
        own = await glob(root, f"app/{name}/*.ts")
        assert "app/" + name.replace("\n", "\\n").replace("\u202e", "\\u202e") in own.splitlines()[1]
    escaped = "".join(f"\\{char}" if char in "*?[{\\" else char for char in name)
    assert (await glob(root, f"app/{escaped}/*.ts")).startswith("1 file matches")


@pytest.mark.contract("F7")
async def test_a_name_that_is_not_utf_8_is_shown_escaped(root: Path) -> None:
    make(root, os.fsdecode(b"\xff.txt"))
    assert (await glob(root, "*")).splitlines()[1] == "R/\\udcff.txt"


@pytest.mark.contract("P2", "T10", "X4")
async def test_the_gate_is_asked_for_the_directory_before_anything_is_read(root: Path) -> None:
    make(root, "d/a")
    (root / "link").symlink_to("d")
    asked: list[Sequence[Target]] = []

    async def deny(targets: Sequence[Target], /) -> None:
        asked.append(targets)
        raise PermissionDeniedError("no")

    for path in ("d", "link", "missing"):
        with pytest.raises(PermissionDeniedError):
            await create_glob_tool(cwd=root).execute({"pattern": "*", "path": path}, ToolContext(admit=deny))
    access = {"access": "FILE_READ"}
    assert [targets[0].path for targets in asked] == [f"{root}/d", f"{root}/link", f"{root}/missing"]
    assert asked[0] == (FileTarget(path=f"{root}/d", **access),)  # type: ignore[arg-type]  # the value of the member


@pytest.mark.contract("T12")
async def test_a_directory_that_is_replaced_before_the_commit_is_searched_anew(root: Path) -> None:
    make(root, "d/a")
    tool = create_glob_tool(cwd=root)
    plan = await tool.prepare(tool.validate({"pattern": "*", "path": "d"}), ToolContext())
    (root / "d").rename(root / "old")
    make(root, "d/b")
    with pytest.raises(PlanOutdatedError, match="was moved or replaced since the call began"):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert "R/d/b" in await glob(root, "*", path="d")


@pytest.mark.contract("E5")
async def test_while_an_editor_is_attached_the_answer_says_that_the_disk_was_searched(root: Path) -> None:
    make(root, "a.py", "d/b.py", *(f"many/{number}.py" for number in range(7)))
    editor = MemoryEditor()
    access = MemoryEditorAccess(editor)
    tool = {"editor": lambda: access}

    async def note(path: str) -> str:
        return (await glob(root, "*.py", tool=tool, path=path)).splitlines()[-1]

    disk = "The disk was searched, not the documents of the attached editor; "
    assert await note("d") == f"{disk}none is unsaved below this directory."
    for path in ("a.py", "d/new.py", *(f"many/{number}.py" for number in range(7))):
        editor.open(str(root / path), "")
    for path in ("d/new.py", *(f"many/{number}.py" for number in range(7))):
        editor.replace(str(root / path), 0, 0, "typed")
    assert await note("d") == f"{disk}1 document is open here with text that is not on disk: R/d/new.py."
    assert await note("many") == (
        f"{disk}7 documents are open here with text that is not on disk: "
        "R/many/0.py, R/many/1.py, R/many/2.py, R/many/3.py, R/many/4.py and 2 more."
    )
    assert "The disk" not in await glob(root, "*", tool={"editor": lambda: None})
    assert "The disk" not in await glob(root, "*")


@pytest.mark.contract("E5")
async def test_an_editor_that_cannot_tell_spoils_no_search(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(root, "a.py")
    access = MemoryEditorAccess(MemoryEditor())

    def lost(_directory: str) -> Any:
        raise EditorLostError("the connection\nended")

    monkeypatch.setattr(access, "unsaved_under", lost)
    assert (await glob(root, "*", tool={"editor": lambda: access})).endswith(
        "R/a.py\nThe disk was searched; which documents of the attached editor have unsaved text cannot be told (the "
        "connection\\nended)."
    )


@pytest.mark.contract("T6")
async def test_a_cancelled_task_ends_as_cancelled_after_the_walk_has_stopped(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, *(f"{number}/f" for number in range(50)))
    token = CancellationToken()
    opened = os.scandir
    listed: list[int] = []
    with anyio.CancelScope() as scope:

        def scandir(fd: int) -> Any:
            listed.append(fd)
            if len(listed) == 3:
                anyio.from_thread.run_sync(scope.cancel)
                while not token.cancelled:
                    pass
            return opened(fd)

        monkeypatch.setattr(walking.os, "scandir", scandir)
        await create_glob_tool(cwd=root).execute({"pattern": "**/*"}, ToolContext(cancellation=token))
    assert scope.cancelled_caught
    assert len(listed) == 3


@pytest.mark.contract("T6")
async def test_a_cancelled_token_ends_the_search(root: Path) -> None:
    context = ToolContext()
    context.cancellation.cancel()
    with pytest.raises(ToolCancelledError, match="cancelled after"):
        await create_glob_tool(cwd=root).execute({"pattern": "**/*"}, context)


@pytest.mark.contract("T3")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "missing argument pattern"),
        ({"pattern": 1}, "pattern"),
        ({"pattern": "*", "limit": 0}, "limit"),
        ({"pattern": "*", "limit": 100_001}, "limit"),
        ({"pattern": "*", "respectGitignore": "yes"}, "respectGitignore"),
        ({"pattern": "*", "glob": 1}, "unknown argument glob (known: pattern, path, limit, respectGitignore)"),
    ],
)
async def test_wrong_arguments_are_named(root: Path, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolArgumentError) as refused:
        await create_glob_tool(cwd=root).execute(arguments)
    assert says in str(refused.value)


@pytest.mark.contract("T7")
@pytest.mark.parametrize("cwd", [None, "", "relative", [], 7], ids=repr)
def test_without_a_root_it_is_never_built(cwd: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="cwd"):
        create_glob_tool(cwd=cwd)


@pytest.mark.contract("X5")
async def test_it_is_in_the_one_list_of_tools_and_runs_through_the_pipeline(root: Path) -> None:
    make(root, "a.py")
    executor = create_tool_executor(ToolConfig(roots=(root,), writes=False, descriptions={"Glob": "Mine."}))
    result = await executor.call("Glob", {"pattern": "*.py"})
    assert f"{root}/a.py" in result.value["output"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.contract("F7")
@pytest.mark.parametrize(("directories", "files"), [(1, 200_000), (2_000, 100)])
async def test_two_hundred_thousand_files_are_counted_and_the_newest_listed(
    root: Path, directories: int, files: int
) -> None:
    for number in range(directories):
        (root / f"d{number}").mkdir()
        fd = os.open(root / f"d{number}", os.O_RDONLY)
        for each in range(files):
            os.mknod(f"f{each}", 0o100600, dir_fd=fd)
        os.close(fd)
    make(root, "d0/new")
    os.utime(root / "d0/new", (9_000_000_000, 9_000_000_000))
    lines = (await glob(root, "**/*")).splitlines()
    assert lines[0].startswith(f"{directories * files + 1} files match **/* below R")
    assert lines[1] == "R/d0/new"
    assert len([line for line in lines if line.startswith("R/")]) == 1_000


@pytest.mark.contract("F7", "T4")
async def test_a_directory_that_cannot_be_read_is_an_ordinary_failure(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_fd: int) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(walking.os, "scandir", unreadable)
    result = await invocation(root, "*")
    assert result.error == f"{root}: cannot be searched (Permission denied); its permissions have to be changed first."
