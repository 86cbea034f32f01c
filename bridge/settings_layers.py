"""Each place that settings come from, looked at again and again: what it says now, and what still holds of before.

``settings`` puts them together. Blocks: files are read, and one that is just being saved is waited for.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from .config import ConfigError
from .config_editor import NAME as EDITOR_NAME
from .config_editor import read_editor, what_is_wrong_with_settings
from .config_file import ConfigFileError, Reading, read_workspace_file
from .config_reading import Layer, Problem, parse_layer, tables_of
from .editor_settings import EditorSaid
from .tightening import read_tightening

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .editor_settings import EditorSettings

SETTLED_S: Final = 0.05
"""A file that changed is taken as it is when it is the same after this time: it may be in the middle of being saved."""

SETTLING_MAX: Final = 20
"""How often that is tried; then it is taken as it is."""


def told_of(layer: Layer) -> tuple[str, ...]:
    """What does not count of a layer, sentence by sentence."""
    return tuple(f"{layer.name}: {each}" for each in (*(problem.sentence for problem in layer.problems), *layer.told))


@dataclass(slots=True)
class UserFile:
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
            self.warnings = told_of(self.layer)
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
class EditorLayer:
    """What the editor says: a layer of the user's where they trust the workspace, else one that only tightens."""

    source: EditorSettings
    base: Path | None
    layers: tuple[Layer, ...] = ()
    good: tuple[Layer, ...] = ()
    """What they asked for when all of it could be understood, where they only tighten."""
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
            self.warnings = told_of(Layer(name=EDITOR_NAME, problems=(Problem(f"{wrong}{held}"),)))
            return True
        layer = read_editor(said, self.base)
        self.warnings = told_of(layer)
        if said.trusted is True:
            self.layers, self.good, self.tightenings = (self._held(layer),), (), ()
        elif layer.problems:
            self.layers, self.tightenings = (), (*self.good, layer)
        else:
            self.layers, self.good, self.tightenings = (), (layer,), (layer,)
        return True

    def at(self, base: Path | None) -> EditorLayer:
        """The same, to be looked at again with relative paths starting there."""
        seen = None if self.seen is None else EditorSaid(trusted=self.seen.trusted)
        return replace(self, base=base, seen=seen)

    def _held(self, layer: Layer) -> Layer:
        """With what they said before of keys whose values cannot be used, and that have no strictest one."""
        keys = {problem.key for problem in layer.problems} - layer.values.keys()
        held = {key: value for before in self.layers for key, value in before.values.items() if key in keys}
        return replace(layer, values={**layer.values, **held})


@dataclass(slots=True)
class WorkspaceFile:
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
