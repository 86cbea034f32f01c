"""One layer of the configuration, read: what it says, and what of it cannot be used.

A layer is the user's file (TOML, or JSON with the same keys), the environment, the editor's settings or a workspace's
file. The keys are in ``config_keys``. The user's own layers are read strictly where they are files or variables: a key
that is not known is an error, because a limit with a spelling mistake must not look as if it were in force. The others
leniently: each key is judged for itself, what is wrong is told, and the rest counts.
"""

from __future__ import annotations

import difflib
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.tools.rules.grammar import Source
from openbuffer.tools.rules.reading import rules_from
from pydantic import ValidationError

from .config import ConfigError
from .config_file import ConfigFileError, parse
from .config_keys import KEYS, TABLES, Settings
from .config_values import Place, ValueRefusedError, shown, shown_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from openbuffer.tools.rules.grammar import Rule

FOLDS_PROGRAMS: Final = sys.platform in {"darwin", "win32"}
"""Whether the names of programs are found here whatever their case."""

VERDICT_LISTS: Final = ("permissions.deny", "permissions.ask", "permissions.allow")

_TOLD_MAX: Final = 20
"""Of the keys of one layer that are wrong; a sentence tells that there are more."""

_NO_KEYS: Final[Mapping[str, str]] = {
    f"search.{name}": "is no setting: a key in a file is read by every program and ends up in repositories; put it "
    "into the variable BRAVE_API_KEY of the environment that the server is started in"
    for name in ("key", "api_key", "apiKey", "token", "brave_api_key")
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something does not count: a sentence on it, and the key where it is one that is known."""

    sentence: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What one place says. ``values`` has the keys that it names, by their whole names; ``name`` is for people.

    ``rules`` are those of its ``permissions``, one for each list that could not be read as a whole among them.
    ``problems`` are what cannot be used, ``told`` the entries that are no rules, which spoil nothing else.
    """

    name: str
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rules: tuple[Rule, ...] = ()
    problems: tuple[Problem, ...] = ()
    told: tuple[str, ...] = ()


def parse_layer(file: Path, content: bytes) -> Layer:
    """The user's file.

    Raises:
        ConfigError: it cannot be used.
    """
    try:
        tables = tables_of(file, content)
    except ConfigFileError as error:
        raise ConfigError(f"{file}: {error}") from None
    return strict(read_layer(tables, str(file), base=file.absolute().parent))


def strict(layer: Layer) -> Layer:
    """The same layer where all of it can be used.

    Raises:
        ConfigError: something of it cannot.
    """
    if layer.problems:
        raise ConfigError(f"{layer.name}: {'; '.join(problem.sentence for problem in layer.problems)}")
    return layer


def tables_of(file: Path, content: bytes) -> Mapping[str, Any]:
    """The tables of a file by its content, where its name does not tell (``/dev/fd/63``).

    Raises:
        ConfigFileError: it is neither TOML nor JSON.
    """
    return parse(content, is_json=True if file.suffix == ".json" else None)


def read_layer(
    tables: Mapping[str, Any],
    name: str,
    *,
    base: Path | None,
    trusted: bool = True,
    only: Collection[str] | None = None,
) -> Layer:
    """Read what a layer says; nothing is raised. Relative paths start at ``base``.

    Where ``only`` is given, other keys are not looked at, and each is told to be the user's to set. None for a value is
    a key that is not named. What is not ``trusted`` has no rules that allow.
    """
    wrong = _Problems()
    found = _known(tables, wrong, only)
    values: dict[str, Any] = {}
    try:
        read = Settings.model_validate(_nested(found), context=Place(base))
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False):
            key = ".".join(str(part) for part in each["loc"][:2])
            cause = each.get("ctx", {}).get("error")
            found.pop(key, None)
            wrong.add(cause.of(key) if isinstance(cause, ValueRefusedError) else f"{key}: {each['msg']}", key)
        read = Settings.model_validate(_nested(found), context=Place(base))
    for key in found:
        table, _, rest = key.rpartition(".")
        values[key] = getattr(getattr(read, table) if table else read, rest)
    lists = {key.rpartition(".")[2]: value for key, value in found.items() if key in VERDICT_LISTS}
    rules = rules_from(lists, Source(name, trusted=trusted), folds_programs=FOLDS_PROGRAMS)
    return Layer(name=name, values=values, rules=rules.rules, problems=wrong.told(), told=rules.problems)


def _known(tables: Mapping[str, Any], wrong: _Problems, only: Collection[str] | None) -> dict[str, Any]:
    """The values of keys that are known, by their whole names."""
    found: dict[str, Any] = {}
    for name, value in tables.items():
        if name not in Settings.model_fields:
            wrong.unknown(name)
        elif only is not None and not any(key.split(".")[0] == name for key in only):
            wrong.add(f"{name} {_ONLY_YOURS}")
        elif value is None:
            continue
        elif name not in TABLES:
            found[name] = value
        elif not isinstance(value, dict):
            wrong.add(f"{name} must be a table, not {shown(value)}")
        else:
            for key, each in cast("dict[str, Any]", value).items():
                whole = f"{name}.{key}"
                if key not in TABLES[name].model_fields:
                    wrong.unknown(key, name)
                elif only is not None and whole not in only:
                    wrong.add(f"{whole} {_ONLY_YOURS}")
                elif each is not None:
                    found[whole] = each
    return found


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    tables: dict[str, Any] = defaultdict(dict[str, Any])
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        if table:
            tables[table][name] = value
        else:
            tables[name] = value
    return dict(tables)


class _Problems:
    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._unknown: list[str] = []
        self._count = 0

    def add(self, sentence: str, key: str = "") -> None:
        self._found.append(Problem(sentence, key))

    def unknown(self, name: str, table: str = "") -> None:
        self._count += 1
        if self._count <= _TOLD_MAX:
            self._unknown.append(unknown_key(name, table))

    def told(self) -> tuple[Problem, ...]:
        more = [f"{self._count - _TOLD_MAX} more keys are not known"] if self._count > _TOLD_MAX else []
        return (*(Problem(sentence) for sentence in (*self._unknown, *more)), *self._found)


def unknown_key(name: str, table: str = "") -> str:
    """The sentence on a key that nobody knows: a key that is misspelt has no effect."""
    whole = f"{table}.{name}" if table else name
    if whole in _NO_KEYS:
        return f"{whole} {_NO_KEYS[whole]}"
    here = [f"{table}.{key}" for key in TABLES[table].model_fields] if table else list(Settings.model_fields)
    elsewhere = [key for key in KEYS if key.rpartition(".")[2] == name]
    near = elsewhere[0] if elsewhere else nearest(whole, here) or nearest(whole, KEYS)
    hint = f" (did you mean {near}?)" if near else ""
    return f"unknown key {shown_key(whole)}{hint}; known are {', '.join(here)}"


def nearest(name: str, known: Iterable[str]) -> str:
    """The name that was most likely meant, empty where none is near."""
    given = name[:_NAME_MAX_CHARS].casefold()
    by_folded = {each.casefold(): each for each in known}
    return next((by_folded[found] for found in difflib.get_close_matches(given, by_folded, n=1, cutoff=0.7)), "")


_NAME_MAX_CHARS: Final = 100
_ONLY_YOURS: Final = "is the user's to set, in their own openbuffer.toml"
