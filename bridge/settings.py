"""The settings of a session as all layers have them now: looked at again before every command, in this one place.

What counts is said in ``config_layers``. A file is looked at by its content, so that a change counts from the next
command on however it was made; the editor tells its changes. What is never done is to loosen because something went
wrong:

- The user's file that cannot be used, or is gone, after it was good: what it said last holds on, tightened by what
  can be understood of it now. When nothing good was ever read there are no settings, and so no commands (ConfigError).
- A variable of ours that cannot be used: the same, from the start.
- The editor's settings in a workspace that the user trusts: ``config_editor`` has it.
- A workspace's file that cannot be used: what it said last holds on, with what can be understood of it now; the user's
  settings hold in any case. When it is gone it says nothing.

All of it is told, once for every new wording. The further roots, the limits, the log's settings and those numbers of
the web that its tool tells in its description are read once, when a session begins.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final

from openbuffer.tools.rules.kept_rules import mark_of

from .config import ConfigError
from .config_editor import NAME as EDITOR_NAME
from .config_editor import read_editor, what_is_wrong_with_settings
from .config_file import CONFIG_NAME, ConfigFileError, Reading, read_user_file, read_workspace_file
from .config_layers import effective
from .config_reading import Layer, Problem, parse_layer, strict, tables_of
from .config_variables import read_variables
from .editor_settings import EditorSaid, EditorSettings
from .tightening import read_tightening

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from openbuffer.sandbox.settings import SandboxSettings
    from openbuffer.tools.rules.session_rules import GivenRules

    from .config import CommandSettings, Config
    from .config_layers import Effective

SETTLED_S: Final = 0.05
"""A file that changed is taken as it is when it is the same after this time: it may be in the middle of being saved."""

SETTLING_MAX: Final = 20
"""How often that is tried; then it is taken as it is."""


def ignore(_sentence: str) -> None:
    """For whoever wants to be told nothing."""


class LiveSettings:
    """The settings for commands below these roots. Blocks, and may be used from any thread.

    ``file`` is the user's; ``is_named``: they named it themselves, so that it has to be there. ``variables`` are those
    of the server's start, ``editor`` is what the editor says. ``tell`` takes each sentence on what does not count, from
    the thread that looked; it must not raise.

    Raises:
        ConfigError: at construction, when the user's file or a variable cannot be used.
    """

    def __init__(
        self,
        file: Path,
        roots: Sequence[Path],
        *,
        is_named: bool = False,
        variables: Mapping[str, str] | None = None,
        editor: EditorSettings | None = None,
        read: Callable[[Path], Reading] = read_user_file,
        tell: Callable[[str], None] = ignore,
    ) -> None:
        self._user = _UserFile(file, read, is_named)
        layer, self._unknown = read_variables(variables or {})
        self._variables = strict(layer)
        self._editor = _EditorLayer(editor or EditorSettings(), roots[0] if roots else None)
        self._workspaces: tuple[_WorkspaceFile, ...] = ()
        self._tell = tell
        self._told: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._user.look()
        self._editor.look()
        further = self._combined()[0].config.roots
        self._workspaces = tuple(
            _WorkspaceFile(root / CONFIG_NAME)
            for root in dict.fromkeys((*roots, *further))
            if not _same_file(root / CONFIG_NAME, file)
        )
        for each in self._workspaces:
            each.look()
        self._effective, self._warnings = self._combined()
        self.first: Final[Config] = self._effective.config
        """What held at the beginning; what a session takes once is taken from here."""
        self.look()

    @property
    def file(self) -> Path:
        """The user's file, whether there is one or not."""
        return self._user.file

    @property
    def warnings(self) -> tuple[str, ...]:
        """What did not count when the layers were looked at last, sentence by sentence."""
        return self._warnings

    def effective(self) -> Effective:
        """What holds by the layers as they are now, key by key with where it comes from."""
        self.look()
        return self._effective

    def sandbox(self) -> SandboxSettings:
        """What commands may do, by the layers as they are now."""
        return self.effective().config.sandbox

    def commands(self) -> CommandSettings:
        """Which variables commands get, by the layers as they are now."""
        return self.effective().config.commands

    @property
    def last(self) -> Config:
        """What held when the layers were looked at last; does not block."""
        return self._effective.config

    def origin(self, key: str) -> tuple[str, ...]:
        """The names of the layers that the value of this key came from at the last look."""
        return self._effective.origins[key]

    def mark(self) -> object:
        """What is another one once a layer has changed; quick."""
        return (self._editor.source.now(), *(mark_of(str(each.file)) for each in (self._user, *self._workspaces)))

    def permissions(self) -> GivenRules:
        """The rules of all the layers as they are now, and what the user's say of what has none."""
        return self.effective().config.permissions

    def look(self) -> None:
        """Look at the layers again; what did not change costs a read of each and nothing more."""
        with self._lock:
            changed = [each for each in (self._user, self._editor, *self._workspaces) if each.look()]
            if changed:
                self._effective, self._warnings = self._combined()
            news = [sentence for sentence in self._warnings if sentence not in self._told]
            self._told = frozenset(self._warnings)
        for sentence in news:
            self._tell(sentence)

    def _combined(self) -> tuple[Effective, tuple[str, ...]]:
        layers = (self._user.layer, self._variables, *self._editor.layers)
        others = (*self._editor.tightenings, *chain.from_iterable(each.tightenings for each in self._workspaces))
        result = effective(layers, (*self._user.tightenings, *others))
        of_others = tuple(sentence for sentence in result.refused if not sentence.startswith(f"{self._user.file}: "))
        own = (*self._user.warnings, *self._unknown, *_told(self._variables), *self._editor.warnings)
        warnings = (*own, *of_others, *chain.from_iterable(each.warnings for each in self._workspaces))
        return result, tuple(dict.fromkeys(warnings))


