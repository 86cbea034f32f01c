"""Which shell runs the lines: one of the system, never one that the workspace offers (S1)."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from openbuffer.tools.support.shells import Shell, find_shell

if TYPE_CHECKING:
    from pathlib import Path


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.contract("S1")
def test_bash_is_taken_where_there_is_one_and_sh_otherwise() -> None:
    def found(*programs: str) -> Shell:
        return find_shell(["/w"], platform="linux", environment={"PATH": "/bin"}, is_program=programs.__contains__)

    assert found("/bin/bash", "/bin/sh") == Shell(name="bash", program="/bin/bash", system="Linux")
    assert found("/usr/bin/bash", "/bin/sh").program == "/usr/bin/bash"
    assert (found("/bin/sh").name, found("/bin/sh").program) == ("sh", "/bin/sh")
    assert found().program == "/bin/sh", "starting it tells that it is missing"


@pytest.mark.contract("S1")
def test_the_first_of_the_path_is_taken_even_where_the_system_has_one(tmp_path: Path) -> None:
    bash = program(tmp_path / "tools" / "bash")
    found = find_shell([str(tmp_path / "w")], environment={"PATH": f"{tmp_path / 'none'}:{bash.parent}:/bin"})
    assert found.program == os.path.realpath(bash)


@pytest.mark.contract("S1")
def test_a_shell_of_the_workspace_is_passed_over_however_the_path_leads_there(tmp_path: Path) -> None:
    root = tmp_path / "w"
    evil = program(root / "bin" / "bash")
    program(tmp_path / "w-beside" / "sh")
    (tmp_path / "directory link").symlink_to(evil.parent)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "bash").symlink_to(evil)
    (root / "out").symlink_to("/bin")
    (tmp_path / "root link").symlink_to(root)
    ways = [evil.parent, tmp_path / "directory link", tmp_path / "linked", root / "out", tmp_path / "root link" / "bin"]
    environment = {"PATH": ":".join([*map(str, ways), "", ".", "bin"])}
    for given in (root, tmp_path / "root link"):
        found = find_shell([str(given)], environment=environment)
        assert found.program in {"/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh"}


@pytest.mark.contract("S1")
def test_a_neighbour_of_a_root_is_not_inside_it(tmp_path: Path) -> None:
    beside = program(tmp_path / "w-beside" / "bash")
    found = find_shell([str(tmp_path / "w")], environment={"PATH": str(beside.parent)})
    assert found.program == os.path.realpath(beside)


@pytest.mark.contract("S1")
@pytest.mark.parametrize("root", ["/", "/usr", "/bin"])
def test_a_root_that_holds_the_system_leaves_the_shell_of_the_system(root: str) -> None:
    found = find_shell([root], environment={"PATH": "/usr/bin:/bin"})
    assert found.program in {"/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh"}
    assert os.access(found.program, os.X_OK)


@pytest.mark.contract("S1")
@pytest.mark.parametrize("name", ["bash", "sh", "dash"])
@pytest.mark.parametrize("line", ["-x", "--version", "- echo", "-c 'echo no'"])
def test_a_line_that_looks_like_an_option_is_a_line(name: str, line: str) -> None:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    argv = Shell(name=name, program=path, system="Linux").argv(line)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 127, done.stdout + done.stderr
    assert "not found" in done.stderr


POWERSHELL = r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe"
PWSH = r"C:\Program Files\PowerShell\7\pwsh.exe"


def windows(path: str, *programs: str, root: str = r"C:\w", **more: str) -> Shell:
    environment = {"PATH": path, **more}
    return find_shell([root], platform="win32", environment=environment, is_program=programs.__contains__)


@pytest.mark.contract("S1")
def test_on_windows_pwsh_is_taken_where_there_is_one_and_windows_powershell_otherwise() -> None:
    found = windows(r"C:\none;C:\Program Files\PowerShell\7", PWSH)
    assert found == Shell(name="PowerShell (pwsh)", program=PWSH, system="Windows", kind="powershell")
    assert windows(r"C:\none").program == POWERSHELL
    assert windows("", SystemRoot=r"D:\Win").program == POWERSHELL.replace(r"C:\Windows", r"D:\Win")


@pytest.mark.contract("S1")
def test_on_windows_a_pwsh_of_the_workspace_is_passed_over_in_any_case_of_letters() -> None:
    for path in (r"C:\w\bin", r"c:\W\bin", "C:/w/bin", r"C:\x\..\w\bin", r"bin", "", r"\w\bin"):
        everywhere = find_shell(
            [r"C:\w"], platform="win32", environment={"PATH": path}, is_program=lambda program: "pwsh" in program
        )
        assert everywhere.program == POWERSHELL, path


@pytest.mark.contract("S1")
def test_powershell_reads_no_profile_asks_nothing_writes_utf8_and_ends_with_the_exit_code_of_the_last_command() -> None:
    program, *options, script = windows("").argv("git status # a comment")
    assert program == POWERSHELL
    assert options == ["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"]
    before, line, after = script.partition("\ngit status # a comment\n")
    assert line
    assert "OutputEncoding" in before
    assert "UTF8Encoding $false" in before
    assert after == "if ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 }\n"


@pytest.mark.contract("S1")
def test_a_line_is_one_argument_of_powershell_whatever_is_in_it() -> None:
    line = "echo \"a b\"; exit 3\necho 'c'"
    assert line in windows("").argv(line)[-1]
    assert len(windows("").argv(line)) == len(windows("").argv("x"))
