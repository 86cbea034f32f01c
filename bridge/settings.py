"""The settings of commands as the files have them now: looked at again before every command, in this one place.

What counts is the user's file, tightened by the file of each root. A file is looked at by its content, so that a change
counts from the next command on however it was made. What is never done is to loosen because something went wrong:

- The user's file that cannot be used, or is gone, after it was good: what it said last holds on, tightened by what
  can be understood of it now. When nothing good was ever read there are no settings, and so no commands (ConfigError).
- A workspace's file that cannot be used: what it said last holds on, with what can be understood of it now; the user's
  settings hold in any case. When it is gone it says nothing.

All of it is told, once for every new wording. The further roots and the limits are read once, when a session begins.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final

from openbuffer.tools.rules.kept_rules import mark_of
from openbuffer.tools.rules.session_rules import GivenRules

from .config import Config, ConfigError, parse_config, tables_of
from .config_file import CONFIG_NAME, ConfigFileError, Reading, read_user_file, read_workspace_file
from .tightening import Tightening, read_tightening, tightened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from openbuffer.sandbox.settings import SandboxSettings

    from .config import CommandSettings

SETTLED_S: Final = 0.05
"""A file that changed is taken as it is when it is the same after this time: it may be in the middle of being saved."""

SETTLING_MAX: Final = 20
"""How often that is tried; then it is taken as it is."""


def ignore(_sentence: str) -> None:
    """For whoever wants to be told nothing."""


class LiveSettings:
    """The settings for commands below these roots. Blocks, and may be used from any thread.

    ``file`` is the user's; ``is_named``: they named it themselves, so that it has to be there. ``tell`` takes each
    sentence on what does not count, from the thread that looked; it must not raise.

    Raises:
        ConfigError: at construction, when the user's file cannot be used.
    """

    def __init__(
        self,
        file: Path,
        roots: Sequence[Path],
        *,
        is_named: bool = False,
        read: Callable[[Path], Reading] = read_user_file,
        tell: Callable[[str], None] = ignore,
    ) -> None:
        self._user = _UserFile(file, read, is_named)
        self._workspaces: tuple[_WorkspaceFile, ...] = ()
        self._tell = tell
        self._told: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._user.look()
        self.first: Final[Config] = self._user.config
        """What the user's file said at the beginning; roots and limits are taken from here."""
        self._workspaces = tuple(
            _WorkspaceFile(root / CONFIG_NAME)
            for root in dict.fromkeys((*roots, *self.first.roots))
            if not _same_file(root / CONFIG_NAME, file)
        )
        self._sandbox, self._warnings = self._combined()
        self.look()

    @property
    def file(self) -> Path:
        """The user's file, whether there is one or not."""
        return self._user.file

    @property
    def warnings(self) -> tuple[str, ...]:
        """What did not count when the files were looked at last, sentence by sentence."""
        return self._warnings

    def sandbox(self) -> SandboxSettings:
        """What commands may do, by the files as they are now."""
        self.look()
        return self._sandbox

    def commands(self) -> CommandSettings:
        """Which variables commands get, by the files as they are now."""
        self.look()
        return self._user.config.commands

    def mark(self) -> object:
        """What is another one once a file has changed; quick."""
        return tuple(mark_of(str(each.file)) for each in (self._user, *self._workspaces))

    def permissions(self) -> GivenRules:
        """The rules of all the files as they are now, and what the user's says of what has none."""
        self.look()
        with self._lock:
            given = self._user.config.permissions
            others = (t.rules for each in (self._user, *self._workspaces) for t in each.tightenings)
            return GivenRules(rules=(*given.rules, *chain.from_iterable(others)), without_rules=given.default)

    def look(self) -> None:
        """Look at the files again; what did not change costs a read of each and nothing more."""
        with self._lock:
            changed = [each for each in (self._user, *self._workspaces) if each.look()]
            if changed:
                self._sandbox, self._warnings = self._combined()
            news = [sentence for sentence in self._warnings if sentence not in self._told]
            self._told = frozenset(self._warnings)
        for sentence in news:
            self._tell(sentence)

    def _combined(self) -> tuple[SandboxSettings, tuple[str, ...]]:
        settings = self._user.config.sandbox
        warnings = list(self._user.warnings)
        for each in (self._user, *self._workspaces):
            for tightening in each.tightenings:
                settings, refused = tightened(settings, tightening)
                if each is not self._user:
                    warnings += [f"{each.file}: {what}" for what in refused]
            if each is not self._user:
                warnings += each.warnings
        return settings, tuple(dict.fromkeys(warnings))