def _told(layer: Layer) -> tuple[str, ...]:
    """What does not count of a layer, sentence by sentence."""
    return tuple(f"{layer.name}: {each}" for each in (*(problem.sentence for problem in layer.problems), *layer.told))


@dataclass(slots=True)
class _UserFile:
    """The user's file, and what it said when it was good."""

    file: Path
    read: Callable[[Path], Reading]
    is_named: bool
    layer: Layer = field(default_factory=lambda: Layer(name=""))
    warnings: tuple[str, ...] = ()
    tightenings: tuple[Layer, ...] = ()
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
            self.layer, self.tightenings = self._layer(reading, is_first), ()
            self.warnings = _told(self.layer)
        except ConfigError as error:
            if is_first:
                self.seen = None
                raise
            held = "the settings that it had before hold until that is put right"
            self.warnings, self.tightenings = (f"{error}; {held}",), self._understood(reading)
        return True

    def _layer(self, reading: Reading, is_first: bool) -> Layer:
        if reading.content is not None:
            return parse_layer(self.file, reading.content)
        if reading.problem:
            raise ConfigError(f"{self.file}: {reading.problem}")
        if self.is_named:
            raise ConfigError(f"{self.file}: cannot be read (No such file or directory); check --config")
        if not is_first:
            raise ConfigError(f"{self.file}: is not there any more (a new session does without it)")
        return Layer(name=str(self.file))

    def _understood(self, reading: Reading) -> tuple[Layer, ...]:
        if reading.content is None:
            return ()
        try:
            tables = tables_of(self.file, reading.content)
        except ConfigFileError:
            return ()
        return (read_tightening(tables, str(self.file), self.file.absolute().parent),)


@dataclass(slots=True)
class _EditorLayer:
    """What the editor says: a layer of the user's where they trust the workspace, else one that only tightens."""

    source: EditorSettings
    base: Path | None
    layers: tuple[Layer, ...] = ()
    tightenings: tuple[Layer, ...] = ()
    warnings: tuple[str, ...] = ()
    seen: EditorSaid | None = None

    def look(self) -> bool:
        """Whether it changed."""
        said = self.source.now()
        if said is self.seen:
            return False
        was_trusted = self.seen is not None and self.seen.trusted is True
        self.seen = said
        wrong = what_is_wrong_with_settings(said.settings)
        if wrong and (said.trusted is True) == was_trusted:
            held = "; what they said before holds until that is put right"
            self.warnings = _told(Layer(name=EDITOR_NAME, problems=(Problem(f"{wrong}{held}"),)))
            return True
        layer = read_editor(said, self.base)
        self.warnings = _told(layer)
        self.layers, self.tightenings = ((layer,), ()) if said.trusted is True else ((), (layer,))
        return True


@dataclass(slots=True)
class _WorkspaceFile:
    """The file of one root, and what it asked for when it was good."""

    file: Path
    good: tuple[Layer, ...] = ()
    tightenings: tuple[Layer, ...] = ()
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

    def _asked(self, reading: Reading) -> tuple[tuple[Layer, ...], tuple[str, ...]]:
        if reading.content is None:
            return (), ((f"{reading.problem}{self._held}",) if reading.problem else ())
        try:
            tables = tables_of(self.file, reading.content)
        except ConfigFileError as error:
            return (), (f"{error}{self._held}",)
        asked = read_tightening(tables, str(self.file), self.file.parent)
        return (asked,), (*(problem.sentence for problem in asked.problems), *asked.told)

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
