"""The server's own directories, and what of them is hidden from commands."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from openbuffer.bridge.directories import (
    DirectoryError,
    OwnDirectories,
    create_private,
    hidden_paths,
    own_directories,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_they_are_where_the_xdg_rules_have_them() -> None:
    assert own_directories({"HOME": "/h"}) == OwnDirectories(
        configuration=Path("/h/.config/openbuffer"),
        state=Path("/h/.local/state/openbuffer"),
        runtime=Path("/h/.local/state/openbuffer/run"),
    )
    given = {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r"}
    own = own_directories(given)
    assert (own.config_file, own.state, own.runtime) == (
        Path("/c/openbuffer/openbuffer.toml"),
        Path("/s/openbuffer"),
        Path("/r/openbuffer"),
    )
    assert {"/c", "/c/git/config", "/c/systemd/user"} <= set(own.configurations_of_others())
    assert own.artifacts == Path("/s/openbuffer/artifacts")
    relative = {"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "", "XDG_RUNTIME_DIR": "r"}
    assert own_directories(relative) == own_directories({"HOME": "/h"})


def test_a_home_that_is_no_place_is_told() -> None:
    with pytest.raises(DirectoryError, match="there is no home directory; set HOME"):
        own_directories({"HOME": "here"})


@pytest.mark.contract("S10")
def test_they_are_made_for_the_user_alone(tmp_path: Path) -> None:
    own = own_directories({"HOME": str(tmp_path)})
    (tmp_path / ".local" / "state" / "openbuffer").mkdir(parents=True, mode=0o755)
    own.create()
    own.create()
    assert [mode(path) for path in (own.configuration, own.state, own.runtime)] == [0o700] * 3


def test_a_configuration_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    own = own_directories({"HOME": str(tmp_path)})
    own.configuration.mkdir(parents=True)
    own.configuration.chmod(0o750)
    own.create()
    assert mode(own.configuration) == 0o750


def test_what_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DirectoryError, match=r"file.*cannot be made or closed to others"):
            create_private(path)


def test_a_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(DirectoryError, match="belongs to another user"):
        create_private(tmp_path)


@pytest.mark.contract("S10")
def test_all_of_them_are_hidden_and_the_file_in_use_too(tmp_path: Path) -> None:
    own = own_directories({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    state = str(tmp_path / ".local/state/openbuffer")
    expected = (str(own.configuration), state, str(tmp_path / "run/openbuffer"))
    assert hidden_paths(own) == expected
    assert hidden_paths(own, tmp_path / "mine.toml") == (*expected, str(tmp_path / "mine.toml"))


@pytest.mark.contract("S10")
def test_where_links_lead_is_hidden_too(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "openbuffer.toml").touch()
    own = own_directories({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    own.configuration.mkdir(parents=True)
    own.config_file.symlink_to(tmp_path / "dotfiles" / "openbuffer.toml")
    assert str(tmp_path / "dotfiles" / "openbuffer.toml") in hidden_paths(own)
    own.config_file.unlink()
    own.configuration.rmdir()
    own.configuration.symlink_to(tmp_path / "dotfiles")
    assert {str(own.configuration), str(tmp_path / "dotfiles")} <= set(hidden_paths(own))
