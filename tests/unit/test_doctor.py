"""The doctor: what it finds, how it is shown, and when it says that the main job works."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from inline_snapshot import snapshot
from openbuffer.bridge.commands import doctor as doctor_module
from openbuffer.bridge.commands import findings as findings_module
from openbuffer.bridge.commands.cli import main
from openbuffer.bridge.commands.doctor import (
    _package,
    examine_companions,
    examine_installation,
    show,
    try_the_main_job,
)
from openbuffer.bridge.commands.doctor_files import examine_root, file_system_type
from openbuffer.bridge.commands.findings import Finding, pip_install
from openbuffer.bridge.commands.terminal import terminal_for
from openbuffer.tools.adapters import tree_sitter_parser
from openbuffer.tools.support.grep import ripgrep

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def states(findings: Iterable[Finding]) -> dict[str, str]:
    return {finding.name: finding.state for finding in findings}


def test_this_installation_is_found_good() -> None:
    found = states(examine_installation())
    assert set(found.values()) == {"good"}
    assert {"Python", "openbuffer", "pygls", "lsprotocol", "pydantic", "anyio", "jsonschema-rs"} <= set(found)


def test_a_missing_package_is_told_with_the_fix(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    version = metadata.version

    def without_pygls(name: str) -> str:
        if name == "pygls":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without_pygls)
    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "FAIL pygls" in printed
    assert (
        f"fix: install it again, in the directory of its README.md: {pip_install('--force-reinstall .')}\n" in printed
    )
    assert printed.endswith("openbuffer does not work here: pygls\n")


@pytest.mark.parametrize(
    ("version", "state"),
    [("2.1", "good"), ("2.1.1", "good"), ("2.10.0rc1", "good"), ("1.3.1", "bad"), ("2.0.9", "bad"), ("3.0", "bad")],
)
def test_a_package_that_is_too_old_or_too_new_is_told(
    version: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", lambda _name: version)
    found = _package("pygls<3,>=2.1")
    assert found.state == state
    if state == "bad":
        assert found.detail == f"{version} is installed, and pygls<3,>=2.1 is needed"


@pytest.mark.parametrize(
    ("text", "state", "told"),
    [
        ("[permissions]\nask = ['Read']\n", "good", "the rules for permissions keep the doctor from reading"),
        ("[permissions]\ndeny = ['Read']\n", "good", "the rules for permissions keep the doctor from reading"),
        ("[permissions]\nask = ['Read(']\n", "good", "the rules for permissions keep the doctor from reading"),
        ("[limits]\nfile_max_bytes = 3\n", "bad", "an unsaved document is not read"),
    ],
)
def test_settings_that_keep_the_server_from_reading_are_no_reason_to_install_it_again(
    text: str, state: str, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    found = try_the_main_job(file)
    assert (found.state, told in found.detail) == (state, True), found
    assert "install" not in str(found.fix)


@pytest.mark.parametrize("has_pip", [False, True])
def test_the_command_to_install_runs_in_a_shell_whose_python_has_no_pip(
    has_pip: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings_module, "find_spec", lambda _name: object() if has_pip else None)
    program, *arguments = shlex.split(pip_install("what"))
    assert arguments[-2:] == ["install", "what"]
    assert sys.executable in (program, *arguments)
    code = "import sys; print(sys.prefix)"
    done = subprocess.run([program, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (sys.prefix if has_pip else sys.base_prefix)


def test_a_server_that_does_not_start_is_told_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    from openbuffer.bridge import client

    command = (sys.executable, "-c", "import sys; sys.exit('ImportError: no lsprotocol')")
    monkeypatch.setattr(client, "SERVER_COMMAND", command)
    assert main(["doctor", "--root", str(tmp_path)]) == 1
    assert "FAIL server" in (printed := capsys.readouterr().out)
    assert "it said: ImportError: no lsprotocol" in printed


def test_findings_are_shown_plainly_when_piped() -> None:
    stream = io.StringIO()
    findings = [
        Finding("Python", "good", "3.11"),
        Finding("nvim", "note", "not found", "install it"),
        Finding("server", "bad", "does not start", "install again"),
    ]
    show(findings, terminal_for(stream))
    assert stream.getvalue() == snapshot("""\
ok   Python  3.11
note nvim    not found
             fix: install it
FAIL server  does not start
             fix: install again
