"""Applying a manifest through a client: refused before its first entry, or applied, or told where it ended."""

# ruff: noqa: ASYNC230, ASYNC240  the files of a test are small, and nothing else runs in its loop

from __future__ import annotations

import os
import shutil
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from manifest_desk import BytesClient, FullClient, ListingClient, PlainClient, files_below
from openbuffer.sandbox.errors import ManifestFailedError, ManifestRefusedError, SandboxAnswerError
from openbuffer.sandbox.manifests.apply import apply_workspace_manifest
from openbuffer.sandbox.manifests.host_files import DirectoryHostFiles
from openbuffer.sandbox.manifests.result import ManifestResult

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.sandbox import Command, DirectoryListing, RunResult

CLIENTS = [PlainClient, ListingClient, BytesClient, FullClient]
MIB = 1024 * 1024


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sandbox" / "workspace"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    directory = tmp_path / "host"
    directory.mkdir()
    return directory


async def refusal(client: PlainClient, manifest: Any, root: Path, host: DirectoryHostFiles | None = None) -> str:
    """The words; and nothing was changed, whatever the client can do."""
    before = files_below(root) if root.exists() else None
    with pytest.raises(ManifestRefusedError) as caught:
        await apply_workspace_manifest(client, manifest, host, root=str(root))
    assert client.changes == []
    assert (files_below(root) if root.exists() else None) == before
    return str(caught.value)


@pytest.mark.contract("S11")
@pytest.mark.parametrize("make", CLIENTS)
async def test_files_and_directories_are_made_by_every_client(make: type[PlainClient], root: Path) -> None:
    manifest = {
        "entries": {
            "task.md": {"type": "file", "content": "Löök.\r\n"},
            "empty": {"type": "dir"},
            "a/b c/$(x).txt": {"type": "file", "content": ""},
            "-rf": {"type": "file", "content": "dash"},
        }
    }
    result = await apply_workspace_manifest(make(), manifest, root=str(root))
    assert result.complete
    assert [(entry.path, entry.status) for entry in result.entries][1] == ("empty", "applied")
    assert files_below(root) == {
        "-rf": b"dash",
        "a/b c/$(x).txt": b"",
        "empty": None,
        "task.md": "Löök.\r\n".encode(),
    }


@pytest.mark.contract("S11")
@pytest.mark.parametrize("make", CLIENTS)
async def test_local_files_and_directories_come_through_the_host_files(
    make: type[PlainClient], root: Path, host: Path
) -> None:
    (host / "src" / "deep" / "er").mkdir(parents=True)
    (host / "src" / "deep" / "a.txt").write_text("a")
    (host / "src" / ".git").mkdir()
    (host / "src" / ".git" / "config").write_text("secret")
    (host / "src" / ".venv").mkdir()
    (host / "src" / "link").symlink_to("deep/a.txt")
    (host / "one").write_text("1")
    manifest = {
        "entries": {
            "copy": {"type": "localDir", "source": "src", "exclude": [".venv"]},
            "copy/more": {"type": "file", "content": "m"},
            "one": {"type": "localFile", "source": str(host / "one")},
        }
    }
    result = await apply_workspace_manifest(make(), manifest, DirectoryHostFiles([str(host)]), root=str(root))
    assert result.complete
    assert files_below(root) == {
        "copy/deep/a.txt": b"a",
        "copy/deep/er": None,
        "copy/link": b"a",
        "copy/more": b"m",
        "one": b"1",
    }
    assert result.entries[0].detail == "left out: .git, .venv"


@pytest.mark.contract("S11")
@pytest.mark.parametrize("kind", ["localFile", "localDir"])
async def test_without_host_files_a_local_entry_is_refused_and_leaves_nothing(kind: str, root: Path) -> None:
    manifest = {"entries": {"a": {"type": "file", "content": ""}, "b": {"type": kind, "source": "x"}}}
    assert "no access to the host's files" in await refusal(FullClient(), manifest, root)


