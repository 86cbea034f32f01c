"""What a confined command must not change in a workspace (S9): the list as data, and what of it exists now.

Names are looked up, never compared: the file system itself says that ``.GIT`` is ``.git`` where it holds them for one.
Nothing here changes anything. All of it blocks, for a bounded number of system calls per root.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from ..paths import lies_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

GIT_NAME: Final = ".git"

PROTECTED_NAMES: Final[tuple[str, ...]] = (
    # version control: what git itself reads, and runs
    GIT_NAME,
    ".gitmodules",
    ".gitconfig",
    ".hg",
    # agents and their MCP servers
    ".mcp.json",
    ".claude",
    ".agents",
    ".codex",
    ".gemini",
    ".openbuffer",
    "openbuffer.toml",
    # editors
    ".cursor",
    ".vscode",
    ".idea",
    ".zed",
    ".devcontainer",
    ".exrc",
    ".vimrc",
    ".lvimrc",
    ".nvimrc",
    ".nvim.lua",
    # shells, and tools that read their settings from the directory they start in
    ".envrc",
    ".npmrc",
    ".ripgreprc",
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
)
"""Names at the top of a workspace that configure what the host runs."""

_PROTECTED_FOLDED: Final = frozenset(name.casefold() for name in PROTECTED_NAMES)

BARE_REPOSITORY_NAMES: Final[tuple[str, ...]] = ("HEAD", "objects", "refs")
"""A directory that holds these three is a repository to git, whatever its name."""

GIT_DIRECTORY_NAMES: Final[tuple[str, ...]] = (
    *BARE_REPOSITORY_NAMES,
    "config",
    "config.worktree",
    "commondir",
    "hooks",
    "info",
    "modules",
    "packed-refs",
    "worktrees",
)
"""What is protected of a git directory that cannot be protected whole, because the workspace lies in it."""

POINTER_MAX_BYTES: Final = 64 * 1024
"""A ``.git`` file, or a ``commondir`` file, that is longer points nowhere."""

EntryKind = Literal["file", "directory", "link", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedEntry:
    """A protected name that exists at the top of a root.

    ``path`` is the root's path with the name. ``target`` is the text of a link, else empty. ``leads_to`` is the
    resolved path of what is reached through it: the entry itself unless it is a link; empty where a link leads nowhere.
    """

    root: str
    name: str
    path: str
    kind: EntryKind
    target: str
    leads_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedPaths:
    """What is protected in some roots, as it was at one moment.

    ``git_directories`` are resolved paths of git and common directories that lie elsewhere than in an entry: those that
    a ``.git`` file or link points to, and the repository around a root that has no ``.git`` of its own.
    ``missing_git_directories`` are pointed to and do not exist: who makes one there makes a repository of the root.
    """

    entries: tuple[ProtectedEntry, ...]
    git_directories: tuple[str, ...]
    missing_git_directories: tuple[str, ...] = ()

    @property
    def links(self) -> tuple[ProtectedEntry, ...]:
        """Entries that are symbolic links: a mount follows them, so that a command can replace the link itself."""
        return tuple(entry for entry in self.entries if entry.kind == "link")

    @property
    def read_only(self) -> tuple[str, ...]:
        """Existing, resolved paths to be mounted read-only, wherever they lie; parents first, none below another.

        What a link leads to is among them, the link is not. A link to a directory that holds a root is left out:
        the whole workspace would be read-only.
        """
        roots = {entry.root for entry in self.entries}
        found = {entry.leads_to for entry in self.entries if entry.leads_to and not _holds_any(entry.leads_to, roots)}
        return _outermost((*found, *self.git_directories))


def protected_paths(roots: Sequence[str], stood: Iterable[ProtectedEntry] | None = None) -> ProtectedPaths:
    """What exists of the protected names in these roots, which are absolute, resolved paths of directories.

    A root that cannot be looked into has no entries. The answer is of one moment: where other commands run in the
    same roots, what lies below a link's target or in a git directory elsewhere may be another file by the time it is
    mounted. With ``stood``, the entries are these and nothing is looked for.
    """
    known = None if stood is None else tuple(stood)
    entries: list[ProtectedEntry] = []
    git_directories: list[str] = []
    missing: list[str] = []
    for root in dict.fromkeys(roots):
        found = tuple(_entries_of(root) if known is None else (each for each in known if each.root == root))
        entries.extend(found)
        own = next((entry for entry in found if entry.name == GIT_NAME), None)
        pointed = _git_directories(own.path, own.leads_to) if own is not None else _git_around(root)
        git_directories.extend(_parts_outside((path for path in pointed if os.path.isdir(path)), roots))
        missing.extend(path for path in pointed if not os.path.isdir(path))
    whole = {entry.leads_to for entry in entries if entry.leads_to and not _holds_any(entry.leads_to, roots)}
    return ProtectedPaths(
        entries=tuple(entries),
        git_directories=tuple(path for path in dict.fromkeys(git_directories) if not _below_any(path, whole)),
        missing_git_directories=tuple(dict.fromkeys(missing)),
    )


def has_protected_name(path: str) -> bool:
    """Whether a part of the path, or all of it, has a protected name in any spelling; most paths have none."""
    return any(part.casefold() in _PROTECTED_FOLDED for part in path.split("/"))


def has_bare_shape(root_fd: int) -> bool:
    """Whether git takes this open directory for a repository by what lies in it."""
    return all(exists(name, root_fd) for name in BARE_REPOSITORY_NAMES)


def resolved(path: str) -> str:
    """The path without links of what is there; empty when nothing is reached."""
    try:
        # The kernel follows a bounded number of links; asked first, it keeps the walk below from a hostile chain.
        os.stat(path)
        return os.path.realpath(path, strict=True)
    except (OSError, ValueError, RecursionError):
        return ""


def _entries_of(root: str) -> Iterator[ProtectedEntry]:
    try:
        root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return
    try:
        for name in PROTECTED_NAMES:
            entry = _entry(root, name, root_fd)
            if entry is not None:
                yield entry
    finally:
        os.close(root_fd)


def _entry(root: str, name: str, root_fd: int) -> ProtectedEntry | None:
    try:
        mode = os.stat(name, dir_fd=root_fd, follow_symlinks=False).st_mode
        target = os.readlink(name, dir_fd=root_fd) if stat.S_ISLNK(mode) else ""
    except OSError:
        return None
    path = os.path.join(root, name)
    return ProtectedEntry(
        root=root,
        name=name,
        path=path,
        kind=kind_of(mode),
        target=target,
        leads_to=resolved(path) if target else path,
    )


def kind_of(mode: int) -> EntryKind:
    """What a file's mode says that it is."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def _git_around(root: str) -> tuple[str, ...]:
    """The git directories of the nearest repository above a root; git looks for one there too."""
    directory = os.path.dirname(root)
    while directory and directory != root:
        candidate = os.path.join(directory, GIT_NAME)
        if os.path.lexists(candidate):
            return _git_directories(candidate, resolved(candidate))
        root, directory = directory, os.path.dirname(directory)
    return ()


