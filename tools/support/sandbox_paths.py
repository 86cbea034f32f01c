"""Paths in a sandbox with files of its own: POSIX paths that are made absolute here, and confined there (S4).

The root is where relative paths start, and no boundary. Nothing is resolved: which links a path goes through, only the
sandbox knows, so ``..`` is refused, for it may lead elsewhere than the text says.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from ..errors import PathRefusedError, ToolDefinitionError
from .paths import check_text, printable

if TYPE_CHECKING:
    from .paths import CwdInput

_SHOWN_CHARS: Final = 200
_WINDOWS_PATH: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")


class SandboxRoots:
    """The root, or the roots, inside a sandbox; relative paths start at the first.

    Raises:
        ToolDefinitionError: a root is missing, empty, relative, or no path that could be used there.
    """

    def __init__(self, cwd: CwdInput) -> None:
        given: object = cwd  # callers may pass anything
        many = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
        self.given = tuple(_checked_root(each) for each in (cast("Sequence[object]", given) if many else (given,)))
        if not self.given:
            raise ToolDefinitionError("cwd is required: it names the root inside the sandbox")

    @property
    def first(self) -> str:
        """The root that relative paths start at."""
        return self.given[0]

    def is_root(self, path: str) -> bool:
        """Whether an absolute path is one of the roots, or the root of all."""
        return path == "/" or path in self.given

    def absolute(self, path: str) -> str:
        """The path from the top, with single slashes and none at the end.

        Raises:
            PathRefusedError: it can be no path there, or does not say where it leads; the text says why.
        """
        check_text(path)
        shown = printable(path[:_SHOWN_CHARS])
        if _WINDOWS_PATH.match(path):
            raise PathRefusedError(f"{shown}: is a Windows path; the sandbox has paths such as {self.first}/file.")
        names = path.split("/")
        if ".." in names:
            raise PathRefusedError(
                f"{shown}: contains `..`, which may lead elsewhere than it says where the sandbox has links; write the "
                "path without it."
            )
        absolute = posixpath.join(self.first, path)
        found = "/" + "/".join(name for name in absolute.split("/") if name not in {"", "."})
        if f"{found}/".startswith("/proc/"):
            raise PathRefusedError(
                f"{printable(found[:_SHOWN_CHARS])}: is in /proc, which describes processes and is no part of a "
                "workspace; name a regular file."
            )
        check_text(found)
        return found

    def file(self, path: str) -> str:
        """The same, of a path that is to name a file.

        Raises:
            PathRefusedError: as :meth:`absolute`, or it ends in a slash.
        """
        absolute = self.absolute(path)
        if path.endswith(("/", "/.")) or path == ".":
            raise PathRefusedError(
                f"{printable(path[:_SHOWN_CHARS])}: the path ends in a slash or a dot, as that of a directory does; "
                "name a file."
            )
        return absolute


def _checked_root(root: object) -> str:
    if root is None or root == "":
        raise ToolDefinitionError("cwd is required: it names the root inside the sandbox; pass an absolute path")
    try:
        text = os.fspath(root)  # type: ignore[arg-type]  # that is what is being found out
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise ToolDefinitionError(f"cwd has to be a path (str or os.PathLike[str]), not {type(root).__name__}")
    if not text.startswith("/"):
        raise ToolDefinitionError(
            f"cwd has to be an absolute POSIX path inside the sandbox, and {printable(text)!r} is not"
        )
    try:
        check_text(text)
    except PathRefusedError as refusal:
        raise ToolDefinitionError(f"cwd (a root inside the sandbox): {refusal}") from None
    names = [name for name in text.split("/") if name not in {"", "."}]
    if ".." in names:
        raise ToolDefinitionError(f"cwd {printable(text)!r} contains `..`; pass the path without it")
    return "/" + "/".join(names)
