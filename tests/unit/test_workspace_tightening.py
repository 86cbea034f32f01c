"""What a workspace, and the editor of one that nobody trusts, may say: it tightens, and any attempt at more is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.config_editor import read_editor
from openbuffer.bridge.config_keys import KEYS
from openbuffer.bridge.config_layers import effective
from openbuffer.bridge.config_reading import VERDICT_LISTS, Layer
from openbuffer.bridge.editor_settings import EditorSaid
from openbuffer.bridge.tightening import STRICTEST, TIGHTENS, read_tightening, tightened

from .config_desk import NO_LOOSER, VALUES, is_looser, tables_from, tables_of_junk

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS = effective(()).values
OPEN = {
    **DEFAULTS,
    "sandbox.enabled": True,
    "sandbox.network": True,
    "sandbox.allow_write": ("/data", "/srv/cache"),
    "sandbox.deny_read": ("/k",),
    "sandbox.excluded_commands": ("docker", "git"),
    "sandbox.auto_allow": True,
    "web.allowed_hosts": ("localhost:3000", "wiki.corp.example"),
    "web.allowed_ports": (81, 82),
}
CLOSED = {**DEFAULTS, "sandbox.enabled": True, "web.enabled": False, "search.enabled": False}


def ask(own: Mapping[str, Any], **wanted: Any) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    values = {name.replace("_", ".", 1): value for name, value in wanted.items()}
    result = tightened(own, Layer(name="w", values=values))
    assert set(result.changed) == {key for key in KEYS if result.values[key] != own[key]}
    return {key: result.values[key] for key in KEYS if result.values[key] != own[key]}, result.refused


@pytest.mark.contract("B7", "S7")
@pytest.mark.parametrize(
    ("wanted", "changed"),
    [
        ({"sandbox_enabled": True}, {}),
        ({"sandbox_network": False}, {"sandbox.network": False}),
        ({"sandbox_auto_allow": False}, {"sandbox.auto_allow": False}),
        ({"sandbox_network": True, "sandbox_auto_allow": True}, {}),
        ({"sandbox_deny_read": ("/k", "/w")}, {"sandbox.deny_read": ("/k", "/w")}),
        ({"sandbox_allow_write": ()}, {"sandbox.allow_write": ()}),
        ({"sandbox_allow_write": ("/data/a",)}, {"sandbox.allow_write": ("/data/a",)}),
        ({"sandbox_allow_write": ("/srv",)}, {"sandbox.allow_write": ("/srv/cache",)}),
        ({"sandbox_allow_write": ("/",)}, {}),
        ({"sandbox_excluded_commands": ()}, {"sandbox.excluded_commands": ()}),
        ({"sandbox_excluded_commands": ("git",)}, {"sandbox.excluded_commands": ("git",)}),
        ({"web_enabled": False, "search_enabled": False}, {"web.enabled": False, "search.enabled": False}),
        ({"web_enabled": True, "search_enabled": True}, {}),
        ({"web_allowed_hosts": ("localhost:3000",)}, {"web.allowed_hosts": ("localhost:3000",)}),
        ({"web_allowed_ports": (82,)}, {"web.allowed_ports": (82,)}),
    ],
)
def test_what_tightens_counts_and_is_not_worth_a_word(wanted: dict[str, Any], changed: dict[str, Any]) -> None:
    assert ask(OPEN, **wanted) == (changed, ())


@pytest.mark.contract("B7", "S7", "W1")
@pytest.mark.parametrize(
    ("wanted", "key"),
    [
        ({"sandbox_enabled": False}, "sandbox.enabled = false"),
        ({"sandbox_network": True}, "sandbox.network = true"),
        ({"sandbox_auto_allow": True}, "sandbox.auto_allow = true"),
        ({"sandbox_allow_write": ("/data",)}, "sandbox.allow_write = ['/data']"),
        ({"sandbox_excluded_commands": ("make",)}, "sandbox.excluded_commands = ['make']"),
        ({"web_enabled": True}, "web.enabled = true"),
        ({"web_allowed_hosts": ("127.0.0.1",)}, "web.allowed_hosts = ['127.0.0.1']"),
        ({"web_allowed_ports": (22,)}, "web.allowed_ports = [22]"),
        ({"search_enabled": True}, "search.enabled = true"),
    ],
)
def test_what_would_loosen_is_refused_by_its_key_and_the_rest_counts(wanted: dict[str, Any], key: str) -> None:
    changed, refused = ask(CLOSED, **wanted, sandbox_deny_read=("/w",))
    assert changed == {"sandbox.deny_read": ("/w",)}
    assert refused == (f"{key} would loosen the user's settings and does not count",)


@pytest.mark.contract("B7")
def test_whoever_switches_the_sandbox_on_does_not_switch_approvals_off() -> None:
    changed, _ = ask({**DEFAULTS, "sandbox.auto_allow": True}, sandbox_enabled=True)
    assert changed == {"sandbox.enabled": True, "sandbox.auto_allow": False}


@pytest.mark.contract("B7")
def test_a_link_leads_no_further_than_the_user_allows(tmp_path: Path) -> None:
    (tmp_path / "own" / "sub").mkdir(parents=True)
    (tmp_path / "own" / "out").symlink_to("/etc")
    (tmp_path / "own" / "in").symlink_to("sub")
    (tmp_path / "elsewhere").symlink_to("/etc")
    own, out = str(tmp_path / "own"), str(tmp_path / "own" / "out")

    def written(allowed: str, wanted: str) -> Any:
        user = {**CLOSED, "sandbox.allow_write": (allowed,)}
        layer = Layer(name="w", values={"sandbox.allow_write": (wanted,)})
        return tightened(user, layer).values["sandbox.allow_write"]

    assert written(own, out) == ()
    assert written(own, f"{own}/in") == (f"{own}/sub",)
    led_away = str(tmp_path / "elsewhere")
    assert written(led_away, "/etc/ssh") == ()
    assert written(led_away, led_away) == (led_away,)


@pytest.mark.contract("B7")
def test_each_key_is_judged_for_itself(tmp_path: Path) -> None:
    tables = {
        "roots": ["/"],
        "limits": {"file_max_bytes": 1},
        "commands": {"drop_environment": ["PATH"]},
        "log": {"keep": [], "redact": ["("]},
        "colour": "red",
        "web": {"proxy": "http://evil.example", "enabled": "no", "allowed_hosts": []},
        "sandbox": {"enabled": True, "netwrok": False, "network": "no", "deny_read": ["key"], "allow_write": "x"},
    }
    asked = read_tightening(tables, "w", tmp_path)
    assert asked.values == {
        "sandbox.enabled": True,
        "sandbox.deny_read": (str(tmp_path / "key"),),
        "web.allowed_hosts": (),
    }
    assert [problem.sentence.partition(";")[0] for problem in asked.problems] == [
        "unknown key colour",
        "unknown key sandbox.netwrok (did you mean sandbox.network?)",
        "roots is the user's to set, in their own openbuffer.toml",
        "limits is the user's to set, in their own openbuffer.toml",
        "commands is the user's to set, in their own openbuffer.toml",
        "log is the user's to set, in their own openbuffer.toml",
        "web.proxy is the user's to set, in their own openbuffer.toml",
        "sandbox.network must be true or false, not 'no'",
        "sandbox.allow_write must be a list of paths, not 'x'",
        "web.enabled must be true or false, not 'no'",
    ]


def test_a_table_that_is_none_is_told(tmp_path: Path) -> None:
    asked = read_tightening({"sandbox": 1}, "w", tmp_path)
    assert (asked.values, [each.sentence for each in asked.problems]) == ({}, ["sandbox must be a table, not 1"])


def test_each_key_has_an_order_of_strictness_and_what_may_tighten_is_a_key() -> None:
    assert set(NO_LOOSER) == set(KEYS)
    assert set(VALUES) == set(KEYS)
    assert set(TIGHTENS) <= set(KEYS)
    assert set(STRICTEST) <= set(KEYS)


BASE = Path("/w")
OWN = st.fixed_dictionaries({}, optional={key: VALUES[key] for key in KEYS})
"""What the user may have said, key by key."""

SAID = tables_from(OWN) | tables_of_junk()


@pytest.mark.contract("B7", "X5")
@given(own=OWN, said=st.lists(SAID, max_size=3), trusted=st.sampled_from([None, False]))
def test_nothing_that_a_workspace_or_an_editor_without_trust_says_loosens_any_key(
    own: dict[str, Any], said: list[Any], trusted: bool | None
) -> None:
    user = user_layer(own)
    before = effective([user])
    files = [read_tightening(tables, "w", BASE) for tables in said if isinstance(tables, dict)]
    others = [*files, *(read_editor(EditorSaid(tables, trusted), BASE) for tables in said)]
    after = effective([user], others)
    assert [key for key in KEYS if is_looser(key, after.values, before.values)] == []
    assert after.config.permissions.rules[: len(before.config.permissions.rules)] == before.config.permissions.rules
    assert all(rule.verdict != "allow" for layer in others for rule in layer.rules)
    for key in KEYS:
        if key not in {*TIGHTENS, *VERDICT_LISTS}:
            assert after.values[key] == before.values[key], key


@pytest.mark.contract("B7", "X5")
@given(own=OWN, key=st.sampled_from(sorted(STRICTEST)), value=st.just({}) | st.text(max_size=3) | st.floats())
def test_a_value_of_a_trusted_editor_s_that_cannot_be_used_is_no_looser_than_anything(
    own: dict[str, Any], key: str, value: Any
) -> None:
    table, _, name = key.rpartition(".")
    user = user_layer(own)
    after = effective([user, read_editor(EditorSaid({table: {name: value}}, True), BASE)])
    assert not is_looser(key, after.values, effective([user]).values)


def user_layer(values: Mapping[str, Any]) -> Layer:
    """As the user's file would have brought it about."""
    from openbuffer.bridge.config_reading import read_layer

    from .config_desk import nested

    layer = read_layer(nested(values), "user", base=BASE)
    assert not layer.problems
    return layer
