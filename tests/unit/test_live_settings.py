"""Settings are looked at before every command, and nothing that goes wrong with a file loosens them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from openbuffer.bridge import settings_layers
from openbuffer.bridge.config import ConfigError
from openbuffer.bridge.config_file import Reading
from openbuffer.bridge.editor_settings import EditorSaid, EditorSettings
from openbuffer.bridge.settings import LiveSettings
from openbuffer.sandbox.settings import SandboxSettings

LONG_AGO_S = 1_000_000_000


class Desk:
    """The user's file, a workspace with its own, and what was told."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "config" / "openbuffer.toml"
        self.root = directory / "workspace"
        self.own = self.root / "openbuffer.toml"
        self.told: list[str] = []
        self.file.parent.mkdir()
        self.root.mkdir()

    def user(self, text: str) -> None:
        write(self.file, text)

    def workspace(self, text: str) -> None:
        write(self.own, text)

    def open(self, **options: Any) -> LiveSettings:
        return LiveSettings(self.file, [self.root], tell=self.told.append, **options)


def write(file: Path, text: str) -> None:
    file.write_text(text)
    os.utime(file, (LONG_AGO_S, LONG_AGO_S))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_without_files_nothing_is_confined_and_nothing_is_told(desk: Desk) -> None:
    settings = desk.open()
    assert settings.sandbox() == SandboxSettings()
    assert (settings.warnings, desk.told) == ((), [])


@pytest.mark.contract("S7")
def test_a_change_counts_from_the_next_look_on_whatever_its_time_and_size(desk: Desk) -> None:
    desk.user("[sandbox]\nenabled = true \n")
    settings = desk.open()
    assert settings.sandbox().enabled
    desk.user("[sandbox]\nenabled = false\n")
    assert not settings.sandbox().enabled
    desk.workspace("[sandbox]\nenabled = true\n")
    assert settings.sandbox().enabled
    desk.own.unlink()
    assert not settings.sandbox().enabled
    desk.user("[commands]\npass_environment = ['GH_TOKEN']\n")
    assert settings.commands().pass_environment == ("GH_TOKEN",)
    assert desk.told == []


def test_what_did_not_change_is_not_parsed_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.user("[sandbox]\nenabled = true\n")
    desk.workspace("[sandbox]\nnetwork = false\n")
    settings = desk.open()
    monkeypatch.setattr(settings_layers, "parse_layer", None)
    monkeypatch.setattr(settings_layers, "tables_of", None)
    assert settings.sandbox() is settings.sandbox()


@pytest.mark.contract("B7", "S7")
def test_what_a_workspace_would_loosen_is_told_once(desk: Desk) -> None:
    desk.user("[sandbox]\nenabled = true\n")
    desk.workspace("[sandbox]\nenabled = false\nnetwork = true\ndeny_read = ['key']\n")
    settings = desk.open()
    for _ in range(3):
        assert settings.sandbox() == SandboxSettings(enabled=True, deny_read=(str(desk.root / "key"),))
    ending = "would loosen the user's settings and does not count"
    assert desk.told == [f"{desk.own}: sandbox.{key} {ending}" for key in ("enabled = false", "network = true")]
    assert settings.warnings == tuple(desk.told)