def _git_directories(dot_git: str, found: str) -> tuple[str, ...]:
    """The git directory that a ``.git`` is or points to, and its common directory; those that exist are resolved.

    ``found`` is the resolved path of what the name leads to; empty if it leads nowhere.
    """
    if not found:
        return ()
    if not os.path.isdir(found):
        # As git reads it: a relative pointer starts at the directory of the name, also where the name is a link.
        pointer = _pointer(found, "gitdir:")
        if not pointer:
            return ()
        found = _resolved_or_named(os.path.join(os.path.dirname(dot_git), pointer))
    common = _pointer(os.path.join(found, "commondir"), "")
    return (found, _resolved_or_named(os.path.join(found, common))) if common else (found,)


def _resolved_or_named(path: str) -> str:
    if found := resolved(path):
        return found
    directory, name = os.path.split(os.path.normpath(path))
    return os.path.join(resolved(directory) or directory, name)


def _pointer(path: str, prefix: str) -> str:
    """The path that a small regular file holds after its prefix; empty where it holds none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        content = os.read(descriptor, POINTER_MAX_BYTES + 1)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    text = os.fsdecode(content)
    if len(content) > POINTER_MAX_BYTES or not text.startswith(prefix) or "\0" in text:
        return ""
    return text.removeprefix(prefix).lstrip(" ").rstrip("\r\n")


def _parts_outside(git_directories: Iterable[str], roots: Sequence[str]) -> Iterator[str]:
    """Git directories, whole unless a root lies in one: then the names that make it one."""
    for directory in git_directories:
        if _holds_any(directory, roots):
            parts = (os.path.join(directory, name) for name in GIT_DIRECTORY_NAMES)
            yield from (part for part in map(resolved, parts) if part and not _holds_any(part, roots))
        else:
            yield directory


def _holds_any(directory: str, paths: Iterable[str]) -> bool:
    return any(lies_in(path, directory) for path in paths)


def _below_any(path: str, directories: Iterable[str]) -> bool:
    return any(lies_in(path, directory) for directory in directories)


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for path in sorted(set(paths)):
        # Sorted, a parent comes before what is below it.
        if not _below_any(path, kept):
            kept.append(path)
    return tuple(kept)


def exists(name: str, directory_fd: int) -> bool:
    """Whether an open directory has an entry of this name, be it a link that leads nowhere."""
    try:
        os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
    except OSError:
        return False
    return True