@pytest.mark.contract("S11")
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"type": "localFile", "source": "../outside"}, "outside of what may be read"),
        ({"type": "localFile", "source": "/etc/hostname"}, "outside of what may be read"),
        ({"type": "localFile", "source": "link-out"}, "outside of what may be read"),
        ({"type": "localFile", "source": "hidden/key"}, "outside of what may be read"),
        ({"type": "localFile", "source": "a\0b"}, "NUL"),
        ({"type": "localFile", "source": "missing"}, "No such file"),
        ({"type": "localFile", "source": "dir"}, "is a directory"),
        ({"type": "localFile", "source": "fifo"}, "FIFO"),
        ({"type": "localDir", "source": "plain"}, "Not a directory"),
        ({"type": "localDir", "source": "with-link-out"}, "outside of what may be read"),
        ({"type": "localDir", "source": "with-link-to-directory"}, "is a link to a directory"),
        ({"type": "localDir", "source": "with-loop"}, "cannot be read"),
        ({"type": "localDir", "source": "with-fifo"}, "FIFO"),
        ({"type": "localDir", "source": "odd-names"}, "character"),
        ({"type": "localDir", "source": "two-cases"}, "differ only"),
    ],
)
async def test_a_source_that_may_not_be_read_is_refused_and_leaves_nothing(
    entry: dict[str, str], words: str, root: Path, host: Path
) -> None:
    (host.parent / "outside").write_text("o")
    (host / "link-out").symlink_to("../outside")
    (host / "hidden").mkdir()
    (host / "hidden" / "key").write_text("k")
    (host / "plain").write_text("p")
    os.mkfifo(host / "fifo")
    for name in ("dir", "with-link-out", "with-link-to-directory", "with-loop", "with-fifo", "two-cases"):
        (host / name).mkdir()
    (host / "with-link-out" / "x").symlink_to("/etc/hostname")
    (host / "with-link-to-directory" / "x").symlink_to("..")
    (host / "with-loop" / "x").symlink_to("x")
    os.mkfifo(host / "with-fifo" / "x")
    os.makedirs(os.fsencode(host) + b"/odd-names/\xff")
    for name in ("A", "a"):
        (host / "two-cases" / name).write_text("")
    files = DirectoryHostFiles([str(host)], hidden=[str(host / "hidden")])
    manifest = {"entries": {"first": {"type": "file", "content": "x"}, "second": entry}}
    told = await refusal(FullClient(), manifest, root, files)
    assert words in told
    assert told.startswith("the entry 'second'")


@pytest.mark.contract("S11")
@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"environment": {"A": "1"}}, "environment"),
        ({"entries": {"f": {"type": "file", "content": "", "permissions": "600"}}}, "permissions"),
    ],
)
async def test_a_control_that_cannot_be_enforced_is_refused_before_the_first_entry(
    extra: dict[str, Any], words: str, root: Path
) -> None:
    manifest = {"entries": {"a": {"type": "file", "content": ""}}, **extra}
    assert words in await refusal(BytesClient(), manifest, root)


async def test_controls_are_enforced_where_the_client_can(root: Path) -> None:
    client = FullClient()
    manifest = {
        "entries": {
            "d": {"type": "dir", "permissions": "500"},
            "d/run.sh": {"type": "file", "content": "#!/bin/sh\n", "permissions": "755"},
        },
        "environment": {"COLOUR": "red"},
    }
    result = await apply_workspace_manifest(client, manifest, root=str(root))
    assert result.complete
    assert [(root / name).stat().st_mode & 0o777 for name in ("d", "d/run.sh")] == [0o500, 0o755]
    assert client.environment["COLOUR"] == "red"
    assert client.changes[0][0] == "set_environment"