@pytest.mark.contract("B7")
def test_every_root_tightens(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    write(tmp_path / "more" / "openbuffer.toml", "[sandbox]\nauto_allow = false\n")
    desk.user("roots = ['../more']\n[sandbox]\nenabled = true\nnetwork = true\nauto_allow = true\n")
    desk.workspace("[sandbox]\nnetwork = false\n")
    settings = desk.open()
    assert settings.first.roots == (desk.file.parent / "../more",)
    assert settings.sandbox() == SandboxSettings(enabled=True)


def broken_files(file: Path) -> dict[str, Any]:
    """Ways to spoil a file; each leaves something else at its name."""
    return {
        "not TOML": lambda: write(file, "[sandbox\n"),
        "not UTF-8 text": lambda: file.write_bytes(b"\xff"),
        "a directory": lambda: (file.unlink(), file.mkdir()),
        "a FIFO": lambda: (file.unlink(), os.mkfifo(file)),
        "bytes; that is no configuration file": lambda: write(file, "#" * (1024 * 1024 + 1)),
    }


BROKEN = list(broken_files(Path("x")))


@pytest.mark.contract("B7", "S7")
@pytest.mark.parametrize("way", [*BROKEN, "a link"])
def test_a_workspace_file_that_is_spoilt_loosens_nothing_and_is_told(desk: Desk, tmp_path: Path, way: str) -> None:
    desk.user("[sandbox]\nenabled = true\nnetwork = true\n")
    desk.workspace("[sandbox]\nnetwork = false\n")
    settings = desk.open()
    before = settings.sandbox()
    assert before == SandboxSettings(enabled=True)
    link = {"a link": lambda: (desk.own.unlink(), desk.own.symlink_to(tmp_path / "evil.toml"))}
    {**broken_files(desk.own), **link}[way]()
    assert settings.sandbox() == before
    (sentence,) = desk.told
    assert sentence.startswith(f"{desk.own}: is ")
    assert way in sentence
    assert sentence.endswith("; it does not count, the user's settings, and what it asked for before, do")
    fresh = desk.open()
    assert fresh.sandbox() == SandboxSettings(enabled=True, network=True)
    assert fresh.warnings[0].endswith("; it does not count, the user's settings do")


@pytest.mark.contract("B7")
def test_what_is_understood_of_a_workspace_file_counts_beside_what_it_asked_for_before(desk: Desk) -> None:
    desk.user("[sandbox]\nenabled = true\nnetwork = true\nauto_allow = true\n")
    desk.workspace("[sandbox]\nnetwork = false\n")
    settings = desk.open()
    desk.workspace("[sandbox]\nnetwork = 'no'\nauto_allow = false\n")
    assert settings.sandbox() == SandboxSettings(enabled=True)
    assert desk.told == [f"{desk.own}: sandbox.network must be true or false, not 'no'"]
    desk.workspace("")
    assert settings.sandbox() == SandboxSettings(enabled=True, network=True, auto_allow=True)


def editor(desk: Desk, trusted: bool | None, **said: Any) -> tuple[LiveSettings, EditorSettings]:
    told = EditorSettings(EditorSaid(said, trusted))
    return desk.open(editor=told), told


@pytest.mark.contract("X5", "B7")
def test_an_editor_in_a_trusted_workspace_counts_over_the_file_and_follows_what_it_says(desk: Desk) -> None:
    desk.user("[sandbox]\nenabled = true\ndeny_read = ['/k']\n")
    settings, told = editor(desk, True, sandbox={"enabled": False, "deny_read": ["/e"]})
    assert settings.sandbox() == SandboxSettings(deny_read=("/e",))
    mark = settings.mark()
    told.changed({"sandbox": {"network": True}})
    assert settings.mark() != mark
    assert settings.sandbox() == SandboxSettings(enabled=True, network=True, deny_read=("/k",))
    desk.workspace("[sandbox]\nnetwork = false\n")
    assert settings.sandbox() == SandboxSettings(enabled=True, deny_read=("/k",))
    assert settings.effective().origins["sandbox.network"] == ("the editor's settings", str(desk.own))
    assert desk.told == []


@pytest.mark.contract("X5", "B7")
def test_what_a_trusted_editor_says_that_turns_bad_loosens_nothing(desk: Desk) -> None:
    settings, told = editor(desk, True, sandbox={"enabled": True, "deny_read": ["/e"]}, permissions={"default": "ask"})
    told.changed({"sandbox": {"enabled": "yes", "deny_read": "/e", "network": 1}, "permissions": {"default": 1}})
    assert settings.sandbox() == SandboxSettings(enabled=True, deny_read=("/e",))
    assert set(settings.permissions().without_rules.values()) == {"deny"}  # type: ignore[union-attr]  # a mapping here
    assert len(desk.told) == 4
    told.changed("nothing")
    assert settings.sandbox() == SandboxSettings(enabled=True, deny_read=("/e",))
    assert desk.told[-1].endswith("what they said before holds until that is put right")
    told.changed({})
    assert settings.sandbox() == SandboxSettings()


@pytest.mark.contract("X5", "B7")
@pytest.mark.parametrize("trusted", [False, None])
def test_an_editor_without_trust_tightens_and_what_it_asked_for_holds_while_it_is_not_understood(
    desk: Desk, trusted: bool | None
) -> None:
    desk.user("[sandbox]\nnetwork = true\nauto_allow = true\nenabled = true\n")
    settings, told = editor(desk, trusted, sandbox={"network": False, "enabled": False})
    assert settings.sandbox() == SandboxSettings(enabled=True, auto_allow=True)
    told.changed({"sandbox": {"network": "no", "auto_allow": False}})
    assert settings.sandbox() == SandboxSettings(enabled=True)
    told.changed(None)
    assert settings.sandbox() == SandboxSettings(enabled=True, network=True, auto_allow=True)
    assert [sentence.partition(": ")[2] for sentence in desk.told] == [
        "sandbox.enabled = false would loosen the user's settings and does not count",
        "sandbox.network must be true or false, not 'no'",
    ]


@pytest.mark.contract("X5")
def test_the_environment_counts_from_the_start_and_one_that_cannot_be_used_is_an_error(desk: Desk) -> None:
    desk.user("[sandbox]\nnetwork = true\n")
    settings = desk.open(variables={"OPENBUFFER_SANDBOX_NETWORK": "false", "OPENBUFFER_SANDBOX_ENABLED": "true"})
    assert settings.sandbox() == SandboxSettings(enabled=True)
    with pytest.raises(ConfigError, match=r"the environment: sandbox\.enabled must be true or false"):
        desk.open(variables={"OPENBUFFER_SANDBOX_ENABLED": "1"})


@pytest.mark.contract("S7")
@pytest.mark.parametrize("way", [*BROKEN, "not there any more"])
def test_the_users_file_that_is_spoilt_keeps_what_it_said_and_that_is_told(desk: Desk, way: str) -> None:
    desk.user("[sandbox]\nenabled = true\n[commands]\ndrop_environment = ['EDITOR']\n")
    settings = desk.open()
    {**broken_files(desk.file), "not there any more": desk.file.unlink}[way]()
    assert settings.sandbox() == SandboxSettings(enabled=True)
    assert settings.commands().drop_environment == ("EDITOR",)
    (sentence,) = desk.told
    assert sentence.startswith(f"{desk.file}: is ")
    assert way in sentence
    assert sentence.endswith("; the settings that it had before hold until that is put right")


@pytest.mark.contract("S7")
def test_of_a_users_file_with_one_wrong_key_what_is_stricter_counts(desk: Desk) -> None:
    desk.user("[sandbox]\nnetwork = true\ndeny_read = ['/k']\n")
    settings = desk.open()
    desk.user("[sandbox]\nenabled = true\nnetwork = true\nauto_allow = true\ndenyread = []\n")
    assert settings.sandbox() == SandboxSettings(enabled=True, network=True, deny_read=("/k",))
    assert len(desk.told) == 1
    desk.user("[sandbox]\nenabled = true\nauto_allow = true\n")
    assert settings.sandbox() == SandboxSettings(enabled=True, auto_allow=True)
    assert settings.warnings == ()


@pytest.mark.contract("S7")
@pytest.mark.parametrize("way", BROKEN)
def test_without_anything_good_to_keep_there_are_no_settings_at_all(desk: Desk, way: str) -> None:
    desk.user("")
    broken_files(desk.file)[way]()
    with pytest.raises(ConfigError, match=way):
        desk.open()


def test_a_file_that_was_named_has_to_be_there(desk: Desk) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read \(No such file or directory\); check --config"):
        desk.open(is_named=True)


def test_the_users_file_in_the_workspace_is_not_a_workspaces_file(desk: Desk) -> None:
    desk.workspace("[sandbox]\nenabled = true\nnetwork = true\n")
    settings = LiveSettings(desk.own, [desk.root], is_named=True, tell=desk.told.append)
    assert settings.sandbox() == SandboxSettings(enabled=True, network=True)
    assert desk.told == []


@pytest.mark.contract("S7")
def test_a_file_that_is_being_saved_is_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor empties the file and fills it again, or takes it away and puts another there."""
    monkeypatch.setattr(settings_layers, "SETTLED_S", 0.001)
    whole, more = Reading(b"[sandbox]\nenabled = true\n"), Reading(b"[sandbox]\nenabled = true\nnetwork = true\n")
    for moment in (Reading(b""), Reading(), Reading(b"[sandbox]\n")):
        desk.file.touch()
        os.utime(desk.file)
        monkeypatch.setattr(settings_layers, "_is_old", lambda *_: False)
        readings = iter([whole, whole, whole, moment, more, more])
        settings = desk.open(read=lambda _file, readings=readings: next(readings))
        assert settings.sandbox() == SandboxSettings(enabled=True, network=True)
    assert desk.told == []


def test_a_file_that_never_holds_still_is_taken_in_the_end(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_layers, "SETTLED_S", 0.0001)
    monkeypatch.setattr(settings_layers, "_is_old", lambda *_: False)
    texts = (Reading(b"#" * length) for length in range(1000))
    assert desk.open(read=lambda _file: next(texts)).sandbox() == SandboxSettings()


@pytest.mark.contract("B7", "B2", "S7")
def test_with_other_roots_what_layers_said_when_they_were_good_holds_on(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    said = EditorSettings(EditorSaid({"sandbox": {"deny_read": ["secret"]}}, trusted=True))
    desk.user("[sandbox]\nenabled = true\nauto_allow = true\n")
    desk.workspace("[sandbox]\nauto_allow = false\n")
    before = desk.open(editor=said)
    assert before.sandbox() == SandboxSettings(enabled=True, deny_read=(str(desk.root / "secret"),))
    desk.user("[sandbox\n")
    desk.workspace("[sandbox\n")
    said.changed("no settings at all")
    assert before.sandbox() == SandboxSettings(enabled=True, deny_read=(str(desk.root / "secret"),))
    told = list(desk.told)
    after = LiveSettings(desk.file, [other, desk.root], tell=desk.told.append, editor=said, before=before)
    assert after.sandbox() == before.sandbox(), "nothing is loosened because the folders are others"
    assert desk.told == told, "what was told is not told again"
    said.changed({"sandbox": {"deny_read": ["secret"]}})
    assert after.sandbox().deny_read == (str(other / "secret"),), "relative paths start at the first root"
    alone = LiveSettings(desk.file, [other], tell=desk.told.append, editor=said, before=after)
    assert alone.sandbox().auto_allow, "the file of a folder that is closed says nothing any more"


@pytest.mark.contract("B7", "B2")
def test_an_answer_of_null_is_no_word_and_trust_changes_by_itself(desk: Desk) -> None:
    said = EditorSettings(EditorSaid({"sandbox": {"network": True}}, trusted=False))
    desk.user("[sandbox]\nenabled = true\n")
    settings = desk.open(editor=said)
    assert not settings.sandbox().network
    said.trust_changed(True)
    assert settings.sandbox().network
    said.pulled(None)
    assert settings.sandbox().network
    said.pulled({"sandbox": {"network": False}})
    assert not settings.sandbox().network
    said.pulled(None)
    assert settings.sandbox().network, "what was said without being asked for holds again"
    said.trust_changed(False)
    assert not settings.sandbox().network
