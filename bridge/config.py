"""The configuration as the parts of a session take it: data, and how it fails.

``config_keys`` has every key with its default, ``config_reading`` how one layer is read, ``config_layers`` the one
precedence, ``settings`` all of it as it is now. The user's file is ``openbuffer.toml`` in the user's configuration
directory (``$XDG_CONFIG_HOME/openbuffer``, else ``~/.config/openbuffer``), or the one that ``--config`` names instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openbuffer.sandbox.settings import SandboxSettings
from openbuffer.tools.adapters.log_settings import LogSettings
from openbuffer.tools.errors import ToolExecutionError
from openbuffer.tools.rules.session_rules import GivenRules
from openbuffer.tools.support.http_guard_settings import WebSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class ConfigError(ToolExecutionError):
    """The configuration cannot be used; the text names the layer, the key and what is expected. Nothing is run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSettings:
    """Which variables commands get besides or without the ones that are safe."""

    pass_environment: tuple[str, ...] = ()
    drop_environment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Who is asked by WebSearch; ``url`` is where a SearXNG is."""

    provider: str = "brave"
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What holds. ``roots`` are absolute and were directories when they were read; ``limits`` are in bytes.

    ``web`` and ``search`` None: they are switched off.
    """

    roots: tuple[Path, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    commands: CommandSettings = field(default_factory=CommandSettings)
    log: LogSettings = field(default_factory=LogSettings)
    permissions: GivenRules = field(default_factory=GivenRules)
    web: WebSettings | None = field(default_factory=WebSettings)
    search: SearchSettings | None = field(default_factory=SearchSettings)
