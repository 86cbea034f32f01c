"""The configuration file of the command line: TOML or JSON into ToolConfig.

Every key, with its default::

    roots = []                          # further roots; relative ones start at the file's directory

    [limits]
    file_max_bytes = 268435456          # Read and Edit admit a file up to this size
    read_output_max_bytes = 1048576     # the formatted output of one Read

JSON has the same keys: ``{"roots": [...], "limits": {...}}``. A key that is not known is an error: a limit
with a spelling mistake must not look as if it were in force.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.tools.config import ToolConfig

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE_MAX_BYTES: Final = 1024 * 1024
"""No configuration is this long; a device or a log that was named by mistake is."""

_KEYS: Final = ("roots", "limits")
_LIMITS: Final = ("file_max_bytes", "read_output_max_bytes")


class ConfigError(Exception):
    """The configuration cannot be used; the text names the file, the key and what is expected."""


def load_tool_config(root: Path, file: Path | None = None) -> ToolConfig:
    """The configuration of the file tools below ``root`` and the roots that ``file`` adds.

    Raises:
        ConfigError: the root or the file cannot be used.
    """
    _require_directory(root, "the root")
    if file is None:
        return ToolConfig(roots=(root,))
    settings = _parse(file)
    try:
        _known(settings, _KEYS, "")
        roots = _roots(settings.get("roots", []), file)
        limits = _limits(settings.get("limits", {}))
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    return replace(ToolConfig(roots=(root, *roots)), **limits)


def _parse(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as stream:
            content = stream.read(FILE_MAX_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror}); check --config") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: is not UTF-8 text; save it as UTF-8") from None
    if len(content) > FILE_MAX_BYTES:
        raise ConfigError(f"{file}: is over {FILE_MAX_BYTES} bytes; that is no configuration file")
    # No TOML document starts with a brace, so the content tells where the name does not (/dev/fd/63).
    kind, parse = (
        ("JSON", _parse_json) if file.suffix == ".json" or text[:64].lstrip()[:1] == "{" else ("TOML", tomllib.loads)
    )
    try:
        return parse(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: is not {kind}: {error}") from None


def _parse_json(text: str) -> Mapping[str, Any]:
    settings = json.loads(text, object_pairs_hook=_without_duplicates)
    if not isinstance(settings, dict):
        raise ValueError("the whole is not an object")  # noqa: TRY004  every way of not being JSON settings ends alike
    return settings  # pyright: ignore[reportUnknownVariableType]  JSON object keys are strings


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    settings = dict(pairs)
    if len(settings) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return settings


def _known(settings: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> None:
    unknown = [prefix + name for name in settings if name not in known]
    if unknown:
        raise ConfigError(f"unknown key {', '.join(unknown)}; known are {', '.join(prefix + name for name in known)}")


def _roots(value: Any, file: Path) -> list[Path]:
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    names = [item for item in items if isinstance(item, str) and item]
    if len(names) < len(items):
        raise ConfigError(f"roots must be a list of directory names, not {value!r}")
    roots = [file.absolute().parent / name for name in names]
    for root in roots:
        _require_directory(root, "a directory of roots")
    return roots


def _limits(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise ConfigError(f"limits must be a table, not {value!r}")
    limits: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]  keys are strings in TOML and JSON
    _known(limits, _LIMITS, "limits.")
    for name, size in limits.items():
        if type(size) is not int or size < 1:  # True is an int too, and no size
            raise ConfigError(f"limits.{name} must be a whole number of bytes, 1 or more, not {size!r}")
    return limits


def _require_directory(path: Path, what: str) -> None:
    try:
        if path.is_dir():
            return
        reason = "is not a directory" if path.exists() else "does not exist"
    except (OSError, ValueError) as error:
        reason = f"cannot be used ({error})"
    raise ConfigError(f"{path}: {what} {reason}; name a directory that exists")