@dataclass(slots=True)
class _UserFile:
    """The user's file, and what it said when it was good."""

    file: Path
    read: Callable[[Path], Reading]
    is_named: bool
    config: Config = field(default_factory=Config)
    warnings: tuple[str, ...] = ()
    tightenings: tuple[Tightening, ...] = ()
    """What can be understood of the file while it cannot be used."""
    seen: Reading | None = None

    def look(self) -> bool:
        """Whether it changed.

        Raises:
            ConfigError: it cannot be used, and never could.
        """
        reading = _settled(lambda: self.read(self.file), self.file, self.seen)
        if reading == self.seen:
            return False
        is_first, self.seen = self.seen is None, reading
        try:
            self.config, self.tightenings = self._config(reading, is_first), ()
            self.warnings = tuple(f"{self.file}: {problem}" for problem in self.config.permissions.problems)
        except ConfigError as error:
            if is_first:
                self.seen = None
                raise
            held = "the settings that it had before hold until that is put right"
            self.warnings, self.tightenings = (f"{error}; {held}",), self._understood(reading)
        return True

    def _config(self, reading: Reading, is_first: bool) -> Config:
        if reading.content is not None:
            return parse_config(self.file, reading.content)
        if reading.problem:
            raise ConfigError(f"{self.file}: {reading.problem}")
        if self.is_named:
            raise ConfigError(f"{self.file}: cannot be read (No such file or directory); check --config")
        if not is_first:
            raise ConfigError(f"{self.file}: is not there any more (a new session does without it)")
        return Config()

    def _understood(self, reading: Reading) -> tuple[Tightening, ...]:
        if reading.content is None:
            return ()
        try:
            tables = tables_of(self.file, reading.content)
        except ConfigFileError:
            return ()
        return (read_tightening(tables, self.file.absolute().parent)[0],)


@dataclass(slots=True)
class _WorkspaceFile:
    """The file of one root, and what it asked for when it was good."""

    file: Path
    good: tuple[Tightening, ...] = ()
    tightenings: tuple[Tightening, ...] = ()
    warnings: tuple[str, ...] = ()
    seen: Reading = field(default_factory=Reading)

    def look(self) -> bool:
        """Whether it changed."""
        reading = _settled(lambda: read_workspace_file(self.file), self.file, self.seen)
        if reading == self.seen:
            return False
        self.seen = reading
        now, problems = self._asked(reading)
        if problems:
            self.tightenings = (*self.good, *now)
        else:
            self.good = self.tightenings = now
        self.warnings = tuple(f"{self.file}: {problem}" for problem in problems)
        return True

    def _asked(self, reading: Reading) -> tuple[tuple[Tightening, ...], tuple[str, ...]]:
        if reading.content is None:
            return (), ((f"{reading.problem}{self._held}",) if reading.problem else ())
        try:
            tables = tables_of(self.file, reading.content)
        except ConfigFileError as error:
            return (), (f"{error}{self._held}",)
        asked, problems = read_tightening(tables, self.file.parent)
        return (asked,), problems

    @property
    def _held(self) -> str:
        before = ", and what it asked for before," if self.good else ""
        return f"; it does not count, the user's settings{before} do"


def _settled(read: Callable[[], Reading], file: Path, known: Reading | None) -> Reading:
    """The reading, once it is no moment in which the file is half written or about to be replaced."""
    reading = read()
    for _ in range(SETTLING_MAX):
        if reading == known or _is_old(file, reading, known):
            break
        time.sleep(SETTLED_S)
        before, reading = reading, read()
        if before == reading:
            break
    return reading


def _is_old(file: Path, reading: Reading, known: Reading | None) -> bool:
    if reading.content is None and not reading.problem:
        return known is None  # the first look: most people have no file
    try:
        return not -SETTLED_S < time.time() - os.stat(file).st_mtime < 2 * SETTLED_S
    except OSError:
        return True


def _same_file(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False