@pytest.mark.contract("S11")
async def test_a_mount_is_unsupported_unless_the_client_declares_that_it_can(root: Path) -> None:
    mounts = {
        "s3": {"type": "s3Mount", "bucket": "b"},
        "gcs": {"type": "gcsMount", "bucket": "b"},
        "r2": {"type": "r2Mount", "accountId": "a", "bucket": "b"},
        "az": {"type": "azureBlobMount", "account": "a", "container": "c"},
    }
    manifest = {"entries": {**mounts, "f": {"type": "file", "content": "x"}}}
    result = await apply_workspace_manifest(BytesClient(), manifest, root=str(root))
    assert [entry.status for entry in result.entries] == ["unsupported"] * 4 + ["applied"]
    assert not result.complete
    assert files_below(root) == {"f": b"x"}
    client = FullClient()
    shutil.rmtree(root)
    result = await apply_workspace_manifest(client, manifest, root=str(root))
    assert [entry.status for entry in result.entries] == ["applied", *["unsupported"] * 3, "applied"]
    assert client.mounted == [f"s3Mount {root}/s3"]


@pytest.mark.parametrize("make", CLIENTS)
async def test_nothing_that_is_there_is_written_over(make: type[PlainClient], root: Path) -> None:
    root.mkdir(parents=True)
    (root / "a").write_text("mine")
    manifest = {"entries": {"b": {"type": "dir"}, "a": {"type": "file", "content": "theirs"}}}
    told = await refusal(make(), manifest, root)
    assert ("'a' exists" in told) or ("not empty" in told)


