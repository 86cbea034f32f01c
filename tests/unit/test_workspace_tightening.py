"""What the file of a workspace may say: it tightens, and every attempt at more is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.tightening import Tightening, read_tightening, tightened
from openbuffer.sandbox.settings import SandboxSettings

if TYPE_CHECKING:
    from pathlib import Path

OPEN = SandboxSettings(
    enabled=True,
    network=True,
    allow_write=("/data", "/srv/cache"),
    deny_read=("/k",),
    excluded_commands=("docker", "git"),
    auto_allow=True,
)
CLOSED = SandboxSettings(enabled=True)


def ask(settings: SandboxSettings, **sandbox: Any) -> tuple[SandboxSettings, tuple[str, ...]]:
    return tightened(settings, Tightening(**sandbox))


@pytest.mark.contract("B7", "S7")
@pytest.mark.parametrize(
    ("wanted", "changed"),
    [
        ({"enabled": True}, {}),
        ({"network": False}, {"network": False}),
        ({"auto_allow": False}, {"auto_allow": False}),
        ({"network": True, "auto_allow": True}, {}),
        ({"deny_read": ("/k", "/w")}, {"deny_read": ("/k", "/w")}),
        ({"allow_write": ()}, {"allow_write": ()}),
        ({"allow_write": ("/data/a",)}, {"allow_write": ("/data/a",)}),
        ({"allow_write": ("/srv",)}, {"allow_write": ("/srv/cache",)}),
        ({"allow_write": ("/",)}, {}),
        ({"excluded_commands": ()}, {"excluded_commands": ()}),
        ({"excluded_commands": ("git",)}, {"excluded_commands": ("git",)}),
    ],
)
def test_what_tightens_counts_and_is_not_worth_a_word(wanted: dict[str, Any], changed: dict[str, Any]) -> None:
    from dataclasses import replace

    assert ask(OPEN, **wanted) == (replace(OPEN, **changed), ())


@pytest.mark.contract("B7", "S7")
@pytest.mark.parametrize(
    ("wanted", "key"),
    [
        ({"enabled": False}, "sandbox.enabled = false"),
        ({"network": True}, "sandbox.network = true"),
        ({"auto_allow": True}, "sandbox.auto_allow = true"),
        ({"allow_write": ("/data",)}, "sandbox.allow_write = ['/data']"),
        ({"excluded_commands": ("make",)}, "sandbox.excluded_commands = ['make']"),
    ],
)
def test_what_would_loosen_is_refused_by_its_key_and_the_rest_counts(wanted: dict[str, Any], key: str) -> None:
    settings, refused = ask(CLOSED, **wanted, deny_read=("/w",))
    assert settings == SandboxSettings(enabled=True, deny_read=("/w",))
    assert refused == (f"{key} would loosen the user's settings and does not count",)


@pytest.mark.contract("B7")
def test_whoever_switches_the_sandbox_on_does_not_switch_approvals_off() -> None:
    settings, _ = ask(SandboxSettings(enabled=False, auto_allow=True), enabled=True)
    assert settings == SandboxSettings(enabled=True, auto_allow=False)


@pytest.mark.contract("B7")
def test_a_link_leads_no_further_than_the_user_allows(tmp_path: Path) -> None:
    (tmp_path / "own" / "sub").mkdir(parents=True)
    (tmp_path / "own" / "out").symlink_to("/etc")
    (tmp_path / "own" / "in").symlink_to("sub")
    (tmp_path / "elsewhere").symlink_to("/etc")
    own, out = str(tmp_path / "own"), str(tmp_path / "own" / "out")
    user = SandboxSettings(enabled=True, allow_write=(own,))
    assert ask(user, allow_write=(out,))[0].allow_write == ()
    assert ask(user, allow_write=(f"{own}/in",))[0].allow_write == (f"{own}/sub",)
    led_away = SandboxSettings(enabled=True, allow_write=(str(tmp_path / "elsewhere"),))
    assert ask(led_away, allow_write=("/etc/ssh",))[0].allow_write == ()
    assert ask(led_away, allow_write=led_away.allow_write)[0].allow_write == led_away.allow_write


@pytest.mark.contract("B7")
def test_each_key_is_judged_for_itself(tmp_path: Path) -> None:
    tables = {
        "roots": ["/"],
        "limits": {"file_max_bytes": 1},
        "commands": {"drop_environment": ["PATH"]},
        "log": {"keep": []},
        "colour": "red",
        "sandbox": {"enabled": True, "netwrok": False, "network": "no", "deny_read": ["key"], "allow_write": "x"},
    }
    asked, problems = read_tightening(tables, tmp_path)
    assert asked == Tightening(enabled=True, deny_read=(str(tmp_path / "key"),))
    assert problems == (
        "unknown key colour; known are roots, limits, sandbox, commands, log, permissions",
        "roots is the user's to set, in their own openbuffer.toml",
        "limits is the user's to set, in their own openbuffer.toml",
        "commands is the user's to set, in their own openbuffer.toml",
        "log is the user's to set, in their own openbuffer.toml",
        (
            "unknown key sandbox.netwrok; known are sandbox.enabled, sandbox.network, sandbox.allow_write, "
            "sandbox.deny_read, sandbox.excluded_commands, sandbox.auto_allow"
        ),
        "sandbox.network must be true or false, not 'no'",
        "sandbox.allow_write must be a list of paths, not 'x'",
    )


def test_a_table_that_is_none_is_told(tmp_path: Path) -> None:
    assert read_tightening({"sandbox": 1}, tmp_path) == (Tightening(), ("sandbox must be a table, not 1",))


_PATHS = st.lists(st.sampled_from(["/a", "/a/b", "/a/b/c", "/d", "/d/e", "/", "/ab"]), max_size=3).map(tuple)
_NAMES = st.lists(st.sampled_from(["git", "docker", "make"]), max_size=3).map(tuple)
_MAYBE = st.none() | st.booleans()


@pytest.mark.contract("B7")
@given(
    st.builds(
        SandboxSettings,
        enabled=st.booleans(),
        network=st.booleans(),
        allow_write=_PATHS,
        deny_read=_PATHS,
        excluded_commands=_NAMES,
        auto_allow=st.booleans(),
    ),
    st.builds(
        Tightening,
        enabled=_MAYBE,
        network=_MAYBE,
        auto_allow=_MAYBE,
        deny_read=_PATHS,
        allow_write=st.none() | _PATHS,
        excluded_commands=st.none() | _NAMES,
    ),
)
def test_nothing_that_a_workspace_says_loosens_anything(own: SandboxSettings, asked: Tightening) -> None:
    settings, _ = tightened(own, asked)
    assert settings.enabled >= own.enabled
    assert settings.network <= own.network
    assert (settings.enabled and settings.auto_allow) <= (own.enabled and own.auto_allow)
    assert set(settings.deny_read) >= set(own.deny_read)
    assert set(settings.excluded_commands) <= set(own.excluded_commands)
    for path in settings.allow_write:
        assert any(f"{path}/".startswith(f"{each.rstrip('/')}/") for each in own.allow_write)
