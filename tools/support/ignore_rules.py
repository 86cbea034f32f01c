"""Which names of a directory all the ignore files together leave out, by the precedence that ripgrep gives them.

``.rgignore`` before ``.ignore`` before ``.gitignore`` before a repository's ``info/exclude`` before the user's global
excludes; in each kind the deepest file first, in each file the last line that matches. The last three hold inside a git
repository only, and none of them reaches into a repository below it.

Not done: ``core.ignoreCase``; a ``core.excludesFile`` in a repository's own configuration, which its files could set.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from .git_files import TooLargeFile, global_excludes_path, regular_content, repository_exclude_path
from .ignore_file import byte_text, compiled, ignores
from .located import printable
from .path_patterns import WEIGHT_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .ignore_file import IgnoreFile
    from .name_patterns import Names
    from .path_patterns import PathState

_FILE_MAX_BYTES: Final = 1024 * 1024
_WALK_MAX_BYTES: Final = 4 * 1024 * 1024

_RG, _DOT, _GIT, _EXCLUDE, _GLOBAL = range(5)
_IGNORE_FILES: Final = {".rgignore": _RG, ".ignore": _DOT, ".gitignore": _GIT}
_REPOSITORY: Final = ".git"
SPECIAL_NAMES: Final = frozenset({*_IGNORE_FILES, _REPOSITORY})
"""Where one of these is, other rules may hold than in the directory above."""


class IgnoreReader:
    """Reads ignore files within a budget; ``not_applied`` names those that were too large for it.

    ``outside`` is told the ``.gitignore`` files that do not hold, because there is no repository.
    """

    def __init__(self, not_applied: list[str], outside: list[str]) -> None:
        self.not_applied = not_applied
        self.outside = outside
        self._left_bytes = _WALK_MAX_BYTES
        self._global: list[IgnoreFile | None] = []

    def global_excludes(self) -> IgnoreFile | None:
        """The user's own, read once for a walk. A link is followed here: it is the user's, and often one."""
        if not self._global:
            path = global_excludes_path()
            self._global.append(None if path is None else self.read(path, None, path, follows_link=True))
        return self._global[0]

    def read(self, name: str, directory_fd: int | None, shown: str, *, follows_link: bool = False) -> IgnoreFile | None:
        """The rules of a file, None where there are none. A link is not followed, as git does not either."""
        most = min(_FILE_MAX_BYTES, self._left_bytes)
        content = regular_content(name, most, directory_fd=directory_fd, follows_link=follows_link)
        if content is None:
            return None
        if isinstance(content, TooLargeFile):
            self.refuse(shown)
            return None
        self._left_bytes -= len(content)
        rules = compiled(content)
        return None if rules.is_empty else rules

    def refuse(self, shown: str) -> None:
        """Take note of a file whose rules are not applied."""
        self.not_applied.append(printable(shown))


class _Level:
    """One ignore file, as it stands in one directory."""

    __slots__ = ("category", "file", "state")

    def __init__(self, category: int, file: IgnoreFile, state: PathState) -> None:
        self.category = category
        self.file = file
        self.state = state


class IgnoreRules:
    """What the ignore files say of the names in one directory; immutable, made from that of the directory above."""

    __slots__ = (
        "_directories",
        "_files",
        "_has_exceptions",
        "_is_of_bytes",
        "_is_settled",
        "_levels",
        "in_repository",
    )

    def __init__(self, levels: tuple[_Level, ...] = (), *, in_repository: bool = False) -> None:
        self.in_repository = in_repository
        self._levels = levels
        self._has_exceptions = any(level.file.has_exceptions for level in levels)
        self._files = [level.state.files for level in levels if level.state.files]
        self._directories = [level.state.directories for level in levels if level.state.directories]
        self._is_of_bytes = any(level.file.is_of_bytes for level in levels)
        self._is_settled = all(level.state.is_settled for level in levels)

    def below(self, name: str) -> IgnoreRules:
        """What holds in the directory of this name, before its own ignore files are read."""
        if self._is_settled:
            return self
        name = byte_text(name)
        states = tuple(level.state.below(name) for level in self._levels)
        levels = list(zip(self._levels, states, strict=True))
        if all(state is level.state for level, state in levels):
            return self
        alive = tuple(_Level(level.category, level.file, state) for level, state in levels if not state.is_dead)
        return IgnoreRules(alive, in_repository=self.in_repository)

    def with_files_of(
        self, names: Iterable[str], directory_fd: int | None, path: str, reader: IgnoreReader
    ) -> IgnoreRules:
        """What holds in a directory in which there are these ignore files, or a repository. ``path`` is absolute.

        Without a descriptor the files are opened by ``path``.
        """
        present = set(names)
        levels, in_repository = list(self._levels), self.in_repository
        if _REPOSITORY in present:
            in_repository = True
            levels = [level for level in levels if level.category < _GIT]
            self._add(levels, _GLOBAL, reader.global_excludes(), "the global excludes", reader)
            exclude = repository_exclude_path(path)
            self._add(levels, _EXCLUDE, reader.read(exclude, None, exclude), exclude, reader)
        for name, category in _IGNORE_FILES.items():
            if name in present and category == _GIT and not in_repository:
                reader.outside.append(printable(os.path.join(path, name)))
            elif name in present:
                shown = os.path.join(path, name)
                file = reader.read(name if directory_fd is not None else shown, directory_fd, shown)
                self._add(levels, category, file, shown, reader)
        # Sorting is stable, and what is new stands before what was there.
        levels.sort(key=lambda level: level.category)
        return IgnoreRules(tuple(levels), in_repository=in_repository)

    def _add(
        self, levels: list[_Level], category: int, file: IgnoreFile | None, shown: str, reader: IgnoreReader
    ) -> None:
        if file is None:
            return
        if file.weight + sum(level.file.weight for level in levels) > WEIGHT_MAX:
            reader.refuse(shown)
            return
        levels.insert(0, _Level(category, file, file.top))

    def kept_files(self, names: list[str]) -> list[str]:
        """The names of what is no directory that are not ignored; the same list where all are kept."""
        return self._kept(names, self._files) if self._files and names else names

    def kept_directories(self, names: list[str]) -> list[str]:
        """The names of directories that are not ignored; the same list where all are kept."""
        return self._kept(names, self._directories) if self._directories and names else names

    def _kept(self, names: list[str], matchers: list[tuple[Names, ...]]) -> list[str]:
        if self._has_exceptions or (self._is_of_bytes and not "".join(names).isascii()):
            kept = [name for name in names if not self._ignores(byte_text(name), matchers)]
            return kept if len(kept) < len(names) else names
        for level in matchers:
            for each in level:
                names = each.misses(names)
        return names

    @staticmethod
    def _ignores(name: str, matchers: list[tuple[Names, ...]]) -> bool:
        for level in matchers:
            verdict = max([each.look(name) for each in level])
            if verdict:
                return ignores(verdict)
        return False


NO_RULES: Final = IgnoreRules()


def rules_above(path: str, reader: IgnoreReader) -> IgnoreRules:
    """What the ignore files above a directory say of it, up to the top of the file system, as ripgrep and git have it.

    They lie outside of the boundary where a root is only a part of a repository. Nothing of them is told; all they do
    is to leave out names that lie inside.
    """
    rules = NO_RULES
    above = "/"
    for name in path.strip("/").split("/"):
        rules = _with_files_at(above, rules, reader).below(name)
        above = os.path.join(above, name)
    return rules


def leaves_out(directory: str, path: str, pruned: frozenset[str]) -> bool:
    """Whether a walk from a directory would not come by a file at ``path`` below it, which need not be there."""
    reader = IgnoreReader([], [])
    rules = rules_above(directory, reader)
    *above, file = path.split("/")
    for name in above:
        rules = _with_files_at(directory, rules, reader)
        if name in pruned or not rules.kept_directories([name]):
            return True
        rules = rules.below(name)
        directory = os.path.join(directory, name)
    return not _with_files_at(directory, rules, reader).kept_files([file])


def _with_files_at(directory: str, rules: IgnoreRules, reader: IgnoreReader) -> IgnoreRules:
    present = [special for special in SPECIAL_NAMES if os.path.lexists(os.path.join(directory, special))]
    return rules.with_files_of(present, None, directory, reader) if present else rules
