"""``openbuffer config``: the settings that hold here, each with the layer that it comes from."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from ..assembly import open_settings
from ..config import ConfigError
from ..config_file import NamedFile
from ..config_keys import KEYS
from ..directories import DirectoryError, own_directories
from .config_shown import plain_value, shown_value
from .output import writing
from .terminal import harmless, terminal_for

if TYPE_CHECKING:
    from pathlib import Path

    from ..settings import LiveSettings

EXIT_DONE: Final = 0
EXIT_HARD: Final = 2


def config(root: Path | None, *, as_json: bool, config_file: Path | None = None) -> int:
    """Print every key with its value and where it comes from, for the workspace ``root`` (here unless given).

    What of the layers does not count goes to stderr, or into the JSON. Returns the exit code: 2 where there are no
    settings, because a layer cannot be used.
    """
    try:
        directory = root if root is not None else _here()
        settings = open_settings([directory], own_directories(), config_file, read=NamedFile())
    except (ConfigError, DirectoryError) as error:
        print(f"openbuffer: {harmless(str(error))}", file=sys.stderr)  # noqa: T201  a command line prints
        return EXIT_HARD
    with writing():
        _print_json(settings) if as_json else _print(settings)
    return EXIT_DONE


def _here() -> Path:
    from pathlib import Path  # noqa: PLC0415  the others take what they are given

    try:
        return Path.cwd()
    except FileNotFoundError:
        raise ConfigError("the current directory does not exist any more; name one with --root") from None


def _print(settings: LiveSettings) -> None:
    effective = settings.effective()
    terminal = terminal_for(sys.stdout)
    rows = [(f"{key} = {shown_value(key, effective.values[key])}", ", ".join(effective.origins[key])) for key in KEYS]
    width = min(60, max(len(said) for said, _ in rows))
    for said, origin in rows:
        terminal.print(f"{harmless(said):<{width}}  # {harmless(origin)}")
    for warning in settings.warnings:
        print(f"openbuffer: {harmless(warning)}", file=sys.stderr)  # noqa: T201  a command line prints


def _print_json(settings: LiveSettings) -> None:
    effective = settings.effective()
    report = {
        "settings": {
            key: {"value": plain_value(key, effective.values[key]), "from": list(effective.origins[key])}
            for key in KEYS
        },
        "file": str(settings.file),
        "warnings": list(settings.warnings),
    }
    terminal_for(sys.stdout).print(json.dumps(report))
