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
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from openbuffer.tools.rules.kept_rules import mark_of

from .config_file import CONFIG_NAME, Reading, read_user_file
from .config_layers import effective
from .config_reading import strict
from .config_variables import read_variables
from .editor_settings import EditorSettings
from .settings_layers import EditorLayer, UserFile, WorkspaceFile, told_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from openbuffer.sandbox.settings import SandboxSettings
    from openbuffer.tools.rules.session_rules import GivenRules

    from .config import CommandSettings, Config
    from .config_layers import Effective


def ignore(_sentence: str) -> None:
    """For whoever wants to be told nothing."""


class LiveSettings:
    """The settings for commands below these roots. Blocks, and may be used from any thread.

    ``file`` is the user's; ``is_named``: they named it themselves, so that it has to be there. ``variables`` are those
    of the server's start, ``editor`` is what the editor says. ``tell`` takes each sentence on what does not count, from
    the thread that looked; it must not raise. ``before`` are the settings of the same session over other roots: what
    they knew of a layer that is still there holds on.

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
        before: LiveSettings | None = None,
    ) -> None:
        base = roots[0] if roots else None
        self._user = UserFile(file, read, is_named)
        layer, self._unknown = read_variables(variables or {})
        self._variables = strict(layer)
        self._editor = EditorLayer(editor or EditorSettings(), base)
        self._workspaces: tuple[WorkspaceFile, ...] = ()
        self._tell = tell
        self._told: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        known: dict[Path, WorkspaceFile] = {}
        if before is not None:
            known = self._take_over(before, base)
        self._user.look()
        self._editor.look()
        further = self._combined()[0].config.roots
        self._workspaces = tuple(
            known.get(root / CONFIG_NAME) or WorkspaceFile(root / CONFIG_NAME)
            for root in dict.fromkeys((*roots, *further))
            if not _same_file(root / CONFIG_NAME, file)
        )
        for each in self._workspaces:
            each.look()
        self._effective, self._warnings = self._combined()
        self.first: Final[Config] = self._effective.config
        """What held at the beginning; what a session takes once is taken from here."""
        self.look()

    def _take_over(self, before: LiveSettings, base: Path | None) -> dict[Path, WorkspaceFile]:
        """Go on with the layers of others as they are now; returns the workspaces' by their files."""
        with before._lock:
            self._user, self._editor = replace(before._user), before._editor.at(base)
            self._told = before._told
            return {each.file: replace(each) for each in before._workspaces}

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
        own = (*self._user.warnings, *self._unknown, *told_of(self._variables), *self._editor.warnings)
        warnings = (*own, *of_others, *chain.from_iterable(each.warnings for each in self._workspaces))
        return result, tuple(dict.fromkeys(warnings))


def _same_file(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False
