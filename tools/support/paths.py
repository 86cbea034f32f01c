"""Containment: resolving a path to something opened inside the roots, or refusing it with the reason (P1 to P6).

Everything here blocks for the time of a few system calls and is meant for a worker thread. Nothing is read, no
device, FIFO or socket is opened, and what is judged is what was opened, so a path that is swapped for a link while
it is being looked at is refused and not followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

from ..errors import PathRefusedError, ToolDefinitionError
from ..limits import PATH_MAX_CHARS
from . import openat2
from .boundary import Boundary, PathMovedError
from .descriptor_path import descriptors_have_paths
from .link_walk import walk
from .located import Kind, Located, printable
from .open_leaf import missing_leaf, open_leaf

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["Assurance", "CwdInput", "Kind", "Located", "Roots", "printable"]

CwdInput: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""One root or several."""

Assurance = Literal["descriptor", "walk", "none"]

_ATTEMPTS = 50  # against somebody who keeps swapping what lies under the path


class Roots:
    """The boundary of the file tools: one root or several, as one.

    Construction touches no file. Relative paths start at the first root, never at the process's directory.

    Raises:
        ToolDefinitionError: a root is missing, empty, relative, or not a path at all.
    """

    def __init__(self, cwd: CwdInput) -> None:
        self.given = _checked_roots(cwd)
        self._boundary = Boundary(self.given)

    @property
    def first(self) -> str:
        """The root that relative paths start at, as it was given."""
        return self.given[0]

    @property
    def assurance(self) -> Assurance:
        """How containment is judged on this system.

        ``descriptor``: on the path that the system tells for what was opened (Linux with /proc, macOS).
        ``walk``: every directory is opened by name below the one before without following links, and links are
        resolved by ourselves; a directory that is moved out of the root during the call is not noticed.
        ``none``: the system has no directory descriptors; every path is refused.
        """
        if os.open not in os.supports_dir_fd:
            return "none"
        return "descriptor" if descriptors_have_paths() else "walk"

    def locate(self, file_path: str) -> Located:
        """Resolve and open a path. The caller closes the result.

        Nothing is refused for what it is (a directory, a FIFO, missing): ``Located.require_file`` does that, after
        the gate was asked about the canonical path.

        Raises:
            UnresolvedPathError: something on the way is in the way.
            PathRefusedError: no path, outside the roots, in /proc, or not to be resolved; the text says why and
                what to do.
        """
        check_text(file_path)
        return self._locate(file_path, follows_last=True)

    def locate_entry(self, path: str) -> Located:
        """Resolve and open what has the name itself: as ``locate``, but a link under the last name is not followed.

        Slashes at the end do not count. The caller closes the result.

        Raises:
            PathRefusedError: as ``locate``, or the path ends in ``.`` or ``..``, which names nothing by itself.
            UnresolvedPathError: something on the way is in the way.
        """
        check_text(path)
        bare = path.rstrip("/") or "/"
        if bare.rpartition("/")[2] in {".", ".."}:
            raise PathRefusedError(
                f"{printable(path)}: ends in `.` or `..`, which is no name of its own; write the name that is meant."
            )
        return self._locate(bare, follows_last=False)

    def is_root(self, path: str) -> bool:
        """Whether a path is one of the roots, as it was given or as it is resolved."""
        return self._boundary.is_root(path)

    def _locate(self, file_path: str, *, follows_last: bool) -> Located:
        if self.assurance == "none":
            raise PathRefusedError(
                f"{printable(file_path)}: this system cannot open files relative to a directory, so that it cannot be "
                "made sure that a path stays in the workspace; file tools are not available here."
            )
        for _ in range(_ATTEMPTS):
            try:
                located = self._directly(file_path, follows_last=follows_last)
                return located or walk(self._boundary, file_path, follows_last=follows_last)
            except PathMovedError:
                continue
        raise PathRefusedError(
            f"{printable(file_path)}: keeps changing while it is being opened; something else is replacing it. "
            "Try again later."
        )

    def _directly(self, path: str, *, follows_last: bool) -> Located | None:
        """The short way for a plain path: two opens. None means that the path has to be walked.

        A path is plain where nothing lies on the way that the result does not lie in: no ``..`` and no link.
        """
        if not (openat2.available() and descriptors_have_paths()):
            return None
        entrance = self._boundary.enter(path) if path.startswith("/") else (self._boundary.first(), path)
        if entrance is None:
            return None
        root, relative = entrance
        directory, _, name = relative.rpartition("/")
        if name in {"", "."} or ".." in relative.split("/"):
            return None
        anchor_fd = self._boundary.open(root)
        try:
            if directory:
                root_fd = anchor_fd
                anchor_fd = openat2.open_directory_beneath(root_fd, directory)
                os.close(root_fd)
            located = self._leaf_directly(path, anchor_fd, name, follows_last=follows_last)
        except OSError:
            located = None
        except BaseException:
            os.close(anchor_fd)
            raise
        if located is None:
            os.close(anchor_fd)
        return located

    def _leaf_directly(self, path: str, parent_fd: int, name: str, *, follows_last: bool) -> Located | None:
        try:
            status = os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
        except FileNotFoundError:
            return missing_leaf(self._boundary, path, parent_fd, (name,))
        if stat.S_ISLNK(status.st_mode) and follows_last:
            return None
        return open_leaf(self._boundary, path, parent_fd, name, status)


def _checked_roots(cwd: CwdInput) -> tuple[str, ...]:
    given: object = cwd  # callers may pass anything
    many = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    roots = tuple(_checked_root(root) for root in (cast("Sequence[object]", given) if many else (given,)))
    if not roots:
        raise ToolDefinitionError("cwd is required: it names the root, or the roots, that file tools work in")
    return tuple(dict.fromkeys(roots))


def _checked_root(root: object) -> str:
    if root is None or root == "":
        raise ToolDefinitionError("cwd is required: it names the root that file tools work in; pass an absolute path")
    try:
        text = os.fspath(root)  # type: ignore[arg-type]  # that is what is being found out
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise ToolDefinitionError(f"cwd has to be a path (str or os.PathLike[str]), not {type(root).__name__}")
    if "\0" in text:
        raise ToolDefinitionError("cwd contains a NUL character, which no path can have")
    if not os.path.isabs(text):
        raise ToolDefinitionError(
            f"cwd (a root) has to be absolute, and {printable(text)!r} is not; pass os.path.abspath(...) of it"
        )
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ToolDefinitionError(f"cwd {printable(text)!r} cannot be a file name: it is not valid Unicode") from None
    return "/" + text.strip("/") if text.startswith("/") else text


def check_text(path: str) -> None:
    """Refuse what can be no path anywhere.

    Raises:
        PathRefusedError: empty, with a NUL, no Unicode, too long, or a URI.
    """
    if not path:
        raise PathRefusedError("the path is empty; name a file, absolute or relative to the first root.")
    if "\0" in path:
        shown = printable(path[:200].replace("\0", "\\0"))
        raise PathRefusedError(f"{shown}: contains a NUL character, which no path can have; remove it.")
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        raise PathRefusedError(
            f"{printable(path[:200])}: is not valid Unicode (a lone surrogate); files whose names are not UTF-8 "
            "cannot be named here. Rename the file first."
        ) from None
    if length >= PATH_MAX_CHARS:
        raise PathRefusedError(
            f"{printable(path[:80])}...: the path is too long ({length} bytes, at most {PATH_MAX_CHARS - 1}); "
            "use a shorter one."
        )
    if path.startswith("file://"):
        raise PathRefusedError(f"{printable(path[:200])}: is a URI; pass a plain path such as /directory/file.")
