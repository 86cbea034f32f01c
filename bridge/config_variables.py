"""The configuration's layer in the environment: ``OPENBUFFER_<TABLE>_<KEY>``.

``OPENBUFFER_SANDBOX_ENABLED=true`` is one. A value is written as in TOML, or as JSON; a text may stand without quotes.
Paths are absolute or begin with ``~/``: where the server was started says nothing. The variables are those of the
server's start, and are read once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from .config_file import ConfigFileError, parse
from .config_keys import KEYS
from .config_reading import Layer, nearest, read_layer

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "OPENBUFFER_"

VARIABLES: Final[Mapping[str, str]] = {f"{PREFIX}{key.replace('.', '_').upper()}": key for key in KEYS}
"""The name of each variable to the key that it is for."""

_OTHERS: Final = frozenset({"OPENBUFFER_LOG", "OPENBUFFER_ACCESS_TOKEN"})
_OF_TESTS: Final = ("OPENBUFFER_BENCH_", "OPENBUFFER_TEST_", "OPENBUFFER_SEARXNG_")

VALUE_MAX_CHARS: Final = 64 * 1024


def read_variables(environment: Mapping[str, str]) -> tuple[Layer, tuple[str, ...]]:
    """The layer, and a sentence on each variable that has our prefix and is none of ours."""
    tables: dict[str, Any] = {}
    for name, key in VARIABLES.items():
        if name in environment:
            table, _, rest = key.rpartition(".")
            (tables.setdefault(table, {}) if table else tables)[rest] = _value(environment[name])
    unknown = tuple(_unknown(name) for name in sorted(environment) if _is_unknown(name))
    return read_layer(tables, "the environment", base=None), unknown


def _value(text: str) -> Any:
    """What the text is in TOML, else in JSON, else the text itself, which the key then judges."""
    if len(text) <= VALUE_MAX_CHARS and not text.isspace():
        try:
            document = parse(f"value = {text}".encode("utf-8", "surrogateescape"), is_json=False)
            if list(document) == ["value"]:  # a value with a line break could say more
                return document["value"]
        except ConfigFileError:
            pass
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text


def _is_unknown(name: str) -> bool:
    return name.startswith(PREFIX) and name not in VARIABLES and name not in _OTHERS and not name.startswith(_OF_TESTS)


def _unknown(name: str) -> str:
    near = nearest(name.removeprefix(PREFIX), [known.removeprefix(PREFIX) for known in VARIABLES])
    hint = f"; did you mean {PREFIX}{near}?" if near else ""
    return f"the variable {name[:100]} is none of openbuffer's and has no effect{hint}"
