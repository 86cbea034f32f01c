"""``openbuffer workspace apply``: what it prints, what it leaves, and its exit codes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from engine_double import write_engine
from openbuffer.bridge.commands.cli import main

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = """\
entries:
  task.md: {type: file, content: "Look.\\n"}
  data.csv: {type: localFile, source: data.csv}
  out: {type: dir}
"""


class Bench:
    """A program ``docker`` on the PATH, a manifest with its local file, and a workspace for containers."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.state, self.workspace, programs = base / "state", base / "workspace", base / "programs"
        self.manifests = base / "manifests"
        for directory in (self.state, self.workspace, programs, self.manifests):
            directory.mkdir()
        write_engine(programs, "docker")
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        monkeypatch.setenv("ENGINE_STATE", str(self.state))
        (self.manifests / "data.csv").write_text("1,2\n")
        self.file = self.write(MANIFEST)

    def write(self, text: str) -> str:
        (self.manifests / "workspace.yaml").write_text(text)
        return str(self.manifests / "workspace.yaml")

    def apply(self, *options: str) -> int:
        return main(["workspace", "apply", self.file, "--root", str(self.workspace), *options])

    @property
    def containers(self) -> list[str]:
        return [path.name for path in self.state.iterdir() if len(path.name) == 64]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


NEW = ("--sandbox", "docker", "--image", "debian:12")


@pytest.mark.contract("S11")
def test_a_new_container_is_filled_and_stays(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.apply(*NEW) == 0
    (container,) = bench.containers
    assert capsys.readouterr().out.splitlines() == [
        "ok   applied     task.md",
        "ok   applied     data.csv",
        "ok   applied     out",
        f"The container {container[:12]} stays until you remove it with: docker rm -f {container[:12]}",
        f"Go into it with: docker exec -it {container[:12]} /bin/sh",
    ]
    assert (bench.workspace / "data.csv").read_text() == "1,2\n"


def test_a_container_that_runs_is_filled(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.apply(*NEW, "--json") == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["complete"], [entry["status"] for entry in first["entries"]]) == (True, ["applied"] * 3)
    bench.write('{"entries": {"more": {"type": "file", "content": "m"}}}')
    assert bench.apply("--sandbox", f"docker:{first['container']}") == 0
    assert (bench.workspace / "more").read_text() == "m"
    assert "stays" not in capsys.readouterr().out
    assert bench.containers == [first["container"]]


@pytest.mark.contract("S11")
@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ('{"entries": {"../x": {"type": "dir"}}}', "the manifest is refused"),
        ('{"entries": {"x": {"type": "localFile", "source": "/etc/hostname"}}}', "outside of what may be read"),
        ('{"entries": {"x": {"type": "socket"}}}', "socket"),
        ('{"entries": {}, "environment": {"A": "b"}}', "this program alone"),
    ],
)
def test_a_manifest_that_is_refused_leaves_no_container(
    manifest: str, words: str, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.write(manifest)
    assert bench.apply(*NEW) == 1
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""
    assert bench.containers == []
    assert list(bench.workspace.iterdir()) == []


def test_a_failure_in_the_middle_tells_each_entry_and_leaves_no_container(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.write(
        '{"entries": {"a": {"type": "dir"}, "r": {"type": "gitRepo", "url": "https://[::1]:1/r"}, '
        '"z": {"type": "file", "content": "z"}}}'
    )
    assert bench.apply(*NEW) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == "ok   applied     a"
    assert captured.out.splitlines()[1].startswith("FAIL failed      r: git could not clone it")
    assert captured.out.splitlines()[2] == "note not_applied z"
    assert "Applied: 1, failed (a part may be there): 1, not begun: 1" in captured.err
    assert bench.containers == []


def test_a_mount_is_told_as_unsupported_and_is_no_success(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.write('{"entries": {"m": {"type": "s3Mount", "bucket": "b"}}}')
    assert bench.apply(*NEW) == 1
    assert "note unsupported m: this sandbox cannot mount" in capsys.readouterr().out


def test_memory_only_tells_what_would_be_made(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    (bench.manifests / "src").mkdir()
    (bench.manifests / "src" / "a").write_text("aa")
    bench.write(
        MANIFEST + "  src: {type: localDir, source: src}\n"
        "  repo: {type: gitRepo, url: https://example.test/r.git, ref: main, shallow: true}\n"
        "  m: {type: s3Mount, bucket: b}\n"
        "environment: {A: b}\n"
    )
    assert bench.apply("--sandbox", "memory") == 0
    assert capsys.readouterr().out.splitlines() == [
        "task.md: a file of 6 bytes",
        "data.csv: a file of 4 bytes",
        "out: a directory",
        "src: 1 files of 2 bytes",
        "repo: a clone of https://example.test/r.git at main, without history",
        "m: a mount, which no sandbox of this command can make: unsupported",
        "environment (A): for programs that hand their client to apply_workspace_manifest; this command refuses it",
        "6 entries; nothing was made. Name a container engine to apply them.",
    ]
    assert bench.containers == []
    assert list(bench.workspace.iterdir()) == []


def test_another_directory_is_read_only_where_that_is_allowed(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f").write_text("f")
    bench.write(f'{{"entries": {{"f": {{"type": "localFile", "source": "{tmp_path}/elsewhere/f"}}}}}}')
    assert bench.apply("--sandbox", "memory") == 1
    assert bench.apply("--sandbox", "memory", "--local", str(tmp_path / "elsewhere")) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sandbox", "os"), "no files of its own"),
        (("--sandbox", "bubblewrap"), "no files of its own"),
        (("--sandbox", "e2b"), "your own program"),
        (("--sandbox", "lxc"), "there is none of this name"),
        (("--sandbox", "docker:"), "there is none of this name"),
        (("--sandbox", "memory:x"), "there is none of this name"),
        (("--sandbox", "docker"), "needs --image"),
        (("--sandbox", "docker:x", "--image", "y"), "leave it out"),
        (("--sandbox", "memory", "--network"), "leave it out"),
        (("--sandbox", "docker:nowhere"), "No such container"),
        (("--sandbox", "docker:-f"), "no name of a container"),
        (("--sandbox", "docker", "--image", "absent:1"), "docker pull"),
        (("--sandbox", "podman", "--image", "x"), "podman is not installed"),
    ],
)
def test_what_cannot_run_is_told_with_the_next_step(
    options: tuple[str, ...],
    words: str,
    bench: Bench,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "podman" in options:
        monkeypatch.setenv("PATH", str(bench.state))
    assert bench.apply(*options) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.startswith("openbuffer: ")
    assert captured.out == ""


def test_a_document_that_is_none_is_told_by_its_name(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.write("a: *b")
    assert bench.apply("--sandbox", "memory") == 2
    assert capsys.readouterr().err.startswith(f"openbuffer: {bench.file}: the manifest is not usable YAML")
