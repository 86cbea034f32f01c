"""What a search did not look at, in words: "nothing found" is not "I did not look there"."""

from __future__ import annotations

from heapq import nsmallest
from itertools import chain
from typing import TYPE_CHECKING, Final

from .located import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .walk import Tally

_MOST_NAMED: Final = 5


class FirstNames:
    """The first few of many paths, in their order."""

    def __init__(self) -> None:
        self._paths: list[str] = []

    def add(self, directory: str, names: Iterable[str]) -> None:
        """Take note of names in a directory; both relative to where the search began."""
        paths = (f"{directory}/{name}" if directory else name for name in names)
        self._paths = nsmallest(_MOST_NAMED, chain(self._paths, paths))

    def name_only(self, is_known: Callable[[str], bool]) -> None:
        """Forget the names that are not known."""
        self._paths = [path for path in self._paths if is_known(path)]

    def words(self, count: int) -> str:
        """What follows the number: a colon, the names, how many more there are; nothing where none was noted."""
        if not self._paths:
            return ""
        more = f" and {count - len(self._paths)} more" if count > len(self._paths) else ""
        return f": {', '.join(printable(path) for path in self._paths)}{more}"


def counted(count: int, one: str, many: str) -> str:
    """The number with its word."""
    return f"{count} {one if count == 1 else many}"


def left_out(
    tally: Tally,
    *,
    ignored: FirstNames,
    ignored_directories: FirstNames,
    links: FirstNames | None,
    how_to_see_ignored: str = "respectGitignore false shows them",
) -> list[str]:
    """One line per reason, each with the number, some names and the way to see them.

    Without ``links`` it is a list of everything there is: links and other kinds are in it, and nothing was to match.
    """
    lines: list[str] = []
    one, many = ("name", "names") if links is None else ("name that matches, but", "names that match, but")
    if tally.ignored_directories:
        what = counted(tally.ignored_directories, "directory", "directories")
        names = ignored_directories.words(tally.ignored_directories)
        lines.append(f"{what} that ignore files (.gitignore and the like) leave out ({how_to_see_ignored}){names}")
    if tally.ignored_files:
        what = counted(tally.ignored_files, one, many)
        names = ignored.words(tally.ignored_files)
        lines.append(f"{what} that ignore files leave out ({how_to_see_ignored}){names}")
    for name, count in sorted(tally.pruned.items()):
        what = counted(count, "directory", "directories")
        lines.append(f"{what} named {name} (looked into where path or pattern has that name in it)")
    if tally.links and links is not None:
        lines.append(f"{counted(tally.links, 'link', 'links')}, not followed{links.words(tally.links)}")
    if tally.others and links is not None:
        lines.append(
            f"{counted(tally.others, 'FIFO, socket or device that matches', 'FIFOs, sockets or devices that match')}"
        )
    if tally.hides:
        # Whether anything was there is not told, and so not how much.
        lines.append("whatever permission rules keep from being read")
    if tally.unread.count:
        what = counted(tally.unread.count, "directory", "directories")
        lines.append(f"{what} that could not be read: {_named(tally.unread.named, tally.unread.count)}")
    if tally.not_applied:
        lines.append(f"nothing by ignore files that are too large to be applied: {_named(tally.not_applied)}")
    if tally.outside_repository:
        lines.append(f"nothing by .gitignore files in no git repository: {_named(tally.outside_repository)}")
    if tally.changed:
        lines.append(f"{counted(tally.changed, 'directory', 'directories')} that went away during the search")
    return lines


def _named(shown: list[str], count: int | None = None) -> str:
    """The first of them; ``count`` is of all, where the list itself was cut."""
    more = (len(shown) if count is None else count) - _MOST_NAMED
    return ", ".join(shown[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
