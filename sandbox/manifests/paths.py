"""Which paths a workspace manifest may name, and which two of them cannot both be there. Pure: no file is looked at.

Paths are POSIX paths below the workspace. What one file system takes for two names and another one for a single name
(by case, by Unicode normalisation, by dots and blanks at the end) is refused, because one entry would silently replace
the other.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal, TypeAlias

PATH_MAX_CHARS: Final = 1_024
NAME_MAX_BYTES: Final = 255
DEPTH_MAX: Final = 64

Place: TypeAlias = Literal["leaf", "directory", "implied"]
"""``leaf``: nothing of the manifest may lie below it; ``implied``: a directory, because something lies below it."""


class ManifestPathError(ValueError):
    """The path cannot be one of a manifest's; the text says why."""


def check_path(path: str) -> str:
    """The path, if an entry may have it.

    Raises:
        ManifestPathError: it may not.
    """
    if not path:
        raise ManifestPathError("a path is empty; name a file or directory below the workspace")
    if len(path) > PATH_MAX_CHARS:
        raise ManifestPathError(f"{shown(path)} has {len(path):,} characters; {PATH_MAX_CHARS:,} are the most")
    if "\0" in path:
        raise ManifestPathError(f"{shown(path)} contains a NUL character, which no path does")
    if "\\" in path:
        raise ManifestPathError(f"{shown(path)} contains a backslash; directories are separated by /")
    if path.startswith("/"):
        raise ManifestPathError(f"{shown(path)} is absolute; paths are relative to the workspace")
    if _DRIVE.match(path):
        raise ManifestPathError(f"{shown(path)} starts with a drive letter; paths are relative to the workspace")
    names = path.split("/")
    if len(names) > DEPTH_MAX:
        raise ManifestPathError(f"{shown(path)} is {len(names)} names deep; {DEPTH_MAX} are the most")
    for name in names:
        _check_name(name, path)
    return path


def _check_name(name: str, path: str) -> None:
    if not name:
        raise ManifestPathError(
            f"{shown(path)} has an empty name in it; take out the slash at the end, or the double one"
        )
    if name in {".", ".."}:
        raise ManifestPathError(f"{shown(path)} contains {name!r}; name the place itself, below the workspace")
    if any(unicodedata.category(character) in _UNUSABLE for character in name):
        raise ManifestPathError(f"{shown(path)} contains a control character or half a character")
    if len(name.encode()) > NAME_MAX_BYTES:
        raise ManifestPathError(f"{shown(path)} has a name of more than {NAME_MAX_BYTES} bytes")
    if is_git_name(name):
        raise ManifestPathError(
            f"{shown(path)} leads into git's own directory; a repository comes by an entry of type gitRepo"
        )


def is_git_name(name: str) -> bool:
    """Whether some file system takes the name for ``.git``: by case, marks that it ignores, short names, streams."""
    plain = "".join(character for character in name if unicodedata.category(character) != "Cf")
    plain = unicodedata.normalize("NFKC", plain).casefold().partition(":")[0].rstrip(". ")
    return plain == ".git" or _SHORT_GIT.fullmatch(plain) is not None


class PathTable:
    """The paths of a manifest, of all its entries and of what local directories bring."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[str, Place]] = {}

    def add(self, path: str, place: Place) -> None:
        """Take a checked path, and the directories above it.

        Raises:
            ManifestPathError: it cannot be there beside those that were taken already.
        """
        end = path.find("/")
        while end != -1:
            self._add(path[:end], "implied", of=path)
            end = path.find("/", end + 1)
        self._add(path, place, of=path)

    def place(self, path: str) -> Place | None:
        """What the manifest has at this path, in whatever spelling; None if nothing."""
        known = self._places.get(folded(path))
        return None if known is None else known[1]

    def _add(self, path: str, place: Place, *, of: str) -> None:
        key = folded(path)
        known = self._places.get(key)
        if known is None:
            self._places[key] = (path, place)
            return
        spelling, was = known
        if spelling != path:
            raise ManifestPathError(
                f"{shown(path)} and {shown(spelling)} differ only by case, by the form of their characters, by what is "
                "not seen, or by dots and blanks at the end, and are one name to some file systems; rename one"
            )
        if was == place and place != "implied":
            raise ManifestPathError(f"{shown(path)} is there twice; take one of them out")
        if "leaf" in {was, place}:
            raise ManifestPathError(
                f"{shown(path)} is a directory because of {shown(of)}, and something else as well; move one of them"
                if place == "implied"
                else f"{shown(path)} would have to be a directory and something else as well; move one of them"
            )
        if place == "directory":
            self._places[key] = (path, place)


def folded(path: str) -> str:
    """The same for all spellings that some file system takes for one name."""
    if _TRAILING.search(path):
        path = _TRAILING.sub("", path) or path
    if path.isascii():
        return path.lower()
    seen = "".join(character for character in path if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", seen).casefold())


def shown(path: str) -> str:
    """The path in a message: quoted, its controls escaped, and not too much of it."""
    return repr(path) if len(path) <= _SHOWN_CHARS else f"{path[:_SHOWN_CHARS]!r}..."


_TRAILING: Final = re.compile(r"(?<=[^/])[. ]+(?=/|\Z)")
_SHOWN_CHARS: Final = 200
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_SHORT_GIT: Final = re.compile(r"\.?git~[0-9]+")
_UNUSABLE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