@pytest.mark.contract("S11")
@pytest.mark.parametrize("deep", [False, True])
async def test_a_link_in_the_workspace_is_not_written_through(deep: bool, root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    above = root / "real" if deep else root
    above.mkdir(parents=True)
    (above / "link").symlink_to(tmp_path / "elsewhere")
    path = "real/link/f" if deep else "link/f"
    assert "as a link" in await refusal(FullClient(), {"entries": {path: {"type": "file", "content": "x"}}}, root)
    assert files_below(tmp_path / "elsewhere") == {}


async def test_what_else_is_there_is_left_alone(root: Path) -> None:
    (root / "d").mkdir(parents=True)
    (root / "d" / "old").write_text("old")
    manifest = {"entries": {"d": {"type": "dir"}, "d/new": {"type": "file", "content": "new"}}}
    assert (await apply_workspace_manifest(FullClient(), manifest, root=str(root))).complete
    assert files_below(root) == {"d/new": b"new", "d/old": b"old"}


async def test_a_client_of_the_hosts_files_is_refused(root: Path) -> None:
    client = FullClient()
    client.filesystem = "shared"
    assert "no files of its own" in await refusal(client, {"entries": {}}, root)


@pytest.mark.parametrize("place", ["relative", "", "/a/../b", "/a\0b"])
async def test_a_workspace_is_an_absolute_place(place: str) -> None:
    client = FullClient()
    with pytest.raises(ManifestRefusedError):
        await apply_workspace_manifest(client, {"entries": {}}, root=place)
    assert client.calls == []


@pytest.mark.contract("S11")
@pytest.mark.parametrize("make", CLIENTS)
async def test_a_failure_in_the_middle_tells_what_was_applied_and_what_not(
    make: type[PlainClient], root: Path, host: Path
) -> None:
    (host / "big").write_bytes(bytes(2 * MIB))
    client = make()
    client.fails_at = "big"
    manifest = {
        "entries": {
            "first": {"type": "file", "content": "1"},
            "big": {"type": "localFile", "source": "big"},
            "last": {"type": "file", "content": "3"},
        }
    }
    with pytest.raises(ManifestFailedError, match="no space left") as caught:
        await apply_workspace_manifest(client, manifest, DirectoryHostFiles([str(host)]), root=str(root))
    assert [entry.status for entry in caught.value.result.entries] == ["applied", "failed", "not_applied"]
    assert "Applied: 1, failed (a part may be there): 1, not begun: 1" in str(caught.value)
    assert files_below(root) == {"first": b"1"}


@pytest.mark.contract("S11")
@pytest.mark.parametrize(
    "error", [KeyError("k"), ConnectionError("gone"), ExceptionGroup("g", [ValueError("x")])], ids=repr
)
async def test_a_client_that_fails_in_its_own_way_is_told_of_entry_by_entry_or_before_the_first(
    error: Exception, root: Path
) -> None:
    class Dying(BytesClient):
        async def write_bytes(self, path: str, content: bytes) -> None:
            if path.endswith("b"):
                raise error
            await super().write_bytes(path, content)

    class Blind(BytesClient):
        async def list_directory(self, path: str, *, max_entries: int) -> DirectoryListing:
            del path, max_entries
            raise error

    manifest = {"entries": {name: {"type": "file", "content": name} for name in ("a", "b", "c")}}
    assert type(error).__name__ in await refusal(Blind(), manifest, root)
    with pytest.raises(ManifestFailedError, match=type(error).__name__) as caught:
        await apply_workspace_manifest(Dying(), manifest, root=str(root))
    assert [entry.status for entry in caught.value.result.entries] == ["applied", "failed", "not_applied"]


@pytest.mark.contract("S5", "S11")
@pytest.mark.parametrize("code", [None, False, "0", 0.0])
async def test_a_command_without_a_clear_exit_code_is_no_success_here_either(code: Any, root: Path) -> None:
    class Unclear:
        async def run(self, command: Command) -> RunResult:
            return replace(await PlainClient.run(self, command), exit_code=code)  # type: ignore[arg-type]  both are one

    class Listing(Unclear, BytesClient):
        pass

    class Plain(Unclear, PlainClient):
        pass

    repository = {"entries": {"r": {"type": "gitRepo", "url": "https://example.test/r"}}}
    assert "do not take it for success" in await refusal(Listing(), repository, root)
    assert "do not take it for success" in await refusal(Plain(), {"entries": {"d": {"type": "dir"}}}, root)


@pytest.mark.contract("S11")
async def test_a_tree_that_is_too_deep_is_refused_while_it_is_listed(root: Path, host: Path) -> None:
    deep = os.open(host, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    files = DirectoryHostFiles([str(host)])
    opened: list[str] = []
    files._opened = _counting(files._opened, opened)  # type: ignore[method-assign]  to see that it ends early
    manifest = {"entries": {"m": {"type": "localDir", "source": "d"}}}
    assert "64 are the most" in await refusal(FullClient(), manifest, root, files)
    assert len(opened) < 100


def _counting(opens: Any, opened: list[str]) -> Any:
    def counted(path: str, source: str, **more: Any) -> Any:
        opened.append(path)
        return opens(path, source, **more)

    return counted


async def test_a_failure_within_many_files_counts_all_of_them_as_failed(root: Path) -> None:
    client = FullClient()
    client.fails_at = "b"
    manifest = {"entries": {name: {"type": "file", "content": name} for name in ("a", "b", "c")}}
    with pytest.raises(ManifestFailedError) as caught:
        await apply_workspace_manifest(client, manifest, root=str(root))
    assert {entry.status for entry in caught.value.result.entries} == {"failed"}


async def test_bytes_need_a_client_that_can_write_them(root: Path, host: Path) -> None:
    (host / "bin").write_bytes(b"\xff\x00")
    files = DirectoryHostFiles([str(host)])
    inline = {"entries": {"b": {"type": "file", "content": "/w==", "encoding": "base64"}}}
    local = {"entries": {"b": {"type": "localFile", "source": "bin"}}}
    assert "not UTF-8" in await refusal(PlainClient(), inline, root)
    assert "not UTF-8" in await refusal(PlainClient(), local, root, files)
    assert (await apply_workspace_manifest(BytesClient(), local, files, root=str(root))).complete
    assert files_below(root) == {"b": b"\xff\x00"}


@pytest.mark.contract("S11")
async def test_a_file_of_a_hundred_megabytes_is_streamed_in_bounded_memory(root: Path, host: Path) -> None:
    with open(host / "big", "wb") as file:
        file.truncate(100 * MIB)
    files = DirectoryHostFiles([str(host)])
    manifest = {"entries": {"big": {"type": "localFile", "source": "big"}}}
    client = FullClient()
    tracemalloc.start()
    try:
        result = await apply_workspace_manifest(client, manifest, files, root=str(root))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.complete
    assert (root / "big").stat().st_size == 100 * MIB
    assert client.largest_piece <= MIB
    assert peak < 16 * MIB
    shutil.rmtree(root)
    assert "only whole" in await refusal(BytesClient(), manifest, root, files)


@pytest.mark.contract("S11")
async def test_ten_thousand_entries_are_written_in_few_calls(root: Path) -> None:
    entries = {f"d{number % 50}/f{number}": {"type": "file", "content": str(number)} for number in range(10_000)}
    client = FullClient()
    result = await apply_workspace_manifest(client, {"entries": entries}, root=str(root))
    assert result.complete
    assert len(result.entries) == 10_000
    assert len(client.calls) < 30
    assert (root / "d49" / "f9999").read_text() == "9999"


async def test_a_directory_of_too_many_files_is_refused_while_it_is_listed(
    root: Path, host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openbuffer.sandbox.manifests.plan.FILES_MAX", 10)
    (host / "many").mkdir()
    for number in range(11):
        (host / "many" / str(number)).write_text("")
    manifest = {"entries": {"m": {"type": "localDir", "source": "many"}}}
    assert "holds more than 9" in await refusal(FullClient(), manifest, root, DirectoryHostFiles([str(host)]))


async def test_a_local_file_that_changes_while_it_is_read_is_a_failure(root: Path, host: Path) -> None:
    (host / "f").write_bytes(bytes(2 * MIB))
    files = DirectoryHostFiles([str(host)])

    class Growing(FullClient):
        async def make_directory(self, path: str) -> None:
            await super().make_directory(path)
            with open(host / "f", "ab") as file:
                file.write(b"more")

    manifest = {"entries": {"f": {"type": "localFile", "source": "f"}}}
    with pytest.raises(ManifestFailedError, match="changed while it was read"):
        await apply_workspace_manifest(Growing(), manifest, files, root=str(root))


async def test_a_local_file_that_becomes_a_link_is_not_followed(root: Path, host: Path) -> None:
    (host / "f").write_bytes(b"x")
    (host.parent / "secret").write_text("s")
    files = DirectoryHostFiles([str(host)])

    class Swapping(FullClient):
        async def make_directory(self, path: str) -> None:
            await super().make_directory(path)
            (host / "f").unlink()
            (host / "f").symlink_to("../secret")

    manifest = {"entries": {"f": {"type": "localFile", "source": "f"}}}
    with pytest.raises(ManifestFailedError, match="cannot be read"):
        await apply_workspace_manifest(Swapping(), manifest, files, root=str(root))
    assert files_below(root) == {}


@pytest.mark.contract("S4")
async def test_a_client_with_an_operation_of_its_own_applies_it(root: Path) -> None:
    class Own(BytesClient):
        answer: object = ManifestResult(entries=())

        async def apply_manifest(self, manifest: object) -> object:
            del manifest
            return self.answer

    client = Own()
    assert await apply_workspace_manifest(client, {"entries": {}}, root=str(root)) is client.answer
    client.answer = {"ok": True}
    with pytest.raises(SandboxAnswerError):
        await apply_workspace_manifest(client, {"entries": {}}, root=str(root))


@pytest.mark.contract("T6")
async def test_a_cancelled_application_is_cancelled(root: Path) -> None:
    entered = anyio.Event()

    class Slow(BytesClient):
        async def write_bytes(self, path: str, content: bytes) -> None:
            del path, content
            entered.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        manifest = {"entries": {"a": {"type": "file", "content": ""}}}
        tasks.start_soon(lambda: apply_workspace_manifest(Slow(), manifest, root=str(root)))
        await entered.wait()
        tasks.cancel_scope.cancel()
    assert tasks.cancel_scope.cancel_called
