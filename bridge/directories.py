"""The server's own directories: configuration, state, runtime; and what of them commands must never see (S10).

By the XDG rules: ``$XDG_CONFIG_HOME``, ``$XDG_STATE_HOME`` and ``$XDG_RUNTIME_DIR`` where they are absolute, else
``~/.config`` and ``~/.local/state``; without a runtime directory it is one in the state. Each has an ``openbuffer`` of
ours, that nobody else may enter.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .config_file import CONFIG_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

_OWN: Final = "openbuffer"
_PRIVATE: Final = 0o700
_OF_OTHERS: Final = (
    "autostart",
    "fish/config.fish",
    "git/config",
    "nvim/init.lua",
    "nvim/init.vim",
    "pip/pip.conf",
    "systemd/user",
)


class DirectoryError(Exception):
    """A directory of the server's own cannot be used; the text names it and says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDirectories:
    """Absolute paths; none of them need exist."""

    configuration: Path
    state: Path
    runtime: Path

    @property
    def config_file(self) -> Path:
        """The user's file, unless they name another."""
        return self.configuration / CONFIG_NAME

    @property
    def permissions(self) -> Path:
        """The user's rules file: what was allowed for good."""
        return self.configuration / "permissions"

    @property
    def artifacts(self) -> Path:
        """Large outputs, kept by their content."""
        return self.state / "artifacts"

    @property
    def indexes(self) -> Path:
        """Indexes of code bases, for CodebaseRetrieval."""
        return self.state / "indexes"

    @property
    def log(self) -> Path:
        """The event log, with all that belongs to it."""
        return self.state / "log"

    def configurations_of_others(self) -> tuple[str, ...]:
        """Where other programs of the host have their settings, in the directory in which ours are."""
        base = self.configuration.parent
        return (str(base), *(str(base / name) for name in _OF_OTHERS))

    def create(self) -> None:
        """Make all of them, so that what a command could otherwise put there itself is ours already.

        Raises:
            DirectoryError: one cannot be made, or is not the user's own.
        """
        if not self.configuration.is_dir():  # one that is there is the user's to keep as they like
            create_private(self.configuration)
        create_private(self.state)
        create_private(self.runtime)


def own_directories(environment: Mapping[str, str] | None = None) -> OwnDirectories:
    """Where they are, by these variables; the process's own unless given.

    Raises:
        DirectoryError: there is no home directory to put them in.
    """
    variables = os.environ if environment is None else environment
    state = _base(variables, "XDG_STATE_HOME", ".local/state")
    runtime = variables.get("XDG_RUNTIME_DIR", "")
    return OwnDirectories(
        configuration=_base(variables, "XDG_CONFIG_HOME", ".config"),
        state=state,
        runtime=Path(runtime, _OWN) if os.path.isabs(runtime) else state / "run",
    )


def _base(variables: Mapping[str, str], name: str, default: str) -> Path:
    given = variables.get(name, "")
    if os.path.isabs(given):  # a relative one is to be ignored, as the XDG rules have it
        return Path(given, _OWN)
    home = variables.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        raise DirectoryError(f"there is no home directory; set HOME, or {name} to an absolute path")
    return Path(home, default, _OWN)


def create_private(directory: Path) -> Path:
    """Make a directory that only the user may enter, and what is missing above it; returns it.

    One that is there already is closed to others.

    Raises:
        DirectoryError: it cannot be made, or belongs to somebody else.
    """
    try:
        directory.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        directory.mkdir(mode=_PRIVATE, exist_ok=True)
        _close_to_others(directory)
    except OSError as error:
        advice = "make room for it, or set XDG_STATE_HOME and XDG_CONFIG_HOME to directories of your own"
        raise DirectoryError(f"{directory}: cannot be made or closed to others ({error.strerror}); {advice}") from None
    return directory


def _close_to_others(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid():
            advice = "name others with XDG_CONFIG_HOME, XDG_STATE_HOME and XDG_RUNTIME_DIR"
            raise DirectoryError(f"{directory}: belongs to another user; {advice}")
        if stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(fd, _PRIVATE)
    finally:
        os.close(fd)


def hidden_paths(directories: OwnDirectories, *more: Path) -> tuple[str, ...]:
    """What commands may not see whatever the settings say: these directories, and ``more`` such as the file in use.

    Each as it is named and, where a link leads elsewhere, where it is; what lies in another one is not named again.
    """
    own = (
        directories.configuration,
        directories.state,
        directories.runtime,
        directories.config_file,
        directories.permissions,
    )
    named = [os.path.abspath(path) for path in (*own, *more)]
    found = dict.fromkeys([*named, *map(os.path.realpath, named)])
    return tuple(path for path in found if not any(path.startswith(f"{other}/") for other in found))
