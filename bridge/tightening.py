"""What may be said by those who must not loosen: a workspace's own file, and the editor in a workspace that the user
is not known to trust. It comes from whoever wrote the repository, so it only tightens (B7).

| key | what counts |
|---|---|
| ``sandbox.enabled`` | true; unless the user has it on as well, no command is allowed without an approval then |
| ``sandbox.network``, ``sandbox.auto_allow`` | false |
| ``sandbox.deny_read`` | its paths, besides the user's |
| ``sandbox.allow_write``, ``sandbox.excluded_commands`` | what of the user's is left: those that are in both |
| ``permissions.deny``, ``permissions.ask`` | their rules, besides the user's |
| ``web.enabled``, ``search.enabled`` | false |
| ``web.allowed_hosts``, ``web.allowed_ports`` | what of the user's is left: those that are in both |
| all else | nothing: a limit or a variable can be what makes something safe |

Each key is judged for itself. What would loosen and what cannot be understood is told by its name, and the rest counts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openbuffer.tools.contract import Capability

from . import config_values as values
from .config_reading import read_layer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from .config_reading import Layer


def read_tightening(tables: Mapping[str, Any], name: str, base: Path | None) -> Layer:
    """What a layer says that can count; its problems name each key that is not understood or never counts."""
    return read_layer(tables, name, base=base, trusted=False, only=_ALLOWED)


@dataclass(frozen=True, slots=True)
class Tightened:
    """The values after a layer; the keys that it changed, and a sentence on each that would have loosened."""

    values: Mapping[str, Any]
    changed: tuple[str, ...]
    refused: tuple[str, ...]


def tightened(own: Mapping[str, Any], by: Layer) -> Tightened:
    """The values with what the layer asks for."""
    result = dict(own)
    refused: list[str] = []
    for key, tighten in TIGHTENS.items():
        if key in by.values:
            result[key], loose = tighten(own[key], by.values[key])
            if loose is not None:
                refused.append(f"{key} = {_toml(loose)} would loosen the user's settings and does not count")
    if result["sandbox.enabled"] and not own["sandbox.enabled"]:
        # Whoever switches the sandbox on must not thereby switch off the user's being asked.
        result["sandbox.auto_allow"] = False
    changed = tuple(key for key in TIGHTENS if result[key] != own[key])
    return Tightened(result, changed, tuple(refused))


def _switched_on(own: bool, asked: bool) -> tuple[bool, bool | None]:
    return own or asked, False if own and not asked else None


def _switched_off(own: bool, asked: bool) -> tuple[bool, bool | None]:
    return own and asked, True if asked and not own else None


def _added(own: tuple[Any, ...], asked: tuple[Any, ...]) -> tuple[tuple[Any, ...], None]:
    return tuple(dict.fromkeys((*own, *asked))), None


def _narrowed(own: tuple[Any, ...], asked: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...] | None]:
    return tuple(each for each in own if each in asked), tuple(each for each in asked if each not in own) or None


def _narrowed_paths(own: tuple[str, ...], asked: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Of both lists the paths that lie in one of the other; and those asked for that lie in none.

    A path of the workspace's is taken as what it really is, for it may be a link that leads out of the user's. One of
    the user's that leads elsewhere is kept where the workspace names the same, and nothing is found to lie in it: a
    command may have put the link there.
    """
    steady = [path for path in own if os.path.realpath(path) == path]
    kept: list[str] = []
    unfit: list[str] = []
    for path in asked:
        target = os.path.realpath(path)
        inside = [each for each in own if each == path or (each in steady and _is_in(each, target))]
        if inside:
            kept += inside
        elif any(_is_in(target, each) for each in steady):
            kept.append(target)
        else:
            unfit.append(path)
    return tuple(dict.fromkeys(kept)), tuple(unfit) or None


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else values.shown(list(value))


TIGHTENS: Final[Mapping[str, Callable[[Any, Any], tuple[Any, Any]]]] = {
    "sandbox.enabled": _switched_on,
    "sandbox.network": _switched_off,
    "sandbox.allow_write": _narrowed_paths,
    "sandbox.deny_read": _added,
    "sandbox.excluded_commands": _narrowed,
    "sandbox.auto_allow": _switched_off,
    "web.enabled": _switched_off,
    "web.allowed_hosts": _narrowed,
    "web.allowed_ports": _narrowed,
    "search.enabled": _switched_off,
}
"""What the user has and what is asked for, to what is then, and what of the wish would loosen, if anything."""

_ALLOWED: Final = (*TIGHTENS, "permissions.deny", "permissions.ask", "permissions.allow")
"""``permissions.allow`` is looked at to be refused by its entries."""

STRICTEST: Final[Mapping[str, Any]] = {
    "sandbox.enabled": True,
    "sandbox.network": False,
    "sandbox.allow_write": (),
    "sandbox.excluded_commands": (),
    "sandbox.auto_allow": False,
    "commands.pass_environment": (),
    "permissions.default": dict.fromkeys(Capability, "deny"),
    "web.enabled": False,
    "web.allowed_hosts": (),
    "web.allowed_ports": (),
    "search.enabled": False,
}
"""What holds while a value of the user's own cannot be understood, of keys that have a strictest one."""
