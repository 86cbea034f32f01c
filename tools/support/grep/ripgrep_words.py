"""What ripgrep found, cut down to the files that are wanted, and what it left out, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..glob_pattern import GlobPattern
from ..left_out import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..glob_pattern import GlobSelection
    from .order import Found
    from .ripgrep import RipgrepResult


def keep_wanted(found: Found, glob: str) -> None:
    """Leave out files that the pattern does not match; ripgrep was only given its last name."""
    if not glob:
        return
    is_wanted = _filter(GlobPattern(glob, anywhere=True).selection())
    found.matched = [each for each in found.matched if is_wanted(each[0])]
    for reason, named in found.named.items():
        wanted = [each for each in named if is_wanted(each[0])]
        found.counts[reason] -= len(named) - len(wanted)
        found.named[reason] = wanted


def _filter(top: GlobSelection) -> Callable[[str], bool]:
    selections: dict[str, GlobSelection] = {"": top}

    def selection(directory: str) -> GlobSelection:
        known = directory
        while known not in selections:  # no recursion: a path can have two thousand names
            known = known.rpartition("/")[0]
        here = selections[known]
        for name in directory[len(known) :].strip("/").split("/") if known != directory else ():
            known = f"{known}/{name}" if known else name
            here = selections[known] = here.below(name)
        return here

    def is_wanted(path: str) -> bool:
        directory, _, name = path.rpartition("/")
        return bool(selection(directory).names([name]))

    return is_wanted


def reasons_of_ripgrep(result: RipgrepResult) -> list[str]:
    """One sentence for each reason for which something was not looked at."""
    least = "" if result.log_is_whole else "at least "
    reasons: list[str] = []
    if result.ignored:
        what = counted(result.ignored, "file or directory", "files and directories")
        reasons.append(
            f"{least}{what} that ignore files (.gitignore and the like) leave out (respectGitignore false shows them)"
            f"{result.ignored_names.words(result.ignored)}"
        )
    for name, count in sorted(result.pruned.items()):
        what = counted(count, "directory", "directories")
        reasons.append(f"{least}{what} named {name} (looked into where path or pattern has that name in it)")
    if result.hides:
        reasons.append("whatever permission rules keep from being read")
    if result.no_files:
        what = counted(result.no_files, "link, FIFO, socket or device", "links, FIFOs, sockets and devices")
        reasons.append(f"{least}{what}; links to directories are not followed either, and not counted")
    return reasons
