"""ListDir lists one directory or a tree, says what it left out, and never leaves the roots."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from openbuffer.tools import InvocationResult, PermissionDeniedError, ToolCancelledError, ToolContext
from openbuffer.tools.builtin.list_dir import create_list_dir_tool
from openbuffer.tools.contract import CancellationToken

pytestmark = pytest.mark.contract("F10")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "ws"
    root.mkdir()
    return root


def make(root: Path, *paths: str) -> None:
    for path in paths:
        place = root / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("x" * len(path))


async def call(root: Path | list[Path], **arguments: Any) -> InvocationResult:
    result = await create_list_dir_tool(cwd=root).execute(arguments)
    assert result.invocation is not None
    return result.invocation


async def listed(root: Path | list[Path], **arguments: Any) -> str:
    result = await call(root, **arguments)
    assert result.success, result.error
    return result.output


async def test_a_directory_is_listed_with_sizes_and_kinds_hidden_and_ignored_names_too(root: Path) -> None:
    make(root, "b.txt", "a.txt", ".hidden", "node_modules/x.js", ".git/config", "lib/deep/c.txt", "ignored.log")
    (root / ".gitignore").write_text("*.log\n")
    (root / "link").symlink_to("a.txt")
    (root / "dangling").symlink_to("/nowhere\n")
    os.mkfifo(root / "pipe")
    assert await listed(root, path=str(root)) == (
        f"{root}: 11 entries (5 files, 3 directories, 3 links and others)\n"
        ".gitignore  6 bytes\n.hidden  7 bytes\na.txt  5 bytes\nb.txt  5 bytes\ndangling -> /nowhere\\n\n"
        "ignored.log  11 bytes\nlink -> a.txt\npipe  (fifo)\n.git/\nlib/\nnode_modules/"
    )


async def test_without_a_path_the_first_root_is_listed_and_that_is_said(root: Path) -> None:
    make(root, "one", "sub/two")
    assert (await listed(root)).startswith(f"{root} (the root, as no path was given): 2 entries")
    assert "(the first of 2 roots, as no path was given)" in await listed([root, root / "sub"])
    assert (await listed(root, path="sub")).startswith(f"{root}/sub: 1 entry (1 file)\n")


async def test_an_empty_directory_is_said_to_be_empty(root: Path) -> None:
    assert await listed(root, path=str(root)) == f"{root}: empty"
    assert await listed(root, path=str(root), recursive=True) == f"{root}: empty, recursively"


async def test_a_chain_of_single_directories_is_taken_together_to_where_the_ways_part(root: Path) -> None:
    make(root, "src/main/java/com/A.java", "src/main/java/org/")
    assert await listed(root, path=str(root)) == (
        f"{root}: holds nothing but src/main/java/, each directory with only the next one in it, which are taken "
        f"together; listed is the first that does not, {root}/src/main/java: 2 entries (2 directories)\ncom/\norg/"
    )
    make(root, "src/file")
    assert await listed(root, path=str(root)) == (
        f"{root}: holds nothing but src/, each directory with only the next one in it, which are taken together; "
        f"listed is the first that does not, {root}/src: 2 entries (1 file, 1 directory)\nfile  8 bytes\nmain/"
    )


@pytest.mark.parametrize("end", ["file", "empty/", "link"])
async def test_a_chain_ends_at_a_file_at_nothing_and_at_a_link(root: Path, end: str) -> None:
    make(root, "a/b/")
    if end == "link":
        (root / "a/b/link").symlink_to(root)
    else:
        make(root, f"a/b/{end}")
    output = await listed(root, path=str(root))
    here = "a/b/empty" if end == "empty/" else "a/b"
    assert f"the first that does not, {root}/{here}: " in output
    assert output.endswith({"file": "\nfile  8 bytes", "empty/": ": empty", "link": f"\nlink -> {root}"}[end])


@pytest.mark.contract("P4")
async def test_a_chain_is_of_bounded_depth(root: Path) -> None:
    make(root, "d/" * 100)
    output = await listed(root, path=str(root))
    assert f"{root}/{'/'.join('d' * 31)}: 1 entry (1 directory)\nd/" in output


async def test_a_chain_that_cannot_be_read_to_its_end_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(root, "a/b/")
    scandir = os.scandir

    def unreadable(fd: Any) -> Any:
        if os.readlink(f"/proc/self/fd/{fd}").endswith("/b"):
            raise PermissionError(13, "Permission denied")
        return scandir(fd)

    monkeypatch.setattr(os, "scandir", unreadable)
    assert await listed(root, path=str(root)) == (
        f"{root}: 1 entry (1 directory). The one directory in {root}/a could not be read: {root}/a/b "
        "(Permission denied)"
    )


async def test_a_directory_that_may_not_be_read_is_told_with_what_to_do(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, "d/")

    def unreadable(_fd: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", unreadable)
    result = await call(root, path="d")
    assert result.error == (
        f"{root}/d: cannot be listed (Permission denied); its permissions have to be changed first."
    )


async def test_a_tree_is_indented_without_what_is_ignored_or_pruned_and_says_so(root: Path) -> None:
    make(root, ".git/config", "node_modules/x.js", "lib/b.txt", "lib/deep/c.txt", "a.txt", "out/o.txt", "x.log")
    (root / ".gitignore").write_text("*.log\nout/\n")
    (root / "lib/loop").symlink_to(root)
    assert await listed(root, path=str(root), recursive=True) == (
        f"{root}: 9 entries (4 files, 4 directories, 1 link or other), recursively\n"
        ".gitignore  11 bytes\na.txt  5 bytes\n.git/ (not looked into)\nnode_modules/ (not looked into)\n"
        "lib/\n  b.txt  9 bytes\n  loop -> " + str(root) + "\n  deep/\n    c.txt  14 bytes\n"
        "Left out:\n"
        "- 1 directory that ignore files (.gitignore and the like) leave out (respectGitignore false shows them): out\n"
        "- 1 name that ignore files leave out (respectGitignore false shows them): x.log\n"
        "- 1 directory named .git (looked into where path or pattern has that name in it)\n"
        "- 1 directory named node_modules (looked into where path or pattern has that name in it)"
    )
    whole = await listed(root, path=str(root), recursive=True, respectGitignore=False)
    assert "\nx.log  5 bytes" in whole
    assert "\nout/\n  o.txt  9 bytes" in whole
    assert "x.js  17 bytes" in await listed(root, path=str(root / "node_modules"), recursive=True)


@pytest.mark.contract("F7")
async def test_where_the_root_itself_lies_counts_for_no_name_below_it(root: Path) -> None:
    installed = root / "node_modules" / "m"
    make(root, "node_modules/m/node_modules/n/x.js", "node_modules/m/i.js")
    assert "x.js" not in await listed(installed, recursive=True)
    assert "x.js" in await listed(installed, path=str(installed / "node_modules"), recursive=True)
    assert "x.js" in await listed(root, path=str(installed), recursive=True)


@pytest.mark.parametrize("recursive", [False, True])
async def test_what_is_over_the_limit_is_counted_and_exactly_the_limit_is_not_cut(root: Path, recursive: bool) -> None:
    make(root, *(f"{number:03}" for number in range(10)), "sub/")
    exactly = await listed(root, path=str(root), recursive=recursive, limit=11)
    assert "are listed" not in exactly
    assert len(exactly.splitlines()) == 12
    cut = await listed(root, path=str(root), recursive=recursive, limit=10)
    assert "11 entries (10 files, 1 directory); the first 10 are listed (limit 10)" in cut
    assert len(cut.splitlines()) == 11
    small = create_list_dir_tool(cwd=root, max_output_bytes=30)
    result = await small.execute({"recursive": recursive})
    assert result.invocation is not None
    assert "the first 2 are listed (at most 30 bytes)" in result.invocation.output


@pytest.mark.contract("P6")
async def test_what_is_no_directory_is_said_to_be_what_it_is(root: Path) -> None:
    make(root, "file", "there/")
    os.mkfifo(root / "pipe")
    server = socket.socket(socket.AF_UNIX)
    os.chdir(root)
    server.bind("sock")
    for name, says in {
        "file": "is a file of 4 bytes, no directory; show it (Read, where that tool is offered).",
        "pipe": "is a fifo, no directory",
        "sock": "is a socket, no directory",
        "their": "no such directory",
        "file/x": "file",
    }.items():
        result = await call(root, path=str(root / name))
        assert not result.success
        assert says in str(result.error)
    server.close()


@pytest.mark.contract("P1", "P4")
async def test_no_path_and_no_link_leads_out_of_the_root(root: Path) -> None:
    outside = root.parent / "outside"
    make(outside, "secret")
    (root / "link").symlink_to(outside)
    for path in ("link", "../outside", str(outside), "/proc/self/fd", "a\0b"):
        result = await call(root, path=path)
        assert not result.success
        assert "secret" not in str(result.error)
    assert "secret" not in await listed(root, path=str(root), recursive=True)


async def test_names_of_any_bytes_are_one_line_each(root: Path) -> None:
    make(root, " lead", "[...slug]", "a*b", "two\nlines")
    os.close(os.open(os.fsencode(root) + b"/\xff", os.O_CREAT))
    output = await listed(root, path=str(root))
    assert len(output.splitlines()) == 6
    assert "\n lead  5 bytes\n" in output
    assert "two\\nlines  9 bytes" in output
    assert "[...slug]  9 bytes" in output


@pytest.mark.contract("X4")
async def test_the_gate_is_asked_before_anything_is_listed(root: Path) -> None:
    make(root, "secret")

    async def refuse(targets: Any) -> None:
        assert [(target.path, target.access) for target in targets] == [(str(root), "FILE_READ")]
        raise PermissionDeniedError("no", reason="deny")

    tool = create_list_dir_tool(cwd=root)
    with pytest.raises(PermissionDeniedError):
        await tool.prepare(tool.validate({}), ToolContext(admit=refuse))


@pytest.mark.contract("T6")
async def test_a_cancelled_listing_stops(root: Path) -> None:
    make(root, "a/b", "c/d")
    tool, token = create_list_dir_tool(cwd=root), CancellationToken()
    context = ToolContext(cancellation=token)
    plan = await tool.prepare(tool.validate({"recursive": True}), context)
    token.cancel()
    with pytest.raises(ToolCancelledError):
        await tool.commit(plan, context)
    plan.close()
