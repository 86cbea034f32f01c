"""The one precedence of the configuration, and what comes of it.

From the weakest to the strongest, key by key:

1. the defaults (``config_keys``),
2. the user's file, or the one that ``--config`` names,
3. the environment (``OPENBUFFER_SANDBOX_ENABLED``),
4. the editor's settings, where the client says that the user trusts the workspace.

A list or table of a stronger layer replaces that of a weaker one. Rules do not: those of all layers count together, and
deny beats ask beats allow. After that come those who may only tighten (``tightening``), in any order: the editor's
settings where the client does not say that the workspace is trusted, and the file of each root.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.sandbox.settings import SandboxSettings
from openbuffer.tools.adapters.log_settings import LogSettings
from openbuffer.tools.contract import Capability
from openbuffer.tools.rules.session_rules import GivenRules
from openbuffer.tools.support.http_guard_settings import WebSettings

from .config import CommandSettings, Config, SearchSettings
from .config_keys import KEYS, TABLES, Settings
from .config_reading import VERDICT_LISTS
from .tightening import tightened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from openbuffer.tools.rules.grammar import Rule, Verdict

    from .config_reading import Layer

DEFAULT_LAYER: Final = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """The configuration; by key its value and the names of the layers that it comes from; and what would loosen."""

    config: Config
    values: Mapping[str, Any]
    origins: Mapping[str, tuple[str, ...]]
    refused: tuple[str, ...] = ()


def effective(layers: Sequence[Layer], tightening: Sequence[Layer] = ()) -> Effective:
    """What holds by these layers, the strongest last, tightened by the others."""
    values = dict(_defaults())
    origins: dict[str, tuple[str, ...]] = dict.fromkeys(KEYS, (DEFAULT_LAYER,))
    for layer in layers:
        for key in layer.values:
            if key not in VERDICT_LISTS:
                values[key], origins[key] = layer.values[key], (layer.name,)
    refused: list[str] = []
    for layer in tightening:
        result = tightened(values, layer)
        values = dict(result.values)
        origins |= {
            key: (*(name for name in origins[key] if name != DEFAULT_LAYER), layer.name) for key in result.changed
        }
        refused += [f"{layer.name}: {sentence}" for sentence in result.refused]
    rules = tuple(chain.from_iterable(layer.rules for layer in (*layers, *tightening)))
    for key in VERDICT_LISTS:
        values[key], origins[key] = _listed(rules, key.rpartition(".")[2])
    return Effective(
        config=_config(values, rules),
        values=values,
        origins={key: tuple(dict.fromkeys(origins[key])) for key in KEYS},
        refused=tuple(refused),
    )


def _listed(rules: Iterable[Rule], verdict: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    meant = [rule for rule in rules if rule.verdict == verdict]
    return tuple(rule.text for rule in meant), tuple(rule.source.name for rule in meant) or (DEFAULT_LAYER,)


def _config(values: Mapping[str, Any], rules: tuple[Rule, ...]) -> Config:
    def table(name: str) -> dict[str, Any]:
        return {key: values[f"{name}.{key}"] for key in TABLES[name].model_fields}

    log, web, search = table("log"), table("web"), table("search")
    log["keep"] = frozenset(log["keep"])
    without_rules = cast("Mapping[str, Verdict]", values["permissions.default"])
    return Config(
        roots=tuple(Path(root) for root in values["roots"]),
        limits=table("limits"),
        sandbox=SandboxSettings(**table("sandbox")),
        commands=CommandSettings(**table("commands")),
        log=LogSettings(**log),
        permissions=GivenRules(
            rules=rules, without_rules={Capability(name): verdict for name, verdict in without_rules.items()}
        ),
        web=WebSettings(**web) if web.pop("enabled") else None,
        search=SearchSettings(**search) if search.pop("enabled") else None,
    )


def _defaults() -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for key in KEYS:
        table, _, name = key.rpartition(".")
        model = TABLES[table] if table else Settings
        found[key] = model.model_fields[name].get_default(call_default_factory=True)
    return found
