"""``openbuffer config``: each setting with where it comes from; no password, and nothing where it is broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.bridge.commands.cli import main
from openbuffer.bridge.config_keys import KEYS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "openbuffer").mkdir(parents=True)
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


def user(root: Path, text: str) -> Path:
    file = root.parent / "config" / "openbuffer" / "openbuffer.toml"
    file.write_text(text)
    return file


@pytest.mark.contract("X5", "B7")
def test_each_setting_is_shown_with_the_layers_that_it_comes_from(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    file = user(root, '[sandbox]\nenabled = true\nnetwork = true\n[web]\nproxy = "http://me:s3cret@proxy:3128"\n')
    own = root / "openbuffer.toml"
    own.write_text('[sandbox]\nnetwork = false\nauto_allow = true\n[permissions]\ndeny = ["Read(a)"]\n')
    monkeypatch.setenv("OPENBUFFER_LOG_DAYS", "7")
    monkeypatch.setenv("OPENBUFFER_LOG_DAY", "7")
    assert main(["config", "--root", str(root), "--json"]) == 0
    printed = capsys.readouterr().out
    report = json.loads(printed)
    assert set(report["settings"]) == set(KEYS)
    assert {key: said for key, said in report["settings"].items() if said["from"] != ["default"]} == {
        "sandbox.enabled": {"value": True, "from": [str(file)]},
        "sandbox.network": {"value": False, "from": [str(file), str(own)]},
        "log.days": {"value": 7, "from": ["the environment"]},
        "permissions.deny": {"value": ["Read(a)"], "from": [str(own)]},
        "web.proxy": {"value": "http://***@proxy:3128", "from": [str(file)]},
    }
    assert report["warnings"] == [
        "the variable OPENBUFFER_LOG_DAY is none of openbuffer's and has no effect; did you mean OPENBUFFER_LOG_DAYS?",
        f"{own}: sandbox.auto_allow = true would loosen the user's settings and does not count",
    ]
    assert "s3cret" not in printed


def test_for_people_it_is_one_line_for_each_and_what_does_not_count_goes_to_stderr(root: Path, capsys: Any) -> None:
    file = user(root, "[log]\ndays = 7\n")
    (root / "openbuffer.toml").write_text("[log]\ndays = 1\n")
    assert main(["config", "--root", str(root)]) == 0
    printed = capsys.readouterr()
    lines = [line.split("  #") for line in printed.out.splitlines()]
    assert [said.split(" = ")[0] for said, _ in lines] == list(KEYS)
    assert ["log.days = 7", str(file)] in [[said.strip(), origin.strip()] for said, origin in lines]
    assert "log is the user's to set" in printed.err


def test_a_layer_that_cannot_be_used_is_told_instead(root: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    user(root, "[log]\ndays = 0\n")
    assert main(["config", "--root", str(root)]) == 2
    assert "log.days must be a whole number of days, 1 or more, not 0" in capsys.readouterr().err
    user(root, "")
    monkeypatch.setenv("OPENBUFFER_SANDBOX_ENABLED", "yes")
    assert main(["config", "--root", str(root)]) == 2
    assert "the environment: sandbox.enabled must be true or false, not 'yes'" in capsys.readouterr().err
