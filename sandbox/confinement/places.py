"""The paths of settings and of the composition root, as they are on the host now: what is hidden, what may be written.

A setting names a path once and for all. What it led to when it was first seen is what it means; a path that a command
may have replaced meanwhile is dropped, and that is told.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from ..paths import lies_in
from ..quarantine.protected import resolved
from .layout import KERNEL_PLACES, Hidden
from .mount_table import MOUNT_TABLE, Mount, other_names, parse_mount_table
from .steps import TooManyLinksError, first_step_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet


class WritablePlaces:
    """What the paths of ``allow_write`` lead to, resolved when each is first seen."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = tuple(roots)
        self._first_seen: dict[str, str] = {}

    def usable(self, paths: Iterable[str], hidden: Sequence[Hidden]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The resolved paths that may be written besides the roots now, and a sentence for each that is left out.

        One that leads through a root is not among them: what lies there is the commands' anyway, and one that runs
        could lead it out between two looks.
        """
        kept: list[str] = []
        left_out: list[str] = []
        each_once = tuple(dict.fromkeys(paths))
        writable = (*self._roots, *filter(None, map(resolved, each_once)))
        for path in each_once:
            reason = self._refusal(path, hidden, writable)
            if reason:
                left_out.append(f"{path} of allow_write is left out: {reason}")
            elif not self._leads_through_a_root(path):
                kept.append(self._first_seen[path])
        return tuple(dict.fromkeys(kept)), tuple(left_out)

    def _leads_through_a_root(self, path: str) -> bool:
        try:
            return bool(first_step_in(path, self._roots))
        except TooManyLinksError:
            return True  # it led somewhere a moment ago: somebody plays with it

    def _refusal(self, path: str, hidden: Sequence[Hidden], writable: Sequence[str]) -> str:
        if not os.path.isabs(path):
            return "it is not an absolute path"
        now = resolved(path)
        if not now:
            return "it does not exist"
        link = _first_link(path, writable)
        if link:
            return f"{link} is a link where commands may write, so they could choose where it leads"
        first = self._first_seen.setdefault(path, now)
        if first != now:
            return f"it led to {first} first and leads to {now} now; start the session again if that is meant"
        if now == "/" or any(lies_in(now, place) or lies_in(place, now) for place in KERNEL_PLACES):
            return "the whole file system and the kernel's own files are never writable"
        around = next((each.path for each in hidden if lies_in(now, each.path)), "")
        return f"it lies in {around}, which is hidden from commands" if around else ""


class HiddenPlaces:
    """What must not be read, under every name by which the host shows it."""

    def __init__(self) -> None:
        self._table_text = ""
        self._table: tuple[Mount, ...] = ()
        self._ever_led_to: dict[str, tuple[str, ...]] = {}

    def existing(self, paths: Iterable[str]) -> tuple[Hidden, ...]:
        """Those of the paths that exist and that a command could reach, resolved, with all their other names.

        A path stays hidden where it once led to: a link on the way to it may be in the hands of commands.
        """
        table = self._mounts()
        found: dict[str, Hidden] = {}
        for path in paths:
            for place in self._led_to(path):
                same = (name for name in other_names(place, table) if _is_same(name, place))
                for name in (place, *same):
                    hidden = _hidden(name)
                    if hidden is not None:
                        found[name] = hidden
        return tuple(found.values())

    def _led_to(self, path: str) -> tuple[str, ...]:
        now = resolved(path)
        before = self._ever_led_to.get(path, ())
        if now and now not in before:
            before = self._ever_led_to[path] = (*before, now)
        return before

    def _mounts(self) -> tuple[Mount, ...]:
        try:
            with open(MOUNT_TABLE, encoding="utf-8", errors="surrogateescape") as table:
                text = table.read()
        except OSError:
            return ()
        if text != self._table_text:
            self._table, self._table_text = parse_mount_table(text), text
        return self._table


def hard_linked(hidden: Iterable[Hidden]) -> tuple[str, ...]:
    """Hidden files that have a second name on their file system, which nothing hides."""
    return tuple(each.path for each in hidden if not each.is_directory and _links(each.path) > 1)


def _is_same(name: str, path: str) -> bool:
    """Whether the table's word is true: another mount may lie over the name by now."""
    try:
        return os.path.samestat(os.lstat(name), os.lstat(path))
    except (OSError, ValueError):
        return False


def _links(path: str) -> int:
    try:
        return os.lstat(path).st_nlink
    except OSError:
        return 0


def _hidden(path: str) -> Hidden | None:
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return None  # it does not exist, or this user cannot reach it
    if not _reachable_without_privilege(path):
        return None
    return Hidden(path=path, is_directory=stat.S_ISDIR(mode))


def _reachable_without_privilege(path: str) -> bool:
    """Whether bwrap, which has no privilege over files of other users even as root, gets to the path to cover it.

    Nor does the command, where bwrap does not.
    """
    if os.geteuid() != 0:
        return True
    groups = {os.getegid(), *os.getgroups()}
    directory: str = os.path.dirname(path)
    while _may_be_searched(directory, groups):
        if directory == "/":
            return True
        directory = os.path.dirname(directory)
    return False


def _may_be_searched(directory: str, groups: AbstractSet[int]) -> bool:
    """Whether root in these groups gets through a directory by its mode, or perhaps by its access list."""
    facts = os.stat(directory)
    is_owner, is_in_group = facts.st_uid == 0, facts.st_gid in groups
    execute = stat.S_IXUSR if is_owner else stat.S_IXGRP if is_in_group else stat.S_IXOTH
    return bool(facts.st_mode & execute) or _ACCESS_LIST in os.listxattr(directory)


_ACCESS_LIST: Final = "system.posix_acl_access"


def _first_link(path: str, writable: Sequence[str]) -> str:
    """The first component of the path that is a link inside of a writable place; empty if there is none."""
    current = "/"
    for part in os.path.normpath(path).split("/")[1:]:
        current = os.path.join(current, part)
        if os.path.islink(current):
            holder = os.path.realpath(os.path.dirname(current))
            if any(lies_in(holder, place) for place in writable):
                return current
    return ""