openbuffer does not work here: server
""")


def test_a_good_workspace_is_found_good_and_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "Name").touch()
    before = os.stat(tmp_path).st_mtime_ns
    found = {finding.name: finding for finding in examine_root(tmp_path)}
    assert {"containment", "workspace", "file system", "locks", "new files", "attributes", "letter case"} == set(found)
    assert "bad" not in states(found.values()).values()
    assert found["letter case"].detail == "matters in names"
    assert os.listdir(tmp_path) == ["Name"]
    assert os.stat(tmp_path).st_mtime_ns == before


@pytest.mark.parametrize(
    ("flags", "fix"),
    [(0, "chmod u+rwx {}"), (os.ST_RDONLY, "it is on a read-only file system: name another with --root")],
)
def test_a_workspace_that_cannot_be_written_is_noted_with_what_helps(
    flags: int, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = SimpleNamespace(f_flag=flags)
    monkeypatch.setattr(os, "access", lambda *_args: False)
    monkeypatch.setattr(os, "statvfs", lambda _path: mount)
    found = {finding.name: finding for finding in examine_root(tmp_path)}
    assert (found["workspace"].state, found["workspace"].fix) == ("note", fix.format(tmp_path))


def test_a_workspace_that_is_not_there_is_bad(tmp_path: Path) -> None:
    found = {finding.name: finding for finding in examine_root(tmp_path / "none")}
    assert found["workspace"].state == "bad"
    assert found["workspace"].detail.endswith("none: No such file or directory")


def test_a_file_system_without_the_calls_gives_notes_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def unsupported(*_args: Any, **_kwargs: Any) -> None:
        raise OSError(95, "Operation not supported")

    real_open = os.open

    def open_without_nameless(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            unsupported()
        return real_open(path, flags, *args, **kwargs)

    monkeypatch.setattr(fcntl, "flock", unsupported)
    monkeypatch.setattr(os, "open", open_without_nameless)
    found = states(examine_root(tmp_path))
    assert (found["locks"], found["new files"], found["attributes"]) == ("note", "note", "note")
    assert "bad" not in found.values()


def test_a_network_file_system_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openbuffer.bridge.commands.doctor_files.file_system_type", lambda _root: "nfs4")
    found = {finding.name: finding for finding in examine_root(tmp_path)}
    assert found["file system"].state == "note"


def test_the_file_system_type_is_read_from_the_mount_that_holds_the_path(tmp_path: Path) -> None:
    device = os.stat(tmp_path).st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 9:9 / /other rw - tmpfs none rw\n"
        f"2 0 {os.major(device)}:{os.minor(device)} / /a\\040b rw,noatime shared:1 - ext4 /dev/x rw\n"
    )
    assert file_system_type(tmp_path, str(mounts)) == "ext4"
    assert file_system_type(tmp_path, str(tmp_path / "none")) is None


def test_missing_companions_are_notes_with_a_way_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(ripgrep, "_of_package", lambda: ())
    found = list(examine_companions())
    assert states(found) == {"nvim": "note", "rg": "note", "retrieval": "good"}
    assert all(finding.fix for finding in found if finding.state != "good")


def test_a_companion_that_does_not_run_is_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("nvim", "rg"):
        (tmp_path / name).write_text("#!/no/such/interpreter\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = list(examine_companions())
    assert states(found) == {"nvim": "note", "rg": "note", "retrieval": "good"}
    assert all("does not run" in finding.detail for finding in found if finding.state != "good")


@pytest.mark.parametrize(
    ("there", "told"),
    [((), "are not installed"), (("python", "go"), "knows no bash, c, c_"), (None, "knows bash, c")],
)
def test_it_tells_whether_the_parsers_of_retrieval_are_there_and_how_to_get_them(
    there: tuple[str, ...] | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there is not None:
        monkeypatch.setattr(tree_sitter_parser, "installed_languages", lambda: frozenset(there))
    (found,) = (finding for finding in examine_companions() if finding.name == "retrieval")
    assert told in found.detail
    assert found.state == ("good" if there is None else "note")
    assert there is None or "install '.[retrieval]'" in (found.fix or "")


def test_ripgrep_is_found_where_grep_finds_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    workspace, packages = tmp_path / "workspace", tmp_path / "packages"
    for directory in (workspace, packages):
        directory.mkdir()
        (directory / "rg").write_text("#!/bin/sh\necho ripgrep of $0\n")
        (directory / "rg").chmod(0o755)
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("PATH", str(workspace))
    monkeypatch.setattr(ripgrep, "_of_package", lambda: [str(packages / "rg")])
    found = {finding.name: finding for finding in examine_companions()}
    assert found["rg"].state == "good"
    assert str(packages / "rg") in found["rg"].detail
    monkeypatch.setattr(ripgrep, "_of_package", lambda: ())
    ripgrep._found.cache_clear()
    found = {finding.name: finding for finding in examine_companions()}
    assert found["rg"].state == "note"
    assert f"{workspace}/rg lies in the workspace, where Grep starts no program" in found["rg"].detail
    assert found["rg"].fix


def test_an_old_nvim_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nvim = tmp_path / "nvim"
    nvim.write_text("#!/bin/sh\necho NVIM v0.9.5\n")
    nvim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {finding.name: finding for finding in examine_companions()}
    assert found["nvim"].state == "note"
    assert "is older than 0.11" in found["nvim"].detail


def test_the_doctor_needs_nothing_but_the_standard_library_to_start() -> None:
    assert doctor_module.__name__ == "openbuffer.bridge.commands.doctor"
    import subprocess

    code = (
        "import sys, openbuffer.bridge.commands.doctor; "
        "print([m for m in ('anyio', 'pydantic', 'pygls') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_json_has_every_finding(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor_module, "try_the_main_job", lambda _config: Finding("server", "good", "starts"))
    assert main(["doctor", "--json", "--root", str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["works"] is True
    assert {"name": "server", "state": "good", "detail": "starts"} in report["findings"]


def test_a_current_directory_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor_module, "try_the_main_job", lambda _config: Finding("server", "good", "starts"))
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["doctor"]) == 1
    assert "FAIL workspace           the current directory does not exist any more" in capsys.readouterr().out
