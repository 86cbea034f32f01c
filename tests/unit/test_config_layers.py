"""The one precedence of the configuration, tried on every key that there is; and each layer read by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.config import CommandSettings, ConfigError
from openbuffer.bridge.config_editor import NAME, read_editor
from openbuffer.bridge.config_keys import KEYS, TABLES
from openbuffer.bridge.config_layers import effective
from openbuffer.bridge.config_reading import VERDICT_LISTS, Layer, read_layer, strict
from openbuffer.bridge.config_variables import VARIABLES, read_variables
from openbuffer.bridge.editor_settings import EditorSaid, EditorSettings
from openbuffer.bridge.environment import command_environment
from openbuffer.bridge.handlers.did_change_configuration import did_change_configuration
from openbuffer.bridge.settings_pull import SettingsPull

from .config_desk import EXAMPLES, nested, tables_of_junk

BASE = Path("/w")


def user(values: dict[str, Any]) -> Layer:
    return strict(read_layer(nested(values), "the file", base=BASE))


def variables(values: dict[str, Any]) -> Layer:
    names = {key: name for name, key in VARIABLES.items()}
    layer, unknown = read_variables({names[key]: json.dumps(value) for key, value in values.items()})
    assert unknown == ()
    return strict(layer)


def editor(values: dict[str, Any], *, trusted: bool | None = True) -> Layer:
    layer = read_editor(EditorSaid(nested(values), trusted), BASE)
    return strict(layer) if trusted else layer


@pytest.mark.contract("X5")
def test_every_key_has_an_example_for_each_layer_and_no_other_has() -> None:
    assert set(EXAMPLES) == set(KEYS)
    assert all(first != second != third for first, second, third in EXAMPLES.values())


@pytest.mark.contract("X5", "B7")
@pytest.mark.parametrize("key", KEYS)
def test_of_every_key_the_stronger_layer_counts_and_what_it_does_not_name_the_weaker_one(key: str) -> None:
    first, second, third = EXAMPLES[key]
    stack = [user({key: first}), variables({key: second}), editor({key: third})]
    names = ["the file", "the environment", NAME]
    read = [layer.values[key] for layer in stack]
    default = effective(()).values[key]
    if key in VERDICT_LISTS:
        assert effective(stack).values[key] == (*first, *second, *third), "rules of all layers count together"
        assert effective(stack).origins[key] == tuple(names)
        return
    assert effective(()).origins[key] == ("default",)
    for count in range(1, 4):
        result = effective(stack[:count])
        assert (result.values[key], result.origins[key]) == (read[count - 1], (names[count - 1],))
        for other in KEYS:
            assert other == key or result.origins[other] == ("default",)
    assert effective([stack[0], Layer(name="e"), Layer(name="t")]).values[key] == read[0]
    assert default != read[0]


@pytest.mark.contract("X5")
def test_a_variable_is_written_as_in_toml_or_json_or_plainly() -> None:
    layer, unknown = read_variables(
        {
            "OPENBUFFER_SANDBOX_ENABLED": "true",
            "OPENBUFFER_SANDBOX_EXCLUDED_COMMANDS": "['docker', 'git']",
            "OPENBUFFER_SEARCH_PROVIDER": "searxng",
            "OPENBUFFER_SEARCH_URL": "http://localhost:8888",
            "OPENBUFFER_LIMITS_FILE_MAX_BYTES": "1_000",
            "OPENBUFFER_PERMISSIONS_DEFAULT": "{ SHELL = 'ask' }",
            "OPENBUFFER_WEB_PROXY": '"http://proxy:1"',
            "OPENBUFFER_LOG": "DEBUG",
            "OPENBUFFER_ACCESS_TOKEN": "t",
            "OPENBUFFER_BENCH_TREES": "x",
            "OPENBUFFER_TEST_ANY": "x",
            "HOME": "/h",
        }
    )
    assert (layer.problems, unknown) == ((), ())
    assert {key: value for key, value in layer.values.items() if key != "permissions.default"} == {
        "sandbox.enabled": True,
        "sandbox.excluded_commands": ("docker", "git"),
        "search.provider": "searxng",
        "search.url": "http://localhost:8888",
        "limits.file_max_bytes": 1000,
        "web.proxy": "http://proxy:1",
    }
    assert layer.values["permissions.default"]["SHELL"] == "ask"


@pytest.mark.contract("X5")
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("SANDBOX_ENABLED", "yes", "sandbox.enabled must be true or false, not 'yes'"),
        ("SANDBOX_ENABLED", "true\nother = 1", "sandbox.enabled must be true or false, not 'true"),
        ("SANDBOX_ENABLED", "", "sandbox.enabled must be true or false, not ''"),
        (
            "SANDBOX_DENY_READ",
            "['key']",
            "sandbox.deny_read: 'key' is relative, and there is nothing that",
        ),
        ("SANDBOX_EXCLUDED_COMMANDS", "docker", "must be a list of names of programs, not 'docker'"),
        ("LOG_DAYS", "[" * 100_000, "log.days must be a whole number of days"),
        ("LOG_DAYS", "9" * 10_000, "log.days must be a whole number of days"),
        ("WEB_MAX_BYTES", "9" * 100_000, "web.max_bytes must be a whole number of bytes"),
    ],
)
def test_a_variable_that_cannot_be_used_is_an_error_that_names_its_key(name: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        strict(read_variables({f"OPENBUFFER_{name}": value})[0])
    assert str(refused.value).startswith("the environment: ")
    assert words in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.contract("X5")
def test_a_variable_that_is_none_of_ours_is_told_with_the_one_that_was_meant() -> None:
    told = read_variables({"OPENBUFFER_SANDBX_ENABLED": "true", "OPENBUFFER_COLOUR": "red"})[1]
    assert told == (
        "the variable OPENBUFFER_COLOUR is none of openbuffer's and has no effect",
        (
            "the variable OPENBUFFER_SANDBX_ENABLED is none of openbuffer's and has no effect; did you mean "
            "OPENBUFFER_SANDBOX_ENABLED?"
        ),
    )


@pytest.mark.contract("S3")
def test_commands_never_get_the_variables_of_the_configuration_nor_the_key_of_searches() -> None:
    environment = {"OPENBUFFER_WEB_PROXY": "http://u:p@h:1", "OPENBUFFER_SANDBOX_ENABLED": "true", "BRAVE_API_KEY": "k"}
    assert command_environment({**environment, "HOME": "/h"}, CommandSettings()) == {"HOME": "/h"}


@pytest.mark.contract("X5", "B7")
def test_a_trusted_editor_s_settings_count_and_one_that_cannot_be_used_is_named_and_has_its_strictest_value() -> None:
    layer = read_editor(
        EditorSaid(
            {
                "sandbox": {"enabled": "true", "network": True, "auto_alow": True, "deny_read": ["key"]},
                "web": [],
                "limits": 7,
                "log": {"days": None},
                "roots": None,
                "colour": 1,
            },
            True,
        ),
        BASE,
    )
    assert layer.values == {"sandbox.enabled": True, "sandbox.network": True, "sandbox.deny_read": ("/w/key",)}
    assert [each.sentence.partition(";")[0] for each in layer.problems] == [
        "unknown key sandbox.auto_alow (did you mean sandbox.auto_allow?)",
        "unknown key colour",
        "limits must be a table, not 7",
        "sandbox.enabled must be true or false, not 'true'",
    ]


HOSTILE: dict[str, Any] = {
    "a list": [1],
    "a text": "x" * 1_000_000,
    "a number": 10**400,
    "many keys": {str(number): number for number in range(50_000)},
    "many unknown keys": {str(number): number for number in range(5_000)},
    "many unknown keys of a table": {"sandbox": {str(number): number for number in range(5_000)}},
    "a long list": {"sandbox": {"deny_read": ["/x"] * 100_000}},
    "a long text": {"sandbox": {"deny_read": ["x" * 10_000_000]}},
    "a long name": {"x" * 100_000: 1},
    "a lone surrogate": {"\ud800": {}, "sandbox": {"deny_read": ["\ud800"]}},
}
DEEP: Any = 1
for _ in range(100_000):
    DEEP = [DEEP]
HOSTILE["deep"] = {"sandbox": {"enabled": DEEP}}


@pytest.mark.contract("B7")
@pytest.mark.parametrize("trusted", [True, False, None])
@pytest.mark.parametrize("kind", HOSTILE)
def test_whatever_an_editor_sends_is_answered_by_few_and_short_words(kind: str, trusted: bool | None) -> None:
    layer = read_editor(EditorSaid(HOSTILE[kind], trusted), BASE)
    assert effective([layer] if trusted else [], [] if trusted else [layer]).config.sandbox.network is False
    if kind != "a lone surrogate":
        assert layer.problems
    assert len(layer.problems) < 30
    assert all(len(problem.sentence) < 800 for problem in layer.problems)


@pytest.mark.contract("B7", "X5")
@given(said=tables_of_junk(), trusted=st.sampled_from([True, False, None]))
def test_nothing_that_an_editor_sends_raises(said: Any, trusted: bool | None) -> None:
    layer = read_editor(EditorSaid(said, trusted), BASE)
    assert set(layer.values) <= set(KEYS)
    assert effective([layer] if trusted else [], [] if trusted else [layer]).values.keys() == set(KEYS)


def not_asked(*_what: object) -> Any:
    raise AssertionError("a client that cannot say its settings is not asked for them")


@pytest.mark.contract("B2")
def test_a_change_of_the_configuration_counts_where_our_section_comes_along() -> None:
    settings = EditorSettings()
    pull = SettingsPull(settings, not_asked, not_asked)
    settings.begin({"log": {"days": 1}}, True)
    before = settings.now()
    for params in (None, [], {}, {"settings": None}, {"settings": []}, {"settings": {}}, {"settings": {"other": 1}}):
        did_change_configuration(settings, pull, params)
        assert settings.now() is before
    did_change_configuration(settings, pull, {"settings": {"openbuffer": {"log": {"days": 2}}}})
    assert settings.now() == EditorSaid({"log": {"days": 2}}, True)
    did_change_configuration(settings, pull, {"settings": {"openbuffer": None}})
    assert settings.now() == EditorSaid(None, True)


def test_tables_are_those_that_are_documented() -> None:
    assert list(TABLES) == ["limits", "sandbox", "commands", "log", "permissions", "web", "search"]
