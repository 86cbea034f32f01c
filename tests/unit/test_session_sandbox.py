"""The sandbox of a session is looked for when a command needs it, and the tools are put together with it."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.assembly import assemble
from openbuffer.bridge.config import ConfigError
from openbuffer.bridge.directories import own_directories
from openbuffer.bridge.session_sandbox import SessionSandbox
from openbuffer.bridge.settings import LiveSettings
from openbuffer.sandbox.detect import OsSandboxDetection, detect_os_sandbox
from openbuffer.sandbox.errors import SandboxUnavailableError
from openbuffer.sandbox.port import Command, SandboxClient, WrapsCommands

if TYPE_CHECKING:
    from collections.abc import Sequence

MISSING = OsSandboxDetection(available=False, problem="bubblewrap is not installed: install it.")


class Desk:
    """One session's sandbox over a home and a workspace, and how often it looked for one."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "workspace"
        self.root.mkdir()
        self.own = own_directories({"HOME": str(directory / "home")})
        self.own.config_file.parent.mkdir(parents=True)
        self.looked = 0
        self.is_missing = False
        self.command = Command(line="true", cwd=str(self.root), timeout_s=10)

    def configure(self, text: str) -> None:
        self.own.config_file.write_text(text)

    def sandbox(self) -> SessionSandbox:
        settings = LiveSettings(self.own.config_file, [self.root])
        return SessionSandbox([str(self.root)], settings, self.own, lambda: {"PATH": "/bin"}, detect=self._detect)

    def _detect(self, roots: Sequence[str]) -> OsSandboxDetection:
        assert roots == (str(self.root),)
        self.looked += 1
        found = MISSING if self.is_missing else detect_os_sandbox(roots)
        if not self.is_missing and not found.available:
            pytest.skip(found.problem)
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.contract("S7")
def test_a_session_whose_sandbox_is_off_never_looks_for_one_and_makes_nothing(desk: Desk) -> None:
    desk.configure("")
    sandbox = desk.sandbox()
    assert (isinstance(sandbox, WrapsCommands), sandbox.filesystem) == (True, "shared")
    contained = sandbox.containment(desk.command)
    assert (contained.confined, contained.words) == (False, "The sandbox is off.")
    sandbox.close()
    assert (desk.looked, desk.own.state.exists()) == (0, False)


@pytest.mark.contract("S7", "B2", "P2")
def test_a_root_in_whose_place_a_link_is_put_before_the_first_command_confines_nothing_elsewhere(
    desk: Desk, tmp_path: Path
) -> None:
    desk.configure("[sandbox]\nenabled = true\n")
    sandbox = desk.sandbox()
    desk.root.rename(tmp_path / "moved")
    desk.root.symlink_to(tmp_path / "home")
    with pytest.raises(SandboxUnavailableError, match="leads elsewhere than before; open it anew"):
        sandbox.containment(desk.command)
    assert desk.looked == 0
    sandbox.close()


@pytest.mark.contract("S7", "S10")
def test_it_is_looked_for_once_and_the_own_directories_are_made_before_a_command_can(desk: Desk) -> None:
    desk.configure("[sandbox]\nenabled = true\n")
    sandbox = desk.sandbox()
    assert [sandbox.containment(desk.command).confined for _ in range(3)] == [True] * 3
    assert desk.looked == 1
    assert desk.own.state.stat().st_mode & 0o777 == 0o700
    sandbox.close()
    assert not [name for name in os.listdir(desk.own.state) if name.startswith("temporary")]


@pytest.mark.contract("S7")
def test_what_cannot_be_had_is_refused_with_the_fix_and_looked_for_again(desk: Desk) -> None:
    desk.configure("[sandbox]\nenabled = true\n")
    desk.is_missing = True
    sandbox = desk.sandbox()
    for _ in range(2):
        with pytest.raises(SandboxUnavailableError, match="the command was not run: bubblewrap is not installed"):
            sandbox.containment(desk.command)
    desk.is_missing = False
    assert sandbox.containment(desk.command).confined
    assert desk.looked == 3
    sandbox.close()


@pytest.mark.contract("S10")
def test_where_its_own_directories_cannot_be_made_nothing_runs_confined_or_bare(desk: Desk) -> None:
    desk.configure("[sandbox]\nenabled = true\n")
    (desk.own.state.parents[1]).touch()
    with pytest.raises(SandboxUnavailableError, match=r"the command was not run: .*cannot be made or closed to others"):
        desk.sandbox().containment(desk.command)


async def test_it_runs_lines_by_itself_too(desk: Desk) -> None:
    desk.configure("[sandbox]\nenabled = true\n")
    sandbox = desk.sandbox()
    client: SandboxClient = sandbox
    command = Command(line="echo hello >file; cat file; exit 3", cwd=str(desk.root), timeout_s=30)
    result = await client.run(command)
    assert (result.exit_code, result.output) == (3, "hello\n")
    await client.write_file(str(desk.root / "new"), "ü\n")
    assert await client.read_file(str(desk.root / "new")) == "ü\n"
    desk.configure("")
    desk.is_missing = True
    assert (await desk.sandbox().run(command)).exit_code == 3
    sandbox.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SERVICE_TOKEN", "hush")
    monkeypatch.setenv("GREETING", "hello")
    (tmp_path / ".config" / "openbuffer").mkdir(parents=True)
    (tmp_path / "workspace").mkdir()
    return tmp_path


@pytest.mark.contract("X5", "S3")
def test_one_configuration_of_the_tools_comes_of_the_files(home: Path) -> None:
    file = home / ".config" / "openbuffer" / "openbuffer.toml"
    file.write_text("roots = ['~/more']\n[limits]\nfile_max_bytes = 7\n")
    (home / "more").mkdir()
    with ExitStack() as ending:
        config = assemble([home / "workspace"], ending=ending).config
        assert config.roots == (str(home / "workspace"), str(home / "more"))
        assert config.file_max_bytes == 7
        assert isinstance(config.sandbox, SessionSandbox)
        assert callable(config.environment)
        given: Any = config.environment()
        assert (given.get("GREETING"), given.get("SERVICE_TOKEN")) == ("hello", None)
        file.write_text("roots = ['~/more']\n[commands]\npass_environment = ['SERVICE_TOKEN']\n")
        given = config.environment()
        assert given["SERVICE_TOKEN"] == "hush"


def test_a_home_or_a_directory_that_is_no_place_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = home / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="the current directory does not exist any more"):
        assemble([home], ending=ExitStack(), config_file=Path("mine.toml"))
    monkeypatch.setenv("HOME", "here")
    with pytest.raises(ConfigError, match="there is no home directory"):
        assemble([home], ending=ExitStack())
