"""The sandbox in memory: what its programs do, that it is deterministic, and what holds it in bounds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.sandbox import (
    Command,
    CommandStartError,
    RunResult,
    SandboxError,
    SandboxFileNotFoundError,
    SandboxFileTooLargeError,
    SandboxNotDirectoryError,
    SandboxPermissionError,
    SnapshotNotFoundError,
    SnapshotRef,
    WorkerWithdrawnError,
)
from openbuffer.sandbox.memory.files import MemoryFiles, MemoryLimits
from openbuffer.sandbox.memory_client import InMemorySandboxClient


def command(line: str, cwd: str = "/workspace") -> Command:
    return Command(line=line, cwd=cwd, timeout_s=5)


@pytest.mark.contract("S6")
async def test_the_programs_work_on_its_files() -> None:
    client = InMemorySandboxClient({"/workspace/a.txt": "one\n", "/workspace/b": b"\xff\n"})
    script = [
        ("cat a.txt /workspace/b", 0, "one\n\\xff\n"),
        ("mkdir -p x/y", 0, ""),
        ("ln -s ../a.txt x/link", 0, ""),
        ("cat x/link", 0, "one\n"),
        ("ls", 0, "a.txt\nb\nx\n"),
        ("ls x", 0, "link\ny\n"),
        ("rm b 'x/link'", 0, ""),
        ("ls x ", 0, "y\n"),
        ("chmod 400 a.txt", 0, ""),
        ("echo a  'b  c' \"d\"", 0, "a b  c d\n"),
        ("exit 300", 44, ""),
        ("", 0, ""),
        ("cat missing", 1, "cat: /workspace/missing: no such file or directory\n"),
        ("rm x", 1, "rm: /workspace/x is a directory that is not empty\n"),
        ("chmod u+x a.txt", 1, "chmod: only: chmod OCTAL PATH\n"),
        ("sleep soon", 1, "sleep: only: sleep SECONDS\n"),
        ("ln a b", 1, "ln: only: ln -s TARGET LINK\n"),
        ("git status", 127, "sh: git: not found\n"),
        ("echo 'open", 2, "sh: No closing quotation\n"),
    ]
    assert [(line, *told(await client.run(command(line)))) for line, _, _ in script] == script
    with pytest.raises(SandboxPermissionError):
        await client.write_file("/workspace/a.txt", "x")


@pytest.mark.parametrize(
    "line", ["a | b", "a; b", "a && b", "echo $HOME", 'echo "$(id)"', "echo `id`", "cat <x", "a\nb"]
)
async def test_what_a_shell_would_do_is_not_pretended(line: str) -> None:
    assert told(await InMemorySandboxClient().run(command(line))) == (
        2,
        "sh: this sandbox runs one program per line, and has no shell's syntax\n",
    )


async def test_quoted_signs_are_no_syntax() -> None:
    line = "echo 'a | $(b); `c`' \"> & ;\" \\$x \\\\"
    assert told(await InMemorySandboxClient().run(command(line))) == (0, "a | $(b); `c` > & ; $x \\\n")


async def test_a_command_starts_in_a_directory() -> None:
    client = InMemorySandboxClient({"/workspace/file": ""})
    for cwd in ("/missing", "/workspace/file", "relative"):
        with pytest.raises(CommandStartError):
            await client.run(command("pwd", cwd))


@pytest.mark.contract("S6")
async def test_responders_are_asked_first_and_in_their_order() -> None:
    def nothing(_command: Command, _files: MemoryFiles) -> None:
        return None

    async def git(asked: Command, files: MemoryFiles) -> RunResult | None:
        await asyncio.sleep(0)
        if not asked.line.startswith("git clone"):
            return None
        files.write("/workspace/repo/README", b"cloned")
        return RunResult(exit_code=0, output="Cloning\n")

    client = InMemorySandboxClient(responders=(nothing, git))
    assert told(await client.run(command("git clone url repo"))) == (0, "Cloning\n")
    assert await client.read_file("/workspace/repo/README") == "cloned"
    assert told(await client.run(command("echo x"))) == (0, "x\n")

    def wrong(_command: Command, _files: MemoryFiles) -> Any:
        return 0

    with pytest.raises(SandboxError, match="no RunResult"):
        await InMemorySandboxClient(responders=[wrong]).run(command("true"))


@pytest.mark.contract("S6")
async def test_equal_steps_give_equal_sandboxes() -> None:
    async def steps() -> list[Any]:
        client = InMemorySandboxClient({"/workspace/a": "x"})
        await client.write_file("/workspace/b/c", "y")
        first = await client.snapshot()
        await client.delete("/workspace/a")
        second = await client.snapshot()
        stats = [await client.stat(path) for path in ("/workspace", "/workspace/b", "/workspace/b/c")]
        await client.restore(first)
        return [first, second, *stats, await client.stat("/workspace/a")]

    assert await steps() == await steps()
    assert (await steps())[:2] == [SnapshotRef("snapshot-1"), SnapshotRef("snapshot-2")]


@pytest.mark.contract("S6")
async def test_a_snapshot_stays_as_it_is_whatever_comes_after() -> None:
    client = InMemorySandboxClient({"/workspace/d/file": "kept"})
    kept = await client.snapshot()
    for number in range(2):
        await client.write_file("/workspace/d/file", f"changed {number}")
        await client.write_file(f"/workspace/d/new {number}", "x")
        await client.restore(kept)
        assert await client.read_file("/workspace/d/file") == "kept"
        listing = await client.list_directory("/workspace/d", max_entries=5)
        assert [entry.name for entry in listing.entries] == ["file"]
    with pytest.raises(SnapshotNotFoundError, match="Kept: snapshot-1"):
        await client.restore(SnapshotRef("snapshot-2"))
    assert await client.read_file("/workspace/d/file") == "kept"


@pytest.mark.contract("S6")
async def test_a_command_that_runs_during_a_restore_reaches_the_old_files_and_nobody_hears_of_it() -> None:
    go_on = asyncio.Event()

    async def slow(_command: Command, files: MemoryFiles) -> RunResult:
        try:
            await go_on.wait()
        finally:
            files.write("/workspace/late", b"x")
        return RunResult(exit_code=0, output="done")

    client = InMemorySandboxClient(responders=[slow])
    kept = await client.snapshot()
    task = asyncio.create_task(client.run(command("slow")))
    await asyncio.sleep(0.01)
    await client.restore(kept)
    with pytest.raises(WorkerWithdrawnError) as caught:
        await task
    assert caught.value.reason == "late"
    with pytest.raises(SandboxFileNotFoundError):
        await client.stat("/workspace/late")


OPERATIONS = {
    "read_file": lambda client: client.read_file("/workspace/file"),
    "write_file": lambda client: client.write_file("/workspace/file", "late"),
    "read_bytes": lambda client: client.read_bytes("/workspace/file"),
    "write_bytes": lambda client: client.write_bytes("/workspace/file", b"late"),
    "stat": lambda client: client.stat("/workspace/file"),
    "list": lambda client: client.list_directory("/workspace", max_entries=5),
    "delete": lambda client: client.delete("/workspace/file"),
    "make_directory": lambda client: client.make_directory("/workspace/late"),
    "snapshot": lambda client: client.snapshot(),
}


@pytest.mark.contract("S5", "S6")
@pytest.mark.parametrize("name", OPERATIONS)
async def test_what_was_asked_of_the_files_before_a_restore_neither_answers_nor_reaches_those_after_it(
    name: str,
) -> None:
    client = InMemorySandboxClient({"/workspace/file": "kept"})
    kept = await client.snapshot()
    await client.write_file("/workspace/file", "changed")
    asked = asyncio.create_task(OPERATIONS[name](client))
    await asyncio.sleep(0)
    await client.restore(kept)
    with pytest.raises(WorkerWithdrawnError) as caught:
        await asked
    assert caught.value.reason == "late"
    assert await client.read_file("/workspace/file") == "kept"
    assert [entry.name for entry in client.files.list_directory("/workspace").entries] == ["file"]
    assert (await client.snapshot()).id == "snapshot-2"


async def test_bounds_hold_and_a_refused_write_changes_nothing() -> None:
    limits = MemoryLimits(file_bytes=10, total_bytes=15, entries=5)
    client = InMemorySandboxClient({"/workspace/a": "x" * 10}, limits=limits)
    for path, text in (("/workspace/a", "y" * 11), ("/workspace/b", "y" * 6)):
        with pytest.raises(SandboxFileTooLargeError):
            await client.write_file(path, text)
    assert await client.read_file("/workspace/a") == "x" * 10
    await client.write_file("/workspace/b", "y" * 5)
    await client.write_file("/workspace/a", "x" * 5)
    await client.write_file("/workspace/b", "y" * 10)
    await client.write_file("/workspace/c", "")
    with pytest.raises(SandboxFileTooLargeError, match="5 entries"):
        await client.write_file("/workspace/d", "")
    await client.delete("/workspace/b")
    await client.write_file("/workspace/d", "z" * 10)


def test_the_bits_of_the_owner_count() -> None:
    files = MemoryFiles()
    files.write("/d/file", b"x")
    files.chmod("/d/file", 0o200)
    with pytest.raises(SandboxPermissionError):
        files.read("/d/file")
    files.chmod("/d", 0o500)
    for change in (
        lambda: files.write("/d/new", b""),
        lambda: files.delete("/d/file"),
        lambda: files.link("/d/l", "x"),
    ):
        with pytest.raises(SandboxPermissionError):
            change()
    files.chmod("/d", 0o300)
    with pytest.raises(SandboxPermissionError):
        files.list_directory("/d")
    files.chmod("/d", 0o600)
    with pytest.raises(SandboxPermissionError):
        files.stat("/d/file")


def test_paths_go_the_way_of_the_links() -> None:
    files = MemoryFiles()
    files.write("/a/b/file", b"x")
    files.link("/up", "a/b")
    files.link("/a/absolute", "/up/file")
    files.link("/a/b/back", "..")
    files.link("/circle", "/circle/x")
    for path in (
        "/up/file",
        "/a/absolute",
        "/up/back/b/file",
        "/up/../b/file",
        "/../a/./b//file",
        "/a/b/back/absolute",
    ):
        assert files.read(path) == b"x"
    assert files.stat("/a/absolute").is_link
    with pytest.raises(SandboxError, match="too many links"):
        files.read("/circle")
    with pytest.raises(SandboxNotDirectoryError):
        files.read("/up/file/x")
    with pytest.raises(SandboxNotDirectoryError):
        files.read("/up/file/")
    assert files.stat("/up/").kind == "directory"


NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
STEPS = st.tuples(st.sampled_from(["write", "mkdir", "delete", "link"]), PATHS, PATHS)


@pytest.mark.contract("S6")
@given(st.lists(STEPS, max_size=25))
def test_whatever_is_done_every_listed_name_is_there_and_a_copy_is_its_own(steps: list[tuple[str, str, str]]) -> None:
    files = MemoryFiles()
    before = files.copy()
    for what, path, other in steps:
        try:
            {
                "write": lambda path=path, other=other: files.write(path, other.encode()),
                "mkdir": lambda path=path: files.make_directory(path),
                "delete": lambda path=path: files.delete(path),
                "link": lambda path=path, other=other: files.link(path, other),
            }[what]()
        except SandboxError:
            continue
    total = _check(files, "/")
    assert files._total_bytes == total
    assert before.list_directory("/").entries == ()


def _check(files: MemoryFiles, directory: str) -> int:
    total = 0
    for entry in files.list_directory(directory).entries:
        path = f"{directory.rstrip('/')}/{entry.name}"
        stat = files.stat(path)
        assert stat.is_link or stat.kind == entry.kind
        if entry.kind == "file":
            total += len(files.read(path))
        if entry.kind == "directory":
            total += _check(files, path)
    return total


def told(result: RunResult) -> tuple[int, str]:
    return result.exit_code, result.output
