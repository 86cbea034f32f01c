"""The configuration: the user's file as data. TOML, or JSON with the same keys.

The file is ``openbuffer.toml`` in the user's configuration directory (``$XDG_CONFIG_HOME/openbuffer``, else
``~/.config/openbuffer``), or the one that ``--config`` names instead. Every key, with its default::

    roots = []                       # further roots

    [limits]
    file_max_bytes = 268435456       # Read and Edit admit a file up to this size
    read_output_max_bytes = 1048576  # the formatted output of one Read

    [sandbox]
    enabled = false                  # commands are confined, or not run at all
    network = false                  # confined commands have a network
    allow_write = []                 # what they may write besides the workspace and temporary files
    deny_read = []                   # what they may not read
    excluded_commands = []           # programs by name that run unconfined, where a line runs nothing else
    auto_allow = false               # a confined command needs no approval

    [commands]
    pass_environment = []            # variables that commands get although they look like credentials: names, or NAME_*
    drop_environment = []            # further variables that they do not get

    [log]
    keep = ["observations", "rejections", "results", "before_states"]  # besides what acts, which is always kept
    days = 30                        # how long a call, and the output of a command, is kept
    max_bytes = 536870912            # then the oldest calls go
    redact = []                      # regular expressions; what they match is not kept

    [permissions]
    deny = []                        # rules; how they are written is said in docs/rules.md
    ask = []
    allow = []
    default = "allow"                # what happens without a rule; or by capability: { SHELL = "ask", ... }

What paths may look like is said in ``config_values``. A key that is not known is an error: a limit with a spelling
mistake must not look as if it were in force. What a workspace's own file may say is in ``tightening``.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.sandbox.settings import SandboxSettings
from openbuffer.tools.adapters.log_settings import KEPT, LogSettings
from openbuffer.tools.contract import Capability
from openbuffer.tools.errors import ToolExecutionError
from openbuffer.tools.rules.grammar import VERDICTS, Source
from openbuffer.tools.rules.reading import rules_from

from . import config_values as values
from .config_file import ConfigFileError, parse
from .config_values import ValueRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openbuffer.tools.rules.grammar import Rule, Verdict

KEYS: Final = ("roots", "limits", "sandbox", "commands", "log", "permissions")
LIMITS: Final = ("file_max_bytes", "read_output_max_bytes")
SANDBOX: Final = tuple(each.name for each in fields(SandboxSettings))
COMMANDS: Final = ("pass_environment", "drop_environment")
LOG: Final = tuple(each.name for each in fields(LogSettings))

PERMISSIONS: Final = (*VERDICTS, "default")

FOLDS_PROGRAMS: Final = sys.platform in {"darwin", "win32"}
"""Whether the names of programs are found here whatever their case."""

LOG_LEAST_BYTES: Final = 1024 * 1024
"""A log that holds less would let go of calls that still run."""


class ConfigError(ToolExecutionError):
    """The configuration cannot be used; the text names the file, the key and what is expected. Nothing is run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSettings:
    """The ``[commands]`` table: which variables commands get besides or without the ones that are safe."""

    pass_environment: tuple[str, ...] = ()
    drop_environment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionSettings:
    """The ``[permissions]`` table. ``problems`` name entries that are no rules; ``default`` holds without any rule."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()
    default: Mapping[Capability, Verdict] = field(default_factory=lambda: _everything("allow"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One user's file. ``roots`` are absolute and were directories when it was read; ``limits`` are in bytes."""

    roots: tuple[Path, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    commands: CommandSettings = field(default_factory=CommandSettings)
    log: LogSettings = field(default_factory=LogSettings)
    permissions: PermissionSettings = field(default_factory=PermissionSettings)


def parse_config(file: Path, content: bytes) -> Config:
    """The configuration in ``content``, which was read from ``file``.

    Raises:
        ConfigError: it cannot be used.
    """
    try:
        return _config(tables_of(file, content), file.absolute())
    except (ConfigFileError, ValueRefusedError) as error:
        raise ConfigError(f"{file}: {error}") from None


def tables_of(file: Path, content: bytes) -> Mapping[str, Any]:
    """The tables of a file by its content, where its name does not tell (``/dev/fd/63``).

    Raises:
        ConfigFileError: it is neither TOML nor JSON.
    """
    return parse(content, is_json=True if file.suffix == ".json" else None)


def _config(settings: Mapping[str, Any], file: Path) -> Config:
    base = file.parent
    _refuse_unknown(settings, KEYS)
    limits = values.table(settings, "limits")
    _refuse_unknown(limits, LIMITS, "limits.")
    commands = values.table(settings, "commands")
    _refuse_unknown(commands, COMMANDS, "commands.")
    return Config(
        roots=_roots(settings.get("roots", []), base),
        limits={name: values.size(f"limits.{name}", value) for name, value in limits.items()},
        sandbox=_sandbox(values.table(settings, "sandbox"), base),
        commands=CommandSettings(
            **{name: values.variables(f"commands.{name}", value) for name, value in commands.items()}
        ),
        log=_log(values.table(settings, "log")),
        permissions=_permissions(values.table(settings, "permissions"), file),
    )


def _refuse_unknown(settings: Mapping[str, Any], known: tuple[str, ...], prefix: str = "") -> None:
    wrong = values.unknown_keys(settings, known, prefix)
    if wrong:
        raise ValueRefusedError(wrong)


def _roots(value: Any, base: Path) -> tuple[Path, ...]:
    roots = tuple(Path(name) for name in values.directories("roots", value, base))
    for root in roots:
        wrong = what_is_wrong_with_directory(root)
        if wrong:
            raise ValueRefusedError(f"{root}: a directory of roots {wrong}; name a directory that exists")
    return roots


def _sandbox(table: Mapping[str, Any], base: Path) -> SandboxSettings:
    _refuse_unknown(table, SANDBOX, "sandbox.")
    settings = SandboxSettings(**{name: sandbox_value(name, value, base) for name, value in table.items()})
    if "/" in settings.allow_write:
        raise ValueRefusedError("sandbox.allow_write: '/' would leave nothing to confine; name what has to be written")
    return settings


def sandbox_value(name: str, value: Any, base: Path) -> Any:
    """The value of one key of ``[sandbox]``; relative paths start at ``base``.

    Raises:
        ValueRefusedError: it is not what that key takes.
    """
    key = f"sandbox.{name}"
    if name in {"allow_write", "deny_read"}:
        return values.paths(key, value, base)
    return values.programs(key, value) if name == "excluded_commands" else values.switch(key, value)


def _log(table: Mapping[str, Any]) -> LogSettings:
    _refuse_unknown(table, LOG, "log.")
    settings = LogSettings()
    return LogSettings(
        keep=frozenset(name for name in KEPT if name in values.words("log.keep", table.get("keep", list(KEPT)), KEPT)),
        days=values.number("log.days", table.get("days", settings.days), "days"),
        max_bytes=values.number("log.max_bytes", table.get("max_bytes", settings.max_bytes), "bytes", LOG_LEAST_BYTES),
        redact=_patterns("log.redact", table.get("redact", [])),
    )


def _permissions(table: Mapping[str, Any], file: Path) -> PermissionSettings:
    """A list that is none, or a key that is misspelt, is refused; an entry that is no rule is told (``rules_from``)."""
    _refuse_unknown(table, PERMISSIONS, "permissions.")
    lists = {name: value for name, value in table.items() if name != "default"}
    read = rules_from(lists, Source(str(file)), folds_programs=FOLDS_PROGRAMS)
    default = _without_rules(table.get("default", "allow"))
    return PermissionSettings(rules=read.rules, problems=read.problems, default=default)


def _without_rules(value: Any) -> Mapping[Capability, Verdict]:
    """What happens without a rule; capabilities that a table does not name are allowed, as they are without one."""
    if not isinstance(value, dict):
        return _everything(values.word("permissions.default", value, VERDICTS))
    told = cast("dict[str, Any]", value)
    _refuse_unknown(told, tuple(Capability), "permissions.default.")
    words: dict[Capability, Verdict] = {
        Capability(name): values.word(f"permissions.default.{name}", verdict, VERDICTS)
        for name, verdict in told.items()
    }
    return {**_everything("allow"), **words}


def _everything(verdict: Verdict) -> Mapping[Capability, Verdict]:
    return dict.fromkeys(Capability, verdict)


def _patterns(key: str, value: Any) -> tuple[str, ...]:
    patterns = values.texts(key, value, "regular expressions")
    if patterns:
        from openbuffer.tools.adapters.log_redaction import pattern_problem  # noqa: PLC0415  most users have none

        for pattern in patterns:
            if wrong := pattern_problem(pattern):
                raise ValueRefusedError(f"{key}: {values.shown(pattern)} {wrong}")
    return patterns


def what_is_wrong_with_directory(path: Path) -> str:
    """Why this is no directory that can be used, empty where it is one."""
    try:
        if path.is_dir():
            return ""
        return "is not a directory" if os.path.lexists(path) else "does not exist"
    except (OSError, ValueError) as error:
        return f"cannot be used ({error})"
