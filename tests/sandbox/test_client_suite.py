"""What holds for every client of the port, whatever is behind it."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import anyio
import pytest
from client_places import PLACES, Place, lacking
from openbuffer.sandbox import (
    Command,
    CommandTimeoutError,
    DeletesFiles,
    ListsDirectories,
    MakesDirectories,
    OperationAbsentError,
    ReadsBytes,
    RestoresSnapshots,
    SandboxError,
    SandboxFileError,
    SandboxFileNotFoundError,
    SandboxFileTooLargeError,
    SandboxIsDirectoryError,
    SandboxNotDirectoryError,
    SandboxNotEmptyError,
    SandboxNotTextError,
    SandboxPathError,
    SnapshotRef,
    StatsFiles,
    TakesSnapshots,
    WritesBytes,
    describe_execution_containment,
    find_operation,
    require_operation,
    routes_files_through_sandbox,
)
from openbuffer.sandbox.port import OPERATIONS, Operation

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

NAMES = [
    "plain",
    "with blank",
    " leading",
    "new\nline",
    "tab\t",
    "-rf",
    "--",
    'it\'s "quoted"',
    "$(id) `id` ${HOME} \\",
    "*?[a]",
    "a:b",
    "no such file or directory",
    "..not-up",
    "é",
    unicodedata.normalize("NFD", "é"),
    "😋",
    "#%20&=?",
    ".hidden",
]


@pytest.fixture(params=list(PLACES))
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Place]:
    if problem := lacking(request.param):
        pytest.skip(problem)
    async with PLACES[request.param](tmp_path) as made:
        yield made


def operation(place: Place, wanted: type[Operation]) -> Operation:
    found = find_operation(place.client, wanted)
    if found is None:
        pytest.skip(f"this client has no operation {OPERATIONS[wanted]}")
    return found


async def run(place: Place, line: str, timeout_s: float = 20) -> tuple[int, str]:
    result = await place.client.run(Command(line=line, cwd=place.root, timeout_s=timeout_s))
    return result.exit_code, result.output


@pytest.mark.contract("S4")
def test_it_says_where_its_files_are(place: Place) -> None:
    separate = place.client.filesystem == "separate"
    assert routes_files_through_sandbox(place.client) is separate
    assert describe_execution_containment(place.client) == ("sandbox-separate" if separate else "sandbox-shared")


@pytest.mark.contract("S4")
async def test_an_absent_operation_is_said_to_be_absent_and_a_present_one_is_there(place: Place) -> None:
    for wanted, name in OPERATIONS.items():
        if find_operation(place.client, wanted) is None:
            with pytest.raises(OperationAbsentError, match=f"has no operation {name}") as caught:
                require_operation(place.client, wanted)
            assert caught.value.operation == name
        else:
            assert require_operation(place.client, wanted) is place.client


@pytest.mark.contract("S4")
async def test_a_command_gives_its_exit_code_and_output(place: Place) -> None:
    assert await run(place, "echo hello") == (0, "hello\n")
    assert (await run(place, "exit 3"))[0] == 3
    assert (await run(place, "false"))[0] == 1
    assert (await run(place, "pwd")) == (0, f"{place.root}\n")
    code, output = await run(place, "no-such-program --option")
    assert code == 127
    assert "no-such-program" in output
    assert (await run(place, "echo 'häßlich 😋'"))[1] == "häßlich 😋\n"


async def test_a_command_has_no_input(place: Place) -> None:
    if not place.has_shell:
        pytest.skip("its programs read no input")
    assert await run(place, "cat; echo end") == (0, "end\n")


async def test_both_streams_are_given_back(place: Place) -> None:
    if not place.has_shell:
        pytest.skip("its programs have one stream")
    code, output = await run(place, "echo out; echo err >&2; exit 7")
    assert (code, sorted(output.split())) == (7, ["err", "out"])


async def test_a_command_in_no_directory_does_not_run(place: Place) -> None:
    command = Command(line="touch made", cwd=f"{place.root}/missing", timeout_s=10)
    with pytest.raises(SandboxError):
        await place.client.run(command)


@pytest.mark.contract("S4")
async def test_a_command_that_takes_too_long_is_an_error(place: Place) -> None:
    with pytest.raises(CommandTimeoutError, match=r"0\.4 s"):
        await run(place, "sleep 30", timeout_s=0.4)
    assert await run(place, "echo again") == (0, "again\n")


@pytest.mark.contract("T6")
async def test_a_cancelled_command_is_not_waited_for_and_the_next_one_runs(place: Place) -> None:
    with anyio.move_on_after(0.3) as scope:
        await run(place, "sleep 30")
    assert scope.cancelled_caught
    assert await run(place, "echo again") == (0, "again\n")


async def test_output_is_bounded_and_says_so(place: Place) -> None:
    if not place.has_shell:
        pytest.skip("its programs write nothing that large")
    command = Command(line="head -c 3000000 /dev/zero | tr '\\0' x", cwd=place.root, timeout_s=20)
    result = await place.client.run(command)
    assert result.cut
    assert len(result.output) == 1024 * 1024


@pytest.mark.contract("S4")
async def test_text_is_read_as_it_was_written(place: Place) -> None:
    for text in ("", "a\r\nb\rc\n\n", "\ufeffwith a mark\n", "ü 😋 \u2028 \x00 \x1b", "x" * 70_000):
        await place.client.write_file(f"{place.root}/file", "something longer that was there before\n" * 3)
        await place.client.write_file(f"{place.root}/file", text)
        assert await place.client.read_file(f"{place.root}/file") == text


async def test_directories_above_a_file_are_made(place: Place) -> None:
    await place.client.write_file(f"{place.root}/a/b c/d", "deep")
    assert await place.client.read_file(f"{place.root}/a/b c/d") == "deep"


async def test_names_are_taken_as_they_are(place: Place) -> None:
    for number, name in enumerate(NAMES):
        directory = f"{place.root}/{number}"
        path = f"{directory}/{name}"
        await place.client.write_file(path, name)
        assert await place.client.read_file(path) == name
        if (stats := find_operation(place.client, StatsFiles)) is not None:
            assert (await stats.stat(path)).size == len(name.encode())
        if (lists := find_operation(place.client, ListsDirectories)) is not None:
            listing = await lists.list_directory(directory, max_entries=10)
            assert [(each.name, each.kind) for each in listing.entries] == [(name, "file")]
        if (deletes := find_operation(place.client, DeletesFiles)) is not None:
            await deletes.delete(path)
            with pytest.raises(SandboxFileNotFoundError):
                await place.client.read_file(path)


async def test_what_is_no_absolute_path_is_refused(place: Place) -> None:
    for path in ("", "relative", "./x", "../x", "/a\0b", "/" + "x" * 5000, "C:\\x", "~/x"):
        with pytest.raises(SandboxPathError) as caught:
            await place.client.read_file(path)
        assert caught.value.path == path
        with pytest.raises(SandboxPathError):
            await place.client.write_file(path, "x")
        for wanted, method in ((StatsFiles, "stat"), (DeletesFiles, "delete"), (MakesDirectories, "make_directory")):
            if (found := find_operation(place.client, wanted)) is not None:
                with pytest.raises(SandboxPathError):
                    await getattr(found, method)(path)


@pytest.mark.contract("S4")
async def test_why_a_file_cannot_be_read_or_written_is_told(place: Place) -> None:
    await place.client.write_file(f"{place.root}/file", "x")
    await place.client.write_file(f"{place.root}/directory/x", "x")
    with pytest.raises(SandboxFileNotFoundError, match="missing"):
        await place.client.read_file(f"{place.root}/missing")
    with pytest.raises(SandboxFileNotFoundError, match="missing"):
        await place.client.read_file(f"{place.root}/missing/x")
    with pytest.raises(SandboxIsDirectoryError, match="directory"):
        await place.client.read_file(f"{place.root}/directory")
    with pytest.raises(SandboxIsDirectoryError, match="directory"):
        await place.client.write_file(f"{place.root}/directory", "x")
    with pytest.raises(SandboxNotDirectoryError):
        await place.client.read_file(f"{place.root}/file/x")
    with pytest.raises(SandboxFileError):
        await place.client.write_file(f"{place.root}/file/x", "x")
    assert await place.client.read_file(f"{place.root}/file") == "x"


async def test_more_than_was_asked_for_is_not_read(place: Place) -> None:
    await place.client.write_file(f"{place.root}/file", "äöü")
    assert await place.client.read_file(f"{place.root}/file", max_bytes=6) == "äöü"
    with pytest.raises(SandboxFileTooLargeError, match="larger than 5 bytes"):
        await place.client.read_file(f"{place.root}/file", max_bytes=5)


async def test_half_of_a_surrogate_pair_is_not_written(place: Place) -> None:
    await place.client.write_file(f"{place.root}/file", "before")
    with pytest.raises(SandboxNotTextError, match="nothing was written"):
        await place.client.write_file(f"{place.root}/file", "x\ud83d")
    assert await place.client.read_file(f"{place.root}/file") == "before"


@pytest.mark.contract("S4")
async def test_bytes_are_read_as_they_were_written_and_are_no_text(place: Place) -> None:
    reads, writes = operation(place, ReadsBytes), operation(place, WritesBytes)
    content = bytes(range(256)) * 300
    await writes.write_bytes(f"{place.root}/file", content)
    assert await reads.read_bytes(f"{place.root}/file") == content
    with pytest.raises(SandboxNotTextError):
        await place.client.read_file(f"{place.root}/file")
    with pytest.raises(SandboxFileTooLargeError):
        await reads.read_bytes(f"{place.root}/file", max_bytes=len(content) - 1)
    assert len(await reads.read_bytes(f"{place.root}/file", max_bytes=len(content))) == len(content)


async def test_a_file_that_may_be_executed_still_may_be_when_it_was_written(place: Place) -> None:
    await place.client.write_file(f"{place.root}/file", "x")
    assert (await run(place, "chmod 755 file"))[0] == 0
    await place.client.write_file(f"{place.root}/file", "y")
    if (stats := find_operation(place.client, StatsFiles)) is not None:
        assert (await stats.stat(f"{place.root}/file")).mode == 0o755
    else:
        assert (await run(place, "test -x file"))[0] == 0


async def test_links_are_followed(place: Place) -> None:
    await place.client.write_file(f"{place.root}/real/file", "x")
    assert (await run(place, "ln -s real/file link"))[0] == 0
    assert (await run(place, "ln -s missing dangling"))[0] == 0
    assert (await run(place, "ln -s loop loop"))[0] == 0
    await place.client.write_file(f"{place.root}/link", "through it")
    assert await place.client.read_file(f"{place.root}/real/file") == "through it"
    with pytest.raises(SandboxFileNotFoundError):
        await place.client.read_file(f"{place.root}/dangling")
    with pytest.raises(SandboxFileError):
        await place.client.read_file(f"{place.root}/loop")
    stats = operation(place, StatsFiles)
    found = await stats.stat(f"{place.root}/link")
    assert (found.kind, found.size, found.is_link) == ("file", 10, True)
    for name in ("dangling", "loop"):
        found = await stats.stat(f"{place.root}/{name}")
        assert (found.kind, found.is_link) == ("link", True)
    deletes = operation(place, DeletesFiles)
    await deletes.delete(f"{place.root}/link")
    await deletes.delete(f"{place.root}/dangling")
    assert await place.client.read_file(f"{place.root}/real/file") == "through it"
    assert (await run(place, "ls"))[1] == "loop\nreal\n"


async def test_stat_tells_what_is_there(place: Place) -> None:
    stats = operation(place, StatsFiles)
    await place.client.write_file(f"{place.root}/directory/file", "four")
    found = await stats.stat(f"{place.root}/directory/file")
    assert (found.kind, found.size, found.is_link, found.mode) == ("file", 4, False, 0o644)
    assert found.mtime_ns is not None
    assert (await stats.stat(f"{place.root}/directory")).kind == "directory"
    assert (await stats.stat("/")).kind == "directory"
    with pytest.raises(SandboxFileNotFoundError, match="missing"):
        await stats.stat(f"{place.root}/missing")
    with pytest.raises(SandboxNotDirectoryError):
        await stats.stat(f"{place.root}/directory/file/x")


async def test_a_directory_is_listed_in_order_and_says_whether_this_is_all(place: Place) -> None:
    lists = operation(place, ListsDirectories)
    for name in ("b", "a", ".c", "Z", "d/e"):
        await place.client.write_file(f"{place.root}/{name}", "")
    await run(place, "ln -s d f")
    listing = await lists.list_directory(place.root, max_entries=6)
    kinds = [(each.name, each.kind) for each in listing.entries]
    assert kinds == [(".c", "file"), ("Z", "file"), ("a", "file"), ("b", "file"), ("d", "directory"), ("f", "link")]
    assert listing.complete
    short = await lists.list_directory(place.root, max_entries=5)
    assert (len(short.entries), short.complete) == (5, False)
    assert (await lists.list_directory(f"{place.root}/f", max_entries=5)).entries[0].name == "e"
    with pytest.raises(SandboxFileNotFoundError):
        await lists.list_directory(f"{place.root}/missing", max_entries=5)
    with pytest.raises(SandboxNotDirectoryError):
        await lists.list_directory(f"{place.root}/a", max_entries=5)
    await operation(place, MakesDirectories).make_directory(f"{place.root}/empty")
    listing = await lists.list_directory(f"{place.root}/empty", max_entries=5)
    assert (listing.entries, listing.complete) == ((), True)


async def test_a_file_or_an_empty_directory_is_deleted_and_nothing_else(place: Place) -> None:
    deletes = operation(place, DeletesFiles)
    await place.client.write_file(f"{place.root}/directory/file", "x")
    with pytest.raises(SandboxNotEmptyError):
        await deletes.delete(f"{place.root}/directory")
    assert await place.client.read_file(f"{place.root}/directory/file") == "x"
    await deletes.delete(f"{place.root}/directory/file")
    await deletes.delete(f"{place.root}/directory")
    with pytest.raises(SandboxFileNotFoundError):
        await deletes.delete(f"{place.root}/directory")
    assert (await run(place, "ls"))[1] == ""


async def test_directories_are_made_with_those_above_them(place: Place) -> None:
    makes = operation(place, MakesDirectories)
    await makes.make_directory(f"{place.root}/a/b/c")
    await makes.make_directory(f"{place.root}/a/b")
    assert (await operation(place, StatsFiles).stat(f"{place.root}/a/b/c")).kind == "directory"
    await place.client.write_file(f"{place.root}/file", "x")
    for path in ("file", "file/x"):
        with pytest.raises(SandboxNotDirectoryError):
            await makes.make_directory(f"{place.root}/{path}")


@pytest.mark.contract("S4", "S5", "S6")
async def test_a_restore_brings_back_what_was_kept(place: Place) -> None:
    takes, restores = operation(place, TakesSnapshots), operation(place, RestoresSnapshots)
    await place.client.write_file(f"{place.root}/file", "kept")
    first = await takes.snapshot()
    await place.client.write_file(f"{place.root}/file", "changed")
    await place.client.write_file(f"{place.root}/new", "new")
    second = await takes.snapshot()
    assert first != second
    await restores.restore(first)
    assert await place.client.read_file(f"{place.root}/file") == "kept"
    with pytest.raises(SandboxFileNotFoundError):
        await place.client.read_file(f"{place.root}/new")
    await place.client.write_file(f"{place.root}/file", "changed after the restore")
    await restores.restore(second)
    assert await place.client.read_file(f"{place.root}/file") == "changed"
    assert (await run(place, "ls"))[1] == "file\nnew\n"
    await restores.restore(first)
    assert await place.client.read_file(f"{place.root}/file") == "kept"


@pytest.mark.contract("S5", "S6")
async def test_a_snapshot_that_does_not_exist_is_not_restored(place: Place) -> None:
    restores = operation(place, RestoresSnapshots)
    kept = await operation(place, TakesSnapshots).snapshot()
    for unknown in ("kept-missing", "", " "):
        with pytest.raises(SandboxError):
            await restores.restore(SnapshotRef(unknown))
    await restores.restore(kept)
    assert await run(place, "echo open") == (0, "open\n")
