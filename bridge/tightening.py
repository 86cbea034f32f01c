"""What a workspace's own ``openbuffer.toml`` may say: it comes from whoever wrote the repository, so it only tightens.

| key | what counts |
|---|---|
| ``sandbox.enabled`` | true; unless the user has it on as well, no command is allowed without an approval then |
| ``sandbox.network``, ``sandbox.auto_allow`` | false |
| ``sandbox.deny_read`` | its paths, besides the user's |
| ``sandbox.allow_write``, ``sandbox.excluded_commands`` | what of the user's is left: those that are in both |
| ``permissions.deny``, ``permissions.ask`` | their rules, besides the user's |
| all else | nothing: a limit or a variable can be what makes something safe |

Each key is judged for itself. What would loosen and what cannot be understood is told by its name, and the rest counts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from openbuffer.tools.rules.grammar import Source
from openbuffer.tools.rules.reading import rules_from

from . import config_values as values
from .config import FOLDS_PROGRAMS, KEYS, PERMISSIONS, SANDBOX, sandbox_value
from .config_file import CONFIG_NAME
from .config_values import ValueRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from openbuffer.sandbox.settings import SandboxSettings
    from openbuffer.tools.rules.grammar import Rule

_TIGHTENS: Final = frozenset({"sandbox", "permissions"})
_ONLY_YOURS: Final = "is the user's to set, in their own openbuffer.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tightening:
    """What one workspace asks for; None: it says nothing of it. Paths are absolute."""

    enabled: bool | None = None
    network: bool | None = None
    auto_allow: bool | None = None
    deny_read: tuple[str, ...] = ()
    allow_write: tuple[str, ...] | None = None
    excluded_commands: tuple[str, ...] | None = None
    rules: tuple[Rule, ...] = ()


def read_tightening(tables: Mapping[str, Any], base: Path) -> tuple[Tightening, tuple[str, ...]]:
    """What the file says that can count, and a sentence on each key of it that is not understood or never counts."""
    problems = [values.unknown_keys(tables, KEYS)]
    problems += [f"{name} {_ONLY_YOURS}" for name in KEYS if name in tables and name not in _TIGHTENS]
    found: dict[str, Any] = {}
    try:
        sandbox: Mapping[str, Any] = values.table(tables, "sandbox")
    except ValueRefusedError as error:
        sandbox = {}
        problems.append(str(error))
    problems.append(values.unknown_keys(sandbox, SANDBOX, "sandbox."))
    for name in SANDBOX:
        if name in sandbox:
            try:
                found[name] = sandbox_value(name, sandbox[name], base)
            except ValueRefusedError as error:
                problems.append(str(error))
    rules, told = _rules(tables, base)
    return Tightening(**found, rules=rules), tuple(problem for problem in (*problems, *told) if problem)


def _rules(tables: Mapping[str, Any], base: Path) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    try:
        table = values.table(tables, "permissions")
    except ValueRefusedError as error:
        return (), (str(error),)
    problems = [values.unknown_keys(table, PERMISSIONS, "permissions.")]
    if "default" in table:
        problems.append(f"permissions.default {_ONLY_YOURS}")
    lists = {name: value for name, value in table.items() if name in PERMISSIONS and name != "default"}
    source = Source(str(base / CONFIG_NAME), trusted=False)
    read = rules_from(lists, source, folds_programs=FOLDS_PROGRAMS)
    return read.rules, (*problems, *read.problems)


def tightened(settings: SandboxSettings, by: Tightening) -> tuple[SandboxSettings, tuple[str, ...]]:
    """The settings with what the workspace asks for, and a sentence on each of its keys that would loosen them."""
    refused: list[str] = []

    def refuse(key: str, what: str) -> None:
        refused.append(f"sandbox.{key} = {what} would loosen the user's settings and does not count")

    if by.enabled is False and settings.enabled:
        refuse("enabled", "false")
    for key, wanted, allowed in (
        ("network", by.network, settings.network),
        ("auto_allow", by.auto_allow, settings.auto_allow),
    ):
        if wanted and not allowed:
            refuse(key, "true")
    written, unfit = _narrowed_paths(settings.allow_write, by.allow_write)
    if unfit:
        refuse("allow_write", values.shown(list(unfit)))
    excluded, unknown = _narrowed_names(settings.excluded_commands, by.excluded_commands)
    if unknown:
        refuse("excluded_commands", values.shown(list(unknown)))
    on_by_workspace = by.enabled is True and not settings.enabled
    return replace(
        settings,
        enabled=settings.enabled or by.enabled is True,
        network=settings.network and by.network is not False,
        # Whoever switches the sandbox on must not thereby switch off the user's being asked.
        auto_allow=settings.auto_allow and by.auto_allow is not False and not on_by_workspace,
        deny_read=tuple(dict.fromkeys((*settings.deny_read, *by.deny_read))),
        allow_write=written,
        excluded_commands=excluded,
    ), tuple(refused)


def _narrowed_paths(own: tuple[str, ...], wanted: tuple[str, ...] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of both lists the paths that lie in one of the other; and those wanted that lie in none.

    A path of the workspace's is taken as what it really is, for it may be a link that leads out of the user's. One of
    the user's that leads elsewhere is kept where the workspace names the same, and nothing is found to lie in it: a
    command may have put the link there.
    """
    if wanted is None:
        return own, ()
    steady = [path for path in own if os.path.realpath(path) == path]
    kept: list[str] = []
    unfit: list[str] = []
    for path in wanted:
        target = os.path.realpath(path)
        inside = [each for each in own if each == path or (each in steady and _is_in(each, target))]
        if inside:
            kept += inside
        elif any(_is_in(target, each) for each in steady):
            kept.append(target)
        else:
            unfit.append(path)
    return tuple(dict.fromkeys(kept)), tuple(unfit)


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _narrowed_names(own: tuple[str, ...], wanted: tuple[str, ...] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if wanted is None:
        return own, ()
    return tuple(name for name in own if name in wanted), tuple(name for name in wanted if name not in own)
