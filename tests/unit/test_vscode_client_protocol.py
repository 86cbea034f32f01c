"""The VS Code extension's ``protocol.ts`` and ``package.json`` say what the bridge does."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired, get_args, get_origin, get_type_hints

import pytest
from openbuffer.bridge import config_keys, protocol
from openbuffer.editor_access import client_requests

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

CLIENT = Path(__file__).parents[2] / "vscode-client"
SOURCE = (CLIENT / "src" / "protocol.ts").read_text(encoding="utf-8")
MODELS: dict[str, Mapping[str, Any]] = {
    name: get_type_hints(value, include_extras=True)
    for module in (protocol, client_requests)
    for name, value in vars(module).items()
    if isinstance(value, type) and hasattr(value, "__required_keys__")
}


def interfaces() -> dict[str, dict[str, tuple[bool, str]]]:
    """By name and member: whether it is optional, and its type as it is written."""
    return {
        name: {
            member: (mark == "?", kind)
            for member, mark, kind in re.findall(r"^  (\w+)(\??): (.*);$", body, re.MULTILINE)
        }
        for name, body in re.findall(r"^export interface (\w+) \{\n(.*?)^\}", SOURCE, re.MULTILINE | re.DOTALL)
    }


def strings(module: ModuleType) -> set[str]:
    values = (value for value in vars(module).values() if isinstance(value, str))
    return {value for value in values if re.fullmatch(r"openbuffer/\w+", value)}


@pytest.mark.contract("B4")
def test_the_extension_knows_every_model_of_the_protocol() -> None:
    assert sorted(interfaces()) == sorted(MODELS)


@pytest.mark.contract("B4")
@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_models_members_are_those_of_the_bridge(model: str) -> None:
    known = {member: is_optional for member, (is_optional, _) in interfaces()[model].items()}
    assert known == {name: get_origin(hint) is NotRequired for name, hint in MODELS[model].items()}


@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_member_that_may_be_null_is_one_in_the_extension(model: str) -> None:
    for member, hint in MODELS[model].items():
        inner = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        assert (type(None) in get_args(inner)) == ("| null" in interfaces()[model][member][1]), member


@pytest.mark.parametrize("model", ["RequestPermissionResult", "AskUserResult"])
def test_the_outcomes_that_it_may_answer_are_those_that_are_taken(model: str) -> None:
    outcome = MODELS[model]["outcome"]
    assert get_origin(outcome) is Literal
    assert set(re.findall(r'"(\w+)"', interfaces()[model]["outcome"][1])) == set(get_args(outcome))


@pytest.mark.contract("B7")
def test_methods_and_version_are_the_bridges() -> None:
    methods = set(re.findall(r'^export const \w+ = "(openbuffer/\w+)";$', SOURCE, re.MULTILINE))
    assert methods == strings(protocol) | strings(client_requests)
    assert f"PROTOCOL_VERSION = {protocol.PROTOCOL_VERSION};" in SOURCE


def test_it_announces_everything_that_can_be_announced() -> None:
    announced = re.search(r"CLIENT_CAPABILITIES: ClientCapabilities = \{\n(.*?)\};", SOURCE, re.DOTALL)
    assert announced is not None
    members = set(re.findall(r"^  (\w+): ", announced[1], re.MULTILINE))
    assert members == set(MODELS["ClientCapabilities"])


@pytest.mark.contract("B4")
def test_the_settings_are_those_of_the_bridge() -> None:
    """Where this fails: ``python vscode-client/scripts/settings.py``, then ``npm run format``."""
    script = CLIENT / "scripts" / "settings.py"
    spec = importlib.util.spec_from_file_location("vscode_client_settings", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert module.with_settings(package) == package


@pytest.mark.contract("B7")
def test_no_setting_of_a_workspace_reaches_the_server() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    names = {name.split(".", 1)[0] for name in config_keys.Settings.model_fields} | {"server"}
    scopes = {
        key: value["scope"]
        for group in package["contributes"]["configuration"]
        for key, value in group["properties"].items()
        if key.split(".")[1] in names and key != "openbuffer.server.autoStart"
    }
    assert scopes
    assert set(scopes.values()) == {"machine"}
    tables = re.search(r"TABLES = \[(.*?)\]", (CLIENT / "src" / "settings.ts").read_text(encoding="utf-8"), re.DOTALL)
    assert tables is not None
    assert set(re.findall(r'"(\w+)"', tables[1])) == set(config_keys.Settings.model_fields)
