# ruff: noqa: INP001  # a script beside a package of another language, and no module of one
"""Writes the server's settings into the extension's ``package.json``, made of ``bridge/config_keys.py``.

``python vscode-client/scripts/settings.py``, in an environment that has openbuffer. A test tells when it was forgotten.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from openbuffer.bridge.config_keys import TABLES, Settings

PACKAGE = Path(__file__).resolve().parent.parent / "package.json"
KEPT_OF_SCHEMA = ("type", "items", "enum", "additionalProperties", "default")
FIRST_ORDER = 10

# What a schema in JSON cannot say of a value that is one word or several.
FURTHER: dict[str, dict[str, Any]] = {
    "openbuffer.permissions.default": {
        "type": ["string", "object"],
        "additionalProperties": {"type": "string", "enum": ["allow", "ask", "deny"]},
        "default": "allow",
    },
    "openbuffer.log.keep": {
        "items": {"type": "string", "enum": ["observations", "rejections", "results", "before_states"]},
        "uniqueItems": True,
    },
}


def groups() -> list[dict[str, Any]]:
    """The groups of settings, one for each table, those without a table first."""
    single = [name for name in Settings.model_fields if name not in TABLES]
    own = {"title": "Files", "order": FIRST_ORDER, "properties": _properties(Settings.model_json_schema(), "", single)}
    return [own, *(_group(name, number) for number, name in enumerate(TABLES, FIRST_ORDER + 1))]


def with_settings(package: dict[str, Any]) -> dict[str, Any]:
    """The package with the server's settings in the place of those that it has."""
    names = {name.split(".", 1)[0] for name in Settings.model_fields}
    contributes = package["contributes"]
    others = [group for group in contributes["configuration"] if not _is_of(group, names)]
    return {**package, "contributes": {**contributes, "configuration": [*others, *groups()]}}


def setting_name(key: str) -> str:
    """``allow_write`` as VS Code has names: ``allowWrite``. ``src/settings.ts`` turns it back."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), key)


def _group(name: str, order: int) -> dict[str, Any]:
    table = TABLES[name]
    properties = _properties(table.model_json_schema(), f"{name}.", list(table.model_fields))
    return {"title": name.capitalize(), "order": order, "properties": properties}


def _properties(schema: dict[str, Any], prefix: str, keys: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for order, key in enumerate(keys, 1):
        name = f"openbuffer.{prefix}{setting_name(key)}"
        made[name] = _property(schema["properties"][key], f"{prefix}{key}", order) | FURTHER.get(name, {})
    return made


def _property(schema: dict[str, Any], key: str, order: int) -> dict[str, Any]:
    one_of = [kind["type"] for kind in schema.get("anyOf", [])]
    kept = {name: schema[name] for name in KEPT_OF_SCHEMA if name in schema} | ({"type": one_of} if one_of else {})
    meaning: str = schema["description"]
    text = f"{meaning[0].upper()}{meaning[1:]}. (`{key}` in the server's file, which counts where nothing is set here.)"
    # A repository must not loosen anything, so that its settings are none of these.
    return {**kept, "scope": "machine", "order": order, "markdownDescription": text}


def _is_of(group: dict[str, Any], names: set[str]) -> bool:
    return all(key.split(".")[1] in names for key in group["properties"])


if __name__ == "__main__":
    written = with_settings(json.loads(PACKAGE.read_text(encoding="utf-8")))
    PACKAGE.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
