"""The canonical roots of a workspace: what lies inside, and where an absolute path enters them."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ..errors import PathRefusedError
from .descriptor_path import DIRECTORY_FLAGS, descriptor_path, descriptors_have_paths
from .located import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

_T = TypeVar("_T")


class PathMovedError(Exception):
    """What was found a moment ago is something else now; look again. Never leaves this package."""


@dataclass(frozen=True, slots=True)
class Root:
    """A root as it was given and the canonical path that it had when it was first used."""

    given: str
    canonical: str


class Boundary:
    """Several roots as one boundary.

    Construction is pure. A root's canonical path is fixed when it is first used: a root that is later swapped for
    a link to another place does not move the boundary there, its files are refused instead. A root that does not
    exist yet is looked for again at the next call.
    """

    def __init__(self, given: tuple[str, ...]) -> None:
        self.given = given
        self._known: dict[str, Root] = {}
        self._entrances: tuple[tuple[str, Root], ...] = ()
        self._insides: tuple[tuple[str, str], ...] = ()

    def first(self) -> Root:
        """The root that relative paths start at.

        Raises:
            PathRefusedError: it does not exist.
        """
        self._learn()
        root = self._known.get(self.given[0])
        if root is None:
            raise self._missing_root(self.given[0])
        return root

    def enter(self, path: str) -> tuple[Root, str] | None:
        """The root that an absolute path is written below, and the rest of it; None when it is in none of them.

        This compares text, so it decides where to start and never what is inside.
        """
        self._learn()
        slashed = path + "/"
        for prefix, root in self._entrances:
            if slashed.startswith(prefix):
                return root, path[len(prefix) :]
        return None

    def root_of(self, path: str) -> str | None:
        """The innermost canonical root that a canonical path lies in."""
        slashed = path + "/"
        for prefix, canonical in self._insides:
            if slashed.startswith(prefix):
                return canonical
        return None

    def is_root(self, path: str) -> bool:
        """Whether a path is a root, as it was given or canonical."""
        self._learn()
        return path in self.given or any(path == root.canonical for root in self._known.values())

    def open(self, root: Root) -> int:
        """Open a root's directory, for use as an anchor.

        Raises:
            PathRefusedError: it is gone, unreachable, or no longer where it was.
        """
        try:
            fd = os.open(root.given, DIRECTORY_FLAGS)
        except OSError as error:
            raise self._missing_root(root.given, error) from None
        if not descriptors_have_paths() and os.path.realpath(root.given) != root.canonical:
            os.close(fd)
            raise PathRefusedError(f"{printable(root.given)}: this root now leads somewhere else; nothing is opened.")
        return fd

    def outside(self, asked: str) -> PathRefusedError:
        """The refusal of a path that does not lie in the roots; it does not tell where the path leads."""
        self._learn()
        roots = ", ".join(printable(r) for r in self.given)
        return PathRefusedError(
            f"{printable(asked)}: is outside the workspace, or leads out of it through a link or `..`. "
            f"Use a path inside {roots}."
        )

    def _learn(self) -> None:
        if len(self._known) == len(self.given):
            return
        for given in self.given:
            if given not in self._known and (canonical := _canonical(given)) is not None:
                self._known[given] = Root(given, canonical)
        roots = tuple(self._known.values())
        entrances = {_slashed(r.canonical): r for r in roots} | {_slashed(r.given): r for r in roots}
        self._entrances = _longest_first(entrances.items())
        self._insides = _longest_first((_slashed(r.canonical), r.canonical) for r in roots)

    def _missing_root(self, given: str, error: OSError | None = None) -> PathRefusedError:
        reason = "it is not an existing directory"
        if error is not None and error.errno not in {errno.ENOENT, errno.ENOTDIR}:
            reason = error.strerror or str(error)
        return PathRefusedError(
            f"{printable(given)}: this workspace root cannot be used: {reason}. "
            "Nothing below it can be read or written until it exists again."
        )


def _canonical(given: str) -> str | None:
    try:
        fd = os.open(given, DIRECTORY_FLAGS)
    except OSError:
        return None
    try:
        return descriptor_path(fd) if descriptors_have_paths() else os.path.realpath(given)
    except OSError:
        return None
    finally:
        os.close(fd)


def _slashed(path: str) -> str:
    return path.rstrip("/") + "/"


def _longest_first(items: Iterable[tuple[str, _T]]) -> tuple[tuple[str, _T], ...]:
    return tuple(sorted(items, key=lambda item: len(item[0]), reverse=True))
